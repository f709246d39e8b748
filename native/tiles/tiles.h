/**
 * Float32 products on the processor's matrix unit (AMX). Include only from *.amx.cpp.
 *
 * The unit multiplies tiles of bfloat16, numbers with the range of float32 and 8 of its 24 bits, and adds in float32. A
 * float32 is the exact sum of three of them, x = high + middle + low, each at most 2^-9 of the one before. Of the nine
 * products of two such sums the three smallest are below 2^-26 of the result and left out; the other six are as good as
 * one product in float32, and faster: the unit makes 16 products in the time that vectors need for one. It also adds up 16
 * products before it rounds to the sum, so sums come out nearer to the truth than with vectors.
 *
 * It ends far from the edges of the range. Of numbers from 2^63 on, infinities among them, the products may be too large; packing
 * notices them, and such products are computed with vectors. Numbers below 2^-108 lose bits of `low` and then `middle`.
 */
#pragma once
#include "../simd/kernels.h"
#include "../simd/transpose.h"
#include "ahead.h"

namespace tl::TL_SIMD {

using Floats = Vector<float, 16>;
using Words = Vector<uint32_t, 16>;

/** The eight tiles, as the processor wants to be told: sums and left sides of so many rows, and right sides of full size. */
struct alignas(64) TileShapes {
  uint8_t bytes[64] = {1};  // the first says how to read the rest

  explicit TileShapes(int64_t rows = kTileSide) {
    for (int tile = 0; tile < 8; tile++) {
      bytes[16 + 2 * tile] = 64;
      bytes[48 + tile] = static_cast<uint8_t>(tile < 6 ? rows : kTileSide);
    }
  }
  void load() const { asm volatile("ldtilecfg %0" : : "m"(bytes)); }
};

/** Readies the matrix unit for this thread while it lives. */
class TileScope {
 public:
  TileScope() { TileShapes().load(); }
  ~TileScope() { asm volatile("tilerelease"); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

/**
 * Watches how large the numbers are that are split. Products of infinities, and those that are beyond the largest number, would add
 * up to NaN, since their parts have either sign. NaN itself comes through: it is in one of the parts of what was NaN.
 */
struct Watch {
  /** 2^65 as bfloat16, twice: what is multiplied by it stays finite below 2^63. */
  static constexpr uint32_t kScale = 0x60006000;
  Floats sums = {};

  /** Looks at the upper parts of two vectors. */
  TL_INLINE void see(Words high) { asm("vdpbf16ps %2, %1, %0" : "+v"(sums) : "v"(high), "v"(Words{} + kScale)); }

  /** Whether the product of any two is finite. */
  bool isFinite() const {
    float total = 0;
    for (int i = 0; i < 16; i++) total += sums[i] * 0.0f;
    return total == 0;
  }
};

/** The nearest bfloat16, with the bits of a float. */
TL_INLINE Words rounded(Floats x) { return ((Words)x + 0x8000u) & 0xffff0000u; }

/** Splits two vectors: lane i of the three words has x[i] in its lower half and y[i] in its upper half. */
TL_INLINE void splitPair(Floats x, Floats y, char* to, int64_t level, Watch& watch) {
  const auto store = [&](int part, Words w) TL_INLINE_LAMBDA {
    *reinterpret_cast<VectorOf<uint32_t, 16>::Loose*>(to + part * level) = w;
  };
  const Words highX = rounded(x), highY = rounded(y);
  const Words high = highX >> 16 | highY;
  store(0, high);
  watch.see(high);
  const Floats restX = x - (Floats)highX, restY = y - (Floats)highY;
  const Words middleX = rounded(restX), middleY = rounded(restY);
  store(1, middleX >> 16 | middleY);
  // What is left has so few bits that nothing need be rounded.
  store(2, (Words)(restX - (Floats)middleX) >> 16 | (Words)(restY - (Floats)middleY));
}

/**
 * Instructions that do nothing. While another program runs on the same core, as on most virtual machines at times, tiles go
 * through the unit a quarter faster if they do not follow each other too closely; at other times these cost nothing.
 */
#define TL_TILE_SPACE "\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop"
#define TL_TILE_LOAD(tile, from, row) asm volatile("tileloadd (%0,%1,1), %%tmm" #tile TL_TILE_SPACE : : "r"(from), "r"(row))
#define TL_TILE_STORE(tile, to, row) asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(to), "r"(row) : "memory")
#define TL_TILE_ZERO(tile) asm volatile("tilezero %%tmm" #tile : :)
#define TL_TILE_MULTIPLY(sum, left, right) asm volatile("tdpbf16ps %%tmm" #right ", %%tmm" #left ", %%tmm" #sum TL_TILE_SPACE : :)

/** Adds one step to the sums of the first block of columns, of the second one, or of both. */
template <int Rows, bool First, bool Second, bool Fetches> TL_INLINE void addStep(const TileSums& t, int64_t step) {
  const char *const a = t.a + t.aSteps[step], *const b = t.b + t.bSteps[step];
  const int64_t aRow = t.aRow, bRow = 64;
  const auto loadA = [&](int part) TL_INLINE_LAMBDA {
    const char* const from = a + part * t.aLevel;
    TL_TILE_LOAD(4, from, aRow);
    if constexpr (Rows > 1) TL_TILE_LOAD(5, from + t.aSecond, aRow);
  };
  const auto loadB = [&](int part) TL_INLINE_LAMBDA {
    const char* const from = b + part * t.bLevel;
    if constexpr (First) TL_TILE_LOAD(6, from, bRow);
    if constexpr (Second) TL_TILE_LOAD(7, from + t.bSecond, bRow);
  };
  // A right side takes 16 cycles to bring into the unit, and a product one for each row: the next one has the same right side.
  const auto multiply = [&]() TL_INLINE_LAMBDA {
    if constexpr (First) TL_TILE_MULTIPLY(0, 4, 6);
    if constexpr (First && Fetches) t.ahead->fetchLine();
    if constexpr (First && Rows > 1) TL_TILE_MULTIPLY(2, 5, 6);
    if constexpr (First && Rows > 1 && Fetches) t.ahead->fetchLine();
    if constexpr (Second) TL_TILE_MULTIPLY(1, 4, 7);
    if constexpr (Second && Fetches) t.ahead->fetchLine();
    if constexpr (Second && Rows > 1) TL_TILE_MULTIPLY(3, 5, 7);
    if constexpr (Second && Rows > 1 && Fetches) t.ahead->fetchLine();
  };
  loadA(2);
  loadB(0);
  multiply();
  loadA(1);
  multiply();
  loadB(1);
  multiply();
  loadA(0);
  multiply();
  loadB(0);
  multiply();
  loadB(2);
  multiply();
}

template <int Rows, int Columns, bool Fetches> void multiplyTiles(const TileSums& t) {
  asm volatile("" : : : "memory");  // tiles are loaded behind the compiler's back
  const int64_t cRow = t.cRow * 4;
  float* const second = t.c + t.cSecond;
  if (t.add) {
    TL_TILE_LOAD(0, t.c, cRow);
    if constexpr (Columns > 1) TL_TILE_LOAD(1, t.c + kTileSide, cRow);
    if constexpr (Rows > 1) TL_TILE_LOAD(2, second, cRow);
    if constexpr (Rows > 1 && Columns > 1) TL_TILE_LOAD(3, second + kTileSide, cRow);
  } else {
    TL_TILE_ZERO(0);
    TL_TILE_ZERO(1);
    TL_TILE_ZERO(2);
    TL_TILE_ZERO(3);
  }
  const int64_t last = t.steps - 1;
  for (int64_t step = 0; step < last; step++) addStep<Rows, true, (Columns > 1), Fetches>(t, step);
  // A sum is there some 50 cycles after its last product: the last step goes column by column, so that the unit never waits for it.
  addStep<Rows, true, false, Fetches>(t, last);
  TL_TILE_STORE(0, t.c, cRow);
  if constexpr (Rows > 1) TL_TILE_STORE(2, second, cRow);
  if constexpr (Columns > 1) {
    addStep<Rows, false, true, Fetches>(t, last);
    TL_TILE_STORE(1, t.c + kTileSide, cRow);
    if constexpr (Rows > 1) TL_TILE_STORE(3, second + kTileSide, cRow);
  }
}

template <bool Fetches> void multiplyBlocks(const TileSums& t, int64_t rows, int64_t columns) {
  if (rows > 1) columns > 1 ? multiplyTiles<2, 2, Fetches>(t) : multiplyTiles<2, 1, Fetches>(t);
  else columns > 1 ? multiplyTiles<1, 2, Fetches>(t) : multiplyTiles<1, 1, Fetches>(t);
}

/** The kernel for one or two blocks of rows and of columns. */
inline void multiplyTiles(const TileSums& t, int64_t rows, int64_t columns) {
  t.ahead ? multiplyBlocks<true>(t, rows, columns) : multiplyBlocks<false>(t, rows, columns);
}

}  // namespace tl::TL_SIMD

/**
 * Matrix products of float32 on the matrix unit; tiles.h says how numbers are split for it.
 *
 * A block of c is two by two tiles. Its strips of a and b are packed: a block of a, kNearBytes at most, stays in the second
 * cache, while one strip of b after the other is packed, or read again if there are several blocks of a.
 *
 * As with vectors, what a number of c is the sum of, and in which order, depends on k alone.
 */
#include "../simd/kernels.h"
#include "../tiles/pack.h"

namespace tl::TL_SIMD {
namespace {

/** Terms that are added up in one pass over c. */
constexpr int64_t kDepth = 1024;
constexpr int64_t kBlockColumns = 1024;
/** Rows and columns of a block of c. */
constexpr int64_t kBlock = 2 * kTileSide;
/** Bytes of a packed block of a. */
constexpr int64_t kNearBytes = 768 << 10;
/** What follows a product begins when about so many elements are ready, which are then still in L2. */
constexpr int64_t kReadyElements = 32768;

inline int64_t minOf(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t maxOf(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

/** How a product is cut; where its packed blocks lie. */
struct Cut {
  int64_t depth, rows, columns;
  /** Whether b is packed strip by strip, each for all rows at once. */
  bool oneBlock;

  Cut(int64_t m, int64_t n, int64_t k, bool goesOn) {
    depth = roundUp(ceilDiv(k, ceilDiv(k, kDepth)), kTileTerms);
    columns = minOf(n, kBlockColumns);
    rows = kNearBytes / (6 * depth);
    if (goesOn) rows = minOf(rows, kReadyElements / columns);
    rows = maxOf(roundUp(rows, kBlock), kBlock);
    oneBlock = m <= rows;
    rows = minOf(rows, m);
  }
  int64_t steps() const { return depth / kTileTerms; }
  int64_t stripBytes() const { return 2 * steps() * kPackedBytes; }
  int64_t aBytes() const { return ceilDiv(rows, kBlock) * stripBytes(); }
  int64_t bBytes() const { return (oneBlock ? 1 : ceilDiv(columns, kBlock)) * stripBytes(); }
};

/** The same product with vectors. */
using OtherFn = void (*)(const Gemm<float>&);

class TileProduct {
 public:
  TileProduct(const Gemm<float>& g, char* scratch, OtherFn other)
      : g_(g), cut_(g.m, g.n, g.k, g.ready != nullptr), a_(scratch), b_(a_ + cut_.aBytes()), other_(other) {
    for (int64_t step = 0; step < cut_.steps(); step++) steps_[step] = step * kPackedBytes;
    passing_ = g.passing && !g.add && g.k <= cut_.depth;
  }

  void run() {
    for (int64_t jc = 0; jc < g_.n; jc += cut_.columns) {
      const int64_t nc = minOf(cut_.columns, g_.n - jc);
      for (int64_t pc = 0; pc < g_.k; pc += cut_.depth)
        for (int64_t ic = 0; ic < g_.m; ic += cut_.rows) {
          const int64_t mc = minOf(cut_.rows, g_.m - ic);
          float* const c = g_.c + (passing_ ? 0 : ic * g_.cRow);
          runBlock({ic, mc, jc, nc, pc, minOf(cut_.depth, g_.k - pc), c});
          if (g_.ready && pc + cut_.depth >= g_.k) g_.ready(g_.context, ic, mc, jc, nc, c);
        }
    }
  }

 private:
  struct Block {
    int64_t i, rows, j, columns, p, depth;
    float* c;
  };

  void runBlock(const Block& x) {
    bool finiteA;
    {
      Watch watch;
      const Side<float> side = {g_.a + x.i * g_.aRow + x.p * g_.aColumn, g_.aRow, g_.aColumn};
      for (int64_t i = 0; i < x.rows; i += kTileSide) packStrip<packLeft>(minOf(kTileSide, x.rows - i), x.depth, side, i, a_, watch);
      finiteA = watch.isFinite();
    }
    for (int64_t j = 0; j < x.columns; j += kBlock) {
      const int64_t strip = j / kBlock, columns = minOf(kBlock, x.columns - j);
      char* const b = b_ + (cut_.oneBlock ? 0 : strip * cut_.stripBytes());
      if (x.i == 0) {
        Watch watch;
        const Side<float> side = {g_.b + (x.j + j) * g_.bColumn + x.p * g_.bRow, g_.bColumn, g_.bRow};
        for (int64_t s = 0; s < columns; s += kTileSide) packStrip<packRight>(minOf(kTileSide, columns - s), x.depth, side, s, b, watch);
        finite_[strip] = watch.isFinite();
      }
      if (finiteA && finite_[strip]) runStrip(x, j, columns, b);
      else runOther(x, j, columns);
    }
  }

  /** Packs one block of 16 rows or columns, beginning at `first`. */
  template <auto Pack>
  void packStrip(int64_t count, int64_t depth, Side<float> side, int64_t first, char* to, Watch& watch) const {
    side.at += first * side.across;
    to += first / kTileSide * cut_.steps() * kPackedBytes;
    for (int64_t p = 0; p < depth; p += kTileTerms, to += kPackedBytes, side.at += kTileTerms * side.along)
      Pack(count, minOf(kTileTerms, depth - p), side, to, watch);
  }

  void runStrip(const Block& x, int64_t j, int64_t columns, const char* b) const {
    const TileScope scope;
    TileSums t;
    t.aRow = 64;
    t.aLevel = kTileBytes;
    t.aSecond = t.bSecond = cut_.steps() * kPackedBytes;
    t.aSteps = steps_;
    t.b = b;
    t.steps = ceilDiv(x.depth, kTileTerms);
    const bool add = g_.add || x.p > 0;
    for (int64_t i = 0; i < x.rows; i += kBlock) {
      const int64_t rows = minOf(kBlock, x.rows - i);
      t.a = a_ + i / kTileSide * cut_.steps() * kPackedBytes;
      float* const c = x.c + i * g_.cRow + (x.j + j) * g_.cColumn;
      if (g_.cColumn == 1 && rows % kTileSide == 0 && columns % kTileSide == 0) {
        t.c = c;
        t.cRow = g_.cRow;
        t.cSecond = kTileSide * g_.cRow;
        t.add = add;
        multiplyTiles(t, rows / kTileSide, columns / kTileSide);
      } else {
        alignas(64) float aside[kBlock * kBlock];
        t.c = aside;
        t.cRow = kBlock;
        t.cSecond = kTileSide * kBlock;
        t.add = false;
        multiplyTiles(t, ceilDiv(rows, kTileSide), ceilDiv(columns, kTileSide));
        copyAside(rows, columns, aside, c, add);
      }
    }
  }

  /** Moves a block that is not made of whole tiles to its place. */
  void copyAside(int64_t rows, int64_t columns, const float* aside, float* c, bool add) const {
    for (int64_t r = 0; r < rows; r++, c += g_.cRow, aside += kBlock)
      for (int64_t s = 0; s < columns; s += kTileSide) {
        if (g_.cColumn == 1) {
          const LaneMask mask = firstLanes(columns - s);
          const Floats sum = loadVector(aside + s);
          storeLanes(c + s, add ? loadLanes(c + s, mask) + sum : sum, mask);
        } else {
          for (int64_t q = s; q < minOf(columns, s + kTileSide); q++) {
            float& to = c[q * g_.cColumn];
            to = add ? to + aside[q] : aside[q];
          }
        }
      }
  }

  /** The same with vectors, for numbers that cannot be split. */
  void runOther(const Block& x, int64_t j, int64_t columns) const {
    Gemm<float> g = g_;
    g.m = x.rows;
    g.n = columns;
    g.k = x.depth;
    g.a += x.i * g.aRow + x.p * g.aColumn;
    g.b += (x.j + j) * g.bColumn + x.p * g.bRow;
    g.c = x.c + (x.j + j) * g.cColumn;
    g.add = g_.add || x.p > 0;
    g.ready = nullptr;
    g.passing = false;
    other_(g);
  }

  const Gemm<float>& g_;
  Cut cut_;
  char *a_, *b_;
  OtherFn other_;
  int64_t steps_[kDepth / kTileTerms];
  bool finite_[kBlockColumns / kBlock];
  bool passing_;
};

bool suits(int64_t m, int64_t n, int64_t k) {
  if (m < kTileSide || n < kTileSide || k < kTileSide) return false;
  // Packing costs as much per element as some products: what it saves must be more.
  return m * n > 80 * (m + n);
}

/** Enough for any product that is not larger, and for its transpose. */
int64_t scratchBytes(int64_t m, int64_t n, int64_t k) {
  const int64_t tall = maxOf(m, n), depth = minOf(roundUp(k, kTileTerms), kDepth);
  const int64_t rows = minOf(roundUp(tall, kBlock), roundUp(kNearBytes / (6 * kTileTerms), kBlock));
  const int64_t a = minOf(rows * depth * 6, kNearBytes + kBlock * depth * 6);
  return a + roundUp(minOf(tall, kBlockColumns), kBlock) * depth * 6;
}

void multiply(const Gemm<float>& g, char* scratch, OtherFn other) {
  if (g.cColumn != 1 && g.cRow == 1) {
    const Gemm<float> turned = {g.n, g.m, g.k, g.b, g.bColumn, g.bRow, g.a, g.aColumn, g.aRow, g.c, g.cColumn, g.cRow, g.add};
    TileProduct(turned, scratch, other).run();
    if (g.ready) g.ready(g.context, 0, g.m, 0, g.n, g.c);
    return;
  }
  TileProduct(g, scratch, other).run();
}

}  // namespace

void fillTileGemm(SimdKernels& k) {
  k.tiles.suitsGemm = suits;
  k.tiles.gemm = multiply;
  k.tiles.gemmScratch = scratchBytes;
}

}  // namespace tl::TL_SIMD

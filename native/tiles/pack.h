/** Packing both sides of a product as tiles of three parts; strides and transposes end here. Include only from *.amx.cpp. */
#pragma once
#include "../dot/pack.h"
#include "tiles.h"

namespace tl::TL_SIMD {

/** in[i * step + j] for i < rows and j < columns, as out[j * 16 + i], with zeros for what is missing. */
template <int64_t Columns> TL_INLINE void turnBlock(int64_t rows, int64_t columns, const float* in, int64_t step, float* out) {
  using Corner = Square<4>;
  alignas(64) static constexpr float zeros[kTileTerms] = {};
  for (int64_t j = 0; j < Columns; j += kTileSide) {
    const LaneMask mask = firstLanes(columns - j > 0 ? columns - j : 0);
    typename Corner::Vector lines[kTileSide];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kTileSide; i++) lines[i] = (typename Corner::Vector)loadLanes((i < rows ? in + i * step : zeros) + j, mask);
    Corner::turn(lines);
#pragma GCC unroll 16
    for (int64_t i = 0; i < kTileSide; i++) storeVector(out + (j + i) * kTileSide, (Floats)lines[i]);
  }
}

/**
 * Up to 16 rows of a as a tile: row r has the terms t and t + 16 in word t. `terms` and `rows` say how many there are, the
 * rest is zero.
 */
TL_INLINE void packLeft(int64_t rows, int64_t terms, const Side<float>& in, char* to, Watch& watch) {
  const LaneMask first = firstLanes(terms), second = firstLanes(terms > kTileSide ? terms - kTileSide : 0);
  if (in.along == 1) {
    for (int64_t r = 0; r < kTileSide; r++) {
      const float* from = in.at + r * in.across;
      const Floats x = r < rows ? loadLanes(from, first) : Floats{};
      const Floats y = r < rows && terms > kTileSide ? loadLanes(from + kTileSide, second) : Floats{};
      splitPair(x, y, to + r * 64, kTileBytes, watch);
    }
    return;
  }
  alignas(64) float turned[kTileTerms * kTileSide];
  if (in.across == 1) {
    turnBlock<kTileSide>(terms < kTileSide ? terms : kTileSide, rows, in.at, in.along, turned);
    turnBlock<kTileSide>(terms - kTileSide, rows, in.at + kTileSide * in.along, in.along, turned + kTileSide * kTileSide);
  } else {
    for (int64_t r = 0; r < kTileSide; r++)
      for (int64_t t = 0; t < kTileTerms; t++)
        turned[t / kTileSide * kTileSide * kTileSide + r * kTileSide + t % kTileSide] =
            r < rows && t < terms ? in.at[r * in.across + t * in.along] : 0;
  }
  for (int64_t r = 0; r < kTileSide; r++)
    splitPair(loadVector(turned + r * kTileSide), loadVector(turned + (kTileSide + r) * kTileSide), to + r * 64, kTileBytes, watch);
}

/** Up to 16 columns of b as a tile, whose row t has the terms t and t + 16 of each column; they are not side by side. */
TL_INLINE void packAcross(int64_t columns, int64_t terms, const Side<float>& in, char* to, Watch& watch) {
  alignas(64) float turned[kTileTerms * kTileSide];
  if (in.along == 1) {
    turnBlock<kTileTerms>(columns, terms, in.at, in.across, turned);
  } else {
    for (int64_t t = 0; t < kTileTerms; t++)
      for (int64_t j = 0; j < kTileSide; j++)
        turned[t * kTileSide + j] = j < columns && t < terms ? in.at[j * in.across + t * in.along] : 0;
  }
  for (int64_t t = 0; t < kTileSide; t++)
    splitPair(loadVector(turned + t * kTileSide), loadVector(turned + (kTileSide + t) * kTileSide), to + t * 64, kTileBytes, watch);
}

/**
 * Up to 32 columns of b as one or two tiles, of which the second begins `second` bytes after the first. Both are packed at
 * once, because rows of b may be far apart, and the columns of both tiles are neighbours in them.
 */
TL_INLINE void packRight(int64_t columns, int64_t terms, const Side<float>& in, char* to, int64_t second, Watch& watch) {
  const int64_t others = columns > kTileSide ? columns - kTileSide : 0;
  if (in.across != 1) {
    packAcross(columns - others, terms, in, to, watch);
    if (others > 0) packAcross(others, terms, {in.at + kTileSide * in.across, in.across, in.along}, to + second, watch);
    return;
  }
  const LaneMask mask = firstLanes(columns), otherMask = firstLanes(others);
  for (int64_t t = 0; t < kTileSide; t++) {
    const float* const from = in.at + t * in.along;
    const auto split = [&](int64_t column, LaneMask lanes, char* tile) TL_INLINE_LAMBDA {
      const Floats x = t < terms ? loadLanes(from + column, lanes) : Floats{};
      const Floats y = t + kTileSide < terms ? loadLanes(from + kTileSide * in.along + column, lanes) : Floats{};
      splitPair(x, y, tile + t * 64, kTileBytes, watch);
    };
    split(0, mask, to);
    if (others > 0) split(kTileSide, otherMask, to + second);
  }
}

}  // namespace tl::TL_SIMD

/** What the two kinds of convolution on the matrix unit share; tiles/tiles.h says how numbers are split for it. */
#pragma once
#include <atomic>

#include "../simd/kernels.h"
#include "convolution.h"

namespace tl {

/** Multiply-adds that pay for waking another thread. */
constexpr double kTileGrain = 1200e3;
/** A convolution pays off on the matrix unit when at least so much of what it multiplies is not padding. */
constexpr double kLeastUse = 0.4;

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

/** The part of whole blocks of a size that `count` fills. */
inline double fillOf(int64_t count, int64_t size) {
  return static_cast<double>(count) / static_cast<double>(roundUp(count, size));
}

/** While it lives, the calling thread can multiply tiles with so many rows on the left side. */
class TileUse {
 public:
  explicit TileUse(int64_t rows = kTileSide) { simd().tiles.begin(rows); }
  ~TileUse() { simd().tiles.end(); }
  TileUse(const TileUse&) = delete;
  TileUse& operator=(const TileUse&) = delete;
};

/** Steps, from the last axis on, of a dense grid of so many elements of `size`. */
inline void denseSteps(const int64_t* counts, int64_t size, int64_t* steps) {
  for (int i = kAxes - 1; i >= 0; i--) {
    steps[i] = size;
    size *= counts[i];
  }
}

}  // namespace tl

/** Few rows by a matrix whose columns lie along the sum. Include only from *.simd.cpp. */
#pragma once
#include "product.h"

namespace tl::TL_SIMD {
namespace {

/**
 * Products of few rows by a b whose columns lie along k, such as gradients of dense layers for small batches. To turn b over takes as long as
 * many multiplications, and that many rows hardly make it pay. So the transposed product is computed: columns of b become rows of tiles, read
 * as they lie, and a, of which there is little, becomes what vectors are of. A tile is turned over when it is finished.
 *
 * Sums are those of Product, in the same order.
 */
template <class T> class Lengthwise {
 public:
  static bool suits(const Gemm<T>& g) {
    return kHasMasks && g.bRow == 1 && g.bColumn != 1 && g.cColumn == 1 && !g.add && !g.panels && g.pairs == 1 && g.m >= lanesOf<T> &&
           g.m <= kMostRows && g.n >= 2 * g.m && g.k >= kLongDepth && g.n * g.k >= kFarBytes / static_cast<int64_t>(sizeof(T)) &&
           panelElements(g.m, g.k) <= kMostElements;
  }
  /** Enough for any product that suits and is not larger. */
  static int64_t scratchElements(int64_t m, int64_t n, int64_t k) {
    if (!kHasMasks || k < kLongDepth) return 0;
    const int64_t rows = minOf(roundUp(minOf(m > n ? m : n, kMostRows), kWidth), kMostElements / k);
    return rows * k + kTallest * copyStep(kDepth<T>) + kMostRows * kTileRows + 3 * kPackSlack;
  }

  Lengthwise(const Gemm<T>& g, T* scratch)
      : g_(g), tiles_(ceilDiv(g.m, kWidth)), depth_(depthOf<T>(g.k)), panels_(scratch),
        copy_(scratch + roundUp(panelElements(g.m, g.k) + kPackSlack, kPackSlack)), sums_(copy_ + roundUp(kTallest * copyStep(depth_), kPackSlack)) {}

  void run() const {
    for (int64_t j = 0; j < g_.m; j += kWidth)
      pack<T>(minOf(kWidth, g_.m - j), kWidth, g_.k, {g_.a + j * g_.aRow, g_.aRow, g_.aColumn}, panels_ + j * g_.k);
    int64_t first = 0;  // of the columns of c that are finished but not yet reported
    forPanelsOf(g_.n, [&](int64_t i, int64_t rows) {
      multiply(i, rows);
      const int64_t end = i + rows;
      if (!g_.ready || (end < g_.n && (end - first) * g_.m < kReadyElements)) return;
      g_.ready(g_.context, 0, g_.m, first, end - first, g_.c);
      first = end;
    });
  }

 private:
  static constexpr int64_t kWidth = kWidest * lanesOf<T>, kTileRows = 16;
  /** With more rows it pays to turn b over. */
  static constexpr int64_t kMostRows = 96;
  /** So much of a stays in L2. */
  static constexpr int64_t kMostElements = (1 << 19) / sizeof(T);

  static int64_t panelElements(int64_t m, int64_t k) { return roundUp(m, kWidth) * k; }
  /** From one copied row to the next: these do not collide. */
  static int64_t copyStep(int64_t depth) { return roundUp(depth, lanesOf<T>) + lanesOf<T>; }

  /** Some columns of c. */
  void multiply(int64_t i, int64_t rows) const {
    const T* const b = g_.b + i * g_.bColumn;
    Tile<T> tile;
    tile.rows = rows;
    tile.a = copy_;
    tile.aColumn = 1;
    tile.bStep = tile.cRow = tile.columns = kWidth;
    tile.fetchesC = false;
    tile.next = b + rows * g_.bColumn;
    tile.nextStep = ceilDiv(rows, tiles_);
    for (int64_t first = 0; first < g_.k; first += depth_) {
      tile.depth = minOf(depth_, g_.k - first);
      tile.aRow = copyStep(tile.depth);
      tile.add = first > 0;
      copyRows<T>(rows, tile.depth, {b + first, g_.bColumn, 1}, copy_, tile.aRow);
      for (int64_t t = 0; t < tiles_; t++, tile.next += tile.depth * tile.nextStep) {
        tile.b = panels_ + t * kWidth * g_.k + first * kWidth;
        tile.c = sums_ + t * kTileRows * kWidth;
        micros<T>.nextRows[rows][vectorsOf(t) - 1](tile);
      }
    }
    for (int64_t t = 0; t < tiles_; t++) {
      tile.columns = minOf(kWidth, g_.m - t * kWidth);
      storeTurned(tile, sums_ + t * kTileRows * kWidth, g_.c + t * kWidth * g_.cRow + i, g_.cRow, false);
    }
  }

  int64_t vectorsOf(int64_t t) const { return g_.m - t * kWidth > lanesOf<T> ? 2 : 1; }

  const Gemm<T>& g_;
  int64_t tiles_, depth_;
  T *panels_, *copy_, *sums_;
};

}  // namespace
}  // namespace tl::TL_SIMD

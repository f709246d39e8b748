/** Products that are few tiles or one. Include only from *.simd.cpp. */
#pragma once
#include "product.h"

namespace tl::TL_SIMD {
namespace {

/**
 * Products so small that a few tiles are all of one. What is the same for all of them is found out once, for else it would take as long as
 * the multiplications. Sums are those of Product, in the same order.
 */
template <class T> class SmallProducts {
 public:
  static bool suits(const Gemm<T>& g) {
    return kHasMasks && g.pairs == 1 && !g.ready && !g.add && g.cColumn == 1 && g.m > 1 && g.m <= kMostRows && g.n > 1 &&
           g.n <= kWidest * lanesOf<T> && g.k <= kMostTerms;
  }

  SmallProducts(const Gemm<T>& g, T* scratch) : g_(g), scratch_(scratch), turnsB_(g.bColumn != 1) {
    const int64_t width = g.n > lanesOf<T> ? 2 : 1, lanes = width * lanesOf<T>;
    const bool isWhole = turnsB_ || g.n == lanes;
    tile_.depth = g.k;
    tile_.aRow = g.aRow;
    tile_.aColumn = g.aColumn;
    tile_.b = scratch;
    tile_.bStep = turnsB_ ? lanes : g.bRow;
    tile_.cRow = g.cRow;
    tile_.columns = g.n;
    tile_.add = tile_.fetchesC = false;
    const auto& wide = isWhole ? micros<T>.of : micros<T>.part;
    const auto& narrow = isWhole ? micros<T>.narrow : micros<T>.narrowPart;
    const auto add = [&](int64_t, int64_t rows) {
      rows_[panels_] = rows;
      kernels_[panels_++] = width == 1 ? narrow[rows] : wide[rows][1];
    };
    forPanelsOf(g.m, add, width == 1 ? kTallestNarrow : kTallest);
  }

  void run() {
    if (turnsB_) pack<T>(g_.n, tile_.bStep, g_.k, {g_.b, g_.bColumn, g_.bRow}, scratch_);
    else tile_.b = g_.b;
    tile_.a = g_.a;
    tile_.c = g_.c;
    for (int64_t panel = 0; panel < panels_; panel++) {
      tile_.rows = rows_[panel];
      kernels_[panel](tile_);
      tile_.a += tile_.rows * g_.aRow;
      tile_.c += tile_.rows * g_.cRow;
    }
  }

 private:
  static constexpr int64_t kMostRows = 32, kMostTerms = 64, kMostPanels = (kMostRows + kTallest - 1) / kTallest;

  const Gemm<T>& g_;
  T* const scratch_;
  const bool turnsB_;
  Tile<T> tile_;
  int64_t panels_ = 0;
  int64_t rows_[kMostPanels];
  MicroFn<T> kernels_[kMostPanels];
};

/**
 * Terms and columns at most of a product so small that to choose a way takes longer than to go it: its rows and columns are one tile. Not
 * with vectors: their ways give other sums.
 */
constexpr int64_t kTinyTerms = 16, kTinyColumns = lanesOf<double>;

bool suitsTiny(int64_t m, int64_t n, int64_t k) {
  return kHasMasks && m > 1 && n > 1 && m <= kTallest && n <= kTinyColumns && k > 0 && k <= kTinyTerms;
}

template <class T> void multiplyTiny(const Gemm<T>& g) {
  Tile<T> tile;
  tile.depth = g.k;
  tile.a = g.a;
  tile.aRow = g.aRow;
  tile.aColumn = g.aColumn;
  tile.b = g.b;
  tile.bStep = g.bRow;
  tile.c = g.c;
  tile.cRow = g.cRow;
  tile.rows = g.m;
  tile.columns = g.n;
  tile.add = false;
  tile.fetchesC = false;
  T rows[kTinyTerms * kTinyColumns];
  if (g.bColumn != 1) {
    for (int64_t p = 0; p < g.k; p++)
      for (int64_t j = 0; j < g.n; j++) rows[p * kTinyColumns + j] = g.b[p * g.bRow + j * g.bColumn];
    tile.b = rows;
    tile.bStep = kTinyColumns;
  }
  micros<T>.part[g.m][0](tile);
}

}  // namespace
}  // namespace tl::TL_SIMD

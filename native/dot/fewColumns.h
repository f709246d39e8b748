/** Products of few columns, or few rows, as dot products. Include only from *.simd.cpp. */
#pragma once
#include "vectors.h"

namespace tl::TL_SIMD {
namespace {

/** Few columns, and not a number that fills vectors. */
template <class T> bool isNarrow(const Gemm<T>& g) { return g.n > 1 && g.n <= kTallest && g.n % lanesOf<T> != 0; }

/** Rows and columns of c at most that narrowDots computes at once: their sums and factors fill the registers. */
constexpr int kDotRows = 4, kDotColumns = 5;

/**
 * c[i, j] as products of vectors along k, for up to kDotRows rows and `Columns` columns: no lane is idle, however few columns
 * there are. `b` has its columns as rows, `bColumn` apart. Rows that there are not repeat the last.
 */
template <class T, int Columns>
void dotTile(const Gemm<T>& g, int64_t i, int64_t j, const T* b, int64_t bColumn) {
  constexpr int lanes = lanesOf<T>;
  using V = Full<T>;
  const int64_t rows = minOf(kDotRows, g.m - i);
  const T* row[kDotRows];
#pragma GCC unroll 4
  for (int r = 0; r < kDotRows; r++) row[r] = g.a + (i + minOf(r, rows - 1)) * g.aRow;
  V sum[kDotRows][Columns] = {};
  const auto step = [&](int64_t p, const auto& load) TL_INLINE_LAMBDA {
    V left[kDotRows];
#pragma GCC unroll 4
    for (int r = 0; r < kDotRows; r++) left[r] = load(row[r] + p);
#pragma GCC unroll 5
    for (int s = 0; s < Columns; s++) {
      const V right = load(b + (j + s) * bColumn + p);
#pragma GCC unroll 4
      for (int r = 0; r < kDotRows; r++) sum[r][s] += left[r] * right;
    }
  };
  int64_t p = 0;
  // Reading some lanes only takes the place of a multiplication.
  for (; p + lanes <= g.k; p += lanes) step(p, [](const T* from) TL_INLINE_LAMBDA { return loadVector(from); });
  const LaneMask rest = firstLanes(g.k - p);
  if (p < g.k) step(p, [&](const T* from) TL_INLINE_LAMBDA { return loadLanes(from, rest); });

  constexpr int all = kDotRows * Columns, groups = (all + lanes - 1) / lanes;
  alignas(64) T total[groups * lanes];
#pragma GCC unroll 3
  for (int group = 0; group < groups; group++) {
    V x[lanes];
#pragma GCC unroll 16
    for (int l = 0; l < lanes; l++) {
      const int at = group * lanes + l;
      x[l] = at < all ? sum[at / Columns][at % Columns] : V{};
    }
    storeVector(total + group * lanes, sumsOf<T, lanes>(x));
  }
  const LaneMask mask = firstLanes(Columns);
  for (int64_t r = 0; r < rows; r++) {
    T* const c = g.c + (i + r) * g.cRow + j * g.cColumn;
    if (g.cColumn == 1) {
      const V x = loadLanes(total + r * Columns, mask);
      storeLanes(c, g.add ? x + loadLanes(c, mask) : x, mask);
      continue;
    }
#pragma GCC unroll 5
    for (int s = 0; s < Columns; s++) c[s * g.cColumn] = g.add ? total[r * Columns + s] + c[s * g.cColumn] : total[r * Columns + s];
  }
}

/** So many terms pay for adding up lanes at the end. */
template <class T> constexpr int64_t kDotTerms = 16 * lanesOf<T>;

template <class T> bool hasDotTerms(int64_t k) { return kHasMasks && k >= kDotTerms<T> && k <= kGathered; }
/** A product of few columns. */
template <class T> bool suitsDots(const Gemm<T>& g) {
  return isNarrow(g) && hasDotTerms<T>(g.k) && g.aColumn == 1 && g.cColumn == 1 && (g.bRow == 1 || g.bColumn == 1);
}
/** A product of few rows: the transposed one is a product of few columns. It need not turn over b. */
template <class T> bool suitsTurnedDots(const Gemm<T>& g) {
  return g.m > 1 && g.m <= kTallest && g.n > kTallest && hasDotTerms<T>(g.k) && g.bRow == 1 && g.bColumn != 1 && g.cColumn == 1 &&
         (g.aRow == 1 || g.aColumn == 1);
}

/** From one column of a transposed b to the next: not so that they fall into the same lines of L1. */
template <class T> constexpr int64_t dotColumnStep(int64_t k) { return k + lanesOf<T>; }
/** Memory for all of it; columns of a product may be fewer than expected. */
template <class T> int64_t dotScratchElements(int64_t n, int64_t k) {
  return k > kGathered ? 0 : minOf(n, kTallest) * dotColumnStep<T>(k);
}

/** A product of few columns, whose rows of a are contiguous. */
template <class T> void narrowDots(const Gemm<T>& g, T* scratch) {
  const T* b = g.b;
  int64_t bColumn = g.bColumn;
  if (g.bRow != 1) {
    bColumn = dotColumnStep<T>(g.k);
    transposeBlock<sizeof(T)>(g.n, g.k, scratch, bColumn, g.b, g.bRow);
    b = scratch;
  }
  const int64_t groups = ceilDiv(g.n, kDotColumns);
  for (int64_t i = 0; i < g.m; i += kDotRows)
    for (int64_t group = 0, j = 0; group < groups; group++) {
      const int64_t columns = g.n * (group + 1) / groups - j;
      if (columns == 5) dotTile<T, 5>(g, i, j, b, bColumn);
      else if (columns == 4) dotTile<T, 4>(g, i, j, b, bColumn);
      else if (columns == 3) dotTile<T, 3>(g, i, j, b, bColumn);
      else dotTile<T, 2>(g, i, j, b, bColumn);
      j += columns;
    }
}

}  // namespace
}  // namespace tl::TL_SIMD

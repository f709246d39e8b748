/** Matrices times vectors. Include only from *.simd.cpp. */
#pragma once
#include "product.h"

namespace tl::TL_SIMD {
namespace {

/** The sums of the numbers in each of `Count` vectors, no more than one has lanes, in order, in the first lanes of one. */
template <class T, int Count> TL_INLINE Full<T> sumsOf(Full<T> (&x)[Count]) {
  using Corner = Square<static_cast<int>(sizeof(T))>;
  using Words = typename Corner::Vector;
  // Halves of two vectors become one that has them in turn; so the vectors far apart in `x` end up side by side.
#pragma GCC unroll 4
  for (int count = Count / 2; count > 0; count /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < count; i++) {
      const Words left = (Words)x[i], right = (Words)x[i + count];
      x[i] = (Full<T>)Corner::interleave(left, right, false) + (Full<T>)Corner::interleave(left, right, true);
    }
  // Where vectors are fewer than lanes, each has left several sums, `Count` apart.
#pragma GCC unroll 4
  for (int lanes = lanesOf<T>; lanes > Count; lanes /= 2) {
    const Words all = (Words)x[0];
    x[0] += (Full<T>)Corner::secondHalf(all, lanes);
  }
  return x[0];
}

/** Terms of a dot product that are added up by themselves: a sum that grows and grows loses more of every term. */
constexpr int64_t kStretch = 4096;

/** sums[r] += the products of rows of a, `aRow` apart, with x, over whole strides of `Vectors` vectors; gives where these end. */
template <class T, int Rows, int Vectors>
TL_INLINE int64_t addDots(int64_t k, const T* a, int64_t aRow, const T* x, Full<T> (&sums)[Rows][Vectors]) {
  using V = Full<T>;
  constexpr int64_t lanes = lanesOf<T>, stride = Vectors * lanes;
  int64_t p = 0;
  const auto addUpTo = [&](int64_t end, V (&s)[Rows][Vectors]) TL_INLINE_LAMBDA {
    for (; p + stride <= end; p += stride)
#pragma GCC unroll 2
      for (int l = 0; l < Vectors; l++) {
        const V right = loadVector(x + p + l * lanes);
#pragma GCC unroll 4
        for (int r = 0; r < Rows; r++) s[r][l] += loadVector(a + r * aRow + p + l * lanes) * right;
      }
  };
  addUpTo(minOf(k, kStretch), sums);
  while (p + stride <= k) {
    V more[Rows][Vectors] = {};
    addUpTo(minOf(k, p + kStretch), more);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; r++)
#pragma GCC unroll 2
      for (int l = 0; l < Vectors; l++) sums[r][l] += more[r][l];
  }
  return p;
}

/**
 * y[m] = a[m, k] * x[k] for contiguous x, rows of a contiguous: several rows at once share the loads of x. What is left at the end is
 * computed with some of its neighbours a second time: a row has the same sum wherever it stands.
 */
template <class T> void rowDots(int64_t m, int64_t k, const T* a, int64_t aRow, const T* x, T* y, int64_t yStep) {
  using V = Full<T>;
  constexpr int lanes = lanesOf<T>;
  const auto restOf = [&](const T* row, int64_t from) {
    T total = 0;
    for (int64_t p = from; p < k; p++) total += row[p] * x[p];
    return total;
  };
  constexpr int together = lanes < 4 ? lanes : 4;
  for (int64_t next = 0; m >= together && next < m; next += together) {
    const int64_t i = minOf(next, m - together);
    const T* row = a + i * aRow;
    V s[together][1] = {};
    const int64_t p = addDots<T, together, 1>(k, row, aRow, x, s);
    V all[together];
#pragma GCC unroll 4
    for (int r = 0; r < together; r++) all[r] = s[r][0];
    const V sums = sumsOf<T, together>(all);
#pragma GCC unroll 4
    for (int r = 0; r < together; r++) y[(i + r) * yStep] = p < k ? sums[r] + restOf(row + r * aRow, p) : sums[r];
  }
  for (int64_t i = 0; m < together && i < m; i++) {
    const T* row = a + i * aRow;
    V s[1][2] = {};
    const int64_t p = addDots<T, 1, 2>(k, row, aRow, x, s);
    const V sums = sumsOf<T, 2>(s[0]);
    y[i * yStep] = sums[0] + sums[1] + restOf(row, p);
  }
}

/** Vectors side by side in a strip of columns whose sums stay in registers. */
constexpr int kStrip = 16;

/** y[s] = sum of a[p, s] * x[p] for `Width` vectors of s; of the last one there is only what the mask has, unless it is `Whole`. */
template <class T, int Width, bool Whole>
void stripSums(int64_t k, const T* a, int64_t aColumn, const T* x, int64_t xStep, T* y, LaneMask mask) {
  using V = Full<T>;
  constexpr int lanes = lanesOf<T>;
  const auto load = [&](const T* from, int j) TL_INLINE_LAMBDA {
    return Whole || j + 1 < Width ? loadVector(from + j * lanes) : loadLanes(from + j * lanes, mask);
  };
  V sum[Width] = {};
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) {
    const T *c0 = a + p * aColumn, *c1 = c0 + aColumn, *c2 = c1 + aColumn, *c3 = c2 + aColumn, *by = x + p * xStep;
    const V x0 = splat<V>(by[0]), x1 = splat<V>(by[xStep]), x2 = splat<V>(by[2 * xStep]), x3 = splat<V>(by[3 * xStep]);
#pragma GCC unroll 16
    for (int j = 0; j < Width; j++) sum[j] += (load(c0, j) * x0 + load(c1, j) * x1) + (load(c2, j) * x2 + load(c3, j) * x3);
  }
  for (; p < k; p++)
#pragma GCC unroll 16
    for (int j = 0; j < Width; j++) sum[j] += load(a + p * aColumn, j) * x[p * xStep];
#pragma GCC unroll 16
  for (int j = 0; j + 1 < Width; j++) storeVector(y + j * lanes, sum[j]);
  if constexpr (Whole) storeVector(y + (Width - 1) * lanes, sum[Width - 1]);
  else storeLanes(y + (Width - 1) * lanes, sum[Width - 1], mask);
}

/** y[m] = a[m, k] * x[k] where columns of a are contiguous and near: from there short pieces of them come as fast as long ones. */
template <class T> void nearColumnSums(int64_t m, int64_t k, const T* a, int64_t aColumn, const T* x, int64_t xStep, T* y) {
  constexpr int64_t lanes = lanesOf<T>;
  int64_t i = 0;
  for (; i + kStrip * lanes <= m; i += kStrip * lanes) stripSums<T, kStrip, true>(k, a + i, aColumn, x, xStep, y + i, {});
  for (; i + 4 * lanes <= m; i += 4 * lanes) stripSums<T, 4, true>(k, a + i, aColumn, x, xStep, y + i, {});
  for (; i < m; i += lanes) stripSums<T, 1, false>(k, a + i, aColumn, x, xStep, y + i, firstLanes(m - i));
}

/** y[m] = a[m, k] * x[k] where columns of a are contiguous: sums, in pieces that stay in L1, take four columns at a time. */
template <class T>
void columnSums(int64_t m, int64_t k, const T* a, int64_t aColumn, const T* x, int64_t xStep, T* y, int64_t yStep) {
  constexpr int64_t piece = 2048;
  alignas(64) T sum[piece];
  for (int64_t start = 0; start < m; start += piece) {
    const int64_t n = minOf(piece, m - start);
    const T* from = a + start;
    int64_t p = 0;
    for (bool goesOn = false; p < k; goesOn = true) {
      const int64_t end = minOf(k, p + kStretch);
      for (int64_t i = 0; i < n; i++) sum[i] = 0;
      for (; p + 4 <= end; p += 4) {
        const T x0 = x[p * xStep], x1 = x[(p + 1) * xStep], x2 = x[(p + 2) * xStep], x3 = x[(p + 3) * xStep];
        const T *c0 = from + p * aColumn, *c1 = c0 + aColumn, *c2 = c1 + aColumn, *c3 = c2 + aColumn;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) sum[i] += (c0[i] * x0 + c1[i] * x1) + (c2[i] * x2 + c3[i] * x3);
      }
      for (; p < end; p++) {
        const T x0 = x[p * xStep];
        const T* c0 = from + p * aColumn;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) sum[i] += c0[i] * x0;
      }
      for (int64_t i = 0; i < n; i++) {
        T& to = y[(start + i) * yStep];
        to = goesOn ? to + sum[i] : sum[i];
      }
    }
  }
}

/** The longest strided vector that is gathered before it is used. */
constexpr int64_t kGathered = 4096;

/** y[m] = a[m, k] * x[k] for a whose rows or columns are contiguous. */
template <class T> void matrixVector(const Gemm<T>& g, T* scratch) {
  if (g.aColumn != 1) {
    // Of the whole matrix, whichever part of it this is: the two ways may give other sums in the last bit.
    const bool isNear = kHasMasks && g.cRow == 1 && g.aColumn * g.k * static_cast<int64_t>(sizeof(T)) <= kSurelyNear;
    if (isNear) nearColumnSums(g.m, g.k, g.a, g.aColumn, g.b, g.bRow, g.c);
    else columnSums(g.m, g.k, g.a, g.aColumn, g.b, g.bRow, g.c, g.cRow);
    return;
  }
  const T* x = g.b;
  if (g.bRow != 1) {
    for (int64_t p = 0; p < g.k; p++) scratch[p] = g.b[p * g.bRow];
    x = scratch;
  }
  rowDots(g.m, g.k, g.a, g.aRow, x, g.c, g.cRow);
}

}  // namespace
}  // namespace tl::TL_SIMD

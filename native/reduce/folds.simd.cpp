/** Folding a dense block of values along its rows or columns. */
#include "../simd/types.h"

namespace tl::TL_SIMD {
namespace {

template <class T> struct Sum {
  static T of(T a, T b) { return a + b; }
};
template <class T> struct Prod {
  static T of(T a, T b) { return a * b; }
};
template <class T> struct Max {
  static T of(T a, T b) { return a > b || a != a ? a : b; }
};
template <class T> struct Min {
  static T of(T a, T b) { return a < b || a != a ? a : b; }
};

/** Many lanes at once, then the lanes pairwise: fast, and rounding errors grow with the logarithm of the length only. */
template <class T, class F> inline T foldRow(int64_t n, const T* x) {
  constexpr int64_t kWidth = 2 * kLanes;
  if (n < kWidth) {
    T total = x[0];
    for (int64_t i = 1; i < n; i++) total = F::of(total, x[i]);
    return total;
  }
  T lanes[kWidth];
  for (int64_t k = 0; k < kWidth; k++) lanes[k] = x[k];
  int64_t i = kWidth;
  for (; i + kWidth <= n; i += kWidth)
    for (int64_t k = 0; k < kWidth; k++) lanes[k] = F::of(lanes[k], x[i + k]);
  for (int64_t k = 0; i < n; i++, k++) lanes[k] = F::of(lanes[k], x[i]);
  for (int64_t width = kWidth / 2; width > 0; width /= 2)
    for (int64_t k = 0; k < width; k++) lanes[k] = F::of(lanes[k], lanes[k + width]);
  return lanes[0];
}

template <class T, class F> void foldRows(int64_t rows, int64_t columns, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; r++) to[r] = foldRow<T, F>(columns, x + r * columns);
}

template <class T, class F> void foldColumns(int64_t rows, int64_t columns, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  if (columns == 1) {
    to[0] = foldRow<T, F>(rows, x);
    return;
  }
  if (columns < kLanes) {
    // Short rows: as many whole rows as fit side by side make one long one.
    constexpr int64_t kWidth = 8 * kLanes;
    T wide[kWidth];
    const int64_t together = kWidth / columns < rows ? kWidth / columns : rows;
    const int64_t width = together * columns;
    for (int64_t k = 0; k < width; k++) wide[k] = x[k];
    int64_t r = together;
    for (; r + together <= rows; r += together)
#pragma GCC ivdep
      for (int64_t k = 0; k < width; k++) wide[k] = F::of(wide[k], x[r * columns + k]);
    for (int64_t k = 0; k < (rows - r) * columns; k++) wide[k] = F::of(wide[k], x[r * columns + k]);
    for (int64_t left = together; left > 1;) {
      const int64_t upper = left / 2, lower = left - upper;
      for (int64_t k = 0; k < upper * columns; k++) wide[k] = F::of(wide[k], wide[lower * columns + k]);
      left = lower;
    }
    for (int64_t k = 0; k < columns; k++) to[k] = wide[k];
    return;
  }
  for (int64_t c = 0; c < columns; c++) to[c] = x[c];
  for (int64_t r = 1; r < rows; r++) {
    const T* row = x + r * columns;
#pragma GCC ivdep
    for (int64_t c = 0; c < columns; c++) to[c] = F::of(to[c], row[c]);
  }
}

template <class T, template <class> class F> void fill(SimdKernels& k, FoldOp op, Kind kind) {
  k.foldRows[static_cast<int>(op)][static_cast<int>(kind)] = foldRows<T, F<T>>;
  k.foldColumns[static_cast<int>(op)][static_cast<int>(kind)] = foldColumns<T, F<T>>;
}

/** Sums and products of integers wrap, so signed ones are folded as unsigned. */
template <class T, class Unsigned> void fillReal(SimdKernels& k, Kind kind) {
  fill<Unsigned, Sum>(k, FoldOp::sum, kind);
  fill<Unsigned, Prod>(k, FoldOp::prod, kind);
  fill<T, Max>(k, FoldOp::max, kind);
  fill<T, Min>(k, FoldOp::min, kind);
}

template <class T> void fillComplex(SimdKernels& k, Kind kind) {
  fill<T, Sum>(k, FoldOp::sum, kind);
  fill<T, Prod>(k, FoldOp::prod, kind);
}

}  // namespace

void fillFolds(SimdKernels& k) {
  fillReal<float, float>(k, Kind::f32);
  fillReal<double, double>(k, Kind::f64);
  fillReal<int32_t, uint32_t>(k, Kind::i32);
  fillReal<int64_t, uint64_t>(k, Kind::i64);
  fillReal<uint32_t, uint32_t>(k, Kind::u32);
  fillReal<uint64_t, uint64_t>(k, Kind::u64);
  fill<uint8_t, Max>(k, FoldOp::max, Kind::b8);
  fill<uint8_t, Min>(k, FoldOp::min, Kind::b8);
  fillComplex<c64>(k, Kind::c64);
  fillComplex<c128>(k, Kind::c128);
}

}  // namespace tl::TL_SIMD

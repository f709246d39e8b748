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

/** Many lanes at once, then the lanes pairwise: fast, and rounding errors grow slowly with the length. */
template <class T, class F> inline T foldRow(int64_t n, const T* x) {
  constexpr int64_t kWidth = 2 * kLanes;
  if (n < kWidth) {
    T total = x[0];
    TL_SHORT_LOOP
    for (int64_t i = 1; i < n; i++) {
      total = F::of(total, x[i]);
      TL_KEEP_SCALAR;
    }
    return total;
  }
  T lanes[kWidth];
  TL_LANE_LOOP
  for (int64_t k = 0; k < kWidth; k++) lanes[k] = x[k];
  int64_t i = kWidth;
  for (; i + kWidth <= n; i += kWidth)
    TL_LANE_LOOP
    for (int64_t k = 0; k < kWidth; k++) lanes[k] = F::of(lanes[k], x[i + k]);
  TL_SHORT_LOOP
  for (int64_t k = 0; i < n; i++, k++) {
    lanes[k] = F::of(lanes[k], x[i]);
    TL_KEEP_SCALAR;
  }
  for (int64_t width = kWidth / 2; width > 0; width /= 2)
    TL_SHORT_LOOP
    for (int64_t k = 0; k < width; k++) {
      lanes[k] = F::of(lanes[k], lanes[k + width]);
      TL_KEEP_SCALAR;
    }
  return lanes[0];
}

template <class T, class F> void foldRows(int64_t rows, int64_t columns, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  int64_t r = 0;
  // Short rows: one lane per row.
  if (columns < 2 * kLanes)
    for (; r + kLanes <= rows; r += kLanes) {
      T lanes[kLanes];
      TL_LANE_LOOP
      for (int64_t k = 0; k < kLanes; k++) lanes[k] = x[(r + k) * columns];
      TL_SHORT_LOOP
      for (int64_t c = 1; c < columns; c++)
        TL_LANE_LOOP
        for (int64_t k = 0; k < kLanes; k++) lanes[k] = F::of(lanes[k], x[(r + k) * columns + c]);
      TL_LANE_LOOP
      for (int64_t k = 0; k < kLanes; k++) to[r + k] = lanes[k];
    }
  TL_SHORT_LOOP
  for (; r < rows; r++) to[r] = foldRow<T, F>(columns, x + r * columns);
}

/** to[i] = F(to[i], x[i]). */
template <class T, class F> inline void foldInto(int64_t n, T* to, const T* x) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    TL_LANE_LOOP
    for (int64_t k = 0; k < kLanes; k++) to[i + k] = F::of(to[i + k], x[i + k]);
  TL_SHORT_LOOP
  for (; i < n; i++) {
    to[i] = F::of(to[i], x[i]);
    TL_KEEP_SCALAR;
  }
}

template <class T, class F> void foldColumns(int64_t rows, int64_t columns, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  if (columns == 1) {
    to[0] = foldRow<T, F>(rows, x);
    return;
  }
  if (columns >= kLanes) {
    __builtin_memcpy(to, x, static_cast<size_t>(columns) * sizeof(T));
    for (int64_t r = 1; r < rows; r++) foldInto<T, F>(columns, to, x + r * columns);
    return;
  }
  // Short rows: as many whole rows as fit side by side make one long one, which is folded in halves at the end.
  constexpr int64_t kWidth = 8 * kLanes;
  T wide[kWidth];
  const int64_t together = kWidth / columns < rows ? kWidth / columns : rows;
  const int64_t width = together * columns;
  __builtin_memcpy(wide, x, static_cast<size_t>(width) * sizeof(T));
  int64_t r = together;
  for (; r + together <= rows; r += together) foldInto<T, F>(width, wide, x + r * columns);
  foldInto<T, F>((rows - r) * columns, wide, x + r * columns);
  for (int64_t left = together; left > 1;) {
    const int64_t upper = left / 2, lower = left - upper;
    foldInto<T, F>(upper * columns, wide, wide + lower * columns);
    left = lower;
  }
  __builtin_memcpy(to, wide, static_cast<size_t>(columns) * sizeof(T));
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
  fill<c64, Sum>(k, FoldOp::sum, Kind::c64);
  fill<c64, Prod>(k, FoldOp::prod, Kind::c64);
  fill<c128, Sum>(k, FoldOp::sum, Kind::c128);
  fill<c128, Prod>(k, FoldOp::prod, Kind::c128);
}

}  // namespace tl::TL_SIMD

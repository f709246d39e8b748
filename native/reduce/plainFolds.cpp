/** Folds that are rare, one element at a time. */
#include "../map/slowOps.h"

namespace tl {
namespace {

template <class R>
struct Complex {
  R re, im;
};

struct Sum {
  template <class T>
  static T of(T a, T b) { return a + b; }
  template <class R>
  static Complex<R> of(Complex<R> a, Complex<R> b) { return {a.re + b.re, a.im + b.im}; }
};
struct Prod {
  template <class T>
  static T of(T a, T b) { return a * b; }
  template <class R>
  static Complex<R> of(Complex<R> a, Complex<R> b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};
struct Max {
  template <class T>
  static T of(T a, T b) { return a > b ? a : b; }
};
struct Min {
  template <class T>
  static T of(T a, T b) { return a < b ? a : b; }
};

template <class T, class F>
void foldRows(int64_t rows, int64_t columns, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  for (int64_t r = 0; r < rows; r++, x += columns) {
    T total = x[0];
    for (int64_t c = 1; c < columns; c++) total = F::of(total, x[c]);
    static_cast<T*>(out)[r] = total;
  }
}

template <class T, class F>
void foldColumns(int64_t rows, int64_t columns, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  for (int64_t c = 0; c < columns; c++) to[c] = x[c];
  for (int64_t r = 1; r < rows; r++)
    for (int64_t c = 0; c < columns; c++) to[c] = F::of(to[c], x[r * columns + c]);
}

template <class T, class F>
void fill(SimdKernels& k, FoldOp op, Kind kind) {
  k.foldRows[static_cast<int>(op)][static_cast<int>(kind)] = foldRows<T, F>;
  k.foldColumns[static_cast<int>(op)][static_cast<int>(kind)] = foldColumns<T, F>;
}

}  // namespace

void fillPlainFolds(SimdKernels& k) {
  fill<int32_t, Max>(k, FoldOp::max, Kind::i32);
  fill<int32_t, Min>(k, FoldOp::min, Kind::i32);
  fill<uint8_t, Max>(k, FoldOp::max, Kind::b8);
  fill<uint8_t, Min>(k, FoldOp::min, Kind::b8);
  // Sums and products of integers wrap, whatever their sign.
  fill<uint64_t, Sum>(k, FoldOp::sum, Kind::i64);
  fill<uint64_t, Sum>(k, FoldOp::sum, Kind::u64);
  fill<uint32_t, Prod>(k, FoldOp::prod, Kind::i32);
  fill<uint32_t, Prod>(k, FoldOp::prod, Kind::u32);
  fill<uint64_t, Prod>(k, FoldOp::prod, Kind::i64);
  fill<uint64_t, Prod>(k, FoldOp::prod, Kind::u64);
  fill<uint32_t, Max>(k, FoldOp::max, Kind::u32);
  fill<uint32_t, Min>(k, FoldOp::min, Kind::u32);
  fill<int64_t, Max>(k, FoldOp::max, Kind::i64);
  fill<int64_t, Min>(k, FoldOp::min, Kind::i64);
  fill<uint64_t, Max>(k, FoldOp::max, Kind::u64);
  fill<uint64_t, Min>(k, FoldOp::min, Kind::u64);
  fill<Complex<float>, Sum>(k, FoldOp::sum, Kind::c64);
  fill<Complex<float>, Prod>(k, FoldOp::prod, Kind::c64);
  fill<Complex<double>, Sum>(k, FoldOp::sum, Kind::c128);
  fill<Complex<double>, Prod>(k, FoldOp::prod, Kind::c128);
}

}  // namespace tl

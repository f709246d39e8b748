/** Loops over rows of matrices, which exist once per instruction set. */
#pragma once
#include <cstdint>

namespace tl {

/** A complex number. std::complex would ask for NaN after every product. */
struct ComplexDouble {
  double re, im;
};

template <class T>
struct RowKernels {
  /** y += a x. */
  void (*addScaled)(int64_t n, T a, const T* x, T* y);
  /** The sum of conj(x) y. */
  T (*dot)(int64_t n, const T* x, const T* y);
  /** a[i, :] -= x[i] y, for rows `step` apart and elements of x `xStep` apart. */
  void (*subtractOuter)(int64_t m, int64_t n, const T* x, int64_t xStep, const T* y, T* a, int64_t step);
  /** y[i] = the sum of a[i, :] x. */
  void (*times)(int64_t m, int64_t n, const T* a, int64_t step, const T* x, T* y);
  /** y = the sum of conj(x[i]) a[i, :]. */
  void (*turnedTimes)(int64_t m, int64_t n, const T* a, int64_t step, const T* x, T* y);
};

/** Turns a row and the next against each other: (x, y) becomes (c x + s y, c y - s x). */
struct Turn {
  double c, s;
};

/** Turns of the rows first, first + 1 ... with the row behind each, in this order. */
struct Sweep {
  int64_t first, count;
  const Turn* turns;
};

/** The same with a complex sine: (x, y) becomes (c x + s y, c y - conj(s) x). */
struct ComplexTurn {
  double c;
  ComplexDouble s;
};

struct LinalgKernels {
  RowKernels<double> real;
  RowKernels<ComplexDouble> complex;
  /** Applies sweeps to columns [begin, end) of rows that are `step` apart. */
  void (*turnRows)(const Sweep* sweeps, int64_t count, double* rows, int64_t step, int64_t begin, int64_t end);
  /** Turns two rows. */
  void (*turnPair)(int64_t n, ComplexTurn turn, ComplexDouble* x, ComplexDouble* y);
  /** Turns columns 0, 1 ... with the column behind each, in this order. */
  void (*turnColumns)(int64_t rows, int64_t count, const ComplexTurn* turns, ComplexDouble* a, int64_t step);
};

}  // namespace tl

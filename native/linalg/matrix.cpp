/** Products of real and complex matrices, by the library's products of double, and triangular systems. */
#include "matrix.h"

#include "../dot/method.h"

namespace tl {
namespace {

Gemm<double> gemmOf(MatrixView<double> a, MatrixView<double> b, MatrixView<double> c, bool adds) {
  Gemm<double> g = {c.rows, c.columns, a.columns, a.data, a.step, a.across, b.data, b.step, b.across, c.data, c.step, c.across};
  g.add = adds;
  return g;
}

/** Matrices of one of the two parts of complex numbers. */
enum Part { real, imaginary };
MatrixView<double> partOf(MatrixView<ComplexDouble> z, Part part) {
  return {reinterpret_cast<double*>(z.data) + part, z.rows, z.columns, 2 * z.step, 2 * z.across};
}

Matrix<double> scaled(MatrixView<double> a, double factor) {
  Matrix<double> result(a.rows, a.columns);
  const MatrixView<double> to = result.view();
  for (int64_t i = 0; i < a.rows; i++)
    for (int64_t j = 0; j < a.columns; j++) to.at(i, j) = factor * a.at(i, j);
  return result;
}

/** c = factor a b, or c += it; the factor is 1 or -1. */
void accumulate(MatrixView<double> a, MatrixView<double> b, MatrixView<double> c, double factor, bool adds) {
  if (factor == 1) return multiply(gemmOf(a, b, c, adds));
  const bool scalesA = a.rows < b.columns;
  Matrix<double> turned = scaled(scalesA ? a : b, factor);
  multiply(scalesA ? gemmOf(turned.view(), b, c, adds) : gemmOf(a, turned.view(), c, adds));
}

void accumulate(MatrixView<ComplexDouble> a, MatrixView<ComplexDouble> b, MatrixView<ComplexDouble> c, double factor, bool adds) {
  const double signA = a.isConjugated ? -1 : 1, signB = b.isConjugated ? -1 : 1;
  accumulate(partOf(a, real), partOf(b, real), partOf(c, real), factor, adds);
  accumulate(partOf(a, imaginary), partOf(b, imaginary), partOf(c, real), -factor * signA * signB, true);
  accumulate(partOf(a, real), partOf(b, imaginary), partOf(c, imaginary), factor * signB, adds);
  accumulate(partOf(a, imaginary), partOf(b, real), partOf(c, imaginary), factor * signA, true);
}

template <class T>
void accumulateIfAny(MatrixView<T> a, MatrixView<T> b, MatrixView<T> c, double factor, bool adds) {
  if (c.rows == 0 || c.columns == 0) return;
  if (a.columns > 0) accumulate(a, b, c, factor, adds);
  else if (!adds) fill(c, T{});
}

/** Systems of so many equations are solved row by row: products would take longer to begin. */
constexpr int64_t kFewRows = 32;

template <class T>
void solveRows(MatrixView<T> a, MatrixView<T> b, Half half, Diagonal diagonal) {
  const int64_t n = a.rows;
  const auto addScaled = rowKernels<T>().addScaled;
  for (int64_t k = 0; k < n; k++) {
    const int64_t i = half == Half::lower ? k : n - 1 - k;
    T* const row = b.row(i);
    const int64_t first = half == Half::lower ? 0 : i + 1, last = half == Half::lower ? i : n;
    for (int64_t j = first; j < last; j++) addScaled(b.columns, -a.value(i, j), b.row(j), row);
    if (diagonal == Diagonal::ones) continue;
    const T divisor = a.value(i, i);
    for (int64_t j = 0; j < b.columns; j++) row[j] = row[j] / divisor;
  }
}

}  // namespace

template <class T>
void product(MatrixView<T> a, MatrixView<T> b, MatrixView<T> c) {
  accumulateIfAny(a, b, c, 1, false);
}
template <class T>
void subtractProduct(MatrixView<T> a, MatrixView<T> b, MatrixView<T> c) {
  accumulateIfAny(a, b, c, -1, true);
}

template <class T>
void solveTriangular(MatrixView<T> a, MatrixView<T> b, Half half, Diagonal diagonal) {
  const int64_t n = a.rows;
  if (n <= kFewRows) return solveRows(a, b, half, diagonal);
  const int64_t top = (n / 2 + 15) & ~int64_t{15}, rest = n - top;
  const MatrixView<T> above = b.part(0, 0, top, b.columns), below = b.part(top, 0, rest, b.columns);
  const MatrixView<T> first = a.part(0, 0, top, top), second = a.part(top, top, rest, rest);
  if (half == Half::lower) {
    solveTriangular(first, above, half, diagonal);
    subtractProduct(a.part(top, 0, rest, top), above, below);
    solveTriangular(second, below, half, diagonal);
  } else {
    solveTriangular(second, below, half, diagonal);
    subtractProduct(a.part(0, top, top, rest), below, above);
    solveTriangular(first, above, half, diagonal);
  }
}

#define TL_INSTANTIATE(T)                                   \
  template void product(MatrixView<T>, MatrixView<T>, MatrixView<T>);         \
  template void subtractProduct(MatrixView<T>, MatrixView<T>, MatrixView<T>); \
  template void solveTriangular(MatrixView<T>, MatrixView<T>, Half, Diagonal);
TL_INSTANTIATE(double)
TL_INSTANTIATE(ComplexDouble)

}  // namespace tl

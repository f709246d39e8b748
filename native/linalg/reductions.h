/** Matrices reduced by reflections to simpler ones: triangular, tridiagonal, bidiagonal. */
#pragma once
#include "reflectors.h"

namespace tl {

/** `a = q r`: r takes the place of a, and q is the product of the reflections, one for each column that there is a row for. */
template <class T>
Reflectors<T> toTriangular(MatrixView<T> a);

/** The diagonal of a matrix and the numbers beside it, above or on both sides. */
struct Diagonals {
  std::vector<double> main, beside;
  explicit Diagonals(int64_t n) : main(static_cast<size_t>(n)), beside(static_cast<size_t>(n > 0 ? n - 1 : 0)) {}
};

/** `a = q t adjoint(q)` for a Hermitian a, of which nothing is left, and a real symmetric t. */
template <class T>
Reflectors<T> toTridiagonal(MatrixView<T> a, Diagonals& t);

/** `a = left b adjoint(right)` for a with at least as many rows as columns, of which nothing is left, and a real b with diagonals above. */
template <class T>
struct Bidiagonal {
  Reflectors<T> left, right;
  Diagonals b;
};
template <class T>
Bidiagonal<T> toBidiagonal(MatrixView<T> a);

}  // namespace tl

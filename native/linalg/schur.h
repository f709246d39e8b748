/** The Schur form of a square matrix: `u t adjoint(u)` with u unitary and t upper triangular. */
#pragma once
#include "matrix.h"

namespace tl {

/** The root whose real part is not negative. */
ComplexDouble rootOf(ComplexDouble z);

struct Schur {
  Matrix<ComplexDouble> t;
  /** The transpose of u, without conjugation. */
  Matrix<ComplexDouble> turned;

  MatrixView<ComplexDouble> u() {
    const MatrixView<ComplexDouble> rows = turned.view();
    return {rows.data, rows.columns, rows.rows, 1, rows.step};
  }
};

/** Of a matrix of finite numbers, which is lost. */
template <class T>
Schur schurOf(MatrixView<T> a);

}  // namespace tl

/** Eigenvalues and singular values with their vectors. Matrices are to be scaled to numbers of about 1, and are lost. */
#pragma once
#include "matrix.h"

namespace tl {

/** The power of two nearest to one over the largest number of a matrix; NaN if there are numbers that are not finite. */
template <class T>
double scaleOf(MatrixView<T> a);
template <class T>
void scale(MatrixView<T> a, double factor);

/** Eigenvalues of a Hermitian matrix, smallest first, and eigenvectors as columns, unless nobody wants them. */
template <class T>
void decomposeHermitian(MatrixView<T> a, std::vector<double>& values, MatrixView<T> vectors, bool wantsVectors);

/**
 * Singular values, largest first, of a matrix that has at least as many rows as columns, and vectors as columns of `u` and `v`, unless
 * nobody wants them. What columns `u` has beyond the number of values are those of an identity, and become others at right angles.
 */
template <class T>
void decompose(MatrixView<T> a, std::vector<double>& values, MatrixView<T> u, MatrixView<T> v, bool wantsVectors);

}  // namespace tl

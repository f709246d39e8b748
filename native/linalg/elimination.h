/** Factors of square matrices by elimination: LU with the largest pivots, and Cholesky. */
#pragma once
#include "matrix.h"

namespace tl {

struct Elimination {
  /** Where each row of the factors comes from. */
  std::vector<int64_t> order;
  /** The sign of that permutation. */
  double sign = 1;
  bool isSingular = false;
};

/** Both triangular factors in place of a matrix; the lower one has ones on its diagonal, which are left out. */
template <class T>
Elimination eliminate(MatrixView<T> a);

/** The upper triangular u with `adjoint(u) u` equal to the matrix, in place of its upper half; what is below is lost. */
template <class T>
void factorizePositive(MatrixView<T> a);

}  // namespace tl

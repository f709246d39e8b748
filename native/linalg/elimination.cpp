/** Both factorizations go by halves, so that most of their work is in products of matrices. */
#include "elimination.h"

namespace tl {
namespace {

/** Columns that are eliminated one by one. */
constexpr int64_t kFewColumns = 16;
/** Rows and columns of a matrix that is factorized row by row. */
constexpr int64_t kFewRows = 32;

template <class T>
void swapRows(MatrixView<T> a, int64_t i, int64_t j) {
  std::swap_ranges(a.row(i), a.row(i) + a.columns, a.row(j));
}

/** Eliminates columns [first, last) in rows from `first` on. Rows of the whole matrix change places. */
template <class T>
void eliminateColumns(MatrixView<T> a, int64_t first, int64_t last, Elimination& e) {
  for (int64_t k = first; k < last; k++) {
    int64_t best = k;
    double largest = sizeOf(a.at(k, k));
    for (int64_t i = k + 1; i < a.rows; i++)
      if (const double size = sizeOf(a.at(i, k)); size > largest) {
        largest = size;
        best = i;
      }
    if (largest == 0) {
      e.isSingular = true;
      continue;
    }
    if (best != k) {
      swapRows(a, k, best);
      std::swap(e.order[static_cast<size_t>(k)], e.order[static_cast<size_t>(best)]);
      e.sign = -e.sign;
    }
    const T pivot = a.at(k, k);
    for (int64_t i = k + 1; i < a.rows; i++) a.at(i, k) = a.at(i, k) / pivot;
    if (k + 1 < last)
      rowKernels<T>().subtractOuter(a.rows - k - 1, last - k - 1, &a.at(k + 1, k), a.step, &a.at(k, k + 1), &a.at(k + 1, k + 1), a.step);
  }
}

template <class T>
void eliminateHalves(MatrixView<T> a, int64_t first, int64_t last, Elimination& e) {
  if (last - first <= kFewColumns) return eliminateColumns(a, first, last, e);
  const int64_t middle = first + ((last - first) / 2 + kFewColumns - 1) / kFewColumns * kFewColumns;
  eliminateHalves(a, first, middle, e);
  const int64_t left = middle - first, right = last - middle, below = a.rows - middle;
  const MatrixView<T> beside = a.part(first, middle, left, right);
  solveTriangular(a.part(first, first, left, left), beside, Half::lower, Diagonal::ones);
  subtractProduct(a.part(middle, first, below, left), beside, a.part(middle, middle, below, right));
  eliminateHalves(a, middle, last, e);
}

template <class T>
void factorizeRows(MatrixView<T> a) {
  for (int64_t k = 0; k < a.rows; k++) {
    const double square = realOf(a.at(k, k));
    const double pivot = square > 0 ? std::sqrt(square) : kNan;
    T* const row = a.row(k);
    row[k] = numberOf<T>(pivot);
    for (int64_t j = k + 1; j < a.columns; j++) row[j] = row[j] / pivot;
    for (int64_t i = k + 1; i < a.rows; i++) rowKernels<T>().addScaled(a.columns - i, -conj(row[i]), row + i, a.row(i) + i);
  }
}

/** The upper half of a -= adjoint(u) u; what happens below the diagonal does not matter. */
template <class T>
void subtractSquare(MatrixView<T> u, MatrixView<T> a) {
  constexpr int64_t kFew = 96;
  const int64_t n = a.rows;
  if (n <= kFew) return subtractProduct(u.adjoint(), u, a);
  const int64_t top = (n / 2 + 15) & ~int64_t{15}, rest = n - top;
  const MatrixView<T> left = u.part(0, 0, u.rows, top), right = u.part(0, top, u.rows, rest);
  subtractSquare(left, a.part(0, 0, top, top));
  subtractProduct(left.adjoint(), right, a.part(0, top, top, rest));
  subtractSquare(right, a.part(top, top, rest, rest));
}

}  // namespace

template <class T>
Elimination eliminate(MatrixView<T> a) {
  Elimination e;
  e.order.resize(static_cast<size_t>(a.rows));
  for (int64_t i = 0; i < a.rows; i++) e.order[static_cast<size_t>(i)] = i;
  eliminateHalves(a, 0, a.columns, e);
  return e;
}

template <class T>
void factorizePositive(MatrixView<T> a) {
  const int64_t n = a.rows;
  if (n <= kFewRows) return factorizeRows(a);
  const int64_t top = (n / 2 + 15) & ~int64_t{15}, rest = n - top;
  const MatrixView<T> first = a.part(0, 0, top, top), beside = a.part(0, top, top, rest), second = a.part(top, top, rest, rest);
  factorizePositive(first);
  solveTriangular(first.adjoint(), beside, Half::lower);
  subtractSquare(beside, second);
  factorizePositive(second);
}

#define TL_INSTANTIATE(T)                 \
  template Elimination eliminate(MatrixView<T>); \
  template void factorizePositive(MatrixView<T>);
TL_INSTANTIATE(double)
TL_INSTANTIATE(ComplexDouble)

}  // namespace tl

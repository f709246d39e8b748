/** Matrices in memory, and what all factorizations are made of: products and triangular systems. */
#pragma once
#include <algorithm>
#include <vector>

#include "../simd/kernels.h"
#include "scalar.h"

namespace tl {

/** A matrix, or a part of one, or the adjoint of one: where it is and how far apart its rows and columns are. */
template <class T>
struct MatrixView {
  T* data;
  int64_t rows, columns;
  int64_t step, across = 1;
  bool isConjugated = false;

  T* row(int64_t i) const { return data + i * step; }
  T& at(int64_t i, int64_t j) const { return data[i * step + j * across]; }
  /** The element as the view means it. */
  T value(int64_t i, int64_t j) const { return isConjugated ? conj(at(i, j)) : at(i, j); }
  MatrixView part(int64_t i, int64_t j, int64_t m, int64_t n) const { return {data + i * step + j * across, m, n, step, across, isConjugated}; }
  MatrixView from(int64_t i, int64_t j) const { return part(i, j, rows - i, columns - j); }
  MatrixView adjoint() const { return {data, columns, rows, across, step, !isConjugated}; }
};

/** A matrix of zeros that has its own memory. */
template <class T>
class Matrix {
 public:
  Matrix(int64_t rows, int64_t columns) : memory_(static_cast<size_t>(rows * columns)), rows_(rows), columns_(columns) {}
  MatrixView<T> view() { return {memory_.data(), rows_, columns_, columns_}; }
  /** Ones on the diagonal. */
  static Matrix identity(int64_t rows, int64_t columns) {
    Matrix result(rows, columns);
    for (int64_t i = 0; i < std::min(rows, columns); i++) result.view().at(i, i) = numberOf<T>(1);
    return result;
  }

 private:
  std::vector<T> memory_;
  int64_t rows_, columns_;
};

template <class T>
const RowKernels<T>& rowKernels();
template <>
inline const RowKernels<double>& rowKernels() { return simd().linalg.real; }
template <>
inline const RowKernels<ComplexDouble>& rowKernels() { return simd().linalg.complex; }

template <class T>
void copy(MatrixView<T> from, MatrixView<T> to) {
  for (int64_t i = 0; i < from.rows; i++)
    for (int64_t j = 0; j < from.columns; j++) to.at(i, j) = from.value(i, j);
}

template <class T>
void fill(MatrixView<T> to, T x) {
  for (int64_t i = 0; i < to.rows; i++)
    for (int64_t j = 0; j < to.columns; j++) to.at(i, j) = x;
}

/** c = a b, where c is not conjugated and shares no memory with the others. */
template <class T>
void product(MatrixView<T> a, MatrixView<T> b, MatrixView<T> c);
/** c -= a b. */
template <class T>
void subtractProduct(MatrixView<T> a, MatrixView<T> b, MatrixView<T> c);

enum class Half { lower, upper };
enum class Diagonal { given, ones };
/** b = inverse(a) b, for a triangular a of which the other half is not read; rows of b are in one piece. */
template <class T>
void solveTriangular(MatrixView<T> a, MatrixView<T> b, Half half, Diagonal diagonal = Diagonal::given);

}  // namespace tl

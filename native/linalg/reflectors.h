/** Householder reflections, many at a time: I - V T adjoint(V), the product of I - tau v adjoint(v) for the columns v of V. */
#pragma once
#include "matrix.h"

namespace tl {

/** How many reflections are made one by one before they are applied to the rest of a matrix together. */
constexpr int64_t kTogether = 32;

/** A reflection whose adjoint takes x to (beta, 0, 0 ...), with beta real; x becomes v, whose first element is 1. */
template <class T>
struct Reflection {
  T tau;
  double beta;
};
template <class T>
Reflection<T> reflectionOf(T* x, int64_t n);

/** The product of reflections, the first of which is on the left. Vectors begin with zeros, later ones with more of them, then a 1. */
template <class T>
class Reflectors {
 public:
  Reflectors(int64_t count, int64_t length)
      : vectors_(count, length), taus_(static_cast<size_t>(count)), first_(static_cast<size_t>(count)) {}

  int64_t count() const { return static_cast<int64_t>(taus_.size()); }
  T* vector(int64_t i) { return vectors_.view().row(i); }
  T tau(int64_t i) const { return taus_[static_cast<size_t>(i)]; }
  /** Makes vector `i` a reflection of its elements from `first` on; gives beta. */
  double reflect(int64_t i, int64_t first) {
    const Reflection<T> reflection = reflectionOf(vector(i) + first, vectors_.view().columns - first);
    taus_[static_cast<size_t>(i)] = reflection.tau;
    first_[static_cast<size_t>(i)] = first;
    return reflection.beta;
  }
  /** Vectors [begin, end) from element `from` on, as columns. */
  MatrixView<T> columns(int64_t begin, int64_t end, int64_t from) {
    const MatrixView<T> rows = vectors_.view().part(begin, from, end - begin, vectors_.view().columns - from);
    return {rows.data, rows.columns, rows.rows, 1, rows.step};
  }

  /** Multiplies columns of a matrix from `from` on by the adjoint of the product of some reflections, from the left. */
  void applyAdjoint(MatrixView<T> a, int64_t begin, int64_t end, int64_t from = 0) { apply(a, begin, end, from, true); }
  /** Multiplies a matrix by all of them, from the left. Its columns before `identities` are those of an identity. */
  void applyAll(MatrixView<T> a, int64_t identities = 0);

 private:
  void apply(MatrixView<T> a, int64_t begin, int64_t end, int64_t from, bool isAdjoint);

  Matrix<T> vectors_;
  std::vector<T> taus_;
  std::vector<int64_t> first_;
};

}  // namespace tl

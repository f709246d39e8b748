/** Reflections are kept as rows, each in one piece, and applied in groups, as three products of matrices. */
#include "reflectors.h"

namespace tl {

template <class T>
Reflection<T> reflectionOf(T* x, int64_t n) {
  double below = 0;
  for (int64_t i = 1; i < n; i++) below += squareOf(x[i]);
  const double a = realOf(x[0]), b = imaginaryOf(x[0]);
  if (below + b * b == 0) {
    x[0] = numberOf<T>(1);
    return {T{}, a};
  }
  // The sign that takes nothing away from a.
  const double beta = std::sqrt(a * a + b * b + below) * (a >= 0 ? -1 : 1);
  const T first = x[0] - numberOf<T>(beta);
  for (int64_t i = 1; i < n; i++) x[i] = x[i] / first;
  const T tau = -first / beta;
  x[0] = numberOf<T>(1);
  return {tau, beta};
}

template <class T>
void Reflectors<T>::apply(MatrixView<T> a, int64_t begin, int64_t end, int64_t from, bool isAdjoint) {
  const int64_t count = end - begin;
  if (count == 0 || a.columns == from) return;
  const int64_t top = first_[static_cast<size_t>(begin)];
  const MatrixView<T> v = columns(begin, end, top), target = a.from(top, from);
  // T is upper triangular, with the taus on its diagonal: t[:, j] = -tau[j] t (adjoint(V) v[j]) above it.
  Matrix<T> triangle(count, count), angles(count, count);
  const MatrixView<T> t = triangle.view(), inner = angles.view();
  product(v.adjoint(), v, inner);
  for (int64_t j = 0; j < count; j++) {
    const T factor = tau(begin + j);
    t.at(j, j) = factor;
    for (int64_t i = 0; i < j; i++) {
      T sum = T{};
      for (int64_t k = i; k < j; k++) sum = sum + t.at(i, k) * inner.at(k, j);
      t.at(i, j) = -(factor * sum);
    }
  }
  Matrix<T> seen(count, target.columns), factors(count, target.columns);
  product(v.adjoint(), target, seen.view());
  product(isAdjoint ? t.adjoint() : t, seen.view(), factors.view());
  subtractProduct(v, factors.view(), target);
}

template <class T>
void Reflectors<T>::applyAll(MatrixView<T> a, int64_t identities) {
  for (int64_t begin = (count() - 1) / kTogether * kTogether; begin >= 0 && begin < count(); begin -= kTogether)
    apply(a, begin, std::min(count(), begin + kTogether), std::min(identities, first_[static_cast<size_t>(begin)]), false);
}

#define TL_INSTANTIATE(T)                           \
  template Reflection<T> reflectionOf(T*, int64_t); \
  template class Reflectors<T>;
TL_INSTANTIATE(double)
TL_INSTANTIATE(ComplexDouble)

}  // namespace tl

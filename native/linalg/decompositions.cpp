#include "decompositions.h"

#include "iterations.h"

namespace tl {
namespace {

/** Positions of numbers in their order. */
template <class Before>
std::vector<int64_t> sorted(const std::vector<double>& numbers, const Before& before) {
  std::vector<int64_t> order(numbers.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = static_cast<int64_t>(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return before(numbers[static_cast<size_t>(i)], numbers[static_cast<size_t>(j)]); });
  return order;
}

/** Rows of `from`, in an order, as the first columns of `to`. */
template <class T>
void putColumns(MatrixView<double> from, const std::vector<int64_t>& order, MatrixView<T> to) {
  for (size_t j = 0; j < order.size(); j++) {
    const double* row = from.row(order[j]);
    for (int64_t i = 0; i < from.columns; i++) to.at(i, static_cast<int64_t>(j)) = numberOf<T>(row[i]);
  }
}

}  // namespace

template <class T>
double scaleOf(MatrixView<T> a) {
  double largest = 0;
  for (int64_t i = 0; i < a.rows; i++)
    for (int64_t j = 0; j < a.columns; j++) {
      const T x = a.at(i, j);
      if (!isFinite(x)) return kNan;
      largest = std::max(largest, std::max(std::fabs(realOf(x)), std::fabs(imaginaryOf(x))));
    }
  if (largest == 0) return 1;
  int exponent;
  std::frexp(largest, &exponent);
  return std::ldexp(1, std::clamp(-exponent, -1000, 1000));
}

template <class T>
void scale(MatrixView<T> a, double factor) {
  for (int64_t i = 0; i < a.rows; i++)
    for (int64_t j = 0; j < a.columns; j++) a.at(i, j) = a.at(i, j) * factor;
}

template <class T>
void decomposeHermitian(MatrixView<T> a, std::vector<double>& values, MatrixView<T> vectors, bool wantsVectors) {
  const int64_t n = a.rows;
  Diagonals t(n);
  Reflectors<T> q = toTridiagonal(a, t);
  Matrix<double> rows = Matrix<double>::identity(wantsVectors ? n : 0, n);
  Turns turns(rows.view());
  diagonalizeTridiagonal(t, wantsVectors ? &turns : nullptr);
  const std::vector<int64_t> order = sorted(t.main, [](double x, double y) { return x < y; });
  for (size_t i = 0; i < order.size(); i++) values[i] = t.main[static_cast<size_t>(order[i])];
  if (!wantsVectors) return;
  putColumns(rows.view(), order, vectors);
  q.applyAll(vectors);
}

template <class T>
void decompose(MatrixView<T> a, std::vector<double>& values, MatrixView<T> u, MatrixView<T> v, bool wantsVectors) {
  const int64_t n = a.columns;
  // With many more rows than columns, most of the work is done once for all in a square.
  const bool isTall = a.rows > n + n / 2;
  Reflectors<T> outer = isTall ? toTriangular(a) : Reflectors<T>(0, 0);
  Bidiagonal<T> bidiagonal = toBidiagonal(isTall ? a.part(0, 0, n, n) : a);
  const int64_t size = wantsVectors ? n : 0;
  Matrix<double> left = Matrix<double>::identity(size, n), right = Matrix<double>::identity(size, n);
  Turns leftTurns(left.view()), rightTurns(right.view());
  std::vector<double>& found = bidiagonal.b.main;
  diagonalizeBidiagonal(bidiagonal.b, wantsVectors ? &leftTurns : nullptr, wantsVectors ? &rightTurns : nullptr);
  const std::vector<int64_t> order = sorted(found, [](double x, double y) { return std::fabs(x) > std::fabs(y); });
  for (size_t i = 0; i < order.size(); i++) values[i] = std::fabs(found[static_cast<size_t>(order[i])]);
  if (!wantsVectors) return;
  for (int64_t i = 0; i < n; i++)
    if (found[static_cast<size_t>(i)] < 0)
      for (int64_t j = 0; j < n; j++) right.view().at(i, j) = -right.view().at(i, j);
  putColumns(left.view(), order, u);
  putColumns(right.view(), order, v);
  bidiagonal.left.applyAll(isTall ? u.part(0, 0, n, n) : u);
  if (isTall) outer.applyAll(u);
  bidiagonal.right.applyAll(v);
}

#define TL_INSTANTIATE(T)                                                                  \
  template double scaleOf(MatrixView<T>);                                                        \
  template void scale(MatrixView<T>, double);                                                    \
  template void decomposeHermitian(MatrixView<T>, std::vector<double>&, MatrixView<T>, bool);          \
  template void decompose(MatrixView<T>, std::vector<double>&, MatrixView<T>, MatrixView<T>, bool);
TL_INSTANTIATE(double)
TL_INSTANTIATE(ComplexDouble)

}  // namespace tl

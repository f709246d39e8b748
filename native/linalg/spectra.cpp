/** Orthogonal factors, eigenvalues of Hermitian matrices and singular values, for the ops of src/ops/math. */
#include "../tensorloom.h"
#include "batch.h"
#include "iterations.h"

namespace tl {
namespace {

template <class S>
Outcome qrAll(int64_t m, int64_t n, int64_t count, bool isFull, const S* in, S* qs, S* rs) {
  using T = ComputedAs<S>;
  const int64_t inner = isFull ? m : std::min(m, n);
  forMatrices(count, 4 * static_cast<double>(m * n) * static_cast<double>(std::min(m, n)), [&](int64_t k) {
    Matrix<T> a(m, n);
    load(in, k, a.view());
    Reflectors<T> reflectors = toTriangular(a.view());
    save(a.view().part(0, 0, inner, n), rs, k);
    Matrix<T> q = Matrix<T>::identity(m, inner);
    reflectors.applyAll(q.view(), inner);
    save(q.view(), qs, k);
  });
  return fine;
}

/** The power of two nearest to one over the largest number of a matrix; NaN if there are numbers that are not finite. */
template <class T>
double scaleOf(View<T> a) {
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
void scale(View<T> a, double factor) {
  for (int64_t i = 0; i < a.rows; i++)
    for (int64_t j = 0; j < a.columns; j++) a.at(i, j) = a.at(i, j) * factor;
}

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
void putColumns(View<double> from, const std::vector<int64_t>& order, View<T> to) {
  for (size_t j = 0; j < order.size(); j++) {
    const double* row = from.row(order[j]);
    for (int64_t i = 0; i < from.columns; i++) to.at(i, static_cast<int64_t>(j)) = numberOf<T>(row[i]);
  }
}

/** Smallest values first; the lower half of the matrix is read. Without memory for vectors only values are computed. */
template <class S>
Outcome eigenAll(int64_t n, int64_t count, const S* in, S* values, S* vectors) {
  using T = ComputedAs<S>;
  forMatrices(count, (vectors ? 6 : 2) * cubeOf(n), [&](int64_t k) {
    Matrix<T> memory(n, n), result(vectors ? n : 0, n);
    const View<T> a = memory.view();
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j <= i; j++) {
        const T x = widened(in[(k * n + i) * n + j]);
        a.at(i, j) = i == j ? numberOf<T>(realOf(x)) : x;
        a.at(j, i) = conj(a.at(i, j));
      }
    const double factor = scaleOf(a);
    Diagonals t(n);
    if (isNan(factor)) {
      std::fill(t.main.begin(), t.main.end(), kNan);
      fill(result.view(), numberOf<T>(kNan));
    } else {
      scale(a, factor);
      Reflectors<T> q = toTridiagonal(a, t);
      Matrix<double> rows = Matrix<double>::identity(vectors ? n : 0, n);
      Turns turns(rows.view());
      diagonalizeTridiagonal(t, vectors ? &turns : nullptr);
      const std::vector<int64_t> order = sorted(t.main, [](double x, double y) { return x < y; });
      const std::vector<double> found = t.main;
      for (size_t i = 0; i < order.size(); i++) t.main[i] = found[static_cast<size_t>(order[i])] / factor;
      if (vectors) {
        putColumns(rows.view(), order, result.view());
        q.applyAll(result.view());
      }
    }
    for (int64_t i = 0; i < n; i++) store(values[k * n + i], numberOf<T>(t.main[static_cast<size_t>(i)]));
    if (vectors) save(result.view(), vectors, k);
  });
  return fine;
}

/** Singular values, largest first, and vectors as columns of `u` and `v`, of which both have at least as many as there are values. */
template <class T>
void decompose(View<T> a, std::vector<double>& values, View<T> u, View<T> v, bool wantsVectors) {
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

/** Without memory for vectors only values are computed. */
template <class S>
Outcome svdAll(int64_t m, int64_t n, int64_t count, bool isFull, const S* in, S* values, S* us, S* vs) {
  using T = ComputedAs<S>;
  const int64_t inner = std::min(m, n), outer = std::max(m, n);
  const double work = (us ? 12 : 3) * static_cast<double>(outer * inner) * static_cast<double>(inner);
  forMatrices(count, work, [&](int64_t k) {
    // Wide matrices by their adjoint.
    const bool isWide = m < n;
    Matrix<T> a(outer, inner), u = Matrix<T>::identity(us ? outer : 0, isFull ? outer : inner), v(us ? inner : 0, inner);
    load(in, k, a.view(), isWide);
    std::vector<double> s(static_cast<size_t>(inner), kNan);
    const double factor = scaleOf(a.view());
    if (isNan(factor)) {
      fill(u.view(), numberOf<T>(kNan));
      fill(v.view(), numberOf<T>(kNan));
    } else {
      scale(a.view(), factor);
      decompose(a.view(), s, u.view(), v.view(), us != nullptr);
    }
    for (int64_t i = 0; i < inner; i++) store(values[k * inner + i], numberOf<T>(s[static_cast<size_t>(i)] / factor));
    if (!us) return;
    save(isWide ? v.view() : u.view(), us, k);
    save(isWide ? u.view() : v.view(), vs, k);
  });
  return fine;
}

}  // namespace
}  // namespace tl

using namespace tl;

/** `q r` for matrices of m rows and n columns; q is square if `isFull`. The diagonal of r is real, with LAPACK's signs. */
TL_API int64_t tl_qr(int64_t kind, int64_t m, int64_t n, int64_t count, int64_t isFull, int64_t in, int64_t q, int64_t r) {
  return forKind(kind, [&](auto element) {
    using S = decltype(element);
    return qrAll(m, n, count, isFull != 0, memory<const S>(in), memory<S>(q), memory<S>(r));
  });
}

/** Eigenvalues of Hermitian matrices, and eigenvectors where there is memory for them. */
TL_API int64_t tl_self_adjoint_eig(int64_t kind, int64_t n, int64_t count, int64_t in, int64_t values, int64_t vectors) {
  return forKind(kind, [&](auto element) {
    using S = decltype(element);
    return eigenAll(n, count, memory<const S>(in), memory<S>(values), memory<S>(vectors));
  });
}

/** Singular values, and singular vectors where there is memory for them; both matrices of them are square if `isFull`. */
TL_API int64_t tl_svd(int64_t kind, int64_t m, int64_t n, int64_t count, int64_t isFull, int64_t in, int64_t values, int64_t u, int64_t v) {
  return forKind(kind, [&](auto element) {
    using S = decltype(element);
    return svdAll(m, n, count, isFull != 0, memory<const S>(in), memory<S>(values), memory<S>(u), memory<S>(v));
  });
}

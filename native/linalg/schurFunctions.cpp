/** What follows from the Schur form: eigenvalues, square roots and logarithms of square matrices, for the ops of src/ops/math. */
#include "../tensorloom.h"
#include "batch.h"
#include "decompositions.h"
#include "schur.h"

namespace tl {
namespace {

using Number = ComplexDouble;
using Square = MatrixView<Number>;

/** The sum of x y. */
Number sumOfProducts(int64_t n, const Number* x, const Number* y) {
  Number sum;
  rowKernels<Number>().times(1, n, x, 0, y, &sum);
  return sum;
}

/** Eigenvectors of an upper triangular matrix, of any length, as columns. */
void triangularVectors(Square t, Square vectors) {
  const int64_t n = t.rows;
  double largest = 0;
  for (int64_t i = 0; i < n; i++) largest = std::max(largest, sizeOf(t.at(i, i)));
  const double least = 2 * kEpsilon * (largest == 0 ? 1 : largest);
  constexpr double kLarge = 1e100;
  std::vector<Number> own(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; k++) {
    own[static_cast<size_t>(k)] = {1, 0};
    for (int64_t i = k - 1; i >= 0; i--) {
      const Number sum = sumOfProducts(k - i, &t.at(i, i) + 1, own.data() + i + 1);
      Number gap = t.at(k, k) - t.at(i, i);
      // Equal eigenvalues: a little apart, so that some vector comes out.
      if (sizeOf(gap) < least) gap = {least, 0};
      own[static_cast<size_t>(i)] = sum / gap;
      const double size = sizeOf(own[static_cast<size_t>(i)]);
      if (size > kLarge)
        for (int64_t j = i; j <= k; j++) own[static_cast<size_t>(j)] = own[static_cast<size_t>(j)] / size;
    }
    for (int64_t i = 0; i <= k; i++) vectors.at(i, k) = own[static_cast<size_t>(i)];
  }
}

/** Smallest values first; vectors have the length 1. Without memory for them only values are computed. */
template <class S, class Result>
Outcome eigAll(int64_t n, int64_t count, const S* in, Result* values, Result* vectors) {
  using T = ComputedAs<S>;
  forMatrices(count, 40 * cubeOf(n), [&](int64_t k) {
    Matrix<T> a(n, n);
    Matrix<Number> result(n, n);
    load(in, k, a.view());
    const double factor = scaleOf(a.view());
    std::vector<Number> found(static_cast<size_t>(n), {kNan, kNan});
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; i++) order[static_cast<size_t>(i)] = i;
    if (isNan(factor)) fill(result.view(), {kNan, kNan});
    else {
      scale(a.view(), factor);
      Schur schur = schurOf(a.view());
      for (int64_t i = 0; i < n; i++) found[static_cast<size_t>(i)] = schur.t.view().at(i, i);
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t i, int64_t j) { return sizeOf(found[static_cast<size_t>(i)]) < sizeOf(found[static_cast<size_t>(j)]); });
      if (vectors) {
        Matrix<Number> own(n, n);
        triangularVectors(schur.t.view(), own.view());
        product(schur.u(), own.view(), result.view());
      }
    }
    for (int64_t i = 0; i < n; i++) store(values[k * n + i], found[static_cast<size_t>(order[static_cast<size_t>(i)])] * (1 / factor));
    if (!vectors) return;
    for (int64_t j = 0; j < n; j++) {
      const int64_t from = order[static_cast<size_t>(j)];
      double length = 0;
      for (int64_t i = 0; i < n; i++) length = std::hypot(length, sizeOf(result.view().at(i, from)));
      for (int64_t i = 0; i < n; i++) store(vectors[(k * n + i) * n + j], result.view().at(i, from) / length);
    }
  });
  return fine;
}

/** The square root of an upper triangular matrix, column by column. */
Matrix<Number> triangularRoot(Square t) {
  const int64_t n = t.rows;
  Matrix<Number> memory(n, n), turnedMemory(n, n);
  const Square root = memory.view(), turned = turnedMemory.view();
  for (int64_t j = 0; j < n; j++) {
    root.at(j, j) = turned.at(j, j) = rootOf(t.at(j, j));
    for (int64_t i = j - 1; i >= 0; i--) {
      const Number rest = t.at(i, j) - sumOfProducts(j - i - 1, &root.at(i, i) + 1, &turned.at(j, i) + 1);
      const bool isZero = rest.re == 0 && rest.im == 0;
      root.at(i, j) = turned.at(j, i) = isZero ? rest : rest / (root.at(i, i) + root.at(j, j));
    }
  }
  return memory;
}

/** The largest sum of sizes in a column of t - 1. */
double distanceFromOne(Square t) {
  double largest = 0;
  for (int64_t j = 0; j < t.columns; j++) {
    double total = 0;
    for (int64_t i = 0; i <= j; i++) total += sizeOf(i == j ? t.at(i, j) - Number{1, 0} : t.at(i, j));
    largest = std::max(largest, total);
  }
  return largest;
}

/** Points and weights of Gauss and Legendre for eight points between -1 and 1; both signs of each point are taken. */
constexpr double kPoints[] = {0.1834346424956498, 0.525532409916329, 0.7966664774136267, 0.9602898564975363};
constexpr double kWeights[] = {0.362683783378362, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};

/** `log(1 + x)` of a triangular x, the integral of `x / (1 + s x)` over s from 0 to 1; eight points are enough for a matrix this small. */
Matrix<Number> logOfNearly(Square x) {
  const int64_t n = x.rows;
  Matrix<Number> total(n, n);
  for (int k = 0; k < 8; k++) {
    const double s = (1 + (k % 2 == 0 ? 1 : -1) * kPoints[k / 2]) / 2;
    Matrix<Number> below(n, n), part(n, n);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = i; j < n; j++) {
        below.view().at(i, j) = s * x.at(i, j) + Number{i == j ? 1.0 : 0.0, 0};
        part.view().at(i, j) = x.at(i, j);
      }
    solveTriangular(below.view(), part.view(), Half::upper);
    for (int64_t i = 0; i < n; i++) rowKernels<Number>().addScaled(n, {kWeights[k / 2] / 2, 0}, part.view().row(i), total.view().row(i));
  }
  return total;
}

/** The principal logarithm of a triangular matrix: square roots until it is near 1, whose logarithm is doubled as often. */
Matrix<Number> triangularLogarithm(Square t) {
  const int64_t n = t.rows;
  Matrix<Number> root(n, n);
  copy(t, root.view());
  int doublings = 0;
  // A singular matrix never comes near 1; its logarithm is infinite.
  for (; distanceFromOne(root.view()) > 0.25 && doublings < 100; doublings++) root = triangularRoot(root.view());
  for (int64_t i = 0; i < n; i++) root.view().at(i, i) = root.view().at(i, i) - Number{1, 0};
  Matrix<Number> log = logOfNearly(root.view());
  scale(log.view(), std::ldexp(1, doublings));
  for (int64_t i = 0; i < n; i++) {
    const Number own = t.at(i, i);
    log.view().at(i, i) = {std::log(sizeOf(own)), std::atan2(own.im, own.re)};
  }
  return log;
}

/** A complex matrix in a type that may be real; NaN where it is not. */
void narrow(Square from, MatrixView<ComplexDouble> to) { copy(from, to); }
void narrow(Square from, MatrixView<double> to) {
  double largest = 0, imaginary = 0;
  for (int64_t i = 0; i < from.rows; i++)
    for (int64_t j = 0; j < from.columns; j++) {
      to.at(i, j) = from.at(i, j).re;
      largest = std::max(largest, std::fabs(from.at(i, j).re));
      imaginary = std::max(imaginary, std::fabs(from.at(i, j).im));
    }
  if (imaginary > 1e-7 * largest) fill(to, kNan);
}

/** `u f(t) adjoint(u)` for a function of triangular matrices. */
template <class S, class F>
Outcome functionsOf(int64_t n, int64_t count, const S* in, S* out, const F& f) {
  using T = ComputedAs<S>;
  forMatrices(count, 50 * cubeOf(n), [&](int64_t k) {
    Matrix<T> a(n, n);
    load(in, k, a.view());
    if (isNan(scaleOf(a.view()))) fill(a.view(), numberOf<T>(kNan));
    else {
      Schur schur = schurOf(a.view());
      Matrix<Number> part(n, n), whole(n, n);
      product(schur.u(), f(schur.t.view()).view(), part.view());
      product(part.view(), schur.u().adjoint(), whole.view());
      narrow(whole.view(), a.view());
    }
    save(a.view(), out, k);
  });
  return fine;
}

}  // namespace
}  // namespace tl

using namespace tl;

/** Complex eigenvalues, and eigenvectors where there is memory for them. */
TL_API int64_t tl_eig(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t values, int64_t vectors) {
  return forKind(kind, threads, [&](auto element) {
    using S = decltype(element);
    using Result = std::conditional_t<sizeof(ComputedAs<S>) == sizeof(S), ComplexDouble, ComplexFloat>;
    return eigAll(n, count, memory<const S>(in), memory<Result>(values), memory<Result>(vectors));
  });
}

/** The matrices whose products with themselves are the given ones; NaN for real ones that have no real root. */
TL_API int64_t tl_matrix_square_root(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t out) {
  return forKind(kind, threads, [&](auto element) {
    using S = decltype(element);
    return functionsOf(n, count, memory<const S>(in), memory<S>(out), triangularRoot);
  });
}

/** The principal logarithms. */
TL_API int64_t tl_matrix_logarithm(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t out) {
  return forKind(kind, threads, [&](auto element) {
    using S = decltype(element);
    return functionsOf(n, count, memory<const S>(in), memory<S>(out), triangularLogarithm);
  });
}

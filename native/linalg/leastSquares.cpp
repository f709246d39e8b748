/** Solutions of linear equations that there are too many or too few of, for the op of src/ops/math/leastSquares.ts. */
#include <atomic>

#include "../tensorloom.h"
#include "batch.h"
#include "decompositions.h"
#include "elimination.h"

namespace tl {
namespace {

/** The solution by the normal equations; false where there is none. */
template <class T>
bool solveNormal(MatrixView<T> a, MatrixView<T> b, double regularizer, MatrixView<T> x) {
  const bool isTall = a.rows >= a.columns;
  const int64_t n = isTall ? a.columns : a.rows;
  Matrix<T> gramian(n, n), memory(n, b.columns);
  const MatrixView<T> g = gramian.view(), solution = memory.view();
  if (isTall) product(a.adjoint(), a, g);
  else product(a, a.adjoint(), g);
  for (int64_t i = 0; i < n; i++) g.at(i, i) = g.at(i, i) + numberOf<T>(regularizer);
  factorizePositive(g);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i; j < n; j++)
      if (isNan(g.at(i, j))) return false;
  if (isTall) product(a.adjoint(), b, solution);
  else copy(b, solution);
  solveTriangular(g.adjoint(), solution, Half::lower);
  solveTriangular(g, solution, Half::upper);
  if (isTall) copy(solution, x);
  else product(a.adjoint(), solution, x);
  return true;
}

/** The shortest of the best solutions, by singular values: those that are 0 but for rounding, `epsilon`, are left out. */
template <class T>
void solveShortest(MatrixView<T> a, MatrixView<T> b, double epsilon, MatrixView<T> x) {
  const bool isTall = a.rows >= a.columns;
  const int64_t outer = std::max(a.rows, a.columns), inner = std::min(a.rows, a.columns);
  Matrix<T> memory(outer, inner), u(outer, inner), v(inner, inner), parts(inner, b.columns);
  copy(isTall ? a : a.adjoint(), memory.view());
  const double factor = scaleOf(memory.view());
  if (isNan(factor)) return fill(x, numberOf<T>(kNan));
  scale(memory.view(), factor);
  std::vector<double> s(static_cast<size_t>(inner));
  decompose(memory.view(), s, u.view(), v.view(), true);
  const MatrixView<T> left = isTall ? u.view() : v.view(), right = isTall ? v.view() : u.view();
  product(left.adjoint(), b, parts.view());
  const double least = epsilon * static_cast<double>(outer) * s[0];
  for (int64_t i = 0; i < inner; i++) {
    const double size = s[static_cast<size_t>(i)];
    scale(parts.view().part(i, 0, 1, b.columns), size > least ? factor / size : 0);
  }
  product(right, parts.view(), x);
}

}  // namespace
}  // namespace tl

using namespace tl;

/** By the normal equations, or by singular values if `epsilon` is not 0. */
TL_API int64_t tl_least_squares(int64_t kind, int64_t threads, int64_t m, int64_t n, int64_t columns, int64_t count, double regularizer,
                                double epsilon, int64_t a, int64_t b, int64_t out) {
  return forKind(kind, threads, [&](auto element) {
    using S = decltype(element);
    using T = ComputedAs<S>;
    std::atomic<bool> isSingular{false};
    forMatrices(count, 12 * static_cast<double>(m * n) * static_cast<double>(std::min(m, n) + columns), [&](int64_t k) {
      Matrix<T> left(m, n), right(m, columns), x(n, columns);
      load(memory<const S>(a), k, left.view());
      load(memory<const S>(b), k, right.view());
      if (epsilon > 0) solveShortest(left.view(), right.view(), epsilon, x.view());
      else if (!solveNormal(left.view(), right.view(), regularizer, x.view())) isSingular = true;
      save(x.view(), memory<S>(out), k);
    });
    return isSingular ? singular : fine;
  });
}

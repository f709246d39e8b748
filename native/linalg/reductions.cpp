/**
 * Reductions work on some columns at a time. Within these, reflections are not applied to the rest of the matrix: it is remembered what
 * they would subtract from it, which is then done in products of matrices. Hermitian and general matrices need one or two products with
 * vectors per reflection besides.
 */
#include "reductions.h"

namespace tl {
namespace {

/** Rows of numbers that go with reflections of the current columns. */
template <class T>
MatrixView<T> asColumns(Matrix<T>& rows, int64_t count, int64_t from) {
  const MatrixView<T> v = rows.view();
  return {v.data + from, v.columns - from, count, 1, v.step};
}

/** y -= x times the dot product of z with v, over elements from `from` on; each of them has `n` elements in all. */
template <class T>
void subtractAlong(const T* z, const T* v, const T* x, T* y, int64_t from, int64_t target, int64_t nz, int64_t n) {
  const T factor = rowKernels<T>().dot(nz - from, z + from, v + from);
  rowKernels<T>().addScaled(n - target, -factor, x + target, y + target);
}

}  // namespace

template <class T>
Reflectors<T> toTriangular(MatrixView<T> a) {
  const int64_t m = a.rows, count = std::min(m, a.columns);
  Reflectors<T> q(count, m);
  const auto& kernels = rowKernels<T>();
  for (int64_t begin = 0; begin < count; begin += kTogether) {
    const int64_t end = std::min(count, begin + kTogether);
    // The columns as rows, each in one piece.
    Matrix<T> memory(end - begin, m);
    const MatrixView<T> panel = memory.view();
    for (int64_t i = begin; i < m; i++)
      for (int64_t j = begin; j < end; j++) panel.at(j - begin, i) = a.at(i, j);
    for (int64_t k = begin; k < end; k++) {
      T* const column = panel.row(k - begin);
      T* const v = q.vector(k);
      std::copy(column + k, column + m, v + k);
      column[k] = numberOf<T>(q.reflect(k, k));
      std::fill(column + k + 1, column + m, T{});
      for (int64_t j = k + 1; j < end; j++) {
        T* const other = panel.row(j - begin);
        const T factor = conj(q.tau(k)) * kernels.dot(m - k, v + k, other + k);
        kernels.addScaled(m - k, -factor, v + k, other + k);
      }
    }
    for (int64_t i = begin; i < m; i++)
      for (int64_t j = begin; j < end; j++) a.at(i, j) = panel.at(j - begin, i);
    q.applyAdjoint(a, begin, end, end);
  }
  return q;
}

/**
 * Column k is reduced by v, and a becomes a - v adjoint(w) - w adjoint(v) with p = tau a v and w = p - (conj(tau) adjoint(v) p / 2) v.
 */
template <class T>
Reflectors<T> toTridiagonal(MatrixView<T> a, Diagonals& t) {
  const int64_t n = a.rows, count = std::max<int64_t>(n - 1, 0);
  Reflectors<T> q(count, n);
  const auto& kernels = rowKernels<T>();
  std::vector<T> column(static_cast<size_t>(n));
  for (int64_t begin = 0; begin < count; begin += kTogether) {
    const int64_t end = std::min(count, begin + kTogether);
    Matrix<T> ws(end - begin, n);
    for (int64_t k = begin; k < end; k++) {
      for (int64_t j = k; j < n; j++) column[static_cast<size_t>(j)] = conj(a.at(k, j));
      for (int64_t p = begin; p < k; p++) {
        T* const w = ws.view().row(p - begin);
        kernels.addScaled(n - k, -conj(w[k]), q.vector(p) + k, column.data() + k);
        kernels.addScaled(n - k, -conj(q.vector(p)[k]), w + k, column.data() + k);
      }
      t.main[static_cast<size_t>(k)] = realOf(column[static_cast<size_t>(k)]);
      T* const v = q.vector(k);
      T* const w = ws.view().row(k - begin);
      const int64_t from = k + 1;
      std::copy(column.data() + from, column.data() + n, v + from);
      t.beside[static_cast<size_t>(k)] = q.reflect(k, from);
      kernels.times(n - from, n - from, &a.at(from, from), a.step, v + from, w + from);
      for (int64_t p = begin; p < k; p++) {
        T* const earlier = ws.view().row(p - begin);
        subtractAlong(earlier, v, q.vector(p), w, from, from, n, n);
        subtractAlong(q.vector(p), v, earlier, w, from, from, n, n);
      }
      for (int64_t j = from; j < n; j++) w[j] = q.tau(k) * w[j];
      const T half = 0.5 * (conj(q.tau(k)) * kernels.dot(n - from, v + from, w + from));
      kernels.addScaled(n - from, -half, v + from, w + from);
    }
    const MatrixView<T> v = q.columns(begin, end, end), w = asColumns(ws, end - begin, end), rest = a.from(end, end);
    subtractProduct(v, w.adjoint(), rest);
    subtractProduct(w, v.adjoint(), rest);
  }
  if (n > 0) t.main[static_cast<size_t>(n - 1)] = realOf(a.at(n - 1, n - 1));
  return q;
}

/**
 * Column k is reduced by v, then row k by u, and a becomes a - v adjoint(y) - x adjoint(u), with y = tau adjoint(a) v before, and
 * x = tau' a u after the first of the two.
 */
template <class T>
Bidiagonal<T> toBidiagonal(MatrixView<T> a) {
  const int64_t m = a.rows, n = a.columns;
  Bidiagonal<T> result{Reflectors<T>(n, m), Reflectors<T>(std::max<int64_t>(n - 1, 0), n), Diagonals(n)};
  auto& [left, right, b] = result;
  const auto& kernels = rowKernels<T>();
  for (int64_t begin = 0; begin < n; begin += kTogether) {
    const int64_t end = std::min(n, begin + kTogether);
    Matrix<T> ys(end - begin, n), xs(end - begin, m);
    const auto yOf = [&](int64_t p) { return ys.view().row(p - begin); };
    const auto xOf = [&](int64_t p) { return xs.view().row(p - begin); };
    for (int64_t k = begin; k < end; k++) {
      T* const v = left.vector(k);
      for (int64_t i = k; i < m; i++) v[i] = a.at(i, k);
      for (int64_t p = begin; p < k; p++) {
        kernels.addScaled(m - k, -conj(yOf(p)[k]), left.vector(p) + k, v + k);
        kernels.addScaled(m - k, -conj(right.vector(p)[k]), xOf(p) + k, v + k);
      }
      b.main[static_cast<size_t>(k)] = left.reflect(k, k);
      if (k == n - 1) break;
      const int64_t from = k + 1;
      T* const y = yOf(k);
      kernels.turnedTimes(m - k, n - from, &a.at(k, from), a.step, v + k, y + from);
      for (int64_t j = from; j < n; j++) y[j] = conj(y[j]);
      for (int64_t p = begin; p < k; p++) {
        subtractAlong(left.vector(p), v, yOf(p), y, k, from, m, n);
        subtractAlong(xOf(p), v, right.vector(p), y, k, from, m, n);
      }
      for (int64_t j = from; j < n; j++) y[j] = left.tau(k) * y[j];

      T* const u = right.vector(k);
      for (int64_t j = from; j < n; j++) u[j] = conj(a.at(k, j));
      for (int64_t p = begin; p <= k; p++) kernels.addScaled(n - from, -conj(left.vector(p)[k]), yOf(p) + from, u + from);
      for (int64_t p = begin; p < k; p++) kernels.addScaled(n - from, -conj(xOf(p)[k]), right.vector(p) + from, u + from);
      b.beside[static_cast<size_t>(k)] = right.reflect(k, from);
      T* const x = xOf(k);
      if (from < m) kernels.times(m - from, n - from, &a.at(from, from), a.step, u + from, x + from);
      for (int64_t p = begin; p <= k; p++) subtractAlong(yOf(p), u, left.vector(p), x, from, from, n, m);
      for (int64_t p = begin; p < k; p++) subtractAlong(right.vector(p), u, xOf(p), x, from, from, n, m);
      for (int64_t i = from; i < m; i++) x[i] = right.tau(k) * x[i];
    }
    if (end == n) break;
    const MatrixView<T> rest = a.from(end, end);
    subtractProduct(left.columns(begin, end, end), asColumns(ys, end - begin, end).adjoint(), rest);
    subtractProduct(asColumns(xs, end - begin, end), right.columns(begin, end, end).adjoint(), rest);
  }
  return result;
}

#define TL_INSTANTIATE(T)                                      \
  template Reflectors<T> toTriangular(MatrixView<T>);                \
  template Reflectors<T> toTridiagonal(MatrixView<T>, Diagonals&);   \
  template Bidiagonal<T> toBidiagonal(MatrixView<T>);
TL_INSTANTIATE(double)
TL_INSTANTIATE(ComplexDouble)

}  // namespace tl

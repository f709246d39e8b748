/** Orthogonal factors, eigenvalues of Hermitian matrices and singular values, for the ops of src/ops/math. */
#include <atomic>

#include "../tensorloom.h"
#include "batch.h"
#include "decompositions.h"
#include "reductions.h"

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

/**
 * Smallest values first; the lower half of the matrix is read. Without memory for vectors only values are computed. A matrix with a number
 * that is not finite has none, unless that is all there is.
 */
template <class S>
Outcome eigenAll(int64_t n, int64_t count, const S* in, S* values, S* vectors) {
  using T = ComputedAs<S>;
  std::atomic<bool> isSingular{false};
  forMatrices(count, (vectors ? 6 : 2) * cubeOf(n), [&](int64_t k) {
    Matrix<T> memory(n, n), result = Matrix<T>::identity(vectors ? n : 0, n);
    const MatrixView<T> a = memory.view();
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j <= i; j++) {
        const T x = widened(in[(k * n + i) * n + j]);
        a.at(i, j) = i == j ? numberOf<T>(realOf(x)) : x;
        a.at(j, i) = conj(a.at(i, j));
      }
    std::vector<double> found(static_cast<size_t>(n));
    double factor = 1;
    if (n == 1) {
      found[0] = realOf(a.at(0, 0));
    } else {
      factor = scaleOf(a);
      if (isNan(factor)) {
        isSingular = true;
        return;
      }
      scale(a, factor);
      decomposeHermitian(a, found, result.view(), vectors != nullptr);
    }
    for (int64_t i = 0; i < n; i++) store(values[k * n + i], numberOf<T>(found[static_cast<size_t>(i)] / factor));
    if (vectors) save(result.view(), vectors, k);
  });
  return isSingular ? singular : fine;
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
TL_API int64_t tl_qr(int64_t kind, int64_t threads, int64_t m, int64_t n, int64_t count, int64_t isFull, int64_t in, int64_t q, int64_t r) {
  return forKind(kind, threads, [&](auto element) {
    using S = decltype(element);
    return qrAll(m, n, count, isFull != 0, memory<const S>(in), memory<S>(q), memory<S>(r));
  });
}

/** Eigenvalues of Hermitian matrices, and eigenvectors where there is memory for them. */
TL_API int64_t tl_self_adjoint_eig(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t values, int64_t vectors) {
  return forKind(kind, threads, [&](auto element) {
    using S = decltype(element);
    return eigenAll(n, count, memory<const S>(in), memory<S>(values), memory<S>(vectors));
  });
}

/** Singular values, and singular vectors where there is memory for them; both matrices of them are square if `isFull`. */
TL_API int64_t tl_svd(int64_t kind, int64_t threads, int64_t m, int64_t n, int64_t count, int64_t isFull, int64_t in, int64_t values, int64_t u,
                      int64_t v) {
  return forKind(kind, threads, [&](auto element) {
    using S = decltype(element);
    return svdAll(m, n, count, isFull != 0, memory<const S>(in), memory<S>(values), memory<S>(u), memory<S>(v));
  });
}

/** Linear equations, determinants and factors of square matrices, for the ops of src/ops/math. */
#include <atomic>

#include "../tensorloom.h"
#include "batch.h"
#include "elimination.h"

namespace tl {
namespace {

template <class S>
Outcome choleskyAll(int64_t n, int64_t count, const S* in, S* out) {
  using T = ComputedAs<S>;
  forMatrices(count, cubeOf(n) / 3, [&](int64_t k) {
    Matrix<T> memory(n, n);
    const MatrixView<T> u = memory.view();
    // The lower half of the matrix as the upper one: rows are then in one piece in every step.
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j <= i; j++) u.at(j, i) = conj(widened(in[(k * n + i) * n + j]));
    factorizePositive(u);
    bool isNan = false;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = i; j < n; j++) isNan |= tl::isNan(u.at(i, j));
    S* const l = out + k * n * n;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++)
        // One NaN spoils the whole factor, so that a failure is not half hidden.
        store(l[i * n + j], j > i ? T{} : isNan ? numberOf<T>(kNan) : conj(u.at(j, i)));
  });
  return fine;
}

template <class S>
Outcome solveAll(int64_t n, int64_t columns, int64_t count, bool isAdjoint, const S* a, const S* b, S* out) {
  using T = ComputedAs<S>;
  std::atomic<bool> isSingular{false};
  forMatrices(count, cubeOf(n) + static_cast<double>(n * n * columns) * 2, [&](int64_t k) {
    Matrix<T> lu(n, n), x(n, columns);
    load(a, k, lu.view(), isAdjoint);
    const Elimination e = eliminate(lu.view());
    if (e.isSingular) {
      isSingular = true;
      return;
    }
    for (int64_t i = 0; i < n; i++) {
      const int64_t from = e.order[static_cast<size_t>(i)];
      if (!b) x.view().at(i, from) = numberOf<T>(1);
      else
        for (int64_t j = 0; j < columns; j++) x.view().at(i, j) = widened(b[(k * n + from) * columns + j]);
    }
    solveTriangular(lu.view(), x.view(), Half::lower, Diagonal::ones);
    solveTriangular(lu.view(), x.view(), Half::upper);
    save(x.view(), out, k);
  });
  return isSingular ? singular : fine;
}

template <class S>
Outcome factorizeAll(int64_t n, int64_t count, const S* in, S* out, int32_t* order) {
  using T = ComputedAs<S>;
  std::atomic<bool> isSingular{false};
  forMatrices(count, cubeOf(n), [&](int64_t k) {
    Matrix<T> lu(n, n);
    load(in, k, lu.view());
    const Elimination e = eliminate(lu.view());
    if (e.isSingular) isSingular = true;
    save(lu.view(), out, k);
    for (int64_t i = 0; i < n; i++) order[k * n + i] = static_cast<int32_t>(e.order[static_cast<size_t>(i)]);
  });
  return isSingular ? singular : fine;
}

/** The determinants, or, where `logs` is not null, their signs and the logarithms of their sizes. */
template <class S>
Outcome determinantsOf(int64_t n, int64_t count, const S* in, S* out, S* logs) {
  using T = ComputedAs<S>;
  forMatrices(count, cubeOf(n), [&](int64_t k) {
    Matrix<T> lu(n, n);
    load(in, k, lu.view());
    const Elimination e = eliminate(lu.view());
    T result = numberOf<T>(e.sign);
    double log = 0;
    for (int64_t i = 0; i < n; i++) {
      const T pivot = lu.view().at(i, i);
      const double size = logs ? sizeOf(pivot) : 1;
      log += std::log(size);
      result = result * pivot / size;
    }
    const bool hasNone = logs && e.isSingular;
    store(out[k], hasNone ? T{} : result);
    if (logs) store(logs[k], numberOf<T>(hasNone ? -std::numeric_limits<double>::infinity() : log));
  });
  return fine;
}

/** `picks` has, for each result, which of the matrices and which of the right sides it comes from. */
template <class S>
Outcome solveTriangularAll(int64_t n, int64_t columns, int64_t count, bool isLower, bool isAdjoint, const S* a, const S* b,
                           const int32_t* picks, S* out) {
  using T = ComputedAs<S>;
  const Half half = isLower != isAdjoint ? Half::lower : Half::upper;
  forMatrices(count, static_cast<double>(n * n * columns), [&](int64_t k) {
    Matrix<T> matrix(n, n), x(n, columns);
    load(a, picks[2 * k], matrix.view(), isAdjoint);
    load(b, picks[2 * k + 1], x.view());
    solveTriangular(matrix.view(), x.view(), half);
    save(x.view(), out, k);
  });
  return fine;
}

}  // namespace
}  // namespace tl

using namespace tl;

/** The lower triangular factors of positive matrices, of which the lower half is read. */
TL_API int64_t tl_cholesky(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t out) {
  return forKind(kind, threads, [&](auto element) {
    using S = decltype(element);
    return choleskyAll(n, count, memory<const S>(in), memory<S>(out));
  });
}

/** The solutions of `a x = b`, or the inverses of a where there is no b. */
TL_API int64_t tl_solve(int64_t kind, int64_t threads, int64_t n, int64_t columns, int64_t count, int64_t isAdjoint, int64_t a, int64_t b,
                        int64_t out) {
  return forKind(kind, threads, [&](auto element) {
    using S = decltype(element);
    return solveAll(n, columns, count, isAdjoint != 0, memory<const S>(a), memory<const S>(b), memory<S>(out));
  });
}

/** Both triangular factors in one matrix, and where each row comes from. */
TL_API int64_t tl_lu(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t out, int64_t order) {
  return forKind(kind, threads, [&](auto element) {
    using S = decltype(element);
    return factorizeAll(n, count, memory<const S>(in), memory<S>(out), memory<int32_t>(order));
  });
}

/** Determinants; with memory for logarithms, signs and logarithms instead. */
TL_API int64_t tl_determinant(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t out, int64_t logs) {
  return forKind(kind, threads, [&](auto element) {
    using S = decltype(element);
    return determinantsOf(n, count, memory<const S>(in), memory<S>(out), memory<S>(logs));
  });
}

/** The solutions of triangular systems. */
TL_API int64_t tl_triangular_solve(int64_t kind, int64_t threads, int64_t n, int64_t columns, int64_t count, int64_t isLower, int64_t isAdjoint,
                                   int64_t a, int64_t b, int64_t picks, int64_t out) {
  return forKind(kind, threads, [&](auto element) {
    using S = decltype(element);
    return solveTriangularAll(n, columns, count, isLower != 0, isAdjoint != 0, memory<const S>(a), memory<const S>(b),
                              memory<const int32_t>(picks), memory<S>(out));
  });
}

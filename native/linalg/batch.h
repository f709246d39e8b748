/** Batches of matrices as callers have them: of one of four types, one matrix behind the other. */
#pragma once
#include <new>

#include "../core/pool.h"
#include "matrix.h"

namespace tl {

/** What a call says about how it went: `singular`, if one of the matrices has no such result. */
enum Outcome : int64_t { fine = 0, singular = 1, outOfMemory = 2 };

/**
 * Calls `body` with an element of the type that `kind` stands for: float32, float64, complex64, complex128. It may use so many threads, 0
 * asking for all processors.
 */
template <class Body>
Outcome forKind(int64_t kind, int64_t threads, const Body& body) {
  try {
    const RunScope scope(static_cast<int>(threads));
    switch (kind) {
      case 0: return body(float{});
      case 1: return body(double{});
      case 2: return body(ComplexFloat{});
      default: return body(ComplexDouble{});
    }
  } catch (const std::bad_alloc&) {
    return outOfMemory;
  }
}

/** Calls `body(i)` for all matrices of a batch, each of which is so much work in floating-point operations; several share the threads. */
template <class Body>
void forMatrices(int64_t count, double work, const Body& body) {
  constexpr double kGrain = 400e3;
  Pool& pool = Pool::get();
  const int64_t parts = std::min(count, pool.parts(static_cast<double>(count) * work, kGrain));
  pool.run(parts, [&](int64_t part) {
    const Range range = rangeOf(part, parts, count);
    for (int64_t i = range.begin; i < range.end; i++) body(i);
  });
}

/** Matrix `i` of a batch, or its adjoint, to compute with. */
template <class S, class T>
void load(const S* batch, int64_t i, MatrixView<T> to, bool isAdjoint = false) {
  const int64_t m = isAdjoint ? to.columns : to.rows, n = isAdjoint ? to.rows : to.columns;
  const S* from = batch + i * m * n;
  if (!isAdjoint) {
    for (int64_t r = 0; r < m; r++)
      for (int64_t c = 0; c < n; c++) to.at(r, c) = widened(from[r * n + c]);
  } else {
    for (int64_t c = 0; c < n; c++)
      for (int64_t r = 0; r < m; r++) to.at(c, r) = conj(widened(from[r * n + c]));
  }
}

/** A matrix into place `i` of a batch. */
template <class S, class T>
void save(MatrixView<T> from, S* batch, int64_t i) {
  S* to = batch + i * from.rows * from.columns;
  for (int64_t r = 0; r < from.rows; r++)
    for (int64_t c = 0; c < from.columns; c++) store(to[r * from.columns + c], from.value(r, c));
}

template <class S>
S* memory(int64_t address) {
  return reinterpret_cast<S*>(address);
}

inline double cubeOf(int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

}  // namespace tl

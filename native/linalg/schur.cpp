/** Reflections to Hessenberg form, in real numbers where the matrix is real, then QR steps with shifts in complex ones. */
#include "schur.h"

#include "reflectors.h"

namespace tl {
namespace {

/** Zeros below the first subdiagonal, and the reflections that made them. */
template <class T>
Reflectors<T> toHessenberg(MatrixView<T> a) {
  const int64_t n = a.rows;
  Reflectors<T> q(std::max<int64_t>(n - 2, 0), n);
  const auto& kernels = rowKernels<T>();
  std::vector<T> sums(static_cast<size_t>(n)), factors(static_cast<size_t>(n));
  for (int64_t k = 0; k < q.count(); k++) {
    const int64_t from = k + 1;
    T* const v = q.vector(k);
    for (int64_t i = from; i < n; i++) v[i] = a.at(i, k);
    a.at(from, k) = numberOf<T>(q.reflect(k, from));
    for (int64_t i = from + 1; i < n; i++) a.at(i, k) = T{};
    const T tau = q.tau(k);
    kernels.turnedTimes(n - from, n - from, &a.at(from, from), a.step, v + from, sums.data());
    for (int64_t i = from; i < n; i++) factors[static_cast<size_t>(i)] = conj(tau) * v[i];
    kernels.subtractOuter(n - from, n - from, factors.data() + from, 1, sums.data(), &a.at(from, from), a.step);
    kernels.times(n, n - from, &a.at(0, from), a.step, v + from, sums.data());
    for (int64_t i = from; i < n; i++) factors[static_cast<size_t>(i)] = tau * conj(v[i]);
    kernels.subtractOuter(n, n - from, sums.data(), 1, factors.data() + from, &a.at(0, from), a.step);
  }
  return q;
}

/** A turn that takes (a, b) to (r, 0). */
struct Turned {
  ComplexTurn turn;
  ComplexDouble r;
};
Turned turnOf(ComplexDouble a, ComplexDouble b) {
  const double size = std::sqrt(squareOf(a)), other = squareOf(b);
  if (other == 0) return {{1, {0, 0}}, a};
  if (size == 0) {
    const double length = std::sqrt(other);
    return {{0, conj(b) / length}, {length, 0}};
  }
  const double length = std::sqrt(size * size + other);
  const ComplexDouble phase = a / size;
  return {{size / length, phase * conj(b) / length}, phase * length};
}

using Square = MatrixView<ComplexDouble>;

/** The eigenvalue of the last two rows that is nearer to the last element: subtracting it makes the iteration converge. */
ComplexDouble shiftFor(Square t, int64_t last, int64_t tries) {
  const ComplexDouble d = t.at(last, last);
  // Where the usual shift goes round in circles, another number breaks the circle.
  if (tries % 10 == 0) return d + ComplexDouble{sizeOf(t.at(last, last - 1)), 0};
  const ComplexDouble half = (t.at(last - 1, last - 1) - d) * 0.5;
  const ComplexDouble root = rootOf(half * half + t.at(last - 1, last) * t.at(last, last - 1));
  const ComplexDouble more = half + root, less = half - root;
  return d + (squareOf(more) < squareOf(less) ? more : less);
}

/** One step for rows and columns first ... last: t - shift = q r becomes r q. */
void step(Square t, Square turned, int64_t first, int64_t last, ComplexDouble shift, std::vector<ComplexTurn>& turns) {
  const int64_t n = t.rows;
  const LinalgKernels& kernels = simd().linalg;
  for (int64_t i = first; i <= last; i++) t.at(i, i) = t.at(i, i) - shift;
  turns.clear();
  for (int64_t k = first; k < last; k++) {
    const Turned found = turnOf(t.at(k, k), t.at(k + 1, k));
    t.at(k, k) = found.r;
    t.at(k + 1, k) = {0, 0};
    kernels.turnPair(n - k - 1, found.turn, &t.at(k, k) + 1, &t.at(k + 1, k) + 1);
    turns.push_back({found.turn.c, conj(found.turn.s)});
  }
  const int64_t count = last - first;
  kernels.turnColumns(first + 1, count, turns.data(), &t.at(0, first), t.step);
  // Row i of the block is zero before the diagonal, where turns change nothing.
  constexpr int64_t kGroup = 8;
  for (int64_t i = first + 1; i <= last; i += kGroup)
    kernels.turnColumns(std::min(kGroup, last - i + 1), last - i + 1, turns.data() + (i - 1 - first), &t.at(i, i - 1), t.step);
  for (int64_t k = 0; k < count; k++) kernels.turnPair(n, turns[static_cast<size_t>(k)], turned.row(first + k), turned.row(first + k + 1));
  for (int64_t i = first; i <= last; i++) t.at(i, i) = t.at(i, i) + shift;
}

/** Within a factor of 1.5, and without a root. */
double roughSizeOf(ComplexDouble z) { return std::fabs(z.re) + std::fabs(z.im); }

/** So many steps without progress never happen to finite numbers. */
constexpr int64_t kMostTries = 300;

void iterate(Square t, Square turned) {
  std::vector<ComplexTurn> turns;
  int64_t tries = 0;
  for (int64_t last = t.rows - 1; last > 0;) {
    int64_t first = last;
    while (first > 0) {
      const double around = roughSizeOf(t.at(first - 1, first - 1)) + roughSizeOf(t.at(first, first));
      const double below = roughSizeOf(t.at(first, first - 1));
      if (below <= kEpsilon * around || below < std::numeric_limits<double>::min()) break;
      first--;
    }
    if (first > 0) t.at(first, first - 1) = {0, 0};
    if (first == last || tries > kMostTries) {
      last--;
      tries = 0;
      continue;
    }
    step(t, turned, first, last, shiftFor(t, last, ++tries), turns);
  }
}

}  // namespace

ComplexDouble rootOf(ComplexDouble z) {
  const double size = sizeOf(z);
  if (size == 0) return {0, 0};
  const double larger = std::sqrt((size + std::fabs(z.re)) / 2), smaller = std::fabs(z.im) / (2 * larger);
  const double sign = z.im < 0 ? -1 : 1;
  if (z.re >= 0) return {larger, sign * smaller};
  return {smaller, sign * larger};
}

template <class T>
Schur schurOf(MatrixView<T> a) {
  const int64_t n = a.rows;
  Reflectors<T> reflectors = toHessenberg(a);
  Matrix<T> q = Matrix<T>::identity(n, n);
  reflectors.applyAll(q.view(), n);
  Schur result{Matrix<ComplexDouble>(n, n), Matrix<ComplexDouble>(n, n)};
  const Square t = result.t.view(), turned = result.turned.view();
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      t.at(i, j) = {realOf(a.at(i, j)), imaginaryOf(a.at(i, j))};
      turned.at(j, i) = {realOf(q.view().at(i, j)), imaginaryOf(q.view().at(i, j))};
    }
  iterate(t, turned);
  for (int64_t i = 1; i < n; i++)
    for (int64_t j = 0; j < i; j++) t.at(i, j) = {0, 0};
  return result;
}

template Schur schurOf(MatrixView<double>);
template Schur schurOf(MatrixView<ComplexDouble>);

}  // namespace tl

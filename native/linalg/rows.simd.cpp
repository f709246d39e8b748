/** Loops over rows of matrices, for double and complex numbers. */
#include "../simd/vector.h"

namespace tl::TL_SIMD {
namespace {

using Real = Full<double>;
constexpr int64_t N = lanesOf<double>;

TL_INLINE double sumOf(Real x) {
  double total = 0;
  for (int i = 0; i < N; i++) total += x[i];
  return total;
}

void addScaled(int64_t n, double a, const double* x, double* y) {
  int64_t j = 0;
  for (; j + N <= n; j += N) storeVector(y + j, loadVector(y + j) + a * loadVector(x + j));
  for (; j < n; j++) y[j] += a * x[j];
}

double dot(int64_t n, const double* x, const double* y) {
  Real sums[4] = {};
  int64_t j = 0;
  for (; j + 4 * N <= n; j += 4 * N)
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) sums[k] += loadVector(x + j + k * N) * loadVector(y + j + k * N);
  for (; j + N <= n; j += N) sums[0] += loadVector(x + j) * loadVector(y + j);
  double total = sumOf((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; j < n; j++) total += x[j] * y[j];
  return total;
}

void subtractOuter(int64_t m, int64_t n, const double* x, int64_t xStep, const double* y, double* a, int64_t step) {
  for (int64_t i = 0; i < m; i++) addScaled(n, -x[i * xStep], y, a + i * step);
}

/** Four rows at once, for which x is read once. */
void times(int64_t m, int64_t n, const double* a, int64_t step, const double* x, double* y) {
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) {
    const double* row = a + i * step;
    Real sums[4] = {};
    int64_t j = 0;
    for (; j + N <= n; j += N) {
      const Real v = loadVector(x + j);
#pragma GCC unroll 4
      for (int k = 0; k < 4; k++) sums[k] += loadVector(row + k * step + j) * v;
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) y[i + k] = sumOf(sums[k]);
    for (; j < n; j++)
#pragma GCC unroll 4
      for (int k = 0; k < 4; k++) y[i + k] += row[k * step + j] * x[j];
  }
  for (; i < m; i++) y[i] = dot(n, a + i * step, x);
}

/** Four rows at once, for which y is read and written once. */
void turnedTimes(int64_t m, int64_t n, const double* a, int64_t step, const double* x, double* y) {
  for (int64_t j = 0; j < n; j++) y[j] = 0;
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) {
    const double* row = a + i * step;
    const double x0 = x[i], x1 = x[i + 1], x2 = x[i + 2], x3 = x[i + 3];
    int64_t j = 0;
    for (; j + N <= n; j += N) {
      Real sum = loadVector(y + j) + x0 * loadVector(row + j) + x1 * loadVector(row + step + j);
      sum += x2 * loadVector(row + 2 * step + j) + x3 * loadVector(row + 3 * step + j);
      storeVector(y + j, sum);
    }
    for (; j < n; j++) y[j] += x0 * row[j] + x1 * row[step + j] + x2 * row[2 * step + j] + x3 * row[3 * step + j];
  }
  for (; i < m; i++) addScaled(n, x[i], a + i * step, y);
}

/** The two parts of each number, the other way round. */
TL_INLINE Real swapped(Real x) {
  return picked(x, x, [](int i) TL_INLINE_LAMBDA { return i ^ 1; });
}
/** (re, im, re, im ...). */
TL_INLINE Real alternating(double re, double im) {
  Real x;
  for (int i = 0; i < N; i++) x[i] = i % 2 == 0 ? re : im;
  return x;
}

void addScaledComplex(int64_t n, ComplexDouble a, const ComplexDouble* from, ComplexDouble* to) {
  const double* x = reinterpret_cast<const double*>(from);
  double* y = reinterpret_cast<double*>(to);
  const Real crossing = alternating(-a.im, a.im);
  int64_t j = 0;
  for (; j + N <= 2 * n; j += N) {
    const Real v = loadVector(x + j);
    storeVector(y + j, loadVector(y + j) + a.re * v + crossing * swapped(v));
  }
  for (; j < 2 * n; j += 2) {
    y[j] += a.re * x[j] - a.im * x[j + 1];
    y[j + 1] += a.re * x[j + 1] + a.im * x[j];
  }
}

/** The sum of x y, or of conj(x) y. */
template <bool conjugates> TL_INLINE ComplexDouble sumOfProducts(int64_t n, const ComplexDouble* left, const ComplexDouble* right) {
  const double* x = reinterpret_cast<const double*>(left);
  const double* y = reinterpret_cast<const double*>(right);
  Real along = {}, across = {};
  int64_t j = 0;
  for (; j + N <= 2 * n; j += N) {
    const Real v = loadVector(x + j), w = loadVector(y + j);
    along += v * w;
    across += v * swapped(w);
  }
  const double sign = conjugates ? 1 : -1;
  ComplexDouble total = {sumOf(along * alternating(1, sign)), sumOf(across * alternating(1, -sign))};
  for (; j < 2 * n; j += 2) {
    total.re += x[j] * y[j] + sign * x[j + 1] * y[j + 1];
    total.im += x[j] * y[j + 1] - sign * x[j + 1] * y[j];
  }
  return total;
}

ComplexDouble dotComplex(int64_t n, const ComplexDouble* x, const ComplexDouble* y) { return sumOfProducts<true>(n, x, y); }

void subtractOuterComplex(int64_t m, int64_t n, const ComplexDouble* x, int64_t xStep, const ComplexDouble* y, ComplexDouble* a, int64_t step) {
  for (int64_t i = 0; i < m; i++) addScaledComplex(n, {-x[i * xStep].re, -x[i * xStep].im}, y, a + i * step);
}

void timesComplex(int64_t m, int64_t n, const ComplexDouble* a, int64_t step, const ComplexDouble* x, ComplexDouble* y) {
  for (int64_t i = 0; i < m; i++) y[i] = sumOfProducts<false>(n, a + i * step, x);
}

void turnedTimesComplex(int64_t m, int64_t n, const ComplexDouble* a, int64_t step, const ComplexDouble* x, ComplexDouble* y) {
  for (int64_t j = 0; j < n; j++) y[j] = {0, 0};
  for (int64_t i = 0; i < m; i++) addScaledComplex(n, {x[i].re, -x[i].im}, a + i * step, y);
}

/** Vectors side by side in a strip of columns: as many as keep the processor busy while a turn waits for the one before it. */
constexpr int64_t kStrip = 4;

/** One strip: each row is kept in registers from the turn with the row before it to the one with the row behind it. */
template <int64_t V> TL_INLINE void turnStrip(const Sweep& sweep, double* rows, int64_t step) {
  double* row = rows + sweep.first * step;
  Real x[V];
  for (int64_t v = 0; v < V; v++) x[v] = loadVector(row + v * N);
  for (int64_t i = 0; i < sweep.count; i++, row += step) {
    const double c = sweep.turns[i].c, s = sweep.turns[i].s;
    for (int64_t v = 0; v < V; v++) {
      const Real y = loadVector(row + step + v * N);
      storeVector(row + v * N, c * x[v] + s * y);
      x[v] = c * y - s * x[v];
    }
  }
  for (int64_t v = 0; v < V; v++) storeVector(row + v * N, x[v]);
}

void turnColumn(const Sweep& sweep, double* rows, int64_t step) {
  double* row = rows + sweep.first * step;
  for (int64_t i = 0; i < sweep.count; i++, row += step) {
    const double x = row[0], y = row[step];
    row[0] = sweep.turns[i].c * x + sweep.turns[i].s * y;
    row[step] = sweep.turns[i].c * y - sweep.turns[i].s * x;
  }
}

void turnRows(const Sweep* sweeps, int64_t count, double* rows, int64_t step, int64_t begin, int64_t end) {
  int64_t j = begin;
  for (; j + kStrip * N <= end; j += kStrip * N)
    for (int64_t k = 0; k < count; k++) turnStrip<kStrip>(sweeps[k], rows + j, step);
  for (; j + N <= end; j += N)
    for (int64_t k = 0; k < count; k++) turnStrip<1>(sweeps[k], rows + j, step);
  for (; j < end; j++)
    for (int64_t k = 0; k < count; k++) turnColumn(sweeps[k], rows + j, step);
}

/** Factors of a turn for vectors of complex numbers: c x + s y is c x + along y + across swapped(y). */
struct TurnFactors {
  Real c, along, across;
  TL_INLINE explicit TurnFactors(ComplexTurn turn)
      : c(splat<Real>(turn.c)), along(splat<Real>(turn.s.re)), across(alternating(-turn.s.im, turn.s.im)) {}
  TL_INLINE Real first(Real x, Real y) const { return c * x + along * y + across * swapped(y); }
  TL_INLINE Real second(Real x, Real y) const { return c * y - along * x + across * swapped(x); }
};

void turnNumbers(ComplexTurn turn, ComplexDouble& x, ComplexDouble& y) {
  const ComplexDouble s = turn.s, old = x;
  x = {turn.c * old.re + s.re * y.re - s.im * y.im, turn.c * old.im + s.re * y.im + s.im * y.re};
  y = {turn.c * y.re - s.re * old.re - s.im * old.im, turn.c * y.im - s.re * old.im + s.im * old.re};
}

void turnPair(int64_t n, ComplexTurn turn, ComplexDouble* first, ComplexDouble* second) {
  double *x = reinterpret_cast<double*>(first), *y = reinterpret_cast<double*>(second);
  const TurnFactors factors(turn);
  int64_t j = 0;
  for (; j + N <= 2 * n; j += N) {
    const Real a = loadVector(x + j), b = loadVector(y + j);
    storeVector(x + j, factors.first(a, b));
    storeVector(y + j, factors.second(a, b));
  }
  for (; j < 2 * n; j += 2) turnNumbers(turn, first[j / 2], second[j / 2]);
}

/** A vector has one number of each of some rows. */
void turnColumns(int64_t rows, int64_t count, const ComplexTurn* turns, ComplexDouble* a, int64_t step) {
  constexpr int64_t kRows = N / 2;
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) {
    ComplexDouble* at = a + i * step;
    const auto load = [&](int64_t k) TL_INLINE_LAMBDA {
      Real x;
      for (int64_t r = 0; r < kRows; r++) {
        x[2 * r] = at[r * step + k].re;
        x[2 * r + 1] = at[r * step + k].im;
      }
      return x;
    };
    const auto store = [&](int64_t k, Real x) TL_INLINE_LAMBDA {
      for (int64_t r = 0; r < kRows; r++) at[r * step + k] = {x[2 * r], x[2 * r + 1]};
    };
    Real x = load(0);
    for (int64_t k = 0; k < count; k++) {
      const TurnFactors factors(turns[k]);
      const Real y = load(k + 1);
      store(k, factors.first(x, y));
      x = factors.second(x, y);
    }
    store(count, x);
  }
  for (; i < rows; i++)
    for (int64_t k = 0; k < count; k++) turnNumbers(turns[k], a[i * step + k], a[i * step + k + 1]);
}

}  // namespace

void fillLinalg(SimdKernels& k) {
  k.linalg.real = {addScaled, dot, subtractOuter, times, turnedTimes};
  k.linalg.complex = {addScaledComplex, dotComplex, subtractOuterComplex, timesComplex, turnedTimesComplex};
  k.linalg.turnRows = turnRows;
  k.linalg.turnPair = turnPair;
  k.linalg.turnColumns = turnColumns;
}

}  // namespace tl::TL_SIMD

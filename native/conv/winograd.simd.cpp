/**
 * What comes before and after the products of Winograd's convolutions: numbers become the values of polynomials at six points, and
 * the other way round; see winograd.h. All of it goes over channels side by side.
 */
#include "../simd/vector.h"

namespace tl::TL_SIMD {
namespace {

using V = Full<float>;
constexpr int64_t kLanesOfFloat = lanesOf<float>;
constexpr int kSide = kPatchSide;

/** The factors of a filter's values at the points 0, 1, -1, 1/2, -2 and infinity. */
constexpr float kScale[kSide] = {1, 1.f / 3, -1.f / 3, -16.f / 15, 1.f / 15, 1};

/** The values at the points of the polynomial with N coefficients x. */
template <int N> TL_INLINE void valuesOf(const V (&x)[N], V (&at)[kSide]) {
  V even = x[0], odd = x[1], half = x[N - 1], two = x[N - 1];
#pragma GCC unroll 8
  for (int i = 2; i < N; i += 2) even += x[i];
#pragma GCC unroll 8
  for (int i = 3; i < N; i += 2) odd += x[i];
#pragma GCC unroll 8
  for (int i = N - 2; i >= 0; i--) {
    half = half * 0.5f + x[i];
    two = two * -2.f + x[i];
  }
  at[0] = x[0];
  at[1] = even + odd;
  at[2] = even - odd;
  at[3] = half;
  at[4] = two;
  at[5] = x[N - 1];
}

/** The transpose of that: N sums of products of values with powers of their points. */
template <int N> TL_INLINE void sumsOf(const V (&at)[kSide], V (&y)[N]) {
  const V even = at[1] + at[2], odd = at[1] - at[2];
  float half = 1, two = 1;
#pragma GCC unroll 8
  for (int i = 0; i < N; i++, half *= 0.5f, two *= -2.f) {
    V sum = i % 2 == 0 ? even : odd;
    sum += at[3] * half + at[4] * two;
    if (i == 0) sum += at[0];
    if (i == N - 1) sum += at[5];
    y[i] = sum;
  }
}

/** The input's side: six numbers become what the values of a filter are multiplied by. */
TL_INLINE void inputOf(const V (&x)[kSide], V (&to)[kSide]) {
  V q[4];  // by (t² + 3/2 t - 1), whose zeros are the points 1/2 and -2
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) q[i] = x[i + 1] * 1.5f + (x[i + 2] - x[i]);
  const V even = x[4] - x[2], odd = x[3] - x[1];
  to[0] = q[2] - q[0];
  to[1] = q[2] + q[1];
  to[2] = q[2] - q[1];
  to[3] = even + odd * 2.f;
  to[4] = even - odd * 0.5f;
  to[5] = q[3] - q[1];
}

/** How the four kinds of arrays change between numbers and points, along one axis. */
template <int N> struct Values {
  static constexpr int from = N, to = kSide;
  static TL_INLINE void of(const V (&x)[N], V (&at)[kSide]) { valuesOf<N>(x, at); }
};
template <int N> struct ScaledValues {
  static constexpr int from = N, to = kSide;
  static TL_INLINE void of(const V (&x)[N], V (&at)[kSide]) {
    valuesOf<N>(x, at);
#pragma GCC unroll 4
    for (int i = 1; i < 5; i++) at[i] *= kScale[i];
  }
};
template <int N> struct Sums {
  static constexpr int from = kSide, to = N;
  static TL_INLINE void of(const V (&at)[kSide], V (&y)[N]) { sumsOf<N>(at, y); }
};
template <int N> struct ScaledSums {
  static constexpr int from = kSide, to = N;
  static TL_INLINE void of(const V (&at)[kSide], V (&y)[N]) {
    V scaled[kSide];
#pragma GCC unroll 8
    for (int i = 0; i < kSide; i++) scaled[i] = at[i] * kScale[i];
    sumsOf<N>(scaled, y);
  }
};

/** Along both axes of a square: columns first. */
template <class Change, class Load, class Store> TL_INLINE void change(const Load& load, const Store& store) {
  V half[Change::to][Change::from];
#pragma GCC unroll 8
  for (int j = 0; j < Change::from; j++) {
    V x[Change::from], y[Change::to];
#pragma GCC unroll 8
    for (int i = 0; i < Change::from; i++) x[i] = load(i, j);
    Change::of(x, y);
#pragma GCC unroll 8
    for (int i = 0; i < Change::to; i++) half[i][j] = y[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < Change::to; i++) {
    V y[Change::to];
    Change::of(half[i], y);
#pragma GCC unroll 8
    for (int j = 0; j < Change::to; j++) store(i, j, y[j]);
  }
}

void inputRows(const PatchRows& p) {
  const float* at[kSide];
  for (int i = 0; i < kSide; i++) at[i] = p.rows[i];
  float* to = p.out;
  for (int64_t pixel = 0; pixel < p.pixels; pixel++, to += p.channels) {
    for (int64_t c = 0; c < p.channels; c += kLanesOfFloat) {
      V x[kSide], y[kSide];
#pragma GCC unroll 8
      for (int i = 0; i < kSide; i++) x[i] = loadVector(at[i] + c);
#pragma GCC unroll 8
      for (int i = 0; i < kSide; i++) __builtin_prefetch(at[i] + 4 * p.steps[i] + c);
      inputOf(x, y);
#pragma GCC unroll 8
      for (int i = 0; i < kSide; i++) storeVector(to + i * p.outRow + c, y[i]);
    }
    for (int i = 0; i < kSide; i++) at[i] += p.steps[i];
  }
}

/** Rows are done; here `pixels` has those of six rows. */
template <int Taps> void inputPoints(const Patches<const float>& p) {
  constexpr int64_t outputs = kSide + 1 - Taps;
  for (int64_t n = 0; n < p.count; n++)
    for (int64_t i = 0; i < kSide; i++) {
      const float* const from = p.pixels + i * p.row + n * outputs * p.column;
      float* const to = p.points + n * p.patch + i * kSide * p.point;
      for (int64_t c = 0; c < p.channels; c += kLanesOfFloat) {
        V x[kSide], y[kSide];
#pragma GCC unroll 8
        for (int j = 0; j < kSide; j++) x[j] = loadVector(from + j * p.column + c);
        inputOf(x, y);
#pragma GCC unroll 8
        for (int j = 0; j < kSide; j++) storeVector(to + j * p.point + c, y[j]);
      }
    }
}

template <int Taps> void outputPoints(const Patches<const float>& p) {
  constexpr int outputs = kSide + 1 - Taps;
  for (int64_t n = 0; n < p.count; n++) {
    const float* const from = p.pixels + n * outputs * p.column;
    float* const to = p.points + n * p.patch;
    const int64_t columns = p.columns - n * outputs;
    const bool whole = p.rows >= outputs && columns >= outputs;
    for (int64_t c = 0; c < p.channels; c += kLanesOfFloat) {
      const auto at = [&](int i, int j) TL_INLINE_LAMBDA { return loadVector(from + i * p.row + j * p.column + c); };
      const auto store = [&](int i, int j, V x) TL_INLINE_LAMBDA { storeVector(to + (i * kSide + j) * p.point + c, x); };
#pragma GCC unroll 8
      for (int i = 0; i < outputs; i++)
        for (int j = 0; j < outputs; j++) __builtin_prefetch(from + i * p.row + (j + outputs * 2) * p.column + c);
      if (whole) change<Values<outputs>>(at, store);
      else change<Values<outputs>>([&](int i, int j) TL_INLINE_LAMBDA { return i < p.rows && j < columns ? at(i, j) : V{}; }, store);
    }
  }
}

/** Zero as long as all numbers are finite, NaN from then on. */
class Finite {
 public:
  TL_INLINE void add(V x) { zeros_ += x * 0.f; }
  bool all() const {
    bool finite = true;
    for (int64_t i = 0; i < kLanesOfFloat; i++) finite &= zeros_[i] == 0;
    return finite;
  }

 private:
  V zeros_ = {};
};

template <int Taps> bool outputs(const Patches<float>& p) {
  constexpr int count = kSide + 1 - Taps;
  Finite finite;
  for (int64_t n = 0; n < p.count; n++) {
    float* const to = p.pixels + n * count * p.column;
    const float* const from = p.points + n * p.patch;
    const int64_t columns = p.columns - n * count;
    const bool whole = p.rows >= count && columns >= count;
    for (int64_t c = 0; c < p.channels; c += kLanesOfFloat) {
      const auto load = [&](int i, int j) TL_INLINE_LAMBDA { return loadVector(from + (i * kSide + j) * p.point + c); };
      change<Sums<count>>(load, [&](int i, int j, V x) TL_INLINE_LAMBDA {
        finite.add(x);
        if (whole || (i < p.rows && j < columns)) storeVector(to + i * p.row + j * p.column + c, x);
      });
    }
  }
  return finite.all();
}

template <int Taps> void filterPoints(const FilterPoints<const float>& f) {
  for (int64_t c = 0; c < f.features; c += kLanesOfFloat)
    change<ScaledValues<Taps>>(
        [&](int i, int j) TL_INLINE_LAMBDA { return loadVector(f.taps + i * f.row + j * f.column + c); },
        [&](int i, int j, V x) TL_INLINE_LAMBDA { storeVector(f.points + (i * kSide + j) * f.point + c, x); });
}

template <int Taps> bool filters(const FilterPoints<float>& f) {
  Finite finite;
  for (int64_t c = 0; c < f.features; c += kLanesOfFloat)
    change<ScaledSums<Taps>>([&](int i, int j) TL_INLINE_LAMBDA { return loadVector(f.points + (i * kSide + j) * f.point + c); },
                             [&](int i, int j, V x) TL_INLINE_LAMBDA {
                               finite.add(x);
                               storeVector(f.taps + i * f.row + j * f.column + c, x);
                             });
  return finite.all();
}

/** There are kernels for three and for five taps. */
#define TL_FOR_TAPS(kernel) [](const auto& p, int64_t taps) { return taps == 3 ? kernel<3>(p) : kernel<5>(p); }

}  // namespace

void fillWinograd(SimdKernels& k) {
  k.winograd = {inputRows,           TL_FOR_TAPS(inputPoints),  TL_FOR_TAPS(outputPoints),
                TL_FOR_TAPS(outputs), TL_FOR_TAPS(filterPoints), TL_FOR_TAPS(filters)};
}

}  // namespace tl::TL_SIMD

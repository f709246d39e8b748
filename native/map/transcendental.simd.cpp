/**
 * float32 functions by polynomials on whole vectors: no branches, no tables. Their largest errors are in ../README.md,
 * and test/backend/functions.test.ts measures them.
 *
 * This file is compiled with contraction: a * b + c is one rounding where the processor has it. Numbers below the normal
 * range count as zero here, as everywhere (see core/pool.h), which spares the functions that case.
 */
#include "../simd/vector.h"

namespace tl::TL_SIMD {
namespace {

using V = Full<float>;
using I = Full<int32_t>;

constexpr float kInfinity = __builtin_inff();
constexpr float kNan = __builtin_nanf("");

/** Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum. */
constexpr float kRounder = 12582912.0f;

TL_INLINE V all(float x) { return splat<V>(x); }
TL_INLINE V absolute(V x) { return (V)((I)x & 0x7fffffff); }
/** The magnitude of x with the sign of y. */
TL_INLINE V withSign(V x, V y) { return (V)(((I)x & 0x7fffffff) | ((I)y & INT32_MIN)); }

/** p + q[0] x + q[1] x^2 + …, highest coefficient first. */
template <int N> TL_INLINE V polynomial(V x, const float (&coefficients)[N]) {
  V p = all(coefficients[0]);
#pragma GCC unroll 16
  for (int i = 1; i < N; i++) p = p * x + coefficients[i];
  return p;
}

/** p * 2^n, where n is whole and the bits of n + kRounder are given. */
TL_INLINE V scale(V p, V n, V shifted) {
#if defined(__AVX512F__)
  (void)shifted;
  V result;
  asm("vscalefps %2, %1, %0" : "=v"(result) : "v"(p), "v"(n));
  return result;
#else
  // 2^n as a product of two powers: n reaches from -150 to 128, beyond what one exponent field can hold.
  (void)n;
  const I exponent = (I)shifted - 0x4b400000, first = exponent >> 1;
  return p * (V)((first + 127) << 23) * (V)((exponent - first + 127) << 23);
#endif
}

TL_INLINE V expOf(V x) {
  // Below -104 every result is 0 and above 89 infinite; the scaling at the end gets both right from the clamped value.
  x = x < -104.0f ? all(-104.0f) : x;
  x = x > 89.0f ? all(89.0f) : x;
  const V shifted = x * 1.44269504f + kRounder, n = shifted - kRounder;
  // ln 2 in two parts, so that n times the first is exact.
  const V r = n * 2.12194440e-4f + (n * -0.693359375f + x);
  const V p = polynomial(r, {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
                             5.0000001201e-1f});
  return scale((p * (r * r) + r) + 1.0f, n, shifted);
}

TL_INLINE V logOf(V x) {
  // Split into 2^e * m with m in [sqrt(1/2), sqrt(2)).
  const I shifted = (I)x - 0x3f3504f3;
  const V e = __builtin_convertvector(shifted >> 23, V);
  const V m = (V)((shifted & 0x007fffff) + 0x3f3504f3) - 1.0f, m2 = m * m;
  const V p = polynomial(m, {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                             -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f});
  V y = p * m2 * m;
  y = e * -2.12194440e-4f + y;
  y = -0.5f * m2 + y;
  V result = e * 0.693359375f + (m + y);
  result = x == 0.0f ? all(-kInfinity) : result;
  result = x < 0.0f ? all(kNan) : result;
  // Infinity stays, and so does NaN.
  return x < kInfinity ? result : x;
}

TL_INLINE V log1pOf(V x) {
  // log(1 + x) with the rounding error of 1 + x put back: d log(u) = du / u.
  const V u = 1.0f + x, log = logOf(u);
  const V result = log + (x - (u - 1.0f)) / u;
  // Where 1 + x is 0 or infinite the correction is not a number, and log has the answer.
  const V safe = u == 0.0f ? log : result;
  return u == kInfinity ? log : safe;
}

TL_INLINE V expm1Of(V x) {
  // Near zero e^x - 1 cancels; the series does not.
  const V p = polynomial(x, {2.7557319e-6f, 2.4801587e-5f, 1.9841270e-4f, 1.3888889e-3f, 8.3333333e-3f, 4.1666667e-2f,
                             1.6666667e-1f, 0.5f});
  const V series = p * (x * x) + x, direct = expOf(x) - 1.0f;
  return absolute(x) < 0.5f ? series : direct;
}

TL_INLINE V tanhOf(V x) {
  const V a = absolute(x), x2 = x * x;
  const V p = polynomial(x2, {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f});
  const V series = (p * x2) * x + x;
  const V direct = 1.0f - 2.0f / (expOf(2.0f * a) + 1.0f);
  return a < 0.625f ? series : withSign(direct, x);
}

TL_INLINE V sigmoidOf(V x) {
  // e^-|x| never overflows, and for negative x the quotient keeps its digits.
  const V e = expOf(-absolute(x));
  return (x < 0.0f ? e : all(1.0f)) / (1.0f + e);
}

TL_INLINE V erfOf(V x) {
  const V a = absolute(x), x2 = x * x;
  // Far out: 1 - e^(a polynomial), whose exponent is clamped where erf has long been 1.
  const V t = a > 5.0f ? all(5.0f) : a;
  V r = -1.72853470e-5f * t + 3.83197126e-4f;
  const V u = -3.88396438e-3f * t + 2.42546219e-2f;
  r = r * (t * t) + u;
  r = r * t + -1.06777877e-1f;
  r = r * t + -6.34846687e-1f;
  r = r * t + -1.28717512e-1f;
  r = r * t + -t;
  const V far = withSign(1.0f - expOf(r), x);
  const V p = polynomial(x2, {-5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f, 1.12819925e-1f, -3.76125336e-1f, 1.28379166e-1f});
  V near = p * x + x;
#if !defined(__FMA__) && !defined(__aarch64__)
  // Rounded by itself, the product would vanish sooner than the sum: take both where they are larger.
  const V raised = x * 0x1p60f;
  near = a < 1e-30f ? (1.28379166e-1f * raised + raised) * 0x1p-60f : near;
#endif
  // NaN is not greater than anything, so it comes from near.
  return a > 0.927734375f ? far : near;
}

/** Beyond this the reduction below loses digits; such values go to the C library. */
constexpr float kTurnLimit = 8192.0f;

/** sin(x), or cos(x) when `quarter` is 1, for |x| below kTurnLimit. */
TL_INLINE V sineOf(V x, int32_t quarter) {
  const V shifted = x * 0.636619772f + kRounder, n = shifted - kRounder;
  // pi/2 in four parts, the first three short enough that n times them is exact.
  V r = n * -1.5703125f + x;
  r = n * -4.837512969970703125e-4f + r;
  r = n * -7.549533620476723e-8f + r;
  r = n * -2.5633440682570896e-12f + r;
  const I turn = (I)shifted + quarter;
  const V r2 = r * r;
  const V s = (polynomial(r2, {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f}) * r2) * r + r;
  const V c = (polynomial(r2, {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f}) * r2) * r2 +
              (-0.5f * r2 + 1.0f);
  const V value = (turn & 1) != 0 ? c : s;
  return (V)((I)value ^ ((turn & 2) << 30));
}

/** Whether any lane of a comparison holds. */
TL_INLINE bool any(I mask) {
  int32_t lanes[lanesOf<int32_t>], found = 0;
  storeVector(lanes, mask);
  for (const int32_t lane : lanes) found |= lane;
  return found != 0;
}

// Only the odd lanes are computed one at a time: what a lane gives must not depend on its neighbours.
__attribute__((noinline)) V withOdd(V usual, I odd, V x, float (*f)(float)) {
  for (int i = 0; i < lanesOf<float>; i++)
    if (odd[i]) usual[i] = f(x[i]);
  return usual;
}
__attribute__((noinline)) V withOdd(V usual, I odd, V x, V y, float (*f)(float, float)) {
  for (int i = 0; i < lanesOf<float>; i++)
    if (odd[i]) usual[i] = f(x[i], y[i]);
  return usual;
}

using D = Vector<double, lanesOf<float> / 2>;

/** x^y for normal, finite, positive x and finite y: in double precision, where log2(x) * y has digits to spare. */
TL_INLINE Vector<float, lanesOf<float> / 2> powOf(Vector<float, lanesOf<float> / 2> x, Vector<float, lanesOf<float> / 2> y) {
  using Longs = Vector<int64_t, lanesOf<float> / 2>;
  const Longs bits = (Longs)__builtin_convertvector(x, D), shifted = bits - 0x3fe6a09e667f3bcd;
  const D e = __builtin_convertvector(shifted >> 52, D);
  const D m = (D)((shifted & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
  // log2(m) = 2 / ln 2 * atanh(s) with s = (m - 1) / (m + 1), |s| < 0.172.
  const D s = (m - 1.0) / (m + 1.0), z = s * s;
  D q = D{} + 2.2195308321368668e-1;
  q = q * z + 2.6230818925253879e-1;
  q = q * z + 3.2059889797532520e-1;
  q = q * z + 4.1219858311113240e-1;
  q = q * z + 5.7707801635558536e-1;
  q = q * z + 9.6179669392597561e-1;
  const D log2 = (q * z) * s + (s * 2.8853900817779268 + e);
  D t = log2 * __builtin_convertvector(y, D);
  // Beyond these every result is 0 or infinite in float32.
  t = t < -160.0 ? D{} - 160.0 : t;
  t = t > 130.0 ? D{} + 130.0 : t;
  constexpr double rounder = 6755399441055744.0;
  const D turned = t + rounder, r = t - (turned - rounder);
  D p = D{} + 1.3215486790144307e-6;
  p = p * r + 1.5252733804059841e-5;
  p = p * r + 1.5403530393381606e-4;
  p = p * r + 1.3333558146428443e-3;
  p = p * r + 9.6181291076284770e-3;
  p = p * r + 5.5504108664821580e-2;
  p = p * r + 2.4022650695910070e-1;
  p = p * r + 6.9314718055994530e-1;
  p = p * r + 1.0;
  const Longs power = ((Longs)turned - 0x4338000000000000 + 1023) << 52;
  return __builtin_convertvector(p * (D)power, Vector<float, lanesOf<float> / 2>);
}

#define FUNCTION(op, expression)                                                    \
  struct Each_##op {                                                                \
    static TL_INLINE V of(V x) { return expression; }                               \
  };                                                                                \
  k.ops[static_cast<int>(Op::op)][static_cast<int>(Kind::f32)] = vectors1<float, Each_##op>

struct Sine {
  static TL_INLINE V of(V x) {
    const I far = ~(absolute(x) < kTurnLimit);
    const V usual = sineOf(x, 0);
    return any(far) ? withOdd(usual, far, x, [](float v) { return __builtin_sinf(v); }) : usual;
  }
};
struct Cosine {
  static TL_INLINE V of(V x) {
    const I far = ~(absolute(x) < kTurnLimit);
    const V usual = sineOf(x, 1);
    return any(far) ? withOdd(usual, far, x, [](float v) { return __builtin_cosf(v); }) : usual;
  }
};
struct Power {
  static TL_INLINE V of(V x, V y) {
    // Negative numbers, zeros, infinities and NaN have rules of their own.
    const I plain = (x >= 1.17549435e-38f) & (x < kInfinity) & (absolute(y) < kInfinity);
    using Half = Vector<float, lanesOf<float> / 2>;
    struct Halves {
      Half low, high;
    };
    const Halves a = bitsAs<Halves>(x), b = bitsAs<Halves>(y);
    const V usual = bitsAs<V>(Halves{powOf(a.low, b.low), powOf(a.high, b.high)});
    return any(~plain) ? withOdd(usual, ~plain, x, y, [](float u, float v) { return __builtin_powf(u, v); }) : usual;
  }
};

}  // namespace

void fillTranscendental(SimdKernels& k) {
  FUNCTION(exp, expOf(x));
  FUNCTION(log, logOf(x));
  FUNCTION(log1p, log1pOf(x));
  FUNCTION(expm1, expm1Of(x));
  FUNCTION(tanh, tanhOf(x));
  FUNCTION(sigmoid, sigmoidOf(x));
  FUNCTION(erf, erfOf(x));
  k.ops[static_cast<int>(Op::sin)][static_cast<int>(Kind::f32)] = vectors1<float, Sine>;
  k.ops[static_cast<int>(Op::cos)][static_cast<int>(Kind::f32)] = vectors1<float, Cosine>;
  k.ops[static_cast<int>(Op::pow)][static_cast<int>(Kind::f32)] = vectors2<float, Power>;
}

}  // namespace tl::TL_SIMD

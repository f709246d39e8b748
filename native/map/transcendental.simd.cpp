/**
 * float32 functions by polynomials on whole vectors: no branches, no tables. Their largest errors are in ../README.md,
 * and test/backend/functions.test.ts measures them.
 *
 * This file is compiled with contraction: a * b + c is one rounding where the processor has it. Numbers below the normal
 * range count as zero here, as everywhere (see core/pool.h), which spares the functions that case.
 */
#include "../simd/beside.h"

namespace tl::TL_SIMD {
namespace {

using V = Full<float>;
using I = Full<int32_t>;
using U = Full<uint32_t>;

constexpr float kInfinity = __builtin_inff();
constexpr float kNan = __builtin_nanf("");

/** Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum. */
constexpr float kRounder = 12582912.0f;

TL_INLINE V all(float x) { return splat<V>(x); }
TL_INLINE V absolute(V x) { return (V)((I)x & 0x7fffffff); }

/** 1 / x for normal x whose inverse is normal, or zero where it is not: nearly rounded right. */
template <class X> TL_INLINE X inverseOf(X x) {
#if defined(__AVX512F__)
  // 14 bits from the processor and one step of Newton's take a third of the time of a division.
  const X r = each([](V v) TL_INLINE_LAMBDA {
    V found;
    asm("vrcp14ps %1, %0" : "=v"(found) : "v"(v));
    return found;
  }, x);
  return (1.0f - x * r) * r + r;
#else
  return allOf<X>(1.0f) / x;
#endif
}
/** x / y, likewise. */
template <class X> TL_INLINE X quotient(X x, X y) {
#if defined(__AVX512F__)
  const X r = inverseOf(y), q = x * r;
  return (x - q * y) * r + q;
#else
  return x / y;
#endif
}

/** x = n ln 2 + r, |r| <= ln 2 / 2; n is whole and the lower bits of `shifted` are n + 127, a float's exponent field. */
template <class X> struct Parts {
  X shifted, n, r;
};
template <class X> TL_INLINE Parts<X> partsOf(X x) {
  constexpr float kShift = kRounder + 127.0f;
  const X shifted = x * 1.44269504f + kShift, n = shifted - kShift;
  // ln 2 in two parts, so that n times the first is exact.
  return {shifted, n, n * 2.12194440e-4f + (n * -0.693359375f + x)};
}
/** 2^n where that is a normal number, and 0 for n of -127. */
template <class X> TL_INLINE X powerOf(const Parts<X>& x) {
  return each([](V shifted) TL_INLINE_LAMBDA { return (V)((U)shifted << 23); }, x.shifted);
}
/** e^r. */
template <class X> TL_INLINE X exponentialOf(X r) {
#if defined(__FMA__) || defined(__aarch64__)
  return polynomial(r, {1.3814466741e-3f, 8.3687804291e-3f, 4.1668394217e-2f, 1.6666520108e-1f, 4.9999993412e-1f, 1.0f, 1.0f});
#else
  // Where products are rounded too, the largest terms are better added last.
  const X p = polynomial(r, {1.3814466741e-3f, 8.3687804291e-3f, 4.1668394217e-2f, 1.6666520108e-1f, 4.9999993412e-1f});
  return (p * (r * r) + r) + 1.0f;
#endif
}

/** p * 2^n. */
template <class X> TL_INLINE X scale(X p, const Parts<X>& x) {
#if defined(__AVX512F__)
  return each([](V v, V n) TL_INLINE_LAMBDA {
    asm("vscalefps %1, %0, %0" : "+v"(v) : "v"(n));
    return v;
  }, p, x.n);
#else
  // 2^n as a product of two powers: n reaches from -150 to 128, beyond what one exponent field can hold.
  return each([](V v, V shifted) TL_INLINE_LAMBDA {
    const I exponent = (I)shifted - (0x4b400000 + 127), first = exponent >> 1;
    return v * (V)((first + 127) << 23) * (V)((exponent - first + 127) << 23);
  }, p, x.shifted);
#endif
}

template <class X> TL_INLINE X expOf(X x) {
  // Below -104 every result is 0 and above 89 infinite; the scaling at the end gets both right from the clamped value.
  const Parts<X> parts = partsOf(atLeast(-104.0f, atMost(89.0f, x)));
  return scale(exponentialOf(parts.r), parts);
}

template <class X> TL_INLINE X logOf(X x) {
  // Split into 2^e * m with m in [sqrt(1/2), sqrt(2)).
  constexpr uint32_t kRoot = 0x3f3504f3;
  const X e = each([](V v) TL_INLINE_LAMBDA { return __builtin_convertvector((I)((U)v - kRoot) >> 23, V); }, x);
  const X m = each([](V v) TL_INLINE_LAMBDA { return (V)((((U)v - kRoot) & 0x007fffff) + kRoot); }, x) - 1.0f, m2 = m * m;
  const X p = polynomial(m, {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                             -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f});
  X y = p * m2 * m;
  y = e * -2.12194440e-4f + y;
  y = m2 * -0.5f + y;
  return each([](V result, V v) TL_INLINE_LAMBDA {
#if defined(__AVX512F__)
    // Four bits for every kind of number, from the lowest: NaN stays, 0 gives -infinity, infinity stays, what is negative gives NaN.
    asm("vfixupimmps $0, %2, %1, %0" : "+v"(result) : "v"(v), "v"(splat<I>(0x03530421)));
    return result;
#else
    result = v == 0.0f ? all(-kInfinity) : result;
    result = v < 0.0f ? all(kNan) : result;
    // Infinity stays, and so does NaN.
    return v < kInfinity ? result : v;
#endif
  }, e * 0.693359375f + (m + y), x);
}

template <class X> TL_INLINE X log1pOf(X x) {
  // log(1 + x) with the rounding error of 1 + x put back: d log(u) = du / u.
  const X u = 1.0f + x, log = logOf(u);
  const X sum = each([](V log, V u, V result) TL_INLINE_LAMBDA {
    // Where 1 + x is 0 or infinite the correction is not a number, and log has the answer.
    const V safe = u == 0.0f ? log : result;
    return u == kInfinity ? log : safe;
  }, log, u, log + (x - (u - 1.0f)) / u);
  return withSign(sum, x);
}

template <class X> TL_INLINE X expm1Of(X x) {
  // Near zero e^x - 1 cancels; the series does not.
  const X p = polynomial(x, {2.7557319e-6f, 2.4801587e-5f, 1.9841270e-4f, 1.3888889e-3f, 8.3333333e-3f, 4.1666667e-2f,
                             1.6666667e-1f, 0.5f});
  const X y = each([](V v, V series, V direct) TL_INLINE_LAMBDA { return absolute(v) < 0.5f ? series : direct; }, x, p * (x * x) + x,
                   expOf(x) - 1.0f);
  return withSign(y, x);
}

template <class X> TL_INLINE X tanhOf(X x) {
  const X a = magnitudeOf(x), x2 = x * x;
  const X p = polynomial(x2, {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f});
  const X series = (p * x2) * x + x;
  // Beyond 9.02 all is 1.
  const Parts<X> parts = partsOf(2.0f * atMost(9.02f, a));
  const X direct = 1.0f - 2.0f * inverseOf(exponentialOf(parts.r) * powerOf(parts) + 1.0f);
  // The series of -0 adds up to 0, so both take their sign from x.
  return withSign(each([](V v, V near, V far) TL_INLINE_LAMBDA { return absolute(v) < 0.625f ? near : far; }, x, series, direct), x);
}

template <class X> TL_INLINE X sigmoidOf(X x) {
  // At the limits e^-x is 0 and, barely, no infinity; the inverse of that is below the normal range.
  const Parts<X> parts = partsOf(atLeast(-88.3f, atMost(88.02f, -x)));
  return inverseOf(exponentialOf(parts.r) * powerOf(parts) + 1.0f);
}

template <class X> TL_INLINE X erfOf(X x) {
  const X a = magnitudeOf(x), x2 = x * x;
  // Far out: 1 - e^(a polynomial), whose exponent is clamped where erf has long been 1.
  const X t = atMost(5.0f, a);
  X r = t * -1.72853470e-5f + 3.83197126e-4f;
  r = r * (t * t) + (t * -3.88396438e-3f + 2.42546219e-2f);
  r = r * t + -1.06777877e-1f;
  r = r * t + -6.34846687e-1f;
  r = r * t + -1.28717512e-1f;
  const Parts<X> parts = partsOf(r * t - t);
  const X far = withSign(1.0f - exponentialOf(parts.r) * powerOf(parts), x);
  const X p = polynomial(x2, {-5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f, 1.12819925e-1f, -3.76125336e-1f, 1.28379166e-1f});
  return each([](V v, V near, V far) TL_INLINE_LAMBDA {
#if !defined(__FMA__) && !defined(__aarch64__)
    // Rounded by itself, the product would vanish sooner than the sum: take both where they are larger.
    const V raised = v * 0x1p60f;
    near = absolute(v) < 1e-30f ? (1.28379166e-1f * raised + raised) * 0x1p-60f : near;
#endif
    // NaN is not greater than anything, so it comes from near.
    return absolute(v) > 0.927734375f ? far : near;
  }, x, p * x + x, far);
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
  // The sum for r = -0 would be 0.
  const V s = withSign((polynomial(r2, {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f}) * r2) * r + r, r);
  const V c = (polynomial(r2, {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f}) * r2) * r2 +
              (-0.5f * r2 + 1.0f);
  const V value = (turn & 1) != 0 ? c : s;
  return (V)((I)value ^ ((turn & 2) << 30));
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
  using Words = Vector<uint64_t, lanesOf<float> / 2>;
  const Longs shifted = (Longs)((Words)__builtin_convertvector(x, D) - 0x3fe6a09e667f3bcdu);
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
  const Words power = ((Words)turned - (0x4338000000000000u - 1023)) << 52;
  return __builtin_convertvector(p * (D)power, Vector<float, lanesOf<float> / 2>);
}

FUNCTION(Exp, expOf);
FUNCTION(Log, logOf);
FUNCTION(Log1p, log1pOf);
FUNCTION(Expm1, expm1Of);
FUNCTION(Tanh, tanhOf);
FUNCTION(Sigmoid, sigmoidOf);
FUNCTION(Erf, erfOf);

// A function joined with what comes before it or after it.
template <class F> struct OfSum {
  template <class X> static TL_INLINE X of(X x, X y) { return F::of(rounded(x + y)); }
};
template <class F> struct OfDifference {
  template <class X> static TL_INLINE X of(X x, X y) { return F::of(rounded(x - y)); }
};
template <class F> struct OfProduct {
  template <class X> static TL_INLINE X of(X x, X y) { return F::of(rounded(x * y)); }
};
template <class F> struct Times {
  template <class X> static TL_INLINE X of(X x, X y) { return rounded(F::of(x)) * y; }
};
template <class F> constexpr JoinedFunction kJoined = {{besides<2, OfSum<F>>, besides<2, OfDifference<F>>, besides<2, OfProduct<F>>},
                                                       besides<2, Times<F>>};

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
/** The C library takes denormal numbers apart by products that are zero here; they are zero from the beginning instead. */
inline float normalOrZero(float x) { return __builtin_fabsf(x) < 1.17549435e-38f ? __builtin_copysignf(0.0f, x) : x; }
inline float oddPower(float x, float y) { return __builtin_powf(normalOrZero(x), normalOrZero(y)); }
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
    return any(~plain) ? withOdd(usual, ~plain, x, y, oddPower) : usual;
  }
};

}  // namespace

void fillTranscendental(SimdKernels& k) {
  const auto set = [&](Op op, BlockFn function) { k.ops[static_cast<int>(op)][static_cast<int>(Kind::f32)] = function; };
  set(Op::exp, besides<1, Exp>);
  set(Op::log, besides<1, Log>);
  set(Op::log1p, besides<1, Log1p>);
  set(Op::expm1, besides<1, Expm1>);
  set(Op::tanh, besides<1, Tanh>);
  set(Op::sigmoid, besides<1, Sigmoid>);
  set(Op::erf, besides<1, Erf>);
  set(Op::sin, vectors1<float, Sine>);
  set(Op::cos, vectors1<float, Cosine>);
  set(Op::pow, vectors2<float, Power>);
  k.joined.exp = kJoined<Exp>;
  k.joined.tanh = kJoined<Tanh>;
  k.joined.sigmoid = kJoined<Sigmoid>;
}

}  // namespace tl::TL_SIMD

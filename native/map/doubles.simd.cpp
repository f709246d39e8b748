/** float64 functions made of exponentials and logarithms, on whole vectors. Their largest errors are in ../README.md. */
#include "doubles.h"

namespace tl::TL_SIMD {
#if TL_FUSES
namespace {

template <class X> TL_INLINE X expOf(X x) {
  // At the lower end every result is below the normal range and at the upper one infinite, also of the clamped value.
  const DoubleParts<X> parts = doublePartsOf(atLeast(-709.0, atMost(710.0, x)));
  const X& r = parts.r;
  return scale(((exponentialRest(r) * (r * r) + parts.low) + r) + 1.0, parts);
}

template <class X> TL_INLINE X expm1Of(X x) {
  const Sum<X> half = partOfExpm1<1>(atLeast(-40.0, atMost(710.0, x)));
  // Half of a small x may be below the normal range.
  const X y = each([](D v, D small, D usual) TL_INLINE_LAMBDA { return magnitudeOf(v) < 0x1p-54 ? small : usual; }, x, x * x + x,
                   2.0 * (half.high + half.low));
  return withSign(y, x);
}

template <class X> TL_INLINE X logOf(X x) {
  const Split<X> parts = splitOf(x);
  return logLimits(logOfSplit(parts.e, parts.f, allOf<X>(0.0)), x);
}

template <class X> TL_INLINE X log1pOf(X x) { return orItself(withSign(logOfOneAnd(x, allOf<X>(0.0)), x), normalOrZero(x)); }

template <class X> TL_INLINE Sum<X> neatly(Sum<X> x) { return sumOf(x.high, x.low); }
/** 1 + x, for x of at least -1/2. */
template <class X> TL_INLINE Sum<X> oneAnd(Sum<X> x) {
  const X large = atLeast(1.0, x.high), small = atMost(1.0, x.high);
  const Sum<X> sum = sumOf(large, small);
  return {sum.high, sum.low + x.low};
}

template <class X> TL_INLINE X tanhOf(X x) {
  // With E = e^2x - 1 it is E / (E + 2). From 20 on all is 1.
  const Sum<X> half = neatly(partOfExpm1<1>(2.0 * atMost(20.0, magnitudeOf(x))));
  return withSign(quotientOf(half, oneAnd(half)), x);
}

template <class X> TL_INLINE X sigmoidOf(X x) {
  // 1 / (2 + E) with E = e^-x - 1; above 40 it is 1, and below -709.7 the quotient is below the normal range.
  const Sum<X> half = neatly(partOfExpm1<1>(atLeast(-40.0, atMost(709.7, -x))));
  return quotientOf({allOf<X>(0.5), allOf<X>(0.0)}, oneAnd(half));
}

/** Beyond this both are infinite. */
constexpr double kHyperbolicLimit = 710.6;

template <class X> TL_INLINE X sinhOf(X x) {
  // With q = (e^x - 1) / 4 it is 2 (q + q / (1 + 4q)).
  const Sum<X> quarter = neatly(partOfExpm1<2>(atMost(kHyperbolicLimit, magnitudeOf(x))));
  const X most = atMost(0x1p500, quarter.high);
  return orItself(withSign(2.0 * (quarter.high + (most * inverseOf(4.0 * most + 1.0) + quarter.low)), x), x);
}

template <class X> TL_INLINE X coshOf(X x) {
  // With e = e^x / 4 it is 2 (e + 1 / (16 e)).
  const DoubleParts<X> parts = doublePartsOf(atMost(kHyperbolicLimit, magnitudeOf(x)));
  const X& r = parts.r;
  const X rest = exponentialRest(r) * (r * r) + (r + parts.low), e = powerOf<2>(parts), quarter = e * rest + e;
  return 2.0 * (quarter + 0.0625 * inverseOf(atMost(0x1p500, quarter)));
}

template <class X> TL_INLINE X atanhOf(X x) {
  // log1p(2x / (1 - x)) / 2.
  const X a = magnitudeOf(x), d = 1.0 - a, lost = (1.0 - d) - a;
  const X r = inverseOf(d), q = 2.0 * a * r;
  const X rest = (2.0 * a - q * d) - q * lost;
  const X result = each([](D v, D usual) TL_INLINE_LAMBDA {
    usual = v == 1.0 ? splat<D>(kDoubleInfinity) : usual;
    return v > 1.0 ? splat<D>(__builtin_nan("")) : usual;
  }, a, 0.5 * logOfOneAnd(q, rest * r));
  return orItself(withSign(result, x), normalOrZero(x));
}

FUNCTION(Exp, expOf);
FUNCTION(Expm1, expm1Of);
FUNCTION(Log, logOf);
FUNCTION(Log1p, log1pOf);
FUNCTION(Tanh, tanhOf);
FUNCTION(Sigmoid, sigmoidOf);
FUNCTION(Sinh, sinhOf);
FUNCTION(Cosh, coshOf);
FUNCTION(Atanh, atanhOf);

}  // namespace

void fillDoubles(SimdKernels& k) {
  const auto set = [&](Op op, Kind kind, BlockFn function) { k.ops[static_cast<int>(op)][static_cast<int>(kind)] = function; };
  set(Op::exp, Kind::f64, besides<1, Exp, double>);
  set(Op::expm1, Kind::f64, besides<1, Expm1, double>);
  set(Op::log, Kind::f64, besides<1, Log, double>);
  set(Op::log1p, Kind::f64, besides<1, Log1p, double>);
  set(Op::tanh, Kind::f64, besides<1, Tanh, double>);
  set(Op::sigmoid, Kind::f64, besides<1, Sigmoid, double>);
  set(Op::sinh, Kind::f64, besides<1, Sinh, double>);
  set(Op::cosh, Kind::f64, besides<1, Cosh, double>);
  set(Op::atanh, Kind::f64, besides<1, Atanh, double>);
  // Of float32 they are computed in float64.
  set(Op::cosh, Kind::f32, besides<1, Cosh, double, float>);
  set(Op::atanh, Kind::f32, besides<1, Atanh, double, float>);
  set(Op::sinh, Kind::f32, besides<1, Widened<Sinh>>);
}
#else
void fillDoubles(SimdKernels&) {}
#endif

}  // namespace tl::TL_SIMD

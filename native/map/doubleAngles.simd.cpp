/** float64 functions of angles, on whole vectors. Their largest errors are in ../README.md. */
#include "doubles.h"

namespace tl::TL_SIMD {
#if TL_FUSES
namespace {

/** From 2^20 quarters of a turn on the reduction below loses digits; such values go to the C library. */
constexpr double kTurnLimit = 1647099.0;

/** Sine and cosine of what remains of x beside quarters of a turn, whose number is in the lower bits of `turn`. */
template <class X> struct Turned {
  Sum<X> sine, cosine;
  X turn;
};
template <class X> TL_INLINE Turned<X> turnedOf(X x) {
  const X turn = x * 0.636619772367581343 + kDoubleRounder, n = turn - kDoubleRounder;
  // pi/2 in three parts, the first two of 33 bits, so that n times them is exact.
  const X first = n * -1.57079632673412561417e+00 + x, second = n * -6.07710050630396597660e-11 + first;
  const X rest = n * -2.02226624879595063154e-21 + (n * -6.07710050630396597660e-11 + (first - second));
  const X r = second + rest, low = (second - r) + rest;
  const X z = r * r, half = 0.5 * z, one = 1.0 - half;
  const X s = polynomial(z, {1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
                             -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01});
  const X c = polynomial(z, {-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
                             2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02});
  const Sum<X> sine = sumOf(r, s * (z * r) + rounded(low * one));
  const Sum<X> cosine = sumOf(one, (z * z) * c + (((1.0 - one) - half) - r * low));
  return {sine, cosine, turn};
}
TL_INLINE Longs isOdd(D turn) { return ((Longs)turn & 1) != 0; }

/** What the C library says of numbers that are too far out. Only these are computed one at a time: what a lane gives must not depend on others. */
__attribute__((noinline)) D withFar(D usual, Longs far, D x, double (*f)(double)) {
  for (int i = 0; i < lanesOf<double>; i++)
    if (far[i]) usual[i] = f(x[i]);
  return usual;
}
template <class F, class X> TL_INLINE X nearOr(const F& f, X usual, X x) {
  return each([&](D y, D v) TL_INLINE_LAMBDA {
    const D a = magnitudeOf(v);
    const Longs far = (a >= kTurnLimit) & (a < kDoubleInfinity);
    return any(far) ? withFar(y, far, v, f) : y;
  }, usual, x);
}

/** Chooses the sine, or the cosine after an odd number of quarters, with the sign that it has then. */
template <class X> TL_INLINE X sineOf(X x, int64_t quarter) {
  const Turned<X> turned = turnedOf(x);
  return each([=](D s, D c, D turn) TL_INLINE_LAMBDA {
    const Longs at = (Longs)turn + quarter;
    const D value = isOdd((D)at) ? c : s;
    return (D)((Longs)value ^ (Longs)((Words)(at & 2) << 62));
  }, turned.sine.high, turned.cosine.high, turned.turn);
}
struct Sine {
  template <class X> static TL_INLINE X of(X x) { return nearOr([](double v) { return __builtin_sin(v); }, orItself(sineOf(x, 0), x), x); }
};
struct Cosine {
  template <class X> static TL_INLINE X of(X x) { return nearOr([](double v) { return __builtin_cos(v); }, sineOf(x, 1), x); }
};
struct Tangent {
  template <class X> static TL_INLINE X of(X x) {
    const Turned<X> turned = turnedOf(x);
    // After an odd number of quarters it is -cosine / sine.
    const auto first = [](D s, D c, D turn) TL_INLINE_LAMBDA { return isOdd(turn) ? -c : s; };
    const auto second = [](D s, D c, D turn) TL_INLINE_LAMBDA { return isOdd(turn) ? s : c; };
    const Sum<X> above = {each(first, turned.sine.high, turned.cosine.high, turned.turn),
                          each(first, turned.sine.low, turned.cosine.low, turned.turn)};
    const Sum<X> below = {each(second, turned.sine.high, turned.cosine.high, turned.turn),
                          each(second, turned.sine.low, turned.cosine.low, turned.turn)};
    return nearOr([](double v) { return __builtin_tan(v); }, orItself(withSign(quotientOf(above, below), above.high * below.high), x), x);
  }
};

}  // namespace

void fillDoubleAngles(SimdKernels& k) {
  const auto set = [&](Op op, Kind kind, BlockFn function) { k.ops[static_cast<int>(op)][static_cast<int>(kind)] = function; };
  set(Op::sin, Kind::f64, besides<1, Sine, double>);
  set(Op::cos, Kind::f64, besides<1, Cosine, double>);
  set(Op::tan, Kind::f64, besides<1, Tangent, double>);
  set(Op::tan, Kind::f32, besides<1, Widened<Tangent>>);
}
#else
void fillDoubleAngles(SimdKernels&) {}
#endif

}  // namespace tl::TL_SIMD

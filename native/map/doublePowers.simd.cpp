/** Powers of float64, on whole vectors. Their largest error is in ../README.md. */
#include "doubles.h"

namespace tl::TL_SIMD {
#if TL_FUSES
namespace {

/** log(x) with a dozen digits more than one number has, for normal, positive x: an exponent of up to 745 keeps what it is multiplied by. */
template <class X> TL_INLINE Sum<X> longLogOf(X x) {
  const Split<X> parts = splitOf(x);
  const X& f = parts.f;
  // log(1 + f) = 2 atanh(s) with s = f / (2 + f), |s| < 0.172.
  const Sum<X> below = sumOf(allOf<X>(2.0), f);
  const X inverse = inverseOf(below.high), s = rounded(f * inverse);
  const X rest = ((f - s * below.high) - s * below.low) * inverse;
  Sum<X> z = productOf(s, s);
  z.low = 2.0 * s * rest + z.low;
  // atanh(s) / s - 1 = z (1/3 + z (1/5 + …)); the third has its digits in two numbers, too.
  const X more = polynomial(z.high, {0.05861589311938259, 0.05853118169745603, 0.06667402346923655, 0.07692297481259215,
                                     0.09090909167696401, 0.11111111110827943, 0.14285714285714682, 0.2});
  const Sum<X> third = sumOf(allOf<X>(0.3333333333333333), z.high * more + 1.850371707708594e-17);
  Sum<X> factor = productOf(z.high, third.high);
  factor.low = z.high * third.low + (z.low * third.high + factor.low);
  Sum<X> product = productOf(s, factor.high);
  product.low = s * factor.low + (rest * factor.high + product.low);
  const Sum<X> half = sumOf(s, product.high);
  const X low = half.low + (rest + product.low);
  const Sum<X> sum = sumOf(rounded(parts.e * kLn2High), 2.0 * half.high);
  return sumOf(sum.high, sum.low + (2.0 * low + parts.e * kLn2Low));
}

/** e^x for x from -709 to 710. */
template <class X> TL_INLINE X expOf(Sum<X> x) {
  const DoubleParts<X> parts = doublePartsOf(x.high);
  const Sum<X> reduced = sumOf(parts.r, parts.low + x.low);
  const X& r = reduced.high;
  const Sum<X> sum = sumOf(allOf<X>(1.0), r);
  // The last of these is e^r times the low part, nearly.
  return scale(sum.high + (exponentialRest(r) * (r * r) + (sum.low + (reduced.low * r + reduced.low))), parts);
}

constexpr double kSmallest = 0x1p-1022, kLargest = 0x1.fffffffffffffp1023;
/** From here on powers are the C library's; below it adding kDoubleRounder says whether they are whole, and odd. */
constexpr double kWholeLimit = 0x1p51;

/** The C library takes denormal numbers apart by products that are zero here; they are zero from the beginning instead. */
inline double normalOrZero(double x) { return __builtin_fabs(x) < kSmallest ? __builtin_copysign(0.0, x) : x; }
/** Only lanes with rules of their own are computed one at a time: what a lane gives must not depend on its neighbours. */
__attribute__((noinline)) D withRare(D usual, Longs rare, D x, D y) {
  for (int i = 0; i < lanesOf<double>; i++)
    if (rare[i]) usual[i] = __builtin_pow(normalOrZero(x[i]), normalOrZero(y[i]));
  return usual;
}

struct Power {
  template <class X> static TL_INLINE X of(X x, X y) {
    const X a = magnitudeOf(x);
    const Sum<X> log = longLogOf(a);
    Sum<X> exponent = productOf(y, log.high);
    exponent.low = y * log.low + exponent.low;
    // Powers of zero and of infinity are 1, or so far out that their exponents are.
    exponent.high = each([](D t, D base, D power) TL_INLINE_LAMBDA {
      const D far = power == 0.0 ? D{} : withSign(splat<D>(1000.0), power);
      t = base < kSmallest ? -far : t;
      return base > kLargest ? far : t;
    }, exponent.high, a, y);
    // At the lower end every result is below the normal range and at the upper one infinite; no low part means anything there.
    const auto inRange = [](D low, D high) TL_INLINE_LAMBDA { return ((high > -709.0) & (high < 710.0)) ? low : D{}; };
    exponent.low = each(inRange, exponent.low, exponent.high);
    exponent.high = atLeast(-709.0, atMost(710.0, exponent.high));
    return each([](D usual, D base, D power) TL_INLINE_LAMBDA {
      const D shifted = power + kDoubleRounder;
      const Longs isWhole = (shifted - kDoubleRounder) == power;
      const D odd = isWhole ? (D)((Words)shifted << 63) : D{};
      usual = (D)((Longs)usual | ((Longs)odd & (Longs)base));
      usual = ((base <= -kSmallest) & (base >= -kLargest) & ~isWhole) ? splat<D>(__builtin_nan("")) : usual;
      const Longs rare = ~(magnitudeOf(power) < kWholeLimit) | (base != base);
      return any(rare) ? withRare(usual, rare, base, power) : usual;
    }, expOf(exponent), x, y);
  }
};

}  // namespace

void fillDoublePowers(SimdKernels& k) { k.ops[static_cast<int>(Op::pow)][static_cast<int>(Kind::f64)] = besides<2, Power, double>; }
#else
void fillDoublePowers(SimdKernels&) {}
#endif

}  // namespace tl::TL_SIMD

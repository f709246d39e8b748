/** float64 error functions on whole vectors. Their largest errors are in ../README.md. */
#include "doubles.h"

namespace tl::TL_SIMD {
#if TL_FUSES
namespace {

/** erf(x) / x - 1 for x of up to 1, given x^2. */
template <class X> TL_INLINE X erfRest(X z) {
  return polynomial(z, {5.957176147748911e-11, -1.1372848856791674e-09, 1.4659775274047436e-08, -1.6350312701054695e-07,
                        1.6461000484121368e-06, -1.4925595266831182e-05, 0.0001205533111164271, -0.000854832698083379,
                        0.0052239776248180145, -0.026866170645076792, 0.11283791670954879, -0.3761263890318375, 0.1283791670955126});
}

/** erfc(x) for x from 1/2 to 26.7: e^-x^2 (1 + p) / (1 + 2x), where p is a polynomial of (x - 4) / (x + 4) and small. */
template <class X> TL_INLINE X erfcOfLarge(X x) {
  const X p = polynomial(quotientOf(x - 4.0, x + 4.0),
                         {-1.0807839193778407e-08, -1.2464922632959658e-08, 1.0657498343480704e-07, 6.766286614225041e-08, -8.235904206227336e-07,
                          2.9884065309812e-07, 5.7093036162811354e-06, -1.1224287240780989e-05, -2.439924174727105e-05, 0.00015062232877637344,
                          -0.00019925665038825755, -0.0007577734103224001, 0.005031969966043287, -0.016197734043628512, 0.03716751553905177,
                          -0.0663303658131784, 0.09373283499824538, -0.10103906603627107, 0.06809705425469573, 0.015379652102619296,
                          -0.13962111684056253, 0.2329951186255525});
  const Sum<X> one = sumOf(allOf<X>(1.0), p);
  const Sum<X> square = productOf(x, x);
  const DoubleParts<X> parts = doublePartsOf(-square.high);
  const Sum<X> reduced = sumOf(parts.r, parts.low - square.low);
  const X& r = reduced.high;
  const X rest = (exponentialRest(r) * (r * r) + reduced.low) + r;
  const X product = one.high * rest + one.high, lost = one.high * rest + (one.high - product);
  return scale(quotientOf(Sum<X>{product, lost + one.low}, sumOf(2.0 * x, allOf<X>(1.0))), parts);
}

template <class X> TL_INLINE X erfOf(X x) {
  const X a = magnitudeOf(x), z = x * x;
  // From 6 on it is 1.
  const X far = withSign(1.0 - erfcOfLarge(atLeast(1.0, atMost(6.0, a))), x);
  return each([](D v, D near, D far) TL_INLINE_LAMBDA { return v > 1.0 ? far : near; }, a, erfRest(z) * x + x, far);
}

template <class X> TL_INLINE X erfcOf(X x) {
  // From 26.6 on it is below the normal range.
  const X large = erfcOfLarge(atLeast(0.5, atMost(26.6, magnitudeOf(x))));
  const X far = each([](D v, D upper, D lower) TL_INLINE_LAMBDA { return v < 0.0 ? lower : upper; }, x, large, 2.0 - large);
  const X near = 1.0 - (erfRest(x * x) * x + x);
  return each([](D v, D near, D far) TL_INLINE_LAMBDA { return magnitudeOf(v) > 0.5 ? far : near; }, x, near, far);
}

FUNCTION(Erf, erfOf);
FUNCTION(Erfc, erfcOf);

}  // namespace

void fillDoubleErrors(SimdKernels& k) {
  const auto set = [&](Op op, Kind kind, BlockFn function) { k.ops[static_cast<int>(op)][static_cast<int>(kind)] = function; };
  set(Op::erf, Kind::f64, besides<1, Erf, double>);
  set(Op::erfc, Kind::f64, besides<1, Erfc, double>);
  set(Op::erfc, Kind::f32, besides<1, Erfc, double, float>);
}
#else
void fillDoubleErrors(SimdKernels&) {}
#endif

}  // namespace tl::TL_SIMD

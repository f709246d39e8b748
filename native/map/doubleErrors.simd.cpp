/** float64 error functions and their inverses on whole vectors. Their largest errors are in ../README.md. */
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

/** Where the inverse, of 2 and more, is computed in another way: 1 - |erf| there. */
constexpr double kTail = 0.0045;

/**
 * The inverse of erf at the size of x, which is 1 - rest; `product` is 1 - x^2. Both ways are quotients of polynomials: of w = -log(1 - x^2) in the
 * middle, of s = sqrt(-log(rest)) where that is small. With `Far`, rest may be as small as there are numbers, else it is at least 2^-53.
 */
template <bool Far, class X> TL_INLINE Sum<X> erfinvOf(X x, X rest, X product) {
  const auto choose = [](D rest, D middle, D tail) TL_INLINE_LAMBDA { return rest > kTail ? middle : tail; };
  const Split<X> parts = splitOf(each(choose, rest, product, rest));
  const X w = atLeast(0.0, -logOfSplit(parts.e, parts.f, allOf<X>(0.0))), s = rootOf(w);
  const X middleAbove = polynomial(w, {1.4698243951658612e-10, 2.2989330668866205e-08, 7.511378928802755e-07, 1.2379804742839926e-05,
                                       0.00016898239424560188, 0.001195125635048044, 0.011081325636485099, 0.028480645757109842,
                                       0.22064118622823545, -0.11377307454724199});
  const X middleBelow = polynomial(w, {3.019354308731444e-09, 1.560082487360871e-07, 4.947955850190932e-06, 5.504344212079918e-05,
                                       0.0009427390962792184, 0.004432283956134111, 0.05502373136803637, 0.09995757213800922, 1.0});
  X above = polynomial(s, {4.29362922581161e-06, 0.00443433719051924, 0.184616679731516, 1.5823868711088747, 3.0570679715874127,
                           1.5080716887872834, 1.1138707112272284, -0.018065357469644463});
  X below = polynomial(s, {0.001543217178139709, 0.09610795168496108, 1.2649639707330511, 4.665284098436866, 5.679212063552434,
                           5.0502798856331, 2.7015223345202206, 1.0});
  if constexpr (Far) {
    const auto chooseFar = [](D s, D far, D near) TL_INLINE_LAMBDA { return s > 6.05 ? far : near; };
    above = each(chooseFar, s, polynomial(s, {1.519450887948009e-11, 1.0764566063866288e-07, 2.9546266281861674e-05, 0.0020668348922216265,
                                              0.049600122409157774, 0.43677008067585327, 1.2970815791618795, 0.8828947700166832,
                                              0.0032643845907380665}), above);
    below = each(chooseFar, s, polynomial(s, {2.8888887972431895e-08, 1.043877687949722e-05, 0.0009200748545704697, 0.028205338152065836,
                                              0.33645235910838583, 1.5693530791751986, 2.674894342954645, 1.7474295895445497, 1.0}), below);
  }
  const X quotient = quotientOf(each(choose, rest, middleAbove, above), each(choose, rest, middleBelow, below));
  // Both are computed for positive x.
  const X a = magnitudeOf(x), middle = a * quotient + a, tail = s - quotient;
  const X high = each(choose, rest, middle, tail), low = each(choose, rest, a * quotient + (a - middle), (s - tail) - quotient);
  return {high, low};
}
/** The same with the sign of x, and with the limits of erf: infinite at them and NaN beyond, given how far they are. */
template <class X> TL_INLINE X withLimits(X usual, X x, X rest) {
  const X limited = each([](D y, D rest) TL_INLINE_LAMBDA {
    y = rest == 0.0 ? splat<D>(kDoubleInfinity) : y;
    return rest >= 0.0 ? y : splat<D>(__builtin_nan(""));
  }, usual, rest);
  return withSign(limited, x);
}
template <class X> TL_INLINE X erfinvOf(X x) {
  const X rest = 1.0 - magnitudeOf(x);
  return withLimits(erfinvOf<false>(x, rest, 1.0 - x * x).high, x, rest);
}
template <class X> TL_INLINE X ndtriOf(X p) {
  // The square root of 2 times the inverse of erf at 2p - 1.
  const X x = 2.0 * (p - 0.5), other = 1.0 - p;
  const X least = each([](D u, D v) TL_INLINE_LAMBDA { return u < v ? u : v; }, p, other);
  const Sum<X> inverse = erfinvOf<true>(x, 2.0 * least, 4.0 * p * other);
  constexpr double kRoot = 1.4142135623730951, kRootRest = -9.667293313452913e-17;
  return withLimits(inverse.high * kRoot + (inverse.high * kRootRest + rounded(inverse.low * kRoot)), x, least);
}

FUNCTION(Erf, erfOf);
FUNCTION(Erfc, erfcOf);
FUNCTION(Erfinv, erfinvOf);
FUNCTION(Ndtri, ndtriOf);

}  // namespace

void fillDoubleErrors(SimdKernels& k) {
  const auto set = [&](Op op, Kind kind, BlockFn function) { k.ops[static_cast<int>(op)][static_cast<int>(kind)] = function; };
  set(Op::erf, Kind::f64, besides<1, Erf, double>);
  set(Op::erfc, Kind::f64, besides<1, Erfc, double>);
  set(Op::erfinv, Kind::f64, besides<1, Erfinv, double>);
  set(Op::ndtri, Kind::f64, besides<1, Ndtri, double>);
  // Of float32 these are computed in float64, which is faster than the C library and nearly rounds right.
  set(Op::erfc, Kind::f32, besides<1, Erfc, double, float>);
  set(Op::erfinv, Kind::f32, besides<1, Erfinv, double, float>);
  set(Op::ndtri, Kind::f32, besides<1, Ndtri, double, float>);
}
#else
void fillDoubleErrors(SimdKernels&) {}
#endif

}  // namespace tl::TL_SIMD

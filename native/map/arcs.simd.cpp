/** Angles of which functions are given, on whole vectors of float32 and float64. Their largest errors are in ../README.md. */
#include "doubles.h"

namespace tl::TL_SIMD {
#if TL_FUSES
namespace {

/** pi/2 in two parts. */
template <class T> constexpr T kHalfPi = T(1.57079632679489655800);
template <class T> constexpr T kHalfPiRest = sizeof(T) == 4 ? T(-4.37113883e-8) : T(6.12323399573676603587e-17);

template <class T> constexpr T kLargest = sizeof(T) == 4 ? T(0x1.fffffep127) : T(0x1.fffffffffffffp1023);

/** The angle of a tangent t is t + t^3 times this, given t^2 of up to 0.1716. */
template <class X> TL_INLINE X arcTangentRest(X z) {
  if constexpr (sizeof(Element<X>) == 4)
    return polynomial(z, {0.0504782062f, -0.0862455294f, 0.110713485f, -0.142841503f, 0.199999772f, -0.333333333f});
  else
    return polynomial(z, {0.01628357235648259, -0.0345685906686069, 0.045515165635903104, -0.052304374642516874, 0.05878926715756726,
                          -0.066664246872465, 0.07692296363979952, -0.09090908753118594, 0.11111111105147764, -0.14285714285659748,
                          0.19999999999999804, -0.3333333333333333});
}
/** The angle of a sine s is s + s^3 times this, given s^2 of up to 1/4. */
template <class X> TL_INLINE X arcSineRest(X z) {
  if constexpr (sizeof(Element<X>) == 4)
    return polynomial(z, {0.0309745404f, 0.0105744155f, 0.023611817f, 0.0302691387f, 0.0446476639f, 0.074999924f, 0.166666667f});
  else
    return polynomial(z, {0.028757851367421566, -0.014851887071247204, 0.01740087944269402, 0.005457506718640358, 0.01032281435018578,
                          0.011479177415184906, 0.013971212973552933, 0.017352392720869973, 0.02237217294214989, 0.030381944138531247,
                          0.04464285714635543, 0.07499999999998433, 0.16666666666666669});
}

/** The angle whose tangent is small / large, for 0 <= small <= large; neither is very large or very small. */
template <class X> TL_INLINE Sum<X> angleOf(X small, X large) {
  using V = Single<X>;
  using T = Element<X>;
  // Beyond tan(pi/8) it is pi/4 and the angle whose tangent is (t - 1) / (t + 1).
  const auto isWide = [](V s, V l) TL_INLINE_LAMBDA { return s > T(0.41421356237309503) * l; };
  const X above = each([=](V s, V l) TL_INLINE_LAMBDA { return isWide(s, l) ? s - l : s; }, small, large);
  const X below = each([=](V s, V l) TL_INLINE_LAMBDA { return isWide(s, l) ? s + l : l; }, small, large);
  const X base = each([=](V s, V l) TL_INLINE_LAMBDA { return isWide(s, l) ? splat<V>(kHalfPi<T> / 2) : V{}; }, small, large);
  const X baseRest = each([=](V s, V l) TL_INLINE_LAMBDA { return isWide(s, l) ? splat<V>(kHalfPiRest<T> / 2) : V{}; }, small, large);
  // A division: what the processor guesses of an inverse would be below the normal range too soon.
  const X t = above / below, z = t * t;
  const Sum<X> sum = sumOf(base, t);
  return {sum.high, arcTangentRest(z) * (z * t) + (sum.low + baseRest)};
}
/** pi/2 times `quarters` (1 or 2), less an angle. */
template <class X> TL_INLINE Sum<X> lessThan(int quarters, Sum<X> angle) {
  using T = Element<X>;
  const Sum<X> sum = sumOf(allOf<X>(static_cast<T>(quarters) * kHalfPi<T>), -angle.high);
  return {sum.high, sum.low + (static_cast<T>(quarters) * kHalfPiRest<T> - angle.low)};
}
template <class X> TL_INLINE X total(Sum<X> x) { return x.high + x.low; }
/** x where `at` is less than a bound, elsewhere y. */
template <class X> TL_INLINE X whereLess(X at, Element<X> bound, X x, X y) {
  using V = Single<X>;
  return each([=](V a, V u, V v) TL_INLINE_LAMBDA { return a < bound ? u : v; }, at, x, y);
}

struct ArcTangent {
  template <class X> static TL_INLINE X of(X x) {
    using T = Element<X>;
    const X a = magnitudeOf(x);
    // Beyond 2^60 the angle is pi/2; NaN stays in what is at least 1.
    const Sum<X> angle = angleOf(atMost(T(1), a), atLeast(T(1), atMost(T(0x1p60), a)));
    return orItself(withSign(whereLess(a, T(1), total(angle), total(lessThan(1, angle))), x), normalOrZero(x));
  }
};

struct ArcTangent2 {
  template <class X> static TL_INLINE X of(X y, X x) {
    using V = Single<X>;
    using T = Element<X>;
    // Both are brought where sums and inverses are normal; 0 / 0 is 0 here and infinity / infinity is 1.
    constexpr T kFar = sizeof(T) == 4 ? T(0x1p60) : T(0x1p500);
    const X a = magnitudeOf(y), b = magnitudeOf(x);
    const X longer = each([](V u, V v) TL_INLINE_LAMBDA { return u > v ? u : v; }, a, b);
    const X shorter = each([](V u, V v) TL_INLINE_LAMBDA { return u > v ? v : u; }, a, b);
    const X factor = each([](V v) TL_INLINE_LAMBDA {
      const V enlarged = v < 1 / kFar ? splat<V>(kFar) : splat<V>(T(1));
      return v > kFar ? splat<V>(1 / kFar) : enlarged;
    }, longer);
    const X large = atLeast(1 / kFar / kFar, atMost(kFar * kFar, longer * factor));
    const X small = each([](V l, V s, V scaled) TL_INLINE_LAMBDA {
      return ((l > kLargest<T>) & (s <= kLargest<T>)) ? V{} : scaled;
    }, longer, shorter, atMost(kFar * kFar, shorter * factor));
    const Sum<X> angle = angleOf(small, large), steep = lessThan(1, angle);
    const auto select = [](V u, V v, V s, V f) TL_INLINE_LAMBDA { return u > v ? s : f; };
    const Sum<X> chosen = {each(select, a, b, steep.high, angle.high), each(select, a, b, steep.low, angle.low)};
    const X result = each([](V v, V left, V right) TL_INLINE_LAMBDA { return (Integers<X>)v < 0 ? left : right; }, x, total(lessThan(2, chosen)), total(chosen));
    return each([](V u, V v, V angle) TL_INLINE_LAMBDA {
      const V second = v != v ? v : angle;
      return u != u ? u : second;
    }, y, x, withSign(result, y));
  }
};

/**
 * The arc sine of |x| where that is below 1/2; elsewhere that of sqrt((1 - |x|) / 2), which is half of what is missing to pi/2. NaN beyond
 * 1, where the root is.
 */
template <class X> TL_INLINE Sum<X> arcPart(X a) {
  using T = Element<X>;
  const X z = whereLess(a, T(0.5), a * a, T(0.5) - T(0.5) * a);
  const X root = rootOf(z);
  // What the root has lost: (z - root^2) / (2 root). It is 0 only where z is.
  const X lost = quotientOf(productLess(root, root, z), T(-2) * atLeast(T(0x1p-60), root));
  const X s = whereLess(a, T(0.5), a, root), low = whereLess(a, T(0.5), allOf<X>(T(0)), lost);
  return {s, arcSineRest(z) * (z * s) + low};
}
template <class X> TL_INLINE Sum<X> twice(Sum<X> x) { return {x.high + x.high, x.low + x.low}; }

struct ArcSine {
  template <class X> static TL_INLINE X of(X x) {
    const X a = magnitudeOf(x);
    const Sum<X> part = arcPart(a);
    const X angle = withSign(whereLess(a, Element<X>(0.5), total(part), total(lessThan(1, twice(part)))), x);
    // TensorFlow has the C library compute it in float64, and that leaves alone what is below the normal range.
    if constexpr (sizeof(Element<X>) == 8) return orItself(angle, x);
    else return orItself(angle, normalOrZero(x));
  }
};
struct ArcCosine {
  template <class X> static TL_INLINE X of(X x) {
    using V = Single<X>;
    using T = Element<X>;
    const X a = magnitudeOf(x);
    const Sum<X> part = arcPart(a);
    const Sum<X> own = {withSign(part.high, x), each([](V v, V low) TL_INLINE_LAMBDA { return v < T(0) ? -low : low; }, x, part.low)};
    const X outer = whereLess(x, T(0), total(lessThan(2, twice(part))), total(twice(part)));
    return whereLess(a, T(0.5), total(lessThan(1, own)), outer);
  }
};

}  // namespace

void fillArcs(SimdKernels& k) {
  const auto set = [&](Op op, BlockFn single, BlockFn twice) {
    k.ops[static_cast<int>(op)][static_cast<int>(Kind::f32)] = single;
    k.ops[static_cast<int>(op)][static_cast<int>(Kind::f64)] = twice;
  };
  set(Op::atan, besides<1, ArcTangent>, besides<1, ArcTangent, double>);
  set(Op::atan2, besides<2, ArcTangent2>, besides<2, ArcTangent2, double>);
  set(Op::asin, besides<1, ArcSine>, besides<1, ArcSine, double>);
  set(Op::acos, besides<1, ArcCosine>, besides<1, ArcCosine, double>);
}
#else
void fillArcs(SimdKernels&) {}
#endif

}  // namespace tl::TL_SIMD

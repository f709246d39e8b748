/**
 * What functions of float64 are made of: exponentials and logarithms as sums of two numbers, the second of which has the digits that
 * the first has lost. Include only from *.simd.cpp that are compiled with contraction.
 *
 * All of it needs a * b + c in one rounding. Where the processor does not have that (TL_FUSES is 0), the C library stays.
 */
#pragma once
#include "../simd/beside.h"

#if defined(__FMA__) || defined(__aarch64__)
#define TL_FUSES 1
#else
#define TL_FUSES 0
#endif

namespace tl::TL_SIMD {

using D = Full<double>;
using Longs = Full<int64_t>;
using Words = Full<uint64_t>;

constexpr double kDoubleInfinity = __builtin_inf();
/** Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the sum. */
constexpr double kDoubleRounder = 6755399441055744.0;
/** ln 2 in two parts, the first short enough that any exponent times it is exact. */
constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;

/** high + low, where low is small beside high. */
template <class X> struct Sum {
  X high, low;
};

/** The sum of two numbers, the first of which is the larger one or zero, without error. */
template <class X> TL_INLINE Sum<X> sumOf(X large, X small) {
  const X high = large + small;
  return {high, small - (high - large)};
}
/** The same of any two numbers. */
template <class X> TL_INLINE Sum<X> anySumOf(X x, X y) {
  const X high = x + y, rest = high - x;
  return {high, (x - (high - rest)) + (y - rest)};
}
/** x y - z in one rounding, which is the error of a product z: spelled out, because the compiler would see that both products are one. */
template <class X> TL_INLINE X productLess(X x, X y, X z) {
  return each([](Single<X> u, Single<X> v, Single<X> w) TL_INLINE_LAMBDA {
    constexpr bool isDouble = sizeof(Element<X>) == 8;
#if defined(__FMA__)
    if constexpr (isDouble) asm("vfmsub231pd %2, %1, %0" : "+v"(w) : "v"(u), "v"(v));
    else asm("vfmsub231ps %2, %1, %0" : "+v"(w) : "v"(u), "v"(v));
#elif defined(__aarch64__)
    w = -w;
    if constexpr (isDouble) asm("fmla %0.2d, %1.2d, %2.2d" : "+w"(w) : "w"(u), "w"(v));
    else asm("fmla %0.4s, %1.4s, %2.4s" : "+w"(w) : "w"(u), "w"(v));
#endif
    return w;
  }, x, y, z);
}
template <class X> TL_INLINE Sum<X> productOf(X x, X y) {
  const X high = rounded(x * y);
  return {high, productLess(x, y, high)};
}

/** 1 / x to 28 digits or more, for x whose inverse is normal. */
template <class X> TL_INLINE X roughInverse(X x) {
#if defined(__AVX512F__)
  const X r = each([](D v) TL_INLINE_LAMBDA {
    D found;
    asm("vrcp14pd %1, %0" : "=v"(found) : "v"(v));
    return found;
  }, x);
  return (1.0 - x * r) * r + r;
#else
  return allOf<X>(1.0) / x;
#endif
}
/** 1 / x, nearly rounded right. */
template <class X> TL_INLINE X inverseOf(X x) {
  const X r = roughInverse(x);
#if defined(__AVX512F__)
  return (1.0 - x * r) * r + r;
#else
  return r;
#endif
}
/** x / y, nearly rounded right; y is like that. */
template <class X> TL_INLINE X quotientOf(Sum<X> x, Sum<X> y) {
  const X r = roughInverse(y.high), q = x.high * r;
  X rest = x.high - q * y.high;
  rest = rest - q * y.low;
  return (rest + x.low) * r + q;
}
template <class X> TL_INLINE X quotientOf(X x, X y) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Element<X>) == 8) {
    const X r = roughInverse(y), q = x * r;
    return (x - q * y) * r + q;
  }
#endif
  return x / y;
}

/** A function that is x where x is small, also below the normal range: parts of x would not be. */
template <class X> TL_INLINE X orItself(X function, X x) {
  using V = Single<X>;
  return each([](V y, V v) TL_INLINE_LAMBDA { return magnitudeOf(v) < Element<X>(0x1p-54) ? v : y; }, function, x);
}

/** x, or a zero of its sign if it is below the normal range. */
template <class X> TL_INLINE X normalOrZero(X x) {
  using V = Single<X>;
  using T = Element<X>;
  constexpr T kLeast = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022);
  return each([](V v) TL_INLINE_LAMBDA { return magnitudeOf(v) < kLeast ? withSign(V{}, v) : v; }, x);
}

/** A function F of float64 for float32, which is faster than the C library and nearly rounds right. It is x where x is small. */
template <class F> struct Widened {
  using V = Full<float>;
  using Half = Vector<float, lanesOf<double>>;
  struct Halves {
    Half low, high;
  };
  static TL_INLINE Two<D> wide(V x) {
    const Halves halves = bitsAs<Halves>(x);
    return {__builtin_convertvector(halves.low, D), __builtin_convertvector(halves.high, D)};
  }
  static TL_INLINE V narrow(Two<D> x) { return bitsAs<V>(Halves{__builtin_convertvector(x.a, Half), __builtin_convertvector(x.b, Half)}); }
  static TL_INLINE Two<Two<D>> wide(Two<V> x) { return {wide(x.a), wide(x.b)}; }
  static TL_INLINE Two<V> narrow(Two<Two<D>> x) { return {narrow(x.a), narrow(x.b)}; }

  template <class X> static TL_INLINE X of(X x) {
    if constexpr (2 * sizeof(X) > sizeof(Beside<double>)) return {of(x.a), of(x.b)};
    else return orItself(narrow(F::of(wide(x))), x);
  }
};

template <class X> TL_INLINE X rootOf(X x) {
  return each([](Single<X> v) TL_INLINE_LAMBDA {
    Single<X> r;
    for (int i = 0; i < lanesOf<Element<X>>; i++) r[i] = sqrtOf(v[i]);
    return r;
  }, x);
}

/** x = n ln 2 + r + low, |r| <= ln 2 / 2; n is whole and the lower bits of `shifted` are n + 1023, an exponent field. */
template <class X> struct DoubleParts {
  X shifted, n, r, low;
};
template <class X> TL_INLINE DoubleParts<X> doublePartsOf(X x) {
  constexpr double kShift = kDoubleRounder + 1023.0;
  const X shifted = x * 1.4426950408889634 + kShift, n = shifted - kShift;
  const X rest = n * -kLn2High + x, r = n * -kLn2Low + rest;
  return {shifted, n, r, n * -kLn2Low + (rest - r)};
}
/** 2^(n - Less) where that is a normal number. */
template <int Less, class X> TL_INLINE X powerOf(const DoubleParts<X>& x) {
  return each([](D shifted) TL_INLINE_LAMBDA { return (D)(((Words)shifted - Less) << 52); }, x.shifted);
}
/** (e^r - 1 - r) / r^2. */
template <class X> TL_INLINE X exponentialRest(X r) {
  return polynomial(r, {2.0914686968086876e-09, 2.5105217004720745e-08, 2.75572736431103e-07, 2.7557255400206422e-06,
                        2.4801587325547743e-05, 0.00019841269874820627, 0.0013888888888883748, 0.008333333333326136,
                        0.04166666666666667, 0.1666666666666667, 0.5});
}
/** p * 2^n, for n from -1075 to 1024. */
template <class X> TL_INLINE X scale(X p, const DoubleParts<X>& x) {
#if defined(__AVX512F__)
  return each([](D v, D n) TL_INLINE_LAMBDA {
    asm("vscalefpd %1, %0, %0" : "+v"(v) : "v"(n));
    return v;
  }, p, x.n);
#else
  // As a product of two powers, because one exponent field cannot hold all of n; 1023 is added to both halves of n + 1023 - 1023.
  return each([](D v, D shifted) TL_INLINE_LAMBDA {
    const Words exponent = ((Words)shifted & 0xfff) + 1023, first = exponent >> 1;
    return v * (D)(first << 52) * (D)((exponent - first) << 52);
  }, p, x.shifted);
#endif
}

/** (e^x - 1) / 2^Less for x from -40 to where that is infinite; the low part is not yet small. */
template <int Less, class X> TL_INLINE Sum<X> partOfExpm1(X x) {
  const DoubleParts<X> parts = doublePartsOf(x);
  const X power = powerOf<Less>(parts);
  const X& r = parts.r;
  // The difference is exact or loses nothing that matters, and is 0 or larger than the product.
  const Sum<X> sum = sumOf(power - 1.0 / (1 << Less), rounded(power * r));
  const X rest = exponentialRest(r) * (r * r) + parts.low;
  return {sum.high, power * rest + sum.low};
}

/** A number as 2^e (1 + f), with f from sqrt(1/2) - 1 to sqrt(2) - 1. */
template <class X> struct Split {
  X e, f;
};
constexpr uint64_t kRootBits = 0x3fe6a09e667f3bcd;
/** e + 1023 as an exponent field. */
TL_INLINE Words exponentOf(D x) { return ((Words)x - kRootBits + (uint64_t{1023} << 52)) & 0xfff0000000000000; }
template <class X> TL_INLINE Split<X> splitOf(X x) {
  // e + 1023 become the last digits of 2^52: processors before AVX-512 convert no integers of this size.
  const X e = each([](D v) TL_INLINE_LAMBDA { return (D)((exponentOf(v) >> 52) | 0x4330000000000000); }, x) - (0x1p52 + 1023);
  const X m = each([](D v) TL_INLINE_LAMBDA { return (D)((((Words)v - kRootBits) & 0x000fffffffffffff) + kRootBits); }, x);
  return {e, m - 1.0};
}
/** log(2^e (1 + f + low)). */
template <class X> TL_INLINE X logOfSplit(X e, X f, X low) {
  const X s = f * inverseOf(2.0 + f), z = s * s, half = 0.5 * f * f;
  const X p = z * polynomial(z, {1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
                                 2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01});
  const X rest = s * (half + p) + (e * kLn2Low + low);
  return e * kLn2High - ((half - rest) - f);
}
/** What a logarithm of `x` is where the formula does not hold: NaN, 0, infinity and what is negative. */
template <class X> TL_INLINE X logLimits(X result, X x) {
  return each([](D y, D v) TL_INLINE_LAMBDA {
#if defined(__AVX512F__)
    // Four bits for every kind of number, from the lowest: NaN stays, 0 gives -infinity, infinity stays, what is negative gives NaN.
    asm("vfixupimmpd $0, %2, %1, %0" : "+v"(y) : "v"(v), "v"(splat<Longs>(0x03530421)));
    return y;
#else
    y = v == 0.0 ? splat<D>(-kDoubleInfinity) : y;
    y = v < 0.0 ? splat<D>(__builtin_nan("")) : y;
    // Infinity stays, and so does NaN.
    return v < kDoubleInfinity ? y : v;
#endif
  }, result, x);
}
/** log(1 + x + low). */
template <class X> TL_INLINE X logOfOneAnd(X x, X low) {
  const Sum<X> u = anySumOf(allOf<X>(1.0), x);
  const Split<X> parts = splitOf(u.high);
  // 2^-e; of numbers for which that is not normal nothing is lost that matters.
  const X inverse = each([](D v) TL_INLINE_LAMBDA { return (D)((uint64_t{2046} << 52) - exponentOf(v)); }, atMost(0x1p1000, u.high));
  // Where e is 0, f is x itself.
  const X rest = (u.low + low) * inverse, f = parts.f + rest;
  return logLimits(logOfSplit(parts.e, f, (parts.f - f) + rest), u.high);
}

}  // namespace tl::TL_SIMD

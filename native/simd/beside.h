/**
 * Functions of several vectors at a time: the arithmetic, and the loops over blocks. Include only from *.simd.cpp that are compiled
 * with contraction.
 */
#pragma once
#include <type_traits>
#include <utility>

#include "vector.h"

namespace tl::TL_SIMD {

/**
 * Two vectors, or two pairs of them, on which the same is done in turns. A function is a long chain of operations that wait for
 * each other; the processor sees too little of the next ones to fill the time, so that its neighbours are put beside it.
 */
template <class X> struct Two {
  X a, b;
  Two() = default;
  TL_INLINE Two(X first, X second) : a(first), b(second) {}
  // GCC copies a structure inside another one through memory, in pieces, unless it is told to copy vectors.
  TL_INLINE Two(const Two& other) : a(other.a), b(other.b) {}
  Two& operator=(const Two&) = default;
};
template <class X> constexpr bool isTwo = false;
template <class X> constexpr bool isTwo<Two<X>> = true;

/** What the vectors of X are made of. */
template <class X> struct ElementOf {
  using type = std::remove_reference_t<decltype(std::declval<X&>()[0])>;
};
template <class X> struct ElementOf<Two<X>> : ElementOf<X> {};
template <class X> using Element = typename ElementOf<X>::type;
/** One of the vectors of X, and of integers as wide. */
template <class X> using Single = Full<Element<X>>;
template <class X> using Integers = Full<MaskOf<Element<X>>>;

template <class X> TL_INLINE Two<X> operator+(Two<X> x, Two<X> y) { return {x.a + y.a, x.b + y.b}; }
template <class X> TL_INLINE Two<X> operator-(Two<X> x, Two<X> y) { return {x.a - y.a, x.b - y.b}; }
template <class X> TL_INLINE Two<X> operator*(Two<X> x, Two<X> y) { return {x.a * y.a, x.b * y.b}; }
template <class X> TL_INLINE Two<X> operator/(Two<X> x, Two<X> y) { return {x.a / y.a, x.b / y.b}; }
template <class X> TL_INLINE Two<X> operator+(Two<X> x, Element<X> y) { return {x.a + y, x.b + y}; }
template <class X> TL_INLINE Two<X> operator+(Element<X> x, Two<X> y) { return {x + y.a, x + y.b}; }
template <class X> TL_INLINE Two<X> operator-(Two<X> x, Element<X> y) { return {x.a - y, x.b - y}; }
template <class X> TL_INLINE Two<X> operator-(Element<X> x, Two<X> y) { return {x - y.a, x - y.b}; }
template <class X> TL_INLINE Two<X> operator*(Two<X> x, Element<X> y) { return {x.a * y, x.b * y}; }
template <class X> TL_INLINE Two<X> operator*(Element<X> x, Two<X> y) { return {x * y.a, x * y.b}; }
template <class X> TL_INLINE Two<X> operator-(Two<X> x) { return {-x.a, -x.b}; }

/** What is not arithmetic: f(x, …) of each vector. */
template <class F, class X, class... More> TL_INLINE X each(const F& f, X x, More... more) {
  if constexpr (isTwo<X>) return {each(f, x.a, more.a...), each(f, x.b, more.b...)};
  else return f(x, more...);
}

template <class X> TL_INLINE X allOf(Element<X> x) {
  if constexpr (isTwo<X>) return {allOf<decltype(X::a)>(x), allOf<decltype(X::b)>(x)};
  else return splat<X>(x);
}
template <class T> constexpr MaskOf<T> kSignBit = std::is_same_v<T, float> ? INT32_MIN : INT64_MIN;
template <class X> TL_INLINE X magnitudeOf(X x) {
  return each([](Single<X> v) TL_INLINE_LAMBDA { return (Single<X>)((Integers<X>)v & ~kSignBit<Element<X>>); }, x);
}
/** The magnitude of x with the sign of y. */
template <class X> TL_INLINE X withSign(X x, X y) {
  return each([](Single<X> u, Single<X> v) TL_INLINE_LAMBDA {
    return (Single<X>)(((Integers<X>)u & ~kSignBit<Element<X>>) | ((Integers<X>)v & kSignBit<Element<X>>));
  }, x, y);
}

/** Highest coefficient first. */
template <class X, int N> TL_INLINE X polynomial(X x, const Element<X> (&coefficients)[N]) {
  X p = x * coefficients[0] + coefficients[1];
#pragma GCC unroll 32
  for (int i = 2; i < N; i++) p = p * x + coefficients[i];
  return p;
}

/** No less than, and no more than; NaN stays. */
template <class X> TL_INLINE X atLeast(Element<X> least, X x) {
  return each([=](Single<X> v) TL_INLINE_LAMBDA {
    const auto bound = splat<Single<X>>(least);
#if defined(__AVX512F__)
    if constexpr (sizeof(Element<X>) == 4) asm("vmaxps %0, %1, %0" : "+v"(v) : "v"(bound));
    else asm("vmaxpd %0, %1, %0" : "+v"(v) : "v"(bound));
    return v;
#else
    return bound > v ? bound : v;
#endif
  }, x);
}
template <class X> TL_INLINE X atMost(Element<X> most, X x) {
  return each([=](Single<X> v) TL_INLINE_LAMBDA {
    const auto bound = splat<Single<X>>(most);
#if defined(__AVX512F__)
    if constexpr (sizeof(Element<X>) == 4) asm("vminps %0, %1, %0" : "+v"(v) : "v"(bound));
    else asm("vminpd %0, %1, %0" : "+v"(v) : "v"(bound));
    return v;
#else
    return bound < v ? bound : v;
#endif
  }, x);
}

/** A value that is rounded before anything else is done with it, whatever could be contracted. */
template <class X> TL_INLINE X rounded(X x) {
  return each([](Single<X> v) TL_INLINE_LAMBDA {
#if defined(__SSE2__)
    asm("" : "+v"(v));
#elif defined(__aarch64__)
    asm("" : "+w"(v));
#endif
    return v;
  }, x);
}

/** Whether any lane of a comparison holds. */
template <class M> TL_INLINE bool any(M mask) {
  using Lane = std::remove_reference_t<decltype(mask[0])>;
  constexpr int kCount = sizeof(M) / sizeof(Lane);
  Lane lanes[kCount], found = 0;
  storeVector<Lane, kCount>(lanes, mask);
  for (const Lane lane : lanes) found |= lane;
  return found != 0;
}

/** Vectors that are worked on in turns: as many as there are registers for. */
#if defined(__AVX512F__)
template <class T> using Beside = Two<Two<Full<T>>>;
#else
template <class T> using Beside = Two<Full<T>>;
#endif
/** The vectors of x lie `step` elements apart; those of another type are converted. */
template <class M, class X> TL_INLINE void load(const M* from, int64_t step, X& x) {
  if constexpr (isTwo<X>) {
    load(from, step, x.a);
    load(from + step * static_cast<int64_t>(sizeof(x.a) / sizeof(Single<X>)), step, x.b);
  } else {
    x = __builtin_convertvector((loadVector<M, lanesOf<Element<X>>>(from)), X);
  }
}
template <class M, class X> TL_INLINE void store(M* to, X x) {
  if constexpr (isTwo<X>) {
    store(to, x.a);
    store(to + sizeof(x.a) / sizeof(Element<X>), x.b);
  } else {
    constexpr int N = lanesOf<Element<X>>;
    storeVector<M, N>(to, __builtin_convertvector(x, typename VectorOf<M, N>::type));
  }
}

/**
 * out[i] = F::of(in[0][i], …) of `Count` operands, several vectors at a time; see storeVectors for the last one. It is computed in T
 * and is of type M in memory.
 */
template <int Count, class F, class T = float, class M = T> void besides(int64_t n, const BlockArgs& args) {
  constexpr int64_t N = lanesOf<T>, kMany = sizeof(Beside<T>) / sizeof(T);
  if (n < N) return finishBlock(besides<Count, F, T, M>, 0, n, N, args, {sizeof(M), {sizeof(M), Count > 1 ? sizeof(M) : 0}});
  M* const out = static_cast<M*>(args.out);
  const M* const x = static_cast<const M*>(args.in[0]);
  const M* const y = static_cast<const M*>(args.in[Count - 1]);
  const int64_t mx = -args.step[0], my = -args.step[Count - 1];
  const auto at = [&](int64_t i, auto&& some) TL_INLINE_LAMBDA {
    if constexpr (Count == 1) {
      load(x + i, N, some);
      return F::of(some);
    } else {
      auto other = some;
      load(x + (i & mx), N & mx, some);
      load(y + (i & my), N & my, other);
      return F::of(some, other);
    }
  };
  const Full<T> last = at(n - N, Full<T>{});
  int64_t i = 0;
  for (; i + kMany <= n; i += kMany) store(out + i, at(i, Beside<T>{}));
  for (; i < n - N; i += N) store(out + i, at(i, Full<T>{}));
  store(out + n - N, last);
}

#define FUNCTION(Name, function)                                                    \
  struct Name {                                                                     \
    template <class X> static TL_INLINE X of(X x) { return function(x); }           \
  }

}  // namespace tl::TL_SIMD

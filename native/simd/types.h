/** Element types and loops shared by the files that are compiled per variant. Include only from *.simd.cpp. */
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels.h"

#ifndef TL_SIMD
#error "compile with -DTL_SIMD=<variant>"
#endif

namespace tl::TL_SIMD {

/** For what must be part of the caller's loop, or the loop will not become vector code. */
#define TL_INLINE inline __attribute__((always_inline))
#define TL_INLINE_LAMBDA __attribute__((always_inline))

template <class To, class From>
static inline To bitsAs(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  std::memcpy(&y, &x, sizeof(To));
  return y;
}

/** A complex number; std::complex would share code between variants. */
template <class R>
struct Complex {
  R re, im;
};
using c64 = Complex<float>;
using c128 = Complex<double>;
template <class R>
static inline Complex<R> operator+(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
static inline Complex<R> operator-(Complex<R> a, Complex<R> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
static inline Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/** Elements that are converted on load and store. */
struct half {
  uint16_t bits;
};
struct bfloat {
  uint16_t bits;
};

/** The float16 bits nearest to x; without branches, so that loops over it become vector code. */
static inline uint16_t halfBits(float x) {
  const uint32_t bits = bitsAs<uint32_t>(x);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  const uint32_t rounded = (magnitude + 0xfff + ((magnitude >> 13) & 1) - 0x38000000) >> 13;
  // Subnormal half: adding 0.5 in float32 lines the mantissa up with the half's last place and rounds it.
  const uint32_t small = bitsAs<uint32_t>(bitsAs<float>(magnitude) + 0.5f) - 0x3f000000;
  uint32_t result = magnitude < 0x38800000 ? small : rounded;
  result = magnitude >= 0x477ff000 ? 0x7c00 : result;
  result = magnitude > 0x7f800000 ? 0x7e00 : result;
  return static_cast<uint16_t>(sign | result);
}
static inline float halfValue(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(h & 0x7fff) << 13;
  const uint32_t normal = magnitude + 0x38000000;
  // The same trick backwards for subnormals: put the mantissa under 2^-14's exponent and take that power off.
  const uint32_t small = bitsAs<uint32_t>(bitsAs<float>(magnitude + 0x38800000) - bitsAs<float>(0x38800000u));
  uint32_t result = magnitude < 0x00800000 ? small : normal;
  result = magnitude >= 0x0f800000 ? magnitude + 0x70000000 : result;
  return bitsAs<float>(sign | result);
}
static inline uint16_t bfloatBits(float x) {
  const uint32_t bits = bitsAs<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t nan = 0x7fc0 | ((bits >> 16) & 0x8000);
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}
static inline float bfloatValue(uint16_t h) { return bitsAs<float>(static_cast<uint32_t>(h) << 16); }

/** The compiler's own functions by overload; those of <cmath> would be shared between variants. */
#define TL_BUILTIN(name)                                                        \
  static inline float name##Of(float x) { return __builtin_##name##f(x); }      \
  static inline double name##Of(double x) { return __builtin_##name(x); }
TL_BUILTIN(sqrt)
TL_BUILTIN(floor)
TL_BUILTIN(ceil)
TL_BUILTIN(rint)
static inline float absOf(float x) { return __builtin_fabsf(x); }
static inline double absOf(double x) { return __builtin_fabs(x); }
static inline float fmodOf(float x, float y) { return __builtin_fmodf(x, y); }
static inline double fmodOf(double x, double y) { return __builtin_fmod(x, y); }

/** a * b + c, in one rounding where the processor has it. */
static inline float madd(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/**
 * Stands before a loop over kLanes elements, which then becomes a few vector instructions: elements do not depend on
 * each other even where out is one of the inputs, and unrolling the loop first would hide it from the vectorizer.
 */
#define TL_LANE_LOOP _Pragma("GCC ivdep") _Pragma("GCC unroll 1")

/** Before and inside a loop of fewer than kLanes steps: keep the compiler from making much code of it. */
#define TL_SHORT_LOOP _Pragma("GCC unroll 1")
#define TL_KEEP_SCALAR asm volatile("")

/** out[i] = f(x[i]). */
template <class R, class T, class F>
static inline void loop1(int64_t n, const BlockArgs& args, F f) {
  R* out = static_cast<R*>(args.out);
  const T* x = static_cast<const T*>(args.in[0]);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    TL_LANE_LOOP
    for (int64_t k = 0; k < kLanes; k++) out[i + k] = f(x[i + k]);
  TL_SHORT_LOOP
  for (; i < n; i++) {
    out[i] = f(x[i]);
    TL_KEEP_SCALAR;
  }
}

/** out[i] = f(x[i], y[i]), where either may be a scalar. */
template <class R, class T, class F>
static inline void loop2(int64_t n, const BlockArgs& args, F f) {
  R* out = static_cast<R*>(args.out);
  const T* x = static_cast<const T*>(args.in[0]);
  const T* y = static_cast<const T*>(args.in[1]);
  const int64_t mx = -args.step[0], my = -args.step[1];
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const T* px = x + (i & mx);
    const T* py = y + (i & my);
    TL_LANE_LOOP
    for (int64_t k = 0; k < kLanes; k++) out[i + k] = f(px[k], py[k]);
  }
  TL_SHORT_LOOP
  for (; i < n; i++) {
    out[i] = f(x[i & mx], y[i & my]);
    TL_KEEP_SCALAR;
  }
}

}  // namespace tl::TL_SIMD

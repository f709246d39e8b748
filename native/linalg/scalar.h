/** The numbers that matrices are computed in: double, and pairs of it. */
#pragma once
#include <cmath>
#include <limits>

#include "kernels.h"

namespace tl {

struct ComplexFloat {
  float re, im;
};

inline ComplexDouble operator+(ComplexDouble a, ComplexDouble b) { return {a.re + b.re, a.im + b.im}; }
inline ComplexDouble operator-(ComplexDouble a, ComplexDouble b) { return {a.re - b.re, a.im - b.im}; }
inline ComplexDouble operator-(ComplexDouble a) { return {-a.re, -a.im}; }
inline ComplexDouble operator*(ComplexDouble a, ComplexDouble b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
inline ComplexDouble operator*(ComplexDouble a, double b) { return {a.re * b, a.im * b}; }
inline ComplexDouble operator*(double a, ComplexDouble b) { return b * a; }
inline ComplexDouble operator/(ComplexDouble a, double b) { return {a.re / b, a.im / b}; }
/**
 * A real divisor divides both parts, so that a zero gives infinities as it does for real numbers. Another one is divided by a part of it
 * first: the squares of large numbers are infinite, and those of small ones zero.
 */
inline ComplexDouble operator/(ComplexDouble a, ComplexDouble b) {
  if (b.im == 0) {
    const double im = a.im / b.re;
    return {a.re / b.re, b.re == 0 && im != im ? 0 : im};
  }
  if (std::fabs(b.re) >= std::fabs(b.im)) {
    const double ratio = b.im / b.re, divisor = b.re + b.im * ratio;
    return {(a.re + a.im * ratio) / divisor, (a.im - a.re * ratio) / divisor};
  }
  const double ratio = b.re / b.im, divisor = b.re * ratio + b.im;
  return {(a.re * ratio + a.im) / divisor, (a.im * ratio - a.re) / divisor};
}

inline double conj(double x) { return x; }
inline ComplexDouble conj(ComplexDouble x) { return {x.re, -x.im}; }
inline double realOf(double x) { return x; }
inline double realOf(ComplexDouble x) { return x.re; }
inline double imaginaryOf(double) { return 0; }
inline double imaginaryOf(ComplexDouble x) { return x.im; }
inline double sizeOf(double x) { return std::fabs(x); }
inline double sizeOf(ComplexDouble x) { return std::hypot(x.re, x.im); }
inline double squareOf(double x) { return x * x; }
inline double squareOf(ComplexDouble x) { return x.re * x.re + x.im * x.im; }
inline bool isFinite(double x) { return std::isfinite(x); }
inline bool isFinite(ComplexDouble x) { return std::isfinite(x.re) && std::isfinite(x.im); }
inline bool isNan(double x) { return x != x; }
inline bool isNan(ComplexDouble x) { return x.re != x.re || x.im != x.im; }

/** A real number as T. */
template <class T> inline T numberOf(double x);
template <> inline double numberOf<double>(double x) { return x; }
template <> inline ComplexDouble numberOf<ComplexDouble>(double x) { return {x, 0}; }

/** What elements in memory are computed as, and how they get there and back. */
template <class Stored> struct Computed { using type = double; };
template <> struct Computed<ComplexFloat> { using type = ComplexDouble; };
template <> struct Computed<ComplexDouble> { using type = ComplexDouble; };
template <class Stored> using ComputedAs = typename Computed<Stored>::type;

inline double widened(float x) { return x; }
inline double widened(double x) { return x; }
inline ComplexDouble widened(ComplexFloat x) { return {x.re, x.im}; }
inline ComplexDouble widened(ComplexDouble x) { return x; }
inline void store(float& to, double x) { to = static_cast<float>(x); }
inline void store(double& to, double x) { to = x; }
inline void store(ComplexFloat& to, ComplexDouble x) { to = {static_cast<float>(x.re), static_cast<float>(x.im)}; }
inline void store(ComplexDouble& to, ComplexDouble x) { to = x; }

constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 2;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace tl

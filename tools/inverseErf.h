/** The inverse of the error function in any precision, for programs that measure errors. */
#pragma once
#include <cmath>

/**
 * The y whose erf is `value` and whose erfc is `complement`, both positive: an approximation by S. Winitzki, then steps of Halley's
 * method on whichever of them has more digits.
 */
template <class T, class Erf, class Erfc, class Exp>
T inverseErf(T value, T complement, Erf erf, Erfc erfc, Exp exp) {
  const double l = std::log(static_cast<double>(complement * (2 - complement))), t = 4.330746750799873 + l / 2;
  const T slope = 1.128379167095512573896158903121545171688Q;
  T y = std::sqrt(std::sqrt(t * t - l / 0.147) - t);
  for (int step = 0; step < 4; step++) {
    const T u = (value < T(0.5) ? erf(y) - value : complement - erfc(y)) / (slope * exp(-y * y));
    y -= u / (1 + y * u);
  }
  return y;
}

template <class T, class Erf, class Erfc, class Exp>
T erfinvBy(T x, Erf erf, Erfc erfc, Exp exp) {
  const T a = x < 0 ? -x : x;
  if (!(a <= 1)) return T(NAN);
  if (a == 1) return x * T(INFINITY);
  if (a == 0) return x;
  const T y = inverseErf<T>(a, 1 - a, erf, erfc, exp);
  return x < 0 ? -y : y;
}

template <class T, class Erf, class Erfc, class Exp>
T ndtriBy(T p, Erf erf, Erfc erfc, Exp exp) {
  if (!(p >= 0 && p <= 1)) return T(NAN);
  if (p == 0 || p == 1) return (p - T(0.5)) * T(INFINITY);
  const T x = 2 * (p - T(0.5));
  if (x == 0) return x;
  const T y = T(1.414213562373095048801688724209698078570Q) * inverseErf<T>(x < 0 ? -x : x, 2 * (p < T(0.5) ? p : 1 - p), erf, erfc, exp);
  return x < 0 ? -y : y;
}

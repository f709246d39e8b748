/** Special functions of real numbers, in double precision. */
#include "special.h"

#include <cmath>
#include <limits>

namespace tl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
constexpr double kEpsilon = 1.11022302462515654e-16;

/**
 * The normal quantile of p <= 1/2 to nine digits (P. J. Acklam's rational approximation). `q` is p - 1/2, given apart
 * because near the middle it has digits that p has lost.
 */
double quantileGuess(double p, double q) {
  if (p < 0.02425) {
    const double t = std::sqrt(-2 * std::log(p));
    return (((((-7.784894002430293e-3 * t - 3.223964580411365e-1) * t - 2.400758277161838) * t - 2.549732539343734) * t +
             4.374664141464968) * t + 2.938163982698783) /
           ((((7.784695709041462e-3 * t + 3.224671290700398e-1) * t + 2.445134137142996) * t + 3.754408661907416) * t + 1);
  }
  const double r = q * q;
  return (((((-3.969683028665376e1 * r + 2.209460984245205e2) * r - 2.759285104469687e2) * r + 1.383577518672690e2) * r -
           3.066479806614716e1) * r + 2.506628277459239) * q /
         (((((-5.447609879822406e1 * r + 1.615858368580409e2) * r - 1.556989798598866e2) * r + 6.680131188771972e1) * r -
           1.328068155288572e1) * r + 1);
}

/** One step of Halley's method on erf(y) - x, given how far off y is. */
double halley(double y, double error) {
  const double u = error / (2 / std::sqrt(kPi) * std::exp(-y * y));
  return y - u / (1 + y * u);
}

double logGammaOf(double x) {
#if defined(__GLIBC__)
  int sign;  // lgamma itself writes a global
  return lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

/** x^a e^-x / gamma(a), the factor common to both incomplete gamma functions. */
double gammaFactor(double a, double x) { return std::exp(a * std::log(x) - x - logGammaOf(a)); }

double igammaSeries(double a, double x) {
  double term = 1, sum = 1;
  for (int n = 1; term > sum * kEpsilon && n < 100000; n++) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * gammaFactor(a, x) / a;
}

/** Where the factor that both share is no number any more, the one or the other of them is all. */
double orLimit(double found, double limit) { return std::isnan(found) ? limit : found; }

/** Lentz's evaluation of the continued fraction. */
double igammacFraction(double a, double x) {
  constexpr double tiny = 1e-300;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
  for (int i = 1; i < 100000; i++) {
    const double an = -i * (i - a);
    b += 2;
    d = an * d + b;
    if (std::fabs(d) < tiny) d = tiny;
    c = b + an / c;
    if (std::fabs(c) < tiny) c = tiny;
    d = 1 / d;
    h *= d * c;
    if (std::fabs(d * c - 1) < kEpsilon) break;
  }
  return h * gammaFactor(a, x);
}

/** From here on the series and the fraction are too long where x is near a. */
constexpr double kLargeShape = 1e8;

/** log(x / a) - (x - a) / a, without cancellation where x is near a. */
double logRatioMinus(double x, double a) {
  const double away = (x - a) / a;
  if (std::fabs(away) > 0.3) return std::log(x / a) - away;
  double sum = 0, power = -away;
  for (int n = 2; n < 60; n++) {
    power *= -away;
    sum -= power / n;
  }
  return sum;
}

/** igamma for `side` -1 and igammac for 1, by the first terms of Temme's uniform expansion: for large a these are all that count. */
double gammaOfLargeShape(double a, double x, double side) {
  const double half = -logRatioMinus(x, a), eta = std::copysign(std::sqrt(2 * half), x - a);
  const double rest = std::fabs(eta) < 1 ? std::exp(-a * half) / std::sqrt(2 * kPi * a) * (1 / 3.0 - eta / 12) : 0;
  return 0.5 * std::erfc(side * eta * std::sqrt(a / 2)) - side * rest;
}

}  // namespace

double erfinv(double x) {
  const double a = std::fabs(x);
  if (!(a <= 1)) return kNan;
  if (a == 1) return std::copysign(kInfinity, x);
  double y = -quantileGuess((1 - a) / 2, -a / 2) / std::sqrt(2.0);
  for (int step = 0; step < 2; step++) y = halley(y, a < 0.7 ? std::erf(y) - a : (1 - a) - std::erfc(y));
  return std::copysign(y, x);
}

double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p > 0.5) return -ndtri(1 - p);
  double y = quantileGuess(p, p - 0.5) / std::sqrt(2.0);
  for (int step = 0; step < 2; step++) y = halley(y, p > 0.25 ? std::erf(y) - 2 * (p - 0.5) : std::erfc(-y) - 2 * p);
  return y * std::sqrt(2.0);
}

double logGamma(double x) { return logGammaOf(x); }

double digamma(double x) {
  if (std::isnan(x) || x == -kInfinity) return kNan;
  if (x <= 0) {
    if (x == std::floor(x)) return kNan;
    // Reflection; the tangent's argument is reduced to the nearest zero first, where pi * x would lose digits.
    return digamma(1 - x) - kPi / std::tan(kPi * (x - std::rint(x)));
  }
  double shift = 0;
  for (; x < 10; x++) shift -= 1 / x;
  const double s = 1 / (x * x);
  const double tail =
      s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s / 12))))));
  return shift + std::log(x) - 0.5 / x - tail;
}

double igamma(double a, double x) {
  if (x == 0 && !std::isnan(a)) return 0;
  if (std::isnan(a) || std::isnan(x) || x < 0 || a <= 0) return kNan;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  if (std::isinf(x)) return 1;
  if (a > kLargeShape) return gammaOfLargeShape(a, x, -1);
  return orLimit(x > 1 && x > a ? 1 - igammacFraction(a, x) : igammaSeries(a, x), x < a ? 0 : 1);
}

double igammac(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a <= 0) return kNan;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 1;
  if (std::isinf(x)) return 0;
  if (a > kLargeShape) return gammaOfLargeShape(a, x, 1);
  return orLimit(x < 1 || x < a ? 1 - igammaSeries(a, x) : igammacFraction(a, x), x < a ? 1 : 0);
}

double zeta(double x, double q) {
  if (x == 1) return kInfinity;
  if (!(x > 1) || std::isnan(q)) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return x == std::floor(x) && std::fmod(x, 2) == 0 ? kInfinity : kNan;
    if (x != std::floor(x)) return kNan;  // a negative number to a power that is not whole
  }
  // Terms up to where the Euler-Maclaurin tail is exact to double precision.
  double sum = 0;
  double a = q;
  for (; a < 10; a++) {
    const double term = std::pow(a, -x);
    sum += term;
    if (a > 0 && std::fabs(term) < kEpsilon * std::fabs(sum)) return sum;
  }
  const double power = std::pow(a, -x);
  if (power == 0) return sum;  // what follows is smaller still
  sum += power * a / (x - 1) + 0.5 * power;
  // (2k)! / B_2k for k = 1, 2, …
  constexpr double factors[] = {12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9,
                                7.47242496e10, -2.950130727918164224e12, 1.1646782814350067249e14,
                                -4.5979787224074726105e15, 1.8152105401943546773e17, -7.1661652561756670113e18};
  double rising = 1, falling = power;
  for (int i = 0; i < 12; i++) {
    rising *= x + 2 * i;
    falling /= a;
    const double term = rising * falling / factors[i];
    sum += term;
    if (std::fabs(term) < kEpsilon * std::fabs(sum)) break;
    rising *= x + 2 * i + 1;
    falling /= a;
  }
  return sum;
}

double polygamma(double n, double x) {
  if (!(n >= 0) || n != std::floor(n)) return kNan;
  if (n == 0) return digamma(x);
  return (std::fmod(n, 2) == 0 ? -1 : 1) * std::exp(logGammaOf(n + 1)) * zeta(n + 1, x);
}

}  // namespace tl

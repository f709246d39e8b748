/** Functions of floats that call the C library once per element. */
#include "slowOps.h"

#include <cmath>
#include <limits>

#include "each.h"
#include "special.h"

namespace tl {
namespace {

template <class T>
T sigmoidOf(T x) {
  const T e = std::exp(-std::fabs(x));
  return (x < 0 ? e : T(1)) / (1 + e);
}

/** The C library takes denormal numbers apart by products that are zero here, or leaves them alone; they are zero from the beginning instead. */
template <class T>
T normalOrZero(T x) {
  return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T(0), x) : x;
}

inline double truncMod(double x, double y) { return std::fmod(x, y); }
/**
 * Exact, like the C library's, which subtracts bit by bit: 29 bits of a quotient times 24 bits fit a double, and so does what is left. No
 * quotient is rounded up to a whole number, for it is at least 2^-24 off, and doubles of that size are no further apart.
 */
inline float truncMod(float x, float y) {
  constexpr float least = std::numeric_limits<float>::min(), most = std::numeric_limits<float>::max();
  const double wide = x, by = y, quotient = wide / by;
  const bool isOrdinary = std::fabs(x) >= least && std::fabs(y) >= least && std::fabs(y) <= most && std::fabs(quotient) < 0x1p29;
  if (!isOrdinary) return std::fmod(x, y);
  const double left = wide - static_cast<double>(static_cast<int32_t>(quotient)) * by;
  // Numbers below the normal range would become zero here.
  if (left != 0 && std::fabs(left) < least) return std::fmod(x, y);
  return std::copysign(static_cast<float>(left), x);
}

/** The remainder with the sign of the divisor. */
template <class T>
T floorMod(T x, T y) {
  const T r = truncMod(x, y);
  return r != 0 && (y < 0) != (r < 0) ? r + y : r;
}

template <class T>
void fillReal(SimdKernels& k, Kind type) {
  const int kind = static_cast<int>(type);
  TL_UNARY(exp, std::exp(x));
  TL_UNARY(expm1, std::expm1(x));
  TL_UNARY(log, std::log(normalOrZero(x)));
  TL_UNARY(log1p, std::log1p(normalOrZero(x)));
  TL_UNARY(sin, std::sin(x));
  TL_UNARY(cos, std::cos(x));
  TL_UNARY(tan, std::tan(x));
  TL_UNARY(asin, std::asin(sizeof(T) == 4 ? normalOrZero(x) : x));
  TL_UNARY(acos, std::acos(x));
  TL_UNARY(atan, std::atan(normalOrZero(x)));
  TL_UNARY(sinh, std::sinh(x));
  TL_UNARY(cosh, std::cosh(x));
  TL_UNARY(tanh, std::tanh(x));
  TL_UNARY(asinh, std::asinh(x));
  TL_UNARY(acosh, std::acosh(x));
  TL_UNARY(atanh, std::atanh(normalOrZero(x)));
  TL_UNARY(sigmoid, sigmoidOf(x));
  TL_UNARY(erf, std::erf(x));
  TL_UNARY(erfc, std::erfc(x));
  TL_UNARY(erfinv, static_cast<T>(erfinv(x)));
  TL_UNARY(ndtri, static_cast<T>(ndtri(x)));
  TL_UNARY(lgamma, static_cast<T>(logGamma(x)));
  TL_UNARY(digamma, static_cast<T>(digamma(x)));
  TL_UNARY(conj, x);
  TL_UNARY(real, x);
  TL_UNARY(imag, (void(x), T(0)));
  TL_UNARY(arg, std::atan2(T(0), x));
  TL_UNARY(cabs, std::fabs(x));
  TL_BINARY(floormod, floorMod(x, y));
  TL_BINARY(truncmod, truncMod(x, y));
  TL_BINARY(pow, std::pow(normalOrZero(x), normalOrZero(y)));
  TL_BINARY(atan2, std::atan2(x, y));
  TL_BINARY(nextafter, std::nextafter(x, y));
  TL_BINARY(igamma, static_cast<T>(igamma(x, y)));
  TL_BINARY(igammac, static_cast<T>(igammac(x, y)));
  TL_BINARY(zeta, static_cast<T>(zeta(x, y)));
  TL_BINARY(polygamma, static_cast<T>(polygamma(x, y)));
}

}  // namespace

void fillSlowOps(SimdKernels& k) {
  fillReal<float>(k, Kind::f32);
  fillReal<double>(k, Kind::f64);
}

}  // namespace tl

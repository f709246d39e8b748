/** Operations on complex numbers, and their casts. Functions are computed in double precision for both types. */
#include <cmath>
#include <complex>

#include "each.h"
#include "slowOps.h"

namespace tl {
namespace {

using Wide = std::complex<double>;

/** The plain product; the library's also looks for overflow in every element. */
template <class T>
T times(T x, T y) {
  return T(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
}

/** Smith's division: dividing by the larger part first keeps the intermediate values in range. */
template <class T>
T over(T x, T y) {
  if (std::fabs(y.real()) >= std::fabs(y.imag())) {
    const auto ratio = y.imag() / y.real(), scale = y.real() + y.imag() * ratio;
    return T((x.real() + x.imag() * ratio) / scale, (x.imag() - x.real() * ratio) / scale);
  }
  const auto ratio = y.real() / y.imag(), scale = y.real() * ratio + y.imag();
  return T((x.real() * ratio + x.imag()) / scale, (x.imag() * ratio - x.real()) / scale);
}

Wide power(Wide x, Wide y) {
  if (x == 0.0) return y == 0.0 ? Wide(1) : Wide(0);
  return std::pow(x, y);
}

Wide log1pOf(Wide x) {
  // |1 + x|^2 - 1 without forming 1 + x, which would swallow a small x.
  return {0.5 * std::log1p(x.real() * (2 + x.real()) + x.imag() * x.imag()), std::atan2(x.imag(), 1 + x.real())};
}

Wide expm1Of(Wide x) {
  const double s = std::sin(x.imag() / 2);
  return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * s * s, std::exp(x.real()) * std::sin(x.imag())};
}

/** Of c128 only: c64 is as wide as an integer, and selecting moves bits. */
void select(int64_t n, const BlockArgs& a) {
  const uint8_t* c = static_cast<const uint8_t*>(a.in[0]);
  const Wide *x = static_cast<const Wide*>(a.in[1]), *y = static_cast<const Wide*>(a.in[2]);
  Wide* out = static_cast<Wide*>(a.out);
  for (int64_t i = 0; i < n; i++) out[i] = c[i & -a.step[0]] ? x[i & -a.step[1]] : y[i & -a.step[2]];
}

/** A function of double precision on every element. */
template <class T>
void eachWide(int64_t n, const BlockArgs& a, Wide (*f)(Wide)) {
  each1<T, T>(n, a, [=](T x) { return T(f(Wide(x))); });
}
#define FUNCTION(op, expression) \
  TL_ENTRY(op) = [](int64_t n, const BlockArgs& a) { eachWide<T>(n, a, [](Wide x) -> Wide { return expression; }); }

template <class T>
void fillFunctions(SimdKernels& k, int kind) {
  FUNCTION(exp, std::exp(x));
  FUNCTION(expm1, expm1Of(x));
  FUNCTION(log, std::log(x));
  FUNCTION(log1p, log1pOf(x));
  FUNCTION(sqrt, std::sqrt(x));
  FUNCTION(rsqrt, 1.0 / std::sqrt(x));
  FUNCTION(sin, std::sin(x));
  FUNCTION(cos, std::cos(x));
  FUNCTION(tan, std::tan(x));
  FUNCTION(asin, std::asin(x));
  FUNCTION(acos, std::acos(x));
  FUNCTION(atan, std::atan(x));
  FUNCTION(sinh, std::sinh(x));
  FUNCTION(cosh, std::cosh(x));
  FUNCTION(tanh, std::tanh(x));
  FUNCTION(asinh, std::asinh(x));
  FUNCTION(acosh, std::acosh(x));
  FUNCTION(atanh, std::atanh(x));
  FUNCTION(sigmoid, 1.0 / (1.0 + std::exp(-x)));
  TL_BINARY(pow, T(power(Wide(x), Wide(y))));
}

template <class R>
void fillComplex(SimdKernels& k, Kind type, Kind part) {
  using T = std::complex<R>;
  const int kind = static_cast<int>(type);
  fillFunctions<T>(k, kind);
  TL_BINARY(add, x + y);
  TL_BINARY(sub, x - y);
  TL_BINARY(mul, times(x, y));
  TL_BINARY(div, over(x, y));
  TL_UNARY(neg, -x);
  TL_UNARY(square, times(x, x));
  TL_UNARY(conj, std::conj(x));
  TL_UNARY(reciprocal, over(T(1), x));
  TL_UNARY(sign, x == T(0) ? T(0) : x / std::abs(x));
  TL_COMPARE(eq, x == y);
  TL_COMPARE(ne, x != y);
  TL_TEST(isnan, std::isnan(x.real()) || std::isnan(x.imag()));
  TL_TEST(isinf, std::isinf(x.real()) || std::isinf(x.imag()));
  TL_TEST(isfinite, std::isfinite(x.real()) && std::isfinite(x.imag()));
  TL_ENTRY(real) = [](int64_t n, const BlockArgs& a) { each1<R, T>(n, a, [](T x) { return x.real(); }); };
  TL_ENTRY(imag) = [](int64_t n, const BlockArgs& a) { each1<R, T>(n, a, [](T x) { return x.imag(); }); };
  TL_ENTRY(arg) = [](int64_t n, const BlockArgs& a) { each1<R, T>(n, a, [](T x) { return std::arg(x); }); };
  TL_ENTRY(cabs) = [](int64_t n, const BlockArgs& a) { each1<R, T>(n, a, [](T x) { return std::abs(x); }); };
  k.ops[static_cast<int>(Op::complex)][static_cast<int>(part)] = [](int64_t n, const BlockArgs& a) {
    each2<T, R>(n, a, [](R re, R im) { return T(re, im); });
  };
}

/** Casts to complex numbers have no imaginary part; casts from them drop it and go on from the real part. */
template <class T>
void fillCasts(SimdKernels& k, Kind type) {
  const int kind = static_cast<int>(type);
  using R = typename T::value_type;
  const auto from = [&](Kind other, auto sample) {
    using From = decltype(sample);
    k.casts[static_cast<int>(other)][kind] = [](int64_t n, const BlockArgs& a) {
      each1<T, From>(n, a, [](From x) { return T(static_cast<R>(x), 0); });
    };
    k.casts[kind][static_cast<int>(other)] = [](int64_t n, const BlockArgs& a) {
      constexpr int part = static_cast<int>(std::is_same_v<R, float> ? Kind::f32 : Kind::f64);
      constexpr int to = static_cast<int>(std::is_same_v<From, float>      ? Kind::f32
                                          : std::is_same_v<From, double>   ? Kind::f64
                                          : std::is_same_v<From, int32_t>  ? Kind::i32
                                          : std::is_same_v<From, int64_t>  ? Kind::i64
                                          : std::is_same_v<From, uint32_t> ? Kind::u32
                                                                           : Kind::u64);
      constexpr int64_t chunk = 64;
      R reals[chunk];
      const T* x = static_cast<const T*>(a.in[0]);
      for (int64_t i = 0; i < n; i += chunk) {
        const int64_t length = n - i < chunk ? n - i : chunk;
        for (int64_t j = 0; j < length; j++) reals[j] = x[i + j].real();
        simd().casts[part][to](length, {static_cast<From*>(a.out) + i, {reals}, {1}, 0, nullptr});
      }
    };
  };
  from(Kind::f32, float{});
  from(Kind::f64, double{});
  from(Kind::i32, int32_t{});
  from(Kind::i64, int64_t{});
  from(Kind::u32, uint32_t{});
  from(Kind::u64, uint64_t{});
  k.casts[static_cast<int>(Kind::b8)][kind] = [](int64_t n, const BlockArgs& a) {
    each1<T, uint8_t>(n, a, [](uint8_t x) { return T(static_cast<R>(x), 0); });
  };
  k.casts[kind][static_cast<int>(Kind::b8)] = [](int64_t n, const BlockArgs& a) {
    each1<uint8_t, T>(n, a, [](T x) -> uint8_t { return x != T(0); });
  };
  k.casts[kind][static_cast<int>(Kind::c64)] = [](int64_t n, const BlockArgs& a) {
    each1<std::complex<float>, T>(n, a, [](T x) { return std::complex<float>(x); });
  };
  k.casts[kind][static_cast<int>(Kind::c128)] = [](int64_t n, const BlockArgs& a) {
    each1<std::complex<double>, T>(n, a, [](T x) { return std::complex<double>(x); });
  };
}

}  // namespace

void fillComplexOps(SimdKernels& k) {
  fillComplex<float>(k, Kind::c64, Kind::f32);
  fillComplex<double>(k, Kind::c128, Kind::f64);
  k.ops[static_cast<int>(Op::select)][static_cast<int>(Kind::c128)] = select;
  fillCasts<std::complex<float>>(k, Kind::c64);
  fillCasts<std::complex<double>>(k, Kind::c128);
}

}  // namespace tl

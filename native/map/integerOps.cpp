/** Operations on integers that have no vector instructions, and those of unsigned ones that differ from signed ones. */
#include <initializer_list>
#include <type_traits>

#include "each.h"
#include "slowOps.h"

namespace tl {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

void fail(const BlockArgs& args, FailureCode code) {
  __atomic_store_n(args.failure, static_cast<int32_t>(code), __ATOMIC_RELAXED);
}

/** The quotient and remainder. Dividing the lowest value by -1 would trap; it wraps to itself. */
template <class T>
T quotient(T x, T y) {
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return static_cast<T>(0 - static_cast<Unsigned<T>>(x));
  return x / y;
}
template <class T>
T remainder(T x, T y) {
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return 0;
  return x % y;
}

template <class T>
T floorQuotient(T x, T y) {
  return quotient(x, y) - (remainder(x, y) != 0 && (x < 0) != (y < 0) ? 1 : 0);
}
template <class T>
T floorRemainder(T x, T y) {
  const T r = remainder(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

/** Applies f, or fails when a divisor is zero. */
template <class T, T (*f)(T, T)>
void divide(int64_t n, const BlockArgs& args) {
  bool zero = false;
  each2<T, T>(n, args, [&](T x, T y) {
    zero |= y == 0;
    return y == 0 ? T(0) : f(x, y);
  });
  if (zero) fail(args, FailureCode::divisionByZero);
}

template <class T>
T power(T base, T exponent) {
  Unsigned<T> result = 1, square = static_cast<Unsigned<T>>(base);
  for (; exponent > 0; exponent >>= 1, square *= square)
    if (exponent & 1) result *= square;
  return static_cast<T>(result);
}

/** Shift counts outside the type's width are clamped to it, as TensorFlow does. */
template <class T>
int shiftOf(T y, int32_t bits) {
  return y < 0 ? 0 : y >= static_cast<T>(bits) ? bits - 1 : static_cast<int>(y);
}

template <class T>
void fill(SimdKernels& k, Kind type) {
  const int kind = static_cast<int>(type);
  TL_ENTRY(div) = divide<T, quotient<T>>;
  TL_ENTRY(truncmod) = divide<T, remainder<T>>;
  TL_ENTRY(floordiv) = divide<T, floorQuotient<T>>;
  TL_ENTRY(floormod) = divide<T, floorRemainder<T>>;
  TL_ENTRY(reciprocal) = [](int64_t n, const BlockArgs& a) {
    bool zero = false;
    each1<T, T>(n, a, [&](T x) {
      zero |= x == 0;
      return x == 0 ? T(0) : quotient(T(1), x);
    });
    if (zero) fail(a, FailureCode::divisionByZero);
  };
  TL_ENTRY(pow) = [](int64_t n, const BlockArgs& a) {
    bool negative = false;
    each2<T, T>(n, a, [&](T x, T y) {
      negative |= y < 0;
      return power(x, y);
    });
    if (negative) fail(a, FailureCode::negativePower);
  };
  TL_ENTRY(shl) = [](int64_t n, const BlockArgs& a) {
    each2<T, T>(n, a, [&](T x, T y) { return static_cast<T>(static_cast<Unsigned<T>>(x) << shiftOf(y, a.bits)); });
  };
  TL_ENTRY(shr) = [](int64_t n, const BlockArgs& a) {
    each2<T, T>(n, a, [&](T x, T y) { return static_cast<T>(x >> shiftOf(y, a.bits)); });
  };
}

/** The order of unsigned integers; that of signed ones is in arithmetic.simd.cpp. */
template <class T>
void fillUnsigned(SimdKernels& k, Kind type) {
  const int kind = static_cast<int>(type);
  TL_BINARY(max, x > y ? x : y);
  TL_BINARY(min, x < y ? x : y);
  TL_COMPARE(lt, x < y);
  TL_COMPARE(le, x <= y);
  TL_COMPARE(gt, x > y);
  TL_COMPARE(ge, x >= y);
  TL_UNARY(sign, x > 0);
}

/** What leaves every integer as it is, and what holds of all of them or of none. */
template <class T>
void fillTrivial(SimdKernels& k, int kind) {
  TL_UNARY(conj, x);
  TL_ENTRY(floor) = TL_ENTRY(ceil) = TL_ENTRY(rint) = TL_ENTRY(abs) = TL_ENTRY(conj);
  TL_TEST(isnan, (void(x), 0));
  TL_ENTRY(isinf) = TL_ENTRY(isnan);
  TL_TEST(isfinite, (void(x), 1));
}

}  // namespace

void fillIntegerOps(SimdKernels& k) {
  fill<int32_t>(k, Kind::i32);
  fill<int64_t>(k, Kind::i64);
  fill<uint32_t>(k, Kind::u32);
  fill<uint64_t>(k, Kind::u64);
  fillUnsigned<uint32_t>(k, Kind::u32);
  fillUnsigned<uint64_t>(k, Kind::u64);
  for (const Kind kind : {Kind::i32, Kind::u32}) fillTrivial<uint32_t>(k, static_cast<int>(kind));
  for (const Kind kind : {Kind::i64, Kind::u64}) fillTrivial<uint64_t>(k, static_cast<int>(kind));
}

}  // namespace tl

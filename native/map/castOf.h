/** How a number of one type becomes one of another, in the way of x86 and so of TensorFlow. */
#pragma once
#include <cstdint>

namespace tl {
namespace {

template <class T> constexpr bool isFloat = false;
template <> constexpr bool isFloat<float> = true;
template <> constexpr bool isFloat<double> = true;

/** A float as a signed integer; what does not fit gives the lowest value. */
template <class To, class From> inline To toInt(From x) {
  constexpr From limit = sizeof(To) == 4 ? From(2147483648.0) : From(9223372036854775808.0);
  constexpr To lowest = static_cast<To>(sizeof(To) == 4 ? int64_t(INT32_MIN) : INT64_MIN);
  return x >= -limit && x < limit ? static_cast<To>(x) : lowest;
}

template <class To, class From> inline To castOf(From x) {
  constexpr bool isSigned = static_cast<To>(-1) < static_cast<To>(0);
  if constexpr (sizeof(To) == 1) {
    return x != 0;
  } else if constexpr (isFloat<From> && !isFloat<To>) {
    if constexpr (isSigned) return toInt<To>(x);
    // Unsigned 32-bit targets take the low half of a 64-bit conversion.
    else if constexpr (sizeof(To) == 4) return static_cast<To>(toInt<int64_t>(x));
    else {
      constexpr From half = From(9223372036854775808.0);
      const bool high = x >= half && x < 2 * half;
      return static_cast<uint64_t>(toInt<int64_t>(high ? x - half : x)) ^ (high ? uint64_t(1) << 63 : 0);
    }
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace
}  // namespace tl

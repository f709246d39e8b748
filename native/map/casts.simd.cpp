/** Casts between the real types; those of complex numbers are in complexOps.cpp. */
#include "../simd/types.h"

namespace tl::TL_SIMD {
namespace {

template <class T> constexpr bool isFloat = false;
template <> constexpr bool isFloat<float> = true;
template <> constexpr bool isFloat<double> = true;
template <class T> constexpr bool isSigned = false;
template <> constexpr bool isSigned<int32_t> = true;
template <> constexpr bool isSigned<int64_t> = true;

/** A float as an integer the way x86 converts: what does not fit gives the lowest value. */
template <class To, class From> inline To toInt(From x) {
  constexpr From limit = sizeof(To) == 4 ? From(2147483648.0) : From(9223372036854775808.0);
  constexpr To lowest = static_cast<To>(sizeof(To) == 4 ? int64_t(INT32_MIN) : INT64_MIN);
  return x >= -limit && x < limit ? static_cast<To>(x) : lowest;
}

template <class To, class From> inline To castOf(From x) {
  if constexpr (isFloat<From> && !isFloat<To>) {
    if constexpr (sizeof(To) == 4 && isSigned<To>) return toInt<int32_t>(x);
    // Unsigned 32-bit targets take the low half of a 64-bit conversion.
    else if constexpr (sizeof(To) == 4) return static_cast<To>(toInt<int64_t>(x));
    else if constexpr (isSigned<To>) return toInt<int64_t>(x);
    else {
      constexpr From half = From(9223372036854775808.0);
      const bool high = x >= half && x < 2 * half;
      return static_cast<uint64_t>(toInt<int64_t>(high ? x - half : x)) ^ (high ? uint64_t(1) << 63 : 0);
    }
  } else {
    return static_cast<To>(x);
  }
}

template <class To, class From> void cast(int64_t n, const BlockArgs& a) {
  loop1<To, From>(n, a, [](From x) { return castOf<To>(x); });
}
template <class From> void castToBool(int64_t n, const BlockArgs& a) {
  loop1<uint8_t, From>(n, a, [](From x) -> uint8_t { return x != 0; });
}

template <class From> void fillCasts(SimdKernels& k, Kind from) {
  BlockFn* to = k.casts[static_cast<int>(from)];
  to[static_cast<int>(Kind::f32)] = cast<float, From>;
  to[static_cast<int>(Kind::f64)] = cast<double, From>;
  to[static_cast<int>(Kind::i32)] = cast<int32_t, From>;
  to[static_cast<int>(Kind::i64)] = cast<int64_t, From>;
  to[static_cast<int>(Kind::u32)] = cast<uint32_t, From>;
  to[static_cast<int>(Kind::u64)] = cast<uint64_t, From>;
  to[static_cast<int>(Kind::b8)] = castToBool<From>;
}

}  // namespace

void fillCasts(SimdKernels& k) {
  fillCasts<float>(k, Kind::f32);
  fillCasts<double>(k, Kind::f64);
  fillCasts<int32_t>(k, Kind::i32);
  fillCasts<int64_t>(k, Kind::i64);
  fillCasts<uint32_t>(k, Kind::u32);
  fillCasts<uint64_t>(k, Kind::u64);
  fillCasts<uint8_t>(k, Kind::b8);
}

}  // namespace tl::TL_SIMD

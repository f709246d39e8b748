/** Casts between floats, signed integers and bools; those of other types are in plainCasts.cpp. */
#include "../simd/vector.h"
#include "castOf.h"

namespace tl::TL_SIMD {
namespace {

template <class To> struct Cast {
  template <class From> static TL_INLINE To of(From x) { return castOf<To>(x); }
};

template <class From> void fillFrom(SimdKernels& k, Kind from) {
  BlockFn* to = k.casts[static_cast<int>(from)];
  to[static_cast<int>(Kind::f32)] = lanes1<float, From, Cast<float>>;
  to[static_cast<int>(Kind::f64)] = lanes1<double, From, Cast<double>>;
  to[static_cast<int>(Kind::i32)] = lanes1<int32_t, From, Cast<int32_t>>;
  to[static_cast<int>(Kind::i64)] = lanes1<int64_t, From, Cast<int64_t>>;
  to[static_cast<int>(Kind::b8)] = lanes1<uint8_t, From, Cast<uint8_t>>;
}

}  // namespace

void fillCasts(SimdKernels& k) {
  fillFrom<float>(k, Kind::f32);
  fillFrom<double>(k, Kind::f64);
  fillFrom<int32_t>(k, Kind::i32);
  fillFrom<int64_t>(k, Kind::i64);
  fillFrom<uint8_t>(k, Kind::b8);
}

}  // namespace tl::TL_SIMD

/** Casts from and to unsigned integers; complexOps.cpp has those of complex numbers, casts.simd.cpp the others. */
#include "castOf.h"
#include "each.h"
#include "slowOps.h"

namespace tl {
namespace {

template <class To, class From>
void cast(int64_t n, const BlockArgs& a) {
  each1<To, From>(n, a, [](From x) { return castOf<To>(x); });
}

template <class T>
void fill(SimdKernels& k, Kind type) {
  const int kind = static_cast<int>(type);
  const auto both = [&](Kind other, auto sample) {
    using Other = decltype(sample);
    k.casts[kind][static_cast<int>(other)] = cast<Other, T>;
    k.casts[static_cast<int>(other)][kind] = cast<T, Other>;
  };
  both(Kind::f32, float{});
  both(Kind::f64, double{});
  both(Kind::i32, int32_t{});
  both(Kind::i64, int64_t{});
  both(Kind::u32, uint32_t{});
  both(Kind::u64, uint64_t{});
  both(Kind::b8, uint8_t{});
}

}  // namespace

void fillPlainCasts(SimdKernels& k) {
  fill<uint32_t>(k, Kind::u32);
  fill<uint64_t>(k, Kind::u64);
}

}  // namespace tl

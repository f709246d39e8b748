/** Vectors of which only the first lanes are read or written. Include only from *.simd.cpp. */
#pragma once
#include "vector.h"

namespace tl::TL_SIMD {

#if defined(__AVX512F__)
/** Whether there are instructions for it. Without them nothing below may be called with fewer lanes than there are. */
constexpr bool kHasMasks = true;
using LaneMask = uint16_t;

/** The first `count` lanes; all of them when there are not so many. */
TL_INLINE LaneMask firstLanes(int64_t count) { return static_cast<LaneMask>(count >= 16 ? 0xffff : (1u << count) - 1); }

// Spelled as instructions, because the header that has them as functions takes longer to compile than all of this file.
TL_INLINE Full<float> loadLanes(const float* from, LaneMask mask) {
  Full<float> x;
  asm("vmovups %1, %0%{%2%}%{z%}" : "=v"(x) : "m"(*reinterpret_cast<const VectorOf<float, 16>::Loose*>(from)), "Yk"(mask));
  return x;
}
TL_INLINE Full<double> loadLanes(const double* from, LaneMask mask) {
  Full<double> x;
  asm("vmovupd %1, %0%{%2%}%{z%}" : "=v"(x) : "m"(*reinterpret_cast<const VectorOf<double, 8>::Loose*>(from)), "Yk"(mask));
  return x;
}
TL_INLINE void storeLanes(float* to, Full<float> x, LaneMask mask) {
  asm("vmovups %1, %0%{%2%}" : "+m"(*reinterpret_cast<VectorOf<float, 16>::Loose*>(to)) : "v"(x), "Yk"(mask));
}
TL_INLINE void storeLanes(double* to, Full<double> x, LaneMask mask) {
  asm("vmovupd %1, %0%{%2%}" : "+m"(*reinterpret_cast<VectorOf<double, 8>::Loose*>(to)) : "v"(x), "Yk"(mask));
}
#else
constexpr bool kHasMasks = false;
struct LaneMask {};
TL_INLINE LaneMask firstLanes(int64_t) { return {}; }
template <class T> TL_INLINE Full<T> loadLanes(const T* from, LaneMask) { return loadVector(from); }
template <class T> TL_INLINE void storeLanes(T* to, Full<T> x, LaneMask) { storeVector(to, x); }
#endif

}  // namespace tl::TL_SIMD

/** The larger and the smaller of two vectors or of two elements. Include only from *.simd.cpp. */
#pragma once
#include <type_traits>
#include <utility>

#include "types.h"

namespace tl::TL_SIMD {

/** What a vector is made of; an element is made of itself. */
template <class V, class = void> struct PartOf {
  using type = V;
};
template <class V> struct PartOf<V, std::void_t<decltype(std::declval<V>()[0])>> {
  using type = std::remove_cv_t<std::remove_reference_t<decltype(std::declval<V>()[0])>>;
};
template <class V, class T> constexpr bool isMadeOf = std::is_same_v<typename PartOf<V>::type, T>;

/**
 * x > y ? x : y and x < y ? x : y. For floats these are instructions by name, which take numbers below the normal range for zeros as
 * arithmetic does; a comparison and a choice, which compilers are free to make of the expression, would let them pass.
 */
#if defined(__AVX__)
#define TL_EXTREME(x, y, name) asm("v" name " %2, %1, %0" : "=v"(x) : "v"(x), "v"(y))
#elif defined(__SSE2__)
#define TL_EXTREME(x, y, name) asm(name " %1, %0" : "+x"(x) : "x"(y))
#endif
template <class V> TL_INLINE V larger(V x, V y) {
#if defined(__SSE2__)
  if constexpr (isMadeOf<V, float>) {
    TL_EXTREME(x, y, "maxps");
    return x;
  } else if constexpr (isMadeOf<V, double>) {
    TL_EXTREME(x, y, "maxpd");
    return x;
  } else
#endif
    return x > y ? x : y;
}
template <class V> TL_INLINE V smaller(V x, V y) {
#if defined(__SSE2__)
  if constexpr (isMadeOf<V, float>) {
    TL_EXTREME(x, y, "minps");
    return x;
  } else if constexpr (isMadeOf<V, double>) {
    TL_EXTREME(x, y, "minpd");
    return x;
  } else
#endif
    return x < y ? x : y;
}

}  // namespace tl::TL_SIMD

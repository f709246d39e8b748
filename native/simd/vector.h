/** Vectors as wide as the variant's registers, and loops over blocks in them. Include only from *.simd.cpp. */
#pragma once
#include <type_traits>

#include "extremes.h"
#include "types.h"

namespace tl::TL_SIMD {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

/** N elements side by side; `Loose` is the same anywhere in memory. */
template <class T, int N> struct VectorOf {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
  typedef T Loose __attribute__((vector_size(N * sizeof(T)), aligned(1), may_alias));
};
template <class T, int N> using Vector = typename VectorOf<T, N>::type;
/** A register full, but no more than the copies that a scalar has. */
template <class T> constexpr int lanesOf = sizeof(T) == 1 ? 16 : kVectorBytes / static_cast<int>(sizeof(T));
/** The vectors of T that loops work in. */
template <class T> using Full = Vector<T, lanesOf<T>>;

template <class T, int N = lanesOf<T>> TL_INLINE Vector<T, N> loadVector(const T* from) {
  return *reinterpret_cast<const typename VectorOf<T, N>::Loose*>(from);
}
template <class T, int N = lanesOf<T>> TL_INLINE void storeVector(T* to, Vector<T, N> x) {
  *reinterpret_cast<typename VectorOf<T, N>::Loose*>(to) = x;
}
/** A difference, because the sum of 0 and -0 would be 0. */
template <class V, class T> TL_INLINE V splat(T x) { return x - V{}; }

/** The signed and unsigned integers as wide as T. */
template <int Size> struct IntegersOf;
template <> struct IntegersOf<1> { using Signed = int8_t; using Unsigned = uint8_t; };
template <> struct IntegersOf<4> { using Signed = int32_t; using Unsigned = uint32_t; };
template <> struct IntegersOf<8> { using Signed = int64_t; using Unsigned = uint64_t; };
template <class T> using MaskOf = typename IntegersOf<sizeof(T)>::Signed;
template <class T> using UnsignedOf = typename IntegersOf<sizeof(T)>::Unsigned;

/** The elements of a and, behind them, of b whose numbers are from(0), from(1) …: constants, once it is inlined. */
template <class V, class From> TL_INLINE V picked(const V& a, const V& b, const From& from) {
  using Element = std::remove_cv_t<std::remove_reference_t<decltype(a[0])>>;
  constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(Element));
#if defined(__clang__)
  V r;
  for (int i = 0; i < lanes; i++) r[i] = from(i) < lanes ? a[from(i)] : b[from(i) - lanes];
  return r;
#else
  Vector<MaskOf<Element>, lanes> order;
  for (int i = 0; i < lanes; i++) order[i] = static_cast<MaskOf<Element>>(from(i));
  return __builtin_shuffle(a, b, order);
#endif
}

/**
 * Stores at(i) at out + i for all vectors of a block of at least one. The last vector ends where the block does and may share
 * elements with the one before: it is computed first, while operands are not yet overwritten, and stored last.
 */
template <class T, class At> TL_INLINE void storeVectors(int64_t n, T* out, const At& at) {
  constexpr int N = lanesOf<T>;
  const Full<T> last = at(n - N);
  for (int64_t i = 0; i < n - N; i += N) storeVector(out + i, at(i));
  storeVector(out + n - N, last);
}

/** out[i] = F::of(x[i]) for a function of vectors. */
template <class T, class F> void vectors1(int64_t n, const BlockArgs& args) {
  constexpr int N = lanesOf<T>;
  const T* x = static_cast<const T*>(args.in[0]);
  if (n < N) return finishBlock(vectors1<T, F>, 0, n, N, args, {sizeof(T), {sizeof(T)}});
  storeVectors(n, static_cast<T*>(args.out), [&](int64_t i) TL_INLINE_LAMBDA { return F::of(loadVector(x + i)); });
}

/** out[i] = F::of(x[i], y[i]) for a function of vectors; either operand may be a scalar. */
template <class T, class F> void vectors2(int64_t n, const BlockArgs& args) {
  constexpr int N = lanesOf<T>;
  const T* x = static_cast<const T*>(args.in[0]);
  const T* y = static_cast<const T*>(args.in[1]);
  const int64_t mx = -args.step[0], my = -args.step[1];
  if (n < N) return finishBlock(vectors2<T, F>, 0, n, N, args, {sizeof(T), {sizeof(T), sizeof(T)}});
  storeVectors(n, static_cast<T*>(args.out),
               [&](int64_t i) TL_INLINE_LAMBDA { return F::of(loadVector(x + (i & mx)), loadVector(y + (i & my))); });
}

/**
 * The same for functions of single elements, of which the compiler makes vectors: where types of different width meet,
 * and for functions that vectors do not have in the language.
 */
template <class R, class T, class F> void lanes1(int64_t n, const BlockArgs& args) {
  R* out = static_cast<R*>(args.out);
  const T* x = static_cast<const T*>(args.in[0]);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    TL_LANE_LOOP
    for (int64_t j = 0; j < kLanes; j++) out[i + j] = F::of(x[i + j]);
  if (i < n) finishBlock(lanes1<R, T, F>, i, n, kLanes, args, {sizeof(R), {sizeof(T)}});
}
template <class R, class T, class F> void lanes2(int64_t n, const BlockArgs& args) {
  R* out = static_cast<R*>(args.out);
  const T* x = static_cast<const T*>(args.in[0]);
  const T* y = static_cast<const T*>(args.in[1]);
  const int64_t dx = args.step[0] * kLanes, dy = args.step[1] * kLanes;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes, x += dx, y += dy)
    TL_LANE_LOOP
    for (int64_t j = 0; j < kLanes; j++) out[i + j] = F::of(x[j], y[j]);
  if (i < n) finishBlock(lanes2<R, T, F>, i, n, kLanes, args, {sizeof(R), {sizeof(T), sizeof(T)}});
}

}  // namespace tl::TL_SIMD

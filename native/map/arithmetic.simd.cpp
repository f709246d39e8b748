/**
 * Operations on blocks that need no approximation: arithmetic, comparison, logic, selection, rounding.
 *
 * Types that compute alike share one entry: integers wrap, so signed ones add as unsigned ones do, and selecting only
 * moves bits. What unsigned integers do in another way is rare, and is in integerOps.cpp.
 */
#include "../simd/vector.h"

namespace tl::TL_SIMD {
namespace {

#define ENTRY(op, kind) k.ops[static_cast<int>(Op::op)][static_cast<int>(kind)]
/** An operation by an expression of vectors x and y. */
#define UNARY(op, kind, expression)                   \
  struct Each_##op {                                  \
    static TL_INLINE V of(V x) { return expression; } \
  };                                                  \
  ENTRY(op, kind) = vectors1<T, Each_##op>
#define BINARY(op, kind, expression)                       \
  struct Each_##op {                                       \
    static TL_INLINE V of(V x, V y) { return expression; } \
  };                                                       \
  ENTRY(op, kind) = vectors2<T, Each_##op>
/** An operation by an expression of single elements, with results of type R. */
#define SINGLE(op, kind, R, expression)               \
  struct Each_##op {                                  \
    static TL_INLINE R of(T x) { return expression; } \
  };                                                  \
  ENTRY(op, kind) = lanes1<R, T, Each_##op>

template <class T> struct Equal {
  static TL_INLINE uint8_t of(T x, T y) { return x == y; }
};
template <class T> struct Unequal {
  static TL_INLINE uint8_t of(T x, T y) { return x != y; }
};
template <class T> struct Less {
  static TL_INLINE uint8_t of(T x, T y) { return x < y; }
};
template <class T> struct LessOrEqual {
  static TL_INLINE uint8_t of(T x, T y) { return x <= y; }
};

template <class T> struct FloorOfQuotient {
  static TL_INLINE T of(T x, T y) { return floorOf(x / y); }
};

/** x > y is y < x. It is not the opposite of x <= y, as neither holds of NaN. */
template <BlockFn compare> void mirrored(int64_t n, const BlockArgs& a) {
  compare(n, {a.out, {a.in[1], a.in[0]}, {a.step[1], a.step[0]}, a.bits, a.failure});
}

template <class T> void fillEqual(SimdKernels& k, Kind kind) {
  ENTRY(eq, kind) = lanes2<uint8_t, T, Equal<T>>;
  ENTRY(ne, kind) = lanes2<uint8_t, T, Unequal<T>>;
}
template <class T> void fillOrder(SimdKernels& k, Kind kind) {
  ENTRY(lt, kind) = lanes2<uint8_t, T, Less<T>>;
  ENTRY(le, kind) = lanes2<uint8_t, T, LessOrEqual<T>>;
  ENTRY(gt, kind) = mirrored<lanes2<uint8_t, T, Less<T>>>;
  ENTRY(ge, kind) = mirrored<lanes2<uint8_t, T, LessOrEqual<T>>>;
}

#if defined(__AVX512BW__) && !defined(__clang__)
/** Elements of x where the truth values, a byte each, are not 0, elsewhere of y. GCC would take the bytes one by one. */
template <class T> TL_INLINE Full<T> choose(const uint8_t* truth, Full<T> x, Full<T> y) {
  Vector<char, 16> bytes = {};
  __builtin_memcpy(&bytes, truth, lanesOf<T>);
  const auto mask = __builtin_ia32_ptestmb128(bytes, bytes, static_cast<unsigned short>(-1));
  if constexpr (sizeof(T) == 4) {
    using Ints = Vector<int, 16>;
    const auto chosen = __builtin_ia32_blendmd_512_mask(reinterpret_cast<Ints>(y), reinterpret_cast<Ints>(x), mask);
    return reinterpret_cast<Full<T>>(chosen);
  } else {
    using Longs = Vector<long long, 8>;
    const auto low = static_cast<unsigned char>(mask);
    return reinterpret_cast<Full<T>>(
        __builtin_ia32_blendmq_512_mask(reinterpret_cast<Longs>(y), reinterpret_cast<Longs>(x), low));
  }
}
constexpr bool kChooses = true;
#else
template <class T> Full<T> choose(const uint8_t*, Full<T>, Full<T>);
constexpr bool kChooses = false;
#endif

template <class T> void select(int64_t n, const BlockArgs& args) {
  constexpr bool whole = kChooses && sizeof(T) >= 4;
  constexpr int N = whole ? lanesOf<T> : kLanes;
  T* out = static_cast<T*>(args.out);
  const uint8_t* c = static_cast<const uint8_t*>(args.in[0]);
  const T* x = static_cast<const T*>(args.in[1]);
  const T* y = static_cast<const T*>(args.in[2]);
  const int64_t dc = args.step[0] * N, dx = args.step[1] * N, dy = args.step[2] * N;
  int64_t i = 0;
  for (; i + N <= n; i += N, c += dc, x += dx, y += dy) {
    if constexpr (whole)
      storeVector(out + i, choose<T>(c, loadVector(x), loadVector(y)));
    else
      TL_LANE_LOOP
      for (int64_t j = 0; j < N; j++) {
        const T yes = x[j], no = y[j];
        out[i + j] = c[j] ? yes : no;
      }
  }
  if (i < n) finishBlock(select<T>, i, n, N, args, {sizeof(T), {1, sizeof(T), sizeof(T)}});
}

/** NaN wins over everything. */
#define UNLESS_NAN(value) (x != x ? x : (value))

template <class T> void fillFloat(SimdKernels& k, Kind kind) {
  using V = Full<T>;
  using M = Full<MaskOf<T>>;
  BINARY(add, kind, x + y);
  BINARY(sub, kind, x - y);
  BINARY(mul, kind, x * y);
  BINARY(div, kind, x / y);
  BINARY(max, kind, UNLESS_NAN(larger(x, y)));
  BINARY(min, kind, UNLESS_NAN(smaller(x, y)));
  UNARY(neg, kind, -x);
  UNARY(abs, kind, (V)((M)x & ~(MaskOf<T>(1) << (8 * sizeof(T) - 1))));
  UNARY(square, kind, x * x);
  UNARY(reciprocal, kind, T(1) / x);
  UNARY(sign, kind, x > T(0) ? splat<V>(T(1)) : x < T(0) ? splat<V>(T(-1)) : x != x ? x : V{});
  SINGLE(sqrt, kind, T, sqrtOf(x));
  SINGLE(rsqrt, kind, T, T(1) / sqrtOf(x));
  SINGLE(floor, kind, T, floorOf(x));
  SINGLE(ceil, kind, T, ceilOf(x));
  SINGLE(rint, kind, T, rintOf(x));
  ENTRY(floordiv, kind) = lanes2<T, T, FloorOfQuotient<T>>;
  fillEqual<T>(k, kind);
  fillOrder<T>(k, kind);
  SINGLE(isnan, kind, uint8_t, x != x);
  SINGLE(isinf, kind, uint8_t, x - x != x - x && x == x);
  SINGLE(isfinite, kind, uint8_t, x - x == 0);
}

/** `both` are the signed and the unsigned kind of one width; T is the unsigned type. */
template <class T> void fillWrapping(SimdKernels& k, const Kind (&both)[2]) {
  using V = Full<T>;
  for (const Kind kind : both) {
    BINARY(add, kind, x + y);
    BINARY(sub, kind, x - y);
    BINARY(mul, kind, x * y);
    BINARY(and_, kind, x & y);
    BINARY(or_, kind, x | y);
    BINARY(xor_, kind, x ^ y);
    UNARY(square, kind, x * x);
    UNARY(neg, kind, -x);
    UNARY(invert, kind, ~x);
    fillEqual<T>(k, kind);
  }
}

template <class T> void fillSigned(SimdKernels& k, Kind kind) {
  using V = Full<T>;
  BINARY(max, kind, larger(x, y));
  BINARY(min, kind, smaller(x, y));
  // The lowest value has no opposite and stays; the unsigned type wraps where the signed one must not.
  UNARY(abs, kind, x < 0 ? (V)-(Full<UnsignedOf<T>>)x : x);
  UNARY(sign, kind, (x < 0) - (x > 0));
  fillOrder<T>(k, kind);
}

void fillBool(SimdKernels& k) {
  using T = uint8_t;
  using V = Full<T>;
  const Kind kind = Kind::b8;
  UNARY(not_, kind, x ^ 1);
  BINARY(and_, kind, x & y);
  BINARY(or_, kind, x | y);
  BINARY(xor_, kind, x ^ y);
  // As numbers, truth values add like `or`, subtract like `xor`, multiply like `and`, and are ordered like 0 and 1.
  ENTRY(add, kind) = ENTRY(max, kind) = ENTRY(or_, kind);
  ENTRY(sub, kind) = ENTRY(xor_, kind);
  ENTRY(mul, kind) = ENTRY(min, kind) = ENTRY(and_, kind);
  ENTRY(invert, kind) = ENTRY(not_, kind);
  fillEqual<T>(k, kind);
  fillOrder<T>(k, kind);
}

#define NARROW(dtype, T, expression)                  \
  struct Narrow_##dtype {                             \
    static TL_INLINE T of(T x) { return expression; } \
  };                                                  \
  k.narrow[static_cast<int>(DType::dtype)] = lanes1<T, T, Narrow_##dtype>

}  // namespace

void fillArithmetic(SimdKernels& k) {
  fillFloat<float>(k, Kind::f32);
  fillFloat<double>(k, Kind::f64);
  fillWrapping<uint32_t>(k, {Kind::i32, Kind::u32});
  fillWrapping<uint64_t>(k, {Kind::i64, Kind::u64});
  fillSigned<int32_t>(k, Kind::i32);
  fillSigned<int64_t>(k, Kind::i64);
  fillBool(k);
  ENTRY(select, Kind::f32) = ENTRY(select, Kind::i32) = ENTRY(select, Kind::u32) = select<uint32_t>;
  ENTRY(select, Kind::f64) = ENTRY(select, Kind::i64) = ENTRY(select, Kind::u64) = select<uint64_t>;
  ENTRY(select, Kind::c64) = select<uint64_t>;
  ENTRY(select, Kind::b8) = select<uint8_t>;
  NARROW(f16, float, halfValue(halfBits(x)));
  NARROW(bf16, float, bfloatValue(bfloatBits(x)));
  NARROW(i8, int32_t, static_cast<int8_t>(x));
  NARROW(i16, int32_t, static_cast<int16_t>(x));
  NARROW(u8, uint32_t, static_cast<uint8_t>(x));
  NARROW(u16, uint32_t, static_cast<uint16_t>(x));
}

}  // namespace tl::TL_SIMD

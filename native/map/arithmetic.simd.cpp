/** Operations on blocks that need no approximation: arithmetic, comparison, logic, selection, rounding. */
#include "../simd/types.h"

namespace tl::TL_SIMD {
namespace {

template <class T> constexpr bool isSigned = false;
template <> constexpr bool isSigned<int32_t> = true;
template <> constexpr bool isSigned<int64_t> = true;

/** Integers wrap: arithmetic is done on the unsigned type of the same width. */
template <class T> struct WrapOf { using type = T; };
template <> struct WrapOf<int32_t> { using type = uint32_t; };
template <> struct WrapOf<int64_t> { using type = uint64_t; };
template <class T> using Wrap = typename WrapOf<T>::type;

template <class T> inline T addOf(T x, T y) {
  return static_cast<T>(static_cast<Wrap<T>>(x) + static_cast<Wrap<T>>(y));
}
template <class T> inline T subOf(T x, T y) {
  return static_cast<T>(static_cast<Wrap<T>>(x) - static_cast<Wrap<T>>(y));
}
template <class T> inline T mulOf(T x, T y) {
  return static_cast<T>(static_cast<Wrap<T>>(x) * static_cast<Wrap<T>>(y));
}

template <class T> inline T floatFloorMod(T x, T y) {
  const T r = fmodOf(x, y);
  return r != 0 && (y < 0) != (r < 0) ? r + y : r;
}

template <class T> inline T maxOf(T x, T y) { return x > y || x != x ? x : y; }
template <class T> inline T minOf(T x, T y) { return x < y || x != x ? x : y; }

#define UNARY(op, T, expression)                                              \
  k.ops[static_cast<int>(Op::op)][kind] = [](int64_t n, const BlockArgs& a) { \
    loop1<T, T>(n, a, [](T x) -> T { return expression; });                   \
  }
#define BINARY(op, T, expression)                                             \
  k.ops[static_cast<int>(Op::op)][kind] = [](int64_t n, const BlockArgs& a) { \
    loop2<T, T>(n, a, [](T x, T y) -> T { return expression; });              \
  }
#define COMPARE(op, T, expression)                                            \
  k.ops[static_cast<int>(Op::op)][kind] = [](int64_t n, const BlockArgs& a) { \
    loop2<uint8_t, T>(n, a, [](T x, T y) -> uint8_t { return expression; });  \
  }
#define TEST(op, T, expression)                                               \
  k.ops[static_cast<int>(Op::op)][kind] = [](int64_t n, const BlockArgs& a) { \
    loop1<uint8_t, T>(n, a, [](T x) -> uint8_t { return expression; });       \
  }

template <class T> void select(int64_t n, const BlockArgs& args) {
  T* out = static_cast<T*>(args.out);
  const uint8_t* c = static_cast<const uint8_t*>(args.in[0]);
  const T* x = static_cast<const T*>(args.in[1]);
  const T* y = static_cast<const T*>(args.in[2]);
  const int64_t mc = -args.step[0], mx = -args.step[1], my = -args.step[2];
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const uint8_t* pc = c + (i & mc);
    const T* px = x + (i & mx);
    const T* py = y + (i & my);
    TL_LANE_LOOP
    for (int64_t j = 0; j < kLanes; j++) {
      const T yes = px[j], no = py[j];
      out[i + j] = pc[j] ? yes : no;
    }
  }
  TL_SHORT_LOOP
  for (; i < n; i++) {
    out[i] = c[i & mc] ? x[i & mx] : y[i & my];
    TL_KEEP_SCALAR;
  }
}

template <class T> void fillCommon(SimdKernels& k, int kind) {
  BINARY(add, T, addOf(x, y));
  BINARY(sub, T, subOf(x, y));
  BINARY(mul, T, mulOf(x, y));
  UNARY(square, T, mulOf(x, x));
  UNARY(neg, T, subOf(T(0), x));
  COMPARE(eq, T, x == y);
  COMPARE(ne, T, x != y);
  COMPARE(lt, T, x < y);
  COMPARE(le, T, x <= y);
  COMPARE(gt, T, x > y);
  COMPARE(ge, T, x >= y);
  BINARY(max, T, maxOf(x, y));
  BINARY(min, T, minOf(x, y));
  k.ops[static_cast<int>(Op::select)][kind] = select<T>;
}

template <class T> void fillFloat(SimdKernels& k, Kind type) {
  const int kind = static_cast<int>(type);
  fillCommon<T>(k, kind);
  UNARY(neg, T, -x);
  UNARY(abs, T, absOf(x));
  UNARY(sign, T, x > 0 ? T(1) : x < 0 ? T(-1) : x != x ? x : T(0));
  UNARY(sqrt, T, sqrtOf(x));
  UNARY(rsqrt, T, T(1) / sqrtOf(x));
  UNARY(reciprocal, T, T(1) / x);
  UNARY(floor, T, floorOf(x));
  UNARY(ceil, T, ceilOf(x));
  UNARY(rint, T, rintOf(x));
  UNARY(conj, T, x);
  BINARY(div, T, x / y);
  BINARY(floordiv, T, floorOf(x / y));
  BINARY(floormod, T, floatFloorMod(x, y));
  BINARY(truncmod, T, fmodOf(x, y));
  TEST(isnan, T, x != x);
  TEST(isinf, T, x - x != x - x && x == x);
  TEST(isfinite, T, x - x == 0);
}

template <class T> void fillInt(SimdKernels& k, Kind type) {
  const int kind = static_cast<int>(type);
  fillCommon<T>(k, kind);
  if constexpr (isSigned<T>) {
    UNARY(abs, T, x < 0 ? subOf(T(0), x) : x);
    UNARY(sign, T, T((x > 0) - (x < 0)));
  } else {
    UNARY(abs, T, x);
    UNARY(sign, T, x > 0);
  }
  UNARY(floor, T, x);
  UNARY(ceil, T, x);
  UNARY(rint, T, x);
  UNARY(conj, T, x);
  UNARY(invert, T, T(~x));
  BINARY(and_, T, T(x & y));
  BINARY(or_, T, T(x | y));
  BINARY(xor_, T, T(x ^ y));
  TEST(isnan, T, (void(x), 0));
  TEST(isinf, T, (void(x), 0));
  TEST(isfinite, T, (void(x), 1));
}

void fillBool(SimdKernels& k) {
  using T = uint8_t;
  const int kind = static_cast<int>(Kind::b8);
  fillCommon<T>(k, kind);
  UNARY(not_, T, !x);
  UNARY(invert, T, !x);
  BINARY(and_, T, T(x & y));
  BINARY(or_, T, T(x | y));
  BINARY(xor_, T, T(x ^ y));
  // As numbers, truth values add like `or` and multiply like `and`.
  BINARY(add, T, T(x | y));
  BINARY(mul, T, T(x & y));
}

#define NARROW(dtype, T, expression)                                             \
  k.narrow[static_cast<int>(DType::dtype)] = [](int64_t n, const BlockArgs& a) { \
    loop1<T, T>(n, a, [](T x) -> T { return expression; });                      \
  }

}  // namespace

void fillArithmetic(SimdKernels& k) {
  fillFloat<float>(k, Kind::f32);
  fillFloat<double>(k, Kind::f64);
  fillInt<int32_t>(k, Kind::i32);
  fillInt<int64_t>(k, Kind::i64);
  fillInt<uint32_t>(k, Kind::u32);
  fillInt<uint64_t>(k, Kind::u64);
  fillBool(k);
  NARROW(f16, float, halfValue(halfBits(x)));
  NARROW(bf16, float, bfloatValue(bfloatBits(x)));
  NARROW(i8, int32_t, static_cast<int8_t>(x));
  NARROW(i16, int32_t, static_cast<int16_t>(x));
  NARROW(u8, uint32_t, static_cast<uint8_t>(x));
  NARROW(u16, uint32_t, static_cast<uint16_t>(x));
}

}  // namespace tl::TL_SIMD

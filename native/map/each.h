/** Loops for operations that work one element at a time. */
#pragma once
#include "../simd/kernels.h"

namespace tl {

template <class R, class T, class F>
void each1(int64_t n, const BlockArgs& args, F f) {
  R* out = static_cast<R*>(args.out);
  const T* x = static_cast<const T*>(args.in[0]);
  for (int64_t i = 0; i < n; i++) out[i] = f(x[i]);
}

template <class R, class T, class F>
void each2(int64_t n, const BlockArgs& args, F f) {
  R* out = static_cast<R*>(args.out);
  const T* x = static_cast<const T*>(args.in[0]);
  const T* y = static_cast<const T*>(args.in[1]);
  for (int64_t i = 0; i < n; i++) out[i] = f(x[i & -args.step[0]], y[i & -args.step[1]]);
}

// Table entries, for use where `k` is the table, `kind` a kind's number and T its type.
#define TL_ENTRY(op) k.ops[static_cast<int>(Op::op)][kind]
#define TL_UNARY(op, expression) \
  TL_ENTRY(op) = [](int64_t n, const BlockArgs& a) { each1<T, T>(n, a, [](T x) -> T { return expression; }); }
#define TL_BINARY(op, expression) \
  TL_ENTRY(op) = [](int64_t n, const BlockArgs& a) { each2<T, T>(n, a, [](T x, T y) -> T { return expression; }); }
#define TL_COMPARE(op, expression) \
  TL_ENTRY(op) = [](int64_t n, const BlockArgs& a) { each2<uint8_t, T>(n, a, [](T x, T y) -> uint8_t { return expression; }); }
#define TL_TEST(op, expression) \
  TL_ENTRY(op) = [](int64_t n, const BlockArgs& a) { each1<uint8_t, T>(n, a, [](T x) -> uint8_t { return expression; }); }

}  // namespace tl

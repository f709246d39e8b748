/**
 * Operations on blocks of float32 joined to one, so that what is between them never goes through memory. Every one of them
 * rounds as it does alone: results are the same bit for bit.
 */
#include "../simd/vector.h"

namespace tl::TL_SIMD {
namespace {

using V = Full<float>;

struct Add {
  static TL_INLINE V of(V x, V y) { return x + y; }
};
struct Sub {
  static TL_INLINE V of(V x, V y) { return x - y; }
};
struct SubFrom {
  static TL_INLINE V of(V x, V y) { return y - x; }
};
struct Mul {
  static TL_INLINE V of(V x, V y) { return x * y; }
};
struct Div {
  static TL_INLINE V of(V x, V y) { return x / y; }
};
struct Max {
  static TL_INLINE V of(V x, V y) { return x != x ? x : larger(x, y); }
};
struct Less {
  static TL_INLINE auto of(V x, V y) { return x < y; }
};
struct LessOrEqual {
  static TL_INLINE auto of(V x, V y) { return x <= y; }
};
struct Equal {
  static TL_INLINE auto of(V x, V y) { return x == y; }
};

/** out[i] = F::of(in[0][i], …) for a function of `Count` vectors. */
template <int Count, class F> void vectors(int64_t n, const BlockArgs& args) {
  constexpr int N = lanesOf<float>;
  if (n < N) {
    Sizes sizes = {sizeof(float), {}};
    for (int a = 0; a < Count; a++) sizes.in[a] = sizeof(float);
    return finishBlock(vectors<Count, F>, 0, n, N, args, sizes);
  }
  const float* in[Count];
  int64_t mask[Count];
#pragma GCC unroll 8
  for (int a = 0; a < Count; a++) {
    in[a] = static_cast<const float*>(args.in[a]);
    mask[a] = -args.step[a];
  }
  storeVectors(n, static_cast<float*>(args.out), [&](int64_t i) TL_INLINE_LAMBDA {
    V x[Count];
#pragma GCC unroll 8
    for (int a = 0; a < Count; a++) x[a] = loadVector(in[a] + (i & mask[a]));
    return F::of(x);
  });
}

template <class Inner, class Outer> struct Chain {
  static TL_INLINE V of(const V (&x)[3]) { return Outer::of(Inner::of(x[0], x[1]), x[2]); }
};
struct TwoProducts {
  static TL_INLINE V of(const V (&x)[4]) { return x[0] * x[1] + x[2] * x[3]; }
};
struct Towards {
  static TL_INLINE V of(const V (&x)[3]) { return x[0] + (x[1] - x[0]) * x[2]; }
};
struct TowardsProduct {
  static TL_INLINE V of(const V (&x)[4]) { return x[0] + (x[1] * x[3] - x[0]) * x[2]; }
};
template <class Compare> struct Choice {
  static TL_INLINE V of(const V (&x)[4]) { return Compare::of(x[0], x[1]) ? x[2] : x[3]; }
};
struct ScaledStep {
  static TL_INLINE V of(const V (&x)[5]) {
    float root[lanesOf<float>];
    storeVector(root, x[3]);
    for (float& r : root) r = sqrtOf(r);
    return x[0] - x[1] * x[2] / (loadVector(root) + x[4]);
  }
};

template <class Inner> void fillChains(BlockFn (&to)[kOuters]) {
  to[static_cast<int>(Outer::add)] = vectors<3, Chain<Inner, Add>>;
  to[static_cast<int>(Outer::sub)] = vectors<3, Chain<Inner, Sub>>;
  to[static_cast<int>(Outer::subFrom)] = vectors<3, Chain<Inner, SubFrom>>;
  to[static_cast<int>(Outer::mul)] = vectors<3, Chain<Inner, Mul>>;
  to[static_cast<int>(Outer::div)] = vectors<3, Chain<Inner, Div>>;
  to[static_cast<int>(Outer::max)] = vectors<3, Chain<Inner, Max>>;
}

}  // namespace

void fillJoined(SimdKernels& k) {
  JoinedOps& j = k.joined;
  fillChains<Add>(j.chain[static_cast<int>(Inner::add)]);
  fillChains<Sub>(j.chain[static_cast<int>(Inner::sub)]);
  fillChains<Mul>(j.chain[static_cast<int>(Inner::mul)]);
  j.twoProducts = vectors<4, TwoProducts>;
  j.towards = vectors<3, Towards>;
  j.towardsProduct = vectors<4, TowardsProduct>;
  j.scaledStep = vectors<5, ScaledStep>;
  j.less = vectors<4, Choice<Less>>;
  j.lessOrEqual = vectors<4, Choice<LessOrEqual>>;
  j.equal = vectors<4, Choice<Equal>>;
}

}  // namespace tl::TL_SIMD

/** Moving elements between memory and registers: loads, stores, copies, positions. */
#include "../simd/transpose.h"

namespace tl::TL_SIMD {
namespace {

/** out[i * outStep] = f(in[i * inStep]), with the usual steps known to the compiler. */
template <class To, class From, class F>
inline void convert(int64_t n, void* outBytes, int64_t outStep, const void* inBytes, int64_t inStep, F f) {
  To* out = static_cast<To*>(outBytes);
  const From* in = static_cast<const From*>(inBytes);
  if (outStep == 1 && inStep == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = f(in[i]);
  } else if (outStep == 1 && inStep == 0) {
    const To value = f(in[0]);
    for (int64_t i = 0; i < n; i++) out[i] = value;
  } else {
    for (int64_t i = 0; i < n; i++) out[i * outStep] = f(in[i * inStep]);
  }
}

template <class T> void copy(int64_t n, void* out, int64_t outStep, const void* in, int64_t inStep) {
  convert<T, T>(n, out, outStep, in, inStep, [](T x) { return x; });
}

#define LOAD(dtype, To, From, expression)                                                                          \
  k.load[static_cast<int>(DType::dtype)] = [](int64_t n, void* out, int64_t outStep, const void* in, int64_t inStep) { \
    convert<To, From>(n, out, outStep, in, inStep, [](From x) -> To { return expression; });                       \
  }
#define STORE(dtype, To, From, expression)                                                                         \
  k.store[static_cast<int>(DType::dtype)] = [](int64_t n, void* out, int64_t outStep, const void* in, int64_t inStep) { \
    convert<To, From>(n, out, outStep, in, inStep, [](From x) -> To { return expression; });                       \
  }

}  // namespace

void fillConversions(SimdKernels& k) {
  k.copy[0] = copy<uint8_t>;
  k.copy[1] = copy<uint16_t>;
  k.copy[2] = copy<uint32_t>;
  k.copy[3] = copy<uint64_t>;
  k.copy[4] = copy<Complex<uint64_t>>;
  k.transpose[0] = transposeBlock<4>;
  k.transpose[1] = transposeBlock<8>;
  for (int d = 0; d < kDTypes; d++)
    if (isNative(static_cast<DType>(d))) {
      const int64_t size = sizeOf(static_cast<DType>(d));
      k.load[d] = k.store[d] = k.copy[size == 1 ? 0 : size == 4 ? 2 : size == 8 ? 3 : 4];
    }
  LOAD(f16, float, uint16_t, halfValue(x));
  LOAD(bf16, float, uint16_t, bfloatValue(x));
  LOAD(i8, int32_t, int8_t, x);
  LOAD(i16, int32_t, int16_t, x);
  LOAD(u8, uint32_t, uint8_t, x);
  LOAD(u16, uint32_t, uint16_t, x);
  STORE(f16, uint16_t, float, halfBits(x));
  STORE(bf16, uint16_t, float, bfloatBits(x));
  STORE(i8, int8_t, int32_t, static_cast<int8_t>(x));
  STORE(i16, int16_t, int32_t, static_cast<int16_t>(x));
  STORE(u8, uint8_t, uint32_t, static_cast<uint8_t>(x));
  STORE(u16, uint16_t, uint32_t, static_cast<uint16_t>(x));
  k.iota = [](int64_t n, void* out, int64_t outStep, const void* in, int64_t inStep) {
    const int64_t start = *static_cast<const int64_t*>(in);
    int64_t* to = static_cast<int64_t*>(out);
    for (int64_t i = 0; i < n; i++) to[i * outStep] = start + i * inStep;
  };
}

}  // namespace tl::TL_SIMD

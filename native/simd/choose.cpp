/** Picks the best variant of the block kernels that was compiled and that the processor can run. */
#include <cstdlib>
#include <cstring>
#if defined(TL_HAS_AMX)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "../map/slowOps.h"
#include "kernels.h"

namespace tl {

#define TL_DECLARE(variant)                   \
  namespace variant {                         \
  void fillArithmetic(SimdKernels&);          \
  void fillJoined(SimdKernels&);              \
  void fillTranscendental(SimdKernels&);      \
  void fillDoubles(SimdKernels&);             \
  void fillDoubleAngles(SimdKernels&);        \
  void fillDoubleErrors(SimdKernels&);        \
  void fillDoublePowers(SimdKernels&);        \
  void fillArcs(SimdKernels&);                \
  void fillCasts(SimdKernels&);               \
  void fillConversions(SimdKernels&);         \
  void fillFolds(SimdKernels&);               \
  void fillWindow(SimdKernels&);              \
  void fillGemm(SimdKernels&);                \
  void fillStrip(SimdKernels&);               \
  void fillLanes(SimdKernels&);               \
  void fillWindows(SimdKernels&);             \
  void fillWinograd(SimdKernels&);            \
  void fillPhilox(SimdKernels&);              \
  void fillNormals(SimdKernels&);             \
  void fillLinalg(SimdKernels&);              \
  }
TL_DECLARE(portable)
TL_DECLARE(avx2)
TL_DECLARE(avx512)
namespace amx {
void fillTileGemm(SimdKernels&);
void fillTiles(SimdKernels&);
}

namespace {

#if defined(TL_HAS_AMX)
/** Whether there is a matrix unit for bfloat16, and vectors of it, and the system lets this process use it, which it must be asked for. */
bool getMatrixUnit() {
  constexpr unsigned kBfloat16 = 1u << 22, kTiles = 1u << 24, kVectors = 1u << 5;
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & (kBfloat16 | kTiles)) != (kBfloat16 | kTiles)) return false;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & kVectors)) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

#define TL_FILL(variant)                      \
  [](SimdKernels& k) {                        \
    k.name = #variant;                        \
    variant::fillArithmetic(k);               \
    variant::fillJoined(k);                   \
    variant::fillTranscendental(k);           \
    variant::fillDoubles(k);                  \
    variant::fillDoubleAngles(k);             \
    variant::fillDoubleErrors(k);             \
    variant::fillDoublePowers(k);             \
    variant::fillArcs(k);                     \
    variant::fillCasts(k);                    \
    variant::fillConversions(k);              \
    variant::fillFolds(k);                    \
    variant::fillWindow(k);                   \
    variant::fillGemm(k);                     \
    variant::fillStrip(k);                    \
    variant::fillLanes(k);                    \
    variant::fillWindows(k);                  \
    variant::fillWinograd(k);                 \
    variant::fillPhilox(k);                   \
    variant::fillNormals(k);                  \
    variant::fillLinalg(k);                   \
  }

/** The matrix unit beside the vectors of AVX-512. */
#define TL_FILL_AMX                           \
  [](SimdKernels& k) {                        \
    TL_FILL(avx512)(k);                       \
    k.name = "amx";                           \
    amx::fillTileGemm(k);                     \
    amx::fillTiles(k);                        \
  }

/** Loops are generated for AVX-512 and for Linux, and use bits of general registers as such processors do. */
bool generatesFor([[maybe_unused]] const char* variant) {
#if defined(__x86_64__) && defined(__linux__)
  return (std::strcmp(variant, "avx512") == 0 || std::strcmp(variant, "amx") == 0) && __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

struct Variant {
  const char* name;
  bool supported;
  void (*fill)(SimdKernels&);
};

SimdKernels choose() {
#if defined(TL_HAS_AVX512)
  const bool hasAvx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                         __builtin_cpu_supports("fma");
#endif
  const Variant variants[] = {
#if defined(TL_HAS_AMX)
      {"amx", hasAvx512 && getMatrixUnit(), TL_FILL_AMX},
#endif
#if defined(TL_HAS_AVX512)
      {"avx512", hasAvx512, TL_FILL(avx512)},
#endif
#if defined(TL_HAS_AVX2)
      {"avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"), TL_FILL(avx2)},
#endif
#if defined(TL_HAS_PORTABLE)
      {"portable", true, TL_FILL(portable)},
#endif
  };
  // Tests ask for a lesser variant by name, to try all that were compiled on one machine.
  const char* wanted = std::getenv("TENSORLOOM_SIMD");
  SimdKernels kernels = {};
  fillSlowOps(kernels);
  fillIntegerOps(kernels);
  fillComplexOps(kernels);
  fillPlainCasts(kernels);
  fillPlainFolds(kernels);
  for (const Variant& v : variants)
    if (v.supported && (!wanted || std::strcmp(wanted, v.name) == 0)) {
      v.fill(kernels);
      kernels.generated = generatesFor(v.name);
      return kernels;
    }
  kernels.name = "";
  return kernels;
}

}  // namespace

void finishBlock(BlockFn kernel, int64_t done, int64_t n, int64_t lanes, const BlockArgs& args, Sizes sizes) {
  constexpr int64_t kBytes = kLanes * 16;
  alignas(64) char out[kBytes], in[kMostOperands][kBytes] = {};
  const size_t left = static_cast<size_t>(n - done);
  BlockArgs copies = args;
  copies.out = out;
  for (int a = 0; a < kMostOperands && sizes.in[a] > 0; a++) {
    if (args.step[a] == 0) continue;
    std::memcpy(in[a], static_cast<const char*>(args.in[a]) + done * sizes.in[a], left * sizes.in[a]);
    copies.in[a] = in[a];
  }
  kernel(lanes, copies);
  std::memcpy(static_cast<char*>(args.out) + done * sizes.out, out, left * sizes.out);
}

const SimdKernels& simd() {
  static const SimdKernels kernels = choose();
  return kernels;
}

}  // namespace tl

/**
 * Tries all arguments that normals can have, 2^23 of each function, against the C library of this machine, which must be GNU's
 * of 2.28 or later. For every instruction set:
 *
 *   g++ -std=c++17 -O2 -ffp-contract=fast -fno-math-errno -DTL_SIMD=portable tools/normalCheck.cpp -o build/normalCheck
 *
 * and the same with -mavx2 -mfma -DTL_SIMD=avx2, and with -mavx512f -mavx512dq -mavx512vl -mavx2 -mfma -DTL_SIMD=avx512.
 */
#include <cmath>
#include <cstdio>

#include "../native/random/normals.simd.cpp"

using namespace tl::TL_SIMD;

namespace {

int wrong = 0;

void compare(const char* what, uint32_t word, float got, float want) {
  if (bitsAs<uint32_t>(got) == bitsAs<uint32_t>(want)) return;
  if (wrong++ < 10) std::printf("%s of %u: %a instead of %a\n", what, word, static_cast<double>(got), static_cast<double>(want));
}

}  // namespace

int main() {
  constexpr uint32_t kAll = 1u << 23;
  for (uint32_t begin = 0; begin < kAll; begin += kPairs) {
    U words;
    for (int i = 0; i < kPairs; i++) words[i] = begin + static_cast<uint32_t>(i);
    const D v = unit(words), u = v == 0.0 ? all(1.0e-7f) : v;
    const F r = radius(u), log = logarithm(u);
    const Turn t = turn(v);
    for (int i = 0; i < kPairs; i++) {
      const uint32_t word = begin + static_cast<uint32_t>(i);
      const float number = static_cast<float>(word) * 0x1p-23f;
      const float logOf = std::log(word == 0 ? 1.0e-7f : number);
      compare("logarithm", word, log[i], logOf);
      compare("radius", word, r[i], std::sqrt(-2.0f * logOf));
      float sine, cosine;
      sincosf(static_cast<float>(2.0 * 3.14159265358979323846 * static_cast<double>(number)), &sine, &cosine);
      compare("sine", word, t.sine[i], sine);
      compare("cosine", word, t.cosine[i], cosine);
    }
  }
  std::printf("%u arguments of each function, %d wrong\n", kAll, wrong);
  return wrong == 0 ? 0 : 1;
}

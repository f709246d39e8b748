/**
 * Blocks of the Philox generator, as many at a time as a vector has 64-bit lanes. A lane holds one of the four words of a block
 * in its lower half; what is in the upper half does not matter until the end.
 */
#include "../simd/transpose.h"

namespace tl::TL_SIMD {
namespace {

constexpr int kBlocks = kVectorBytes / 8;
/** Vectors that are worked on together, to hide how long a multiplication takes. */
constexpr int kBeside = 4;
using Lanes = Vector<uint64_t, kBlocks>;
using Halves = Vector<int32_t, 2 * kBlocks>;

/** Products of the lower halves of all lanes. */
TL_INLINE Lanes product(Lanes x, Lanes y) {
#if defined(__AVX512F__)
  Lanes z;
  asm("vpmuludq %2, %1, %0" : "=v"(z) : "v"(x), "v"(y));
  return z;
#elif defined(__AVX2__)
  return (Lanes)__builtin_ia32_pmuludq256((Halves)x, (Halves)y);
#elif defined(__SSE2__)
  return (Lanes)__builtin_ia32_pmuludq128((Halves)x, (Halves)y);
#else
  return (x & 0xffffffffu) * (y & 0xffffffffu);
#endif
}

/** The first words of all blocks side by side become the four words of each block side by side. */
TL_INLINE void storeBlocks(const Lanes (&c)[4], uint32_t* to) {
  const Lanes first = (c[0] & 0xffffffffu) | c[1] << 32, second = (c[2] & 0xffffffffu) | c[3] << 32;
  for (int half = 0; half < 2; half++) {
    const Lanes words = Square<8>::interleave(first, second, half == 1);
    __builtin_memcpy(to + half * 2 * kBlocks, &words, sizeof(words));
  }
}

/** Blocks for the counters that next() gives a vector of at a time: their lower halves. */
template <class Next> TL_INLINE void blocksFor(const uint32_t* counter, const uint32_t* key, int64_t count, uint32_t* out, Next next) {
  const uint64_t low = static_cast<uint64_t>(counter[1]) << 32 | counter[0];
  for (int64_t done = 0; done < count; done += kBeside * kBlocks) {
    Lanes c[kBeside][4];
#pragma GCC unroll 4
    for (int v = 0; v < kBeside; v++) {
      const Lanes numbers = next(low, done + v * kBlocks);
      c[v][0] = numbers;
      c[v][1] = numbers >> 32;
      c[v][2] = splat<Lanes>(static_cast<uint64_t>(counter[2]));
      c[v][3] = splat<Lanes>(static_cast<uint64_t>(counter[3]));
      // Where the lower half of the counter overflows, the upper one moves on.
      const Lanes over = splat<Lanes>(uint64_t{1}) & (Lanes)(numbers < splat<Lanes>(low));
      c[v][2] += over;
      if (counter[2] == 0xffffffffu) c[v][3] += over;
    }
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9, k1 += 0xBB67AE85)
#pragma GCC unroll 4
      for (int v = 0; v < kBeside; v++) {
        const Lanes p0 = product(c[v][0], splat<Lanes>(uint64_t{0xD2511F53})), p1 = product(c[v][2], splat<Lanes>(uint64_t{0xCD9E8D57}));
        c[v][0] = p1 >> 32 ^ c[v][1] ^ splat<Lanes>(static_cast<uint64_t>(k0));
        c[v][2] = p0 >> 32 ^ c[v][3] ^ splat<Lanes>(static_cast<uint64_t>(k1));
        c[v][1] = p1;
        c[v][3] = p0;
      }
#pragma GCC unroll 4
    for (int v = 0; v < kBeside; v++) {
      const int64_t first = done + v * kBlocks, left = count - first;
      if (left >= kBlocks) {
        storeBlocks(c[v], out + first * 4);
      } else if (left > 0) {
        uint32_t last[4 * kBlocks];
        storeBlocks(c[v], last);
        __builtin_memcpy(out + first * 4, last, static_cast<size_t>(left) * 16);
      }
    }
  }
}

void blocks(const uint32_t* counter, const uint32_t* key, int64_t count, uint64_t step, uint32_t* out) {
  Lanes offsets;
  for (int i = 0; i < kBlocks; i++) offsets[i] = static_cast<uint64_t>(i) * step;
  blocksFor(counter, key, count, out, [&](uint64_t low, int64_t) TL_INLINE_LAMBDA {
    const Lanes numbers = low + offsets;
    offsets += kBlocks * step;
    return numbers;
  });
}

void blocksAt(const uint32_t* counter, const uint32_t* key, int64_t count, const uint64_t* offsets, uint32_t* out) {
  blocksFor(counter, key, count, out, [&](uint64_t low, int64_t at) TL_INLINE_LAMBDA {
    Lanes numbers = {};
    const int64_t left = count - at;
    if (left > 0) __builtin_memcpy(&numbers, offsets + at, static_cast<size_t>(left < kBlocks ? left : kBlocks) * sizeof(uint64_t));
    return low + numbers;
  });
}

void unitFloats(int64_t n, const uint32_t* words, float* out) {
  using Ints = Full<uint32_t>;
  constexpr int64_t N = lanesOf<float>;
  int64_t i = 0;
  for (; i + N <= n; i += N) storeVector(out + i, (Full<float>)((loadVector(words + i) & 0x7fffffu) | splat<Ints>(0x3f800000u)) - 1.0f);
  TL_SHORT_LOOP
  for (; i < n; i++) {
    out[i] = bitsAs<float>(0x3f800000u | (words[i] & 0x7fffffu)) - 1.0f;
    TL_KEEP_SCALAR;
  }
}

}  // namespace

void fillPhilox(SimdKernels& k) {
  k.philox = blocks;
  k.philoxAt = blocksAt;
  k.unitFloats = unitFloats;
}

}  // namespace tl::TL_SIMD

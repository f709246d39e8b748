/** The Philox4x32-10 counter-based generator (Salmon et al. 2011). */
#pragma once
#include <cstdint>
#include <cstring>

#include "../simd/kernels.h"

namespace tl {

/** A counter of 128 bits and a key of 64: 24 bytes of state. Blocks of four words are numbered by the counter. */
class Philox {
 public:
  explicit Philox(const uint8_t* state) {
    std::memcpy(counter_, state, 16);
    std::memcpy(key_, state + 16, 8);
  }
  void save(uint8_t* state) const { std::memcpy(state, counter_, 16); }

  void skip(uint64_t blocks) {
    const uint64_t low = (static_cast<uint64_t>(counter_[1]) << 32 | counter_[0]) + blocks;
    counter_[0] = static_cast<uint32_t>(low);
    counter_[1] = static_cast<uint32_t>(low >> 32);
    if (low < blocks && ++counter_[2] == 0) ++counter_[3];
  }

  /** `count` blocks, the first at the counter and each `step` after the one before; the counter stays. */
  void blocks(int64_t count, uint64_t step, uint32_t* out) const { simd().philox(counter_, key_, count, step, out); }

  /** The block at the counter, which then moves on. */
  void next(uint32_t out[4]) {
    uint32_t c0 = counter_[0], c1 = counter_[1], c2 = counter_[2], c3 = counter_[3], k0 = key_[0], k1 = key_[1];
    for (int round = 0; round < 10; round++) {
      const uint64_t p0 = uint64_t{0xD2511F53} * c0, p1 = uint64_t{0xCD9E8D57} * c2;
      c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
      c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c1 = static_cast<uint32_t>(p1);
      c3 = static_cast<uint32_t>(p0);
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
    skip(1);
  }

 private:
  uint32_t counter_[4];
  uint32_t key_[2];
};

}  // namespace tl

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
  /** The same for blocks that lie `offsets` after the counter. */
  void blocksAt(int64_t count, const uint64_t* offsets, uint32_t* out) const { simd().philoxAt(counter_, key_, count, offsets, out); }

 private:
  uint32_t counter_[4];
  uint32_t key_[2];
};

}  // namespace tl

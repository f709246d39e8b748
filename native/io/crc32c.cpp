/** @file CRC-32C by the processor's own instruction, where it has one. */
#include <array>
#include <cstring>

#include "../tensorloom.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <nmmintrin.h>

namespace {

/** What a checksum becomes when a stretch of zero bytes follows. It is linear, so a table per byte of the checksum does. */
struct Shift {
  std::array<std::array<uint32_t, 256>, 4> ofByte;

  explicit Shift(int64_t stretch) {
    constexpr uint32_t polynomial = 0x82f63b78;
    uint32_t ofBit[32];
    for (int bit = 0; bit < 32; bit++) {
      uint32_t crc = uint32_t(1) << bit;
      for (int64_t i = 0; i < 8 * stretch; i++) crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
      ofBit[bit] = crc;
    }
    for (int byte = 0; byte < 4; byte++)
      for (int value = 0; value < 256; value++) {
        uint32_t all = 0;
        for (int bit = 0; bit < 8; bit++)
          if (value >> bit & 1) all ^= ofBit[8 * byte + bit];
        ofByte[byte][value] = all;
      }
  }
  uint64_t operator()(uint64_t crc) const {
    return ofByte[0][crc & 255] ^ ofByte[1][crc >> 8 & 255] ^ ofByte[2][crc >> 16 & 255] ^ ofByte[3][crc >> 24 & 255];
  }
};

inline uint64_t wordAt(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, 8);
  return word;
}

/**
 * The instruction gives a result after three cycles and can begin every cycle, so three stretches are worked on at once; the
 * checksums of the first two are then moved over what follows them.
 */
template <int64_t stretch>
__attribute__((target("sse4.2"))) uint64_t threefold(uint64_t first, const uint8_t*& bytes, int64_t& length) {
  static const Shift shift(stretch);
  for (; length >= 3 * stretch; bytes += 3 * stretch, length -= 3 * stretch) {
    uint64_t second = 0, third = 0;
    for (const uint8_t *at = bytes, *end = bytes + stretch; at < end; at += 8) {
      first = _mm_crc32_u64(first, wordAt(at));
      second = _mm_crc32_u64(second, wordAt(at + stretch));
      third = _mm_crc32_u64(third, wordAt(at + 2 * stretch));
    }
    first = shift(shift(first) ^ second) ^ third;
  }
  return first;
}

__attribute__((target("sse4.2"))) uint32_t update(uint32_t crc, const uint8_t* bytes, int64_t length) {
  uint64_t state = crc;
  if (length >= 3 * 4096) state = threefold<4096>(state, bytes, length);
  if (length >= 3 * 256) state = threefold<256>(state, bytes, length);
  for (; length >= 8; bytes += 8, length -= 8) state = _mm_crc32_u64(state, wordAt(bytes));
  uint32_t rest = static_cast<uint32_t>(state);
  for (; length > 0; bytes++, length--) rest = _mm_crc32_u8(rest, *bytes);
  return rest;
}
bool canUpdate() { return __builtin_cpu_supports("sse4.2"); }
}  // namespace
#else
namespace {
uint32_t update(uint32_t, const uint8_t*, int64_t) { return 0; }
bool canUpdate() { return false; }
}  // namespace
#endif

/** Whether `tl_crc32c` can be used here. */
TL_API int32_t tl_has_crc32c() { return canUpdate(); }

/** The checksum of bytes; `crc` is that of the bytes in front of them, 0 where there are none. */
TL_API uint32_t tl_crc32c(const uint8_t* bytes, int64_t length, uint32_t crc) { return ~update(~crc, bytes, length); }

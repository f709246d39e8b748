/** @file CRC-32C by the processor's own instruction, where it has one. */
#include <cstring>

#include "../tensorloom.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <nmmintrin.h>

namespace {
__attribute__((target("sse4.2"))) uint32_t update(uint32_t crc, const uint8_t* bytes, int64_t length) {
  uint64_t state = crc;
  for (; length >= 8; bytes += 8, length -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    state = _mm_crc32_u64(state, word);
  }
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

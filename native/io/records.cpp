/** @file Checksums of many TFRecords at once: a call for each would cost more than a short record does. */
#include <cstring>

#include "../tensorloom.h"

TL_API int32_t tl_has_crc32c();
TL_API uint32_t tl_crc32c(const uint8_t* bytes, int64_t length, uint32_t crc);

namespace {
constexpr int64_t headerLength = 12, footerLength = 4;

/** A checksum as it is stored. */
inline uint32_t masked(const uint8_t* bytes, int64_t length) {
  const uint32_t crc = tl_crc32c(bytes, length, 0);
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}
}  // namespace

/** Puts the checksums into a block of whole records that have their lengths and contents. Gives 0 where that cannot be done here. */
TL_API int32_t tl_records_seal(int64_t block, int64_t bytes) {
  if (!tl_has_crc32c()) return 0;
  auto* at = reinterpret_cast<uint8_t*>(block);
  for (const uint8_t* end = at + bytes; at < end;) {
    int64_t length;
    std::memcpy(&length, at, 8);
    const uint32_t ofLength = masked(at, 8), ofContent = masked(at + headerLength, length);
    std::memcpy(at + 8, &ofLength, 4);
    std::memcpy(at + headerLength + length, &ofContent, 4);
    at += headerLength + length + footerLength;
  }
  return 1;
}

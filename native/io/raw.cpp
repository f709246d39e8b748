/** @file The bytes of strings as rows of numbers. */
#include <algorithm>
#include <cstring>

#include "../tensorloom.h"

namespace {

template <typename T>
void turnAround(T* numbers, size_t count, T (*turn)(T)) {
  for (size_t i = 0; i < count; i++) numbers[i] = turn(numbers[i]);
}

}  // namespace

/**
 * Copies strings, given as pairs of address and length, into rows of `width` bytes, cut or filled with zeros; then turns the bytes
 * of each number of `entry` bytes around where that is more than one. A string may be in its place already.
 */
TL_API void tl_raw_join(int64_t strings, int64_t count, int64_t width, int64_t entry, int64_t out) {
  const auto* table = reinterpret_cast<const double*>(strings);
  auto* rows = reinterpret_cast<uint8_t*>(out);
  for (int64_t i = 0; i < count; i++) {
    const auto* string = reinterpret_cast<const uint8_t*>(int64_t(table[2 * i]));
    const auto length = std::min(int64_t(table[2 * i + 1]), width);
    uint8_t* row = rows + i * width;
    if (length > 0 && string != row) memcpy(row, string, size_t(length));
    if (length < width) memset(row + length, 0, size_t(width - length));
  }
  const auto numbers = size_t(count * width / entry);
  if (entry == 2) turnAround<uint16_t>(reinterpret_cast<uint16_t*>(rows), numbers, [](uint16_t x) { return __builtin_bswap16(x); });
  if (entry == 4) turnAround<uint32_t>(reinterpret_cast<uint32_t*>(rows), numbers, [](uint32_t x) { return __builtin_bswap32(x); });
  if (entry == 8) turnAround<uint64_t>(reinterpret_cast<uint64_t*>(rows), numbers, [](uint64_t x) { return __builtin_bswap64(x); });
}

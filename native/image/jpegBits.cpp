/** Huffman codes and the bits of a scan. */
#include <cstring>

#include "jpeg.h"

namespace jpeg {

const uint8_t zigzag[80] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33,
                            40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36,
                            29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
                            47, 55, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

bool HuffmanTable::make(const uint8_t* counts, const uint8_t* from, int total) {
  memset(quick, 0, sizeof quick);
  memset(symbols, 0, sizeof symbols);
  memcpy(symbols, from, size_t(total));
  count = total;
  int code = 0, place = 0;
  for (int length = 1; length <= 16; length++) {
    maxCode[length] = -1;
    offset[length] = place - code;
    for (int i = 0; i < counts[length - 1]; i++, code++, place++) {
      if (code >= 1 << length) return false;
      if (length > 9) continue;
      const uint16_t entry = uint16_t(length << 8 | symbols[place]);
      const int first = code << (9 - length);
      for (int k = 0; k < 1 << (9 - length); k++) quick[first + k] = entry;
    }
    if (counts[length - 1] > 0) maxCode[length] = code - 1;
    code <<= 1;
  }
  maxCode[17] = 0xfffff;
  for (int i = 0; i < 1024; i++) {
    whole[i] = 0;
    const int entry = quick[i >> 1], length = entry >> 8, run = (entry & 255) >> 4, size = entry & 15;
    if (entry == 0 || size == 0 || length + size > 10) continue;
    int value = (i >> (10 - length - size)) & ((1 << size) - 1);
    if (value < 1 << (size - 1)) value -= (1 << size) - 1;
    if (value >= -128 && value <= 127) whole[i] = int16_t(value * 256 + run * 16 + length + size);
  }
  isSet = true;
  return true;
}

void BitReader::fillSlowly(int needed) {
  while (count <= 48) {
    uint64_t next = 0;
    if (marker == 0) {
      if (at >= end) {
        if (recover) {
          marker = 0xd9;
          continue;
        }
        if (count >= needed) return;
        cutOff = true; // and zeros from here on, until somebody looks
      } else {
        next = *at++;
        if (next == 0xff) {
          const uint8_t* after = at;
          while (after < end && *after == 0xff) after++;
          if (after >= end) {
            at = end;
            continue;
          }
          at = after + 1;
          if (*after != 0) {
            marker = *after;
            continue;
          }
        }
      }
    } else if (count >= needed) return;
    else starved = true;
    buffer = buffer << 8 | next;
    count += 8;
  }
}

const uint8_t* BitReader::plainUntil() {
  if (special == nullptr || special < at) {
    special = static_cast<const uint8_t*>(memchr(at, 0xff, size_t(end - at)));
    if (!special) special = end;
  }
  // Behind a marker nothing is data.
  return marker == 0 && special - at >= 8 ? special - 8 : at - 1;
}

int BitReader::longSymbol(const HuffmanTable& table) {
  int length = 1, code = int(bit());
  while (length <= 16 && code > table.maxCode[length]) {
    code = code << 1 | int(bit());
    length++;
  }
  if (length > 16) return 0; // there is no such code; libjpeg goes on with a zero
  const int place = code + table.offset[length];
  return place >= 0 && place < 256 ? table.symbols[place] : 0;
}

int HuffmanTable::longCode(uint32_t bits, int& left) const {
  int length = 1;
  while (length <= 16 && int(bits >> (16 - length)) > maxCode[length]) length++;
  left -= length;
  if (length > 16) return 0; // there is no such code; libjpeg goes on with a zero, one bit further
  const int place = int(bits >> (16 - length)) + offset[length];
  return place >= 0 && place < 256 ? symbols[place] : 0;
}

void BitReader::restart(int number) {
  buffer = 0;
  count = 0;
  for (;;) {
    if (marker == 0) {
      while (end - at >= 2 && !(at[0] == 0xff && at[1] != 0 && at[1] != 0xff)) at++;
      if (end - at < 2) {
        if (recover) marker = 0xd9;
        else cutOff = true;
        return;
      }
      marker = at[1];
      at += 2;
    }
    const int distance = marker >= 0xd0 && marker <= 0xd7 ? (marker - 0xd0 - number) & 7 : -1;
    if (distance == 0 || (distance > 2 && distance < 6)) break;
    // A marker that comes later, or none of restarting: there are zeros until it is due.
    if (distance == 1 || distance == 2 || (distance < 0 && marker >= 0xc0)) return;
    marker = 0;
  }
  marker = 0;
  starved = false;
}

}  // namespace jpeg

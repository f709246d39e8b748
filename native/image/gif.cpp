/** Pixels of GIF files. The TypeScript side reads the blocks of the file and explains the format. */
#include <cstring>
#include <memory>
#include <new>

#include "image.h"

namespace {

/** What LZW can say beside success. */
enum Lzw : int32_t { lzwFine = 0, lzwCutOff = 1, lzwDefective = 2 };

/** Lempel, Ziv and Welch's compression with codes that grow from `codeBits + 1` to 12 bits. */
int32_t decompress(const uint8_t* bytes, size_t length, int codeBits, uint8_t* out, size_t count) {
  uint16_t before[4096] = {}, lengths[4096] = {};
  uint8_t suffix[4096] = {};
  const int clear = 1 << codeBits;
  for (int i = 0; i < clear; i++) {
    suffix[i] = uint8_t(i);
    lengths[i] = 1;
  }
  int next = clear + 2, width = codeBits + 1, last = -1, bits = 0;
  uint32_t buffer = 0;
  size_t at = 0;
  for (size_t to = 0; to < count;) {
    while (bits < width) {
      if (at >= length) return lzwCutOff;
      buffer |= uint32_t(bytes[at++]) << bits;
      bits += 8;
    }
    const int code = int(buffer & ((1u << width) - 1));
    buffer >>= width;
    bits -= width;
    if (code == clear) {
      next = clear + 2;
      width = codeBits + 1;
      last = -1;
      continue;
    }
    if (code == clear + 1) return lzwCutOff;
    if (code > next || (code == next && last < 0) || (last < 0 && code >= clear)) return lzwDefective;
    // A code that is just being made is the last one and its own first pixel again.
    const bool fresh = code == next;
    const int known = fresh ? last : code;
    const size_t size = lengths[known];
    int place = known;
    for (size_t i = to + size; i-- > to;) {
      if (i < count) out[i] = suffix[place];
      place = before[place];
    }
    const uint8_t first = out[to];
    if (last >= 0 && next < 4096) {
      before[next] = uint16_t(last);
      suffix[next] = first;
      lengths[next] = uint16_t(lengths[last] + 1);
      next++;
      if (next == 1 << width && width < 12) width++;
    }
    if (fresh && to + size < count) out[to + size] = first;
    to += fresh ? size + 1 : size;
    last = code;
  }
  return lzwFine;
}

}  // namespace

int32_t tl_gif_decompress(int64_t bytes, int64_t length, int32_t codeBits, int64_t out, int64_t count) {
  return decompress(reinterpret_cast<const uint8_t*>(bytes), size_t(length), codeBits, reinterpret_cast<uint8_t*>(out), size_t(count));
}

int32_t tl_gif_draw(int64_t pixels, int64_t place, int64_t colours, int64_t colourBytes, int64_t canvas) {
  const auto* from = reinterpret_cast<const uint8_t*>(pixels);
  const auto* p = reinterpret_cast<const int32_t*>(place);
  const auto* palette = reinterpret_cast<const uint8_t*>(colours);
  auto* to = reinterpret_cast<uint8_t*>(canvas);
  const int64_t left = p[0], top = p[1], frameWidth = p[2], frameHeight = p[3], transparent = p[4], width = p[5], height = p[6];
  const int64_t right = left + frameWidth < width ? left + frameWidth : width;
  const int64_t bottom = top + frameHeight < height ? top + frameHeight : height;
  for (int64_t y = top; y < bottom; y++) {
    const uint8_t* row = from + (y - top) * frameWidth;
    uint8_t* pixel = to + (y * width + left) * 3;
    for (int64_t x = left; x < right; x++, row++, pixel += 3) {
      if (*row == transparent) continue;
      if (*row * 3 >= colourBytes) return *row;
      memcpy(pixel, palette + *row * 3, 3);
    }
  }
  return -1;
}

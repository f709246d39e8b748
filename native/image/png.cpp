/** PNG files: checked, decompressed, unfiltered and converted in one go. The TypeScript side explains the format. */
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "image.h"
#include "inflate.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace {

struct Header {
  uint32_t width = 0, height = 0;
  int depth = 0, colour = 0;
  bool interlaced = false;
  const uint8_t* palette = nullptr;
  uint32_t paletteBytes = 0;
  const uint8_t* transparency = nullptr;
  uint32_t transparencyBytes = 0;
  int samples() const { return colour == 2 ? 3 : colour == 4 ? 2 : colour == 6 ? 4 : 1; }
};

uint32_t word(const uint8_t* at) { return uint32_t(at[0]) << 24 | uint32_t(at[1]) << 16 | uint32_t(at[2]) << 8 | at[3]; }

/** CRC-32 by eight tables. */
struct Crc {
  uint32_t tables[8][256];
  Crc() {
    for (uint32_t b = 0; b < 256; b++) {
      uint32_t c = b;
      for (int k = 0; k < 8; k++) c = c & 1 ? (c >> 1) ^ 0xedb88320u : c >> 1;
      tables[0][b] = c;
    }
    for (int t = 1; t < 8; t++)
      for (int b = 0; b < 256; b++) tables[t][b] = (tables[t - 1][b] >> 8) ^ tables[0][tables[t - 1][b] & 255];
  }
  uint32_t of(const uint8_t* at, size_t length) const {
    uint32_t c = ~0u;
    for (; length >= 8; at += 8, length -= 8) {
      uint64_t w;
      memcpy(&w, at, 8);
      const uint32_t low = uint32_t(w) ^ c, high = uint32_t(w >> 32);
      c = tables[7][low & 255] ^ tables[6][(low >> 8) & 255] ^ tables[5][(low >> 16) & 255] ^ tables[4][low >> 24] ^
          tables[3][high & 255] ^ tables[2][(high >> 8) & 255] ^ tables[1][(high >> 16) & 255] ^ tables[0][high >> 24];
    }
    for (; length > 0; length--) c = (c >> 8) ^ tables[0][(c ^ *at++) & 255];
    return ~c;
  }
};

uint8_t paeth(int left, int above, int corner) {
  const int toLeft = abs(above - corner), toAbove = abs(left - corner), toCorner = abs(left + above - 2 * corner);
  const int near = toAbove <= toCorner ? above : corner;
  return uint8_t(toLeft <= toAbove && toLeft <= toCorner ? left : near);
}

#if defined(__SSE2__)

/** The bytes of one pixel as four 16-bit numbers; the last pixel of a row is not read beyond. */
template <int step>
inline __m128i pixelAt(const uint8_t* at) {
  uint32_t bytes;
  if constexpr (step == 4) memcpy(&bytes, at, 4);
  else bytes = uint32_t(at[0]) | uint32_t(at[1]) << 8 | uint32_t(at[2]) << 16;
  return _mm_unpacklo_epi8(_mm_cvtsi32_si128(int(bytes)), _mm_setzero_si128());
}

inline __m128i sizeOf(__m128i x) { return _mm_max_epi16(x, _mm_sub_epi16(_mm_setzero_si128(), x)); }

inline __m128i either(__m128i mask, __m128i a, __m128i b) { return _mm_or_si128(_mm_and_si128(mask, a), _mm_andnot_si128(mask, b)); }

/** Paeth's filter on pixels of three or four bytes, all of them at once. */
template <int step>
void paethRow(uint8_t* row, const uint8_t* above, size_t bytes) {
  __m128i left = _mm_setzero_si128(), corner = left;
  for (size_t i = 0; i < bytes; i += step) {
    const __m128i up = pixelAt<step>(above + i);
    const __m128i toLeft = _mm_sub_epi16(up, corner), toAbove = _mm_sub_epi16(left, corner);
    const __m128i sizeLeft = sizeOf(toLeft), sizeAbove = sizeOf(toAbove), sizeCorner = sizeOf(_mm_add_epi16(toLeft, toAbove));
    const __m128i least = _mm_min_epi16(sizeCorner, _mm_min_epi16(sizeLeft, sizeAbove));
    const __m128i near = either(_mm_cmpeq_epi16(least, sizeLeft), left, either(_mm_cmpeq_epi16(least, sizeAbove), up, corner));
    left = _mm_and_si128(_mm_add_epi16(pixelAt<step>(row + i), near), _mm_set1_epi16(255));
    corner = up;
    const uint32_t packed = uint32_t(_mm_cvtsi128_si32(_mm_packus_epi16(left, left)));
    row[i] = uint8_t(packed);
    row[i + 1] = uint8_t(packed >> 8);
    row[i + 2] = uint8_t(packed >> 16);
    if constexpr (step == 4) row[i + 3] = uint8_t(packed >> 24);
  }
}

#endif

/** One row; `above` is null for the first. */
template <int step>
void unfilterRow(int filter, uint8_t* row, const uint8_t* above, size_t bytes) {
  if (filter == 1 || (filter == 4 && !above)) {
    for (size_t i = step; i < bytes; i++) row[i] = uint8_t(row[i] + row[i - step]);
  } else if (filter == 2) {
    if (above)
      for (size_t i = 0; i < bytes; i++) row[i] = uint8_t(row[i] + above[i]);
  } else if (filter == 3) {
    const size_t first = bytes < size_t(step) ? bytes : size_t(step);
    for (size_t i = 0; i < first; i++) row[i] = uint8_t(row[i] + (above ? above[i] >> 1 : 0));
    if (above)
      for (size_t i = step; i < bytes; i++) row[i] = uint8_t(row[i] + ((row[i - step] + above[i]) >> 1));
    else
      for (size_t i = step; i < bytes; i++) row[i] = uint8_t(row[i] + (row[i - step] >> 1));
  } else if (filter == 4) {
#if defined(__SSE2__)
    if constexpr (step == 3 || step == 4) return paethRow<step>(row, above, bytes);
#endif
    int left[step] = {}, corner[step] = {};
    size_t i = 0;
    for (; i + step <= bytes; i += step)
      for (int k = 0; k < step; k++) {
        const int up = above[i + k];
        left[k] = uint8_t(row[i + k] + paeth(left[k], up, corner[k]));
        corner[k] = up;
        row[i + k] = uint8_t(left[k]);
      }
  }
}

bool unfilter(uint8_t* raw, size_t rows, size_t bytes, int step) {
  const uint8_t* above = nullptr;
  for (size_t y = 0; y < rows; y++) {
    uint8_t* row = raw + y * (bytes + 1);
    const int filter = *row++;
    if (filter > 4) return false;
    switch (filter == 0 ? 0 : step) {
      case 0: break;
      case 1: unfilterRow<1>(filter, row, above, bytes); break;
      case 2: unfilterRow<2>(filter, row, above, bytes); break;
      case 3: unfilterRow<3>(filter, row, above, bytes); break;
      case 4: unfilterRow<4>(filter, row, above, bytes); break;
      case 6: unfilterRow<6>(filter, row, above, bytes); break;
      default: unfilterRow<8>(filter, row, above, bytes); break;
    }
    above = row;
  }
  return true;
}

int sampleAt(const uint8_t* row, int depth, size_t i) {
  if (depth == 8) return row[i];
  if (depth == 16) return row[2 * i] << 8 | row[2 * i + 1];
  return (row[i * depth >> 3] >> (8 - depth - int(i * depth & 7))) & ((1 << depth) - 1);
}

/** libpng's grey for the weights that TensorFlow asks for: rounded for 16 bits, cut off for 8. */
int greyOf(int red, int green, int blue, uint32_t rounding) {
  if (red == green && red == blue) return red;
  return int((9797u * uint32_t(red) + 19234u * uint32_t(green) + 3737u * uint32_t(blue) + rounding) >> 15);
}

template <typename T>
struct Writer {
  const Header& header;
  const int channels;
  T* const out;

  T stored(int sample) const {
    if (sizeof(T) == 1) return T(header.depth == 16 ? sample >> 8 : sample);
    return T(header.depth == 16 ? sample : sample * 257);
  }

  /** Pixels of one unfiltered row, to every `right`th place from `left`. */
  void row(const uint8_t* raw, size_t columns, T* to, size_t left, size_t right) const {
    const int count = header.samples(), depth = header.depth;
    const bool hasKey = header.transparency && header.colour != 3;
    if (sizeof(T) == 1 && depth == 8 && header.colour != 3 && count == channels && right == 1 && !(hasKey && channels % 2 == 0)) {
      memcpy(to + left * channels, raw, columns * channels);
      return;
    }
    const int opaque = (1 << depth) - 1, full = depth == 16 ? 65535 : 255, mask = opaque;
    const int stretch = depth < 8 && header.colour == 0 ? 255 / opaque : 1;
    int key[3] = {};
    if (hasKey)
      for (int k = 0; k < count; k++) key[k] = (header.transparency[2 * k] << 8 | header.transparency[2 * k + 1]) & mask;
    const uint32_t rounding = depth == 16 ? 16384 : 0;
    for (size_t x = 0; x < columns; x++) {
      int red, green, blue, alpha = opaque;
      if (header.colour == 3) {
        const uint32_t index = uint32_t(sampleAt(raw, depth, x)), at = index * 3;
        const bool known = at + 2 < header.paletteBytes;
        red = known ? header.palette[at] : 0;
        green = known ? header.palette[at + 1] : 0;
        blue = known ? header.palette[at + 2] : 0;
        if (header.transparency) alpha = index < header.transparencyBytes ? header.transparency[index] : 255;
      } else if (count < 3) {
        const int grey = sampleAt(raw, depth, x * count);
        red = green = blue = grey * stretch;
        if (count == 2) alpha = sampleAt(raw, depth, x * 2 + 1);
        else if (hasKey) alpha = grey == key[0] ? 0 : full;
      } else {
        red = sampleAt(raw, depth, x * count);
        green = sampleAt(raw, depth, x * count + 1);
        blue = sampleAt(raw, depth, x * count + 2);
        if (count == 4) alpha = sampleAt(raw, depth, x * count + 3);
        else if (hasKey) alpha = red == key[0] && green == key[1] && blue == key[2] ? 0 : full;
      }
      T* pixel = to + (left + x * right) * channels;
      if (channels < 3) *pixel++ = stored(greyOf(red, green, blue, rounding));
      else {
        *pixel++ = stored(red);
        *pixel++ = stored(green);
        *pixel++ = stored(blue);
      }
      if (channels % 2 == 0) *pixel = stored(alpha);
    }
  }
};

struct Part {
  size_t left, top, right, down, columns, rows;
};

int partsOf(const Header& header, Part* parts) {
  if (!header.interlaced) {
    parts[0] = {0, 0, 1, 1, header.width, header.height};
    return 1;
  }
  static const uint8_t passes[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  int count = 0;
  for (const auto& pass : passes) {
    if (header.width <= pass[0] || header.height <= pass[1]) continue;
    const size_t columns = (header.width - pass[0] + pass[2] - 1) / pass[2];
    const size_t rows = (header.height - pass[1] + pass[3] - 1) / pass[3];
    parts[count++] = {pass[0], pass[1], pass[2], pass[3], columns, rows};
  }
  return count;
}

bool readHeader(const uint8_t* body, uint32_t length, Header& header) {
  if (length != 13) return false;
  header.width = word(body);
  header.height = word(body + 4);
  header.depth = body[8];
  header.colour = body[9];
  header.interlaced = body[12] == 1;
  const int d = header.depth, c = header.colour;
  const bool small = d == 1 || d == 2 || d == 4;
  const bool known = (c == 0 && (small || d == 8 || d == 16)) || (c == 3 && (small || d == 8)) ||
                     ((c == 2 || c == 4 || c == 6) && (d == 8 || d == 16));
  return known && body[10] == 0 && body[11] == 0 && body[12] <= 1 && header.width > 0 && header.height > 0 &&
         header.width <= 0x7fffffff && header.height <= 0x7fffffff;
}

template <typename T>
int32_t writePixels(const Header& header, uint8_t* raw, const Part* parts, int count, int channels, T* out) {
  const int perPixel = header.samples();
  const int step = perPixel * header.depth / 8 > 1 ? perPixel * header.depth / 8 : 1;
  const Writer<T> writer{header, channels, out};
  for (int i = 0; i < count; i++) {
    const Part& part = parts[i];
    const size_t bytes = (part.columns * perPixel * header.depth + 7) / 8;
    if (!unfilter(raw, part.rows, bytes, step)) return imageCorrupt;
    for (size_t y = 0; y < part.rows; y++) {
      T* row = out + (part.top + y * part.down) * header.width * channels;
      writer.row(raw + y * (bytes + 1) + 1, part.columns, row, part.left, part.right);
    }
    raw += part.rows * (bytes + 1);
  }
  return imageFine;
}

}  // namespace

int32_t tl_png_decode(const uint8_t* file, int64_t length, int32_t channels, int32_t bits, void* out, int64_t room) {
  static const Crc crc;
  Header header;
  const uint8_t* data = nullptr;
  size_t dataBytes = 0;
  std::unique_ptr<uint8_t[]> joined;
  size_t joinedRoom = 0;
  const uint8_t* const end = file + length;
  bool hasHeader = false;
  if (length < 8) return imageInvalid;
  for (const uint8_t* at = file + 8;;) {
    if (end - at < 12) return imageCutOff;
    const uint32_t size = word(at);
    if (size_t(end - at) - 12 < size) return imageCutOff;
    const uint32_t kind = word(at + 4);
    const uint8_t* body = at + 8;
    constexpr uint32_t IHDR = 0x49484452, PLTE = 0x504c5445, IDAT = 0x49444154, IEND = 0x49454e44, tRNS = 0x74524e53;
    if (!hasHeader && kind != IHDR) return imageInvalid;
    const bool needed = kind == IHDR || kind == PLTE || kind == IDAT || kind == IEND || kind == tRNS;
    const bool intact = needed && crc.of(at + 4, size + 4) == word(body + size);
    if (needed && !intact && kind != tRNS) return imageCorrupt;
    if (kind == IHDR) {
      if (hasHeader || !readHeader(body, size, header)) return imageInvalid;
      hasHeader = true;
    } else if (kind == PLTE) {
      header.palette = body;
      header.paletteBytes = size;
    } else if (kind == tRNS && intact) {
      header.transparency = body;
      header.transparencyBytes = size;
    } else if (kind == IDAT) {
      if (!data) data = body;
      else {
        if (!joined) {
          // All parts together are shorter than the file.
          joined.reset(new (std::nothrow) uint8_t[size_t(length)]);
          if (!joined) return imageNoMemory;
          joinedRoom = size_t(length);
          memcpy(joined.get(), data, dataBytes);
          data = joined.get();
        }
        if (dataBytes + size > joinedRoom) return imageInvalid;
        memcpy(joined.get() + dataBytes, body, size);
      }
      dataBytes += size;
    } else if (kind == IEND) break;
    else if (!needed && !(kind >> 24 & 0x20)) return imageInvalid;
    at = body + size + 4;
  }
  if (!data || (header.colour == 3 && !header.palette)) return imageInvalid;
  if (header.colour == 4 || header.colour == 6) header.transparency = nullptr;
  if (header.transparency && header.colour != 3 && header.transparencyBytes < 2u * header.samples()) header.transparency = nullptr;
  if (uint64_t(header.width) * header.height >= (1ull << 29) || channels < 1 || channels > 4) return imageInvalid;
  if (uint64_t(header.width) * header.height * channels * (bits / 8) != uint64_t(room)) return imageInvalid;
  Part parts[7];
  const int count = partsOf(header, parts);
  size_t size = 0;
  for (int i = 0; i < count; i++) size += parts[i].rows * (1 + (parts[i].columns * header.samples() * header.depth + 7) / 8);
  if (uint64_t(dataBytes) * 1032 < size) return imageCutOff;
  std::unique_ptr<uint8_t[]> raw(new (std::nothrow) uint8_t[size]);
  if (!raw) return imageNoMemory;
  if (!inflateZlib(data, dataBytes, raw.get(), size)) return imageCorrupt;
  if (bits == 16) return writePixels(header, raw.get(), parts, count, channels, static_cast<uint16_t*>(out));
  return writePixels(header, raw.get(), parts, count, channels, static_cast<uint8_t*>(out));
}

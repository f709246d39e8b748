/** The heavy parts of writing JPEG files, with libjpeg's results. The TypeScript side has the tables and writes the markers. */
#include <cstring>
#include <memory>
#include <new>

#include "image.h"
#include "jpeg.h"

namespace jpeg {
namespace {

struct Plane {
  int64_t width, height, channels, channel, sampling, most;
};

/** One component of a pixel: grey as it is, or brightness and the two colour differences with 16-bit factors. */
inline uint8_t sampleOf(const uint8_t* pixel, const Plane& p) {
  static const int factors[3][3] = {{19595, 38470, 7471}, {-11059, -21709, 32768}, {32768, -27439, -5329}};
  if (p.channels == 1) return pixel[0];
  const int* f = factors[p.channel];
  const int offset = p.channel == 0 ? 32768 : 128 * 65536 + 32767;
  return uint8_t((f[0] * pixel[0] + f[1] * pixel[1] + f[2] * pixel[2] + offset) >> 16);
}

/** The component at its own size, its last column and row repeated up to whole blocks. */
void fillPlane(const uint8_t* pixels, const Plane& p, uint8_t* out, int64_t width, int64_t height) {
  const auto least = [](int64_t a, int64_t b) { return a < b ? a : b; };
  const bool isHalf = p.sampling != p.most;
  const int64_t rows = isHalf ? (p.height + 1) / 2 : p.height;
  for (int64_t y = 0; y < height; y++) {
    uint8_t* row = out + y * width;
    if (y >= rows) {
      memcpy(row, out + (rows - 1) * width, size_t(width));
      continue;
    }
    const auto at = [&](int64_t line, int64_t x) -> int {
      return sampleOf(pixels + (line * p.width + least(x, p.width - 1)) * p.channels, p);
    };
    if (!isHalf) {
      for (int64_t x = 0; x < width; x++) row[x] = uint8_t(at(y, x));
      continue;
    }
    // The means of four are rounded down and up in turn, so that the whole does not get darker.
    const int64_t lower = least(2 * y + 1, p.height - 1);
    for (int64_t x = 0; x < width; x++) {
      const int sum = at(2 * y, 2 * x) + at(2 * y, 2 * x + 1) + at(lower, 2 * x) + at(lower, 2 * x + 1);
      row[x] = uint8_t((sum + (x & 1 ? 2 : 1)) >> 2);
    }
  }
}

/** One row (which keeps two bits more) or column, after Loeffler, Ligtenberg and Moschytz with 13-bit factors. */
template <int step, bool isRow>
inline void transform(int* x) {
  constexpr int shift = isRow ? 11 : 15, half = 1 << (shift - 1);
  const int s0 = x[0] + x[7 * step], s1 = x[step] + x[6 * step], s2 = x[2 * step] + x[5 * step], s3 = x[3 * step] + x[4 * step];
  const int d0 = x[0] - x[7 * step], d1 = x[step] - x[6 * step], d2 = x[2 * step] - x[5 * step], d3 = x[3 * step] - x[4 * step];
  const int e0 = s0 + s3, e3 = s0 - s3, e1 = s1 + s2, e2 = s1 - s2;
  x[0] = isRow ? (e0 + e1) * 4 : (e0 + e1 + 2) >> 2;
  x[4 * step] = isRow ? (e0 - e1) * 4 : (e0 - e1 + 2) >> 2;
  const int z1 = (e2 + e3) * 4433 + half;
  x[2 * step] = (z1 + e3 * 6270) >> shift;
  x[6 * step] = (z1 - e2 * 15137) >> shift;
  const int z5 = (d3 + d1 + d2 + d0) * 9633 + half;
  const int za = (d3 + d0) * -7373, zb = (d2 + d1) * -20995, zc = (d3 + d1) * -16069 + z5, zd = (d2 + d0) * -3196 + z5;
  x[7 * step] = (d3 * 2446 + za + zc) >> shift;
  x[5 * step] = (d2 * 16819 + zb + zd) >> shift;
  x[3 * step] = (d1 * 25172 + zb + zc) >> shift;
  x[step] = (d0 * 12299 + za + zd) >> shift;
}

void transformBlock(const uint8_t* from, int64_t stride, const uint16_t* quantization, int16_t* out) {
  int work[64];
  for (int y = 0; y < 8; y++) {
    for (int x = 0; x < 8; x++) work[y * 8 + x] = from[y * stride + x] - 128;
    transform<1, true>(work + y * 8);
  }
  for (int x = 0; x < 8; x++) transform<8, false>(work + x);
  for (int i = 0; i < 64; i++) {
    const int divisor = quantization[i] * 8, value = work[i];
    const int size = ((value < 0 ? -value : value) + (divisor >> 1)) / divisor;
    out[i] = int16_t(value < 0 ? -size : size);
  }
}

/** Where symbols and bits of a scan go: they are counted, or written. */
class Writer {
 public:
  Writer(const uint32_t* codes, int32_t* frequencies, uint8_t* out, int64_t room)
      : codes(codes), frequencies(frequencies), out(out), room(room) {}

  void symbol(int table, int symbol) {
    if (!codes) {
      frequencies[257 * table + symbol]++;
      return;
    }
    const uint32_t code = codes[256 * table + symbol];
    bits(code & 0xffff, int(code >> 16));
  }
  void bits(uint32_t value, int size) {
    if (!codes) return;
    buffer = buffer << size | (value & ((1u << size) - 1));
    count += size;
    while (count >= 8) {
      count -= 8;
      const auto byte = uint8_t(buffer >> count);
      put(byte);
      if (byte == 0xff) put(0); // so that it is not taken for a marker
    }
  }
  /** A number in `size` bits; negative ones are one less, so that they begin with 0. */
  void number(int value, int size) {
    if (size > 0) bits(uint32_t(value < 0 ? value - 1 : value), size);
  }
  /** How many bytes there are with the last one filled with ones, or -1 where there was no room for them. */
  int64_t finish() {
    if (codes && count > 0) bits(0x7f, 8 - count);
    return length > room ? -1 : length;
  }

 private:
  const uint32_t* codes;
  int32_t* frequencies;
  uint8_t* out;
  int64_t room, length = 0;
  uint64_t buffer = 0;
  int count = 0;

  void put(uint8_t byte) {
    if (length < room) out[length] = byte;
    length++;
  }
};

inline int sizeOf(int value) {
  const auto magnitude = unsigned(value < 0 ? -value : value);
  return magnitude == 0 ? 0 : 32 - __builtin_clz(magnitude);
}

/** A component of a scan, as TypeScript writes it; `coefficients` is an address. */
struct ScanComponent {
  double coefficients, sampling, across, ownAcross, ownDown, tables;
};

struct ScanPlan {
  double count, first, last, unitsAcross, unitsDown, unused;
};

void writeBlock(Writer& writer, const ScanPlan& plan, int tables, const int16_t* block, int& lastDc) {
  if (plan.first == 0) {
    const int difference = block[0] - lastDc, size = sizeOf(difference);
    writer.symbol(tables, size);
    writer.number(difference, size);
    lastDc = block[0];
  }
  if (plan.last == 0) return;
  int run = 0;
  for (int k = plan.first < 1 ? 1 : int(plan.first); k <= int(plan.last); k++) {
    const int value = block[zigzag[k]];
    if (value == 0) {
      run++;
      continue;
    }
    for (; run > 15; run -= 16) writer.symbol(2 + tables, 0xf0);
    const int size = sizeOf(value);
    writer.symbol(2 + tables, run << 4 | size);
    writer.number(value, size);
    run = 0;
  }
  if (run > 0) writer.symbol(2 + tables, 0);
}

void writeScan(Writer& writer, const ScanPlan& plan, const ScanComponent* components) {
  int lastDc[3] = {};
  const auto put = [&](int i, int64_t x, int64_t y) {
    const auto* coefficients = reinterpret_cast<const int16_t*>(size_t(components[i].coefficients));
    writeBlock(writer, plan, int(components[i].tables), coefficients + (y * int64_t(components[i].across) + x) * 64, lastDc[i]);
  };
  if (plan.count == 1) {
    for (int64_t y = 0; y < int64_t(components[0].ownDown); y++)
      for (int64_t x = 0; x < int64_t(components[0].ownAcross); x++) put(0, x, y);
    return;
  }
  for (int64_t y = 0; y < int64_t(plan.unitsDown); y++)
    for (int64_t x = 0; x < int64_t(plan.unitsAcross); x++)
      for (int i = 0; i < int(plan.count); i++) {
        const auto sampling = int64_t(components[i].sampling);
        for (int64_t j = 0; j < sampling; j++)
          for (int64_t k = 0; k < sampling; k++) put(i, x * sampling + k, y * sampling + j);
      }
}

}  // namespace
}  // namespace jpeg

int32_t tl_jpeg_transform(int64_t pixels, int64_t options, int64_t table, int64_t out) {
  using namespace jpeg;
  const auto* o = reinterpret_cast<const int32_t*>(options);
  const Plane p{o[0], o[1], o[2], o[3], o[4], o[5]};
  const int64_t ownAcross = o[6], ownDown = o[7], across = o[8], down = o[9];
  auto* coefficients = reinterpret_cast<int16_t*>(out);
  const int64_t width = ownAcross * 8, height = ownDown * 8;
  const std::unique_ptr<uint8_t[]> plane(new (std::nothrow) uint8_t[size_t(width * height)]);
  if (!plane) return imageNoMemory;
  fillPlane(reinterpret_cast<const uint8_t*>(pixels), p, plane.get(), width, height);
  memset(coefficients, 0, size_t(across * down) * 128);
  for (int64_t y = 0; y < ownDown; y++) {
    for (int64_t x = 0; x < ownAcross; x++)
      transformBlock(plane.get() + (y * width + x) * 8, width, reinterpret_cast<const uint16_t*>(table), coefficients + (y * across + x) * 64);
    for (int64_t x = ownAcross; x < across; x++) coefficients[(y * across + x) * 64] = coefficients[(y * across + x - 1) * 64];
  }
  for (int64_t y = ownDown; y < down; y++)
    for (int64_t x = 0; x < across; x++) {
      const int64_t inUnit = x - x % p.sampling + p.sampling - 1;
      coefficients[(y * across + x) * 64] = coefficients[((y - 1) * across + inUnit) * 64];
    }
  return imageFine;
}

int64_t tl_jpeg_scan(int64_t plan, int64_t codes, int64_t frequencies, int64_t out, int64_t room) {
  using namespace jpeg;
  const auto* scan = reinterpret_cast<const ScanPlan*>(plan);
  Writer writer(reinterpret_cast<const uint32_t*>(codes), reinterpret_cast<int32_t*>(frequencies), reinterpret_cast<uint8_t*>(out), room);
  writeScan(writer, *scan, reinterpret_cast<const ScanComponent*>(scan + 1));
  return writer.finish();
}

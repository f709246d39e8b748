/** JPEG files: markers, the order of the blocks in a scan, and the way from planes to pixels. */
#include "jpeg.h"

#include <cstring>
#include <new>

#include "image.h"

namespace jpeg {
namespace {

struct Options {
  int channels, ratio;
  bool fancy, recover, accurate;
  size_t top, left, height, width;
};

class Decoder {
 public:
  Decoder(const uint8_t* file, size_t length, const Options& options)
      : at(file + 2), end(file + length), length(length), options(options) {}

  int32_t decode(uint8_t* out, size_t room);

 private:
  const uint8_t* at;
  const uint8_t* end;
  size_t length;
  const Options options;
  bool hasFrame = false, progressive = false, hasJfif = false;
  int adobe = -1;
  size_t width = 0, height = 0, unitsAcross = 0, unitsDown = 0;
  int count = 0, maxH = 1, maxV = 1;
  int restartInterval = 0;
  Component components[4];
  uint16_t quantTables[4][64] = {};
  bool hasQuantTable[4] = {};
  HuffmanTable dcTables[4], acTables[4];

  int nextMarker();
  int32_t readTable(int marker, const uint8_t* body, size_t size);
  int32_t startFrame(const uint8_t* body, size_t size);
  int32_t readScanHeader(const uint8_t* body, size_t size, Scan& scan);
  int32_t prepare();
  int32_t readScans();
  int32_t readScan(const Scan& scan);
  bool quantize(Component& component);
  int32_t space(Space& found) const;
};

/**
 * The table that a description (its kind, how many codes have each length, the symbols) stands for; nothing where it makes no sense.
 * Nearly all files have the same few tables, so what a thread made last of each kind is kept.
 */
const HuffmanTable* tableOf(const uint8_t* description, int total) {
  struct Made {
    uint8_t description[17 + 256];
    size_t size = 0;
    HuffmanTable table;
  };
  static thread_local Made made[8];
  const size_t size = 17 + size_t(total);
  Made& last = made[(description[0] >> 2 & 4) | (description[0] & 3)];
  if (last.size == size && memcmp(last.description, description, size) == 0) return &last.table;
  last.size = 0;
  if (!last.table.make(description + 1, description + 17, total)) return nullptr;
  memcpy(last.description, description, size);
  last.size = size;
  return &last.table;
}

/** The next marker's code, or -1 at the end of the file. */
int Decoder::nextMarker() {
  for (;;) {
    while (at < end && *at != 0xff) at++;
    while (at < end && *at == 0xff) at++;
    if (at >= end) return -1;
    if (*at++ != 0) return at[-1];
  }
}

int32_t Decoder::readTable(int marker, const uint8_t* body, size_t size) {
  if (marker == 0xdb) {
    for (size_t i = 0; i < size;) {
      const int kind = body[i++], wide = kind >> 4 ? 2 : 1;
      if ((kind & 15) > 3 || i + size_t(64 * wide) > size) return imageInvalid;
      for (int k = 0; k < 64; k++, i += size_t(wide))
        quantTables[kind & 15][zigzag[k]] = uint16_t(wide == 2 ? body[i] << 8 | body[i + 1] : body[i]);
      hasQuantTable[kind & 15] = true;
    }
  } else if (marker == 0xc4) {
    for (size_t i = 0; i < size;) {
      if (i + 17 > size) return imageInvalid;
      const int kind = body[i];
      int total = 0;
      for (int k = 0; k < 16; k++) total += body[i + 1 + size_t(k)];
      if (total > 256 || i + 17 + size_t(total) > size || (kind & 0xef) > 3) return imageInvalid;
      const HuffmanTable* table = tableOf(body + i, total);
      if (table == nullptr) return imageInvalid;
      (kind & 16 ? acTables : dcTables)[kind & 15] = *table;
      i += 17 + size_t(total);
    }
  } else if (marker == 0xdd) {
    restartInterval = size >= 2 ? body[0] << 8 | body[1] : 0;
  } else if (marker == 0xe0) {
    if (size >= 14 && memcmp(body, "JFIF", 5) == 0) hasJfif = true;
  } else if (marker == 0xee) {
    if (size >= 12 && memcmp(body, "Adobe", 5) == 0) adobe = body[11];
  } else if (marker == 0xc0 || marker == 0xc1 || marker == 0xc2) {
    progressive = marker == 0xc2;
    return startFrame(body, size);
  } else if (marker >= 0xc3 && marker <= 0xcf && marker != 0xcc) {
    return imageInvalid;
  }
  return imageFine;
}

int32_t Decoder::startFrame(const uint8_t* body, size_t size) {
  if (hasFrame || size < 6 || size != 6 + 3 * size_t(body[5]) || body[0] != 8) return imageInvalid;
  height = size_t(body[1] << 8 | body[2]);
  width = size_t(body[3] << 8 | body[4]);
  count = body[5];
  if (width == 0 || height == 0 || count == 0 || count > 4) return imageInvalid;
  for (int i = 0; i < count; i++) {
    Component& c = components[i];
    c.id = body[6 + 3 * i];
    c.h = body[7 + 3 * i] >> 4;
    c.v = body[7 + 3 * i] & 15;
    c.quantTable = body[8 + 3 * i];
    if (c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4) return imageInvalid;
    if (c.h > maxH) maxH = c.h;
    if (c.v > maxV) maxV = c.v;
  }
  const auto over = [](size_t a, size_t b) { return (a + b - 1) / b; };
  unitsAcross = over(width, size_t(8 * maxH));
  unitsDown = over(height, size_t(8 * maxV));
  for (int i = 0; i < count; i++) {
    Component& c = components[i];
    c.blocksAcross = unitsAcross * size_t(c.h);
    c.blocksDown = unitsDown * size_t(c.v);
    c.ownAcross = over(width * size_t(c.h), size_t(8 * maxH));
    c.ownDown = over(height * size_t(c.v), size_t(8 * maxV));
  }
  hasFrame = true;
  return prepare();
}

/** Sizes and memory of all components, once the image's size is known to be within reason. */
int32_t Decoder::prepare() {
  const size_t ratio = size_t(options.ratio), outWidth = (width + ratio - 1) / ratio, outHeight = (height + ratio - 1) / ratio;
  if (outWidth * outHeight * size_t(count) >= size_t(1) << 29) return imageInvalid;
  size_t blocks = 0;
  for (int i = 0; i < count; i++) blocks += components[i].ownAcross * components[i].ownDown;
  if (!options.recover && blocks > length * 8) return imageCutOff;
  const int smallest = 8 / options.ratio;
  for (int i = 0; i < count; i++) {
    Component& c = components[i];
    int size = smallest;
    while (size < 8 && maxH * smallest % (c.h * size * 2) == 0 && maxV * smallest % (c.v * size * 2) == 0) size *= 2;
    if (maxH * smallest % (c.h * size) != 0 || maxV * smallest % (c.v * size) != 0) return imageInvalid;
    c.size = size;
    c.across = maxH * smallest / (c.h * size);
    c.down = maxV * smallest / (c.v * size);
    c.transform = transformOfSize(size, !options.accurate);
    c.stride = c.blocksAcross * size_t(size);
    c.width = (width * size_t(c.h * size) + size_t(maxH * 8) - 1) / size_t(maxH * 8);
    c.height = (height * size_t(c.v * size) + size_t(maxV * 8) - 1) / size_t(maxV * 8);
    const size_t bytes = c.stride * c.blocksDown * size_t(size);
    c.plane.reset(new (std::nothrow) uint8_t[bytes]);
    if (!c.plane) return imageNoMemory;
    memset(c.plane.get(), 128, bytes); // blocks that never come are grey
    if (!progressive) continue;
    c.coefficients.reset(new (std::nothrow) int16_t[c.blocksAcross * c.blocksDown * 64]());
    if (!c.coefficients) return imageNoMemory;
  }
  return imageFine;
}

int32_t Decoder::readScanHeader(const uint8_t* body, size_t size, Scan& scan) {
  scan.count = size > 0 ? body[0] : 0;
  if (!hasFrame || scan.count < 1 || scan.count > 4 || size != 4 + 2 * size_t(scan.count)) return imageInvalid;
  int blocks = 0;
  for (int i = 0; i < scan.count; i++) {
    int index = 0;
    while (index < count && components[index].id != body[1 + 2 * i]) index++;
    if (index == count) return imageInvalid;
    for (int k = 0; k < i; k++)
      if (scan.index[k] == index) return imageInvalid;
    scan.index[i] = index;
    scan.dc[i] = body[2 + 2 * i] >> 4;
    scan.ac[i] = body[2 + 2 * i] & 15;
    if (scan.dc[i] > 3 || scan.ac[i] > 3) return imageInvalid;
    blocks += components[index].h * components[index].v;
  }
  if (scan.count > 1 && blocks > 10) return imageInvalid;
  const uint8_t* rest = body + 1 + 2 * scan.count;
  scan.first = rest[0];
  scan.last = rest[1];
  scan.highBit = rest[2] >> 4;
  scan.lowBit = rest[2] & 15;
  if (progressive) {
    const bool fits = scan.first == 0 ? scan.last == 0 : scan.count == 1 && scan.first <= scan.last && scan.last <= 63;
    if (!fits || (scan.highBit != 0 && scan.lowBit != scan.highBit - 1) || scan.lowBit > 13) return imageInvalid;
  }
  return imageFine;
}

int32_t Decoder::readScans() {
  for (int scans = 0;;) {
    const int marker = nextMarker();
    if (marker < 0) return options.recover && scans > 0 ? imageFine : imageCutOff;
    if (marker == 0xd9) return scans > 0 || options.recover ? imageFine : imageInvalid;
    if ((marker >= 0xd0 && marker <= 0xd7) || marker == 0x01) continue;
    const size_t size = end - at >= 2 ? size_t(at[0] << 8 | at[1]) : 0;
    if (size < 2 || size > size_t(end - at)) return options.recover && scans > 0 ? imageFine : imageCutOff;
    const uint8_t* body = at + 2;
    at += size;
    int32_t problem;
    if (marker == 0xda) {
      Scan scan;
      problem = readScanHeader(body, size - 2, scan);
      if (!problem) problem = readScan(scan);
      scans++;
    } else problem = readTable(marker, body, size - 2);
    if (problem == imageNoMemory) return problem;
    if (problem) return options.recover && scans > 0 ? imageFine : problem;
  }
}

bool Decoder::quantize(Component& c) {
  if (c.isQuantized) return true;
  if (c.quantTable > 3 || !hasQuantTable[c.quantTable]) return false;
  prepareQuantization(quantTables[c.quantTable], c.size == 8 && !options.accurate, c.quantization);
  return c.isQuantized = true;
}

int32_t Decoder::readScan(const Scan& scan) {
  const bool needsDc = scan.first == 0 && scan.highBit == 0, needsAc = !progressive || scan.first > 0;
  for (int i = 0; i < scan.count; i++) {
    if ((needsDc || !progressive) && !dcTables[scan.dc[i]].isSet) return imageInvalid;
    if (needsAc && !acTables[scan.ac[i]].isSet) return imageInvalid;
    if (!quantize(components[scan.index[i]])) return imageInvalid;
  }
  BitReader bits{at, end, options.recover};
  int lastDc[4] = {}, run = 0, restarts = 0, untilRestart = restartInterval;
  const bool alone = scan.count == 1;
  const Component& only = components[scan.index[0]];
  const size_t across = alone ? only.ownAcross : unitsAcross, down = alone ? only.ownDown : unitsDown;
  const auto readBlock = [&](int i, size_t x, size_t y) {
    Component& c = components[scan.index[i]];
    if (!progressive) readSequential(c, bits, dcTables[scan.dc[i]], acTables[scan.ac[i]], lastDc[i], x, y);
    else readProgressive(scan, bits, dcTables[scan.dc[i]], acTables[scan.ac[i]], lastDc[i], run, c.coefficients.get() + (y * c.blocksAcross + x) * 64);
  };
  bool isOver = false;
  for (size_t y = 0; y < down && !isOver; y++) {
    for (size_t x = 0; x < across; x++) {
      if (restartInterval > 0 && untilRestart == 0) {
        bits.restart(restarts++ & 7);
        memset(lastDc, 0, sizeof lastDc);
        run = 0;
        untilRestart = restartInterval;
      }
      untilRestart--;
      if (bits.cutOff) return imageCutOff;
      if (bits.starved) {
        if (restartInterval > 0) continue;
        isOver = true; // nothing more comes: what is left stays as it is
        break;
      }
      if (alone) readBlock(0, x, y);
      else
        for (int i = 0; i < scan.count; i++) {
          const size_t h = size_t(components[scan.index[i]].h), v = size_t(components[scan.index[i]].v);
          for (size_t j = 0; j < v; j++)
            for (size_t k = 0; k < h; k++) readBlock(i, x * h + k, y * v + j);
        }
    }
  }
  if (bits.cutOff) return imageCutOff;
  at = bits.marker != 0 && bits.at - at >= 2 ? bits.at - 2 : bits.at;
  return imageFine;
}

int32_t Decoder::space(Space& found) const {
  if (count == 1) found = Space::grey;
  else if (count == 4) found = adobe <= 0 ? Space::CMYK : Space::YCCK;
  else if (count != 3) return imageInvalid;
  else if (hasJfif) found = Space::YCbCr;
  else if (adobe >= 0) found = adobe == 0 ? Space::RGB : Space::YCbCr;
  else found = components[0].id == 82 && components[1].id == 71 && components[2].id == 66 ? Space::RGB : Space::YCbCr;
  return imageFine;
}

int32_t Decoder::decode(uint8_t* out, size_t room) {
  if (const int32_t problem = readScans()) return problem;
  if (!hasFrame) return imageInvalid;
  Space found;
  if (const int32_t problem = space(found)) return problem;
  const int channels = options.channels;
  if ((channels != 1 && channels != 3) || (channels == 1 && count == 4)) return imageInvalid;
  for (int i = 0; i < count; i++) {
    Component& c = components[i];
    if (!quantize(c)) return imageInvalid;
    if (!progressive) continue;
    for (size_t y = 0; y < c.blocksDown; y++)
      for (size_t x = 0; x < c.blocksAcross; x++)
        c.transform(c.coefficients.get() + (y * c.blocksAcross + x) * 64, c.quantization,
                    c.plane.get() + (y * c.stride + x) * size_t(c.size), c.stride);
  }
  const size_t ratio = size_t(options.ratio), fullWidth = (width + ratio - 1) / ratio, fullHeight = (height + ratio - 1) / ratio;
  if (options.height < 1 || options.width < 1 || options.top + options.height > fullHeight || options.left + options.width > fullWidth ||
      options.width * options.height * size_t(channels) != room)
    return imageInvalid;
  const int used = channels == 1 && found != Space::RGB ? 1 : count;
  const bool fancy = options.fancy && options.ratio < 8;
  std::unique_ptr<uint8_t[]> memory[4];
  uint8_t* rows[4] = {};
  for (int i = 0; i < used; i++) {
    const size_t stretched = components[i].width * size_t(components[i].across);
    memory[i].reset(new (std::nothrow) uint8_t[(stretched > fullWidth ? stretched : fullWidth) + 8]);
    if (!memory[i]) return imageNoMemory;
    rows[i] = memory[i].get() + options.left;
  }
  for (size_t y = 0; y < options.height; y++) {
    for (int i = 0; i < used; i++) {
      const Component& c = components[i];
      if (c.across == 1 && c.down == 1) rows[i] = c.plane.get() + (options.top + y) * c.stride + options.left;
      else readRow(c, options.top + y, fullWidth, fancy, memory[i].get());
    }
    convertRow(found, channels, adobe >= 0, rows, out + y * options.width * size_t(channels), options.width);
  }
  return imageFine;
}

}  // namespace
}  // namespace jpeg

int32_t tl_jpeg_decode(const uint8_t* file, int64_t length, const int32_t* o, void* out, int64_t room) {
  if (length < 2 || file[0] != 0xff || file[1] != 0xd8) return imageInvalid;
  if ((o[1] != 1 && o[1] != 2 && o[1] != 4 && o[1] != 8) || o[5] < 0 || o[6] < 0 || o[7] < 0 || o[8] < 0) return imageInvalid;
  const jpeg::Options options{o[0], o[1], o[2] != 0, o[3] != 0, o[4] != 0, size_t(o[5]), size_t(o[6]), size_t(o[7]), size_t(o[8])};
  const std::unique_ptr<jpeg::Decoder> decoder(new (std::nothrow) jpeg::Decoder(file, size_t(length), options));
  if (!decoder) return imageNoMemory;
  return decoder->decode(static_cast<uint8_t*>(out), size_t(room));
}

/** JPEG files: what the parts of the decoder share. The TypeScript side explains the format. */
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace jpeg {

extern const uint8_t zigzag[80];

/** A Huffman code; `quick` finds codes of up to nine bits in one step. */
struct HuffmanTable {
  uint16_t quick[512];
  /**
   * For codes of coefficients: where the code and the number after it fit into ten bits, the number times 256, the run of
   * zeros before it times 16, and how many bits both have; 0 elsewhere.
   */
  int16_t whole[1024];
  int32_t maxCode[18];
  int32_t offset[17];
  uint8_t symbols[256];
  int count = 0;
  bool isSet = false;
  bool make(const uint8_t* counts, const uint8_t* from, int total);
  /** The symbol of a code that `quick` does not have, at the front of 16 bits; takes its bits off `left`. */
  int longCode(uint32_t bits, int& left) const;
};

/** The bits of a scan; at a marker, and at the end where that is allowed, there are zeros. */
struct BitReader {
  const uint8_t* at;
  const uint8_t* end;
  bool recover;
  uint64_t buffer = 0;
  int count = 0;
  int marker = 0;
  bool starved = false;
  /** The bytes ended in the middle of the data. */
  bool cutOff = false;

  /** Where the next byte 0xff is, or the end; looked for again once `at` is behind it. */
  const uint8_t* special = nullptr;
  /** How far `at` may go so that eight bytes from there are plain data. */
  const uint8_t* plainUntil();

  void fillSlowly(int needed);
  /** Reads ahead, and makes sure of `needed` bits. */
  void fill(int needed) {
    if (count <= 32 && end - at >= 4 && marker == 0) {
      const uint32_t word = uint32_t(at[0]) << 24 | uint32_t(at[1]) << 16 | uint32_t(at[2]) << 8 | at[3];
      // No byte of the four is 0xff: none of the inverted bytes is zero.
      const uint32_t inverted = ~word;
      if (!((inverted - 0x01010101u) & ~inverted & 0x80808080u)) {
        buffer = buffer << 32 | word;
        count += 32;
        at += 4;
        return;
      }
    }
    fillSlowly(needed);
  }
  uint32_t bits(int n) {
    if (count < n) fill(n);
    count -= n;
    return uint32_t(buffer >> count) & ((1u << n) - 1);
  }
  uint32_t bit() { return bits(1); }
  int symbol(const HuffmanTable& table) {
    if (count < 16) fill(0);
    if (count >= 9) {
      const uint32_t entry = table.quick[(buffer >> (count - 9)) & 511];
      if (entry) {
        count -= int(entry >> 8);
        return int(entry & 255);
      }
    }
    return longSymbol(table);
  }
  int longSymbol(const HuffmanTable& table);
  /** A number whose size is known, where a leading 0 means negative. */
  int number(int size) {
    if (size == 0) return 0;
    const int value = int(bits(size));
    return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
  }
  void restart(int number);
};

/** A transform of one block: coefficients in rows, quantization as that transform wants it, samples out. */
using Transform = void (*)(const int16_t* coefficients, const int16_t* quantization, uint8_t* to, size_t stride);
Transform transformOfSize(int size, bool isFast);
/** A quantization table as the transform wants it. */
void prepareQuantization(const uint16_t* table, bool isFast, int16_t* out);

struct Component {
  int id = 0, h = 0, v = 0, quantTable = 0;
  size_t blocksAcross = 0, blocksDown = 0, ownAcross = 0, ownDown = 0;
  /** Progressive files only. */
  std::unique_ptr<int16_t[]> coefficients;
  std::unique_ptr<uint8_t[]> plane;
  size_t stride = 0, width = 0, height = 0;
  int size = 8, across = 1, down = 1;
  Transform transform = nullptr;
  int16_t quantization[64] = {};
  bool isQuantized = false;
};

/** What a scan has: which components, with which tables, and which coefficients and bits of them. */
struct Scan {
  int count = 0;
  int index[4], dc[4], ac[4];
  int first = 0, last = 0, highBit = 0, lowBit = 0;
};

/** Reads a block that comes at once and puts its samples at that place of the component's plane. */
void readSequential(Component& component, BitReader& bits, const HuffmanTable& dc, const HuffmanTable& ac, int& lastDc, size_t x, size_t y);
/** Reads what one scan of a progressive file says about a block; `run` counts the blocks ahead about which it says nothing. */
void readProgressive(const Scan& scan, BitReader& bits, const HuffmanTable& dc, const HuffmanTable& ac, int& lastDc, int& run, int16_t* block);

enum class Space { grey, YCbCr, RGB, CMYK, YCCK };

/** Writes row `y` of a component at the size of the image to `row`, which has room for a few samples more. */
void readRow(const Component& component, size_t y, size_t width, bool fancy, uint8_t* row);
/** Pixels with 1 or 3 channels out of rows of components. */
void convertRow(Space space, int channels, bool inverted, uint8_t* const* rows, uint8_t* out, size_t width);

/** Where each byte of 16 pixels, in three parts, comes from in the samples of its own channel; -1 elsewhere. */
extern const int8_t pixelPlaces[3][3][16];
/** Converts as many pixels as come in groups of 32, if the processor can; gives how many. */
size_t convertWide(const uint8_t* a, const uint8_t* b, const uint8_t* c, uint8_t* out, size_t width);
/** Stretches samples both ways, from the second one on, as many as come in groups of 16; gives the next one. */
size_t stretchWide(const uint8_t* here, const uint8_t* near, size_t width, uint8_t* row);

}  // namespace jpeg

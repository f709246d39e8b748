/** The blocks of a JPEG file: coefficients out of the bits of a scan. */
#include <cstring>

#include "jpeg.h"

namespace jpeg {
namespace {

inline uint64_t eightBytes(const uint8_t* at) {
  uint64_t word;
  memcpy(&word, at, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return word;
#else
  return __builtin_bswap64(word);
#endif
}

/**
 * Reads coefficients from number `k` on as long as the bytes ahead are plain data. True at the end of the block; otherwise
 * whoever can deal with markers and with the end goes on.
 *
 * The next bits are at the top of `window`, of which `count` have been taken off `at`; those behind them are right already.
 * Filling it up to 56 bits or more has no branch, and suffices for two codes with short numbers and one of any kind.
 */
bool readPlain(BitReader& bits, const HuffmanTable& ac, int16_t* block, int& k) {
  const uint8_t *at = bits.at, *const until = bits.plainUntil();
  if (at > until) return false;
  int count = bits.count, next = k;
  uint64_t window = count == 0 ? 0 : bits.buffer << (64 - count);
  bool isOver = false;
  const auto shortCode = [&] {
    const int entry = ac.whole[window >> 54];
    if (entry == 0) return false;
    next += (entry >> 4) & 15;
    window <<= entry & 15;
    count -= entry & 15;
    block[zigzag[next++]] = int16_t(entry >> 8);
    return true;
  };
  while (at <= until) {
    if (count < 56) {
      window |= eightBytes(at) >> count;
      at += (63 - count) >> 3;
      count |= 56;
    }
    if (shortCode()) {
      if (next > 63) {
        isOver = true;
        break;
      }
      if (shortCode()) {
        if (next > 63) {
          isOver = true;
          break;
        }
        continue;
      }
    }
    const uint32_t quick = ac.quick[window >> 55];
    int symbol = int(quick & 255), length = int(quick >> 8);
    if (!quick) {
      int taken = 0;
      symbol = ac.longCode(uint32_t(window >> 48), taken);
      length = -taken;
    }
    const int size = symbol & 15;
    window <<= length;
    count -= length;
    if (size == 0) {
      next += 16;
      if (symbol >> 4 == 15 && next <= 63) continue;
      isOver = true;
      break;
    }
    next += symbol >> 4;
    const int value = int(window >> (64 - size));
    window <<= size;
    count -= size;
    block[zigzag[next++]] = int16_t(value < 1 << (size - 1) ? value - (1 << size) + 1 : value);
    if (next > 63) {
      isOver = true;
      break;
    }
  }
  bits.at = at;
  bits.count = count;
  bits.buffer = count == 0 ? 0 : window >> (64 - count);
  k = next;
  return isOver;
}

}  // namespace

void readSequential(Component& c, BitReader& bits, const HuffmanTable& dc, const HuffmanTable& ac, int& lastDc, size_t x, size_t y) {
  alignas(16) int16_t block[64] = {};
  lastDc = int(unsigned(lastDc) + unsigned(bits.number(bits.symbol(dc) & 15)));
  block[0] = int16_t(lastDc);
  int k = 1;
  if (readPlain(bits, ac, block, k)) {
    c.transform(block, c.quantization, c.plane.get() + (y * c.stride + x) * size_t(c.size), c.stride);
    return;
  }
  for (; k < 64; k++) {
    const int symbol = bits.symbol(ac), size = symbol & 15, zeros = symbol >> 4;
    if (size != 0) {
      k += zeros;
      block[zigzag[k]] = int16_t(bits.number(size));
    } else if (zeros == 15) k += 15;
    else break;
  }
  c.transform(block, c.quantization, c.plane.get() + (y * c.stride + x) * size_t(c.size), c.stride);
}

void readProgressive(const Scan& scan, BitReader& bits, const HuffmanTable& dc, const HuffmanTable& ac, int& lastDc, int& run, int16_t* block) {
  const int low = scan.lowBit, last = scan.last;
  if (scan.first == 0) {
    if (scan.highBit == 0) {
      lastDc = int(unsigned(lastDc) + unsigned(bits.number(bits.symbol(dc) & 15)));
      block[0] = int16_t(unsigned(lastDc) << low);
    } else if (bits.bit()) block[0] = int16_t(block[0] | 1 << low);
    return;
  }
  if (scan.highBit == 0) {
    if (run > 0) {
      run--;
      return;
    }
    for (int k = scan.first; k <= last; k++) {
      const int symbol = bits.symbol(ac), size = symbol & 15, zeros = symbol >> 4;
      if (size == 0) {
        if (zeros != 15) {
          run = (1 << zeros) - 1 + (zeros > 0 ? int(bits.bits(zeros)) : 0);
          return;
        }
        k += 15;
      } else {
        k += zeros;
        block[zigzag[k]] = int16_t(unsigned(bits.number(size)) << low);
      }
    }
    return;
  }
  const int one = 1 << low;
  const auto refine = [&](int16_t& value) {
    if (bits.bit() && !(value & one)) value = int16_t(value >= 0 ? value + one : value - one);
  };
  int k = scan.first;
  if (run == 0) {
    for (; k <= last; k++) {
      const int symbol = bits.symbol(ac);
      int zeros = symbol >> 4, fresh = 0;
      if (symbol & 15) fresh = bits.bit() ? one : -one;
      else if (zeros != 15) {
        run = (1 << zeros) + (zeros > 0 ? int(bits.bits(zeros)) : 0);
        break;
      }
      for (; k <= last; k++) {
        int16_t& value = block[zigzag[k]];
        if (value != 0) refine(value);
        else if (--zeros < 0) {
          if (fresh != 0) value = int16_t(fresh);
          break;
        }
      }
    }
  }
  if (run > 0) {
    for (; k <= last; k++) {
      int16_t& value = block[zigzag[k]];
      if (value != 0) refine(value);
    }
    run--;
  }
}

}  // namespace jpeg

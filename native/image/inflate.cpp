/** Inflate: Huffman codes by tables of two levels, bits taken eight bytes at a time. */
#include "inflate.h"

#include <cstring>

namespace {

/** What a code stands for. */
struct Entry {
  uint16_t value;
  /** How many bits the code has; for a second table, how many bits find the place in it. */
  uint8_t bits;
  /** The number of bits that follow the code, or one of the kinds below. */
  uint8_t extra;
};
constexpr uint8_t literal = 0x80, endOfBlock = 0x40, secondTable = 0x20, invalid = 0x10;

constexpr int lengthBits = 10, distanceBits = 8;

struct Bits {
  const uint8_t* at;
  const uint8_t* end;
  uint64_t buffer = 0;
  int count = 0;
  /** Bytes beyond the end that were taken as zeros. */
  int missing = 0;

  void fill() {
    if (end - at >= 8) {
      uint64_t word;
      memcpy(&word, at, 8);
      buffer |= word << count;
      at += (63 - count) >> 3;
      count |= 56;
      return;
    }
    while (count <= 56) {
      if (at < end) buffer |= uint64_t(*at++) << count;
      else missing++;
      count += 8;
    }
  }
  uint32_t take(int n) {
    uint32_t value = uint32_t(buffer & ((uint64_t(1) << n) - 1));
    buffer >>= n;
    count -= n;
    return value;
  }
  bool isPastEnd() const { return missing * 8 > count; }
};

const uint16_t lengthBase[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
const uint8_t lengthExtra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
const uint16_t distanceBase[30] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
                                   193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};

Entry lengthEntry(int symbol) {
  if (symbol < 256) return {uint16_t(symbol), 0, literal};
  if (symbol == 256) return {0, 0, endOfBlock};
  if (symbol > 285) return {0, 0, invalid};
  return {lengthBase[symbol - 257], 0, lengthExtra[symbol - 257]};
}
Entry distanceEntry(int symbol) {
  if (symbol > 29) return {0, 0, invalid};
  return {distanceBase[symbol], 0, uint8_t(symbol < 4 ? 0 : symbol / 2 - 1)};
}
Entry plainEntry(int symbol) { return {uint16_t(symbol), 0, 0}; }

uint32_t reversed(uint32_t code, int bits) {
  uint32_t out = 0;
  for (int i = 0; i < bits; i++) out |= ((code >> i) & 1) << (bits - 1 - i);
  return out;
}

/** Makes the tables of a code from the lengths of its symbols; false when there is no such code. */
bool makeTable(const uint8_t* lengths, int symbols, int primary, Entry* table, int room, Entry (*make)(int)) {
  int counts[16] = {}, used = 0;
  for (int i = 0; i < symbols; i++) counts[lengths[i]]++;
  uint32_t next[16] = {}, code = 0;
  int left = 1;
  for (int bits = 1; bits < 16; bits++) {
    left = left * 2 - counts[bits];
    if (left < 0) return false;
    used += counts[bits];
    next[bits] = code;
    code = (code + counts[bits]) << 1;
  }
  // A code with gaps is legal only where there is one symbol or none.
  if (left > 0 && used > 1) return false;
  const int size = 1 << primary;
  for (int i = 0; i < size; i++) table[i] = {0, 1, invalid};
  uint8_t longest[1 << lengthBits] = {};
  uint32_t codes[320];
  for (int i = 0; i < symbols; i++) {
    if (lengths[i] == 0) continue;
    codes[i] = reversed(next[lengths[i]]++, lengths[i]);
    uint8_t& most = longest[codes[i] & (size - 1)];
    if (lengths[i] > primary && lengths[i] > most) most = lengths[i];
  }
  int end = size;
  for (int i = 0; i < size; i++) {
    if (longest[i] == 0) continue;
    const int bits = longest[i] - primary;
    if (end + (1 << bits) > room) return false;
    table[i] = {uint16_t(end), uint8_t(bits), secondTable};
    for (int k = 0; k < 1 << bits; k++) table[end + k] = {0, 1, invalid};
    end += 1 << bits;
  }
  for (int i = 0; i < symbols; i++) {
    const int bits = lengths[i];
    if (bits == 0) continue;
    Entry entry = make(i);
    if (bits <= primary) {
      entry.bits = uint8_t(bits);
      for (int k = int(codes[i]); k < size; k += 1 << bits) table[k] = entry;
      continue;
    }
    const Entry& second = table[codes[i] & (size - 1)];
    entry.bits = uint8_t(bits - primary);
    for (int k = int(codes[i] >> primary); k < 1 << second.bits; k += 1 << (bits - primary)) table[second.value + k] = entry;
  }
  return true;
}

inline Entry decode(Bits& bits, const Entry* table, int primary) {
  Entry entry = table[bits.buffer & ((1u << primary) - 1)];
  if (entry.extra == secondTable) {
    bits.take(primary);
    entry = table[entry.value + (bits.buffer & ((1u << entry.bits) - 1))];
  }
  bits.take(entry.bits);
  return entry;
}

struct Tables {
  Entry lengths[2048];
  Entry distances[1024];
};

bool fixedTables(Tables& tables) {
  uint8_t lengths[288];
  memset(lengths, 8, 144);
  memset(lengths + 144, 9, 112);
  memset(lengths + 256, 7, 24);
  memset(lengths + 280, 8, 8);
  uint8_t all[32];
  memset(all, 5, 32);
  return makeTable(lengths, 288, lengthBits, tables.lengths, 2048, lengthEntry) &&
         makeTable(all, 32, distanceBits, tables.distances, 1024, distanceEntry);
}

bool readTables(Bits& bits, Tables& tables) {
  static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  bits.fill();
  const int lengthCount = int(bits.take(5)) + 257, distanceCount = int(bits.take(5)) + 1, count = int(bits.take(4)) + 4;
  if (lengthCount > 286 || distanceCount > 30) return false;
  uint8_t lengths[320] = {};
  for (int i = 0; i < count; i++) {
    bits.fill();
    lengths[order[i]] = uint8_t(bits.take(3));
  }
  Entry codes[128];
  if (!makeTable(lengths, 19, 7, codes, 128, plainEntry)) return false;
  memset(lengths, 0, sizeof lengths);
  for (int i = 0; i < lengthCount + distanceCount;) {
    bits.fill();
    const Entry entry = decode(bits, codes, 7);
    if (entry.extra & invalid || bits.isPastEnd()) return false;
    if (entry.value < 16) {
      lengths[i++] = uint8_t(entry.value);
      continue;
    }
    if (entry.value == 16 && i == 0) return false;
    const uint8_t value = entry.value == 16 ? lengths[i - 1] : 0;
    const int times = entry.value == 16 ? 3 + int(bits.take(2)) : entry.value == 17 ? 3 + int(bits.take(3)) : 11 + int(bits.take(7));
    if (i + times > lengthCount + distanceCount) return false;
    memset(lengths + i, value, times);
    i += times;
  }
  if (lengths[256] == 0) return false;
  return makeTable(lengths, lengthCount, lengthBits, tables.lengths, 2048, lengthEntry) &&
         makeTable(lengths + lengthCount, distanceCount, distanceBits, tables.distances, 1024, distanceEntry);
}

/** Copies from what was written before; the two places may overlap, and then repeat. */
inline void repeat(uint8_t* to, size_t distance, size_t length, const uint8_t* end) {
  const uint8_t* from = to - distance;
  if (distance >= 8 && size_t(end - to) >= length + 8) {
    uint8_t* const stop = to + length;
    while (to < stop) {
      memcpy(to, from, 8);
      to += 8;
      from += 8;
    }
    return;
  }
  if (distance == 1) {
    memset(to, *from, length);
    return;
  }
  for (size_t i = 0; i < length; i++) to[i] = from[i];
}

}  // namespace

bool inflateZlib(const uint8_t* in, size_t length, uint8_t* out, size_t room) {
  if (length < 2 || (in[0] & 15) != 8 || (in[0] >> 4) > 7 || ((in[0] << 8) | in[1]) % 31 != 0 || in[1] & 32) return false;
  Bits bits{in + 2, in + length};
  uint8_t* to = out;
  uint8_t* const end = out + room;
  Tables tables;
  for (;;) {
    bits.fill();
    const bool isLast = bits.take(1);
    const uint32_t kind = bits.take(2);
    if (kind == 0) {
      bits.take(bits.count & 7);
      bits.fill();
      const uint32_t size = bits.take(16), check = bits.take(16);
      if ((size ^ 0xffff) != check || bits.isPastEnd()) return false;
      // What was read ahead goes back.
      bits.at -= bits.count / 8 - bits.missing;
      bits.buffer = 0;
      bits.count = bits.missing = 0;
      if (size_t(bits.end - bits.at) < size && size_t(end - to) > size_t(bits.end - bits.at)) return false;
      const size_t taken = size < size_t(end - to) ? size : size_t(end - to);
      memcpy(to, bits.at, taken);
      to += taken;
      bits.at += taken;
    } else {
      if (kind == 3 || !(kind == 1 ? fixedTables(tables) : readTables(bits, tables))) return false;
      for (;;) {
        if (to == end) return !bits.isPastEnd();
        bits.fill();
        if (bits.isPastEnd()) return false;
        // Literals come in rows: three with short codes leave enough bits for whatever follows them.
        if (end - to >= 3) {
          int taken = 0;
          for (; taken < 3; taken++) {
            const Entry quick = tables.lengths[bits.buffer & ((1u << lengthBits) - 1)];
            if (quick.extra != literal) break;
            bits.take(quick.bits);
            *to++ = uint8_t(quick.value);
          }
          if (taken == 3) continue;
        }
        const Entry entry = decode(bits, tables.lengths, lengthBits);
        if (entry.extra == literal) {
          if (to == end) return !bits.isPastEnd();
          *to++ = uint8_t(entry.value);
          continue;
        }
        if (entry.extra == endOfBlock) break;
        if (entry.extra & invalid) return false;
        bits.fill();
        size_t count = entry.value + bits.take(entry.extra);
        const Entry place = decode(bits, tables.distances, distanceBits);
        if (place.extra & invalid) return false;
        const size_t distance = place.value + bits.take(place.extra);
        if (distance > size_t(to - out)) return false;
        if (count > size_t(end - to)) count = size_t(end - to);
        repeat(to, distance, count, end);
        to += count;
      }
      if (bits.isPastEnd()) return false;
    }
    if (to == end) return true;
    if (isLast) return false;
  }
}

/** @file Hashes of strings that never change, by which strings are put into buckets; src/ops/string says the same in TypeScript. */
#include <cstring>

#include "../tensorloom.h"

namespace {

uint64_t at64(const uint8_t* p) {
  uint64_t x;
  memcpy(&x, p, sizeof x);
  return x;
}
uint64_t at32(const uint8_t* p) {
  uint32_t x;
  memcpy(&x, p, sizeof x);
  return x;
}
uint64_t right(uint64_t x, int by) { return (x >> by) | (x << (64 - by)); }
uint64_t left(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }
uint64_t shiftMix(uint64_t x) { return x ^ (x >> 47); }

/** FarmHash's 64-bit fingerprint. */
namespace farm {

constexpr uint64_t k0 = 0xc3a5c85c97cb3127, k1 = 0xb492b66fbe98f273, k2 = 0x9ae16a3b2f90404f;

uint64_t hash16(uint64_t u, uint64_t v, uint64_t factor) {
  const uint64_t a = shiftMix((u ^ v) * factor);
  return shiftMix((v ^ a) * factor) * factor;
}

uint64_t upTo16(const uint8_t* s, uint64_t length) {
  const uint64_t factor = k2 + length * 2;
  if (length >= 8) {
    const uint64_t a = at64(s) + k2, b = at64(s + length - 8);
    return hash16(right(b, 37) * factor + a, (right(a, 25) + b) * factor, factor);
  }
  if (length >= 4) return hash16(length + (at32(s) << 3), at32(s + length - 4), factor);
  if (length == 0) return k2;
  const uint64_t y = s[0] + (uint64_t(s[length >> 1]) << 8), z = length + (uint64_t(s[length - 1]) << 2);
  return shiftMix((y * k2) ^ (z * k0)) * k2;
}

/** What short strings are hashed by: their first and last sixteen bytes. */
struct Ends {
  uint64_t hash, factor, a, y;
};

Ends ends(const uint8_t* s, uint64_t length, uint64_t multiplier) {
  const uint64_t factor = k2 + length * 2;
  const uint64_t a = at64(s) * multiplier, b = at64(s + 8);
  const uint64_t c = at64(s + length - 8) * factor, d = at64(s + length - 16) * k2;
  const uint64_t y = right(a + b, 43) + right(c, 30) + d;
  return {hash16(y, a + right(b + k2, 18) + c, factor), factor, a, y};
}

uint64_t upTo64(const uint8_t* s, uint64_t length) {
  const Ends by = ends(s, length, k2);
  const uint64_t e = at64(s + 16) * by.factor, f = at64(s + 24);
  const uint64_t g = (by.y + at64(s + length - 32)) * by.factor, h = (by.hash + at64(s + length - 24)) * by.factor;
  return hash16(right(e + f, 43) + right(g, 30) + h, e + right(f + by.a, 18) + g, by.factor);
}

struct Pair {
  uint64_t first, second;
};

Pair weak32(const uint8_t* s, uint64_t a, uint64_t b) {
  a += at64(s);
  b = right(b + a + at64(s + 24), 21);
  const uint64_t sum = a + at64(s + 8) + at64(s + 16);
  return {sum + at64(s + 24), b + right(sum, 44) + a};
}

/** What is kept while a long string is read, 64 bytes at a time. */
struct State {
  uint64_t x, y, z;
  Pair v, w;

  void read(const uint8_t* s, uint64_t factor, uint64_t second, uint64_t first) {
    x = right(x + y + v.first + at64(s + 8), 37) * factor;
    y = right(y + v.second + at64(s + 48), 42) * factor;
    x ^= w.second * second;
    y += v.first * first + at64(s + 40);
    z = right(z + w.first, 33) * factor;
    v = weak32(s, v.second * factor, x + w.first);
    w = weak32(s + 32, z + w.second, y + at64(s + 16));
    const uint64_t before = z;
    z = x;
    x = before;
  }
};

uint64_t fingerprint(const uint8_t* s, uint64_t length) {
  if (length <= 16) return upTo16(s, length);
  if (length <= 32) return ends(s, length, k1).hash;
  if (length <= 64) return upTo64(s, length);
  const uint64_t seed = 81, y = seed * k1 + 113;
  State state{seed * k2 + at64(s), y, shiftMix(y * k2 + 113) * k2, {0, 0}, {0, 0}};
  const uint64_t rest = (length - 1) & 63;
  for (uint64_t at = 0; at < length - 1 - rest; at += 64) state.read(s + at, k1, 1, 1);
  const uint64_t factor = k1 + ((state.z & 0xff) << 1);
  state.w.first += rest;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.read(s + length - 64, factor, 9, 9);
  const auto& [x, last, z, v, w] = state;
  return hash16(hash16(v.first, w.first, factor) + shiftMix(last) * k0 + z, hash16(v.second, w.second, factor) + x, factor);
}

}  // namespace farm

/** MurmurHash64A with the seed of TensorFlow's Hash64. */
uint64_t murmur(const uint8_t* s, uint64_t length) {
  const uint64_t m = 0xc6a4a7935bd1e995;
  uint64_t h = 0xdecafcaffe ^ (length * m);
  for (; length >= 8; s += 8, length -= 8) {
    const uint64_t k = at64(s) * m;
    h = (h ^ (shiftMix(k) * m)) * m;
  }
  if (length > 0) {
    uint64_t rest = 0;
    memcpy(&rest, s, length);
    h = (h ^ rest) * m;
  }
  return shiftMix(shiftMix(h) * m);
}

/** SipHash-2-4. */
uint64_t sip(const uint8_t* s, uint64_t length, uint64_t key0, uint64_t key1) {
  uint64_t a = key0 ^ 0x736f6d6570736575, b = key1 ^ 0x646f72616e646f6d, c = key0 ^ 0x6c7967656e657261, d = key1 ^ 0x7465646279746573;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; i++) {
      a += b;
      c += d;
      b = left(b, 13) ^ a;
      d = left(d, 16) ^ c;
      a = left(a, 32);
      c += b;
      a += d;
      b = left(b, 17) ^ c;
      d = left(d, 21) ^ a;
      c = left(c, 32);
    }
  };
  const auto take = [&](uint64_t word) {
    d ^= word;
    rounds(2);
    a ^= word;
  };
  uint64_t last = length << 56;
  for (; length >= 8; s += 8, length -= 8) take(at64(s));
  uint64_t rest = 0;
  if (length > 0) memcpy(&rest, s, length);
  take(last | rest);
  c ^= 255;
  rounds(4);
  return a ^ b ^ c ^ d;
}

}  // namespace

/** The rest of each string's hash divided by `buckets`, by FarmHash (0), MurmurHash (1) or SipHash with a key (2). Gives 1. */
TL_API int64_t tl_hash_buckets(int64_t kind, int64_t buckets, int64_t key0, int64_t key1, int64_t out, int64_t bytes, int64_t offsets,
                               int64_t count) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes);
  const auto* begin = reinterpret_cast<const int32_t*>(offsets);
  auto* found = reinterpret_cast<int64_t*>(out);
  for (int64_t i = 0; i < count; i++) {
    const uint8_t* s = data + begin[i];
    const auto length = uint64_t(begin[i + 1] - begin[i]);
    const uint64_t hash = kind == 0   ? farm::fingerprint(s, length)
                          : kind == 1 ? murmur(s, length)
                                      : sip(s, length, uint64_t(key0), uint64_t(key1));
    found[i] = int64_t(hash % uint64_t(buckets));
  }
  return 1;
}

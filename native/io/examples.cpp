/** @file Serialized tf.train.Examples into arrays. */
#include "../tensorloom.h"
#include "wire.h"

namespace {

using namespace tl;

/** One feature asked for, as TypeScript writes it. Addresses have at most 48 bits. */
struct Slot {
  double type, isFixed, isDense, stride, keyStart, keyEnd;
  /** Where the values of a fixed feature go: floats, int64s, or two int32s for the ends of each string. */
  double target;
  /** The values for an example without the feature, or 0 where it must not be missing. Of strings 1: the caller puts them in. */
  double fallback;
};

class Parser {
 public:
  /** The lengths and values of features of any length go to `results`, two blocks for each feature. */
  Parser(const Slot* slots, size_t count, const char* keys, std::vector<Block>& results)
      : slots(slots), count(count), results(results), found(count), seen(count, 0) {
    for (size_t s = 0; s < count; s++) names.add(keys, slots[s].keyStart, slots[s].keyEnd);
  }

  bool parse(const uint8_t* data, const int32_t* offsets, size_t examples) {
    if (!names.areDistinct()) return false;
    for (size_t e = 0; e < examples; e++) {
      const Span example{data + offsets[e], data + offsets[e + 1]};
      if (!locate(example, e + 1)) return false;
      for (size_t s = 0; s < count; s++)
        if (!(seen[s] == e + 1 ? read(s, example.at, e) : leave(s, e))) return false;
    }
    return true;
  }

 private:
  const Slot* slots;
  const size_t count;
  std::vector<Block>& results;
  Names names;
  std::vector<Span> found;
  std::vector<size_t> seen;

  /** Finds the features of an example. Of two with one name the last counts. */
  bool locate(Span example, size_t mark) {
    size_t position = 0;
    while (!example.isEmpty()) {
      Span features;
      if (!enclosed(example, 0x0a, features)) return false;
      while (!features.isEmpty()) {
        Span key, value;
        if (!entry(features, key, value)) return false;
        const size_t slot = names.find(key, position++);
        // A dense feature without a value is as good as missing.
        if (slot == count || (value.isEmpty() && slots[slot].isDense != 0)) continue;
        found[slot] = value;
        seen[slot] = mark;
      }
    }
    return true;
  }

  /** What an example without the feature has. */
  bool leave(size_t s, size_t e) {
    const Slot& slot = slots[s];
    if (slot.isFixed == 0) {
      results[2 * s].push(int32_t(0));
      return true;
    }
    if (slot.fallback == 0) return false;
    const auto stride = size_t(slot.stride);
    auto* target = reinterpret_cast<uint8_t*>(size_t(slot.target));
    if (slot.type == bytesList) {
      auto* spans = reinterpret_cast<int32_t*>(target) + 2 * e * stride;
      for (size_t i = 0; i < 2 * stride; i++) spans[i] = -1;
      return true;
    }
    const size_t bytes = stride * (slot.type == floatList ? 4 : 8);
    memcpy(target + e * bytes, reinterpret_cast<const void*>(size_t(slot.fallback)), bytes);
    return true;
  }

  bool read(size_t s, const uint8_t* example, size_t e) {
    const Slot& slot = slots[s];
    if (found[s].isEmpty()) return slot.isFixed != 0 || leave(s, e);
    Span list;
    if (!listIn(found[s], int(slot.type), list)) return false;
    return slot.isFixed != 0 ? readFixed(slot, example, e, list) : readAny(s, example, list);
  }

  static bool readFixed(const Slot& slot, const uint8_t* example, size_t e, Span list) {
    const auto stride = size_t(slot.stride);
    auto* target = reinterpret_cast<uint8_t*>(size_t(slot.target));
    if (slot.type == floatList) {
      if (list.size() != 4 * stride) return false;
      memcpy(target + 4 * e * stride, list.at, 4 * stride);
      return true;
    }
    size_t n = 0;
    if (slot.type == int64List) {
      auto* out = reinterpret_cast<int64_t*>(target) + e * stride;
      const bool whole = eachInteger(list, [&](int64_t x) {
        if (n < stride) out[n] = x;
        n++;
      });
      return whole && n == stride;
    }
    auto* out = reinterpret_cast<int32_t*>(target) + 2 * e * stride;
    const bool whole = eachString(list, [&](Span text) {
      if (n < stride) {
        out[2 * n] = int32_t(text.at - example);
        out[2 * n + 1] = int32_t(text.end - example);
      }
      n++;
    });
    return whole && n == stride;
  }

  bool readAny(size_t s, const uint8_t* example, Span list) {
    size_t n;
    if (!appendList(list, int(slots[s].type), example, results[2 * s + 1], n)) return false;
    results[2 * s].push(int32_t(n));
    const auto stride = size_t(slots[s].stride);
    return stride != 0 && n % stride == 0;
  }
};

}  // namespace

/**
 * Parses examples that lie one behind the other in `data`. Gives blocks with the lengths and the values of features of any length,
 * floats, int64s or the two ends of strings; or 0.
 */
TL_API int64_t tl_examples_parse(int64_t slots, int64_t count, int64_t keys, int64_t data, int64_t offsets, int64_t examples) {
  return blocksFrom(size_t(2 * count), [&](std::vector<Block>& results) {
    Parser parser(reinterpret_cast<const Slot*>(slots), size_t(count), reinterpret_cast<const char*>(keys), results);
    return parser.parse(reinterpret_cast<const uint8_t*>(data), reinterpret_cast<const int32_t*>(offsets), size_t(examples));
  });
}

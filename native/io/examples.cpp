/**
 * @file Serialized tf.train.Examples into arrays.
 *
 * Only what programs usually write is read here: nothing unknown, packed lists, lengths that fit. For anything else the answer is
 * that it cannot be done, and TypeScript reads it again, or says what is wrong with it.
 */
#include <cstring>
#include <new>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../tensorloom.h"

namespace {

/** What lists hold, as TypeScript numbers them. */
constexpr double bytesList = 0, floatList = 1, int64List = 2;

/** One feature asked for, as TypeScript writes it. Addresses have at most 48 bits. */
struct Slot {
  double type, isFixed, isDense, stride, keyStart, keyEnd;
  /** Where the values of a fixed feature go: floats, int64s, or two int32s for the ends of each string. */
  double target;
  /** The values for an example without the feature, or 0 where it must not be missing. Of strings 1: the caller puts them in. */
  double fallback;
};

struct Span {
  const uint8_t *at, *end;
  bool isEmpty() const { return at == end; }
};

/** The number at a place, which moves behind it. */
inline bool number(Span& from, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (from.at >= from.end) return false;
    const uint8_t byte = *from.at++;
    value |= uint64_t(byte & 127) << shift;
    if (byte < 128) return shift < 63 || byte < 2;
  }
  return false;
}

/** A tag and a length; `part` is what they enclose, and `from` goes on behind it. */
inline bool enclosed(Span& from, uint8_t tag, Span& part) {
  if (from.at >= from.end || *from.at != tag) return false;
  from.at++;
  uint64_t length;
  if (!number(from, length) || length > uint64_t(from.end - from.at)) return false;
  part = {from.at, from.at + length};
  from.at += length;
  return true;
}

/** The values of one feature of any length. */
struct Values {
  std::vector<int32_t> lengths;
  std::vector<float> floats;
  std::vector<int64_t> integers;
  /** The ends of strings, within their examples. */
  std::vector<int32_t> spans;
};

/** Goes through the int64s of a packed list. */
template <typename Take>
inline bool eachInteger(Span packed, Take take) {
  while (!packed.isEmpty()) {
    uint64_t value;
    if (!number(packed, value)) return false;
    take(int64_t(value));
  }
  return true;
}

/** Goes through the strings of a list. */
template <typename Take>
inline bool eachString(Span list, Take take) {
  while (!list.isEmpty()) {
    Span text;
    if (!enclosed(list, 0x0a, text)) return false;
    take(text);
  }
  return true;
}

class Parser {
 public:
  Parser(const Slot* slots, int64_t count, const char* keys, int64_t examples)
      : slots(slots), count(size_t(count)), examples(size_t(examples)), found(size_t(count)), seen(size_t(count), 0), values(size_t(count)) {
    for (size_t s = 0; s < this->count; s++) {
      const auto start = size_t(slots[s].keyStart), end = size_t(slots[s].keyEnd);
      names.push_back({keys + start, end - start});
      table.emplace(names.back(), s);
      if (slots[s].isFixed == 0) values[s].lengths.assign(size_t(examples), 0);
    }
  }

  bool parse(const uint8_t* data, const int32_t* offsets) {
    if (table.size() != count) return false; // a name asked for twice
    for (size_t e = 0; e < examples; e++) {
      const Span example{data + offsets[e], data + offsets[e + 1]};
      if (!locate(example, e + 1)) return false;
      for (size_t s = 0; s < count; s++)
        if (!(seen[s] == e + 1 ? read(s, example.at, e) : leave(s, e))) return false;
    }
    return true;
  }

  const Values& valuesOf(size_t slot) const { return values[slot]; }

 private:
  const Slot* slots;
  const size_t count, examples;
  std::vector<std::string_view> names;
  std::unordered_map<std::string_view, size_t> table;
  std::vector<Span> found;
  std::vector<size_t> seen;
  std::vector<Values> values;
  /** The slots of the features of the example before, in order, and `count` for those not asked for: examples are alike. */
  std::vector<size_t> order;

  /** Finds the features of an example. Of two with one name the last counts. */
  bool locate(Span example, size_t mark) {
    size_t position = 0;
    while (!example.isEmpty()) {
      Span features;
      if (!enclosed(example, 0x0a, features)) return false;
      while (!features.isEmpty()) {
        Span entry, key, value;
        if (!enclosed(features, 0x0a, entry) || !enclosed(entry, 0x0a, key) || !enclosed(entry, 0x12, value) || !entry.isEmpty()) return false;
        const size_t slot = slotOf({reinterpret_cast<const char*>(key.at), size_t(key.end - key.at)}, position++);
        // A dense feature without a value is as good as missing.
        if (slot == count || (value.isEmpty() && slots[slot].isDense != 0)) continue;
        found[slot] = value;
        seen[slot] = mark;
      }
    }
    return true;
  }

  size_t slotOf(std::string_view key, size_t position) {
    if (position < order.size() && order[position] < count && names[order[position]] == key) return order[position];
    const auto at = table.find(key);
    const size_t slot = at == table.end() ? count : at->second;
    if (position >= order.size()) order.resize(position + 1, count);
    order[position] = slot;
    return slot;
  }

  /** What an example without the feature has. */
  bool leave(size_t s, size_t e) {
    const Slot& slot = slots[s];
    if (slot.isFixed == 0) return true;
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
    Span value = found[s], list;
    if (value.isEmpty()) return true;
    static const uint8_t tags[3] = {0x0a, 0x12, 0x1a};
    if (!enclosed(value, tags[int(slot.type)], list) || !value.isEmpty()) return false;
    Span packed{list.at, list.at};
    if (slot.type != bytesList && !list.isEmpty() && (!enclosed(list, 0x0a, packed) || !list.isEmpty())) return false;
    return slot.isFixed != 0 ? readFixed(slot, example, e, list, packed) : readAny(s, example, e, list, packed);
  }

  static bool readFixed(const Slot& slot, const uint8_t* example, size_t e, Span list, Span packed) {
    const auto stride = size_t(slot.stride);
    auto* target = reinterpret_cast<uint8_t*>(size_t(slot.target));
    if (slot.type == floatList) {
      if (size_t(packed.end - packed.at) != 4 * stride) return false;
      memcpy(target + 4 * e * stride, packed.at, 4 * stride);
      return true;
    }
    size_t n = 0;
    if (slot.type == int64List) {
      auto* out = reinterpret_cast<int64_t*>(target) + e * stride;
      const bool whole = eachInteger(packed, [&](int64_t x) {
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

  bool readAny(size_t s, const uint8_t* example, size_t e, Span list, Span packed) {
    Values& v = values[s];
    size_t n = 0;
    if (slots[s].type == floatList) {
      const auto bytes = size_t(packed.end - packed.at);
      if (bytes % 4 != 0) return false;
      n = bytes / 4;
      const size_t before = v.floats.size();
      v.floats.resize(before + n);
      if (n > 0) memcpy(v.floats.data() + before, packed.at, bytes);
    } else if (slots[s].type == int64List) {
      const bool whole = eachInteger(packed, [&](int64_t x) {
        v.integers.push_back(x);
        n++;
      });
      if (!whole) return false;
    } else {
      const bool whole = eachString(list, [&](Span text) {
        v.spans.push_back(int32_t(text.at - example));
        v.spans.push_back(int32_t(text.end - example));
        n++;
      });
      if (!whole) return false;
    }
    v.lengths[e] = int32_t(n);
    const auto stride = size_t(slots[s].stride);
    return stride != 0 && n % stride == 0;
  }
};

}  // namespace

/** Parses examples that lie one behind the other in `data`. Gives an object with the values of features of any length, or 0. */
TL_API int64_t tl_examples_parse(int64_t slots, int64_t count, int64_t keys, int64_t data, int64_t offsets, int64_t examples) {
  try {
    auto* parser = new Parser(reinterpret_cast<const Slot*>(slots), count, reinterpret_cast<const char*>(keys), examples);
    if (parser->parse(reinterpret_cast<const uint8_t*>(data), reinterpret_cast<const int32_t*>(offsets))) return reinterpret_cast<int64_t>(parser);
    delete parser;
  } catch (const std::bad_alloc&) {
    // There is less to be done about it here than in TypeScript.
  }
  return 0;
}

/** How long the lists of a feature are, example by example. */
TL_API void tl_examples_lengths(int64_t parser, int64_t slot, int64_t to) {
  const auto& lengths = reinterpret_cast<Parser*>(parser)->valuesOf(size_t(slot)).lengths;
  if (!lengths.empty()) memcpy(reinterpret_cast<void*>(to), lengths.data(), lengths.size() * sizeof(int32_t));
}

/** The values of a feature of any length: floats, int64s, or the two ends of strings. */
TL_API void tl_examples_values(int64_t parser, int64_t slot, int64_t to) {
  const Values& values = reinterpret_cast<Parser*>(parser)->valuesOf(size_t(slot));
  const auto copy = [&](const auto& from) {
    if (!from.empty()) memcpy(reinterpret_cast<void*>(to), from.data(), from.size() * sizeof(from[0]));
  };
  copy(values.floats);
  copy(values.integers);
  copy(values.spans);
}

TL_API void tl_examples_free(int64_t parser) { delete reinterpret_cast<Parser*>(parser); }

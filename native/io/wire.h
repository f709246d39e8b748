/**
 * Serialized examples, read where they lie.
 *
 * Only what programs usually write is read: nothing unknown, packed lists, lengths that fit. For anything else the answer is that
 * it cannot be done, and TypeScript reads it again, or says what is wrong with it.
 */
#pragma once
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "blocks.h"

namespace tl {

/** What lists hold, as TypeScript numbers them. */
constexpr int bytesList = 0, floatList = 1, int64List = 2;

struct Span {
  const uint8_t *at, *end;
  bool isEmpty() const { return at == end; }
  size_t size() const { return size_t(end - at); }
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

/** A name and what belongs to it, in this order. */
inline bool entry(Span& from, Span& key, Span& value) {
  Span whole;
  return enclosed(from, 0x0a, whole) && enclosed(whole, 0x0a, key) && enclosed(whole, 0x12, value) && whole.isEmpty();
}

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

/** The names that are asked for, by number. */
class Names {
 public:
  void add(const char* keys, double start, double end) {
    names.push_back({keys + size_t(start), size_t(end) - size_t(start)});
    table.emplace(names.back(), names.size() - 1);
  }

  bool areDistinct() const { return table.size() == names.size(); }

  /** The number of a name, or how many there are. Examples are alike: what stood at the same position before is tried first. */
  size_t find(Span key, size_t position) {
    const std::string_view name(reinterpret_cast<const char*>(key.at), key.size());
    if (position < order.size() && order[position] < names.size() && names[order[position]] == name) return order[position];
    const auto at = table.find(name);
    const size_t number = at == table.end() ? names.size() : at->second;
    if (position >= order.size()) order.resize(position + 1, names.size());
    order[position] = number;
    return number;
  }

 private:
  std::vector<std::string_view> names;
  std::unordered_map<std::string_view, size_t> table;
  std::vector<size_t> order;
};

/** The list in a feature: of strings as it is, of numbers what is packed in it. */
inline bool listIn(Span feature, int type, Span& list) {
  static const uint8_t tags[3] = {0x0a, 0x12, 0x1a};
  if (!enclosed(feature, tags[type], list) || !feature.isEmpty()) return false;
  if (type == bytesList || list.isEmpty()) return true;
  Span packed;
  if (!enclosed(list, 0x0a, packed) || !list.isEmpty()) return false;
  list = packed;
  return true;
}

/** Puts the values of a list behind others, strings as their two ends within the example; `count` is how many there are. */
inline bool appendList(Span list, int type, const uint8_t* example, Block& values, size_t& count) {
  count = 0;
  if (type == floatList) {
    if (list.size() % 4 != 0) return false;
    values.append(list.at, list.size());
    count = list.size() / 4;
    return true;
  }
  if (type == int64List)
    return eachInteger(list, [&](int64_t x) {
      values.push(x);
      count++;
    });
  return eachString(list, [&](Span text) {
    values.push(int32_t(text.at - example));
    values.push(int32_t(text.end - example));
    count++;
  });
}

}  // namespace tl

/** @file Serialized tf.train.SequenceExamples into arrays. */
#include "../tensorloom.h"
#include "wire.h"

namespace {

using namespace tl;

/** A feature, or list of features, asked for, as TypeScript writes it. */
struct Slot {
  double type, keyStart, keyEnd;
};

/** What stands in an example for each of some names. */
struct Wanted {
  Wanted(const Slot* slots, size_t count, const char* keys) : slots(slots), count(count), found(count), seen(count, 0) {
    for (size_t s = 0; s < count; s++) names.add(keys, slots[s].keyStart, slots[s].keyEnd);
  }

  /** Reads the entries of a map. Of two with one name the last counts. */
  bool locate(Span map, size_t mark, size_t& position) {
    while (!map.isEmpty()) {
      Span key, value;
      if (!entry(map, key, value)) return false;
      const size_t slot = names.find(key, position++);
      if (slot == count) continue;
      found[slot] = value;
      seen[slot] = mark;
    }
    return true;
  }

  const Slot* slots;
  const size_t count;
  Names names;
  std::vector<Span> found;
  std::vector<size_t> seen;
};

/** The values of a feature, and how many there are; none where it is empty. */
bool readFeature(Span feature, int type, const uint8_t* example, Block& counts, Block& values) {
  size_t n = 0;
  if (!feature.isEmpty()) {
    Span list;
    if (!listIn(feature, type, list) || !appendList(list, type, example, values, n)) return false;
  }
  counts.push(int32_t(n));
  return true;
}

/** The features of a list one after the other, and how many there are. */
bool readRows(Span list, int type, const uint8_t* example, Block& rows, Block& counts, Block& values) {
  int32_t n = 0;
  while (!list.isEmpty()) {
    Span feature;
    if (!enclosed(list, 0x0a, feature) || !readFeature(feature, type, example, counts, values)) return false;
    n++;
  }
  rows.push(n);
  return true;
}

bool parse(Wanted& context, Wanted& lists, const uint8_t* data, const int32_t* offsets, size_t examples, std::vector<Block>& results) {
  if (!context.names.areDistinct() || !lists.names.areDistinct()) return false;
  for (size_t e = 0; e < examples; e++) {
    Span rest{data + offsets[e], data + offsets[e + 1]};
    const uint8_t* example = rest.at;
    size_t contextPosition = 0, listPosition = 0;
    while (!rest.isEmpty()) {
      const bool isContext = *rest.at == 0x0a;
      Span map;
      if (!enclosed(rest, isContext ? 0x0a : 0x12, map)) return false;
      if (!(isContext ? context.locate(map, e + 1, contextPosition) : lists.locate(map, e + 1, listPosition))) return false;
    }
    for (size_t s = 0; s < context.count; s++) {
      Block* blocks = &results[3 * s];
      if (context.seen[s] != e + 1) blocks[1].push(int32_t(-1));
      else if (!readFeature(context.found[s], int(context.slots[s].type), example, blocks[1], blocks[2])) return false;
    }
    for (size_t s = 0; s < lists.count; s++) {
      Block* blocks = &results[3 * (context.count + s)];
      if (lists.seen[s] != e + 1) blocks[0].push(int32_t(-1));
      else if (!readRows(lists.found[s], int(lists.slots[s].type), example, blocks[0], blocks[1], blocks[2])) return false;
    }
  }
  return true;
}

}  // namespace

/**
 * Parses sequence examples that lie one behind the other in `data`. Gives three blocks for each feature, first those of the context,
 * or 0: the rows of each example (of lists only), how many values each row has, and the values, as `tl_examples_parse` gives them.
 * What an example does not have counts -1.
 */
TL_API int64_t tl_sequences_parse(int64_t slots, int64_t contextCount, int64_t listCount, int64_t keys, int64_t data, int64_t offsets, int64_t examples) {
  return blocksFrom(size_t(3 * (contextCount + listCount)), [&](std::vector<Block>& results) {
    const auto* all = reinterpret_cast<const Slot*>(slots);
    const auto* text = reinterpret_cast<const char*>(keys);
    Wanted context(all, size_t(contextCount), text), lists(all + contextCount, size_t(listCount), text);
    return parse(context, lists, reinterpret_cast<const uint8_t*>(data), reinterpret_cast<const int32_t*>(offsets), size_t(examples), results);
  });
}

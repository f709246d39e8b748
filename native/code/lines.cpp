/** Collecting lines of vector code. */
#include "lines.h"

#include <cstring>

namespace tl::code {
namespace {

bool isMask(Do what) {
  switch (what) {
    case Do::loadTruth: case Do::compare: case Do::compareIntegers:
    case Do::maskAnd: case Do::maskOr: case Do::maskXor: case Do::maskNot: return true;
    default: return false;
  }
}

}  // namespace

Value Lines::bits(uint32_t word) {
  for (size_t i = 0; i < values.size(); i++)
    if (values[i].constant >= 0 && constants[static_cast<size_t>(values[i].constant)] == word) return static_cast<Value>(i);
  values.push_back({false, static_cast<int32_t>(constants.size()), -1});
  constants.push_back(word);
  return static_cast<Value>(values.size() - 1);
}

Value Lines::constant(float x) {
  uint32_t word;
  std::memcpy(&word, &x, sizeof(word));
  return bits(word);
}

Value Lines::add(Do what, Value x, Value y, Value z, int32_t number) {
  Line line = {what, kNone, x, y, z, number};
  if (what != Do::store && what != Do::storeTruth && what != Do::putAway && what != Do::fold) {
    line.result = static_cast<Value>(values.size());
    values.push_back({isMask(what), -1, -1});
  }
  (once_ ? before : lines).push_back(line);
  return line.result;
}

Value Lines::extreme(Do what, Value x, Value y) {
  const Value found = add(what, x, y);
  // The processor takes the second where either is NaN.
  if (values[static_cast<size_t>(x)].constant >= 0) return found;
  return choose(compare(Compare::unordered, x, x), x, found);
}

void Lines::putAway(Value value) {
  Kept& kept = values[static_cast<size_t>(value)];
  if (kept.constant >= 0 || kept.frame >= 0) return;
  kept.frame = frameSlots++;
  add(Do::putAway, value);
}

}  // namespace tl::code

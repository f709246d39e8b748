/** Collecting lines of vector code. */
#include "lines.h"

#include <algorithm>
#include <cstring>

namespace tl::code {
namespace {

bool givesMask(Do what) {
  switch (what) {
    case Do::loadTruth: case Do::compare: case Do::compareIntegers:
    case Do::maskAnd: case Do::maskOr: case Do::maskXor: case Do::maskNot: return true;
    default: return false;
  }
}

bool hasResult(Do what) {
  switch (what) {
    case Do::store: case Do::storeOne: case Do::storeTruth: case Do::putAway: case Do::fold: return false;
    default: return true;
  }
}

}  // namespace

float nothingOf(FoldOp folding) {
  switch (folding) {
    case FoldOp::prod: return 1.0f;
    case FoldOp::max: return -__builtin_inff();
    case FoldOp::min: return __builtin_inff();
    default: return -0.0f;
  }
}

void Lines::goTo(size_t phase, bool before) {
  if (phases.size() <= phase) phases.resize(phase + 1);
  phase_ = phase;
  before_ = before;
}

Value Lines::bits(uint32_t word) {
  const auto found = std::find(constants.begin(), constants.end(), word);
  if (found != constants.end()) return constantValues_[static_cast<size_t>(found - constants.begin())];
  values.push_back({false, static_cast<int32_t>(constants.size()), -1});
  constants.push_back(word);
  constantValues_.push_back(static_cast<Value>(values.size() - 1));
  return constantValues_.back();
}

Value Lines::constant(float x) {
  uint32_t word;
  std::memcpy(&word, &x, sizeof(word));
  return bits(word);
}

Value Lines::add(Do what, Value x, Value y, Value z, int32_t number) {
  Line line = {what, kNone, x, y, z, number};
  if (hasResult(what)) {
    line.result = static_cast<Value>(values.size());
    values.push_back({givesMask(what), -1, -1});
  }
  Phase& phase = phases[phase_];
  (before_ ? phase.before : phase.lines).push_back(line);
  return line.result;
}

bool Lines::isNumber(Value v) const {
  const int32_t constant = values[static_cast<size_t>(v)].constant;
  constexpr uint32_t kSign = 0x80000000, kInfinity = 0x7f800000;
  return constant >= 0 && (constants[static_cast<size_t>(constant)] & ~kSign) <= kInfinity;
}

Value Lines::extreme(Do what, Value x, Value y) {
  const Value found = add(what, x, y);
  // The processor takes the second where either is NaN.
  if (isNumber(x)) return found;
  return choose(compare(Compare::unordered, x, x), x, found);
}

Value Lines::join(FoldOp folding, Value x, Value y) {
  switch (folding) {
    case FoldOp::sum: return add(Do::add, x, y);
    case FoldOp::prod: return add(Do::mul, x, y);
    case FoldOp::max: return extreme(Do::max, x, y);
    default: return extreme(Do::min, x, y);
  }
}

Value Lines::fold(FoldOp how, Value value) {
  std::vector<Phase::Fold>& folds = phases[phase_].folds;
  // Sums of several numbers are never -0: see Collector::settle.
  const Value nothing = constant(how == FoldOp::sum ? 0.0f : nothingOf(how));
  add(Do::fold, value, kNone, kNone, static_cast<int32_t>(folds.size()));
  folds.push_back({how, nothing, static_cast<Value>(values.size())});
  values.push_back({false, -1, frameSlots++});
  return folds.back().result;
}

void Lines::putAway(Value value) {
  Kept& kept = values[static_cast<size_t>(value)];
  if (kept.constant >= 0 || kept.frame >= 0) return;
  kept.frame = frameSlots++;
  add(Do::putAway, value);
}

}  // namespace tl::code

/** Generating loops: an expression as lines, and the loops over rows and columns around them. */
#include "loop.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "../map/body.h"

namespace tl::code {
namespace {

constexpr uint32_t kSign = 0x80000000;
/** Ways of rounding, without exceptions. */
constexpr int kNearest = 8, kDown = 9, kUp = 10;

/** An expression as lines. */
class Translation {
 public:
  Translation(const Expression& e, const std::vector<LoopOperand>& operands, const std::vector<int64_t>& results)
      : nodes_(e.nodes), operands_(operands), values_(e.nodes.size(), kNone), once_(e.nodes.size(), false), needed_(e.nodes.size(), false) {
    for (const int64_t result : results) needed_[static_cast<size_t>(result)] = true;
    for (size_t i = nodes_.size(); i-- > 0;)
      if (needed_[i] && !isLeaf(nodes_[i].op))
        for (int a = 0; a < argumentCount(nodes_[i].op); a++) needed_[static_cast<size_t>(nodes_[i].args[a])] = true;
  }

  /** Whether there is a line for every node that the results need. */
  bool translate() {
    for (size_t i = 0; i < nodes_.size(); i++) {
      if (!needed_[i]) continue;
      const Node& node = nodes_[i];
      if (node.dtype != DType::f32 && node.dtype != DType::i32 && node.dtype != DType::bool_) return false;
      once_[i] = isOnce(node);
      if (once_[i]) lines.beginOnce();
      values_[i] = valueOf(node);
      if (once_[i] && values_[i] >= 0) lines.putAway(values_[i]);
      lines.endOnce();
      if (values_[i] < 0) return false;
    }
    return true;
  }

  Value value(int64_t node) const { return values_[static_cast<size_t>(node)]; }

  Lines lines;
  bool hasFunctions = false;

 private:
  bool isOnce(const Node& node) const {
    if (node.dtype == DType::bool_) return false;
    if (node.op == Op::input) return operands_[static_cast<size_t>(node.args[0])].column == 0;
    if (isLeaf(node.op)) return node.op == Op::const_;
    for (int a = 0; a < argumentCount(node.op); a++)
      if (!once_[static_cast<size_t>(node.args[a])]) return false;
    return true;
  }

  Value valueOf(const Node& node) {
    if (node.op == Op::const_) return constantOf(node);
    if (node.op == Op::input) return inputOf(node);
    if (node.op == Op::index) return kNone;
    const DType from = nodes_[static_cast<size_t>(node.args[node.op == Op::select ? 1 : 0])].dtype;
    if (node.op == Op::cast) return castOf(from, node);
    switch (from) {
      case DType::f32: return ofFloats(node);
      case DType::i32: return ofIntegers(node);
      default: return ofTruths(node);
    }
  }

  Value constantOf(const Node& node) {
    if (node.dtype == DType::bool_) return kNone;
    if (node.dtype == DType::i32) return lines.bits(static_cast<uint32_t>(node.bits[0]));
    double number;
    std::memcpy(&number, &node.bits[0], sizeof(number));
    return lines.constant(static_cast<float>(number));
  }
  Value inputOf(const Node& node) {
    const int operand = static_cast<int>(node.args[0]);
    const bool single = operands_[static_cast<size_t>(operand)].column == 0;
    if (node.dtype == DType::bool_) return single ? kNone : lines.load(Do::loadTruth, operand);
    return lines.load(single ? Do::loadOne : Do::load, operand);
  }
  Value castOf(DType from, const Node& node) {
    const Value x = argument(node, 0);
    if (from == node.dtype) return x;
    if (from == DType::i32 && node.dtype == DType::f32) return lines.add(Do::fromInteger, x);
    if (from == DType::bool_ && node.dtype == DType::f32) return lines.choose(x, lines.constant(1.0f), lines.constant(0.0f));
    if (from == DType::f32 && node.dtype == DType::bool_) return lines.compare(Compare::unequal, x, lines.constant(0.0f));
    return kNone;
  }

  Value ofFloats(const Node& node) {
    const Value x = argument(node, 0), y = argument(node, 1);
    const Value zero = lines.constant(0.0f), one = lines.constant(1.0f);
    switch (node.op) {
      case Op::add: return lines.add(Do::add, x, y);
      case Op::sub: return lines.add(Do::sub, x, y);
      case Op::mul: return lines.add(Do::mul, x, y);
      case Op::div: return lines.add(Do::div, x, y);
      case Op::max: return lines.extreme(Do::max, x, y);
      case Op::min: return lines.extreme(Do::min, x, y);
      case Op::neg: return lines.add(Do::xor_, x, lines.bits(kSign));
      case Op::abs: return lines.add(Do::and_, x, lines.bits(~kSign));
      case Op::square: return lines.add(Do::mul, x, x);
      case Op::sqrt: return lines.add(Do::sqrt, x);
      case Op::rsqrt: return lines.add(Do::div, one, lines.add(Do::sqrt, x));
      case Op::reciprocal: return lines.add(Do::div, one, x);
      case Op::floor: return lines.add(Do::round, x, kNone, kNone, kDown);
      case Op::ceil: return lines.add(Do::round, x, kNone, kNone, kUp);
      case Op::rint: return lines.add(Do::round, x, kNone, kNone, kNearest);
      case Op::eq: return lines.compare(Compare::equal, x, y);
      case Op::ne: return lines.compare(Compare::unequal, x, y);
      case Op::lt: return lines.compare(Compare::less, x, y);
      case Op::le: return lines.compare(Compare::lessOrEqual, x, y);
      case Op::gt: return lines.compare(Compare::less, y, x);
      case Op::ge: return lines.compare(Compare::lessOrEqual, y, x);
      case Op::isnan: return lines.compare(Compare::unordered, x, x);
      case Op::isfinite: return lines.compare(Compare::equal, lines.add(Do::sub, x, x), zero);
      case Op::select: return chosen(node);
      default: hasFunctions = true; return addFunction(lines, node.op, x);
    }
  }
  Value ofIntegers(const Node& node) {
    // Integers are compared as the processor counts it for them, which has no unordered ones.
    const auto compare = [&](int how, int first, int second) {
      return lines.add(Do::compareIntegers, argument(node, first), argument(node, second), kNone, how);
    };
    constexpr int kEqual = 0, kLess = 1, kLessOrEqual = 2, kUnequal = 4;
    switch (node.op) {
      case Op::eq: return compare(kEqual, 0, 1);
      case Op::ne: return compare(kUnequal, 0, 1);
      case Op::lt: return compare(kLess, 0, 1);
      case Op::le: return compare(kLessOrEqual, 0, 1);
      case Op::gt: return compare(kLess, 1, 0);
      case Op::ge: return compare(kLessOrEqual, 1, 0);
      case Op::select: return chosen(node);
      default: return kNone;
    }
  }
  Value ofTruths(const Node& node) {
    const Value x = argument(node, 0), y = argument(node, 1);
    switch (node.op) {
      case Op::and_: return lines.add(Do::maskAnd, x, y);
      case Op::or_: return lines.add(Do::maskOr, x, y);
      case Op::xor_: return lines.add(Do::maskXor, x, y);
      case Op::not_: return lines.add(Do::maskNot, x);
      default: return kNone;
    }
  }
  Value chosen(const Node& node) { return lines.choose(argument(node, 0), argument(node, 1), argument(node, 2)); }

  /** An argument's value; kNone beyond the last one. */
  Value argument(const Node& node, int a) const {
    return a < argumentCount(node.op) ? values_[static_cast<size_t>(node.args[a])] : kNone;
  }

  const std::vector<Node>& nodes_;
  const std::vector<LoopOperand>& operands_;
  std::vector<Value> values_;
  /** Nodes that are the same for all columns of a row, and nodes that some result needs. */
  std::vector<bool> once_, needed_;
};

/** How many vectors are worked on in turns: functions are long chains of lines that wait for each other, and so are short sums. */
int besideOf(const Translation& t, Folding folding) {
  const size_t count = t.lines.lines.size();
  if (folding != Folding::none && count <= 4) return 4;
  return t.hasFunctions || folding != Folding::none || count <= 6 ? 2 : 1;
}

float nothingOf(Folding folding) {
  switch (folding) {
    case Folding::prod: return 1.0f;
    case Folding::max: return -__builtin_inff();
    case Folding::min: return __builtin_inff();
    default: return -0.0f;
  }
}

uint8_t scaleOf(DType dtype) { return dtype == DType::bool_ ? 0 : 2; }

/** Writes the loops. */
class LoopWriter {
 public:
  LoopWriter(Translation& t, const std::vector<LoopOperand>& operands, Folding folding)
      : lines_(t.lines), operands_(operands), beside_(besideOf(t, folding)), nothing_(lines_.constant(nothingOf(folding))) {
    around_.index = kIndex;
    around_.spare = rax;
    around_.folding = folding;
    for (size_t i = 0; i < operands.size(); i++) {
      const int32_t address = static_cast<int32_t>(offsetof(LoopArgs, at) + i * sizeof(char*));
      around_.operands.push_back({i < std::size(kBases) ? kBases[i] : -1, Place::at(kArgs, address), scaleOf(operands[i].dtype)});
    }
  }

  /** The code, which begins with its constants; false if it has no room for all values. */
  bool write() {
    for (const uint32_t constant : lines_.constants) to_.word(static_cast<int32_t>(constant));
    while (to_.bytes.size() % kVectorBytes != 0) to_.byte(0);
    entry = to_.position();
    for (const int reg : kSaved) to_.push(reg);
    to_.move(kArgs, Place::of(rdi));
    to_.move(kStack, Place::of(rsp));
    to_.subtract(rsp, 0);
    const int32_t frame = to_.position();
    to_.byte(0x48), to_.byte(0x83), to_.byte(0xe4), to_.byte(256 - kVectorBytes);  // and rsp, -64
    to_.move(kRows, Place::at(kArgs, offsetof(LoopArgs, rows)));
    for (const Surroundings::Operand& o : around_.operands)
      if (o.base >= 0) to_.move(o.base, o.address);
    const int32_t row = to_.position();
    if (!writeRow()) return false;
    to_.subtract(kRows, 1);
    to_.jump(When::notZero, row);
    to_.move(rsp, Place::of(kStack));
    for (size_t i = std::size(kSaved); i-- > 0;) to_.pop(kSaved[i]);
    to_.leave();
    const int32_t frameBytes = kVectorBytes * (lines_.frameSlots + 1);
    std::memcpy(to_.bytes.data() + frame - 4, &frameBytes, sizeof(frameBytes));
    return true;
  }

  const std::vector<uint8_t>& bytes() const { return to_.bytes; }
  int32_t entry = 0;

 private:
  static constexpr int kArgs = rbx, kStack = rbp, kRows = r12, kIndex = r13, kLimit = r14;
  static constexpr int kSaved[] = {rbx, rbp, r12, r13, r14, r15};
  /** Registers for the addresses of the first operands. */
  static constexpr int kBases[] = {rcx, rdx, rsi, rdi, r8, r9, r10, r11, r15};

  bool writeRow() {
    Writer writer(to_, lines_, around_);
    const int32_t width = kVectorElements, wide = beside_ * width;
    if (!writer.write(lines_.before, 1)) return false;
    if (folds()) writer.startFold(beside_, nothing_);
    to_.clear(kIndex);
    to_.move(kLimit, Place::at(kArgs, offsetof(LoopArgs, columns)));
    if (beside_ > 1) {
      to_.subtract(kLimit, wide);
      const int32_t few = to_.jump(When::less);
      if (!writeLoop(writer, beside_)) return false;
      to_.land(few);
      to_.add(kLimit, wide);
    }
    to_.subtract(kLimit, width);
    to_.compare(kIndex, kLimit);
    const int32_t rest = to_.jump(When::greater);
    if (!writeLoop(writer, 1)) return false;
    to_.land(rest);
    to_.add(kLimit, width);
    to_.subtractRegister(kLimit, kIndex);
    const int32_t done = to_.jump(When::lessOrEqual);
    to_.setAll(rax);
    to_.keepLowest(rax, kLimit);
    to_.toMask(kTailMask, rax);
    if (!writer.write(lines_.lines, 1, true)) return false;
    to_.land(done);
    if (folds()) writer.finishFold(beside_, static_cast<int>(operands_.size()) - 1);
    for (size_t i = 0; i < operands_.size(); i++) {
      const int32_t bytes = static_cast<int32_t>(operands_[i].row << scaleOf(operands_[i].dtype));
      const Surroundings::Operand& o = around_.operands[i];
      if (bytes != 0) to_.add(o.base >= 0 ? Place::of(o.base) : o.address, bytes);
    }
    return true;
  }
  /** While there are elements for so many vectors. */
  bool writeLoop(Writer& writer, int beside) {
    const int32_t again = to_.position();
    if (!writer.write(lines_.lines, beside)) return false;
    to_.add(kIndex, beside * kVectorElements);
    to_.compare(kIndex, kLimit);
    to_.jump(When::lessOrEqual, again);
    return true;
  }
  bool folds() const { return around_.folding != Folding::none; }

  Lines& lines_;
  const std::vector<LoopOperand>& operands_;
  int beside_;
  Value nothing_;
  Surroundings around_;
  Assembler to_;
};

}  // namespace

Loop::Loop(const Expression& e, const std::vector<LoopOperand>& operands, const std::vector<int64_t>& results, Folding folding) {
  if (!simd().generated || operands.size() > kMostLoopOperands) return;
  for (const LoopOperand& o : operands)
    if (std::abs(o.row) >= INT32_MAX / 4) return;
  Translation translation(e, operands, results);
  if (!translation.translate()) return;
  for (size_t i = 0; i < results.size(); i++) {
    const Value value = translation.value(results[i]);
    const bool isMask = translation.lines.values[static_cast<size_t>(value)].isMask;
    const int operand = static_cast<int>(e.inputs.size() + i);
    if (folding != Folding::none)
      translation.lines.add(Do::fold, value);
    else
      translation.lines.add(isMask ? Do::storeTruth : Do::store, value, kNone, kNone, operand);
  }
  LoopWriter writer(translation, operands, folding);
  if (!writer.write()) return;
  code_ = Executable(writer.bytes());
  if (!code_) return;
  entry_ = reinterpret_cast<void (*)(LoopArgs*)>(reinterpret_cast<uintptr_t>(code_.at(writer.entry)));
}

}  // namespace tl::code

/** Generating loops: lines for a vector, and the loops over rows and columns around them. */
#include "loop.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "../map/expression.h"
#include "translation.h"
#include "writer.h"

namespace tl::code {
namespace {

/**
 * How many vectors are worked on in turns: functions are long chains of lines that wait for each other, and so are short sums.
 * There are not more running results than there are registers for them.
 */
int besideOf(const Phase& phase) {
  const int folds = static_cast<int>(phase.folds.size());
  const int most = folds == 0 ? kMostRunning : kMostRunning / folds;
  const int wanted = folds > 0 && phase.lines.size() <= 4 ? 4 : phase.hasFunctions || folds > 0 || phase.lines.size() <= 6 ? 2 : 1;
  return most >= wanted ? wanted : most >= 2 ? 2 : 1;
}

/** Threads may have no more than 128 KiB of stack, and programs run on some of them. */
constexpr int32_t kMostFrameBytes = 48 * 1024;

uint8_t scaleOf(DType dtype) { return dtype == DType::bool_ ? 0 : 2; }

/** Writes the loops. */
class LoopWriter {
 public:
  LoopWriter(const Lines& lines, const std::vector<LoopOperand>& operands)
      : lines_(lines), operands_(operands), writer_(to_, lines, around_) {
    around_.index = kIndex;
    around_.spare = rax;
    size_t bases = 0;
    for (size_t i = 0; i < operands.size(); i++) {
      const LoopOperand& o = operands[i];
      const int32_t address = static_cast<int32_t>(offsetof(LoopArgs, at) + i * sizeof(char*));
      if (o.own > 0) {
        around_.operands.push_back({rsp, around_.frameStart, {}, scaleOf(o.dtype), false});
        around_.frameStart += static_cast<int32_t>(o.own * sizeOf(o.dtype) + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
      } else {
        const int base = bases < std::size(kBases) ? kBases[bases++] : -1;
        around_.operands.push_back({base, 0, Place::at(kArgs, address), scaleOf(o.dtype), o.streams});
      }
    }
  }

  /** The code, which begins with its constants; false if registers or the frame have no room for all values. */
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
      if (o.base >= 0 && o.base != rsp) to_.move(o.base, o.address);
    const int32_t row = to_.position();
    for (const Phase& phase : lines_.phases)
      if (!writePhase(phase)) return false;
    moveOn();
    to_.subtract(kRows, 1);
    to_.jump(When::notZero, row);
    if (std::any_of(operands_.begin(), operands_.end(), [](const LoopOperand& o) { return o.streams; })) to_.fence();
    to_.move(rsp, Place::of(kStack));
    for (size_t i = std::size(kSaved); i-- > 0;) to_.pop(kSaved[i]);
    to_.leave();
    const int32_t frameBytes = writer_.frameBytes();
    if (frameBytes > kMostFrameBytes) return false;
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

  bool writePhase(const Phase& phase) {
    if (!writer_.writeBefore(phase)) return false;
    if (phase.lines.empty()) return true;
    const int beside = besideOf(phase);
    const int32_t width = kVectorElements, wide = beside * width;
    writer_.startFolds(phase, beside);
    to_.clear(kIndex);
    to_.move(kLimit, Place::at(kArgs, offsetof(LoopArgs, columns)));
    if (beside > 1) {
      to_.subtract(kLimit, wide);
      const int32_t few = to_.jump(When::less);
      if (!writeLoop(phase, beside)) return false;
      to_.land(few);
      to_.add(kLimit, wide);
    }
    to_.subtract(kLimit, width);
    to_.compare(kIndex, kLimit);
    const int32_t rest = to_.jump(When::greater);
    if (!writeLoop(phase, 1)) return false;
    to_.land(rest);
    to_.add(kLimit, width);
    to_.subtractRegister(kLimit, kIndex);
    const int32_t done = to_.jump(When::lessOrEqual);
    to_.setAll(rax);
    to_.keepLowest(rax, kLimit);
    to_.toMask(kTailMask, rax);
    if (!writer_.write(phase, 1, true)) return false;
    to_.land(done);
    writer_.finishFolds(phase, beside);
    return true;
  }
  /** While there are elements for so many vectors. */
  bool writeLoop(const Phase& phase, int beside) {
    const int32_t again = to_.position();
    if (!writer_.write(phase, beside)) return false;
    to_.add(kIndex, beside * kVectorElements);
    to_.compare(kIndex, kLimit);
    to_.jump(When::lessOrEqual, again);
    return true;
  }
  /** Addresses of the next row. */
  void moveOn() {
    for (size_t i = 0; i < operands_.size(); i++) {
      const int32_t bytes = static_cast<int32_t>(operands_[i].row * sizeOf(operands_[i].dtype));
      const Surroundings::Operand& o = around_.operands[i];
      if (bytes != 0 && o.base != rsp) to_.add(o.base >= 0 ? Place::of(o.base) : o.address, bytes);
    }
  }

  const Lines& lines_;
  const std::vector<LoopOperand>& operands_;
  Surroundings around_;
  Assembler to_;
  Writer writer_;
};

/** Inputs that are operands of the loop. */
class OperandInputs final : public Inputs {
 public:
  OperandInputs(Lines& lines, const std::vector<LoopOperand>& operands) : lines_(lines), operands_(operands) {}
  bool isSingle(int input) const override { return operands_[static_cast<size_t>(input)].column == 0; }
  Value value(int input) override { return load(lines_, operands_[static_cast<size_t>(input)].dtype, isSingle(input), input); }

 private:
  Lines& lines_;
  const std::vector<LoopOperand>& operands_;
};

}  // namespace

Loop::Loop(const Lines& lines, const std::vector<LoopOperand>& operands) { compile(lines, operands); }

Loop::Loop(const Expression& e, const std::vector<LoopOperand>& operands, const std::vector<int64_t>& results) {
  if (!simd().generated) return;
  Lines lines;
  OperandInputs inputs(lines, operands);
  std::vector<Value> values;
  if (!translate(lines, 0, e, inputs, results, values)) return;
  lines.goTo(0, false);
  for (size_t i = 0; i < values.size(); i++)
    lines.add(lines.isMask(values[i]) ? Do::storeTruth : Do::store, values[i], kNone, kNone, static_cast<int32_t>(e.inputs.size() + i));
  compile(lines, operands);
}

void Loop::compile(const Lines& lines, const std::vector<LoopOperand>& operands) {
  if (!simd().generated || operands.size() > kMostLoopOperands) return;
  for (const LoopOperand& o : operands)
    if (std::llabs(o.row) >= INT32_MAX / 4) return;
  LoopWriter writer(lines, operands);
  if (!writer.write()) return;
  code_ = Executable(writer.bytes());
  if (!code_) return;
  entry_ = reinterpret_cast<void (*)(LoopArgs*)>(reinterpret_cast<uintptr_t>(code_.at(writer.entry)));
}

}  // namespace tl::code

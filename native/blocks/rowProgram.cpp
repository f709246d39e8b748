/** Maps and reductions over the same rows as one generated loop. */
#include "rowProgram.h"

#include <algorithm>

#include "../code/translation.h"
#include "../reduce/collector.h"

namespace tl {
namespace {

/** Phases at most, and bytes of rows that the loop keeps for itself: more would not stay in the first cache. */
constexpr size_t kMostPhases = 8;
constexpr int64_t kMostOwnBytes = 24 * 1024;
/** Columns at most: sums of more of them would lose digits, while reductions by themselves go on in a wider type. */
constexpr int64_t kMostColumns = 32 * 1024;

bool isPosition(ReduceOp op) { return op == ReduceOp::argmax || op == ReduceOp::argmin; }

class RowLoop final : public Instruction {
 public:
  RowLoop(code::Loop loop, int64_t rows, int64_t columns, std::vector<LoopAddress> operands, std::vector<LoopStart> starts)
      : loop_(std::move(loop)), rows_(rows), columns_(columns), operands_(std::move(operands)), starts_(std::move(starts)) {}

  Failure run(void* const* table) override {
    code::LoopArgs args;
    args.rows = rows_;
    args.columns = columns_;
    for (size_t i = 0; i < operands_.size(); i++)
      if (operands_[i].slot >= 0) args.at[i] = static_cast<char*>(table[operands_[i].slot]) + operands_[i].offset;
    for (const auto& [operand, nothing] : starts_) {
      float* const to = reinterpret_cast<float*>(args.at[operand]);
      std::fill(to, to + columns_, nothing);
    }
    loop_.run(args);
    return {};
  }

 private:
  code::Loop loop_;
  int64_t rows_, columns_;
  std::vector<LoopAddress> operands_;
  std::vector<LoopStart> starts_;
};

}  // namespace

RowStep::RowStep(MapCode map)
    : isFold(false), expression(std::move(map.expression)), outputs(std::move(map.outputs)), results(std::move(map.results)) {}

RowStep::RowStep(ReduceCode reduce)
    : isFold(true), op(reduce.op), reduced(std::move(reduce.reduced)), expression(std::move(reduce.expression)),
      outputs{std::move(reduce.output)}, results{reduce.result} {}

InstructionPtr RowStep::instruction() const {
  return isFold ? reduceOf({op, expression, reduced, results[0], outputs[0]}) : mapOf({expression, outputs, results});
}

/** What a step reads: values that steps before it have computed, or memory. */
class RowProgram::StepInputs final : public code::Inputs {
 public:
  StepInputs(RowProgram& program, const RowStep& step, const std::vector<Form>& forms, size_t phase, bool single)
      : program_(program), step_(step), forms_(forms), phase_(phase), single_(single) {}

  bool isSingle(int input) const override { return single_ || forms_[static_cast<size_t>(input)].column == 0; }

  code::Value value(int input) override {
    const size_t i = static_cast<size_t>(input);
    Known& known = program_.find(step_.expression.inputs[i], forms_[i]);
    if (known.written && (known.single || known.phase == phase_)) return known.value;
    const size_t number = static_cast<size_t>(&known - program_.known_.data());
    program_.read_.resize(std::max(program_.read_.size(), phase_ + 1));
    std::vector<code::Value>& read = program_.read_[phase_];
    read.resize(std::max(read.size(), number + 1), code::kNone);
    if (read[number] >= 0) return read[number];
    if (!known.written) known.phase = std::max(known.phase, phase_);
    if (known.operand < 0) known.operand = program_.addOperand(known, known.written ? program_.columns_ : 0);
    return read[number] = code::load(program_.lines_, known.dtype, isSingle(input), known.operand);
  }

 private:
  RowProgram& program_;
  const RowStep& step_;
  const std::vector<Form>& forms_;
  size_t phase_;
  bool single_;
};

bool RowProgram::shapeOf(const RowStep& step, int64_t& rows, int64_t& columns) {
  const std::vector<int64_t>& shape = step.expression.shape;
  if (shape.size() < 2 || shape.back() < 2 || shape.back() > kMostColumns) return false;
  columns = shape.back();
  rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); d++) rows *= shape[d];
  return true;
}

/** How a step's views move with rows and columns, if all of them do so regularly; `single` if it has one column only. */
bool RowProgram::formsOf(const RowStep& step, bool& single, std::vector<Form>& inputs, std::vector<Form>& outputs) const {
  const Expression& e = step.expression;
  std::vector<std::vector<int64_t>> others;
  if (step.isFold)
    others.push_back(ReduceCode::stridesOf(step.reduced, step.outputs[0]));
  else
    for (const View& v : step.outputs) others.push_back(v.strides);
  Layout layout(e, others);
  if (layout.empty || layout.strides.size() != e.inputs.size() + others.size()) return false;
  Space& space = layout.space;
  single = space.points() == rows_;
  if (!single && space.points() != rows_ * columns_) return false;
  if (!single) space.mark[space.rank - 1] = true;
  simplify(space, layout.strides, 0, false);
  // Dims of one point are gone.
  const bool isOneRow = rows_ == 1;
  const int column = isOneRow ? 0 : 1;
  if (space.rank != column + !single || (!isOneRow && space.dims[0] != rows_) || (!single && space.dims[column] != columns_)) return false;
  for (size_t i = 0; i < layout.strides.size(); i++) {
    const Strides& s = layout.strides[i];
    const Form form = {isOneRow ? 0 : s.of[0], single ? 0 : s.of[column]};
    const bool isInput = i < e.inputs.size();
    if (form.column != 0 && form.column != 1) return false;
    if (!isInput && !step.isFold && !single && form.column != 1) return false;
    (isInput ? inputs : outputs).push_back(form);
  }
  return true;
}

bool RowProgram::isSame(const Known& known, const View& view, const Form& form) const {
  return known.slot == view.slot && known.offset == view.offset && known.form == form && known.dtype == view.dtype;
}

int64_t RowProgram::phaseFor(const RowStep& step, const std::vector<Form>& inputs, const std::vector<Form>& outputs) const {
  size_t phase = 0;
  const std::vector<View>& reads = step.expression.inputs;
  for (size_t i = 0; i < reads.size(); i++)
    for (const Known& known : known_) {
      if (known.storage != reads[i].storage || !known.written) continue;
      if (known.across || !isSame(known, reads[i], inputs[i])) return -1;
      phase = std::max(phase, known.phase);
    }
  for (size_t i = 0; i < step.outputs.size(); i++) {
    // What is written over is read at the same points, and not after that.
    const View& output = step.outputs[i];
    for (const Known& known : known_) {
      if (known.storage != output.storage) continue;
      if (known.written || !isSame(known, output, outputs[i])) return -1;
      phase = std::max(phase, known.phase);
    }
    for (size_t j = 0; j < reads.size(); j++)
      if (reads[j].storage == output.storage &&
          !(reads[j].slot == output.slot && reads[j].offset == output.offset && inputs[j] == outputs[i]))
        return -1;
    for (size_t j = 0; j < i; j++)
      if (step.outputs[j].storage == output.storage) return -1;
  }
  return static_cast<int64_t>(phase);
}

RowProgram::Known& RowProgram::find(const View& view, const Form& form) {
  for (Known& known : known_)
    if (known.storage == view.storage && isSame(known, view, form)) return known;
  Known known = {view.storage, view.slot, view.offset, form, view.dtype};
  known_.push_back(known);
  return known_.back();
}

int RowProgram::addOperand(const Known& known, int64_t own) {
  operands_.push_back({known.dtype, known.form.column, known.form.row, own});
  addresses_.push_back({own > 0 ? -1 : known.slot, known.offset});
  return static_cast<int>(operands_.size()) - 1;
}

bool RowProgram::add(const RowStep& step) {
  const Expression& e = step.expression;
  if (step.isFold && (isPosition(step.op) || step.outputs[0].dtype != DType::f32)) return false;
  if (step.isFold && e.nodes[static_cast<size_t>(step.results[0])].dtype != DType::f32) return false;
  for (size_t i = 0; i < step.outputs.size(); i++)
    if (step.outputs[i].dtype != e.nodes[static_cast<size_t>(step.results[i])].dtype) return false;
  if (!code::canTranslate(e, step.results)) return false;
  bool single;
  std::vector<Form> inputs, outputs;
  if (!formsOf(step, single, inputs, outputs)) return false;
  // A fold goes along the columns, or else along all rows. One row has both, and its results do not move on.
  const bool along = step.isFold && outputs[0].column == 0;
  const bool across = step.isFold && outputs[0].row == 0 && !(along && rows_ == 1);
  if (step.isFold && (single || along == across || (across && outputs[0].column != 1))) return false;
  // Truth values are not kept for a whole row.
  for (const Node& node : e.nodes)
    if (node.dtype == DType::bool_ && single) return false;
  for (size_t i = 0; i < e.inputs.size(); i++)
    if (e.inputs[i].dtype == DType::bool_ && inputs[i].column == 0) return false;
  const int64_t first = phaseFor(step, inputs, outputs);
  if (first < 0 || first >= static_cast<int64_t>(kMostPhases)) return false;
  const size_t phase = static_cast<size_t>(first);
  if (along && phase < lines_.phases.size() && lines_.phases[phase].folds.size() >= 4) return false;
  if (operands_.size() + inputs.size() + outputs.size() + known_.size() > code::kMostLoopOperands) return false;

  StepInputs from(*this, step, inputs, phase, single);
  std::vector<code::Value> values;
  if (!code::translate(lines_, phase, e, from, step.results, values)) refuse("an expression cannot be generated");
  for (size_t i = 0; i < values.size(); i++) {
    Known& known = find(step.outputs[i], outputs[i]);
    known.written = true;
    known.single = single || along;
    known.phase = along ? phase + 1 : phase;
    known.across = across;
    known.value = values[i];
    known.operand = -1;
    if (!step.isFold) continue;
    lines_.goTo(phase, false);
    const FoldOp how = foldOf(step.op);
    if (along) {
      known.value = lines_.fold(how, values[i]);
    } else {
      known.operand = addOperand(known, 0);
      const code::Value sum = lines_.load(code::Do::load, known.operand);
      lines_.add(code::Do::store, lines_.join(how, sum, values[i]), code::kNone, code::kNone, known.operand);
      starts_.push_back({known.operand, code::nothingOf(how)});
    }
  }
  return true;
}

/** Stores what somebody else wants, and what later phases read. */
void RowProgram::keep(Known& known, bool wanted) {
  if (!wanted && known.operand < 0) return;
  const int64_t own = columns_ * sizeOf(known.dtype);
  // What would take too much room in the loop's own memory goes where it would without the loop.
  const bool toMemory = wanted || ownBytes_ + own > kMostOwnBytes;
  if (known.operand < 0) {
    known.operand = addOperand(known, 0);
  } else if (toMemory) {
    operands_[static_cast<size_t>(known.operand)].own = 0;
    addresses_[static_cast<size_t>(known.operand)].slot = known.slot;
  } else {
    ownBytes_ += own;
  }
  lines_.goTo(known.phase, known.single);
  const code::Do store = known.single ? code::Do::storeOne : lines_.isMask(known.value) ? code::Do::storeTruth : code::Do::store;
  lines_.add(store, known.value, code::kNone, code::kNone, known.operand);
}

InstructionPtr RowProgram::made() {
  code::Loop loop(lines_, operands_);
  if (!loop) return {};
  return make<RowLoop>(std::move(loop), rows_, columns_, std::move(addresses_), std::move(starts_));
}

}  // namespace tl

/** Maps and reductions over the same rows as one generated loop. */
#pragma once
#include "../code/loop.h"
#include "../map/map.h"
#include "../reduce/reduce.h"

namespace tl {

/** A map, or a reduction, before it is an instruction. */
struct RowStep {
  explicit RowStep(MapCode);
  explicit RowStep(ReduceCode);

  /** The step by itself. */
  InstructionPtr instruction() const;

  bool isFold;
  ReduceOp op = ReduceOp::sum;
  std::vector<bool> reduced;
  Expression expression;
  std::vector<View> outputs;
  std::vector<int64_t> results;
};

/** Where an operand of the loop is; slot -1 for memory of the loop's own. */
struct LoopAddress {
  int32_t slot;
  int64_t offset;
};
/** A result across rows, which must begin with something that changes nothing. */
struct LoopStart {
  int operand;
  float nothing;
};

/**
 * Several steps as one loop over rows. In each row it goes over the columns in phases: what one phase folds along the row is there
 * for the next. Values stay in registers within a phase; between phases they are in memory of the loop's own, unless somebody
 * else needs them too.
 */
class RowProgram {
 public:
  /** Rows and columns of the steps; some may be of one column. */
  RowProgram(int64_t rows, int64_t columns) : rows_(rows), columns_(columns) {}

  /** The rows and columns that a step would like. */
  static bool shapeOf(const RowStep&, int64_t& rows, int64_t& columns);

  /** Takes a step in after the others, if it can be part of the loop. */
  bool add(const RowStep&);
  /** The loop, or nothing if it could not be made. What steps write is stored if others want that slot and storage. */
  template <class Wanted> InstructionPtr finish(const Wanted& isWanted) {
    for (Known& known : known_)
      if (known.written && !known.across) keep(known, isWanted(known.slot, known.storage));
    return made();
  }

 private:
  /** By how many elements a view moves with rows and columns. */
  struct Form {
    int64_t row, column;
    bool operator==(const Form& o) const { return row == o.row && column == o.column; }
  };
  /** A view that the steps have read or written. */
  struct Known {
    int32_t storage, slot;
    int64_t offset;
    Form form;
    DType dtype;
    bool written = false, across = false;
    /** Whether all columns share it. */
    bool single = false;
    /** The phase in which it is computed, or from which on it is there if it is single, or the last in which it was read. */
    size_t phase = 0;
    code::Value value = code::kNone;
    int operand = -1;
  };
  class StepInputs;

  bool formsOf(const RowStep&, bool& single, std::vector<Form>& inputs, std::vector<Form>& outputs) const;
  bool isSame(const Known&, const View&, const Form&) const;
  /** The first phase in which a step can be, or -1 if it cannot. */
  int64_t phaseFor(const RowStep&, const std::vector<Form>& inputs, const std::vector<Form>& outputs) const;
  Known& find(const View&, const Form&);
  int addOperand(const Known&, int64_t own);
  void keep(Known&, bool wanted);
  InstructionPtr made();

  int64_t rows_, columns_, ownBytes_ = 0;
  code::Lines lines_;
  std::vector<code::LoopOperand> operands_;
  std::vector<LoopAddress> addresses_;
  std::vector<Known> known_;
  /** Values that were read in a phase, so that they are read once: by phase and known view. */
  std::vector<std::vector<code::Value>> read_;
  std::vector<LoopStart> starts_;
};

}  // namespace tl

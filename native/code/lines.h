/**
 * Straight lines of vector code: what is computed for 16 elements, in values. Registers come when it is written down (writer.h).
 *
 * A value is a vector of 16 words of 32 bits, or a mask of 16 truth values. Constants, and what was put away, have a home in
 * memory and need a register only where an instruction cannot take them from there.
 */
#pragma once
#include <cstdint>
#include <vector>

#include "../simd/kernels.h"

namespace tl::code {

/** A value's number. */
using Value = int32_t;
constexpr Value kNone = -1;

enum class Do : uint8_t {
  load, loadOne, loadTruth, store, storeOne, storeTruth, putAway,
  add, sub, mul, div, min, max, sqrt, and_, or_, xor_,
  multiplyAdd,      // x y + z
  subtractProduct,  // z - x y
  scale,            // x 2^y
  inverse14,        // 1 / x to 14 bits
  round, shiftLeft, fromInteger,
  compare, compareIntegers, choose,
  maskAnd, maskOr, maskXor, maskNot,
  fold,
};

/** How numbers are compared, as the processor counts it. */
enum class Compare : uint8_t { equal = 0x00, unordered = 0x03, unequal = 0x04, less = 0x11, lessOrEqual = 0x12 };

struct Line {
  Do what;
  Value result = kNone;
  /** For `choose`: the truth, what is taken where it does not hold, and what where it does. */
  Value x = kNone, y = kNone, z = kNone;
  /** An operand's number, a comparison, a way of rounding, a shift, a sum. */
  int32_t number = 0;
  /** Which of several vectors worked on side by side. */
  int32_t beside = 0;
};

/** A loop over columns: lines for each vector, lines once before them, and what it folds along the row. */
struct Phase {
  std::vector<Line> before, lines;
  struct Fold {
    FoldOp how;
    Value nothing, result;
  };
  std::vector<Fold> folds;
  bool hasFunctions = false;
};

/** Lines for a row, phase by phase, and the values in them. */
class Lines {
 public:
  Value constant(float);
  Value bits(uint32_t);

  /** Lines go to this phase from now on, to those for each vector or to those before. */
  void goTo(size_t phase, bool before);
  Value add(Do what, Value x = kNone, Value y = kNone, Value z = kNone, int32_t number = 0);
  Value load(Do how, int operand) { return add(how, kNone, kNone, kNone, operand); }
  Value compare(Compare how, Value x, Value y) { return add(Do::compare, x, y, kNone, static_cast<int32_t>(how)); }
  /** yes where the truth holds, elsewhere no. */
  Value choose(Value truth, Value yes, Value no) { return add(Do::choose, truth, no, yes); }
  /** Extremes as everywhere here: NaN wins, and among equals the second. */
  Value extreme(Do what, Value x, Value y);
  /** F(x, y) of a fold. */
  Value join(FoldOp, Value x, Value y);
  /** Keeps a value that is the same for a whole row in the frame. */
  void putAway(Value);
  /** Folds a value of the present phase; the result is there for phases after it. */
  Value fold(FoldOp, Value);

  bool isMask(Value v) const { return values[static_cast<size_t>(v)].isMask; }

  struct Kept {
    bool isMask = false;
    /** Where it is in memory: a constant's number, or a place in the frame; -1 if nowhere. */
    int32_t constant = -1, frame = -1;
  };
  std::vector<Kept> values;
  std::vector<uint32_t> constants;
  std::vector<Phase> phases;
  /** Vectors that were put away in the frame. */
  int32_t frameSlots = 0;

 private:
  /** Whether a value is a constant, and not NaN. */
  bool isNumber(Value) const;

  /** The value that each constant is. */
  std::vector<Value> constantValues_;
  size_t phase_ = 0;
  bool before_ = false;
};

/** What folding begins with: it changes no result. */
float nothingOf(FoldOp);

/** e^x and others as lines; kNone if there is no such. They round as transcendental.simd.cpp does. */
Value addFunction(Lines&, Op, Value x);

}  // namespace tl::code

/** Which register holds what, while lines of vector code are written down. */
#pragma once
#include <array>

#include "assembler.h"
#include "lines.h"

namespace tl::code {

/** Bytes and elements of a vector. */
constexpr int32_t kVectorBytes = 64, kVectorElements = 16;
/** Running results of a phase at most: for each of its folds one for each vector that is worked on in turns. */
constexpr int kMostRunning = 4;
/** Registers: running results are in the last vectors; one mask is for tails, one for folding, and mask 0 means none. */
constexpr int kVectors = 32, kFirstFold = kVectors - kMostRunning;
constexpr int kMasks = 8, kTailMask = 1, kFoldMask = 2, kFirstMask = 3;

/** A vector from memory and to it, and one element of memory or of a register as a vector. */
constexpr Opcode kLoad = {0, 1, 0x10}, kStore = {0, 1, 0x11}, kRepeat = {1, 2, 0x18};

/** Where in the frame, which the stack pointer is at, the vector of a slot is. */
inline Place frameAt(int32_t frameStart, int32_t slot) { return Place::at(rsp, frameStart + kVectorBytes * slot); }

/**
 * A value keeps its register until nothing reads it, or until others need the register sooner; then it goes to the frame. Masks have
 * no place to go to.
 */
class Registers {
 public:
  /** Vectors are as long as `length` says; their slots in the frame begin at a place of it. */
  Registers(Assembler& to, const Lines& lines, int32_t frameStart, uint8_t length);

  /** The lines to come. Numbers of values may be those of `values`, and again for each vector that is worked on beside the first. */
  void expect(const std::vector<Line>&, int beside);

  /** A register for a value that a line computes. */
  int define(Value);
  /** A mask's register, or -1 if all are taken. */
  int defineMask(Value);
  /** A register for use within a line. */
  int spare();
  /** The value becomes that of a register which nothing needs any more. */
  void take(int reg, Value);

  /** The register of a value, or -1 if it has none; masks have one. */
  int registerOf(Value v) { return at(v).reg; }
  /** The same, into which the value is loaded if it has none. */
  int inRegister(Value);
  /** A value's register or, if it has none, where it is in memory. */
  Place anywhere(Value v) { return at(v).reg < 0 ? home(at(v)) : Place::of(at(v).reg); }
  /** Whether a value is in a register that nothing reads after this line. */
  bool endsIn(Value, const Line&);

  /** From now on a value has its own slot of the frame; gives its place. */
  Place putAway(Value);

  /** Notes that a line has read its values; registers of those that nothing reads any more are free, for its result too. */
  void release(const Line&);
  /** Notes that the line is written; what it has read in the frame may be written over. */
  void endLine();

  /** Slots of the frame, behind those of values that were put away, that values have gone to. */
  int32_t spillSlots() const { return spillSlots_; }

 private:
  /** A value while lines are written. */
  struct Local {
    bool isMask = false;
    int32_t constant = -1, frame = -1;
    /** Whether it is in the frame only because others needed its register. */
    bool isSpilled = false;
    int reg = -1;
    /** The lines that read it, and how many of them have been written. */
    std::vector<int32_t> uses;
    size_t used = 0;

    bool isDone() const { return used == uses.size(); }
    int32_t nextUse() const { return isDone() ? INT32_MAX : uses[used]; }
    bool hasHome() const { return constant >= 0 || frame >= 0; }
  };

  Local& at(Value v) { return locals_[static_cast<size_t>(v)]; }
  Place home(const Local&) const;
  Written whole() const { return {0, false, length_}; }
  int freeVector();
  int32_t spillSlot();

  Assembler& to_;
  const Lines& lines_;
  int32_t frameStart_;
  uint8_t length_;
  std::vector<Local> locals_;
  /** The value in each register. */
  std::array<Value, kVectors> vectors_;
  std::array<Value, kMasks> masks_;
  /** How many slots values have gone to, those that are free again, and those that the line being written may still read. */
  int32_t spillSlots_ = 0;
  std::vector<int32_t> spareSlots_, readSlots_;
};

}  // namespace tl::code

/** Writing lines of vector code down: which register holds what, and the bytes of every instruction. */
#pragma once
#include "assembler.h"
#include "lines.h"

namespace tl::code {

/** What can be folded into a running result; extremes keep NaN. */
enum class Folding : uint8_t { none, sum, prod, max, min };

/** What lines need to know of the loop around them. The stack pointer is at the frame. */
struct Surroundings {
  struct Operand {
    int base = -1;              // the register with its address, or -1
    Place address = {};         // else where the address is
    uint8_t scale = 2;          // an element has 2 to this power bytes
  };
  std::vector<Operand> operands;
  /** Registers with the number of the first element, and one for any use. */
  int index, spare;
  Folding folding = Folding::none;
};

/** The mask with which the last elements of a row are read and written. */
constexpr int kTailMask = 1;
/** Bytes and elements of a vector. */
constexpr int32_t kVectorBytes = 64, kVectorElements = 16;

class Writer {
 public:
  /** Values that find no register get room in the frame that `lines` counts. */
  Writer(Assembler& to, Lines& lines, const Surroundings& around) : to_(to), lines_(lines), around_(around) {}

  /**
   * Writes lines for `beside` vectors in turns; with `tail`, for those elements of one that the tail mask has. False if there
   * are more masks than registers for them.
   */
  bool write(const std::vector<Line>&, int beside, bool tail = false);
  /** Begins so many running results with a constant. */
  void startFold(int beside, Value nothing);
  /** Joins them to one, and stores it as the first element of an operand. */
  void finishFold(int beside, int operand);

 private:
  Assembler& to_;
  Lines& lines_;
  const Surroundings& around_;
};

}  // namespace tl::code

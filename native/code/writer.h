/** Writing lines of vector code down: the bytes of every instruction. */
#pragma once
#include "assembler.h"
#include "lines.h"
#include "registers.h"

namespace tl::code {

/** What lines need to know of the loop around them. The stack pointer is at the frame. */
struct Surroundings {
  struct Operand {
    int base = -1;       // the register with its address, or -1
    int32_t offset = 0;  // from there
    Place address = {};  // else where the address is
    uint8_t scale = 2;   // an element has 2 to this power bytes
    bool streams = false;  // written past the caches
  };
  std::vector<Operand> operands;
  /** Registers with the number of the first element, and one for any use. */
  int index, spare;
  /** Where in the frame values are, after what else is there. */
  int32_t frameStart = 0;
};

class Writer {
 public:
  /** Nothing is put away any more: values that find no register get room in the frame behind those that were. */
  Writer(Assembler& to, const Lines& lines, const Surroundings& around) : to_(to), lines_(lines), around_(around) {}

  /** Writes the lines before a phase; false if there are more masks than registers for them. */
  bool writeBefore(const Phase&);
  /** Writes a phase's lines for `beside` vectors in turns; with `tail`, for those elements of one that the tail mask has. */
  bool write(const Phase&, int beside, bool tail = false);
  /** Before and after all lines of a phase whose folds have so many running results each. */
  void startFolds(const Phase&, int beside);
  void finishFolds(const Phase&, int beside);

  /** Bytes of the frame that what was written needs. */
  int32_t frameBytes() const { return around_.frameStart + kVectorBytes * (lines_.frameSlots + spillSlots_); }

 private:
  Assembler& to_;
  const Lines& lines_;
  const Surroundings& around_;
  /** Lines are written down one list after the other, so that all use the same slots. */
  int32_t spillSlots_ = 0;
};

}  // namespace tl::code

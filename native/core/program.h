/** A program: instructions decoded and prepared once, run many times. */
#pragma once
#include "chain.h"
#include "owned.h"
#include "view.h"

namespace tl {

/** Why an instruction stopped; for an index its flat position and value. */
struct Failure {
  FailureCode code = FailureCode::none;
  int64_t position = 0;
  double value = 0;
};

class Instruction {
 public:
  virtual ~Instruction() = default;
  /** The table holds the addresses of the slots that views name. */
  virtual Failure run(void* const* table) = 0;
  /** Whether it takes less time than it takes to say that a program runs: it needs no other threads and no scratch memory. */
  virtual bool isBrief() const { return false; }
  /** Itself, if it can be computed row by row. */
  virtual RowWise* rowWise() { return nullptr; }
};

using InstructionPtr = Owned<Instruction>;

InstructionPtr decodeMap(Reader&);
InstructionPtr decodeReduce(Reader&);
InstructionPtr decodeDot(Reader&);
InstructionPtr decodeConv(Reader&);
InstructionPtr decodeGather(Reader&);
InstructionPtr decodeScatter(Reader&);
InstructionPtr decodeScan(Reader&);
InstructionPtr decodeTopK(Reader&);
InstructionPtr decodeWindow(Reader&);
InstructionPtr decodeRandom(Reader&);
InstructionPtr decodeCheck(Reader&);
InstructionPtr decodeBlocks(Reader&);
InstructionPtr decodeTogether(Reader&);
/** Any instruction, with its kind or after it. */
InstructionPtr decodeInstruction(Reader&);
InstructionPtr decodeInstruction(Reader&, InstructionKind);

}  // namespace tl

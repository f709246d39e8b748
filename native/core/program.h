/** A program: instructions decoded and prepared once, run many times. */
#pragma once
#include <atomic>

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
};

using InstructionPtr = Owned<Instruction>;

/** A matrix in the form that the matrix unit wants, for all products of a run that share it. */
struct Packed {
  enum State : int { missing, underWay, there };
  std::atomic<int> state{missing};
  /** Whether it could be split. */
  bool finite = false;
  std::vector<char> memory;
};

/** What the products of a program share. */
class Packs {
 public:
  Packed& of(int64_t id) {
    while (static_cast<int64_t>(all_.size()) <= id) all_.push_back(make<Packed>());
    return *all_[static_cast<size_t>(id)];
  }
  /** A run begins: matrices may have changed since the last one. */
  void restart() {
    for (Owned<Packed>& packed : all_) packed->state.store(Packed::missing, std::memory_order_relaxed);
  }

 private:
  std::vector<Owned<Packed>> all_;
};

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
/** Any instruction, after its kind. */
InstructionPtr decodeInstruction(Reader&);

}  // namespace tl

/**
 * Loops over rows and columns, generated for AVX-512.
 *
 * Where the processor has it and an expression is of float32 in the main, its value at 16 points at a time is computed in
 * registers from beginning to end, instead of operation by operation through memory.
 */
#pragma once
#include <vector>

#include "executable.h"
#include "lines.h"

namespace tl {

struct Expression;

namespace code {

/** Operands of a generated loop at most. */
constexpr int kMostLoopOperands = 48;

/** What a generated loop is called with. It moves the addresses on. */
struct LoopArgs {
  int64_t rows, columns;
  char* at[kMostLoopOperands];
};

/** An operand of a loop: its type, and by how many elements it moves with columns and rows. */
struct LoopOperand {
  DType dtype;
  int64_t column, row;
  /** If not 0, it has no address: it is a row that only the loop uses, of so many elements. */
  int64_t own = 0;
  /** It is written past the caches. Then every row begins at a multiple of kVectorBytes. */
  bool streams = false;
};

class Loop {
 public:
  Loop() = default;
  /** A loop over rows, and in each of them phase by phase over the columns. Empty if this processor cannot run it. */
  Loop(const Lines&, const std::vector<LoopOperand>&);
  /**
   * A loop that stores some nodes of an expression; operands are its inputs and then the results. Empty also if the expression
   * cannot be lines.
   */
  Loop(const Expression&, const std::vector<LoopOperand>&, const std::vector<int64_t>& results);

  explicit operator bool() const { return static_cast<bool>(code_); }
  void run(LoopArgs& args) const { entry_(&args); }

 private:
  void compile(const Lines&, const std::vector<LoopOperand>&);

  Executable code_;
  void (*entry_)(LoopArgs*) = nullptr;
};

}  // namespace code
}  // namespace tl

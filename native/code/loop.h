/**
 * Loops over rows and columns, generated for an expression.
 *
 * Where the processor has AVX-512 and an expression is of float32 in the main, its value at 16 points at a time is computed in
 * registers from beginning to end, instead of operation by operation through memory.
 */
#pragma once
#include <vector>

#include "../map/space.h"
#include "executable.h"
#include "writer.h"

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
};

class Loop {
 public:
  Loop() = default;
  /**
   * A loop that stores some nodes of an expression, or folds one of them along each row. Operands are the expression's inputs and
   * then the results. Empty if this processor or the expression is not for generated code.
   */
  Loop(const Expression&, const std::vector<LoopOperand>&, const std::vector<int64_t>& results, Folding = Folding::none);

  explicit operator bool() const { return static_cast<bool>(code_); }
  void run(LoopArgs& args) const { entry_(&args); }

 private:
  Executable code_;
  void (*entry_)(LoopArgs*) = nullptr;
};

}  // namespace code
}  // namespace tl

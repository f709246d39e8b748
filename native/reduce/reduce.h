/** A reduction as it arrives in a program. */
#pragma once
#include <vector>

#include "../map/body.h"

namespace tl {

struct ReduceCode {
  ReduceOp op;
  Expression expression;
  /** Whether an axis is folded. */
  std::vector<bool> reduced;
  int64_t result;
  View output;

  static ReduceCode decode(Reader&);
  /** An output's strides along the axes of the expression: 0 along those that are folded. */
  static std::vector<int64_t> stridesOf(const std::vector<bool>& reduced, const View& output);
};

InstructionPtr reduceOf(const ReduceCode&);

}  // namespace tl

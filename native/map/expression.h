/** The scalar program inside `map` and `reduce`, as it arrives. */
#pragma once
#include <vector>

#include "../core/view.h"
#include "space.h"

namespace tl {

/** One expression node as decoded. Arguments are positions of earlier nodes. */
struct Node {
  Op op;
  DType dtype;
  /** Arguments; for `input` the input's number, for `index` the axis. */
  int64_t args[3];
  /** A constant: bits of one or two doubles, or one integer. */
  int64_t bits[2];
};

inline int argumentCount(Op op) {
  if (op == Op::select) return 3;
  if (op == Op::complex || (op >= Op::add && op <= Op::nextafter) || (op >= Op::eq && op <= Op::ge)) return 2;
  return 1;
}

inline bool isLeaf(Op op) { return op == Op::input || op == Op::const_ || op == Op::index; }

/** An instruction's operands and expression, before a space is chosen. */
struct Expression {
  std::vector<int64_t> shape;
  std::vector<View> inputs;
  std::vector<Node> nodes;

  static Expression decode(Reader&);
  /** How costly a point is, in units of one simple vector operation. */
  double costPerPoint() const;
};

/** The space of an expression and its operands: first the inputs, then the positions (`index` nodes), then the rest. */
struct Layout {
  Space space;
  std::vector<Strides> strides;

  /** `others` are further views over the same shape (zero strides on dims they lack). */
  Layout(const Expression&, const std::vector<std::vector<int64_t>>& others);
  bool empty = false;
};

}  // namespace tl

/** What all reductions have in common: the boxes that they evaluate an expression in. */
#pragma once
#include "../core/pool.h"
#include "../map/body.h"

namespace tl {

/** Points per box: more than in a map, as a fold holds few registers and pays for every box it begins. */
constexpr int64_t kFoldBlock = 4096;
/** Work, in simple operations on an element, that pays for waking another thread. */
constexpr double kFoldGrain = 150e3;

/**
 * A reduction box by box. A box is a dense [outer, inner] block whose inner dims are all reduced (then its rows are folded) or all
 * kept (then its columns are), whichever follows memory.
 */
class BoxReduction : public Instruction {
 protected:
  /** `leavesProducts` says whether a product may be left to what folds it. */
  BoxReduction(const Expression&, Layout, int64_t result, const Operand& output, bool leavesProducts);

  /** The box where a kept part and a folded part of the grid meet. */
  Box meet(const Box& kept, const Box& folded) const;
  /** The result's values over a box, as a dense block. */
  const void* values(Body::Run&, const Box&, char* spare) const;
  void store(void* const* table, const Box& kept, ConvertFn, char* from, int64_t size) const;

  static constexpr int64_t kWidest = 16;  // bytes of the widest type
  static constexpr int64_t kRegister = kFoldBlock * kWidest;

  /** The grid, and the same with only its kept or its folded dims moving. */
  Space space_, kept_, folded_;
  Owned<Body> body_;
  int64_t result_;
  Kind kind_;
  Operand output_;
  bool innerFolded_;
  double work_;
};

/** Sums, products and extremes. */
InstructionPtr makeFold(const Expression&, const Layout&, int64_t result, const Operand& output, FoldOp);
/** Positions of extremes. */
InstructionPtr makePosition(const Expression&, const Layout&, int64_t result, const Operand& output, bool largest);

}  // namespace tl

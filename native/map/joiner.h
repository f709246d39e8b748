/** Joins operations of an expression, where the block kernels have one for several. */
#pragma once
#include <vector>

#include "body.h"

namespace tl {

/** Works on a body whose nodes are planned but have no places yet. */
class Joiner {
 public:
  explicit Joiner(Body&);
  void join();

 private:
  using Step = Body::Step;

  bool canJoin(int64_t node) const;
  bool is(int64_t node, Op op) const;
  bool isProduct(int64_t node) const;
  const int64_t* args(int64_t node) const;
  bool become(Step&, BlockFn, std::initializer_list<int64_t> args, std::initializer_list<int64_t> joined);

  bool joinScaledStep(Step&);
  bool joinTowards(Step&, int64_t from, int64_t change);
  bool joinTwoProducts(Step&);
  bool joinChoice(Step&);
  bool joinChain(Step&, Outer, int64_t inner, int64_t other);
  bool joinArithmetic(Step&);
  bool joinFunction(Step&);
  bool joinTimes(Step&, int64_t function, int64_t other);

  std::vector<Step>& steps_;
  /** How often each node is used. */
  std::vector<int> uses_;
};

}  // namespace tl

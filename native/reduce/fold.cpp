/**
 * Sums, products and extremes. Box results are collected in the register type, and every kFlush boxes in a wider one, so that long
 * sums stay exact to float32's last digits.
 */
#include <algorithm>
#include <cstring>

#include "boxes.h"
#include "collector.h"

namespace tl {
namespace {

constexpr int64_t kFlush = 64;
/** Rows so long are folded as products where they are products. */
constexpr int64_t kLeastProducts = 32;
/** A fold into few outputs is split into about this many pieces; a fixed number keeps results free of the thread count. */
constexpr int64_t kPieces = 64;
/** Elements that a piece has at least for one output, or else putting pieces together would be much of the work. */
constexpr int64_t kLeastPiece = 32;

class Fold final : public BoxReduction {
 public:
  Fold(const Expression& e, const Layout& layout, int64_t result, const Operand& output, FoldOp op)
      : BoxReduction(e, layout, result, output, op == FoldOp::sum), collector_(op, kind_) {
    const auto& table = innerFolded_ ? simd().foldRows : simd().foldColumns;
    fold_ = table[static_cast<int>(op)][static_cast<int>(kind_)];
    if (!fold_) refuse("a reduction is not defined for its type");
    const bool longRows = space_.rank > 0 && space_.dims[space_.rank - 1] >= kLeastProducts;
    if (op == FoldOp::sum && longRows && body_->leaveProduct(result, factors_))
      products_ = innerFolded_ ? simd().productRows : simd().productColumns;
    const int64_t keptBoxes = kept_.boxes(), foldedBoxes = folded_.boxes();
    pieces_ = std::max<int64_t>(1, std::min({kPieces / keptBoxes, foldedBoxes / 4, folded_.points() / kLeastPiece}));
    if (pieces_ > 1) partial_.resize(static_cast<size_t>(keptBoxes * pieces_ * kRegister));
  }

  Failure run(void* const* table) override {
    int32_t failure = 0;
    const int64_t keptBoxes = kept_.boxes(), tasks = keptBoxes * pieces_;
    const int64_t parts = std::min(tasks, Pool::get().parts(work_, kFoldGrain));
    Pool::get().run(parts, [&](int64_t part) {
      char* scratch = Pool::scratch(4 * kRegister + body_->scratchBytes());
      Body::Run run(*body_, table, scratch + 4 * kRegister, &failure);
      const Range range = rangeOf(part, parts, tasks);
      for (int64_t task = range.begin; task < range.end; task++) foldTask(table, run, task, scratch);
    });
    if (pieces_ > 1) joinPieces(table, keptBoxes);
    Failure result;
    result.code = static_cast<FailureCode>(failure);
    return result;
  }

 private:
  void foldTask(void* const* table, Body::Run& run, int64_t task, char* scratch) {
    char *near = scratch, *fresh = scratch + kRegister, *wide = scratch + 2 * kRegister, *spare = scratch + 3 * kRegister;
    const Range range = rangeOf(task % pieces_, pieces_, folded_.boxes());
    const Box kept = boxAt(kept_, task / pieces_);
    Box folded = boxAt(folded_, range.begin);
    bool collected = false;
    for (int64_t i = range.begin, pending = 0; i < range.end; i++, advance(folded_, folded)) {
      const Box box = meet(kept, folded);
      const int64_t outer = innerFolded_ ? kept.points : folded.points, inner = box.points / outer;
      // One row has nothing to fold but what is there already.
      const bool isRow = outer == 1 && !innerFolded_ && !products_ && pending > 0;
      if (!isRow) foldBox(run, box, outer, inner, pending == 0 ? near : fresh, spare);
      if (pending > 0) collector_.join(kept.points, near, isRow ? values(run, box, spare) : fresh);
      if (++pending == kFlush) {
        collector_.take(kept.points, !collected, near, wide, fresh);
        collected = true;
        pending = 0;
      }
      if (i + 1 == range.end && pending > 0 && (collected || pieces_ > 1)) {
        collector_.take(kept.points, !collected, near, wide, fresh);
        collected = true;
      }
    }
    if (pieces_ > 1) {
      std::memcpy(partial_.data() + task * kRegister, wide, static_cast<size_t>(kept.points * collector_.wideBytes()));
      return;
    }
    if (collected) collector_.give(kept.points, wide, near);
    settle(kept.points, near);
    store(table, kept, simd().store[static_cast<int>(output_.dtype)], near, sizeOf(kind_));
  }

  void foldBox(Body::Run& run, const Box& box, int64_t outer, int64_t inner, char* to, char* spare) const {
    if (products_) {
      run.evaluate(box);
      const auto factor = [&](int i) { return static_cast<const float*>(run.value(factors_[i])); };
      products_(outer, inner, factor(0), factor(1), reinterpret_cast<float*>(to));
      return;
    }
    fold_(outer, inner, values(run, box, spare), to);
  }

  void joinPieces(void* const* table, int64_t keptBoxes) {
    std::vector<char> result(kRegister);
    Box kept = boxAt(kept_, 0);
    for (int64_t b = 0; b < keptBoxes; b++, advance(kept_, kept)) {
      char* wide = partial_.data() + b * pieces_ * kRegister;
      for (int64_t piece = 1; piece < pieces_; piece++)
        collector_.joinWide(kept.points, wide, wide + piece * kRegister);
      collector_.give(kept.points, wide, result.data());
      settle(kept.points, result.data());
      store(table, kept, simd().store[static_cast<int>(output_.dtype)], result.data(), sizeOf(kind_));
    }
  }

  /** What is folded from one number is that number. */
  void settle(int64_t n, void* results) const {
    if (folded_.points() > 1) collector_.settle(n, results);
  }

  Collector collector_;
  FoldFn fold_;
  /** Where sums of products are folded without computing the products first: how, and of which nodes. */
  FoldProductsFn products_ = nullptr;
  int64_t factors_[2];
  int64_t pieces_;
  std::vector<char> partial_;
};

}  // namespace

InstructionPtr makeFold(const Expression& e, const Layout& layout, int64_t result, const Operand& output, FoldOp op) {
  return make<Fold>(e, layout, result, output, op);
}

}  // namespace tl

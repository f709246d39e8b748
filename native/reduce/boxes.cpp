/** The boxes of reductions. */
#include "boxes.h"

#include <algorithm>

namespace tl {
namespace {

/**
 * Values that are folded where they are take no register at all, and come in larger boxes where there are many. Of a long row no more
 * than kLongRow are folded in one go, since errors of a sum grow with its length.
 */
constexpr int64_t kLongBlock = 65536, kLongRow = 16384, kLongBoxes = 128;

/**
 * Boxes of [outer, inner]: the trailing dims of one mark, and a piece of the next dim, which has the other mark. Only dims that
 * are folded may take more than a register's points, so that results fit one.
 */
void chooseFoldTile(Space& space, int64_t most) {
  std::fill(space.tile, space.tile + space.rank, int64_t{1});
  if (space.rank == 0) return;
  int64_t block = most, results = kFoldBlock;
  const bool innerMark = space.mark[space.rank - 1];
  for (int d = space.rank - 1; d >= 0 && block > 1; d--) {
    const int64_t folded = d == space.rank - 1 ? kLongRow : most;
    space.tile[d] = std::min({space.dims[d], block, space.mark[d] ? folded : results});
    if (space.tile[d] < space.dims[d] || space.mark[d] != innerMark) return;
    block /= space.tile[d];
    if (!space.mark[d]) results = std::max<int64_t>(1, results / space.tile[d]);
  }
}

/** Whether a node is an input that has a number for every point, which is folded as it is. */
bool isWhole(const Expression& e, const Layout& layout, int64_t index) {
  const Node& node = e.nodes[static_cast<size_t>(index)];
  if (node.op != Op::input || sizeOf(node.dtype) != sizeOf(kindOf(node.dtype)) || sizeOf(node.dtype) > 4) return false;
  const Strides& strides = layout.strides[static_cast<size_t>(node.args[0])];
  return std::all_of(strides.of, strides.of + layout.space.rank, [](int64_t stride) { return stride != 0; });
}

/** Points of the boxes of an expression; how many there are must not depend on the number of threads. */
int64_t blockOf(const Expression& e, const Layout& layout, int64_t result, bool leavesProducts) {
  const Node& node = e.nodes[static_cast<size_t>(result)];
  const bool isProduct = leavesProducts && (node.op == Op::mul || node.op == Op::square) && isWhole(e, layout, node.args[0]) &&
                         isWhole(e, layout, node.args[argumentCount(node.op) - 1]);
  return isProduct || isWhole(e, layout, result) ? std::clamp(layout.space.points() / kLongBoxes, kFoldBlock, kLongBlock) : kFoldBlock;
}

/** The same grid with only the dims of one mark moving. */
Space onlyMarked(const Space& space, bool mark) {
  Space s = space;
  for (int d = 0; d < s.rank; d++)
    if (s.mark[d] != mark) s.dims[d] = s.tile[d] = 1;
  return s;
}

}  // namespace

BoxReduction::BoxReduction(const Expression& e, Layout layout, int64_t result, const Operand& output, bool leavesProducts)
    : space_(layout.space), result_(result), kind_(kindOf(e.nodes[static_cast<size_t>(result)].dtype)), output_(output) {
  chooseFoldTile(space_, blockOf(e, layout, result, leavesProducts));
  layout.space = space_;
  body_ = make<Body>(e, layout, std::vector<Body::Output>{});
  kept_ = onlyMarked(space_, false);
  folded_ = onlyMarked(space_, true);
  innerFolded_ = space_.rank == 0 || space_.mark[space_.rank - 1];
  work_ = e.costPerPoint() * static_cast<double>(space_.points());
}

Box BoxReduction::meet(const Box& kept, const Box& folded) const {
  Box box;
  box.points = kept.points * folded.points;
  for (int d = 0; d < space_.rank; d++) {
    const Box& from = space_.mark[d] ? folded : kept;
    box.start[d] = from.start[d];
    box.extent[d] = from.extent[d];
  }
  return box;
}

const void* BoxReduction::values(Body::Run& run, const Box& box, char* spare) const {
  run.evaluate(box);
  if (!run.scalar(result_)) return run.value(result_);
  copyOf(sizeOf(kind_))(box.points, spare, 1, run.value(result_), 0);
  return spare;
}

void BoxReduction::store(void* const* table, const Box& kept, ConvertFn convert, char* from, int64_t size) const {
  char* to = output_.at(table, startOf(kept_, kept, output_.strides));
  moveBox(kept_, kept, convert, {to, output_.strides, sizeOf(output_.dtype)}, {from, denseStrides(kept_, kept), size});
}

}  // namespace tl

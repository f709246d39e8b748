/** The boxes of reductions. */
#include "boxes.h"

#include <algorithm>

namespace tl {
namespace {

/** Values that are folded where they are take no register at all, and come in larger boxes where there are many. */
constexpr int64_t kLongBlock = 16384, kLongBoxes = 128;

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
    space.tile[d] = std::min({space.dims[d], block, space.mark[d] ? most : results});
    if (space.tile[d] < space.dims[d] || space.mark[d] != innerMark) return;
    block /= space.tile[d];
    if (!space.mark[d]) results = std::max<int64_t>(1, results / space.tile[d]);
  }
}

/** Points of the boxes of an expression; how many there are must not depend on the number of threads. */
int64_t blockOf(const Expression& e, int64_t result, const Space& space) {
  const Node& node = e.nodes[static_cast<size_t>(result)];
  return node.op != Op::input || sizeOf(kindOf(node.dtype)) > 4 ? kFoldBlock : std::clamp(space.points() / kLongBoxes, kFoldBlock, kLongBlock);
}

/** The same grid with only the dims of one mark moving. */
Space onlyMarked(const Space& space, bool mark) {
  Space s = space;
  for (int d = 0; d < s.rank; d++)
    if (s.mark[d] != mark) s.dims[d] = s.tile[d] = 1;
  return s;
}

}  // namespace

BoxReduction::BoxReduction(const Expression& e, Layout layout, int64_t result, const Operand& output)
    : space_(layout.space), result_(result), kind_(kindOf(e.nodes[static_cast<size_t>(result)].dtype)), output_(output) {
  chooseFoldTile(space_, blockOf(e, result, space_));
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

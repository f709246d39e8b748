/**
 * The `reduce` instruction: an expression evaluated block by block and folded at once.
 *
 * A box is a dense [outer, inner] block whose inner dims are all reduced (then its rows are folded) or all kept (then
 * its columns are), whichever follows memory. Box results are collected in the register type, and every kFlush boxes in
 * a wider one, so that long sums stay exact to float32's last digits.
 */
#include <algorithm>
#include <cstring>

#include "../core/pool.h"
#include "collector.h"
#include "reduce.h"

namespace tl {
namespace {

/**
 * Points per box: more than in a map, as a fold holds few registers and pays for every box it begins. Values that are folded
 * where they are take no register at all, and come in larger boxes where there are many.
 */
constexpr int64_t kBlock = 4096, kLongBlock = 16384, kLongBoxes = 128;
constexpr int64_t kFlush = 64;
/** Rows so long are folded as products where they are products. */
constexpr int64_t kLeastProducts = 32;
constexpr double kGrain = 150e3;
/** A fold into few outputs is split into about this many pieces; a fixed number keeps results free of the thread count. */
constexpr int64_t kPieces = 64;
/** Elements that a piece has at least for one output, or else putting pieces together would be much of the work. */
constexpr int64_t kLeastPiece = 32;

/** Positions of extremes: updates (best, position) with a block that begins at `base` along the folded axis. */
struct BestArgs {
  int64_t outer, inner, base;
  bool innerFolded, first, largest;
  const void* values;
  void* best;
  int64_t* position;
};
template <class T> void foldBest(const BestArgs& a) {
  const T* x = static_cast<const T*>(a.values);
  T* best = static_cast<T*>(a.best);
  // NaN beats nothing, and loses even where it came first.
  const auto beats = [&](T value, T champion) {
    return (a.largest ? value > champion : value < champion) || (champion != champion && value == value);
  };
  if (a.innerFolded) {
    for (int64_t r = 0; r < a.outer; r++, x += a.inner) {
      T champion = a.first ? x[0] : best[r];
      int64_t position = a.first ? 0 : a.position[r];
      for (int64_t i = 0; i < a.inner; i++)
        if (beats(x[i], champion)) {
          champion = x[i];
          position = a.base + i;
        }
      best[r] = champion;
      a.position[r] = position;
    }
    return;
  }
  if (a.first) {
    std::copy(x, x + a.inner, best);
    std::fill(a.position, a.position + a.inner, int64_t{0});
  }
  for (int64_t r = 0; r < a.outer; r++, x += a.inner)
    for (int64_t c = 0; c < a.inner; c++) {
      const bool wins = beats(x[c], best[c]);
      best[c] = wins ? x[c] : best[c];
      a.position[c] = wins ? a.base + r : a.position[c];
    }
}
using FindFn = void (*)(const BestArgs&);
FindFn bestFor(Kind kind) {
  switch (kind) {
    case Kind::f32: return foldBest<float>;
    case Kind::f64: return foldBest<double>;
    case Kind::i32: return foldBest<int32_t>;
    case Kind::i64: return foldBest<int64_t>;
    case Kind::u32: return foldBest<uint32_t>;
    case Kind::u64: return foldBest<uint64_t>;
    case Kind::b8: return foldBest<uint8_t>;
    default: refuse("complex numbers have no order");
  }
}

/**
 * Boxes of [outer, inner]: the trailing dims of one mark, and a piece of the next dim, which has the other mark. Only dims that
 * are folded may take more than a register's points, so that results fit one.
 */
void chooseFoldTile(Space& space, int64_t most) {
  std::fill(space.tile, space.tile + space.rank, int64_t{1});
  if (space.rank == 0) return;
  int64_t block = most, results = kBlock;
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
  return node.op != Op::input || sizeOf(kindOf(node.dtype)) > 4 ? kBlock : std::clamp(space.points() / kLongBoxes, kBlock, kLongBlock);
}

/** The same grid with only the dims of one mark moving. */
Space onlyMarked(const Space& space, bool mark) {
  Space s = space;
  for (int d = 0; d < s.rank; d++)
    if (s.mark[d] != mark) s.dims[d] = s.tile[d] = 1;
  return s;
}

class Reduce : public Instruction {
 public:
  Reduce(const Expression& e, Layout layout, int64_t result, const Operand& output)
      : space_(layout.space), result_(result), kind_(kindOf(e.nodes[static_cast<size_t>(result)].dtype)), output_(output) {
    chooseFoldTile(space_, blockOf(e, result, space_));
    layout.space = space_;
    body_ = make<Body>(e, layout, std::vector<Body::Output>{});
    kept_ = onlyMarked(space_, false);
    folded_ = onlyMarked(space_, true);
    innerFolded_ = space_.rank == 0 || space_.mark[space_.rank - 1];
    work_ = e.costPerPoint() * static_cast<double>(space_.points());
  }

 protected:
  /** The box where a kept part and a folded part of the grid meet. */
  Box meet(const Box& kept, const Box& folded) const {
    Box box;
    box.points = kept.points * folded.points;
    for (int d = 0; d < space_.rank; d++) {
      const Box& from = space_.mark[d] ? folded : kept;
      box.start[d] = from.start[d];
      box.extent[d] = from.extent[d];
    }
    return box;
  }

  /** The result's values over a box, as a dense block. */
  const void* values(Body::Run& run, const Box& box, char* spare) const {
    run.evaluate(box);
    if (!run.scalar(result_)) return run.value(result_);
    copyOf(sizeOf(kind_))(box.points, spare, 1, run.value(result_), 0);
    return spare;
  }

  void store(void* const* table, const Box& kept, ConvertFn convert, char* from, int64_t size) const {
    char* to = output_.at(table, startOf(kept_, kept, output_.strides));
    moveBox(kept_, kept, convert, {to, output_.strides, sizeOf(output_.dtype)}, {from, denseStrides(kept_, kept), size});
  }

  static constexpr int64_t kWidest = 16;  // bytes of the widest type
  static constexpr int64_t kRegister = kBlock * kWidest;

  Space space_, kept_, folded_;
  Owned<Body> body_;
  int64_t result_;
  Kind kind_;
  Operand output_;
  bool innerFolded_;
  double work_;
};

class Fold final : public Reduce {
 public:
  Fold(const Expression& e, const Layout& layout, int64_t result, const Operand& output, FoldOp op)
      : Reduce(e, layout, result, output), collector_(op, kind_) {
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
    const int64_t parts = std::min(tasks, Pool::get().parts(work_, kGrain));
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
      store(table, kept, simd().store[static_cast<int>(output_.dtype)], result.data(), sizeOf(kind_));
    }
  }

  Collector collector_;
  FoldFn fold_;
  /** Where sums of products are folded without computing the products first: how, and of which nodes. */
  FoldProductsFn products_ = nullptr;
  int64_t factors_[2];
  int64_t pieces_;
  std::vector<char> partial_;
};

class FindBest final : public Reduce {
 public:
  FindBest(const Expression& e, const Layout& layout, int64_t result, const Operand& output, bool largest)
      : Reduce(e, layout, result, output), largest_(largest), find_(bestFor(kind_)) {}

  Failure run(void* const* table) override {
    int32_t failure = 0;
    const int64_t boxes = kept_.boxes();
    const int64_t parts = std::min(boxes, Pool::get().parts(work_, kGrain));
    Pool::get().run(parts, [&](int64_t part) {
      char* scratch = Pool::scratch(4 * kRegister + body_->scratchBytes());
      Body::Run run(*body_, table, scratch + 4 * kRegister, &failure);
      const Range range = rangeOf(part, parts, boxes);
      Box kept = boxAt(kept_, range.begin);
      for (int64_t b = range.begin; b < range.end; b++, advance(kept_, kept)) findIn(table, run, kept, scratch);
    });
    Failure result;
    result.code = static_cast<FailureCode>(failure);
    return result;
  }

 private:
  void findIn(void* const* table, Body::Run& run, const Box& kept, char* scratch) {
    char* spare = scratch + 2 * kRegister;
    BestArgs args;
    args.best = scratch;
    args.position = reinterpret_cast<int64_t*>(scratch + kRegister);
    args.innerFolded = innerFolded_;
    args.largest = largest_;
    Box folded = boxAt(folded_, 0);
    for (int64_t i = 0, n = folded_.boxes(); i < n; i++, advance(folded_, folded)) {
      const Box box = meet(kept, folded);
      args.values = values(run, box, spare);
      args.outer = innerFolded_ ? kept.points : folded.points;
      args.inner = box.points / args.outer;
      args.first = i == 0;
      args.base = 0;
      for (int d = 0; d < space_.rank; d++)
        if (space_.mark[d]) args.base = folded.start[d];
      find_(args);
    }
    if (output_.dtype == DType::i64) {
      store(table, kept, copyOf(8), reinterpret_cast<char*>(args.position), 8);
      return;
    }
    int32_t* narrow = reinterpret_cast<int32_t*>(spare);
    for (int64_t i = 0; i < kept.points; i++) narrow[i] = static_cast<int32_t>(args.position[i]);
    store(table, kept, copyOf(4), spare, 4);
  }

  bool largest_;
  FindFn find_;
};

/** The result of folding nothing, as the bits of a constant node. */
int64_t emptyFold(ReduceOp op, DType dtype) {
  const bool largest = op == ReduceOp::min;
  const auto limit = [&](auto low, auto high) { return static_cast<int64_t>(largest ? high : low); };
  const Kind kind = kindOf(dtype);
  const bool real = kind == Kind::f32 || kind == Kind::f64 || kind == Kind::c64 || kind == Kind::c128;
  const auto number = [&](double x) {
    int64_t bits = static_cast<int64_t>(x);
    if (real) std::memcpy(&bits, &x, sizeof(bits));
    return bits;
  };
  switch (op) {
    case ReduceOp::prod: return number(1);
    case ReduceOp::all: return 1;
    case ReduceOp::max:
    case ReduceOp::min: break;
    default: return 0;
  }
  if (real) return number(largest ? __builtin_inf() : -__builtin_inf());
  switch (dtype) {
    case DType::i8: return limit(INT8_MIN, INT8_MAX);
    case DType::i16: return limit(INT16_MIN, INT16_MAX);
    case DType::i32: return limit(INT32_MIN, INT32_MAX);
    case DType::i64: return limit(INT64_MIN, INT64_MAX);
    case DType::u8: return limit(0, UINT8_MAX);
    case DType::u16: return limit(0, UINT16_MAX);
    case DType::u32: return limit(0, int64_t{UINT32_MAX});
    case DType::u64: return largest ? -1 : 0;
    default: return largest;
  }
}

/** The input that covers most of the space; its memory order is the best to walk in. */
int leaderOf(const Layout& layout, size_t inputs) {
  int leader = -1;
  int64_t most = 0;
  for (size_t i = 0; i < inputs; i++) {
    int64_t covered = 1;
    for (int d = 0; d < layout.space.rank; d++)
      if (layout.strides[i].of[d] != 0) covered *= layout.space.dims[d];
    if (covered > most) {
      most = covered;
      leader = static_cast<int>(i);
    }
  }
  return leader;
}

}  // namespace

/** A map that stores one constant everywhere; in map.cpp. */
InstructionPtr fillWith(const View& output, int64_t bits);

ReduceCode ReduceCode::decode(Reader& in) {
  ReduceCode code;
  code.op = in.code<ReduceOp>("reduction");
  code.expression = Expression::decode(in);
  const Expression& e = code.expression;
  code.reduced.resize(e.shape.size(), false);
  for (int64_t axis : in.list(in.word(0, static_cast<int64_t>(e.shape.size()), "axis count"))) {
    if (axis < 0 || axis >= static_cast<int64_t>(e.shape.size())) refuse("a folded axis is out of range");
    code.reduced[static_cast<size_t>(axis)] = true;
  }
  code.result = in.word(0, static_cast<int64_t>(e.nodes.size()) - 1, "result");
  code.output = in.view();
  std::vector<int64_t> kept;
  for (size_t axis = 0; axis < e.shape.size(); axis++)
    if (!code.reduced[axis]) kept.push_back(e.shape[axis]);
  if (kept != code.output.dims) refuse("a reduction's output has the wrong shape");
  return code;
}

std::vector<int64_t> ReduceCode::stridesOf(const std::vector<bool>& reduced, const View& output) {
  std::vector<int64_t> strides(reduced.size(), 0);
  size_t kept = 0;
  for (size_t axis = 0; axis < reduced.size(); axis++)
    if (!reduced[axis]) strides[axis] = output.strides[kept++];
  return strides;
}

InstructionPtr reduceOf(const ReduceCode& code) {
  const auto& [op, e, reduced, result, output] = code;
  Layout layout(e, {ReduceCode::stridesOf(reduced, output)});
  if (layout.empty) return fillWith(output, emptyFold(op, output.dtype));
  for (int d = 0, axis = 0; d < layout.space.rank; axis++)
    if (e.shape[static_cast<size_t>(axis)] != 1) layout.space.mark[d++] = reduced[static_cast<size_t>(axis)];
  const int leader = leaderOf(layout, e.inputs.size());
  simplify(layout.space, layout.strides, leader < 0 ? 0 : leader, leader >= 0);

  const Operand out(output, layout.strides.back());
  if (op == ReduceOp::argmax || op == ReduceOp::argmin) {
    if (out.dtype != DType::i32 && out.dtype != DType::i64) refuse("positions are int32 or int64");
    return make<FindBest>(e, layout, result, out, op == ReduceOp::argmax);
  }
  if (kindOf(out.dtype) != kindOf(e.nodes[static_cast<size_t>(result)].dtype))
    refuse("a reduction's output has another type than its expression");
  return make<Fold>(e, layout, result, out, foldOf(op));
}

InstructionPtr decodeReduce(Reader& in) { return reduceOf(ReduceCode::decode(in)); }

}  // namespace tl

/** The `map` instruction: an expression evaluated at every point, and plain copies as a case of their own. */
#include <algorithm>
#include <cstring>

#include "map.h"

namespace tl {
namespace {

/** Points per box: a register of floats is then 4 KiB, and half a dozen of them fit the first-level cache. */
constexpr int64_t kBlock = 1024;
constexpr int64_t kRegisterBudget = 40 * 1024;
/** Points per box at most where a generated loop goes over them, which has no registers in memory, and boxes to share out at least. */
constexpr int64_t kLongBlock = 16384, kLongBoxes = 128;
/** Work, in simple operations on an element, that pays for waking another thread. */
constexpr double kGrain = 50e3;

class Map final : public Instruction, public RowWise {
 public:
  Map(const Expression& e, const Layout& layout, const std::vector<Body::Output>& outputs) : space_(layout.space) {
    Layout tiled = layout;
    chooseTile(tiled.space, tiled.strides, kBlock);
    body_ = make<Body>(e, tiled, outputs);
    const int64_t longBlock = std::clamp(tiled.space.points() / kLongBoxes / kLanes * kLanes, kBlock, kLongBlock);
    if (body_->isGenerated() && longBlock > kBlock) {
      chooseTile(tiled.space, tiled.strides, longBlock);
      body_ = make<Body>(e, tiled, outputs);
    }
    if (body_->registerBytes() > kRegisterBudget) {
      const int64_t block = std::max<int64_t>(128, kBlock * kRegisterBudget / body_->registerBytes() / kLanes * kLanes);
      chooseTile(tiled.space, tiled.strides, block);
      body_ = make<Body>(e, tiled, outputs);
    }
    space_ = tiled.space;
    work_ = e.costPerPoint() * static_cast<double>(space_.points());
    isFloat_ = std::all_of(e.nodes.begin(), e.nodes.end(), [](const Node& n) { return n.dtype == DType::f32 && n.op != Op::index; });
    for (size_t i = 0; isFloat_ && i < e.inputs.size(); i++) operands_.push_back({Operand(e.inputs[i], tiled.strides[i]), false});
    for (size_t i = 0; isFloat_ && i < outputs.size(); i++) operands_.push_back({outputs[i].operand, true});
  }

  Failure run(void* const* table) override {
    int32_t failure = 0;
    const int64_t boxes = space_.boxes();
    const int64_t threads = Pool::get().parts(work_, kGrain), parts = Pool::finer(threads, boxes);
    Pool::get().run(parts, [&](int64_t part) { evaluate(table, rangeOf(part, parts, boxes), &failure, true); }, threads);
    Failure result;
    result.code = static_cast<FailureCode>(failure);
    return result;
  }

  /** Maps of float32 do not fail, so that there is nothing to say about rows. */
  RowWise* rowWise() override { return isFloat_ ? this : nullptr; }

  int64_t unitOf(int64_t rows, std::vector<RowBytes>& touched) const override {
    if (space_.rank == 0 || space_.dims[0] % rows != 0) return 0;
    const int64_t tile = space_.tile[0], points = each(rows);
    if (std::max(points, tile) % std::min(points, tile) != 0) return 0;
    for (int d = 1; d < space_.rank; d++)
      if (space_.tile[d] != space_.dims[d]) return 0;
    for (const auto& [operand, isWritten] : operands_) {
      const int64_t size = sizeOf(operand.dtype), step = operand.strides.of[0] * size;
      RowBytes x = {operand.slot, operand.storage, operand.offset, operand.offset + size, step * points, isWritten};
      for (int d = 0; d < space_.rank; d++) {
        const int64_t reach = ((d == 0 ? points : space_.dims[d]) - 1) * operand.strides.of[d] * size;
        (reach < 0 ? x.begin : x.end) += reach;
      }
      touched.push_back(x);
    }
    return std::max<int64_t>(1, tile / points);
  }

  void runRows(void* const* table, Range rows, int64_t all) override {
    const int64_t tile = space_.tile[0];
    int32_t failure = 0;
    // The next instruction reads these rows while they are in the cache.
    evaluate(table, {rows.begin * each(all) / tile, (rows.end * each(all) + tile - 1) / tile}, &failure, false);
  }

 private:
  void evaluate(void* const* table, Range boxes, int32_t* failure, bool mayStream) {
    Body::Run run(*body_, table, Pool::scratch(body_->scratchBytes()), failure, mayStream);
    Box box = boxAt(space_, boxes.begin);
    for (int64_t i = boxes.begin; i < boxes.end; i++, advance(space_, box)) run.evaluate(box);
  }
  /** Points of the first dim that are one of so many rows. */
  int64_t each(int64_t rows) const { return space_.dims[0] / rows; }

  Space space_;
  Owned<Body> body_;
  double work_;
  /** Whether all its numbers are of float32; then what it reads, and what it writes. */
  bool isFloat_;
  std::vector<std::pair<Operand, bool>> operands_;
};

/** An output that is an input: no arithmetic, so no registers. */
class Copy final : public Instruction {
 public:
  Copy(const Layout& layout, const Operand& from, const Operand& to) : space_(layout.space), from_(from), to_(to) {
    // A transpose works on squares of 32 elements a side, anything else on long runs.
    chooseTile(space_, layout.strides, kBlock);
    if (isDense(space_, to.strides)) {
      const int64_t whole = 64 * kBlock;
      Space longer = space_;
      chooseTile(longer, layout.strides, whole);
      if (isDense(longer, to.strides)) space_ = longer;
    }
  }

  Failure run(void* const* table) override {
    const int64_t size = sizeOf(to_.dtype);
    const int64_t boxes = space_.boxes();
    const int64_t parts = std::min(boxes, Pool::get().parts(static_cast<double>(space_.points() * size), 512e3));
    const bool plain = isDense(space_, to_.strides) && isDense(space_, from_.strides);
    Pool::get().run(parts, [&](int64_t part) {
      const Range range = rangeOf(part, parts, boxes);
      Box box = boxAt(space_, range.begin);
      for (int64_t i = range.begin; i < range.end; i++, advance(space_, box)) {
        char* to = to_.at(table, startOf(space_, box, to_.strides));
        char* from = from_.at(table, startOf(space_, box, from_.strides));
        if (to == from && plain) continue;
        if (plain)
          std::memcpy(to, from, static_cast<size_t>(box.points * size));
        else
          moveBox(space_, box, copyOf(size), {to, to_.strides, size}, {from, from_.strides, size});
      }
    });
    return {};
  }

 private:
  Space space_;
  Operand from_, to_;
};

class Nothing final : public Instruction {
 public:
  Failure run(void* const*) override { return {}; }
};

}  // namespace

InstructionPtr mapOf(const MapCode& code) {
  const auto& [e, views, results] = code;
  std::vector<std::vector<int64_t>> strides;
  for (const View& v : views) strides.push_back(v.strides);
  Layout layout(e, strides);
  if (layout.empty) return make<Nothing>();
  const size_t firstOutput = layout.strides.size() - views.size();
  simplify(layout.space, layout.strides, static_cast<int>(firstOutput), true);

  std::vector<Body::Output> outputs;
  for (size_t i = 0; i < views.size(); i++)
    outputs.push_back({Operand(views[i], layout.strides[firstOutput + i]), results[i]});
  const Node& result = e.nodes[static_cast<size_t>(results[0])];
  if (views.size() == 1 && e.inputs.size() == 1 && result.op == Op::input && result.dtype == views[0].dtype)
    return make<Copy>(layout, Operand(e.inputs[0], layout.strides[0]), outputs[0].operand);
  return make<Map>(e, layout, outputs);
}

MapCode MapCode::decode(Reader& in) {
  MapCode code;
  code.expression = Expression::decode(in);
  const int64_t count = in.word(1, 1 << 20, "output count");
  for (int64_t i = 0; i < count; i++) {
    code.outputs.push_back(in.view());
    if (code.outputs.back().dims != code.expression.shape) refuse("an output has another shape than its instruction");
    code.results.push_back(in.word(0, static_cast<int64_t>(code.expression.nodes.size()) - 1, "result"));
  }
  return code;
}

InstructionPtr decodeMap(Reader& in) { return mapOf(MapCode::decode(in)); }

InstructionPtr fillWith(const View& output, int64_t bits) {
  Expression e;
  e.shape = output.dims;
  e.nodes.push_back({Op::const_, output.dtype, {}, {bits, 0}});
  return mapOf({e, {output}, {0}});
}

}  // namespace tl

/** The `reduce` instruction: an expression evaluated block by block and folded at once. */
#include "reduce.h"

#include <cstring>

#include "boxes.h"
#include "collector.h"

namespace tl {
namespace {

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
    return makePosition(e, layout, result, out, op == ReduceOp::argmax);
  }
  if (kindOf(out.dtype) != kindOf(e.nodes[static_cast<size_t>(result)].dtype))
    refuse("a reduction's output has another type than its expression");
  return makeFold(e, layout, result, out, foldOf(op));
}

InstructionPtr decodeReduce(Reader& in) { return reduceOf(ReduceCode::decode(in)); }

}  // namespace tl

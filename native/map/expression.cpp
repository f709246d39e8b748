/** Reading an expression, what it costs, and the space that it is over. */
#include "expression.h"

namespace tl {
namespace {

double costOf(Op op, DType dtype) {
  const Kind kind = kindOf(dtype);
  const bool wide = kind == Kind::c64 || kind == Kind::c128;
  switch (op) {
    case Op::input: case Op::const_: case Op::index: return 0.5;
    case Op::exp: case Op::log: case Op::log1p: case Op::expm1: case Op::tanh: case Op::sigmoid: case Op::erf:
    case Op::sin: case Op::cos:
      return kind == Kind::f32 ? 5 : wide ? 200 : 60;
    case Op::sqrt: case Op::rsqrt: case Op::reciprocal: case Op::div: return kind == Kind::f32 ? 3 : 10;
    case Op::floordiv: case Op::floormod: case Op::truncmod: return 20;
    case Op::igamma: case Op::igammac: case Op::zeta: case Op::polygamma: case Op::erfinv: case Op::ndtri: return 1000;
    default: break;
  }
  if (op >= Op::tan && op <= Op::digamma) return wide ? 300 : 80;
  return op == Op::pow || op == Op::atan2 ? 80 : 1;
}

}  // namespace

Expression Expression::decode(Reader& in) {
  Expression e;
  e.shape = in.list(in.word(0, 1024, "rank"));
  const int64_t inputs = in.word(0, 1 << 20, "input count");
  for (int64_t i = 0; i < inputs; i++) {
    e.inputs.push_back(in.view());
    if (e.inputs.back().dims != e.shape) refuse("an input has another shape than its instruction");
  }
  const int64_t nodes = in.word(1, 1 << 24, "node count");
  for (int64_t i = 0; i < nodes; i++) {
    Node node = {};
    node.op = in.code<Op>("op");
    node.dtype = in.code<DType>("dtype");
    if (node.op == Op::const_) {
      node.bits[0] = in.word();
      node.bits[1] = in.word();
    } else if (isLeaf(node.op)) {
      const int64_t count = node.op == Op::input ? inputs : static_cast<int64_t>(e.shape.size());
      node.args[0] = in.word(0, count - 1, "input or axis");
      if (node.op == Op::input && e.inputs[static_cast<size_t>(node.args[0])].dtype != node.dtype)
        refuse("an input node has another type than its input");
    } else {
      for (int a = 0; a < argumentCount(node.op); a++) node.args[a] = in.word(0, i - 1, "argument");
    }
    e.nodes.push_back(node);
  }
  return e;
}

double Expression::costPerPoint() const {
  double cost = 1;
  for (const Node& node : nodes) cost += costOf(node.op, node.dtype);
  return cost;
}

Layout::Layout(const Expression& e, const std::vector<std::vector<int64_t>>& others) {
  const size_t total = e.inputs.size() + e.nodes.size() + others.size();
  strides.reserve(total);
  const auto axes = [&](auto&& strideOf) {
    Strides s;
    int d = 0;
    for (size_t axis = 0; axis < e.shape.size(); axis++)
      if (e.shape[axis] != 1) s.of[d++] = strideOf(axis);
    return s;
  };
  for (int64_t n : e.shape) {
    if (n == 0) empty = true;
    if (n == 1) continue;
    if (space.rank == kMaxDims) {
      if (empty) break;
      refuse("too many dims");
    }
    space.dims[space.rank++] = n;
  }
  if (empty) {
    space.rank = 0;
    return;
  }
  for (const View& v : e.inputs) strides.push_back(axes([&](size_t axis) { return v.strides[axis]; }));
  for (const Node& node : e.nodes)
    if (node.op == Op::index)
      strides.push_back(axes([&](size_t axis) { return static_cast<int64_t>(axis) == node.args[0] ? 1 : 0; }));
  for (const auto& s : others) strides.push_back(axes([&](size_t axis) { return s[axis]; }));
}

}  // namespace tl

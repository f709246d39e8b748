/** Compiling an expression to block operations, and evaluating it over a box. */
#include "body.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "joiner.h"

namespace tl {
namespace {

/** Whether results of an operation may need rounding or wrapping when their type is narrower than its register. */
bool mayNeedNarrowing(Op op) { return op != Op::select && op != Op::max && op != Op::min; }

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

/** Repeats a constant's register form kLanes times. */
void splat(const Node& node, char* out) {
  const auto fill = [&](auto value) {
    for (int64_t i = 0; i < kLanes; i++) std::memcpy(out + i * static_cast<int64_t>(sizeof(value)), &value, sizeof(value));
  };
  const double re = std::bit_cast<double>(node.bits[0]), im = std::bit_cast<double>(node.bits[1]);
  switch (kindOf(node.dtype)) {
    case Kind::f32: fill(static_cast<float>(re)); break;
    case Kind::f64: fill(re); break;
    case Kind::i32: case Kind::u32: fill(static_cast<uint32_t>(node.bits[0])); break;
    case Kind::i64: case Kind::u64: fill(node.bits[0]); break;
    case Kind::b8: fill(static_cast<uint8_t>(node.bits[0] != 0)); break;
    case Kind::c64: {
      const float parts[2] = {static_cast<float>(re), static_cast<float>(im)};
      fill(std::bit_cast<int64_t>(parts));
      break;
    }
    default: {
      struct Parts { double re, im; };
      fill(Parts{re, im});
    }
  }
  if (const BlockFn narrow = simd().narrow[static_cast<int>(node.dtype)]) {
    const BlockArgs args = {out, {out}, {1}, 0, nullptr};
    narrow(kLanes, args);
  }
}

constexpr int64_t roundUp(int64_t n) { return (n + 63) & ~int64_t{63}; }

/** Small integers are converted as int32, which holds them all; what becomes one is wrapped afterwards, as in C on x86. */
BlockFn castFor(DType from, DType to) {
  const auto by = [](DType d) { return static_cast<int>(d == DType::u8 || d == DType::u16 ? Kind::i32 : kindOf(d)); };
  return simd().casts[by(from)][by(to)];
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

Body::Body(const Expression& e, const Layout& layout, std::vector<Output> outputs)
    : space_(layout.space), outputs_(std::move(outputs)), direct_(outputs_.size(), false) {
  for (size_t i = 0; i < e.inputs.size(); i++) operands_.emplace_back(e.inputs[i], layout.strides[i]);
  if (generate(e)) return;
  plan(e, layout);
  Joiner(*this).join();
  chooseOutputs();
  allocate();
}

/** Makes a loop over the last two dims that boxes extend along, if operands and expression allow it. */
bool Body::generate(const Expression& e) {
  constexpr int64_t kLeastColumns = 8;
  if (outputs_.empty()) return false;
  for (int d = 0; d < space_.rank; d++) {
    if (space_.tile[d] == 1) continue;
    loopRow_ = loopColumn_;
    loopColumn_ = d;
  }
  // Vectors would be nearly empty.
  if (loopRow_ >= 0 && space_.tile[loopColumn_] < kLeastColumns) return false;
  std::vector<code::LoopOperand> operands;
  const auto add = [&](const Operand& o) {
    operands.push_back({o.dtype, loopColumn_ < 0 ? 1 : o.strides.of[loopColumn_], loopRow_ < 0 ? 0 : o.strides.of[loopRow_]});
    return operands.back().column;
  };
  for (const Operand& o : operands_) {
    const int64_t step = add(o);
    if (step != 0 && step != 1) return false;
  }
  std::vector<int64_t> results;
  for (const Output& o : outputs_) {
    const Node& node = e.nodes[static_cast<size_t>(o.node)];
    if (kindOf(node.dtype) != kindOf(o.operand.dtype)) refuse("an output has another type than its expression");
    if (add(o.operand) != 1 || node.dtype != o.operand.dtype) return false;
    // An input that is written over must be read at the same points.
    for (const Operand& in : operands_)
      if (in.mayBe(o.operand) && !std::equal(in.strides.of, in.strides.of + space_.rank, o.operand.strides.of)) return false;
    results.push_back(o.node);
  }
  loop_ = code::Loop(e, operands, results);
  return static_cast<bool>(loop_);
}

/** Decides for every node where its value comes from. */
void Body::plan(const Expression& e, const Layout& layout) {
  const SimdKernels& kernels = simd();
  for (const Node& node : e.nodes) {
    Step s = {};
    s.op = node.op;
    s.dtype = node.dtype;
    s.kind = kindOf(node.dtype);
    s.output = -1;
    s.operand = -1;
    if (node.op == Op::const_) {
      s.place = Place::constant;
      s.scalar = true;
      s.reg = static_cast<int64_t>(constants_.size());
      constants_.resize(constants_.size() + static_cast<size_t>(roundUp(kLanes * sizeOf(s.kind))));
      splat(node, constants_.data() + s.reg);
    } else if (node.op == Op::input) {
      s.operand = static_cast<int>(node.args[0]);
      const Strides& strides = operands_[static_cast<size_t>(s.operand)].strides;
      s.scalar = isScalar(space_, strides);
      s.shared = isShared(space_, strides);
      const bool direct = isNative(node.dtype) && isDense(space_, strides);
      s.place = s.scalar ? Place::loadedScalar : direct ? Place::inPlace : Place::loaded;
    } else if (node.op == Op::index) {
      s.operand = static_cast<int>(operands_.size());
      operands_.emplace_back(layout.strides[operands_.size()]);
      s.scalar = isScalar(space_, operands_.back().strides);
      s.place = s.scalar ? Place::positionScalar : Place::positions;
    } else {
      s.place = Place::computed;
      s.argCount = argumentCount(node.op);
      s.scalar = true;
      for (int a = 0; a < s.argCount; a++) {
        s.args[a] = node.args[a];
        s.scalar = s.scalar && steps_[static_cast<size_t>(node.args[a])].scalar;
      }
      const Step& deciding = steps_[static_cast<size_t>(node.args[node.op == Op::select ? 1 : 0])];
      s.compute = node.op == Op::cast ? castFor(deciding.dtype, s.dtype)
                                      : kernels.ops[static_cast<int>(node.op)][static_cast<int>(deciding.kind)];
      if (!s.compute) refuse("an operation is not defined for its type");
      for (int a = 0; a < s.argCount; a++) {
        const bool isTruth = node.op == Op::select && a == 0;
        if (steps_[static_cast<size_t>(s.args[a])].kind != (isTruth ? Kind::b8 : deciding.kind))
          refuse("the arguments of an operation differ in type");
      }
      s.narrow = mayNeedNarrowing(node.op) ? kernels.narrow[static_cast<int>(s.dtype)] : nullptr;
      s.bits = static_cast<int32_t>(8 * sizeOf(s.dtype));
    }
    steps_.push_back(s);
  }
}

/** Lets nodes write outputs in place, unless that would destroy an input (the same view) that is still wanted. */
void Body::chooseOutputs() {
  const auto isInput = [](const Step& s) { return s.op == Op::input; };
  // An input that is itself a result is stored last, when another output may have overwritten it: take it out in time.
  for (const Output& o : outputs_) {
    Step& s = steps_[static_cast<size_t>(o.node)];
    if (s.place != Place::inPlace) continue;
    for (const Output& other : outputs_)
      if (&other != &o && operands_[static_cast<size_t>(s.operand)].mayBe(other.operand)) s.place = Place::loaded;
  }
  const auto lastUse = [&](const Operand& out) {
    int64_t last = -1;
    for (size_t i = 0; i < steps_.size(); i++) {
      if (!isInput(steps_[i]) || !operands_[static_cast<size_t>(steps_[i].operand)].mayBe(out)) continue;
      // A value loaded into a register is safe from here on; one read in place, until its last reader has run.
      last = std::max(last, static_cast<int64_t>(i));
      if (steps_[i].place != Place::inPlace) continue;
      for (size_t j = i; j < steps_.size(); j++)
        for (int a = 0; a < steps_[j].argCount; a++)
          if (steps_[j].args[a] == static_cast<int64_t>(i)) last = std::max(last, static_cast<int64_t>(j));
      for (const Output& o : outputs_)
        if (o.node == static_cast<int64_t>(i)) last = INT64_MAX;
    }
    return last;
  };
  for (size_t o = 0; o < outputs_.size(); o++) {
    const Operand& out = outputs_[o].operand;
    Step& s = steps_[static_cast<size_t>(outputs_[o].node)];
    if (s.kind != kindOf(out.dtype)) refuse("an output has another type than its expression");
    const bool fits = s.place == Place::computed && !s.scalar && s.output < 0 && isNative(out.dtype);
    if (!fits || !isDense(space_, out.strides) || lastUse(out) > outputs_[o].node) continue;
    s.output = static_cast<int>(o);
    direct_[o] = true;
  }
}

bool Body::leaveProduct(int64_t node, int64_t (&factors)[2]) {
  Step& s = steps_[static_cast<size_t>(node)];
  // What comes after it could take the place of its factors.
  if (node + 1 != static_cast<int64_t>(steps_.size())) return false;
  if (s.place != Place::computed || s.dtype != DType::f32 || (s.op != Op::mul && s.op != Op::square)) return false;
  // A multiplication that has taken in another operation is more than that.
  if (s.compute != simd().ops[static_cast<int>(s.op)][static_cast<int>(Kind::f32)]) return false;
  factors[0] = s.args[0];
  factors[1] = s.args[s.argCount - 1];
  for (const int64_t factor : factors)
    if (steps_[static_cast<size_t>(factor)].scalar) return false;
  s.place = Place::joined;
  return true;
}

/** Gives every value that needs one a register, reusing those whose last reader has run. */
void Body::allocate() {
  const int64_t block = space_.block();
  std::vector<int64_t> lastUse(steps_.size(), -1);
  for (size_t i = 0; i < steps_.size(); i++)
    for (int a = 0; a < steps_[i].argCount; a++) lastUse[static_cast<size_t>(steps_[i].args[a])] = static_cast<int64_t>(i);
  for (const Output& o : outputs_) lastUse[static_cast<size_t>(o.node)] = INT64_MAX;

  // Spare registers, by element size and by whether they hold scalars: an operation may write over an argument only
  // element by element.
  std::vector<int64_t> free[2][17];
  const auto spareFor = [&](const Step& s) -> std::vector<int64_t>& { return free[s.scalar][sizeOf(s.kind)]; };
  const auto hasRegister = [](const Step& s) {
    return s.place != Place::constant && s.place != Place::inPlace && s.place != Place::joined && s.output < 0;
  };
  for (size_t i = 0; i < steps_.size(); i++) {
    Step& s = steps_[i];
    // Arguments that die here may give their register to the result: operations allow it.
    for (int a = 0; a < s.argCount; a++) {
      const Step& arg = steps_[static_cast<size_t>(s.args[a])];
      bool repeated = false;
      for (int b = 0; b < a; b++) repeated = repeated || s.args[b] == s.args[a];
      const bool dies = lastUse[static_cast<size_t>(s.args[a])] == static_cast<int64_t>(i);
      if (repeated || !hasRegister(arg) || arg.shared || !dies) continue;
      spareFor(arg).push_back(arg.reg);
    }
    if (!hasRegister(s)) continue;
    const int64_t bytes = roundUp((s.scalar ? kLanes : block) * sizeOf(s.kind));
    std::vector<int64_t>& spare = spareFor(s);
    // What is kept from box to box needs a register that nothing else ever uses.
    if (spare.empty() || s.shared) {
      s.reg = registerBytes_;
      registerBytes_ += bytes;
    } else {
      s.reg = spare.back();
      spare.pop_back();
    }
  }
  scratchBytes_ = registerBytes_ + roundUp(static_cast<int64_t>(steps_.size()) * 16);
}

Body::Run::Run(const Body& body, void* const* table, char* scratch, int32_t* failure)
    : body_(body), table_(table), scratch_(scratch), failure_(failure) {
  const size_t count = body.steps_.size();
  values_ = reinterpret_cast<const void**>(scratch + body.registerBytes_);
  loaded_ = values_ + count;
  std::fill(loaded_, loaded_ + count, nullptr);
  for (size_t i = 0; i < count; i++) {
    const Step& s = body.steps_[i];
    values_[i] = s.place == Place::constant ? body.constants_.data() + s.reg : scratch + s.reg;
  }
}

bool Body::Run::scalar(int64_t node) const { return body_.steps_[static_cast<size_t>(node)].scalar; }

void Body::Run::runLoop(const Box& box) {
  const int row = body_.loopRow_, column = body_.loopColumn_;
  // Dims before those of the loop go one by one.
  for (int d = 0; d < row; d++) {
    if (box.extent[d] == 1) continue;
    Box part = box;
    part.extent[d] = 1;
    for (int64_t i = 0; i < box.extent[d]; i++, part.start[d]++) runLoop(part);
    return;
  }
  code::LoopArgs args;
  args.rows = row < 0 ? 1 : box.extent[row];
  args.columns = column < 0 ? 1 : box.extent[column];
  size_t count = 0;
  const auto place = [&](const Operand& o) { args.at[count++] = o.at(table_, startOf(body_.space_, box, o.strides)); };
  for (const Operand& o : body_.operands_) place(o);
  for (const Output& o : body_.outputs_) place(o.operand);
  body_.loop_.run(args);
}

void Body::Run::evaluate(const Box& box) {
  if (body_.loop_) return runLoop(box);
  const SimdKernels& kernels = simd();
  const Space& space = body_.space_;
  const bool sameSize = std::equal(box.extent, box.extent + space.rank, loadedExtent_);
  if (!sameSize) std::copy(box.extent, box.extent + space.rank, loadedExtent_);
  for (size_t i = 0; i < body_.steps_.size(); i++) {
    const Step& s = body_.steps_[i];
    switch (s.place) {
      case Place::constant:
      case Place::joined: break;
      case Place::inPlace: {
        const Operand& operand = body_.operands_[static_cast<size_t>(s.operand)];
        values_[i] = operand.at(table_, startOf(space, box, operand.strides));
        break;
      }
      case Place::loadedScalar:
      case Place::loaded: {
        const Operand& operand = body_.operands_[static_cast<size_t>(s.operand)];
        char* from = operand.at(table_, startOf(space, box, operand.strides));
        if (s.shared && sameSize && loaded_[i] == from) break;
        loaded_[i] = from;
        char* to = scratch_ + s.reg;
        const ConvertFn load = kernels.load[static_cast<int>(s.dtype)];
        if (s.scalar)
          load(kLanes, to, 1, from, 0);
        else
          moveBox(space, box, load, {to, denseStrides(space, box), sizeOf(s.kind)}, {from, operand.strides, sizeOf(s.dtype)});
        break;
      }
      case Place::positionScalar: {
        const int64_t value = startOf(space, box, body_.operands_[static_cast<size_t>(s.operand)].strides);
        kernels.iota(kLanes, scratch_ + s.reg, 1, &value, 0);
        break;
      }
      case Place::positions:
        fillPositions(space, box, body_.operands_[static_cast<size_t>(s.operand)].strides,
                      reinterpret_cast<int64_t*>(scratch_ + s.reg));
        break;
      case Place::computed: {
        BlockArgs args;
        args.bits = s.bits;
        args.failure = failure_;
        for (int a = 0; a < s.argCount; a++) {
          args.in[a] = values_[s.args[a]];
          // Among scalars only, the block is kLanes long and every operand is read along.
          args.step[a] = s.scalar || !body_.steps_[static_cast<size_t>(s.args[a])].scalar ? 1 : 0;
        }
        if (s.output >= 0) {
          const Operand& operand = body_.outputs_[static_cast<size_t>(s.output)].operand;
          args.out = operand.at(table_, startOf(space, box, operand.strides));
          values_[i] = args.out;
        } else {
          args.out = scratch_ + s.reg;
        }
        const int64_t n = s.scalar ? kLanes : box.points;
        s.compute(n, args);
        if (s.narrow) {
          args.in[0] = args.out;
          args.step[0] = 1;
          s.narrow(n, args);
        }
        break;
      }
    }
  }
  for (size_t o = 0; o < body_.outputs_.size(); o++) {
    if (body_.direct_[o]) continue;
    const Operand& operand = body_.outputs_[o].operand;
    const Step& s = body_.steps_[static_cast<size_t>(body_.outputs_[o].node)];
    char* to = operand.at(table_, startOf(space, box, operand.strides));
    // A side's address is written only when it is the target; here the value is the source.
    char* from = const_cast<char*>(static_cast<const char*>(values_[body_.outputs_[o].node]));
    moveBox(space, box, kernels.store[static_cast<int>(operand.dtype)], {to, operand.strides, sizeOf(operand.dtype)},
            {from, s.scalar ? Strides{} : denseStrides(space, box), sizeOf(s.kind)});
  }
}

}  // namespace tl

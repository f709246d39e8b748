/** Compiling an expression to block operations, or to a generated loop. */
#include "body.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "joiner.h"

namespace tl {
namespace {

/** Whether results of an operation may need rounding or wrapping when their type is narrower than its register. */
bool mayNeedNarrowing(Op op) { return op != Op::select && op != Op::max && op != Op::min; }

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
  if (loop_ && std::any_of(outputs_.begin(), outputs_.end(), [this](const Output& o) { return streams(o); })) {
    for (size_t i = 0; i < outputs_.size(); i++) operands[operands_.size() + i].streams = streams(outputs_[i]);
    streaming_ = code::Loop(e, operands, results);
  }
  return static_cast<bool>(loop_);
}

/**
 * Whether a result is so large that its beginning has left the caches when it is finished. To write it past them saves reading
 * what was there: a quarter to a half of the time. What is written over an input is there already.
 */
bool Body::streams(const Output& o) const {
  constexpr int64_t kFarBytes = 32 << 20, line = 64;
  const int64_t size = sizeOf(o.operand.dtype);
  if (o.operand.dtype != DType::f32 || space_.points() * size < kFarBytes) return false;
  if (loopRow_ >= 0 && o.operand.strides.of[loopRow_] * size % line != 0) return false;
  return std::none_of(operands_.begin(), operands_.end(), [&](const Operand& in) { return in.mayBe(o.operand); });
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

}  // namespace tl

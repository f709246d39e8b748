/** Expressions as lines of vector code: one or a few lines for every node. */
#include "translation.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "../map/expression.h"

namespace tl::code {
namespace {

constexpr uint32_t kSign = 0x80000000;
/** Ways of rounding, without exceptions. */
constexpr int kNearest = 8, kDown = 9, kUp = 10;

/** An expression as lines_. */
class Translation {
 public:
  Translation(Lines& to, size_t phase, const Expression& e, Inputs& inputs, const std::vector<int64_t>& results)
      : lines_(to), phase_(phase), nodes_(e.nodes), inputs_(inputs), values_(e.nodes.size(), kNone), once_(e.nodes.size(), false),
        needed_(e.nodes.size(), false) {
    for (const int64_t result : results) needed_[static_cast<size_t>(result)] = true;
    for (size_t i = nodes_.size(); i-- > 0;)
      if (needed_[i] && !isLeaf(nodes_[i].op))
        for (int a = 0; a < argumentCount(nodes_[i].op); a++) needed_[static_cast<size_t>(nodes_[i].args[a])] = true;
  }

  /** Whether there is a line for every node that the results need. */
  bool translate() {
    for (size_t i = 0; i < nodes_.size(); i++) {
      if (!needed_[i]) continue;
      const Node& node = nodes_[i];
      if (node.dtype != DType::f32 && node.dtype != DType::i32 && node.dtype != DType::bool_) return false;
      once_[i] = isOnce(node);
      lines_.goTo(phase_, once_[i]);
      values_[i] = hasRightTypes(node) ? valueOf(node) : kNone;
      if (values_[i] < 0 || lines_.isMask(values_[i]) != (node.dtype == DType::bool_)) return false;
      if (once_[i]) lines_.putAway(values_[i]);
    }
    return true;
  }

  Value value(int64_t node) const { return values_[static_cast<size_t>(node)]; }

 private:
  bool isOnce(const Node& node) const {
    if (node.dtype == DType::bool_) return false;
    if (node.op == Op::input) return inputs_.isSingle(static_cast<int>(node.args[0]));
    if (isLeaf(node.op)) return node.op == Op::const_;
    for (int a = 0; a < argumentCount(node.op); a++)
      if (!once_[static_cast<size_t>(node.args[a])]) return false;
    return true;
  }

  /** Whether arguments are of one type, beside the truth value that one is chosen by. */
  bool hasRightTypes(const Node& node) const {
    const auto typeOf = [&](int argument) { return nodes_[static_cast<size_t>(node.args[argument])].dtype; };
    if (isLeaf(node.op) || argumentCount(node.op) == 1) return true;
    if (node.op == Op::select) return typeOf(0) == DType::bool_ && typeOf(1) == typeOf(2) && typeOf(1) == node.dtype;
    return typeOf(0) == typeOf(1);
  }

  Value valueOf(const Node& node) {
    if (node.op == Op::const_) return constantOf(node);
    if (node.op == Op::input) return inputs_.value(static_cast<int>(node.args[0]));
    if (node.op == Op::index) return kNone;
    const DType from = nodes_[static_cast<size_t>(node.args[node.op == Op::select ? 1 : 0])].dtype;
    if (node.op == Op::cast) return castOf(from, node);
    switch (from) {
      case DType::f32: return ofFloats(node);
      case DType::i32: return ofIntegers(node);
      default: return ofTruths(node);
    }
  }

  Value constantOf(const Node& node) {
    if (node.dtype == DType::bool_) return kNone;
    if (node.dtype == DType::i32) return lines_.bits(static_cast<uint32_t>(node.bits[0]));
    double number;
    std::memcpy(&number, &node.bits[0], sizeof(number));
    return lines_.constant(static_cast<float>(number));
  }
  Value castOf(DType from, const Node& node) {
    const Value x = argument(node, 0);
    if (from == node.dtype) return x;
    if (from == DType::i32 && node.dtype == DType::f32) return lines_.add(Do::fromInteger, x);
    if (from == DType::bool_ && node.dtype == DType::f32) return lines_.choose(x, lines_.constant(1.0f), lines_.constant(0.0f));
    if (from == DType::f32 && node.dtype == DType::bool_) return lines_.compare(Compare::unequal, x, lines_.constant(0.0f));
    return kNone;
  }

  Value ofFloats(const Node& node) {
    const Value x = argument(node, 0), y = argument(node, 1);
    const Value zero = lines_.constant(0.0f), one = lines_.constant(1.0f);
    switch (node.op) {
      case Op::add: return lines_.add(Do::add, x, y);
      case Op::sub: return lines_.add(Do::sub, x, y);
      case Op::mul: return lines_.add(Do::mul, x, y);
      case Op::div: return quotient(x, nodes_[static_cast<size_t>(node.args[1])], y);
      case Op::max: return lines_.extreme(Do::max, x, y);
      case Op::min: return lines_.extreme(Do::min, x, y);
      case Op::neg: return lines_.add(Do::xor_, x, lines_.bits(kSign));
      case Op::abs: return lines_.add(Do::and_, x, lines_.bits(~kSign));
      case Op::square: return lines_.add(Do::mul, x, x);
      case Op::sqrt: return lines_.add(Do::sqrt, x);
      case Op::rsqrt: return lines_.add(Do::div, one, lines_.add(Do::sqrt, x));
      case Op::reciprocal: return lines_.add(Do::div, one, x);
      case Op::floor: return lines_.add(Do::round, x, kNone, kNone, kDown);
      case Op::ceil: return lines_.add(Do::round, x, kNone, kNone, kUp);
      case Op::rint: return lines_.add(Do::round, x, kNone, kNone, kNearest);
      case Op::eq: return lines_.compare(Compare::equal, x, y);
      case Op::ne: return lines_.compare(Compare::unequal, x, y);
      case Op::lt: return lines_.compare(Compare::less, x, y);
      case Op::le: return lines_.compare(Compare::lessOrEqual, x, y);
      case Op::gt: return lines_.compare(Compare::less, y, x);
      case Op::ge: return lines_.compare(Compare::lessOrEqual, y, x);
      case Op::isnan: return lines_.compare(Compare::unordered, x, x);
      case Op::isfinite: return lines_.compare(Compare::equal, lines_.add(Do::sub, x, x), zero);
      case Op::select: return chosen(node);
      default: return function(node.op, x);
    }
  }
  /** A quotient is a product where the divisor's inverse is exact. */
  Value quotient(Value x, const Node& divisor, Value y) {
    double number = 0;
    if (divisor.op == Op::const_) std::memcpy(&number, &divisor.bits[0], sizeof(number));
    int exponent;
    const bool isPower = std::frexp(std::fabs(number), &exponent) == 0.5 && std::abs(exponent) < 100;
    return isPower ? lines_.add(Do::mul, x, lines_.constant(static_cast<float>(1 / number))) : lines_.add(Do::div, x, y);
  }
  Value function(Op op, Value x) {
    lines_.phases[phase_].hasFunctions = true;
    return addFunction(lines_, op, x);
  }
  Value ofIntegers(const Node& node) {
    // Integers are compared as the processor counts it for them, which has no unordered ones.
    const auto compare = [&](int how, int first, int second) {
      return lines_.add(Do::compareIntegers, argument(node, first), argument(node, second), kNone, how);
    };
    constexpr int kEqual = 0, kLess = 1, kLessOrEqual = 2, kUnequal = 4;
    switch (node.op) {
      case Op::eq: return compare(kEqual, 0, 1);
      case Op::ne: return compare(kUnequal, 0, 1);
      case Op::lt: return compare(kLess, 0, 1);
      case Op::le: return compare(kLessOrEqual, 0, 1);
      case Op::gt: return compare(kLess, 1, 0);
      case Op::ge: return compare(kLessOrEqual, 1, 0);
      case Op::select: return chosen(node);
      default: return kNone;
    }
  }
  Value ofTruths(const Node& node) {
    const Value x = argument(node, 0), y = argument(node, 1);
    switch (node.op) {
      case Op::and_: return lines_.add(Do::maskAnd, x, y);
      case Op::or_: return lines_.add(Do::maskOr, x, y);
      case Op::xor_: return lines_.add(Do::maskXor, x, y);
      case Op::not_: return lines_.add(Do::maskNot, x);
      default: return kNone;
    }
  }
  Value chosen(const Node& node) { return lines_.choose(argument(node, 0), argument(node, 1), argument(node, 2)); }

  /** An argument's value; kNone beyond the last one. */
  Value argument(const Node& node, int a) const {
    return a < argumentCount(node.op) ? values_[static_cast<size_t>(node.args[a])] : kNone;
  }

  Lines& lines_;
  size_t phase_;
  const std::vector<Node>& nodes_;
  Inputs& inputs_;
  std::vector<Value> values_;
  /** Nodes that are the same for all columns of a row, and nodes that some result needs. */
  std::vector<bool> once_, needed_;
};

/** Inputs of which only the types are known. */
class AnyInputs final : public Inputs {
 public:
  AnyInputs(Lines& lines, const Expression& e) : lines_(lines), e_(e) {}
  bool isSingle(int) const override { return false; }
  Value value(int input) override { return load(lines_, e_.inputs[static_cast<size_t>(input)].dtype, false, input); }

 private:
  Lines& lines_;
  const Expression& e_;
};

}  // namespace

bool translate(Lines& to, size_t phase, const Expression& e, Inputs& inputs, const std::vector<int64_t>& results,
               std::vector<Value>& values) {
  Translation translation(to, phase, e, inputs, results);
  if (!translation.translate()) return false;
  for (const int64_t result : results) values.push_back(translation.value(result));
  return true;
}

bool canTranslate(const Expression& e, const std::vector<int64_t>& results) {
  Lines lines;
  AnyInputs inputs(lines, e);
  std::vector<Value> values;
  return translate(lines, 0, e, inputs, results, values);
}

Value load(Lines& to, DType dtype, bool single, int operand) {
  switch (dtype) {
    case DType::bool_: return single ? kNone : to.load(Do::loadTruth, operand);
    case DType::f32: case DType::i32: return to.load(single ? Do::loadOne : Do::load, operand);
    default: return kNone;
  }
}

}  // namespace tl::code

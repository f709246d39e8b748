/**
 * Joining operations: from the last to the first, every one tries to take in those that compute its arguments and that
 * nothing else uses. What is between them then stays in vector registers.
 */
#include "joiner.h"

namespace tl {
namespace {

/** What a function can be joined with, or nothing. */
const JoinedFunction* joinedOf(Op op) {
  const JoinedOps& joined = simd().joined;
  switch (op) {
    case Op::exp: return &joined.exp;
    case Op::tanh: return &joined.tanh;
    case Op::sigmoid: return &joined.sigmoid;
    default: return nullptr;
  }
}

}  // namespace

Joiner::Joiner(Body& body) : steps_(body.steps_), uses_(body.steps_.size(), 0) {
  for (const Step& s : steps_)
    for (int a = 0; a < s.argCount; a++) uses_[static_cast<size_t>(s.args[a])]++;
  for (const Body::Output& o : body.outputs_) uses_[static_cast<size_t>(o.node)] += 2;
}

void Joiner::join() {
  for (size_t i = steps_.size(); i-- > 0;) {
    Step& s = steps_[i];
    if (s.place != Body::Place::computed || s.scalar || s.dtype != DType::f32) continue;
    if (s.op == Op::select) joinChoice(s);
    else joinArithmetic(s);
  }
}

/** Whether an operation of float32 has one user only, and is no scalar, which is computed once for a whole block. */
bool Joiner::canJoin(int64_t node) const {
  const Step& s = steps_[static_cast<size_t>(node)];
  return s.place == Body::Place::computed && !s.scalar && uses_[static_cast<size_t>(node)] == 1;
}
bool Joiner::is(int64_t node, Op op) const {
  const Step& s = steps_[static_cast<size_t>(node)];
  return s.op == op && s.dtype == DType::f32 && canJoin(node);
}
bool Joiner::isProduct(int64_t node) const { return is(node, Op::mul) || is(node, Op::square); }
const int64_t* Joiner::args(int64_t node) const { return steps_[static_cast<size_t>(node)].args; }

bool Joiner::become(Step& s, BlockFn compute, std::initializer_list<int64_t> args, std::initializer_list<int64_t> joined) {
  s.compute = compute;
  s.argCount = 0;
  for (const int64_t arg : args) s.args[s.argCount++] = arg;
  for (const int64_t node : joined) {
    steps_[static_cast<size_t>(node)].place = Body::Place::joined;
    steps_[static_cast<size_t>(node)].argCount = 0;
  }
  return true;
}

bool Joiner::joinArithmetic(Step& s) {
  const int64_t x = s.args[0], y = s.args[1];
  switch (s.op) {
    case Op::add:
      return joinTowards(s, x, y) || joinTowards(s, y, x) || joinTwoProducts(s) || joinChain(s, Outer::add, x, y) ||
             joinChain(s, Outer::add, y, x);
    case Op::sub: return joinScaledStep(s) || joinChain(s, Outer::sub, x, y) || joinChain(s, Outer::subFrom, y, x);
    case Op::mul:
      return joinTimes(s, x, y) || joinTimes(s, y, x) || joinChain(s, Outer::mul, x, y) || joinChain(s, Outer::mul, y, x);
    case Op::div: return joinChain(s, Outer::div, x, y);
    case Op::max: return joinChain(s, Outer::max, x, y);
    default: return joinFunction(s);
  }
}

/** A function of a sum, a difference or a product. */
bool Joiner::joinFunction(Step& s) {
  const JoinedFunction* function = joinedOf(s.op);
  const int64_t x = s.args[0];
  if (!function) return false;
  const auto with = [&](Inner inner, int64_t y) {
    return become(s, function->of[static_cast<int>(inner)], {args(x)[0], y}, {x});
  };
  if (is(x, Op::add)) return with(Inner::add, args(x)[1]);
  if (is(x, Op::sub)) return with(Inner::sub, args(x)[1]);
  if (is(x, Op::mul)) return with(Inner::mul, args(x)[1]);
  return is(x, Op::square) && with(Inner::mul, args(x)[0]);
}

/** A function times something. */
bool Joiner::joinTimes(Step& s, int64_t function, int64_t other) {
  const JoinedFunction* joined = joinedOf(steps_[static_cast<size_t>(function)].op);
  if (!joined || function == other || !is(function, steps_[static_cast<size_t>(function)].op)) return false;
  return become(s, joined->times, {args(function)[0], other}, {function});
}

/** x - a b / (sqrt(c) + d). */
bool Joiner::joinScaledStep(Step& s) {
  const int64_t quotient = s.args[1];
  if (!is(quotient, Op::div)) return false;
  const int64_t product = args(quotient)[0], sum = args(quotient)[1];
  if (!is(product, Op::mul) || !is(sum, Op::add) || !is(args(sum)[0], Op::sqrt)) return false;
  const int64_t root = args(sum)[0];
  return become(s, simd().joined.scaledStep, {s.args[0], args(product)[0], args(product)[1], args(root)[0], args(sum)[1]},
                {quotient, product, sum, root});
}

/** x + (y - x) z, where y may be a product. */
bool Joiner::joinTowards(Step& s, int64_t from, int64_t change) {
  if (!is(change, Op::mul)) return false;
  for (int side = 0; side < 2; side++) {
    const int64_t difference = args(change)[side], part = args(change)[1 - side];
    if (!is(difference, Op::sub) || args(difference)[1] != from) continue;
    const int64_t to = args(difference)[0];
    if (!isProduct(to)) return become(s, simd().joined.towards, {from, to, part}, {change, difference});
    const int64_t x = args(to)[0], y = is(to, Op::square) ? x : args(to)[1];
    return become(s, simd().joined.towardsProduct, {from, x, part, y}, {change, difference, to});
  }
  return false;
}

bool Joiner::joinTwoProducts(Step& s) {
  const int64_t x = s.args[0], y = s.args[1];
  if (x == y || !is(x, Op::mul) || !is(y, Op::mul)) return false;
  return become(s, simd().joined.twoProducts, {args(x)[0], args(x)[1], args(y)[0], args(y)[1]}, {x, y});
}

bool Joiner::joinChain(Step& s, Outer outer, int64_t inner, int64_t other) {
  const auto with = [&](Inner op, int64_t x, int64_t y) {
    return become(s, simd().joined.chain[static_cast<int>(op)][static_cast<int>(outer)], {x, y, other}, {inner});
  };
  if (is(inner, Op::add)) return with(Inner::add, args(inner)[0], args(inner)[1]);
  if (is(inner, Op::sub)) return with(Inner::sub, args(inner)[0], args(inner)[1]);
  if (is(inner, Op::mul)) return with(Inner::mul, args(inner)[0], args(inner)[1]);
  if (is(inner, Op::square)) return with(Inner::mul, args(inner)[0], args(inner)[0]);
  return false;
}

/** A choice by a comparison of float32. */
bool Joiner::joinChoice(Step& s) {
  const int64_t truth = s.args[0], yes = s.args[1], no = s.args[2];
  if (!canJoin(truth)) return false;
  const Step& c = steps_[static_cast<size_t>(truth)];
  if (c.argCount != 2 || steps_[static_cast<size_t>(c.args[0])].dtype != DType::f32) return false;
  const int64_t x = c.args[0], y = c.args[1];
  const JoinedOps& joined = simd().joined;
  switch (c.op) {
    case Op::lt: return become(s, joined.less, {x, y, yes, no}, {truth});
    case Op::gt: return become(s, joined.less, {y, x, yes, no}, {truth});
    case Op::le: return become(s, joined.lessOrEqual, {x, y, yes, no}, {truth});
    case Op::ge: return become(s, joined.lessOrEqual, {y, x, yes, no}, {truth});
    case Op::eq: return become(s, joined.equal, {x, y, yes, no}, {truth});
    case Op::ne: return become(s, joined.equal, {x, y, no, yes}, {truth});
    default: return false;
  }
}

}  // namespace tl

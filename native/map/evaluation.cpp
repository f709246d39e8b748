/** Evaluating an expression over a box. */
#include <algorithm>

#include "body.h"

namespace tl {

Body::Run::Run(const Body& body, void* const* table, char* scratch, int32_t* failure, bool mayStream)
    : body_(body), table_(table), scratch_(scratch), failure_(failure), streams_(mayStream && body.streaming_) {
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
  const auto isInLines = [&](size_t output) { return reinterpret_cast<uintptr_t>(args.at[body_.operands_.size() + output]) % 64 == 0; };
  bool streams = streams_;
  for (size_t i = 0; streams && i < body_.outputs_.size(); i++) streams = !body_.streams(body_.outputs_[i]) || isInLines(i);
  (streams ? body_.streaming_ : body_.loop_).run(args);
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

/** The `scatter` instruction: rows of updates written or folded into the rows that indices name, in order. */
#include <algorithm>

#include "../core/pool.h"
#include "../simd/kernels.h"
#include "positions.h"

namespace tl {
namespace {

constexpr int64_t kChunk = 512;  // elements of a row converted and combined at a time
constexpr double kGrain = 150e3;

Op opOf(Combine combine) {
  switch (combine) {
    case Combine::add: return Op::add;
    case Combine::sub: return Op::sub;
    case Combine::mul: return Op::mul;
    case Combine::div: return Op::div;
    case Combine::min: return Op::min;
    default: return Op::max;
  }
}

class Scatter final : public Instruction {
 public:
  Scatter(const View& target, const View& indices, const View& updates, Combine combine, Bounds bounds)
      : target_(target),
        updates_(updates),
        positions_(indices, dimsOf(target, indices)),
        combine_(combine),
        bounds_(bounds) {
    if (updates.dims.size() != 2 || updates.dtype != target.dtype) refuse("bad updates of a scatter");
    count_ = updates.dims[0];
    inner_ = updates.dims[1];
    if (indices.dims[0] != count_ || target.dims.back() != inner_)
      refuse("the sizes of a scatter do not agree");
    const Kind kind = kindOf(target.dtype);
    if (combine == Combine::update) return;
    compute_ = simd().ops[static_cast<int>(opOf(combine))][static_cast<int>(kind)];
    if (!compute_) refuse("a scatter is not defined for its type");
  }

  Failure run(void* const* table) override {
    // All indices are looked at before the target is touched.
    std::vector<int64_t> to(static_cast<size_t>(count_));
    for (int64_t row = 0; row < count_; row++) {
      const int64_t position = positions_.at(table, row);
      to[static_cast<size_t>(row)] = position;
      const bool dropped = bounds_ == Bounds::drop || (bounds_ == Bounds::dropNegative && position == Positions::kNegative);
      if (position < 0 && !dropped) return positions_.failure(table, row);
    }
    // Threads share out the columns, so that rows are still combined in order.
    int32_t failure = 0;
    const int64_t wide = std::max<int64_t>(1, inner_ / 64);
    const int64_t parts = std::min(wide, Pool::get().parts(static_cast<double>(count_) * static_cast<double>(inner_), kGrain));
    Pool::get().run(parts, [&](int64_t part) {
      const Range columns = rangeOf(part, parts, inner_);
      for (int64_t row = 0; row < count_; row++)
        if (to[static_cast<size_t>(row)] >= 0)
          for (int64_t c = columns.begin; c < columns.end; c += kChunk)
            combineRow(table, to[static_cast<size_t>(row)], row, c, std::min(kChunk, columns.end - c), &failure);
    });
    Failure result;
    result.code = static_cast<FailureCode>(failure);
    return result;
  }

 private:
  static std::vector<int64_t> dimsOf(const View& target, const View& indices) {
    if (indices.dims.size() != 2 || static_cast<int64_t>(target.dims.size()) != indices.dims[1] + 1)
      refuse("the ranks of a scatter do not agree");
    return {target.dims.begin(), target.dims.end() - 1};
  }

  void combineRow(void* const* table, int64_t position, int64_t row, int64_t column, int64_t n, int32_t* failure) {
    const int64_t size = sizeOf(target_.dtype);
    char* to = target_.at(table) + (position * inner_ + column) * size;
    const char* from = updates_.at(table) + (row * updates_.strides[0] + column * updates_.strides[1]) * size;
    if (combine_ == Combine::update) {
      copyOf(size)(n, to, 1, from, updates_.strides[1]);
      return;
    }
    const int dtype = static_cast<int>(target_.dtype);
    alignas(64) char left[kChunk * 16], right[kChunk * 16];
    BlockArgs args = {left, {left, right}, {1, 1}, 0, failure};
    simd().load[dtype](n, right, 1, from, updates_.strides[1]);
    if (isNative(target_.dtype)) {
      args.out = to;
      args.in[0] = to;
      compute_(n, args);
      return;
    }
    simd().load[dtype](n, left, 1, to, 1);
    compute_(n, args);
    simd().store[dtype](n, to, 1, left, 1);
  }

  View target_, updates_;
  Positions positions_;
  Combine combine_;
  Bounds bounds_;
  BlockFn compute_ = nullptr;
  int64_t count_, inner_;
};

}  // namespace

InstructionPtr decodeScatter(Reader& in) {
  const Combine combine = in.code<Combine>("combination");
  const View target = in.view();
  const View indices = in.view();
  const View updates = in.view();
  return make<Scatter>(target, indices, updates, combine, in.code<Bounds>("bounds"));
}

}  // namespace tl

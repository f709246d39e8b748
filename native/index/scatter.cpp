/** The `scatter` instruction: rows of updates written or folded into the rows that indices name, in order. */
#include <algorithm>

#include "../simd/kernels.h"
#include "positions.h"

namespace tl {
namespace {

constexpr int64_t kChunk = 512;  // elements of a row converted and combined at a time
constexpr double kGrain = 150e3;
constexpr int64_t kLeastColumns = 64;  // of a row that threads share
constexpr int64_t kFew = 8;            // columns that are added together
constexpr int64_t kRowCost = 16;       // of a row besides its elements, in elements

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
    const int64_t bad = positions_.firstBad(table, count_, [this](int64_t position) {
      return bounds_ != Bounds::drop && position < 0 && !(bounds_ == Bounds::dropNegative && position == Positions::kNegative);
    });
    if (bad < count_) return positions_.failure(table, bad);
    int32_t failure = 0;
    positions_.read(table, [&](const auto& at) {
      if (inner_ == 1 && combineNumbers(table, at)) return;
      const int64_t wanted = Pool::get().parts(static_cast<double>(count_) * static_cast<double>(inner_ + kRowCost), kGrain);
      // Threads share out the columns, or of narrow rows the rows of the target: either way rows are combined in order.
      const bool byColumns = inner_ >= 2 * kLeastColumns;
      const int64_t targets = target_.size() / std::max<int64_t>(1, inner_);
      const int64_t parts = std::min(byColumns ? inner_ / kLeastColumns : targets, wanted);
      Pool::get().run(parts, [&](int64_t part) {
        const Range columns = byColumns ? rangeOf(part, parts, inner_) : Range{0, inner_};
        const Range rows = byColumns ? Range{0, targets} : rangeOf(part, parts, targets);
        if (!byColumns && addRows(table, at, rows)) return;
        for (int64_t row = 0; row < count_; row++) {
          const int64_t position = at(row);
          if (position < rows.begin || position >= rows.end) continue;
          for (int64_t c = columns.begin; c < columns.end; c += kChunk)
            combineRow(table, position, row, c, std::min(kChunk, columns.end - c), &failure);
        }
      });
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

  /** Rows of one number each, for the types and combinations that are the most usual; false for others. */
  template <class At>
  bool combineNumbers(void* const* table, const At& at) const {
    switch (target_.dtype) {
      case DType::f32: return combineNumbersAs<float>(table, at);
      case DType::f64: return combineNumbersAs<double>(table, at);
      // Overflow of signed numbers is left to unsigned ones, which have it.
      case DType::i32: return combineNumbersAs<uint32_t>(table, at);
      case DType::i64: return combineNumbersAs<uint64_t>(table, at);
      default: return false;
    }
  }
  template <class T, class At>
  bool combineNumbersAs(void* const* table, const At& at) const {
    const auto fold = [&](const auto& combined) {
      T* const target = target_.as<T>(table);
      const T* const updates = updates_.as<T>(table);
      // Rows of one segment often follow each other: their number stays in a register then.
      int64_t held = -1;
      T value = 0;
      for (int64_t row = 0; row < count_; row++) {
        const int64_t position = at(row);
        if (position < 0) continue;
        if (position != held) {
          if (held >= 0) target[held] = value;
          value = target[held = position];
        }
        value = combined(value, updates[row * updates_.strides[0]]);
      }
      if (held >= 0) target[held] = value;
      return true;
    };
    switch (combine_) {
      case Combine::update: return fold([](T, T y) { return y; });
      case Combine::add: return fold([](T x, T y) { return x + y; });
      case Combine::sub: return fold([](T x, T y) { return x - y; });
      default: return false;
    }
  }

  /** Narrow rows of floats added to those rows of the target that are in `targets`; false for everything else. */
  template <class At>
  bool addRows(void* const* table, const At& at, Range targets) const {
    if (combine_ != Combine::add || updates_.strides[1] != 1) return false;
    if (target_.dtype == DType::f32) return addRowsAs<float>(table, at, targets), true;
    if (target_.dtype == DType::f64) return addRowsAs<double>(table, at, targets), true;
    return false;
  }
  template <class T, class At>
  void addRowsAs(void* const* table, const At& at, Range targets) const {
    for (int64_t row = 0; row < count_; row++) {
      const int64_t position = at(row);
      if (position < targets.begin || position >= targets.end) continue;
      T* const to = target_.as<T>(table) + position * inner_;
      const T* const from = updates_.as<T>(table) + row * updates_.strides[0];
      int64_t c = 0;
      // Of a fixed length, so that it becomes vector code.
      for (; c + kFew <= inner_; c += kFew) {
        T sums[kFew];
        for (int64_t i = 0; i < kFew; i++) sums[i] = to[c + i] + from[c + i];
        for (int64_t i = 0; i < kFew; i++) to[c + i] = sums[i];
      }
      for (; c < inner_; c++) to[c] += from[c];
    }
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
    if (isNative(target_.dtype) && updates_.strides[1] == 1) args.in[1] = from;
    else simd().load[dtype](n, right, 1, from, updates_.strides[1]);
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

/** The `gather` instruction: rows picked by index. */
#include <cstring>
#include <type_traits>

#include "positions.h"

namespace tl {
namespace {

constexpr double kGrain = 256e3;  // bytes copied that pay for another thread
constexpr int64_t kAhead = 16;    // rows that are fetched before their turn

template <int64_t N> using Bytes = std::integral_constant<int64_t, N>;

class Gather final : public Instruction {
 public:
  Gather(const View& params, const View& indices, const View& output, bool zero)
      : params_(params), output_(output), positions_(indices, dimsOf(params, indices)), zero_(zero) {
    if (output.dims.size() != 4 || output.dtype != params.dtype) refuse("bad output of a gather");
    batch_ = output.dims[0];
    outer_ = output.dims[1];
    count_ = output.dims[2];
    bytes_ = output.dims[3] * sizeOf(output.dtype);
    slice_ = product(params.dims, 2, params.dims.size() - 1);
    const bool agree = params.dims[0] == batch_ && params.dims[1] == outer_ && params.dims.back() == output.dims[3];
    if (!agree || indices.dims[0] != batch_ || indices.dims[1] != count_)
      refuse("the sizes of a gather do not agree");
  }

  Failure run(void* const* table) override {
    // All indices are looked at before anything is written; the first bad one is the one reported.
    const int64_t rows = batch_ * count_;
    if (!zero_) {
      const int64_t bad = positions_.firstBad(table, rows, [](int64_t position) { return position < 0; });
      if (bad < rows) return positions_.failure(table, bad);
    }
    const int64_t total = batch_ * outer_ * count_;
    if (total * bytes_ == 0) return {};
    const int64_t parts = Pool::get().parts(static_cast<double>(total * (bytes_ + 16)), kGrain);
    positions_.read(table, [&](const auto& at) {
      Pool::get().run(parts, [&](int64_t part) {
        const Range range = rangeOf(part, parts, total);
        const char* const params = params_.at(table);
        char* const output = output_.at(table);
        switch (bytes_) {
          case 1: return copyRows(range, at, params, output, Bytes<1>());
          case 2: return copyRows(range, at, params, output, Bytes<2>());
          case 4: return copyRows(range, at, params, output, Bytes<4>());
          case 8: return copyRows(range, at, params, output, Bytes<8>());
          case 16: return copyRows(range, at, params, output, Bytes<16>());
          default: return copyRows(range, at, params, output, bytes_);
        }
      });
    });
    return {};
  }

 private:
  static std::vector<int64_t> dimsOf(const View& params, const View& indices) {
    if (indices.dims.size() != 3 || params.dims.size() < 3 || static_cast<int64_t>(params.dims.size()) != indices.dims[2] + 3)
      refuse("the ranks of a gather do not agree");
    return {params.dims.begin() + 2, params.dims.end() - 1};
  }

  /** Rows of the output; `bytes` are those of a row, as a type where the compiler shall know them. */
  template <class At, class Size>
  void copyRows(Range range, const At& at, const char* params, char* output, Size bytes) const {
    for (int64_t i = range.begin; i < range.end;) {
      const int64_t group = i / count_, end = range.end < (group + 1) * count_ ? range.end : (group + 1) * count_;
      const int64_t first = (group / outer_ - group) * count_;
      const char* const from = params + group * slice_ * bytes;
      for (; i < end; i++) {
        // Rows lie anywhere in memory, so the processor cannot know which come next.
        if (i + kAhead < end) __builtin_prefetch(from + at(first + i + kAhead) * bytes);
        const int64_t position = at(first + i);
        if (position < 0) std::memset(output + i * bytes, 0, static_cast<size_t>(bytes));
        else std::memcpy(output + i * bytes, from + position * bytes, static_cast<size_t>(bytes));
      }
    }
  }

  View params_, output_;
  Positions positions_;
  bool zero_;
  int64_t batch_, outer_, count_, slice_, bytes_;
};

/** No index to check and no row to copy; the depth of the indices does not matter then. */
class GatherNothing final : public Instruction {
 public:
  Failure run(void* const*) override { return {}; }
};

}  // namespace

InstructionPtr decodeGather(Reader& in) {
  const View params = in.view();
  const View indices = in.view();
  const View output = in.view();
  const bool zero = in.code<Bounds>("bounds") == Bounds::zero;
  if (output.size() == 0 && indices.size() == 0) return make<GatherNothing>();
  return make<Gather>(params, indices, output, zero);
}

}  // namespace tl

/** The `gather` instruction: rows picked by index. */
#include <cstring>

#include "../core/pool.h"
#include "positions.h"

namespace tl {
namespace {

constexpr double kGrain = 256e3;  // bytes copied that pay for another thread

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
    std::vector<int64_t> from(static_cast<size_t>(rows));
    for (int64_t row = 0; row < rows; row++) {
      from[static_cast<size_t>(row)] = positions_.at(table, row);
      if (from[static_cast<size_t>(row)] < 0 && !zero_) return positions_.failure(table, row);
    }
    const int64_t total = batch_ * outer_ * count_;
    if (total * bytes_ == 0) return {};
    const int64_t parts = Pool::get().parts(static_cast<double>(total * (bytes_ + 16)), kGrain);
    const char* params = params_.at(table);
    char* output = output_.at(table);
    Pool::get().run(parts, [&](int64_t part) {
      const Range range = rangeOf(part, parts, total);
      for (int64_t i = range.begin; i < range.end; i++) {
        const int64_t group = i / count_, row = group / outer_ * count_ + i % count_;
        const int64_t position = from[static_cast<size_t>(row)];
        if (position < 0)
          std::memset(output + i * bytes_, 0, static_cast<size_t>(bytes_));
        else
          std::memcpy(output + i * bytes_, params + (group * slice_ + position) * bytes_, static_cast<size_t>(bytes_));
      }
    });
    return {};
  }

 private:
  static std::vector<int64_t> dimsOf(const View& params, const View& indices) {
    if (indices.dims.size() != 3 || params.dims.size() < 3 || static_cast<int64_t>(params.dims.size()) != indices.dims[2] + 3)
      refuse("the ranks of a gather do not agree");
    return {params.dims.begin() + 2, params.dims.end() - 1};
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

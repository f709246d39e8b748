/** The `topk` instruction: the largest values of each row, and where they were. */
#include <algorithm>
#include <cstring>
#include <numeric>

#include "../core/pool.h"
#include "../core/program.h"
#include "../simd/kernels.h"

namespace tl {
namespace {

class TopK final : public Instruction {
 public:
  TopK(const View& input, const View& values, const View& indices) : input_(input), values_(values), indices_(indices) {
    if (input.dims.size() != 2 || values.dims.size() != 2 || values.dims != indices.dims || values.dims[0] != input.dims[0] ||
        values.dims[1] > input.dims[1] || values.dtype != input.dtype || indices.dtype != DType::i32)
      throw std::runtime_error("bad topk");
    const Kind kind = kindOf(input.dtype);
    if (kind == Kind::c64 || kind == Kind::c128) throw std::runtime_error("complex numbers have no order");
  }

  Failure run(void* const* table) override {
    const int64_t rows = input_.dims[0], n = input_.dims[1], k = values_.dims[1];
    if (rows * k == 0) return {};
    const int64_t parts = std::min(rows, Pool::get().parts(static_cast<double>(rows * n) * 8, 100e3));
    Pool::get().run(parts, [&](int64_t part) {
      const Range range = rangeOf(part, parts, rows);
      std::vector<int32_t> order(static_cast<size_t>(n));
      std::vector<char> row(static_cast<size_t>(n * 16));
      for (int64_t r = range.begin; r < range.end; r++) {
        const char* from = input_.at(table) + r * n * sizeOf(input_.dtype);
        simd().load[static_cast<int>(input_.dtype)](n, row.data(), 1, from, 1);
        pick(row.data(), order, k);
        std::copy_n(order.begin(), k, indices_.as<int32_t>(table) + r * k);
        const int64_t size = sizeOf(input_.dtype);
        for (int64_t i = 0; i < k; i++)
          std::memcpy(values_.at(table) + (r * k + i) * size, from + order[static_cast<size_t>(i)] * size,
                      static_cast<size_t>(size));
      }
    });
    return {};
  }

 private:
  void pick(const char* row, std::vector<int32_t>& order, int64_t k) const {
    switch (kindOf(input_.dtype)) {
      case Kind::f32: return pickAs<float>(row, order, k);
      case Kind::f64: return pickAs<double>(row, order, k);
      case Kind::i32: return pickAs<int32_t>(row, order, k);
      case Kind::i64: return pickAs<int64_t>(row, order, k);
      case Kind::u32: return pickAs<uint32_t>(row, order, k);
      case Kind::u64: return pickAs<uint64_t>(row, order, k);
      default: return pickAs<uint8_t>(row, order, k);
    }
  }

  /** NaN counts as larger than any number, so that the order is total. */
  template <class T>
  static void pickAs(const char* row, std::vector<int32_t>& order, int64_t k) {
    const T* x = reinterpret_cast<const T*>(row);
    std::iota(order.begin(), order.end(), 0);
    const auto before = [&](int32_t a, int32_t b) {
      const T u = x[a], v = x[b];
      const bool uNan = u != u, vNan = v != v;
      if (uNan != vNan) return uNan;
      if (u > v) return true;
      if (u < v) return false;
      return a < b;
    };
    const auto last = order.begin() + k;
    // Selecting first is linear in the row; only the winners are then sorted.
    if (k < static_cast<int64_t>(order.size())) std::nth_element(order.begin(), last, order.end(), before);
    std::sort(order.begin(), last, before);
  }

  View input_, values_, indices_;
};

}  // namespace

InstructionPtr decodeTopK(Reader& in) {
  const View input = in.view();
  const View values = in.view();
  return std::make_unique<TopK>(input, values, in.view());
}

}  // namespace tl

/** The `scan` instruction: running sums, products and log-sum-exps. */
#include <algorithm>
#include <cmath>
#include <limits>

#include "../core/pool.h"
#include "../core/program.h"
#include "../simd/kernels.h"

namespace tl {
namespace {

constexpr double kGrain = 100e3;
constexpr int64_t kChunk = 256;  // columns that advance together

/** log(e^a + e^b) without overflow. */
template <class T>
T logAdd(T a, T b) {
  const T high = std::max(a, b), low = std::min(a, b);
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
}

class Scan final : public Instruction {
 public:
  Scan(const View& input, const View& output, ScanOp op, bool exclusive, bool reverse)
      : input_(input), output_(output), op_(op), exclusive_(exclusive), reverse_(reverse), kind_(kindOf(input.dtype)) {
    if (input.dims.size() != 3 || input.dims != output.dims || input.dtype != output.dtype) refuse("bad scan");
    if (op == ScanOp::logsumexp) {
      if (kind_ != Kind::f32 && kind_ != Kind::f64) refuse("logsumexp needs floats");
    } else {
      compute_ = simd().ops[static_cast<int>(op == ScanOp::sum ? Op::add : Op::mul)][static_cast<int>(kind_)];
    }
  }

  Failure run(void* const* table) override {
    const int64_t outer = input_.dims[0], inner = input_.dims[2], chunks = (inner + kChunk - 1) / kChunk;
    if (input_.size() == 0) return {};
    const int64_t tasks = outer * chunks;
    const double work = static_cast<double>(input_.size()) * (op_ == ScanOp::logsumexp ? 40 : 1);
    const int64_t parts = std::min(tasks, Pool::get().parts(work, kGrain));
    Pool::get().run(parts, [&](int64_t part) {
      const Range range = rangeOf(part, parts, tasks);
      for (int64_t task = range.begin; task < range.end; task++) {
        const int64_t column = task % chunks * kChunk;
        scanColumns(table, task / chunks, column, std::min(kChunk, inner - column));
      }
    });
    return {};
  }

 private:
  void start(char* sum) const {
    const int64_t size = sizeOf(kind_);
    std::fill(sum, sum + kChunk * size, char{0});
    const auto fill = [&](auto value) { std::fill_n(reinterpret_cast<decltype(value)*>(sum), kChunk, value); };
    if (op_ == ScanOp::logsumexp) {
      if (kind_ == Kind::f32) fill(-std::numeric_limits<float>::infinity());
      else fill(-std::numeric_limits<double>::infinity());
    } else if (op_ == ScanOp::prod) {
      switch (kind_) {
        case Kind::f32: fill(1.0f); break;
        case Kind::f64: fill(1.0); break;
        case Kind::i32: case Kind::u32: fill(uint32_t{1}); break;
        case Kind::i64: case Kind::u64: fill(uint64_t{1}); break;
        case Kind::c64: for (int64_t i = 0; i < kChunk; i++) reinterpret_cast<float*>(sum)[2 * i] = 1; break;
        default: for (int64_t i = 0; i < kChunk; i++) reinterpret_cast<double*>(sum)[2 * i] = 1;
      }
    }
  }

  void combine(char* sum, const char* x, int64_t n) const {
    if (op_ == ScanOp::logsumexp) {
      if (kind_ == Kind::f32) combineLog<float>(sum, x, n);
      else combineLog<double>(sum, x, n);
      return;
    }
    const BlockArgs args = {sum, {sum, x}, {1, 1}, 0, nullptr};
    compute_(n, args);
  }
  template <class T>
  static void combineLog(char* sum, const char* x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
      T& total = reinterpret_cast<T*>(sum)[i];
      total = logAdd(total, reinterpret_cast<const T*>(x)[i]);
    }
  }

  /** Running sums of `n` columns in numbers of type `Sum`; of float32 in double precision, so that long sums are right. */
  template <class T, class Sum>
  void sumColumns(void* const* table, int64_t first, int64_t n) const {
    const int64_t length = input_.dims[1], inner = input_.dims[2], step = reverse_ ? -inner : inner;
    const T* in = input_.as<T>(table) + first + (reverse_ ? (length - 1) * inner : 0);
    T* out = output_.as<T>(table) + first + (reverse_ ? (length - 1) * inner : 0);
    if (n == 1) {
      // A single sum stays in a register.
      Sum sum{};
      for (int64_t i = 0; i < length; i++, in += step, out += step) {
        const Sum before = sum;
        sum += static_cast<Sum>(*in);
        *out = static_cast<T>(exclusive_ ? before : sum);
      }
      return;
    }
    Sum sums[kChunk] = {};
    for (int64_t i = 0; i < length; i++, in += step, out += step)
      for (int64_t c = 0; c < n; c++) {
        // The input is read before the output is written: they may be the same memory.
        const Sum before = sums[c], after = before + static_cast<Sum>(in[c]);
        sums[c] = after;
        out[c] = static_cast<T>(exclusive_ ? before : after);
      }
  }
  bool sumColumns(void* const* table, int64_t first, int64_t n) const {
    if (op_ != ScanOp::sum) return false;
    switch (input_.dtype) {
      case DType::f32: return sumColumns<float, double>(table, first, n), true;
      case DType::f64: return sumColumns<double, double>(table, first, n), true;
      case DType::i32: return sumColumns<uint32_t, uint32_t>(table, first, n), true;
      case DType::i64: return sumColumns<uint64_t, uint64_t>(table, first, n), true;
      default: return false;
    }
  }

  void scanColumns(void* const* table, int64_t outer, int64_t column, int64_t n) const {
    if (sumColumns(table, outer * input_.dims[1] * input_.dims[2] + column, n)) return;
    const int64_t length = input_.dims[1], inner = input_.dims[2], size = sizeOf(input_.dtype);
    const ConvertFn load = simd().load[static_cast<int>(input_.dtype)], store = simd().store[static_cast<int>(input_.dtype)];
    alignas(64) char sum[kChunk * 16], x[kChunk * 16];
    start(sum);
    for (int64_t i = 0; i < length; i++) {
      const int64_t row = reverse_ ? length - 1 - i : i;
      const int64_t at = ((outer * length + row) * inner + column) * size;
      // The input is read before the output is written: they may be the same memory.
      load(n, x, 1, input_.at(table) + at, 1);
      if (exclusive_) store(n, output_.at(table) + at, 1, sum, 1);
      combine(sum, x, n);
      if (!exclusive_) store(n, output_.at(table) + at, 1, sum, 1);
    }
  }

  View input_, output_;
  ScanOp op_;
  bool exclusive_, reverse_;
  Kind kind_;
  BlockFn compute_ = nullptr;
};

}  // namespace

InstructionPtr decodeScan(Reader& in) {
  const ScanOp op = in.code<ScanOp>("scan");
  const View input = in.view();
  const View output = in.view();
  const bool exclusive = in.word() != 0;
  return make<Scan>(input, output, op, exclusive, in.word() != 0);
}

}  // namespace tl

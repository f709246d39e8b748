/** The `dot` instruction: batches of matrix products, spread over threads. */
#include <algorithm>
#include <complex>
#include <cstring>

#include "../map/map.h"

namespace tl {
namespace {

/** Multiply-adds that pay for waking another thread. */
constexpr double kGrain = 400e3;

/** One operand of a batch: its matrix strides and its strides along the batch dims. */
struct Matrix {
  View view;
  int64_t row, column;
  std::vector<int64_t> batch;

  explicit Matrix(const View& v) : view(v) {
    const size_t rank = v.dims.size();
    if (rank < 2) refuse("a matrix product needs matrices");
    row = v.strides[rank - 2];
    column = v.strides[rank - 1];
    batch.assign(v.strides.begin(), v.strides.end() - 2);
  }
  int64_t rows() const { return view.dims[view.dims.size() - 2]; }
  int64_t columns() const { return view.dims.back(); }
  /** Where matrix `index` of the batch begins. */
  int64_t startOf(int64_t index, const std::vector<int64_t>& dims) const {
    int64_t start = 0;
    for (size_t d = dims.size(); d-- > 0; index /= dims[d]) start += index % dims[d] * batch[d];
    return start;
  }
};

/** The plain product, for types without a fast one. */
template <class T>
void plainProduct(const Gemm<T>& g) {
  constexpr int64_t strip = 64;
  T sum[strip];
  for (int64_t i = 0; i < g.m; i++)
    for (int64_t j = 0; j < g.n; j += strip) {
      const int64_t width = std::min(strip, g.n - j);
      std::fill(sum, sum + width, T(0));
      for (int64_t p = 0; p < g.k; p++) {
        const T left = g.a[i * g.aRow + p * g.aColumn];
        const T* right = g.b + p * g.bRow + j * g.bColumn;
        if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
          // Spelled out: the library's product checks every result for NaN.
          for (int64_t s = 0; s < width; s++) {
            const T r = right[s * g.bColumn];
            sum[s] += T(left.real() * r.real() - left.imag() * r.imag(), left.real() * r.imag() + left.imag() * r.real());
          }
        else
          for (int64_t s = 0; s < width; s++) sum[s] = static_cast<T>(sum[s] + left * right[s * g.bColumn]);
      }
      for (int64_t s = 0; s < width; s++) g.c[i * g.cRow + (j + s) * g.cColumn] = sum[s];
    }
}

class Dot final : public Instruction {
 public:
  /** `after`, if there is one, runs on every piece of the product. */
  Dot(const View& a, const View& b, const View& c, Owned<PieceMap> after)
      : a_(a), b_(b), c_(c), dtype_(c.dtype), after_(std::move(after)) {
    if (after_ && after_->shape() != c.dims) refuse("a map on a product has another shape than it");
    m_ = a_.rows();
    k_ = a_.columns();
    n_ = b_.columns();
    if (b_.rows() != k_ || c_.rows() != m_ || c_.columns() != n_) refuse("matrix sizes do not agree");
    if (a.dtype != dtype_ || b.dtype != dtype_) refuse("matrix types do not agree");
    if (dtype_ == DType::bool_) refuse("bools cannot be multiplied");
    batchDims_.assign(c.dims.begin(), c.dims.end() - 2);
    const auto sameBatch = [&](const View& v) {
      return std::equal(batchDims_.begin(), batchDims_.end(), v.dims.begin(), v.dims.end() - 2);
    };
    if (!sameBatch(a) || !sameBatch(b)) refuse("batch dims do not agree");
    mergeBatch();
    batches_ = 1;
    for (int64_t d : batchDims_) batches_ *= d;
  }

  Failure run(void* const* table) override {
    if (batches_ * m_ * n_ == 0) return {};
    failure_ = 0;
    switch (dtype_) {
      case DType::f32: runSplit<float>(table, [](const Gemm<float>& g, char* s) { simd().gemmF32(g, s); }); break;
      case DType::f64: runSplit<double>(table, [](const Gemm<double>& g, char* s) { simd().gemmF64(g, s); }); break;
      case DType::f16: case DType::bf16: runHalf(table); break;
      // Sums wrap, so signed integers are multiplied as unsigned ones.
      case DType::i8: case DType::u8: runPlain<uint8_t>(table); break;
      case DType::i16: case DType::u16: runPlain<uint16_t>(table); break;
      case DType::i32: case DType::u32: runPlain<uint32_t>(table); break;
      case DType::i64: case DType::u64: runPlain<uint64_t>(table); break;
      case DType::c64: runPlain<std::complex<float>>(table); break;
      case DType::c128: runPlain<std::complex<double>>(table); break;
      default: break;
    }
    Failure result;
    result.code = static_cast<FailureCode>(failure_);
    return result;
  }

 private:
  /** A batch whose matrices of a and c follow each other and share b is one tall product. */
  void mergeBatch() {
    while (!batchDims_.empty()) {
      const size_t last = batchDims_.size() - 1;
      const bool tall = b_.batch[last] == 0 && a_.batch[last] == m_ * a_.row && c_.batch[last] == m_ * c_.row;
      if (batchDims_[last] != 1 && !tall) return;
      m_ *= batchDims_[last];
      batchDims_.pop_back();
      a_.batch.pop_back();
      b_.batch.pop_back();
      c_.batch.pop_back();
    }
  }

  /** Multiply-adds of one product. */
  double work() const { return static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(std::max<int64_t>(k_, 1)); }

  template <class T>
  Gemm<T> product(void* const* table, int64_t batch) const {
    return {m_, n_, k_,
            a_.view.as<T>(table) + a_.startOf(batch, batchDims_), a_.row, a_.column,
            b_.view.as<T>(table) + b_.startOf(batch, batchDims_), b_.row, b_.column,
            c_.view.as<T>(table) + c_.startOf(batch, batchDims_), c_.row, c_.column};
  }

  /** Cuts every product into a grid of pieces of c, as square as threads allow. Every piece sums over all of k. */
  template <class T, class Multiply>
  void runSplit(void* const* table, const Multiply& multiply) {
    const int64_t parts = Pool::get().parts(static_cast<double>(batches_) * work(), kGrain);
    const int64_t perProduct = (parts + batches_ - 1) / batches_;
    int64_t down = 1, across = 1;
    while (down * across < perProduct && (m_ / down > 32 || n_ / across > 64)) {
      if (m_ / down >= n_ / across && m_ / down > 32) down++;
      else if (n_ / across > 64) across++;
      else down++;
    }
    const int64_t pieces = down * across, tasks = batches_ * pieces;
    const int64_t rowsEach = (m_ + down - 1) / down, columnsEach = (n_ + across - 1) / across;
    const int64_t columnStep = across > 1 ? (columnsEach + 31) / 32 * 32 : columnsEach;
    const int64_t bytes = std::max(simd().gemmScratch(rowsEach, columnStep, k_, sizeof(T)), afterBytes());
    const int64_t used = std::min(tasks, parts);
    Pool::get().run(used, [&](int64_t part) {
      char* scratch = Pool::scratch(bytes);
      const Range range = rangeOf(part, used, tasks);
      for (int64_t task = range.begin; task < range.end; task++) {
        Gemm<T> g = product<T>(table, task / pieces);
        const int64_t i = task % pieces / across * rowsEach, j = task % across * columnStep;
        g.m = std::min(rowsEach, m_ - i);
        g.n = std::min(columnStep, n_ - j);
        if (g.m <= 0 || g.n <= 0) continue;
        g.a += i * g.aRow;
        g.b += j * g.bColumn;
        g.c += i * g.cRow + j * g.cColumn;
        multiply(g, scratch);
        const int64_t row = task / pieces * m_ + i;
        runAfter(table, {row, row + g.m}, {j, j + g.n}, scratch);
      }
    });
  }

  int64_t afterBytes() const { return after_ ? after_->scratchBytes() : 0; }
  /** What follows the product, on a piece of it that is ready. Rows count through all batches. */
  void runAfter(void* const* table, Range rows, Range columns, char* scratch) {
    if (after_) after_->run(table, rows, columns, scratch, &failure_);
  }

  template <class T>
  void runPlain(void* const* table) {
    runSplit<T>(table, [](const Gemm<T>& g, char*) { plainProduct(g); });
  }

  /** Half types are multiplied as float32 and rounded once, at the end. */
  void runHalf(void* const* table) {
    const ConvertFn load = simd().load[static_cast<int>(dtype_)], store = simd().store[static_cast<int>(dtype_)];
    std::vector<float> a(static_cast<size_t>(m_ * k_)), b(static_cast<size_t>(k_ * n_)), c(static_cast<size_t>(m_ * n_));
    const int64_t parts = std::min(m_, Pool::get().parts(work(), kGrain));
    for (int64_t batch = 0; batch < batches_; batch++) {
      const Gemm<uint16_t> g = product<uint16_t>(table, batch);
      for (int64_t i = 0; i < m_; i++) load(k_, a.data() + i * k_, 1, g.a + i * g.aRow, g.aColumn);
      for (int64_t p = 0; p < k_; p++) load(n_, b.data() + p * n_, 1, g.b + p * g.bRow, g.bColumn);
      Pool::get().run(parts, [&](int64_t part) {
        const Range rows = rangeOf(part, parts, m_);
        const int64_t m = rows.end - rows.begin;
        simd().gemmF32({m, n_, k_, a.data() + rows.begin * k_, k_, 1, b.data(), n_, 1, c.data() + rows.begin * n_, n_, 1},
                       Pool::scratch(simd().gemmScratch(m, n_, k_, 4)));
        for (int64_t i = rows.begin; i < rows.end; i++) store(n_, g.c + i * g.cRow, g.cColumn, c.data() + i * n_, 1);
        runAfter(table, {batch * m_ + rows.begin, batch * m_ + rows.end}, {0, n_}, Pool::scratch(afterBytes()));
      });
    }
  }

  Matrix a_, b_, c_;
  DType dtype_;
  int64_t m_, n_, k_, batches_;
  std::vector<int64_t> batchDims_;
  Owned<PieceMap> after_;
  int32_t failure_ = 0;
};

}  // namespace

InstructionPtr decodeDot(Reader& in) {
  const View a = in.view();
  const View b = in.view();
  const View c = in.view();
  Owned<PieceMap> after;
  if (in.word(0, 1, "flag of a map on a product")) after = make<PieceMap>(MapCode::decode(in));
  return make<Dot>(a, b, c, std::move(after));
}

}  // namespace tl

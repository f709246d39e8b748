/**
 * The `window` instruction: pooling and its gradients.
 *
 * Gradients are split by rows of the image, not by windows: every thread writes rows of its own, and each element adds
 * up its windows in order, whatever the number of threads.
 */
#include <limits>

#include "work.h"

namespace tl {
namespace {

constexpr double kGrain = 100e3;  // bytes read and written that pay for another thread

class Window final : public Instruction {
 public:
  Window(WindowOp op, std::vector<View> inputs, const View& output, std::vector<View> spans)
      : spans_(std::move(spans)) {
    plan_.op = op;
    plan_.output = Operand(output);
    for (const View& v : inputs) plan_.inputs.emplace_back(v);
    plan_.positive = op == WindowOp::positiveMaxGradient;
    plan_.ofMax = op == WindowOp::maxGradient || plan_.positive;
    plan_.gradient = plan_.ofMax || op == WindowOp::nearGradient || op == WindowOp::meanGradient;
    const View& image = plan_.gradient ? output : inputs[0];
    const View& pooled = plan_.gradient ? inputs.back() : output;
    check(image, pooled, inputs);
    plan_.axes = spans_.size();
    plan_.batch = image.dims[0];
    plan_.channels = image.dims.back();
    plan_.image.assign(image.dims.begin() + 1, image.dims.end() - 1);
    plan_.pooled.assign(pooled.dims.begin() + 1, pooled.dims.end() - 1);
    plan_.kind = kindOf(inputs[0].dtype);
    plan_.kernels = simd().window[static_cast<int>(plan_.kind)];
    checkType(inputs[0].dtype);
    setStart(inputs[0].dtype);
    const Operand& x = plan_.inputs[0];
    // A row of the last axis is a run of elements: vectors go along it when they cannot go along the channels.
    const bool folds = op == WindowOp::max || op == WindowOp::sum || op == WindowOp::mean;
    plan_.byRows = folds && isNative(x.view.dtype) && x.stride(plan_.axes - 1) == 1 && (plan_.channels == 1 || x.channelStep != 1);
    // Operands that can be used in place go to kernels a row of windows at a time.
    bool direct = plan_.output.direct;
    for (const Operand& o : plan_.inputs) direct = direct && o.direct;
    if (direct && !plan_.byRows && plan_.axes > 1) plan_.rowKernel = rowKernelOf();
  }

  Failure run(void* const* table) override {
    if (plan_.output.view.size() == 0) return {};
    const WindowSpans spans = readSpans(table);
    int64_t bytes = plan_.output.view.size() * plan_.output.size;
    for (const Operand& o : plan_.inputs) bytes += o.view.size() * o.size;
    const int64_t wanted = Pool::get().parts(static_cast<double>(bytes), kGrain);
    // A unit of a fold is a row of the pooled image; one of a gradient, some rows of the image.
    const int64_t rows = plan_.gradient ? plan_.image[0] : plan_.byRows && plan_.axes == 1 ? 1 : plan_.pooled[0];
    const int64_t pieces = plan_.gradient ? std::min(rows, (wanted + plan_.batch - 1) / plan_.batch) : rows;
    const int64_t units = plan_.batch * pieces, parts = Pool::finer(wanted, units);
    Pool::get().run(parts, [&](int64_t part) {
      WindowWork work(plan_, table, spans);
      const Range range = rangeOf(part, parts, units);
      for (int64_t u = range.begin; u < range.end; u++) {
        const Range own = rangeOf(u % pieces, pieces, rows);
        if (plan_.gradient)
          work.gradientRows(u / pieces, own);
        else
          work.pooledRow(u / pieces, own.begin);
      }
    }, wanted);
    return {};
  }

 private:
  WindowRowFn rowKernelOf() const {
    switch (plan_.op) {
      case WindowOp::max: return plan_.kernels.maxRow;
      case WindowOp::sum: return plan_.kernels.sumRow;
      case WindowOp::mean: return plan_.kernels.meanRow;
      case WindowOp::maxGradient:
      case WindowOp::positiveMaxGradient: return plan_.kernels.spreadRow;
      case WindowOp::meanGradient: return plan_.kernels.shareRow;
      default: return nullptr;
    }
  }

  static void require(bool condition, const char* message) {
    if (!condition) refuse(message);
  }

  void check(const View& image, const View& pooled, const std::vector<View>& inputs) const {
    const size_t rank = spans_.size() + 2;
    require(rank > 2 && image.dims.size() == rank && pooled.dims.size() == rank, "the ranks of a window do not agree");
    const bool ends = image.dims.front() == pooled.dims.front() && image.dims.back() == pooled.dims.back();
    require(ends, "a window's batch and channels must be the same on both sides");
    for (size_t axis = 0; axis < spans_.size(); axis++) {
      const View& s = spans_[axis];
      const bool fits = s.dtype == DType::i64 && s.dims.size() == 2 && s.dims[1] == 2 && s.dims[0] == pooled.dims[axis + 1];
      require(fits, "bad spans of a window");
    }
    const DType result = plan_.op == WindowOp::argmax ? DType::i64 : inputs[0].dtype;
    require(plan_.output.view.dtype == result, "bad type of a window's output");
    for (size_t i = 0; i < inputs.size(); i++) {
      require(inputs[i].dtype == inputs[0].dtype, "a window's inputs must have one type");
      const bool wide = plan_.op == WindowOp::pick ? i != 1 : plan_.gradient ? i + 1 != inputs.size() && i == 0 : true;
      require(inputs[i].dims == (wide ? image.dims : pooled.dims), "the sizes of a window do not agree");
    }
  }

  void checkType(DType dtype) const {
    const bool narrow = !isNative(dtype) && plan_.kind != Kind::f32;
    bool known = false;
    switch (plan_.op) {
      case WindowOp::max: known = plan_.kernels.max; break;
      case WindowOp::sum:
      case WindowOp::mean: known = plan_.kernels.sum && !narrow; break;
      case WindowOp::pick: known = plan_.kernels.pick; break;
      case WindowOp::positiveMaxGradient:
      case WindowOp::nearGradient: known = plan_.kernels.near; break;
      case WindowOp::meanGradient: known = plan_.kernels.share; break;
      default: known = plan_.kernels.argmax; break;
    }
    require(known, "a window operation is not defined for its type");
  }

  /** What folds begin with: zero, or for a maximum the lowest finite value of the type. */
  void setStart(DType dtype) {
    const auto begin = [&](auto value) { std::memcpy(plan_.start, &value, sizeof(value)); };
    if (plan_.op != WindowOp::max) return;
    switch (dtype) {
      case DType::f16: return begin(-65504.0f);
      case DType::bf16: return begin(-3.3895313892515355e38f);
      case DType::f32: return begin(std::numeric_limits<float>::lowest());
      case DType::f64: return begin(std::numeric_limits<double>::lowest());
      case DType::i8: return begin(int32_t{INT8_MIN});
      case DType::i16: return begin(int32_t{INT16_MIN});
      case DType::i32: return begin(INT32_MIN);
      case DType::i64: return begin(INT64_MIN);
      default: return;
    }
  }

  WindowSpans readSpans(void* const* table) const {
    WindowSpans spans(plan_.axes);
    for (size_t axis = 0; axis < plan_.axes; axis++) {
      const int64_t* bounds = spans_[axis].as<int64_t>(table);
      for (int64_t i = 0; i < plan_.pooled[axis]; i++) {
        const int64_t begin = std::clamp<int64_t>(bounds[2 * i], 0, plan_.image[axis]);
        spans[axis].push_back({begin, std::max(begin, std::clamp<int64_t>(bounds[2 * i + 1], 0, plan_.image[axis]))});
      }
    }
    return spans;
  }

  WindowPlan plan_;
  std::vector<View> spans_;
};

int64_t inputsOf(WindowOp op) {
  switch (op) {
    case WindowOp::pick:
    case WindowOp::nearGradient: return 3;
    case WindowOp::maxGradient:
    case WindowOp::positiveMaxGradient: return 2;
    default: return 1;
  }
}

}  // namespace

InstructionPtr decodeWindow(Reader& in) {
  const WindowOp op = in.code<WindowOp>("window operation");
  const int64_t axes = in.word(1, 64, "number of spatial axes");
  std::vector<View> inputs, spans;
  for (int64_t i = 0; i < inputsOf(op); i++) inputs.push_back(in.view());
  const View output = in.view();
  for (int64_t i = 0; i < axes; i++) spans.push_back(in.view());
  return make<Window>(op, std::move(inputs), output, std::move(spans));
}

}  // namespace tl

/** The `conv` instruction: reads it, checks that its arrays fit together, and chooses how to compute it. */
#include <complex>

#include "../core/program.h"
#include "convolution.h"

namespace tl {
namespace {

/** Around windows over more positions no copy of the image is made: taps this far apart hardly ever meet it. */
constexpr double kLargestWindow = 1 << 20;

class Conv final : public Instruction {
 public:
  Conv(ConvResult result, const View& input, const View& filter, const View& output, Reader& in)
      : result_(result), input_(input), filter_(filter), output_(output) {
    const int64_t rank = static_cast<int64_t>(input.dims.size());
    if (rank < 3 || rank > 2 + kAxes) refuse("a convolution has at most three spatial axes");
    if (filter.dims.size() != input.dims.size() || output.dims.size() != input.dims.size())
      refuse("convolution ranks do not agree");
    if (filter.dtype != input.dtype || output.dtype != input.dtype) refuse("convolution types do not agree");
    if (output.dims[0] != input.dims[0] || output.dims[1] != input.dims[1] || filter.dims[0] != input.dims[1] ||
        filter.dims[1] != output.dims[2] || filter.dims[2] != input.dims[2])
      refuse("convolution sizes do not agree");
    first_ = kAxes - static_cast<int>(rank - 3);
    for (Axis& a : axes_) a = {1, 1, 1, 1, 1, 0};
    axes_[0].in = axes_[0].out = input.dims[0];
    for (int i = first_; i < kAxes; i++) {
      axes_[i].in = input.dims[dim(i)];
      axes_[i].taps = filter.dims[dim(i)];
      axes_[i].out = output.dims[dim(i)];
    }
    for (int i = first_; i < kAxes; i++) axes_[i].stride = in.word(1, INT32_MAX, "stride");
    for (int i = first_; i < kAxes; i++) axes_[i].dilation = in.word(1, INT32_MAX, "dilation");
    for (int i = first_; i < kAxes; i++) axes_[i].before = in.word(-INT32_MAX, INT32_MAX, "padding");
  }

  Failure run(void* const* table) override {
    switch (input_.dtype) {
      case DType::f32: computeFast<float>(table); break;
      case DType::f64: computeFast<double>(table); break;
      // Sums wrap, so signed integers are multiplied as unsigned ones.
      case DType::i8: case DType::u8: convPlain(arrays<uint8_t>(table), result_); break;
      case DType::i16: case DType::u16: convPlain(arrays<uint16_t>(table), result_); break;
      case DType::i32: case DType::u32: convPlain(arrays<uint32_t>(table), result_); break;
      case DType::i64: case DType::u64: convPlain(arrays<uint64_t>(table), result_); break;
      case DType::c64: convPlain(arrays<std::complex<float>>(table), result_); break;
      default: convPlain(arrays<std::complex<double>>(table), result_); break;
    }
    return {};
  }

 private:
  template <class T>
  void computeFast(void* const* table) const {
    const Convolution<T> c = arrays<T>(table);
    // Sums of nothing are zeros, and there are no sums where the result is empty.
    if (c.work() == 0) return clearResult(c, result_);
    if (c.window() > kLargestWindow) return convPlain(c, result_);
    if (pointwise(c, result_)) return;
    const bool lanes = suitsLanes(c);
    if (result_ == ConvResult::output) lanes ? laneCorrelate(c) : correlate(c);
    else if (result_ == ConvResult::input) inputGradient(c);
    else lanes ? laneFilterGradient(c) : filterGradient(c);
  }

  /** The place of a spatial axis among a view's dims. */
  size_t dim(int axis) const { return static_cast<size_t>(3 + axis - first_); }

  template <class T>
  Convolution<T> arrays(void* const* table) const {
    Convolution<T> c;
    c.groups = input_.dims[1];
    c.channels = input_.dims[2];
    c.features = output_.dims[2];
    for (int i = 0; i < kAxes; i++) c.axes[i] = axes_[i];
    c.input = image<T>(input_, table);
    c.output = image<T>(output_, table);
    c.filter = {filter_.as<T>(table), filter_.strides[0], filter_.strides[1], filter_.strides[2], {}};
    for (int i = first_; i < kAxes; i++) c.filter.tap[i] = filter_.strides[dim(i)];
    return c;
  }
  template <class T>
  Image<T> image(const View& v, void* const* table) const {
    Image<T> image{v.as<T>(table), v.strides[1], v.strides[2], {v.strides[0]}};
    for (int i = first_; i < kAxes; i++) image.along[i] = v.strides[dim(i)];
    return image;
  }

  ConvResult result_;
  View input_, filter_, output_;
  Axis axes_[kAxes];
  /** The first spatial axis; those before it are not there. */
  int first_;
};

}  // namespace

InstructionPtr decodeConv(Reader& in) {
  const ConvResult result = in.code<ConvResult>("convolution result");
  const View input = in.view();
  const View filter = in.view();
  const View output = in.view();
  if (input.dtype == DType::f16 || input.dtype == DType::bf16 || input.dtype == DType::bool_)
    refuse("convolutions of this type are computed in another");
  return make<Conv>(result, input, filter, output, in);
}

}  // namespace tl

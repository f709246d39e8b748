/** The `conv` instruction: reads it, checks that its arrays fit together, and chooses how to compute it. */
#include <complex>

#include "../core/program.h"
#include "convolution.h"

namespace tl {
namespace {

/** The dims (or strides) of a view's spatial axes, with `fill` for those in front that it lacks. */
void spread(const std::vector<int64_t>& values, int64_t fill, int64_t (&to)[kAxes]) {
  const int rank = static_cast<int>(values.size()) - 3;
  for (int i = 0; i < kAxes; i++) to[i] = i < kAxes - rank ? fill : values[3 + i - (kAxes - rank)];
}

class Conv final : public Instruction {
 public:
  Conv(ConvResult result, const View& input, const View& filter, const View& output, Reader& in)
      : result_(result), input_(input), filter_(filter), output_(output) {
    const size_t rank = input.dims.size();
    if (rank < 3 || rank > 3 + kAxes) refuse("a convolution has at most three spatial axes");
    if (filter.dims.size() != rank || output.dims.size() != rank) refuse("convolution ranks do not agree");
    if (filter.dtype != input.dtype || output.dtype != input.dtype) refuse("convolution types do not agree");
    ConvGeometry& g = geometry_;
    g.batch = input.dims[0];
    g.groups = input.dims[1];
    g.channels = input.dims[2];
    g.features = output.dims[2];
    if (output.dims[0] != g.batch || output.dims[1] != g.groups || filter.dims[0] != g.groups ||
        filter.dims[1] != g.features || filter.dims[2] != g.channels)
      refuse("convolution sizes do not agree");
    spread(input.dims, 1, g.in);
    spread(filter.dims, 1, g.taps);
    spread(output.dims, 1, g.out);
    const int first = kAxes - (static_cast<int>(rank) - 3);
    for (int i = 0; i < kAxes; i++) g.stride[i] = i < first ? 1 : in.word(1, INT32_MAX, "stride");
    for (int i = 0; i < kAxes; i++) g.dilation[i] = i < first ? 1 : in.word(1, INT32_MAX, "dilation");
    for (int i = 0; i < kAxes; i++) g.before[i] = i < first ? 0 : in.word(-INT32_MAX, INT32_MAX, "padding");
  }

  Failure run(void* const* table) override {
    switch (input_.dtype) {
      case DType::f32: compute<float>(table); break;
      case DType::f64: compute<double>(table); break;
      // Sums wrap, so signed integers are multiplied as unsigned ones.
      case DType::i8: case DType::u8: compute<uint8_t>(table); break;
      case DType::i16: case DType::u16: compute<uint16_t>(table); break;
      case DType::i32: case DType::u32: compute<uint32_t>(table); break;
      case DType::i64: case DType::u64: compute<uint64_t>(table); break;
      case DType::c64: compute<std::complex<float>>(table); break;
      case DType::c128: compute<std::complex<double>>(table); break;
      default: break;
    }
    return {};
  }

 private:
  template <class T>
  void compute(void* const* table) const {
    convPlain(arrays<T>(table), result_);
  }

  template <class T>
  Convolution<T> arrays(void* const* table) const {
    return {geometry_, image<T>(input_, table), filter<T>(table), image<T>(output_, table)};
  }
  template <class T>
  static Image<T> image(const View& v, void* const* table) {
    Image<T> image{v.as<T>(table), v.strides[0], v.strides[1], v.strides[2], {}};
    spread(v.strides, 0, image.space);
    return image;
  }
  template <class T>
  Filter<T> filter(void* const* table) const {
    Filter<T> filter{filter_.as<T>(table), filter_.strides[0], filter_.strides[1], filter_.strides[2], {}};
    spread(filter_.strides, 0, filter.tap);
    return filter;
  }

  ConvResult result_;
  View input_, filter_, output_;
  ConvGeometry geometry_;
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

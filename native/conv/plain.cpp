/** Convolution of any type, product by product, whichever array is computed. */
#include <algorithm>
#include <complex>

#include "../core/pool.h"
#include "convolution.h"

namespace tl {
namespace {

/** Multiply-adds that pay for waking another thread. */
constexpr double kGrain = 20e3;

/** What products are added in: of very many, a float would lose those after the first ones. */
template <class T>
struct SumOf {
  using type = T;
};
template <>
struct SumOf<float> {
  using type = double;
};
template <>
struct SumOf<std::complex<float>> {
  using type = std::complex<double>;
};

template <class T>
void addProduct(T& sum, T a, T b) {
  sum = static_cast<T>(sum + a * b);
}
/** Spelled out: the library's product checks every result for NaN. */
template <class R>
void addProduct(std::complex<R>& sum, std::complex<R> a, std::complex<R> b) {
  sum += std::complex<R>(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}

/** Those of `count` steps that lead from `first` to places below `size`. */
Range stepsWithin(int64_t first, int64_t step, int64_t count, int64_t size) {
  const int64_t begin = first < 0 ? (step - 1 - first) / step : 0, end = first < size ? (size - 1 - first) / step + 1 : 0;
  return {begin, std::min(end, count)};
}

/** Computes the output or the filter: each of their elements is a sum of its own. */
template <class T>
class Gathering {
 public:
  Gathering(const Convolution<T>& c, ConvResult result) : c_(c), isFilter_(result == ConvResult::filter) {}

  /** Computes what a feature and some channels have to do with: of the filter these are elements, of the output terms. */
  void compute(int64_t group, int64_t feature, Range channels) {
    input_ = c_.input.data + group * c_.input.group;
    filter_ = c_.filter.data + group * c_.filter.group + feature * c_.filter.feature;
    output_ = c_.output.data + group * c_.output.group + feature * c_.output.channel;
    if (!isFilter_) return computeAlong(0, channels, output_);
    for (int64_t i = channels.begin; i < channels.end; i++) computeAlong(0, {i, i + 1}, filter_ + i * c_.filter.channel);
  }

 private:
  using Sum = typename SumOf<T>::type;

  /** The elements along the axes from `axis` on. */
  void computeAlong(int axis, Range channels, T* to) {
    if (axis == kAxes) {
      Sum sum{};
      for (int64_t i = channels.begin; i < channels.end; i++)
        sum = static_cast<Sum>(sum + sumAlong(0, input_ + i * c_.input.channel, isFilter_ ? output_ : filter_ + i * c_.filter.channel));
      *to = static_cast<T>(sum);
      return;
    }
    const Axis& a = c_.axes[axis];
    const int64_t count = isFilter_ ? a.taps : a.out, step = isFilter_ ? c_.filter.tap[axis] : c_.output.along[axis];
    for (int64_t i = 0; i < count; i++) {
      first_[axis] = i * (isFilter_ ? a.dilation : a.stride) - a.before;
      computeAlong(axis + 1, channels, to + i * step);
    }
  }

  /** The sum of the products along the axes from `axis` on; the pointers stand at the positions chosen on the axes before it. */
  Sum sumAlong(int axis, const T* input, const T* factor) const {
    const Axis& a = c_.axes[axis];
    const int64_t first = first_[axis], step = isFilter_ ? a.stride : a.dilation, inputStep = c_.input.along[axis];
    const int64_t factorStep = isFilter_ ? c_.output.along[axis] : c_.filter.tap[axis];
    const Range met = stepsWithin(first, step, isFilter_ ? a.out : a.taps, a.in);
    Sum sum{};
    if (axis + 1 < kAxes) {
      for (int64_t i = met.begin; i < met.end; i++)
        sum = static_cast<Sum>(sum + sumAlong(axis + 1, input + (first + i * step) * inputStep, factor + i * factorStep));
    } else {
      for (int64_t i = met.begin; i < met.end; i++)
        addProduct<Sum>(sum, input[(first + i * step) * inputStep], factor[i * factorStep]);
    }
    return sum;
  }

  const Convolution<T>& c_;
  bool isFilter_;
  T *input_, *filter_, *output_;
  /** Along each axis, the position of the input that the first product of an element has, or would have. */
  int64_t first_[kAxes];
};

/** Adds what an input gets, along the axes from `axis` on; the pointers stand at the positions chosen on the axes before it. */
template <class T>
void scatterAlong(const Convolution<T>& c, int axis, T* input, const T* filter, const T* output) {
  if (axis == kAxes) return addProduct<T>(*input, *filter, *output);
  const Axis& a = c.axes[axis];
  for (int64_t y = 0; y < a.out; y++)
    for (int64_t k = 0; k < a.taps; k++) {
      const int64_t x = y * a.stride + k * a.dilation - a.before;
      if (x < 0 || x >= a.in) continue;
      scatterAlong(c, axis + 1, input + x * c.input.along[axis], filter + k * c.filter.tap[axis],
                   output + y * c.output.along[axis]);
    }
}

/** Sets an array to zero. Its last axis is the one that most likely has neighbouring elements. */
template <class T>
void clear(T* data, const int64_t* sizes, const int64_t* steps, int rank) {
  if (rank > 1) {
    for (int64_t i = 0; i < *sizes; i++) clear(data + i * *steps, sizes + 1, steps + 1, rank - 1);
  } else if (*steps == 1) {
    std::fill(data, data + *sizes, T(0));
  } else {
    for (int64_t i = 0; i < *sizes; i++) data[i * *steps] = T(0);
  }
}

}  // namespace

template <class T>
void clearResult(const Convolution<T>& c, ConvResult result) {
  const Axis* a = c.axes;
  if (result == ConvResult::filter) {
    const Filter<T>& f = c.filter;
    const int64_t sizes[] = {c.groups, a[0].taps, a[1].taps, a[2].taps, a[3].taps, c.channels, c.features};
    const int64_t steps[] = {f.group, f.tap[0], f.tap[1], f.tap[2], f.tap[3], f.channel, f.feature};
    return clear(f.data, sizes, steps, 7);
  }
  const bool isOutput = result == ConvResult::output;
  const Image<T>& image = isOutput ? c.output : c.input;
  const auto size = [&](int axis) { return isOutput ? a[axis].out : a[axis].in; };
  const int64_t sizes[] = {size(0), size(1), size(2), size(3), c.groups, isOutput ? c.features : c.channels};
  const int64_t steps[] = {image.along[0], image.along[1], image.along[2], image.along[3], image.group, image.channel};
  clear(image.data, sizes, steps, 6);
}

template <class T>
void convPlain(const Convolution<T>& c, ConvResult result) {
  // No two parts may add to the same element: the input is shared by all features, the others by all channels.
  const bool byChannel = result == ConvResult::input;
  if (byChannel) clearResult(c, result);
  const int64_t each = byChannel ? c.channels : c.features, shares = c.groups * each;
  const int64_t parts = std::min(shares, Pool::get().parts(c.work(), kGrain));
  Pool::get().run(parts, [&](int64_t part) {
    const Range mine = rangeOf(part, parts, shares);
    Gathering<T> gathering(c, result);
    for (int64_t share = mine.begin; share < mine.end; share++) {
      const int64_t group = share / each, own = share % each;
      if (!byChannel) {
        gathering.compute(group, own, {0, c.channels});
        continue;
      }
      for (int64_t f = 0; f < c.features; f++)
        scatterAlong(c, 0, c.input.data + group * c.input.group + own * c.input.channel,
                     c.filter.data + group * c.filter.group + f * c.filter.feature + own * c.filter.channel,
                     c.output.data + group * c.output.group + f * c.output.channel);
    }
  });
}

#define TL_PLAIN(T)                                              \
  template void convPlain<T>(const Convolution<T>&, ConvResult); \
  template void clearResult<T>(const Convolution<T>&, ConvResult);
TL_PLAIN(uint8_t)
TL_PLAIN(uint16_t)
TL_PLAIN(uint32_t)
TL_PLAIN(uint64_t)
TL_PLAIN(float)
TL_PLAIN(double)
TL_PLAIN(std::complex<float>)
TL_PLAIN(std::complex<double>)

}  // namespace tl

/** Convolution of any type: every product is added to the element it belongs to, whichever array is computed. */
#include <algorithm>
#include <complex>

#include "../core/pool.h"
#include "convolution.h"

namespace tl {
namespace {

/** Multiply-adds that pay for waking another thread. */
constexpr double kGrain = 20e3;

/** What products along the last axis are added in: of very many, a float would lose those after the first ones. */
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

/** Walks along the last axis. What belongs to one element of the output or the filter is added up before it goes there. */
template <class T>
void addAlongLast(const Convolution<T>& c, ConvResult result, T* input, T* filter, T* output) {
  constexpr int axis = kAxes - 1;
  using Sum = typename SumOf<T>::type;
  const Axis& a = c.axes[axis];
  const bool isFilter = result == ConvResult::filter;
  const int64_t outer = isFilter ? a.taps : a.out, inner = isFilter ? a.out : a.taps;
  for (int64_t i = 0; i < outer; i++) {
    Sum sum{};
    for (int64_t j = 0; j < inner; j++) {
      const int64_t y = isFilter ? j : i, k = isFilter ? i : j, x = y * a.stride + k * a.dilation - a.before;
      if (x < 0 || x >= a.in) continue;
      T& u = input[x * c.input.along[axis]];
      const T v = filter[k * c.filter.tap[axis]], w = output[y * c.output.along[axis]];
      if (result == ConvResult::input) addProduct<T>(u, v, w);
      else addProduct<Sum>(sum, u, isFilter ? w : v);
    }
    if (result == ConvResult::input) continue;
    T& to = isFilter ? filter[i * c.filter.tap[axis]] : output[i * c.output.along[axis]];
    to = static_cast<T>(to + static_cast<T>(sum));
  }
}

/** Walks along the axes from `axis` on; the pointers stand at the positions chosen on the axes before it. */
template <class T>
void addAlong(const Convolution<T>& c, ConvResult result, int axis, T* input, T* filter, T* output) {
  if (axis == kAxes - 1) return addAlongLast(c, result, input, filter, output);
  const Axis& a = c.axes[axis];
  for (int64_t y = 0; y < a.out; y++)
    for (int64_t k = 0; k < a.taps; k++) {
      const int64_t x = y * a.stride + k * a.dilation - a.before;
      if (x < 0 || x >= a.in) continue;
      addAlong(c, result, axis + 1, input + x * c.input.along[axis], filter + k * c.filter.tap[axis],
               output + y * c.output.along[axis]);
    }
}

template <class T>
void addAll(const Convolution<T>& c, ConvResult result, int64_t group, Range features, Range channels) {
  for (int64_t f = features.begin; f < features.end; f++)
    for (int64_t channel = channels.begin; channel < channels.end; channel++)
      addAlong(c, result, 0, c.input.data + group * c.input.group + channel * c.input.channel,
               c.filter.data + group * c.filter.group + f * c.filter.feature + channel * c.filter.channel,
               c.output.data + group * c.output.group + f * c.output.channel);
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
  clearResult(c, result);
  // No two parts may add to the same element: the input is shared by all features, the others by all channels.
  const bool byChannel = result == ConvResult::input;
  const int64_t each = byChannel ? c.channels : c.features, shares = c.groups * each;
  const int64_t parts = std::min(shares, Pool::get().parts(c.work(), kGrain));
  Pool::get().run(parts, [&](int64_t part) {
    const Range mine = rangeOf(part, parts, shares);
    for (int64_t share = mine.begin; share < mine.end; share++) {
      const Range one{share % each, share % each + 1};
      addAll(c, result, share / each, byChannel ? Range{0, c.features} : one, byChannel ? one : Range{0, c.channels});
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

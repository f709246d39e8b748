/** Convolution of any type: every product is added to the element it belongs to, whichever array is computed. */
#include <complex>

#include "../core/pool.h"
#include "convolution.h"

namespace tl {
namespace {

/** Multiply-adds that pay for waking another thread. */
constexpr double kGrain = 20e3;

template <class T>
void addProduct(T& sum, const T& a, const T& b) {
  sum = static_cast<T>(sum + a * b);
}
/** Spelled out: the library's product checks every result for NaN. */
template <class R>
void addProduct(std::complex<R>& sum, const std::complex<R>& a, const std::complex<R>& b) {
  sum += std::complex<R>(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}

/** Walks along the spatial axes from `axis` on; the pointers stand at the positions chosen on the axes before it. */
template <class T>
void addAlong(const Convolution<T>& c, ConvResult result, int axis, T* input, T* filter, T* output) {
  if (axis == kAxes) {
    if (result == ConvResult::output) addProduct(*output, *input, *filter);
    else if (result == ConvResult::input) addProduct(*input, *filter, *output);
    else addProduct(*filter, *input, *output);
    return;
  }
  const ConvGeometry& g = c.geometry;
  for (int64_t y = 0; y < g.out[axis]; y++)
    for (int64_t k = 0; k < g.taps[axis]; k++) {
      const int64_t x = y * g.stride[axis] + k * g.dilation[axis] - g.before[axis];
      if (x < 0 || x >= g.in[axis]) continue;
      addAlong(c, result, axis + 1, input + x * c.input.space[axis], filter + k * c.filter.tap[axis],
               output + y * c.output.space[axis]);
    }
}

template <class T>
void addAll(const Convolution<T>& c, ConvResult result, Range batch, Range features) {
  const ConvGeometry& g = c.geometry;
  for (int64_t n = batch.begin; n < batch.end; n++)
    for (int64_t group = 0; group < g.groups; group++)
      for (int64_t f = features.begin; f < features.end; f++)
        for (int64_t channel = 0; channel < g.channels; channel++)
          addAlong(c, result, 0, c.input.data + n * c.input.batch + group * c.input.group + channel * c.input.channel,
                   c.filter.data + group * c.filter.group + f * c.filter.feature + channel * c.filter.channel,
                   c.output.data + n * c.output.batch + group * c.output.group + f * c.output.channel);
}

/** Sets one array to zero; `sizes` and `steps` go with each other. */
template <class T>
void clear(T* data, const int64_t (&sizes)[6], const int64_t (&steps)[6], int axis = 0) {
  if (axis == 6) {
    *data = T(0);
    return;
  }
  for (int64_t i = 0; i < sizes[axis]; i++) clear(data + i * steps[axis], sizes, steps, axis + 1);
}

template <class T>
void clearResult(const Convolution<T>& c, ConvResult result) {
  const ConvGeometry& g = c.geometry;
  const auto image = [&](const Image<T>& i, int64_t channels, const int64_t (&sizes)[kAxes]) {
    clear(i.data, {g.batch, g.groups, channels, sizes[0], sizes[1], sizes[2]},
          {i.batch, i.group, i.channel, i.space[0], i.space[1], i.space[2]});
  };
  if (result == ConvResult::output) return image(c.output, g.features, g.out);
  if (result == ConvResult::input) return image(c.input, g.channels, g.in);
  const Filter<T>& f = c.filter;
  clear(f.data, {g.groups, g.features, g.channels, g.taps[0], g.taps[1], g.taps[2]},
        {f.group, f.feature, f.channel, f.tap[0], f.tap[1], f.tap[2]});
}

}  // namespace

template <class T>
void convPlain(const Convolution<T>& c, ConvResult result) {
  clearResult(c, result);
  const ConvGeometry& g = c.geometry;
  // No two parts may add to the same element: filters are shared by the batch, images by the features.
  const int64_t shares = result == ConvResult::filter ? g.features : g.batch;
  const int64_t parts = std::min(std::max<int64_t>(shares, 1), Pool::get().parts(workOf(g), kGrain));
  Pool::get().run(parts, [&](int64_t part) {
    const Range share = rangeOf(part, parts, shares);
    if (result == ConvResult::filter) addAll(c, result, {0, g.batch}, share);
    else addAll(c, result, share, {0, g.features});
  });
}

#define TL_PLAIN(T) template void convPlain<T>(const Convolution<T>&, ConvResult);
TL_PLAIN(uint8_t)
TL_PLAIN(uint16_t)
TL_PLAIN(uint32_t)
TL_PLAIN(uint64_t)
TL_PLAIN(float)
TL_PLAIN(double)
TL_PLAIN(std::complex<float>)
TL_PLAIN(std::complex<double>)

}  // namespace tl

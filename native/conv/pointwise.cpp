/**
 * Convolutions with a window of one position: a product of positions with channels, and of channels with features. Where strides
 * leave out positions, the others are copied together first.
 */
#include <algorithm>
#include <cstring>
#include <vector>

#include "../core/pool.h"
#include "../dot/method.h"
#include "boxes.h"
#include "longProduct.h"
#include "tallProduct.h"

namespace tl {
namespace {

/** Fewer positions are better off with the kernels that know all axes. */
constexpr int64_t kLeastRows = 16;

/** Rows of a matrix: pixels with their channels. */
template <class T>
struct Rows {
  T* data;
  int64_t step, channel;
};

/** Whether the positions of an image follow each other at one step. */
template <class T>
bool isEven(const Convolution<T>& c, const Image<T>& image, bool input) {
  for (int i = 0; i + 1 < kAxes; i++) {
    if (c.axes[i].out == 1) continue;
    int64_t inner = i + 1;
    while (inner + 1 < kAxes && c.axes[inner].out == 1) inner++;
    const Axis &a = c.axes[i], &b = c.axes[inner];
    const int64_t outer = image.along[i] * (input ? a.stride : 1), step = image.along[inner] * (input ? b.stride : 1);
    if (outer != step * b.out) return false;
  }
  return true;
}

/** The step from one position to the next of an image that is even. */
template <class T>
int64_t stepOf(const Convolution<T>& c, const Image<T>& image, bool input) {
  for (int i = kAxes - 1; i >= 0; i--)
    if (c.axes[i].out > 1) return image.along[i] * (input ? c.axes[i].stride : 1);
  return image.along[kAxes - 1];
}

/** Calls f(pixel) with the input's pixel of each position, in order. */
template <class T, class F>
void forPixels(const Convolution<T>& c, const F& f) {
  const auto step = [&](int axis) { return c.input.along[axis] * c.axes[axis].stride; };
  for (int64_t i = 0; i < c.axes[0].out; i++)
    for (int64_t j = 0; j < c.axes[1].out; j++)
      for (int64_t k = 0; k < c.axes[2].out; k++)
        for (int64_t l = 0; l < c.axes[3].out; l++)
          f(c.input.data + i * step(0) + j * step(1) + k * step(2) + l * step(3));
}

/** A product with a row for every pixel. */
template <class T>
void multiplyPixels(const Gemm<T>& g) {
  if constexpr (sizeof(T) == sizeof(float))
    if (multiplyTall(g)) return;
  multiply<T>(g);
}

/** A product whose sums go over all pixels. */
template <class T>
void sumPixels(const Gemm<T>& g) {
  if constexpr (sizeof(T) == sizeof(float))
    if (multiplyLong(g)) return;
  multiply<T>(g);
}

template <class T>
void multiplyRows(const Convolution<T>& c, ConvResult result, const Rows<T>& in) {
  const int64_t rows = c.positions();
  const Rows<T> out = {c.output.data, stepOf(c, c.output, false), c.output.channel};
  const Filter<T>& f = c.filter;
  if (result == ConvResult::output)
    multiplyPixels<T>({rows, c.features, c.channels, in.data, in.step, in.channel, f.data, f.channel, f.feature, out.data, out.step,
                       out.channel});
  else if (result == ConvResult::input)
    multiplyPixels<T>({rows, c.channels, c.features, out.data, out.step, out.channel, f.data, f.feature, f.channel, in.data, in.step,
                       in.channel});
  else
    sumPixels<T>({c.channels, c.features, rows, in.data, in.channel, in.step, out.data, out.step, out.channel, f.data, f.channel,
                  f.feature});
}

}  // namespace

template <class T>
bool pointwise(const Convolution<T>& c, ConvResult result) {
  if (c.groups != 1 || c.taps() != 1 || c.positions() < kLeastRows) return false;
  bool skips = false;
  for (const Axis& a : c.axes) {
    if (a.before != 0 || (a.out - 1) * a.stride >= a.in) return false;
    skips = skips || a.out != a.in;
  }
  if (!isEven(c, c.output, false)) return false;
  if (isEven(c, c.input, true)) {
    // What no position reaches has no gradient.
    if (skips && result == ConvResult::input) clearResult(c, result);
    multiplyRows(c, result, {c.input.data, stepOf(c, c.input, true), c.input.channel});
    return true;
  }
  if (c.input.channel != 1) return false;
  std::vector<T> together(static_cast<size_t>(c.positions() * c.channels));
  const size_t bytes = static_cast<size_t>(c.channels) * sizeof(T);
  T* row = together.data();
  if (result == ConvResult::input) {
    multiplyRows(c, result, {together.data(), c.channels, 1});
    if (skips) clearResult(c, result);
    forPixels(c, [&](T* pixel) {
      std::memcpy(pixel, row, bytes);
      row += c.channels;
    });
  } else {
    forPixels(c, [&](const T* pixel) {
      std::memcpy(row, pixel, bytes);
      row += c.channels;
    });
    multiplyRows(c, result, {together.data(), c.channels, 1});
  }
  return true;
}

template bool pointwise(const Convolution<float>&, ConvResult);
template bool pointwise(const Convolution<double>&, ConvResult);

}  // namespace tl

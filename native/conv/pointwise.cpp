/**
 * Convolutions with a window of one position: a product of positions with channels, and of channels with features. Where strides
 * leave out positions, the others are copied together first.
 */
#include <algorithm>
#include <cstring>
#include <memory>

#include "../core/pool.h"
#include "../dot/method.h"
#include "boxes.h"
#include "longProduct.h"
#include "tallProduct.h"

namespace tl {
namespace {

/** Fewer positions are better off with the kernels that know all axes. */
constexpr int64_t kLeastRows = 16;
/** Elements to copy that pay for waking another thread. */
constexpr double kCopyGrain = 64e3;

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

/** Rows of a grid along its last axis, and the place of one on the axes before. */
struct RowsOfGrid {
  int64_t sizes[kAxes - 1];
  int64_t count() const { return sizes[0] * sizes[1] * sizes[2]; }
  void place(int64_t row, int64_t (&at)[kAxes - 1]) const {
    for (int i = kAxes - 2; i >= 0; i--) {
      at[i] = row % sizes[i];
      row /= sizes[i];
    }
  }
};

/** Calls f(row, place) for all rows of a grid, some on each thread. */
template <class F>
void forRows(const RowsOfGrid& rows, double elements, const F& f) {
  const int64_t threads = std::min(Pool::get().parts(elements, kCopyGrain), rows.count()), parts = Pool::finer(threads, rows.count());
  Pool::get().run(parts, [&](int64_t part) {
    const Range mine = rangeOf(part, parts, rows.count());
    for (int64_t row = mine.begin; row < mine.end; row++) {
      int64_t at[kAxes - 1];
      rows.place(row, at);
      f(row, at);
    }
  }, threads);
}

/** Copies the input's pixels of all positions together. */
template <class T>
void gather(const Convolution<T>& c, T* together) {
  const Axis* a = c.axes;
  const int64_t(&along)[kAxes] = c.input.along;
  const int64_t length = a[3].out * c.channels;
  const RowsOfGrid rows = {{a[0].out, a[1].out, a[2].out}};
  forRows(rows, static_cast<double>(rows.count() * length), [&](int64_t row, const int64_t(&at)[kAxes - 1]) {
    const T* from = c.input.data;
    for (int i = 0; i < kAxes - 1; i++) from += at[i] * a[i].stride * along[i];
    T* to = together + row * length;
    for (int64_t x = 0; x < a[3].out; x++, from += a[3].stride * along[3], to += c.channels)
      std::memcpy(to, from, static_cast<size_t>(c.channels) * sizeof(T));
  });
}

/** Copies them back. What no position reaches has no gradient. */
template <class T>
void scatter(const Convolution<T>& c, const T* together) {
  const Axis* a = c.axes;
  const auto isReached = [&](int axis, int64_t pixel) { return pixel % a[axis].stride == 0 && pixel / a[axis].stride < a[axis].out; };
  const RowsOfGrid rows = {{a[0].in, a[1].in, a[2].in}};
  forRows(rows, static_cast<double>(rows.count() * a[3].in * c.channels), [&](int64_t, const int64_t(&at)[kAxes - 1]) {
    T* to = c.input.data;
    int64_t position = 0;
    bool reached = true;
    for (int i = 0; i < kAxes - 1; i++) {
      to += at[i] * c.input.along[i];
      position = position * a[i].out + at[i] / a[i].stride;
      reached = reached && isReached(i, at[i]);
    }
    const T* from = together + position * a[3].out * c.channels;
    for (int64_t x = 0; x < a[3].in; x++, to += c.input.along[3]) {
      if (!reached || !isReached(3, x)) {
        std::fill(to, to + c.channels, T(0));
        continue;
      }
      std::memcpy(to, from, static_cast<size_t>(c.channels) * sizeof(T));
      from += c.channels;
    }
  });
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
  const std::unique_ptr<T[]> together(new T[static_cast<size_t>(c.positions() * c.channels)]);
  const Rows<T> in = {together.get(), c.channels, 1};
  if (result == ConvResult::input) {
    multiplyRows(c, result, in);
    scatter(c, together.get());
  } else {
    gather(c, together.get());
    multiplyRows(c, result, in);
  }
  return true;
}

template bool pointwise(const Convolution<float>&, ConvResult);
template bool pointwise(const Convolution<double>&, ConvResult);

}  // namespace tl

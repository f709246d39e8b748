/** A convolution as the kernels see it: axes, and the steps of its three arrays. */
#pragma once
#include <cstdint>

#include "../core/names.h"

namespace tl {

/** The batch, then the spatial axes; a convolution with fewer than three of those has axes of size 1. */
constexpr int kAxes = 4;

/** Output position y and tap k meet at input position y * stride + k * dilation - before. The batch has one tap. */
struct Axis {
  int64_t in, taps, out;
  int64_t stride, dilation, before;

  /** How many input positions a stretch of `count` output positions reaches over. */
  int64_t reach(int64_t count) const { return (count - 1) * stride + (taps - 1) * dilation + 1; }
  /** Whether input and output positions are the same, so that the axis only repeats everything. */
  bool isPlain() const { return taps == 1 && stride == 1 && before == 0 && in == out; }
};

/** The input or the output; steps count elements. `channel` steps through the output's features. */
template <class T>
struct Image {
  T* data;
  int64_t group, channel, along[kAxes];
};

template <class T>
struct Filter {
  T* data;
  int64_t group, feature, channel, tap[kAxes];
};

/** Of the three arrays one is computed and the other two are only read, whichever they are. */
template <class T>
struct Convolution {
  int64_t groups, channels, features;
  Axis axes[kAxes];
  Image<T> input;
  Filter<T> filter;
  Image<T> output;

  int64_t taps() const { return axes[0].taps * axes[1].taps * axes[2].taps * axes[3].taps; }
  int64_t positions() const { return axes[0].out * axes[1].out * axes[2].out * axes[3].out; }
  /** Positions that the taps reach over. */
  double window() const {
    double n = 1;
    for (const Axis& a : axes) n *= static_cast<double>(a.reach(1));
    return n;
  }
  /** Multiply-adds, those with padding included. */
  double work() const {
    return static_cast<double>(groups * features) * static_cast<double>(channels * taps()) *
           static_cast<double>(positions());
  }
};

/** Computes one of the arrays product by product: for types without a fast way. */
template <class T>
void convPlain(const Convolution<T>& c, ConvResult result);

/** Sets the array to be computed to zero. */
template <class T>
void clearResult(const Convolution<T>& c, ConvResult result);

// For float and double:
/** Computes the output. */
template <class T>
void correlate(const Convolution<T>& c);
/** Computes the input. */
template <class T>
void inputGradient(const Convolution<T>& c);
/** The same for few channels, if they are few; false where nothing has been computed. */
template <class T>
bool windowGradient(const Convolution<T>& c);
/** Computes the filter. */
template <class T>
void filterGradient(const Convolution<T>& c);
/** Computes one of the arrays as a matrix product, if the window is one position; false where nothing has been computed. */
template <class T>
bool pointwise(const Convolution<T>& c, ConvResult result);
/** The same on the matrix unit, for those that suit it and whose numbers do; false where nothing has been computed. */
bool tileCorrelate(const Convolution<float>& c);
bool tileFilterGradient(const Convolution<float>& c);
/** The same by fewer products, for those that suit and whose results are finite; false where something else must compute them. */
bool suitsWinograd(const Convolution<float>& c);
bool winogradCorrelate(const Convolution<float>& c);
bool winogradFilterGradient(const Convolution<float>& c);
/** The same for many groups of few channels and features. */
template <class T>
void laneCorrelate(const Convolution<T>& c);
template <class T>
void laneFilterGradient(const Convolution<T>& c);
/** Whether a convolution is better off with these. */
template <class T>
bool suitsLanes(const Convolution<T>& c) {
  return c.groups >= 4 && c.channels < 8 && c.features < 8;
}

}  // namespace tl

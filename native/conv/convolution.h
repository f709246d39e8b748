/** A convolution as the kernels see it: sizes, where things meet, and the steps of its three arrays. */
#pragma once
#include <algorithm>
#include <cstdint>

#include "../core/names.h"

namespace tl {

/** Spatial axes; a convolution with fewer has axes of size 1 in front. */
constexpr int kAxes = 3;

struct ConvGeometry {
  int64_t batch, groups, features, channels;
  /** Sizes of the input, the filter and the output along each spatial axis. */
  int64_t in[kAxes], taps[kAxes], out[kAxes];
  /** Output position y and tap k meet at input position y * stride + k * dilation - before. */
  int64_t stride[kAxes], dilation[kAxes], before[kAxes];
};

/** The input or the output of a convolution; steps count elements. `channel` steps through the output's features. */
template <class T>
struct Image {
  T* data;
  int64_t batch, group, channel, space[kAxes];
};

template <class T>
struct Filter {
  T* data;
  int64_t group, feature, channel, tap[kAxes];
};

/** Of the three arrays one is computed and the other two are only read, whichever they are. */
template <class T>
struct Convolution {
  ConvGeometry geometry;
  Image<T> input;
  Filter<T> filter;
  Image<T> output;
};

inline int64_t product(const int64_t (&sizes)[kAxes]) { return sizes[0] * sizes[1] * sizes[2]; }

/** Multiply-adds, those with padding included. */
inline double workOf(const ConvGeometry& g) {
  return static_cast<double>(g.batch) * static_cast<double>(g.groups) * static_cast<double>(g.features) *
         static_cast<double>(g.channels) * static_cast<double>(product(g.out)) * static_cast<double>(product(g.taps));
}

/** Computes one of the arrays product by product: for types without a fast way. */
template <class T>
void convPlain(const Convolution<T>& c, ConvResult result);

}  // namespace tl

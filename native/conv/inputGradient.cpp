/**
 * The input of a convolution from its output: correlations of the output with filters turned round.
 *
 * An input position x takes part with those taps k for which x + before - k * dilation is a multiple of the stride.
 * Which taps these are depends only on the remainder of x + before by the stride. So the positions of each remainder
 * are the output of a convolution of stride 1, with every so-many-th tap, in reverse order; they lie a stride apart.
 */
#include <algorithm>
#include <numeric>

#include "convolution.h"

namespace tl {
namespace {

/** The convolution with the roles of its images exchanged; the axes are still those of the given one. */
template <class T>
Convolution<T> exchanged(const Convolution<T>& c) {
  Convolution<T> e = c;
  std::swap(e.channels, e.features);
  std::swap(e.input, e.output);
  std::swap(e.filter.channel, e.filter.feature);
  return e;
}

/** Narrows one axis of `e` to the positions of a remainder. `a` is the axis of the given convolution. */
template <class T>
void narrow(Convolution<T>& e, int axis, const Axis& a, int64_t remainder) {
  const int64_t common = std::gcd(a.stride, a.dilation), tapStep = a.stride / common;
  const int64_t candidates = std::min(tapStep, a.taps);
  int64_t firstTap = 0;
  while (firstTap < candidates && firstTap * a.dilation % a.stride != remainder) firstTap++;
  const int64_t taps = firstTap < candidates ? (a.taps - 1 - firstTap) / tapStep + 1 : 0;
  // The first position of this remainder, and how many strides it is away from position -before.
  const int64_t shift = remainder - a.before, first = ((shift % a.stride) + a.stride) % a.stride;
  const int64_t strides = (first + a.before - remainder) / a.stride;
  const int64_t dilation = a.dilation / common;
  Axis& to = e.axes[axis];
  to = {a.out, taps, first < a.in ? (a.in - 1 - first) / a.stride + 1 : 0, 1, dilation, 0};
  if (taps > 0) to.before = (firstTap * a.dilation - remainder) / a.stride + (taps - 1) * dilation - strides;
  e.output.data += first * e.output.along[axis];
  e.output.along[axis] *= a.stride;
  e.filter.data += taps > 0 ? (firstTap + (taps - 1) * tapStep) * e.filter.tap[axis] : 0;
  e.filter.tap[axis] *= -tapStep;
}

/** Computes the positions of all remainders on the axes from `axis` on. */
template <class T>
void computeRemainders(const Convolution<T>& c, const Convolution<T>& narrowed, int axis) {
  if (axis == kAxes) {
    if (narrowed.positions() == 0) return;
    if (narrowed.taps() == 0) clearResult(narrowed, ConvResult::output);
    else suitsLanes(narrowed) ? laneCorrelate(narrowed) : correlate(narrowed);
    return;
  }
  const Axis& a = c.axes[axis];
  // Where strides are longer than the image, most remainders have no position.
  for (int64_t first = 0; first < std::min(a.stride, a.in); first++) {
    const int64_t remainder = ((first + a.before) % a.stride + a.stride) % a.stride;
    Convolution<T> e = narrowed;
    narrow(e, axis, a, remainder);
    computeRemainders(c, e, axis + 1);
  }
}

}  // namespace

template <class T>
void inputGradient(const Convolution<T>& c) {
  if (windowGradient(c)) return;
  computeRemainders(c, exchanged(c), 0);
}

template void inputGradient(const Convolution<float>&);
template void inputGradient(const Convolution<double>&);

}  // namespace tl

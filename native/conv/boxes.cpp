/** Boxes of positions, and copies of pieces of images with zeros around them. */
#include "boxes.h"

#include <algorithm>
#include <cstring>

#include "../simd/kernels.h"

namespace tl {
namespace {

template <class T>
void swapAxes(Convolution<T>& c, int i, int j) {
  std::swap(c.axes[i], c.axes[j]);
  std::swap(c.input.along[i], c.input.along[j]);
  std::swap(c.output.along[i], c.output.along[j]);
  std::swap(c.filter.tap[i], c.filter.tap[j]);
}

/** Whether the positions of an axis follow those of the next one without a gap, so that both can be one axis. */
template <class T>
bool canJoin(const Convolution<T>& c, int outer, int inner) {
  const Axis &a = c.axes[outer], &b = c.axes[inner];
  return a.isPlain() && b.isPlain() && c.input.along[outer] == b.in * c.input.along[inner] &&
         c.output.along[outer] == b.out * c.output.along[inner];
}

/** From so many rows on a tile keeps the multipliers busy. */
constexpr int64_t kEnoughRows = 5;

/** Steps of many rows of a tile that are a multiple of this fall on the same few lines of the first cache. */
constexpr int64_t kBadStep = 4096;

/** Copies `count` pixels with their channels side by side, `pitch` apart. */
template <class T>
void copyPixels(int64_t count, int64_t channels, const T* from, int64_t step, int64_t channelStep, T* to, int64_t pitch) {
  if (channelStep == 1 && step == channels && pitch == channels) {
    std::memcpy(to, from, static_cast<size_t>(count * channels) * sizeof(T));
  } else if (channelStep == 1) {
    for (int64_t i = 0; i < count; i++) std::memcpy(to + i * pitch, from + i * step, static_cast<size_t>(channels) * sizeof(T));
  } else if (step == 1) {
    simd().transpose[sizeof(T) == 4 ? 0 : 1](count, channels, to, pitch, from, channelStep);
  } else {
    const ConvertFn copy = copyOf(sizeof(T));
    for (int64_t channel = 0; channel < channels; channel++) copy(count, to + channel, pitch, from + channel * channelStep, step);
  }
}

/** Copies the part of a box that lies inside the image, and zeros for the rest. */
template <class T>
void copyBox(const Convolution<T>& c, const T* from, const int64_t* first, const int64_t* size, const int64_t* along, T* to,
             int axis = 0) {
  const int64_t in = c.axes[axis].in, step = c.input.along[axis], pitch = along[axis];
  const int64_t begin = std::clamp<int64_t>(-first[axis], 0, size[axis]);
  const int64_t end = std::clamp<int64_t>(in - first[axis], begin, size[axis]);
  const auto clear = [&](int64_t i, int64_t n) { std::memset(to + i * pitch, 0, static_cast<size_t>(n * pitch) * sizeof(T)); };
  clear(0, begin);
  clear(end, size[axis] - end);
  from += (first[axis] + begin) * step;
  if (axis == kAxes - 1) return copyPixels(end - begin, c.channels, from, step, c.input.channel, to + begin * pitch, pitch);
  for (int64_t i = begin; i < end; i++, from += step) copyBox(c, from, first, size, along, to + i * pitch, axis + 1);
}

}  // namespace

template <class T>
Convolution<T> arranged(Convolution<T> c) {
  for (int inner = kAxes - 1; inner > 0; inner--)
    for (int outer = inner - 1; outer >= 0; outer--) {
      if (c.axes[outer].isPlain() && c.axes[outer].in == 1) continue;
      if (!canJoin(c, outer, inner)) break;
      c.axes[inner].in = c.axes[inner].out = c.axes[inner].in * c.axes[outer].in;
      c.axes[outer].in = c.axes[outer].out = 1;
    }
  for (int axis = kAxes - 2; axis >= 0; axis--)
    if (c.axes[kAxes - 1].out < kEnoughRows && c.axes[axis].out > c.axes[kAxes - 1].out) swapAxes(c, axis, kAxes - 1);
  return c;
}

template <class T>
Boxes<T>::Boxes(const Convolution<T>& c, int64_t bytes, int64_t positions, int64_t wanted) : c_(c) {
  const auto& axes = c.axes;
  constexpr int last = kAxes - 1;
  constexpr int64_t size = sizeof(T);
  inPlace_ = c.input.channel == 1 || c.channels == 1;
  for (const Axis& a : axes) inPlace_ = inPlace_ && a.before <= 0 && a.reach(a.out) - a.before <= a.in;
  const auto isBad = [&](int64_t step) { return step * axes[last].stride * size % kBadStep == 0; };
  inPlace_ = inPlace_ && !(isBad(c.input.along[last]) && axes[last].out >= kEnoughRows);
  const int64_t pitch = c.channels + (isBad(c.channels) ? 64 / size : 0);

  // Boxes grow along the last axis first, then along the others, while they stay small and many.
  int64_t boxes = c.positions();
  room_ = pitch;
  for (int i = 0; i < kAxes; i++) {
    extent_[i] = 1;
    room_ *= axes[i].reach(1);
  }
  for (int i = last; i >= 0 && (i == last || extent_[i + 1] == axes[i + 1].out); i--) {
    const Axis& a = axes[i];
    const int64_t others = boxes / a.out, inside = this->positions(), rest = room_ / a.reach(1);
    const auto fits = [&](int64_t n) {
      return rest * a.reach(n) * size <= bytes && inside * n <= positions && others * ((a.out + n - 1) / n) >= wanted;
    };
    int64_t pieces = 1;
    while (pieces < a.out && !fits((a.out + pieces - 1) / pieces)) pieces++;
    extent_[i] = (a.out + pieces - 1) / pieces;
    room_ = rest * a.reach(extent_[i]);
    boxes = others * ((a.out + extent_[i] - 1) / extent_[i]);
  }
  int64_t step = pitch;
  for (int i = last; i >= 0; i--) {
    counts_[i] = (axes[i].out + extent_[i] - 1) / extent_[i];
    along_[i] = inPlace_ ? c.input.along[i] : step;
    step *= axes[i].reach(extent_[i]);
  }
}

template <class T>
typename Boxes<T>::Box Boxes<T>::box(int64_t index) const {
  Box box;
  for (int i = kAxes - 1; i >= 0; i--) {
    box.start[i] = index % counts_[i] * extent_[i];
    box.size[i] = std::min(extent_[i], c_.axes[i].out - box.start[i]);
    index /= counts_[i];
  }
  return box;
}

template <class T>
Source<T> Boxes<T>::source(const Box& box, int64_t group, T* scratch) const {
  Source<T> source{c_.input.data + group * c_.input.group, {}};
  int64_t first[kAxes], size[kAxes];
  for (int i = 0; i < kAxes; i++) {
    source.along[i] = along_[i];
    first[i] = box.start[i] * c_.axes[i].stride - c_.axes[i].before;
    size[i] = c_.axes[i].reach(box.size[i]);
  }
  if (inPlace_) {
    for (int i = 0; i < kAxes; i++) source.data += first[i] * along_[i];
  } else {
    copyBox(c_, source.data, first, size, along_, scratch);
    source.data = scratch;
  }
  return source;
}

template Convolution<float> arranged(Convolution<float>);
template Convolution<double> arranged(Convolution<double>);
template class Boxes<float>;
template class Boxes<double>;

}  // namespace tl

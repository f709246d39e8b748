/** Boxes of positions, slices of channels, and copies of pieces of images with zeros around them. */
#include "boxes.h"

#include <algorithm>
#include <cstring>

#include "../simd/kernels.h"

namespace tl {
namespace {

/** Whether the positions of an axis follow those of the next one without a gap, so that both can be one axis. */
template <class T>
bool canJoin(const Convolution<T>& c, int outer, int inner) {
  const Axis &a = c.axes[outer], &b = c.axes[inner];
  return a.isPlain() && b.isPlain() && c.input.along[outer] == b.in * c.input.along[inner] &&
         c.output.along[outer] == b.out * c.output.along[inner];
}

/** Rows of the tiles, on average, that so many rows are cut into. */
double tileHeight(int64_t rows, int64_t most) {
  return static_cast<double>(rows) / static_cast<double>((rows + most - 1) / most);
}

/** Rows of a tile that are a multiple of this many bytes apart fall on the same few lines of the first cache. */
constexpr int64_t kBadStep = 4096;
/** So many rows are too many for those lines. */
constexpr int64_t kManyRows = 8;

template <class T>
void copyElements(int64_t count, const T* from, T* to) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
}

/** Copies `count` pixels with their channels side by side, `pitch` apart. */
template <class T>
void copyPixels(int64_t count, int64_t channels, const T* from, int64_t step, int64_t channelStep, T* to,
                int64_t pitch) {
  if (channelStep == 1 && step == channels && pitch == channels) {
    copyElements(count * channels, from, to);
  } else if (channelStep == 1) {
    for (int64_t i = 0; i < count; i++) copyElements(channels, from + i * step, to + i * pitch);
  } else if (step == 1) {
    simd().transpose[sizeof(T) == 4 ? 0 : 1](count, channels, to, pitch, from, channelStep);
  } else {
    const ConvertFn copy = copyOf(sizeof(T));
    for (int64_t i = 0; i < channels; i++) copy(count, to + i, pitch, from + i * channelStep, step);
  }
}

/** Bytes that a copy of the image of a slice of a box may take: a part of the second cache. */
constexpr int64_t kCopyBytes = 256 << 10;

/** The size of nearly equal parts of `count`, of at most `most` each. */
int64_t evenShare(int64_t count, int64_t most) {
  const int64_t parts = (count + std::max<int64_t>(most, 1) - 1) / std::max<int64_t>(most, 1);
  return (count + parts - 1) / parts;
}

/** Copies the part of a box that lies inside the image, and zeros for the rest. */
template <class T>
void copyBox(const Convolution<T>& c, int64_t channels, const T* from, const int64_t* first, const int64_t* size,
             const int64_t* along, T* to, int axis = 0) {
  const int64_t in = c.axes[axis].in, step = c.input.along[axis], pitch = along[axis];
  const int64_t begin = std::clamp<int64_t>(-first[axis], 0, size[axis]);
  const int64_t end = std::clamp<int64_t>(in - first[axis], begin, size[axis]);
  std::fill(to, to + begin * pitch, T(0));
  std::fill(to + end * pitch, to + size[axis] * pitch, T(0));
  from += (first[axis] + begin) * step;
  to += begin * pitch;
  if (axis == kAxes - 1) return copyPixels(end - begin, channels, from, step, c.input.channel, to, pitch);
  for (int64_t i = begin; i < end; i++, from += step, to += pitch)
    copyBox(c, channels, from, first, size, along, to, axis + 1);
}

}  // namespace

template <class T>
void swapAxes(Convolution<T>& c, int i, int j) {
  std::swap(c.axes[i], c.axes[j]);
  std::swap(c.input.along[i], c.input.along[j]);
  std::swap(c.output.along[i], c.output.along[j]);
  std::swap(c.filter.tap[i], c.filter.tap[j]);
}

template <class T>
Convolution<T> arranged(Convolution<T> c, int64_t height, double gain) {
  for (int inner = kAxes - 1; inner > 0; inner--)
    for (int outer = inner - 1; outer >= 0; outer--) {
      if (c.axes[outer].isPlain() && c.axes[outer].in == 1) continue;
      if (!canJoin(c, outer, inner)) break;
      c.axes[inner].in = c.axes[inner].out = c.axes[inner].in * c.axes[outer].in;
      c.axes[outer].in = c.axes[outer].out = 1;
    }
  int best = kAxes - 1;
  for (int axis = kAxes - 2; axis >= 0; axis--)
    if (tileHeight(c.axes[axis].out, height) > gain * tileHeight(c.axes[best].out, height)) best = axis;
  swapAxes(c, best, kAxes - 1);
  return c;
}

template <class T>
Cuts<T>::Cuts(const Convolution<T>& c, const Limits& limits) : c_(c) {
  const auto& axes = c.axes;
  constexpr int last = kAxes - 1;
  constexpr int64_t size = sizeof(T);
  const auto isBad = [&](int64_t step) { return step * axes[last].stride * size % kBadStep == 0; };
  bool inPlace = c.input.channel == 1 || c.channels == 1;
  if (!limits.clips) {
    for (const Axis& a : axes) inPlace = inPlace && a.before <= 0 && a.reach(a.out) - a.before <= a.in;
    inPlace = inPlace && !(isBad(c.input.along[last]) && axes[last].out >= kManyRows);
  }

  // An image that is read where it is comes in slices as large as may be, and boxes to fit; a copy the other way round.
  const auto share = [&](int64_t most) { return (evenShare(c.channels, most) + limits.unit - 1) / limits.unit * limits.unit; };
  slice_ = share(limits.channels);
  cutPositions(inPlace ? std::min(limits.positions, limits.bytes / (slice_ * size)) : limits.positions, limits);
  int64_t pixels = 1;
  for (int i = 0; i < kAxes; i++) pixels *= axes[i].reach(extent_[i]);
  if (!inPlace) slice_ = share(std::min(limits.channels, kCopyBytes / (pixels * size)));

  int64_t step = slice_ + (isBad(slice_) ? 64 / size : 0);
  room_ = inPlace ? 0 : pixels * step;
  for (int i = last; i >= 0; i--) {
    along_[i] = inPlace ? c.input.along[i] : step;
    step *= axes[i].reach(extent_[i]);
  }
}

/** Boxes grow along the last axis first, then along the others, while they stay small and many. */
template <class T>
void Cuts<T>::cutPositions(int64_t most, const Limits& limits) {
  int64_t boxes = c_.positions();
  for (int64_t& extent : extent_) extent = 1;
  bool grows = true;
  for (int i = kAxes - 1; i >= 0 && grows; i--) {
    const int64_t out = c_.axes[i].out, inside = positions(), others = boxes / out;
    if (limits.extents[i] > 0) {
      extent_[i] = std::min(limits.extents[i], out);
    } else {
      int64_t pieces = 1;
      while (pieces < out && (inside * ((out + pieces - 1) / pieces) > most || others * pieces < limits.boxes)) pieces++;
      extent_[i] = (out + pieces - 1) / pieces;
      grows = extent_[i] == out;
    }
    boxes = others * ((out + extent_[i] - 1) / extent_[i]);
  }
  for (int i = 0; i < kAxes; i++) counts_[i] = (c_.axes[i].out + extent_[i] - 1) / extent_[i];
}

template <class T>
Box Cuts<T>::box(int64_t index) const {
  Box box;
  for (int i = kAxes - 1; i >= 0; i--) {
    box.start[i] = index % counts_[i] * extent_[i];
    box.size[i] = std::min(extent_[i], c_.axes[i].out - box.start[i]);
    index /= counts_[i];
  }
  return box;
}

template <class T>
const T* Cuts<T>::image(const Box& box, int64_t group, int64_t slice, T* scratch) const {
  const T* from = c_.input.data + group * c_.input.group + firstOf(slice) * c_.input.channel;
  int64_t first[kAxes], size[kAxes];
  for (int i = 0; i < kAxes; i++) {
    first[i] = box.start[i] * c_.axes[i].stride - c_.axes[i].before;
    size[i] = c_.axes[i].reach(box.size[i]);
  }
  if (room_ > 0) {
    copyBox(c_, channelsOf(slice), from, first, size, along_, scratch);
    return scratch;
  }
  for (int i = 0; i < kAxes; i++) from += first[i] * along_[i];
  return from;
}

template <class T>
Range Cuts<T>::readable(const Box& box, int axis) const {
  const Axis& a = c_.axes[axis];
  const int64_t size = a.reach(box.size[axis]), first = box.start[axis] * a.stride - a.before;
  if (room_ > 0) return {0, size};
  const int64_t begin = std::clamp<int64_t>(-first, 0, size);
  return {begin, std::clamp<int64_t>(a.in - first, begin, size)};
}

template Convolution<float> arranged(Convolution<float>, int64_t, double);
template Convolution<double> arranged(Convolution<double>, int64_t, double);
template void swapAxes(Convolution<float>&, int, int);
template class Cuts<float>;
template class Cuts<double>;

}  // namespace tl

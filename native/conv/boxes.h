/** Cutting a convolution into boxes of positions and slices of channels, and the piece of the image that they need. */
#pragma once
#include "../core/pool.h"
#include "convolution.h"

namespace tl {

/**
 * The same convolution with its axes arranged for the kernels: axes that only repeat everything are joined where memory
 * allows, and the last axis is one along which tiles of at most `height` rows have many; another than the given one only if
 * they have more than `gain` times as many.
 */
template <class T>
Convolution<T> arranged(Convolution<T> c, int64_t height, double gain = 1);

/** Exchanges two axes. */
template <class T>
void swapAxes(Convolution<T>& c, int i, int j);

/** A box of output positions. */
struct Box {
  int64_t start[kAxes], size[kAxes];
};

/** What the pieces of a convolution should be like. */
struct Limits {
  /** Positions of a box, and channels of a slice, at most. */
  int64_t positions, channels;
  /** Bytes of the image of a slice of a box, at most, where it is not copied. */
  int64_t bytes;
  /** Boxes, at least, if there can be so many. */
  int64_t boxes;
  /** Whether the image can be read where it is although windows reach beyond it. */
  bool clips = false;
  /** Slices, but for the last, have a multiple of so many channels. */
  int64_t unit = 1;
  /** Boxes have so many positions along an axis, if there are so many; as many as may be where it is 0. */
  int64_t extents[kAxes] = {};
};

/** How a convolution is cut into boxes of positions and slices of channels, whose image stays in a cache. */
template <class T>
class Cuts {
 public:
  Cuts(const Convolution<T>& c, const Limits& limits);

  int64_t boxes() const { return counts_[0] * counts_[1] * counts_[2] * counts_[3]; }
  Box box(int64_t index) const;
  /** Positions of the largest box. */
  int64_t positions() const { return extent_[0] * extent_[1] * extent_[2] * extent_[3]; }

  int64_t slices() const { return (c_.channels + slice_ - 1) / slice_; }
  int64_t firstOf(int64_t slice) const { return slice * slice_; }
  int64_t channelsOf(int64_t slice) const {
    const int64_t left = c_.channels - firstOf(slice);
    return left < slice_ ? left : slice_;
  }

  /** Elements between neighbouring positions of the image of any box, whose channels lie side by side. */
  const int64_t (&along() const)[kAxes] { return along_; }
  /** Elements that a copy of the image of a box takes; 0 where it is read where it is. */
  int64_t room() const { return room_; }
  /** The image of a slice of a box, at the first tap of its first position: where it is, or copied to `scratch`. */
  const T* image(const Box& box, int64_t group, int64_t slice, T* scratch) const;
  /** The pixels along an axis of the image of a box that can be read. */
  Range readable(const Box& box, int axis) const;

 private:
  void cutPositions(int64_t most, const Limits& limits);

  const Convolution<T>& c_;
  int64_t extent_[kAxes], counts_[kAxes], along_[kAxes], slice_, room_;
};

}  // namespace tl

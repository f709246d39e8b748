/** Cutting a convolution's positions into boxes, and the piece of the image that a box needs. */
#pragma once
#include "convolution.h"

namespace tl {

/**
 * The same convolution with its axes arranged for the kernels: axes that only repeat everything are joined where memory
 * allows, and the last axis is one along which tiles have many rows.
 */
template <class T>
Convolution<T> arranged(Convolution<T> c);

/** An image with its channels side by side. */
template <class T>
struct Source {
  const T* data;
  int64_t along[kAxes];
};

/** The boxes of output positions that a convolution is computed in, one after the other or side by side. */
template <class T>
class Boxes {
 public:
  /** Boxes of about `positions` at most, whose image takes about `bytes` at most; at least `wanted` boxes if possible. */
  Boxes(const Convolution<T>& c, int64_t bytes, int64_t positions, int64_t wanted);

  int64_t count() const { return counts_[0] * counts_[1] * counts_[2] * counts_[3]; }
  /** Positions of the largest box. */
  int64_t positions() const { return extent_[0] * extent_[1] * extent_[2] * extent_[3]; }

  struct Box {
    int64_t start[kAxes], size[kAxes];
  };
  Box box(int64_t index) const;

  /** Steps of every box's source. */
  const int64_t (&along() const)[kAxes] { return along_; }
  /** Elements that a copy of a box's image takes; 0 where the image is read where it is. */
  int64_t room() const { return inPlace_ ? 0 : room_; }
  /** The image of a box, `data` at the first tap of its first position: where it is, or copied to `scratch`. */
  Source<T> source(const Box& box, int64_t group, T* scratch) const;

 private:
  const Convolution<T>& c_;
  bool inPlace_;
  int64_t extent_[kAxes], counts_[kAxes], along_[kAxes], room_;
};

}  // namespace tl

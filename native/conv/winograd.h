/**
 * Convolutions of three by three and five by five taps by fewer products, after Winograd.
 *
 * The product of two polynomials is known from its values at as many points as it has coefficients, and the value of a product takes
 * one product. So it is with two outputs of five taps, or four outputs of three, along an axis: six products instead of ten or twelve, and
 * 36 instead of 100 or 144 in the plane. An input is cut into patches of six by six that overlap; patches and filters become
 * values at 6 x 6 points (0, 1, -1, 1/2, -2 and infinity, along each axis), and at every point there is a matrix product of patches with
 * channels, and of channels with features. `winograd.simd.cpp` has what comes before and after. Gradients of filters go the same way backwards.
 *
 * See docs/decisions/0008-fewer-products.md for what this does to errors.
 */
#pragma once
#include <algorithm>

#include "../core/pool.h"
#include "../simd/kernels.h"
#include "convolution.h"

namespace tl {

/**
 * A convolution as lines of patches: those side by side in an image, or in one of several stretches of a wide one. All lines are as long,
 * so that the last patches of an image may be nowhere in it.
 */
class PatchGrid {
 public:
  explicit PatchGrid(const Convolution<float>& c)
      : c_(c), taps_(c.axes[3].taps), outputs_(kPatchSide + 1 - taps_), down_(ceilDiv(c.axes[2].out, outputs_)),
        stretches_(ceilDiv(c.axes[3].out, outputs_ * kLongest)), across_(ceilDiv(c.axes[3].out, outputs_ * stretches_)) {}

  int64_t taps() const { return taps_; }
  int64_t across() const { return across_; }
  int64_t lines() const { return c_.axes[0].out * down_ * stretches_; }
  int64_t patches() const { return lines() * across_; }

  /** Elements of scratch memory that `toPoints` needs, and of zeros that it reads. */
  int64_t rowsRoom() const { return kPatchSide * rowLength(); }
  int64_t zeros() const { return channelsAtOnce(); }

  /** The points of the inputs of a line, from the first patch on; points and patches are so many elements apart. */
  void toPoints(int64_t line, const float* zeros, float* room, float* points, int64_t point, int64_t patch) const;
  /** The outputs of a line as patches whose points are elsewhere; those beyond the image are left out. */
  template <class T>
  Patches<T> outputs(int64_t line, T* data, float* points, int64_t point, int64_t patch) const {
    const int64_t(&along)[kAxes] = c_.output.along;
    const Place at = placeOf(line);
    return {across_, c_.features, points, point, patch, data + at.image * along[0] + at.top * along[2] + at.left * along[3], along[2], along[3],
            std::min(outputs_, c_.axes[2].out - at.top), c_.axes[3].out - at.left};
  }

 private:
  /** Patches of a line at most: the points of more would leave the second cache between one step and the next. */
  static constexpr int64_t kLongest = 56;

  /** Where the outputs of a line begin. */
  struct Place {
    int64_t image, top, left;
  };
  Place placeOf(int64_t line) const {
    const int64_t row = line / stretches_;
    return {row / down_, row % down_ * outputs_, line % stretches_ * across_ * outputs_};
  }

  static int64_t ceilDiv(int64_t count, int64_t by) { return (count + by - 1) / by; }
  /** So many that six rows of pixels stay in the first cache. */
  int64_t channelsAtOnce() const { return std::min<int64_t>(c_.channels, 64); }
  int64_t pixels() const { return across_ * outputs_ + taps_ - 1; }
  int64_t rowLength() const { return pixels() * channelsAtOnce(); }

  const Convolution<float>& c_;
  int64_t taps_, outputs_, down_, stretches_, across_;
};

/** From one patch or feature to the next at a point: rows that are far apart must not fall into the same lines of a cache. */
inline int64_t pointRow(int64_t channels) { return channels % 256 == 0 ? channels + 16 : channels; }

/** From one point to the next: an odd number of cache lines, for the same reason. */
inline int64_t pointStep(int64_t patches, int64_t row) { return (patches * row / 16 | 1) * 16; }

/** Multiply-adds that pay for waking another thread. */
constexpr double kPatchGrain = 400e3;

}  // namespace tl

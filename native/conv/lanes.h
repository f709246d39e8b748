/** What the two directions of a convolution with groups as lanes share; see laneCorrelate.cpp. */
#pragma once
#include <algorithm>
#include <vector>

#include "../core/pool.h"
#include "../simd/kernels.h"
#include "boxes.h"

namespace tl {

/** Multiply-adds that pay for waking another thread. */
constexpr double kLaneGrain = 200e3;
/** Positions of a box and groups of a slice: their image, and what is computed of it, stay in the first two caches. */
constexpr int64_t kLanePositions = 512;
constexpr int64_t kLaneGroups = 128;

inline void runLanes(const Lanes<float>& s) { simd().lanesF32(s); }
inline void runLanes(const Lanes<double>& s) { simd().lanesF64(s); }

/** Copies `lanes` elements of each of `count` rows. */
template <class T>
void copyLanes(int64_t count, int64_t lanes, const T* from, int64_t row, int64_t step, T* to, int64_t toRow,
               int64_t toStep) {
  const ConvertFn copy = copyOf(sizeof(T));
  for (int64_t i = 0; i < count; i++) copy(lanes, to + i * toRow, toStep, from + i * row, step);
}

/** Runs a kernel whose result may lie in lanes that are not side by side: it is then computed aside. */
template <class T>
void runAside(Lanes<T> s, int64_t laneStep, T* aside) {
  if (laneStep == 1) return runLanes(s);
  T* const c = s.c;
  const int64_t cStep = s.cStep;
  if (s.add) copyLanes<T>(s.positions, s.lanes, c, cStep, laneStep, aside, s.lanes, 1);
  s.c = aside;
  s.cStep = s.lanes;
  runLanes(s);
  copyLanes<T>(s.positions, s.lanes, aside, s.lanes, 1, c, cStep, laneStep);
}

/** A place on the three outer axes: a row of positions, or a row of taps. */
struct Row {
  int64_t i, j, k;
};

/** Neighbouring positions of the last axis that have the same taps. */
struct Stretch {
  Range positions, taps;
};

/**
 * A convolution of one channel and one feature of every group at a time. Its channels are the given one's groups, and
 * its groups the given one's channels. The image of a box is read where it is if its lanes lie side by side, and copied
 * with zeros around it if not.
 */
template <class T>
class LaneConvolution {
 public:
  LaneConvolution(const Convolution<T>& given, int64_t boxes)
      : c(turned(given)), cuts(c, {kLanePositions, kLaneGroups, INT64_MAX, boxes, c.input.channel == 1}) {}

  const Convolution<T> c;
  const Cuts<T> cuts;

  /** The taps that meet the image at an output position. */
  Range taps(int axis, int64_t position) const {
    const Axis& a = c.axes[axis];
    if (cuts.room() > 0) return {0, a.taps};
    const int64_t first = position * a.stride - a.before;
    const int64_t begin = first < 0 ? (-first + a.dilation - 1) / a.dilation : 0;
    const int64_t end = first < a.in ? std::min(a.taps, (a.in - 1 - first) / a.dilation + 1) : 0;
    return {std::min(begin, end), end};
  }

  /** The stretches of a box, with positions counted from its start. */
  std::vector<Stretch> stretches(const Box& box) const {
    std::vector<Stretch> found;
    for (int64_t x = 0; x < box.size[3]; x++) {
      const Range t = taps(3, box.start[3] + x);
      if (found.empty() || found.back().taps.begin != t.begin || found.back().taps.end != t.end)
        found.push_back({{x, x}, t});
      found.back().positions.end = x + 1;
    }
    return found;
  }

  /** Calls `visit` for every row of positions of a box, counted from its start. */
  template <class Visit>
  static void eachRow(const Box& box, const Visit& visit) {
    for (int64_t i = 0; i < box.size[0]; i++)
      for (int64_t j = 0; j < box.size[1]; j++)
        for (int64_t k = 0; k < box.size[2]; k++) visit(Row{i, j, k});
  }

  /** Elements of a box's image from position to position, and from tap to tap. */
  int64_t step(int axis) const { return c.axes[axis].stride * cuts.along()[axis]; }
  int64_t hop(int axis) const { return c.axes[axis].dilation * cuts.along()[axis]; }
  int64_t imageRow(Row r) const { return r.i * step(0) + r.j * step(1) + r.k * step(2); }
  int64_t imageTap(Row r) const { return r.i * hop(0) + r.j * hop(1) + r.k * hop(2); }

  int64_t outputRow(Row r) const {
    return r.i * c.output.along[0] + r.j * c.output.along[1] + r.k * c.output.along[2];
  }
  T* output(const Box& box, int64_t group, int64_t feature) const {
    T* at = c.output.data + group * c.output.group + feature * c.output.channel;
    for (int axis = 0; axis < kAxes; axis++) at += box.start[axis] * c.output.along[axis];
    return at;
  }
  int64_t filterRow(Row r) const { return r.i * c.filter.tap[0] + r.j * c.filter.tap[1] + r.k * c.filter.tap[2]; }
  T* filter(int64_t group, int64_t channel, int64_t feature) const {
    return c.filter.data + group * c.filter.group + channel * c.filter.channel + feature * c.filter.feature;
  }

  /** Rows of taps, and the one with a number. */
  int64_t tapRows() const { return c.axes[0].taps * c.axes[1].taps * c.axes[2].taps; }
  Row tapRow(int64_t number) const {
    const int64_t n1 = c.axes[1].taps, n2 = c.axes[2].taps;
    return {number / n2 / n1, number / n2 % n1, number % n2};
  }
  /** Whether a row of taps meets the image at a row of a box. */
  bool meets(const Box& box, Row position, Row tap) const {
    const auto isIn = [](int64_t x, Range r) { return r.begin <= x && x < r.end; };
    return isIn(tap.i, taps(0, box.start[0] + position.i)) && isIn(tap.j, taps(1, box.start[1] + position.j)) &&
           isIn(tap.k, taps(2, box.start[2] + position.k));
  }

 private:
  static Convolution<T> turned(Convolution<T> c) {
    std::swap(c.groups, c.channels);
    std::swap(c.input.group, c.input.channel);
    return c;
  }
};

}  // namespace tl

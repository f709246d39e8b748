/**
 * The output of a convolution whose groups have few channels and features, such as a depthwise one: groups are the
 * lanes of vectors.
 *
 * Every pair of a channel and a feature is a convolution of all groups at once. There are so few multiplications per
 * element that even a copy of the image with zeros around it would cost much. So positions are cut into stretches that
 * meet the image with the same taps: one in the middle, and a few at the borders. See lanes.simd.cpp for the kernel.
 */
#include "lanes.h"

namespace tl {
namespace {

/** Packs the taps of a slice as [taps, lanes]. */
template <class T>
void packFilter(const LaneConvolution<T>& l, const T* from, int64_t lanes, T* to) {
  const Filter<T>& f = l.c.filter;
  const int64_t taps = l.c.axes[3].taps;
  for (int64_t row = 0; row < l.tapRows(); row++, to += taps * lanes)
    copyLanes(taps, lanes, from + l.filterRow(l.tapRow(row)), f.tap[3], f.group, to, lanes, 1);
}

/** The terms of the sums of a stretch of a row. */
template <class T>
void findTerms(const LaneConvolution<T>& l, const Box& box, Row row, const Stretch& stretch, int64_t lanes,
               std::vector<Run>& runs) {
  runs.clear();
  const int64_t first = stretch.taps.begin, count = stretch.taps.end - first;
  for (int64_t number = 0; number < l.tapRows(); number++) {
    const Row tap = l.tapRow(number);
    if (!l.meets(box, row, tap)) continue;
    runs.push_back({l.imageTap(tap) + first * l.hop(3), (number * l.c.axes[3].taps + first) * lanes, count});
  }
}

}  // namespace

template <class T>
void laneCorrelate(const Convolution<T>& given) {
  const int64_t threads = Pool::get().parts(given.work(), kLaneGrain);
  const LaneConvolution<T> l(given, threads);
  const Convolution<T>& c = l.c;
  const Cuts<T>& cuts = l.cuts;
  const int64_t units = cuts.boxes() * cuts.slices(), seats = std::min(threads, units), parts = Pool::finer(seats, units);
  const int64_t asideSize = kLanePositions * kLaneGroups, room = cuts.room() + asideSize + c.taps() * kLaneGroups;
  T* const scratch = reinterpret_cast<T*>(Pool::scratch(seats * room * static_cast<int64_t>(sizeof(T))));

  Pool::get().run(parts, [&](int64_t part, int64_t seat) {
    T* const copied = scratch + seat * room;
    T* const aside = copied + cuts.room();
    T* const filter = aside + asideSize;
    std::vector<Run> runs;
    Lanes<T> s;
    s.aStep = l.step(3);
    s.aTerm = l.hop(3);
    s.b = filter;
    s.cStep = c.output.along[3];
    const Range mine = rangeOf(part, parts, units);
    for (int64_t unit = mine.begin; unit < mine.end; unit++) {
      const int64_t slice = unit / cuts.boxes(), group = cuts.firstOf(slice);
      const Box box = cuts.box(unit % cuts.boxes());
      const std::vector<Stretch> stretches = l.stretches(box);
      s.lanes = s.bTerm = cuts.channelsOf(slice);
      for (int64_t channel = 0; channel < c.groups; channel++) {
        const T* image = cuts.image(box, channel, slice, copied);
        s.add = channel > 0;
        for (int64_t feature = 0; feature < c.features; feature++) {
          packFilter(l, l.filter(group, channel, feature), s.lanes, filter);
          T* const output = l.output(box, group, feature);
          l.eachRow(box, [&](Row row) {
            for (const Stretch& stretch : stretches) {
              findTerms(l, box, row, stretch, s.lanes, runs);
              s.runs = runs.data();
              s.runCount = static_cast<int64_t>(runs.size());
              s.positions = stretch.positions.end - stretch.positions.begin;
              s.a = image + l.imageRow(row) + stretch.positions.begin * s.aStep;
              s.c = output + l.outputRow(row) + stretch.positions.begin * s.cStep;
              runAside(s, c.output.group, aside);
            }
          });
        }
      }
    }
  }, seats);
}

template void laneCorrelate(const Convolution<float>&);
template void laneCorrelate(const Convolution<double>&);

}  // namespace tl

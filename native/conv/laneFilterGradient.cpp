/**
 * The filter of a convolution whose groups are the lanes of vectors; see laneCorrelate.cpp. Here the taps of a row are
 * the positions of the kernel, and the positions of a box its terms. A row of taps of a slice is a unit of work.
 */
#include "lanes.h"

namespace tl {
namespace {

/** Where a row of a box begins in a packed box. */
int64_t packedRow(const Box& box, Row r, int64_t lanes) {
  return ((r.i * box.size[1] + r.j) * box.size[2] + r.k) * box.size[3] * lanes;
}

/** Packs a box of the output as [positions, lanes]. */
template <class T>
void packOutput(const LaneConvolution<T>& l, const Box& box, const T* from, int64_t lanes, T* to) {
  const Image<T>& output = l.c.output;
  l.eachRow(box, [&](Row row) {
    copyLanes(box.size[3], lanes, from + l.outputRow(row), output.along[3], output.group,
              to + packedRow(box, row, lanes), lanes, 1);
  });
}

}  // namespace

template <class T>
void laneFilterGradient(const Convolution<T>& given) {
  clearResult(given, ConvResult::filter);
  const LaneConvolution<T> l(given, 1);
  const Convolution<T>& c = l.c;
  const Cuts<T>& cuts = l.cuts;
  const int64_t rows = l.tapRows(), units = cuts.slices() * rows;
  const int64_t parts = std::min(Pool::get().parts(c.work(), kLaneGrain), units);
  const bool packs = c.output.group != 1;
  const int64_t asideSize = c.axes[3].taps * kLaneGroups, packedSize = packs ? cuts.positions() * kLaneGroups : 0;
  const int64_t room = cuts.room() + asideSize + packedSize;
  T* const scratch = reinterpret_cast<T*>(Pool::scratch(parts * room * static_cast<int64_t>(sizeof(T))));

  Pool::get().run(parts, [&](int64_t part) {
    T* const copied = scratch + part * room;
    T* const aside = copied + cuts.room();
    T* const packed = aside + asideSize;
    std::vector<Run> runs;
    Lanes<T> s;
    s.aStep = l.hop(3);
    s.aTerm = l.step(3);
    s.cStep = c.filter.tap[3];
    s.add = true;

    /** Adds what the positions of a stretch of a box give to a row of taps. */
    const auto addStretch = [&](const Box& box, Row tap, const Stretch& stretch, const T* image, T* filter) {
      runs.clear();
      l.eachRow(box, [&](Row row) {
        if (!l.meets(box, row, tap)) return;
        const int64_t b = packs ? packedRow(box, row, s.lanes) : l.outputRow(row), first = stretch.positions.begin;
        const int64_t count = stretch.positions.end - first;
        runs.push_back({l.imageRow(row) + first * s.aTerm, b + first * s.bTerm, count});
      });
      s.runs = runs.data();
      s.runCount = static_cast<int64_t>(runs.size());
      s.positions = stretch.taps.end - stretch.taps.begin;
      s.a = image + l.imageTap(tap) + stretch.taps.begin * s.aStep;
      s.c = filter + l.filterRow(tap) + stretch.taps.begin * s.cStep;
      runAside(s, c.filter.group, aside);
    };

    const Range mine = rangeOf(part, parts, units);
    for (int64_t slice = mine.begin / rows; slice * rows < mine.end; slice++) {
      const int64_t group = cuts.firstOf(slice);
      const Range taps{std::max(mine.begin - slice * rows, int64_t{0}), std::min(mine.end - slice * rows, rows)};
      s.lanes = cuts.channelsOf(slice);
      s.bTerm = packs ? s.lanes : c.output.along[3];
      for (int64_t index = 0; index < cuts.boxes(); index++) {
        const Box box = cuts.box(index);
        const std::vector<Stretch> stretches = l.stretches(box);
        for (int64_t channel = 0; channel < c.groups; channel++) {
          const T* image = cuts.image(box, channel, slice, copied);
          for (int64_t feature = 0; feature < c.features; feature++) {
            const T* output = l.output(box, group, feature);
            if (packs) packOutput(l, box, output, s.lanes, packed);
            s.b = packs ? packed : output;
            for (int64_t number = taps.begin; number < taps.end; number++)
              for (const Stretch& stretch : stretches)
                addStretch(box, l.tapRow(number), stretch, image, l.filter(group, channel, feature));
          }
        }
      }
    }
  });
}

template void laneFilterGradient(const Convolution<float>&);
template void laneFilterGradient(const Convolution<double>&);

}  // namespace tl

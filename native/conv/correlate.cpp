/**
 * The output of a convolution: a matrix product of positions and features.
 *
 * The filter is packed into panels as wide as two vectors of features. Positions are cut into boxes and channels into
 * slices; the image of a slice of a box meets one panel after the other, a strip of positions at a time. The image then
 * comes from the second cache and the panel from the first; see strip.simd.cpp.
 */
#include <algorithm>
#include <cstring>
#include <vector>

#include "../core/pool.h"
#include "../simd/kernels.h"
#include "boxes.h"

namespace tl {
namespace {

/** Multiply-adds that pay for waking another thread. */
constexpr double kGrain = 400e3;
/** Positions of a box that is copied, and bytes of one that is not: these stay in the first cache. */
constexpr int64_t kPositions = 512;
constexpr int64_t kBytes = 32 << 10;
/** Terms that are added up before a sum goes back to memory. */
constexpr int64_t kTerms = 512;

void runStrip(const Strip<float>& s) { simd().stripF32(s); }
void runStrip(const Strip<double>& s) { simd().stripF64(s); }

/** The filter in panels [slices, taps, channels of the slice, width]. */
template <class T>
class Panels {
 public:
  Panels(const Convolution<T>& c, const Cuts<T>& cuts)
      : c_(c), cuts_(cuts), width_(simd().stripBytes / static_cast<int64_t>(sizeof(T))) {}

  int64_t width() const { return width_; }
  int64_t count() const { return (c_.features + width_ - 1) / width_; }
  /** Elements of all panels of all groups. */
  int64_t size() const { return c_.groups * count() * panelSize(); }
  int64_t featuresOf(int64_t panel) const { return std::min(width_, c_.features - panel * width_); }
  /** Where a slice of a panel begins. */
  int64_t at(int64_t group, int64_t panel, int64_t slice) const {
    return (group * count() + panel) * panelSize() + c_.taps() * cuts_.firstOf(slice) * width_;
  }

  /** Packs one slice of all panels of a group. */
  void pack(int64_t group, int64_t slice, T* to) const {
    const Axis* a = c_.axes;
    const int64_t(&tap)[kAxes] = c_.filter.tap;
    const T* from = c_.filter.data + group * c_.filter.group + cuts_.firstOf(slice) * c_.filter.channel;
    int64_t index = 0;
    for (int64_t i = 0; i < a[0].taps; i++)
      for (int64_t j = 0; j < a[1].taps; j++)
        for (int64_t k = 0; k < a[2].taps; k++)
          for (int64_t l = 0; l < a[3].taps; l++)
            packTap(from + i * tap[0] + j * tap[1] + k * tap[2] + l * tap[3], group, slice, index++, to);
  }

 private:
  int64_t panelSize() const { return c_.taps() * c_.channels * width_; }

  void packTap(const T* from, int64_t group, int64_t slice, int64_t tap, T* to) const {
    const Filter<T>& f = c_.filter;
    const int64_t channels = cuts_.channelsOf(slice);
    const auto panelAt = [&](int64_t panel) { return to + at(group, panel, slice) + tap * channels * width_; };
    const int64_t last = count() - 1;
    if (featuresOf(last) < width_) std::fill(panelAt(last), panelAt(last) + channels * width_, T(0));
    if (f.channel == 1 && f.feature != 1) {
      const auto transpose = simd().transpose[sizeof(T) == 4 ? 0 : 1];
      for (int64_t panel = 0; panel <= last; panel++)
        transpose(channels, featuresOf(panel), panelAt(panel), width_, from + panel * width_ * f.feature, f.feature);
      return;
    }
    // Channel by channel, so that the filter is read from one end to the other.
    for (int64_t channel = 0; channel < channels; channel++)
      for (int64_t panel = 0; panel <= last; panel++) {
        const T* features = from + channel * f.channel + panel * width_ * f.feature;
        T* const row = panelAt(panel) + channel * width_;
        if (f.feature == 1) std::memcpy(row, features, static_cast<size_t>(featuresOf(panel)) * sizeof(T));
        else copyOf(sizeof(T))(featuresOf(panel), row, 1, features, f.feature);
      }
  }

  const Convolution<T>& c_;
  const Cuts<T>& cuts_;
  int64_t width_;
};

/** The terms of a slice of a sum, in the order of its panels. */
template <class T>
std::vector<Run> runsOf(const Convolution<T>& c, const Cuts<T>& cuts, int64_t slice, int64_t width) {
  const Axis* a = c.axes;
  const int64_t(&along)[kAxes] = cuts.along();
  const int64_t channels = cuts.channelsOf(slice);
  // Where neighbouring taps read neighbouring channels, one run goes over all of them.
  const bool joined = a[3].dilation == 1 && along[3] == channels;
  const int64_t length = channels * (joined ? a[3].taps : 1), lastTaps = joined ? 1 : a[3].taps;
  std::vector<Run> runs;
  for (int64_t i = 0; i < a[0].taps; i++)
    for (int64_t j = 0; j < a[1].taps; j++)
      for (int64_t k = 0; k < a[2].taps; k++)
        for (int64_t l = 0; l < lastTaps; l++) {
          const int64_t at[] = {i, j, k, l};
          Run run{0, static_cast<int64_t>(runs.size()) * length * width, length};
          for (int axis = 0; axis < kAxes; axis++) run.a += at[axis] * a[axis].dilation * along[axis];
          runs.push_back(run);
        }
  return runs;
}

/** One strip after the other for all positions of a box; a and c begin at the given places. */
template <class T>
void runBox(const Convolution<T>& c, const Cuts<T>& cuts, const Box& box, const T* a, T* output, Strip<T>& s) {
  const auto step = [&](int axis) { return c.axes[axis].stride * cuts.along()[axis]; };
  for (int64_t i = 0; i < box.size[0]; i++)
    for (int64_t j = 0; j < box.size[1]; j++)
      for (int64_t k = 0; k < box.size[2]; k++) {
        s.a = a + i * step(0) + j * step(1) + k * step(2);
        s.c = output + i * c.output.along[0] + j * c.output.along[1] + k * c.output.along[2];
        runStrip(s);
      }
}

}  // namespace

template <class T>
void correlate(const Convolution<T>& given) {
  if constexpr (sizeof(T) == sizeof(float))
    if (tileCorrelate(given) || winogradCorrelate(given)) return;
  const Convolution<T> c = arranged(given, simd().stripRows);
  const int64_t threads = Pool::get().parts(c.work(), kGrain);
  const Cuts<T> cuts(c, {kPositions, kTerms / c.taps(), kBytes, threads});
  const Panels<T> panels(c, cuts);
  std::vector<std::vector<Run>> runs;
  for (int64_t slice = 0; slice < cuts.slices(); slice++) runs.push_back(runsOf(c, cuts, slice, panels.width()));

  // Few boxes are shared out by their features as well.
  const int64_t places = c.groups * cuts.boxes();
  const int64_t shares = std::clamp<int64_t>((threads + places - 1) / places, 1, panels.count());
  const int64_t seats = std::min(threads, places * shares);
  const int64_t room = panels.size() + seats * cuts.room();
  T* const packed = reinterpret_cast<T*>(Pool::scratch(room * static_cast<int64_t>(sizeof(T))));

  Pool::get().run(c.groups * cuts.slices(), [&](int64_t i) { panels.pack(i / cuts.slices(), i % cuts.slices(), packed); }, threads);
  const int64_t parts = Pool::finer(seats, places * shares);
  Pool::get().run(parts, [&](int64_t part, int64_t seat) {
    T* const scratch = packed + panels.size() + seat * cuts.room();
    Strip<T> s;
    s.aRow = c.axes[3].stride * cuts.along()[3];
    s.aStep = 1;
    s.bStep = panels.width();
    s.cRow = c.output.along[3];
    s.cColumn = c.output.channel;
    const Range mine = rangeOf(part, parts, places * shares);
    for (int64_t unit = mine.begin; unit < mine.end; unit++) {
      const int64_t group = unit / shares / cuts.boxes();
      const Box box = cuts.box(unit / shares % cuts.boxes());
      const Range features = rangeOf(unit % shares, shares, panels.count());
      s.rows = box.size[3];
      for (int64_t slice = 0; slice < cuts.slices(); slice++) {
        const T* image = cuts.image(box, group, slice, scratch);
        const std::vector<Run>& terms = runs[static_cast<size_t>(slice)];
        s.runs = terms.data();
        s.runCount = static_cast<int64_t>(terms.size());
        s.add = slice > 0;
        for (int64_t panel = features.begin; panel < features.end; panel++) {
          s.columns = panels.featuresOf(panel);
          s.b = packed + panels.at(group, panel, slice);
          T* output = c.output.data + group * c.output.group + panel * panels.width() * c.output.channel;
          for (int axis = 0; axis < kAxes; axis++) output += box.start[axis] * c.output.along[axis];
          runBox(c, cuts, box, image, output, s);
        }
      }
    }
  }, seats);
}

template void correlate(const Convolution<float>&);
template void correlate(const Convolution<double>&);

}  // namespace tl

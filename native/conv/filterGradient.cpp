/**
 * The filter of a convolution from its input and output: a matrix product of taps with channels, and features, summed
 * over positions.
 *
 * Positions are cut into boxes, whose parts of the sum are added to the filter one after the other, always in this
 * order; those of a small filter in several pieces, which threads share. Rows are neighbouring channels, which the kernel reads
 * from the image where they are; see strip.simd.cpp.
 */
#include <algorithm>
#include <vector>

#include "../core/pool.h"
#include "../simd/kernels.h"
#include "boxes.h"

namespace tl {
namespace {

/** Multiply-adds that pay for waking another thread. */
constexpr double kGrain = 400e3;
/** Positions of a box: terms that are added up before a sum goes back to memory. */
constexpr int64_t kPositions = 256;
/** Channels of a slice, and bytes of the image of one that is read where it is: these stay in the second cache. */
constexpr int64_t kChannels = 1024;
constexpr int64_t kBytes = 192 << 10;
/** Rows that are shared out together. */
constexpr int64_t kJobRows = 56;
/** Boxes are divided into so many pieces, each with a filter of its own, where that has at most so many elements. */
constexpr int64_t kPieces = 8, kDividedSums = 1 << 14;

void runStrip(const Strip<float>& s) { simd().stripF32(s); }
void runStrip(const Strip<double>& s) { simd().stripF64(s); }

/** Rows of the filter that follow each other both in the image and in the filter; steps count elements. */
struct Job {
  int64_t group, slice, panel, rows;
  int64_t image, filter;
  /** Where the second half of the rows begins in the image, if it does not follow the first. */
  int64_t second = 0;
};

/** Whether all of the filter lies side by side: features, then channels, then taps. */
template <class T>
bool isDense(const Convolution<T>& c) {
  int64_t step = 1;
  const auto follows = [&](int64_t count, int64_t along) {
    const bool does = count == 1 || along == step;
    step *= count;
    return does;
  };
  bool dense = c.groups == 1 && follows(c.features, c.filter.feature) && follows(c.channels, c.filter.channel);
  for (int axis = kAxes - 1; axis >= 0; axis--) dense = dense && follows(c.axes[axis].taps, c.filter.tap[axis]);
  return dense;
}

template <class T>
std::vector<Job> jobsOf(const Convolution<T>& c, const Cuts<T>& cuts, int64_t panels) {
  const Axis* a = c.axes;
  const int64_t(&along)[kAxes] = cuts.along();
  const int64_t(&tap)[kAxes] = c.filter.tap;
  // Where neighbouring taps read neighbouring channels, their rows are one stretch.
  const bool joined = cuts.slices() == 1 && a[3].dilation == 1 && along[3] == c.channels &&
                      tap[3] == c.channels * c.filter.channel;
  const int64_t lastTaps = joined ? 1 : a[3].taps, neighbours = c.channels * a[3].taps;
  // Two short stretches fill a tile better.
  const bool paired = joined && 2 * neighbours <= simd().stripRows && tap[2] == neighbours * c.filter.channel;
  std::vector<Job> jobs;
  const auto addTap = [&](int64_t group, int64_t slice, int64_t panel, const int64_t(&at)[kAxes]) {
    int64_t image = 0, filter = cuts.firstOf(slice) * c.filter.channel;
    for (int axis = 0; axis < kAxes; axis++) {
      image += at[axis] * a[axis].dilation * along[axis];
      filter += at[axis] * tap[axis];
    }
    const int64_t rows = joined ? neighbours : cuts.channelsOf(slice);
    if (paired && at[2] + 1 < a[2].taps) {
      jobs.push_back({group, slice, panel, 2 * rows, image, filter, a[2].dilation * along[2]});
      return;
    }
    for (int64_t row = 0; row < rows; row += kJobRows)
      jobs.push_back(
          {group, slice, panel, std::min(kJobRows, rows - row), image + row, filter + row * c.filter.channel});
  };
  for (int64_t group = 0; group < c.groups; group++)
    for (int64_t slice = 0; slice < cuts.slices(); slice++)
      for (int64_t panel = 0; panel < panels; panel++)
        for (int64_t i = 0; i < a[0].taps; i++)
          for (int64_t j = 0; j < a[1].taps; j++)
            for (int64_t k = 0; k < a[2].taps; k += paired ? 2 : 1)
              for (int64_t l = 0; l < lastTaps; l++) addTap(group, slice, panel, {i, j, k, l});
  return jobs;
}

/** Where a box begins in the output. */
template <class T>
int64_t startOf(const Convolution<T>& c, const Box& box) {
  int64_t start = 0;
  for (int axis = 0; axis < kAxes; axis++) start += box.start[axis] * c.output.along[axis];
  return start;
}

/** Packs `count` features of a box of the output as [positions, width], with zeros for missing features. */
template <class T>
void packOutput(const Convolution<T>& c, const Box& box, const T* from, int64_t count, int64_t width, T* to) {
  const int64_t(&along)[kAxes] = c.output.along;
  const int64_t n = box.size[3];
  for (int64_t i = 0; i < box.size[0]; i++)
    for (int64_t j = 0; j < box.size[1]; j++)
      for (int64_t k = 0; k < box.size[2]; k++, to += n * width) {
        const T* row = from + i * along[0] + j * along[1] + k * along[2];
        if (count < width) std::fill(to, to + n * width, T(0));
        if (along[3] == 1 && c.output.channel != 1)
          simd().transpose[sizeof(T) == 4 ? 0 : 1](n, count, to, width, row, c.output.channel);
        else
          for (int64_t x = 0; x < n; x++)
            copyOf(sizeof(T))(count, to + x * width, 1, row + x * along[3], c.output.channel);
      }
}

/** The positions of a box as stretches of a sum, in the output or in its packed box. */
template <class T>
void runsOf(const Convolution<T>& c, const Cuts<T>& cuts, const Box& box, bool packs, int64_t width,
            std::vector<Run>& runs) {
  runs.clear();
  for (int64_t i = 0; i < box.size[0]; i++)
    for (int64_t j = 0; j < box.size[1]; j++)
      for (int64_t k = 0; k < box.size[2]; k++) {
        const int64_t at[] = {i, j, k};
        Run run{0, packs ? static_cast<int64_t>(runs.size()) * box.size[3] * width : 0, box.size[3]};
        for (int axis = 0; axis < 3; axis++) {
          run.a += at[axis] * c.axes[axis].stride * cuts.along()[axis];
          if (!packs) run.b += at[axis] * c.output.along[axis];
        }
        runs.push_back(run);
      }
}

/** Asks for an image that is read where it is. Strips read it column by column, which no prefetcher would foresee. */
template <class T>
void prefetch(const std::vector<Run>& runs, const T* image, int64_t step, int64_t channels) {
  constexpr int64_t line = 64 / sizeof(T);
  for (const Run& run : runs)
    for (int64_t t = 0; t < run.length; t++)
      for (int64_t channel = 0; channel < channels; channel += line)
        __builtin_prefetch(image + run.a + t * step + channel, 0, 2);
}

}  // namespace

template <class T>
void filterGradient(const Convolution<T>& given) {
  if constexpr (sizeof(T) == sizeof(float))
    if (tileFilterGradient(given) || winogradFilterGradient(given)) return;
  const Convolution<T> c = arranged(given, simd().stripRows);
  const int64_t width = simd().stripBytes / static_cast<int64_t>(sizeof(T));
  const int64_t panels = (c.features + width - 1) / width;
  const Cuts<T> cuts(c, {kPositions, kChannels, kBytes, 1});
  const std::vector<Job> jobs = jobsOf(c, cuts, panels);
  const int64_t jobCount = static_cast<int64_t>(jobs.size()), threads = Pool::get().parts(c.work(), kGrain);
  const int64_t sums = c.taps() * c.channels * c.features;
  // How a sum is divided must not depend on the number of threads.
  const bool divided = isDense(c) && sums <= kDividedSums && c.work() > kPieces * kGrain;
  const int64_t pieces = divided ? std::min(kPieces, cuts.boxes()) : 1;
  const int64_t parts = divided ? pieces : std::min(threads, jobCount), seats = std::min(threads, parts);
  // Whole vectors of features can be read where they are.
  const bool packs = c.output.channel != 1 || c.features % width != 0;
  // Where they are, the next box is fetched meanwhile: every strip fetches a line of each position.
  constexpr int64_t line = 64 / sizeof(T);
  const int64_t lines = packs ? 0 : (width + line - 1) / line;
  const int64_t room = cuts.room() + (packs ? cuts.positions() * width : 0);
  T* const scratch = reinterpret_cast<T*>(Pool::scratch((seats * room + (pieces - 1) * sums) * static_cast<int64_t>(sizeof(T))));
  T* const others = scratch + seats * room;

  Pool::get().run(parts, [&](int64_t part, int64_t seat) {
    const Range mine = divided ? Range{0, jobCount} : rangeOf(part, parts, jobCount);
    const Range boxes = divided ? rangeOf(part, pieces, cuts.boxes()) : Range{0, cuts.boxes()};
    T* const filter = divided && part > 0 ? others + (part - 1) * sums : c.filter.data;
    T* const copied = scratch + seat * room;
    T* const packed = copied + cuts.room();
    std::vector<Run> runs;
    Strip<T> s;
    s.aRow = 1;
    s.aStep = c.axes[3].stride * cuts.along()[3];
    s.bStep = packs ? width : c.output.along[3];
    s.cRow = c.filter.channel;
    s.cColumn = c.filter.feature;
    for (int64_t index = boxes.begin; index < boxes.end; index++) {
      const Box box = cuts.box(index);
      runsOf(c, cuts, box, packs, width, runs);
      s.runs = runs.data();
      s.runCount = static_cast<int64_t>(runs.size());
      s.add = index > boxes.begin;
      const T* image = nullptr;
      const Job* before = nullptr;
      const int64_t ahead = index + 1 < boxes.end ? startOf(c, cuts.box(index + 1)) - startOf(c, box) : 0;
      int64_t fetched = 0;
      for (int64_t i = mine.begin; i < mine.end; i++) {
        const Job& job = jobs[static_cast<size_t>(i)];
        const bool newSlice = !before || before->group != job.group || before->slice != job.slice;
        if (newSlice) {
          image = cuts.image(box, job.group, job.slice, copied);
          if (cuts.room() == 0) prefetch(runs, image, s.aStep, cuts.channelsOf(job.slice));
        }
        if (newSlice || before->panel != job.panel) {
          s.columns = std::min(width, c.features - job.panel * width);
          const T* output = c.output.data + job.group * c.output.group + job.panel * width * c.output.channel + startOf(c, box);
          if (packs) packOutput(c, box, output, s.columns, width, packed);
          s.b = packs ? packed : output;
          fetched = 0;
        }
        before = &job;
        s.rows = job.rows;
        s.a = image + job.image;
        s.aSecond = job.second;
        s.bAhead = fetched < lines ? ahead + fetched++ * line : 0;
        s.c = filter + job.group * c.filter.group + job.panel * width * c.filter.feature + job.filter;
        runStrip(s);
      }
    }
  }, seats);
  const BlockFn add = simd().ops[static_cast<int>(Op::add)][static_cast<int>(sizeof(T) == sizeof(float) ? Kind::f32 : Kind::f64)];
  for (int64_t piece = 1; piece < pieces; piece++)
    add(sums, {c.filter.data, {c.filter.data, others + (piece - 1) * sums}, {1, 1}, 0, nullptr});
}

template void filterGradient(const Convolution<float>&);
template void filterGradient(const Convolution<double>&);

}  // namespace tl

/**
 * The filter of a convolution from its input and output: a matrix product of taps with channels, and features, summed over
 * positions.
 *
 * Positions are cut into boxes, whose part of the sum is added to the filter one after the other, always in this order.
 * Rows are neighbouring channels, which the kernel reads from the image where they are; see strip.simd.cpp.
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
/** Bytes of a box's image, and its positions: a panel of the output of a box stays in the first cache. */
constexpr int64_t kBoxBytes = 192 << 10;
constexpr int64_t kPositions = 256;
/** Rows that are shared out together. */
constexpr int64_t kJobRows = 56;
/** From so many rows on it pays to pack the output. */
constexpr int64_t kPackRows = 64;

void runStrip(const Strip<float>& s) { simd().stripF32(s); }
void runStrip(const Strip<double>& s) { simd().stripF64(s); }

/** A stretch of rows of the filter that follow each other in the image and in the filter. */
struct Job {
  int64_t group, panel, rows;
  /** Where the first row is, in elements. */
  int64_t source, filter;
};

template <class T>
std::vector<Job> jobsOf(const Convolution<T>& c, const int64_t (&along)[kAxes], int64_t panels) {
  const Axis* a = c.axes;
  const int64_t(&tap)[kAxes] = c.filter.tap;
  const bool joined = a[3].dilation == 1 && along[3] == c.channels && tap[3] == c.channels * c.filter.channel;
  const int64_t length = c.channels * (joined ? a[3].taps : 1), lastTaps = joined ? 1 : a[3].taps;
  std::vector<Job> jobs;
  for (int64_t group = 0; group < c.groups; group++)
    for (int64_t panel = 0; panel < panels; panel++)
      for (int64_t i = 0; i < a[0].taps; i++)
        for (int64_t j = 0; j < a[1].taps; j++)
          for (int64_t k = 0; k < a[2].taps; k++)
            for (int64_t l = 0; l < lastTaps; l++) {
              const int64_t source = i * a[0].dilation * along[0] + j * a[1].dilation * along[1] + k * a[2].dilation * along[2] + l * a[3].dilation * along[3];
              const int64_t filter = i * tap[0] + j * tap[1] + k * tap[2] + l * tap[3];
              for (int64_t row = 0; row < length; row += kJobRows)
                jobs.push_back({group, panel, std::min(kJobRows, length - row), source + row, filter + row * c.filter.channel});
            }
  return jobs;
}

/** Packs `count` features of a box of the output as [positions, width], with zeros for missing features. */
template <class T>
void packOutput(const Convolution<T>& c, const typename Boxes<T>::Box& box, const T* from, int64_t count, int64_t width, T* to) {
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
          for (int64_t x = 0; x < n; x++) copyOf(sizeof(T))(count, to + x * width, 1, row + x * along[3], c.output.channel);
      }
}

}  // namespace

template <class T>
void filterGradient(const Convolution<T>& given) {
  const Convolution<T> c = arranged(given);
  const int64_t width = simd().stripBytes / static_cast<int64_t>(sizeof(T));
  const int64_t panels = (c.features + width - 1) / width;
  const int64_t threads = Pool::get().parts(c.work(), kGrain);
  const Boxes<T> boxes(c, kBoxBytes, kPositions, 1);
  const std::vector<Job> jobs = jobsOf(c, boxes.along(), panels);
  const int64_t parts = std::min(threads, static_cast<int64_t>(jobs.size()));
  const bool packs = c.output.channel != 1 || c.features % width != 0 || (c.features > width && c.taps() * c.channels >= kPackRows);
  const int64_t room = boxes.room() + (packs ? boxes.positions() * width : 0);
  T* const scratch = reinterpret_cast<T*>(Pool::scratch(parts * room * static_cast<int64_t>(sizeof(T))));

  Pool::get().run(parts, [&](int64_t part) {
    const Range mine = rangeOf(part, parts, static_cast<int64_t>(jobs.size()));
    T* const copied = scratch + part * room;
    T* const packed = copied + boxes.room();
    std::vector<Run> runs;
    Strip<T> s;
    s.aRow = 1;
    s.aStep = c.axes[3].stride * boxes.along()[3];
    s.bStep = packs ? width : c.output.along[3];
    s.cRow = c.filter.channel;
    s.cColumn = c.filter.feature;
    for (int64_t index = 0; index < boxes.count(); index++) {
      const auto box = boxes.box(index);
      s.add = index > 0;
      runs.clear();
      for (int64_t i = 0; i < box.size[0]; i++)
        for (int64_t j = 0; j < box.size[1]; j++)
          for (int64_t k = 0; k < box.size[2]; k++) {
            const int64_t at[] = {i, j, k};
            Run run{0, packs ? static_cast<int64_t>(runs.size()) * box.size[3] * width : 0, box.size[3]};
            for (int axis = 0; axis < 3; axis++) {
              run.a += at[axis] * c.axes[axis].stride * boxes.along()[axis];
              if (!packs) run.b += at[axis] * c.output.along[axis];
            }
            runs.push_back(run);
          }
      s.runs = runs.data();
      s.runCount = static_cast<int64_t>(runs.size());
      Source<T> source{};
      int64_t group = -1, panel = -1;
      for (int64_t i = mine.begin; i < mine.end; i++) {
        const Job& job = jobs[static_cast<size_t>(i)];
        if (job.group != group) source = boxes.source(box, job.group, copied);
        if (job.group != group || job.panel != panel) {
          s.columns = std::min(width, c.features - job.panel * width);
          const T* output = c.output.data + job.group * c.output.group + job.panel * width * c.output.channel;
          for (int axis = 0; axis < kAxes; axis++) output += box.start[axis] * c.output.along[axis];
          if (packs) packOutput(c, box, output, s.columns, width, packed);
          s.b = packs ? packed : output;
        }
        group = job.group;
        panel = job.panel;
        s.rows = job.rows;
        s.a = source.data + job.source;
        s.c = c.filter.data + job.group * c.filter.group + job.panel * width * c.filter.feature + job.filter;
        runStrip(s);
      }
    }
  });
}

template void filterGradient(const Convolution<float>&);
template void filterGradient(const Convolution<double>&);

}  // namespace tl

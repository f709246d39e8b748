/**
 * The output of a convolution: a matrix product of positions and features.
 *
 * The filter is packed into panels as wide as two vectors of features. Positions are cut into boxes whose piece of the
 * image stays in the second cache, sums into blocks of which a panel stays in the first. A strip of positions of a box then
 * meets a block of a panel at a time; see strip.simd.cpp.
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
/** Bytes of a box's image, and terms of a block of a sum. */
constexpr int64_t kBoxBytes = 192 << 10;
constexpr int64_t kDepth = 256;
/** Positions of a box, of which a panel of the output stays in the second cache while the blocks are added up. */
constexpr int64_t kPositions = 4096;

void runStrip(const Strip<float>& s) { simd().stripF32(s); }
void runStrip(const Strip<double>& s) { simd().stripF64(s); }

/** Runs whose terms are added up together. */
struct Block {
  std::vector<Run> runs;
};

/** The sum's terms in the order of taps and channels, in blocks; `width` elements of a panel go with each. */
template <class T>
std::vector<Block> blocksOf(const Convolution<T>& c, const int64_t (&along)[kAxes], int64_t width) {
  const Axis* a = c.axes;
  // Where neighbouring taps read neighbouring channels, one run goes over all of them.
  const bool joined = a[3].dilation == 1 && along[3] == c.channels;
  const int64_t length = c.channels * (joined ? a[3].taps : 1), lastTaps = joined ? 1 : a[3].taps;
  std::vector<Block> blocks(1);
  int64_t depth = 0, term = 0;
  const auto add = [&](int64_t start) {
    for (int64_t done = 0; done < length;) {
      if (depth == kDepth) {
        blocks.emplace_back();
        depth = 0;
      }
      const int64_t n = std::min(length - done, kDepth - depth);
      blocks.back().runs.push_back({start + done, term * width, n});
      done += n;
      depth += n;
      term += n;
    }
  };
  for (int64_t i = 0; i < a[0].taps; i++)
    for (int64_t j = 0; j < a[1].taps; j++)
      for (int64_t k = 0; k < a[2].taps; k++)
        for (int64_t l = 0; l < lastTaps; l++)
          add(i * a[0].dilation * along[0] + j * a[1].dilation * along[1] + k * a[2].dilation * along[2] + l * a[3].dilation * along[3]);
  return blocks;
}

/** Packs `count` features of all taps and channels as [taps, channels, width], with zeros for missing features. */
template <class T>
void packPanel(const Convolution<T>& c, const T* from, int64_t count, int64_t width, T* to) {
  const Filter<T>& f = c.filter;
  const Axis* a = c.axes;
  if (count < width) std::fill(to, to + c.taps() * c.channels * width, T(0));
  for (int64_t i = 0; i < a[0].taps; i++)
    for (int64_t j = 0; j < a[1].taps; j++)
      for (int64_t k = 0; k < a[2].taps; k++)
        for (int64_t l = 0; l < a[3].taps; l++, to += c.channels * width) {
          const T* tap = from + i * f.tap[0] + j * f.tap[1] + k * f.tap[2] + l * f.tap[3];
          if (f.channel == 1 && f.feature != 1)
            simd().transpose[sizeof(T) == 4 ? 0 : 1](c.channels, count, to, width, tap, f.feature);
          else
            for (int64_t channel = 0; channel < c.channels; channel++)
              copyOf(sizeof(T))(count, to + channel * width, 1, tap + channel * f.channel, f.feature);
        }
}

}  // namespace

template <class T>
void correlate(const Convolution<T>& given) {
  const Convolution<T> c = arranged(given);
  const int64_t width = simd().stripBytes / static_cast<int64_t>(sizeof(T));
  const int64_t panels = (c.features + width - 1) / width, panelSize = c.taps() * c.channels * width;
  const int64_t threads = Pool::get().parts(c.work(), kGrain);
  const Boxes<T> boxes(c, kBoxBytes, kPositions, threads);
  const std::vector<Block> blocks = blocksOf(c, boxes.along(), width);

  const int64_t places = c.groups * boxes.count();
  // Few boxes are shared out by their features as well.
  const int64_t shares = std::clamp<int64_t>((threads + places - 1) / places, 1, panels), units = places * shares;
  const int64_t parts = std::min(threads, units);
  T* packed = reinterpret_cast<T*>(Pool::scratch((c.groups * panels * panelSize + parts * boxes.room()) * static_cast<int64_t>(sizeof(T))));
  T* scratch = packed + c.groups * panels * panelSize;

  Pool::get().run(std::min(threads, c.groups * panels), [&](int64_t part) {
    const Range range = rangeOf(part, std::min(threads, c.groups * panels), c.groups * panels);
    for (int64_t i = range.begin; i < range.end; i++) {
      const int64_t feature = i % panels * width;
      packPanel(c, c.filter.data + i / panels * c.filter.group + feature * c.filter.feature, std::min(width, c.features - feature), width, packed + i * panelSize);
    }
  });

  Pool::get().run(parts, [&](int64_t part) {
    const Range range = rangeOf(part, parts, units);
    for (int64_t unit = range.begin; unit < range.end; unit++) {
      const int64_t group = unit / shares / boxes.count();
      const auto box = boxes.box(unit / shares % boxes.count());
      const Source<T> source = boxes.source(box, group, scratch + part * boxes.room());
      const Range mine = rangeOf(unit % shares, shares, panels);
      Strip<T> s;
      s.rows = box.size[3];
      s.aRow = c.axes[3].stride * source.along[3];
      s.aStep = 1;
      s.bStep = width;
      s.cRow = c.output.along[3];
      s.cColumn = c.output.channel;
      for (int64_t panel = mine.begin; panel < mine.end; panel++) {
        s.columns = std::min(width, c.features - panel * width);
        s.b = packed + (group * panels + panel) * panelSize;
        T* const output = c.output.data + group * c.output.group + panel * width * c.output.channel + box.start[3] * c.output.along[3];
        for (const Block& block : blocks) {
          s.runs = block.runs.data();
          s.runCount = static_cast<int64_t>(block.runs.size());
          s.add = &block != &blocks.front();
          for (int64_t i = 0; i < box.size[0]; i++)
            for (int64_t j = 0; j < box.size[1]; j++)
              for (int64_t k = 0; k < box.size[2]; k++) {
                const int64_t at[] = {i, j, k};
                s.a = source.data;
                s.c = output;
                for (int axis = 0; axis < 3; axis++) {
                  s.a += at[axis] * c.axes[axis].stride * source.along[axis];
                  s.c += (box.start[axis] + at[axis]) * c.output.along[axis];
                }
                runStrip(s);
              }
        }
      }
    }
  });
}

template void correlate(const Convolution<float>&);
template void correlate(const Convolution<double>&);

}  // namespace tl

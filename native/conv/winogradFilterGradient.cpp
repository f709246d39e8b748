/**
 * The filter of a convolution by fewer products: winograd.h says how.
 *
 * Patches are taken block by block, and their products added to sums at every point. Threads have sums of their own for some of the lines
 * where that takes little memory; else they share the lines of a block, then its points. Either way what a sum is, and in which
 * order it is added up, does not depend on how many threads there are.
 */
#include <atomic>
#include <cstring>

#include "winograd.h"

namespace tl {
namespace {

/** Bytes that the points of a block may take, to stay in the second cache; and patches, at least: terms of a sum that stay in registers. */
constexpr int64_t kBlockBytes = 448 << 10, kLeastPatches = 56;
/** Bytes of sums that may be there several times, how often at most, and the patches that each is for at least: adding them up takes time. */
constexpr int64_t kSumBytes = 640 << 10, kMostSums = 16, kPatchesOfSums = 14 * kLeastPatches;

/** A gradient's sums at all points, [points, channels, features], and the memory to add to them. */
class PointSums {
 public:
  explicit PointSums(const Convolution<float>& c)
      : c_(c), grid_(c), lines_(blockLines()), inRow_(pointRow(c.channels)), outRow_(pointRow(c.features)) {}

  const PatchGrid& grid() const { return grid_; }
  /** Elements at a point, and at all of them. */
  int64_t pointSize() const { return c_.channels * c_.features; }
  int64_t size() const { return kPatchPoints * pointSize(); }
  /** Elements of scratch memory that `add` needs for so many threads. */
  int64_t room(int64_t threads) const { return blockSize(inRow_) + blockSize(outRow_) + threads * grid_.rowsRoom(); }
  /** How many times there are sums, each for some of the lines: a power of two, for as many threads to share. */
  int64_t copies() const {
    if (size() * static_cast<int64_t>(sizeof(float)) > kSumBytes) return 1;
    const int64_t most = std::min({grid_.patches() / kPatchesOfSums, kMostSums, grid_.lines()});
    int64_t copies = 1;
    while (copies * 2 <= most) copies *= 2;
    return copies;
  }

  /** The sums over some lines, on so many threads. */
  void of(Range range, int64_t threads, const float* zeros, float* room, float* sums) const {
    for (int64_t first = range.begin; first < range.end; first += lines_)
      addBlock({first, std::min(first + lines_, range.end)}, first > range.begin, threads, zeros, room, sums);
  }

 private:
  int64_t blockLines() const {
    const int64_t patchBytes = kPatchPoints * (c_.channels + c_.features) * static_cast<int64_t>(sizeof(float));
    return std::clamp<int64_t>(std::max(kBlockBytes / patchBytes, kLeastPatches) / grid_.across(), 1, grid_.lines());
  }
  int64_t blockSize(int64_t row) const { return kPatchPoints * pointStep(lines_ * grid_.across(), row); }

  void addBlock(Range lines, bool add, int64_t threads, const float* zeros, float* room, float* sums) const {
    float *const inputs = room, *const outputs = inputs + blockSize(inRow_), *const rows = outputs + blockSize(outRow_);
    const int64_t count = lines.end - lines.begin, patches = count * grid_.across();
    const int64_t inStep = pointStep(patches, inRow_), outStep = pointStep(patches, outRow_);
    Pool::get().run(count, [&](int64_t i, int64_t seat) {
      const int64_t line = lines.begin + i, patch = i * grid_.across();
      grid_.toPoints(line, zeros, rows + seat * grid_.rowsRoom(), inputs + patch * inRow_, inStep, inRow_);
      simd().winograd.outputPoints(grid_.outputs<const float>(line, c_.output.data, outputs + patch * outRow_, outStep, outRow_),
                                   grid_.taps());
    }, threads);
    const int64_t width = simd().stripBytes / static_cast<int64_t>(sizeof(float)), panels = (c_.features + width - 1) / width;
    Pool::get().run(kPatchPoints * panels, [&](int64_t part) {
      const int64_t point = part / panels, panel = part % panels * width;
      const Run run = {0, 0, patches};
      Strip<float> s;
      s.rows = c_.channels;
      s.columns = std::min(width, c_.features - panel);
      s.runs = &run;
      s.runCount = 1;
      s.a = inputs + point * inStep;
      s.aRow = 1;
      s.aStep = inRow_;
      s.b = outputs + point * outStep + panel;
      s.bStep = outRow_;
      s.c = sums + point * pointSize() + panel;
      s.cRow = c_.features;
      s.cColumn = 1;
      s.add = add;
      simd().stripF32(s);
    }, threads);
  }

  const Convolution<float>& c_;
  PatchGrid grid_;
  int64_t lines_, inRow_, outRow_;
};

}  // namespace

bool winogradFilterGradient(const Convolution<float>& c) {
  if (!suitsWinograd(c) || c.filter.feature != 1) return false;
  const PointSums sums(c);
  const PatchGrid& grid = sums.grid();
  const int64_t threads = Pool::get().parts(c.work(), kPatchGrain), copies = sums.copies();
  const int64_t seats = std::min(threads, copies), inside = copies == 1 ? threads : 1, room = sums.room(inside);
  float* const zeros = reinterpret_cast<float*>(
      Pool::scratch((grid.zeros() + copies * sums.size() + seats * room) * static_cast<int64_t>(sizeof(float))));
  float *const points = zeros + grid.zeros(), *const rooms = points + copies * sums.size();
  std::memset(zeros, 0, static_cast<size_t>(grid.zeros()) * sizeof(float));
  Pool::get().run(copies, [&](int64_t copy, int64_t seat) {
    sums.of(rangeOf(copy, copies, grid.lines()), inside, zeros, rooms + seat * room, points + copy * sums.size());
  }, seats);

  std::atomic<bool> finite{true};
  Pool::get().run(c.channels, [&](int64_t channel) {
    float* const of = points + channel * c.features;
    for (int64_t copy = 1; copy < copies; copy++)
      for (int64_t point = 0; point < kPatchPoints; point++) {
        float* const to = of + point * sums.pointSize();
        const float* const from = to + copy * sums.size();
        for (int64_t i = 0; i < c.features; i++) to[i] += from[i];
      }
    if (!simd().winograd.filters({c.features, of, sums.pointSize(), c.filter.data + channel * c.filter.channel, c.filter.tap[2], c.filter.tap[3]},
                                 grid.taps()))
      finite.store(false, std::memory_order_relaxed);
  }, threads);
  return finite;
}

}  // namespace tl

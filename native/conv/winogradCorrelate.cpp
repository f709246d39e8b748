/** The output of a convolution by fewer products: winograd.h says how. */
#include <atomic>
#include <cstring>

#include "winograd.h"

namespace tl {
namespace {

/** Bytes that the points of a block of patches and of its outputs may take: they stay in the second cache, beside the filter if that does. */
constexpr int64_t kBlockBytes = 448 << 10;
/** Patches of a block, at least and at most: the filter is read once for each block. */
constexpr int64_t kLeastPatches = 28, kMostPatches = 112;

/** The points of a filter in panels [points, panels, channels, width]. */
class FilterPanels {
 public:
  FilterPanels(const Convolution<float>& c, int64_t taps)
      : c_(c), taps_(taps), width_(simd().stripBytes / static_cast<int64_t>(sizeof(float))) {}

  int64_t width() const { return width_; }
  int64_t count() const { return (c_.features + width_ - 1) / width_; }
  int64_t pointSize() const { return count() * c_.channels * width_; }
  int64_t at(int64_t point, int64_t panel) const { return point * pointSize() + panel * c_.channels * width_; }

  /** Sixteen features of all channels. */
  void pack(int64_t block, float* to) const {
    const Filter<float>& f = c_.filter;
    const int64_t first = block * kBlock;
    float* const panel = to + at(0, first / width_) + first % width_;
    const float* const from = f.data + first * f.feature;
    if (f.feature == 1) {
      for (int64_t channel = 0; channel < c_.channels; channel++)
        packPart(kBlock, from + channel * f.channel, [&](int64_t i) { return panel + i / width_ * c_.channels * width_ + channel * width_ + i % width_; });
      return;
    }
    // Channels are side by side.
    alignas(64) float points[kBlock][kPatchPoints * kBlock];
    for (int64_t channel = 0; channel < c_.channels; channel += kBlock) {
      for (int64_t i = 0; i < kBlock; i++)
        simd().winograd.filterPoints({kBlock, points[i], kBlock, from + i * f.feature + channel * f.channel, f.tap[2], f.tap[3]}, taps_);
      for (int64_t point = 0; point < kPatchPoints; point++)
        for (int64_t i = 0; i < kBlock; i += std::min(width_, kBlock))
          simd().transpose[0](kBlock, std::min(width_, kBlock), panel + point * pointSize() + i / width_ * c_.channels * width_ + channel * width_, width_,
                              points[i] + point * kBlock, kPatchPoints * kBlock);
    }
  }
  static constexpr int64_t kBlock = 16;

 private:
  template <class At>
  void packPart(int64_t features, const float* from, const At& to) const {
    for (int64_t i = 0; i < features; i += std::min(width_, features))
      simd().winograd.filterPoints({std::min(width_, features), to(i), pointSize(), from + i, c_.filter.tap[2], c_.filter.tap[3]}, taps_);
  }

  const Convolution<float>& c_;
  int64_t taps_, width_;
};

/** Lines of patches of a block. */
int64_t blockLines(const Convolution<float>& c, const PatchGrid& grid, int64_t threads) {
  const int64_t patchBytes = kPatchPoints * (c.channels + c.features) * static_cast<int64_t>(sizeof(float));
  const int64_t patches = std::clamp(kBlockBytes / patchBytes, kLeastPatches, kMostPatches);
  const int64_t lines = std::max<int64_t>(1, patches / grid.across());
  return std::max<int64_t>(1, std::min(lines, grid.lines() / Pool::finer(threads, grid.lines())));
}

}  // namespace

bool winogradCorrelate(const Convolution<float>& c) {
  if (!suitsWinograd(c)) return false;
  const PatchGrid grid(c);
  const FilterPanels filter(c, grid.taps());
  const int64_t threads = Pool::get().parts(c.work(), kPatchGrain);
  const int64_t lines = blockLines(c, grid, threads), blocks = (grid.lines() + lines - 1) / lines;
  const int64_t seats = std::min(threads, blocks), inRow = pointRow(c.channels), outRow = pointRow(c.features);
  const int64_t in = kPatchPoints * pointStep(lines * grid.across(), inRow), out = kPatchPoints * pointStep(lines * grid.across(), outRow);
  const int64_t filterSize = kPatchPoints * filter.pointSize(), seatSize = grid.rowsRoom() + in + out;
  float* const packed = reinterpret_cast<float*>(
      Pool::scratch((filterSize + grid.zeros() + seats * seatSize) * static_cast<int64_t>(sizeof(float))));
  float* const zeros = packed + filterSize;
  std::memset(zeros, 0, static_cast<size_t>(grid.zeros()) * sizeof(float));
  Pool::get().run(c.features / FilterPanels::kBlock, [&](int64_t block) { filter.pack(block, packed); }, threads);

  std::atomic<bool> finite{true};
  Pool::get().run(blocks, [&](int64_t block, int64_t seat) {
    float* const room = zeros + grid.zeros() + seat * seatSize;
    float *const inputs = room + grid.rowsRoom(), *const outputs = inputs + in;
    const int64_t first = block * lines, end = std::min(first + lines, grid.lines()), patches = (end - first) * grid.across();
    const int64_t inStep = pointStep(patches, inRow), outStep = pointStep(patches, outRow);
    for (int64_t line = first; line < end; line++)
      grid.toPoints(line, zeros, room, inputs + (line - first) * grid.across() * inRow, inStep, inRow);
    const Run run = {0, 0, c.channels};
    Strip<float> s;
    s.rows = patches;
    s.runs = &run;
    s.runCount = 1;
    s.aRow = inRow;
    s.aStep = 1;
    s.bStep = filter.width();
    s.cRow = outRow;
    s.cColumn = 1;
    s.add = false;
    for (int64_t point = 0; point < kPatchPoints; point++)
      for (int64_t panel = 0; panel < filter.count(); panel++) {
        s.columns = std::min(filter.width(), c.features - panel * filter.width());
        s.a = inputs + point * inStep;
        s.b = packed + filter.at(point, panel);
        s.c = outputs + point * outStep + panel * filter.width();
        simd().stripF32(s);
      }
    bool allFinite = true;
    for (int64_t line = first; line < end; line++)
      allFinite &= simd().winograd.outputs(
          grid.outputs(line, c.output.data, outputs + (line - first) * grid.across() * outRow, outStep, outRow), grid.taps());
    if (!allFinite) finite.store(false, std::memory_order_relaxed);
  }, seats);
  return finite;
}

}  // namespace tl

/**
 * The filter of a convolution on the matrix unit: for every tap a product of channels and features, summed over positions.
 *
 * Positions are cut into boxes. The image of a box is split so that the pixels of a channel lie side by side: they are the
 * terms of the sums, and the tile of a tap begins a few pixels after that of another. The output is packed in the same
 * order, with zeros where a row of pixels has more of them than the output has positions.
 */
#include <algorithm>
#include <cstring>
#include <vector>

#include "../core/pool.h"
#include "boxes.h"
#include "tileConv.h"

namespace tl {
namespace {

/** Positions of a box, and channels of a slice. */
constexpr int64_t kPositions = 1024;
constexpr int64_t kChannels = 128;
/** Channels and features that are computed together. */
constexpr int64_t kBlock = 2 * kTileSide;
/** Output that there is not. */
alignas(64) constexpr float kZeros[kTileSide] = {};

/** Positions that follow each other: rows of the output of some length, and of `pitch` pixels in the image. */
struct Stretch {
  int64_t pixel, rows, length, pitch, steps;
  const float* output;
};

class TileFilterGradient {
 public:
  explicit TileFilterGradient(const Convolution<float>& c)
      : c_(c), cuts_(c, {kPositions, kChannels, 0, 1, false, true, kTileSide}), joins_(joinsRows(c)) {
    const Box box = cuts_.box(0);
    int64_t pixels = 1;
    for (int axis = 0; axis < kAxes; axis++) pixels *= c.axes[axis].reach(box.size[axis]);
    // An odd number of lines, so that neighbouring rows fall into different parts of the cache. Behind the pixels there must be
    // as many as a tile takes.
    rowBytes_ = roundUp(2 * pixels + 64, 128) + 64;
    level_ = rowBytes_ * roundUp(cuts_.channelsOf(0), kTileSide);
    steps_ = 0;
    for (const Stretch& s : stretchesOf(box)) steps_ += s.steps;
    direct_ = c.filter.feature == 1 && c.channels % kTileSide == 0 && c.features % kTileSide == 0 && c.filter.channel > 0;
  }

  /** The part of the terms that are not padding. */
  static double useOf(const Convolution<float>& c) {
    const int64_t length = c.axes[3].out, rows = c.axes[2].out;
    const double alone = fillOf(length, kTileTerms);
    if (c.axes[2].stride != 1) return alone;
    const int64_t joined = (rows - 1) * c.axes[3].reach(length) + length;
    return std::max(alone, static_cast<double>(rows * length) / static_cast<double>(roundUp(joined, kTileTerms)));
  }
  static bool joinsRows(const Convolution<float>& c) {
    return c.axes[2].stride == 1 && useOf(c) > fillOf(c.axes[3].out, kTileTerms);
  }

  bool run(int64_t threads) {
    const int64_t taps = c_.taps(), paddedFeatures = roundUp(c_.features, kTileSide), paddedChannels = roundUp(c_.channels, kTileSide);
    const int64_t featureBlocks = paddedFeatures / kTileSide;
    const int64_t copyBytes = roundUp(cuts_.room() * static_cast<int64_t>(sizeof(float)), 64);
    const int64_t outputBytes = featureBlocks * steps_ * kPackedBytes;
    const int64_t asideBytes = direct_ ? 0 : taps * paddedChannels * paddedFeatures * static_cast<int64_t>(sizeof(float));
    char* const memory = Pool::scratch(copyBytes + 3 * level_ + outputBytes + asideBytes);
    float* const copied = reinterpret_cast<float*>(memory);
    char *const split = memory + copyBytes, *const packed = split + 3 * level_;
    float* const aside = reinterpret_cast<float*>(packed + outputBytes);
    for (int64_t group = 0; group < c_.groups; group++) {
      for (int64_t index = 0; index < cuts_.boxes(); index++) {
        const Box box = cuts_.box(index);
        const std::vector<Stretch> stretches = stretchesOf(box);
        std::vector<int64_t> steps;
        for (const Stretch& s : stretches)
          for (int64_t step = 0; step < s.steps; step++) steps.push_back(2 * (s.pixel + step * kTileTerms));
        for (int64_t slice = 0; slice < cuts_.slices(); slice++) {
          // The image, and the output block by block, unless it is still there.
          const int64_t tasks = slice == 0 ? 1 + featureBlocks : 1;
          Pool::get().run(std::min(tasks, threads), [&](int64_t part) {
            const Range mine = rangeOf(part, std::min(tasks, threads), tasks);
            for (int64_t task = mine.begin; task < mine.end; task++)
              if (task == 0) splitImage(box, group, slice, copied, split);
              else packOutput(stretches, group, task - 1, packed + (task - 1) * steps_ * kPackedBytes);
          });
          if (!finite_) return false;
          const int64_t channelBlocks = ceilDiv(cuts_.channelsOf(slice), kBlock), strips = ceilDiv(c_.features, kBlock);
          const int64_t jobs = strips * taps * channelBlocks, parts = std::min(threads, jobs);
          Pool::get().run(parts, [&](int64_t part) {
            const TileUse use;
            const Range mine = rangeOf(part, parts, jobs);
            TileSums t;
            t.aRow = rowBytes_;
            t.aLevel = level_;
            t.aSecond = kTileSide * rowBytes_;
            t.aSteps = steps.data();
            t.steps = static_cast<int64_t>(steps.size());
            t.bSecond = steps_ * kPackedBytes;
            t.add = index > 0;
            for (int64_t job = mine.begin; job < mine.end; job++) {
              const int64_t strip = job / (taps * channelBlocks), tap = job / channelBlocks % taps;
              const int64_t channel = job % channelBlocks * kBlock, feature = strip * kBlock;
              const Tap at = tapAt(tap, box);
              t.a = split + channel * rowBytes_ + 2 * at.pixel;
              t.b = packed + strip * 2 * steps_ * kPackedBytes;
              t.cRow = direct_ ? c_.filter.channel : paddedFeatures;
              t.c = direct_ ? c_.filter.data + group * c_.filter.group + at.filter + (cuts_.firstOf(slice) + channel) * t.cRow + feature
                            : aside + (tap * paddedChannels + cuts_.firstOf(slice) + channel) * paddedFeatures + feature;
              t.cSecond = kTileSide * t.cRow;
              simd().tiles.multiply(t, ceilDiv(std::min(kBlock, cuts_.channelsOf(slice) - channel), kTileSide),
                                    ceilDiv(std::min(kBlock, c_.features - feature), kTileSide));
            }
          });
        }
      }
      if (!direct_) copyFilter(group, aside, paddedChannels, paddedFeatures);
    }
    return true;
  }

 private:
  struct Tap {
    int64_t pixel, filter;
  };

  /** Where a tap begins, in pixels of a box and in the filter. */
  Tap tapAt(int64_t index, const Box& box) const {
    Tap tap = {0, 0};
    int64_t pixels = 1;
    for (int axis = kAxes - 1; axis >= 0; axis--) {
      const Axis& a = c_.axes[axis];
      tap.pixel += index % a.taps * a.dilation * pixels;
      tap.filter += index % a.taps * c_.filter.tap[axis];
      pixels *= a.reach(box.size[axis]);
      index /= a.taps;
    }
    return tap;
  }

  /** Positions of a box as stretches of the sums, of the first feature of the first group. */
  std::vector<Stretch> stretchesOf(const Box& box) const {
    std::vector<Stretch> stretches;
    int64_t size[kAxes], along[kAxes];
    for (int axis = 0; axis < kAxes; axis++) size[axis] = c_.axes[axis].reach(box.size[axis]);
    denseSteps(size, 1, along);
    const int64_t rows = joins_ ? box.size[2] : 1, length = (rows - 1) * size[3] + box.size[3];
    for (int64_t i = 0; i < box.size[0]; i++)
      for (int64_t j = 0; j < box.size[1]; j++)
        for (int64_t k = 0; k < box.size[2]; k += rows) {
          const int64_t at[kAxes] = {i, j, k, 0};
          Stretch s = {0, rows, box.size[3], size[3], ceilDiv(length, kTileTerms), c_.output.data};
          for (int axis = 0; axis < kAxes; axis++) {
            s.pixel += at[axis] * c_.axes[axis].stride * along[axis];
            s.output += (box.start[axis] + at[axis]) * c_.output.along[axis];
          }
          stretches.push_back(s);
        }
    return stretches;
  }

  void splitImage(const Box& box, int64_t group, int64_t slice, float* copied, char* split) {
    int64_t pixels = 1;
    for (int axis = 0; axis < kAxes; axis++) pixels *= c_.axes[axis].reach(box.size[axis]);
    const float* image = cuts_.image(box, group, slice, copied);
    if (!simd().tiles.splitChannels(pixels, cuts_.channelsOf(slice), image, cuts_.along()[kAxes - 1], split, rowBytes_, level_))
      finite_ = false;
    // Tiles reach beyond the last pixel; what is there meets zeros, but must be numbers.
    const int64_t written = 2 * roundUp(pixels, kTileTerms);
    if (written >= rowBytes_) return;
    for (int part = 0; part < 3; part++)
      for (int64_t channel = 0; channel < cuts_.channelsOf(slice); channel++)
        std::memset(split + part * level_ + channel * rowBytes_ + written, 0, static_cast<size_t>(rowBytes_ - written));
  }

  /** Packs 16 features of a box of the output. */
  void packOutput(const std::vector<Stretch>& stretches, int64_t group, int64_t block, char* to) {
    const int64_t features = std::min(kTileSide, c_.features - block * kTileSide);
    bool finite = true;
    for (const Stretch& s : stretches) {
      const float* const first = s.output + group * c_.output.group + block * kTileSide;
      int64_t row = 0, x = 0;
      for (int64_t step = 0; step < s.steps; step++, to += kPackedBytes) {
        const float* terms[kTileTerms];
        for (const float*& term : terms) {
          term = row < s.rows && x < s.length ? first + row * c_.output.along[2] + x * c_.output.along[3] : kZeros;
          if (++x == s.pitch) {
            x = 0;
            row++;
          }
        }
        finite &= simd().tiles.packPairs(features, terms, to);
      }
    }
    if (!finite) finite_ = false;
  }

  void copyFilter(int64_t group, const float* aside, int64_t paddedChannels, int64_t paddedFeatures) const {
    for (int64_t tap = 0; tap < c_.taps(); tap++) {
      float* const to = c_.filter.data + group * c_.filter.group + tapAt(tap, cuts_.box(0)).filter;
      for (int64_t channel = 0; channel < c_.channels; channel++)
        copyOf(sizeof(float))(c_.features, to + channel * c_.filter.channel, c_.filter.feature,
                              aside + (tap * paddedChannels + channel) * paddedFeatures, 1);
    }
  }

  const Convolution<float>& c_;
  Cuts<float> cuts_;
  /** Whether rows of the output that follow each other are one stretch. */
  bool joins_;
  /** Whether sums are made where they belong. */
  bool direct_;
  int64_t rowBytes_, level_, steps_;
  std::atomic<bool> finite_{true};
};

}  // namespace

bool tileFilterGradient(const Convolution<float>& given) {
  if (!simd().tiles.multiply) return false;
  const Convolution<float> c = arranged(given, 1);
  if (c.axes[3].stride != 1 || c.output.channel != 1 || c.work() < kTileGrain) return false;
  const double use = fillOf(c.channels, kTileSide) * fillOf(c.features, kTileSide) * TileFilterGradient::useOf(c);
  // Packing must be worth it.
  if (use < kLeastUse || c.taps() * std::min(c.channels, c.features) < 128) return false;
  return TileFilterGradient(c).run(Pool::get().parts(c.work(), kTileGrain));
}

}  // namespace tl

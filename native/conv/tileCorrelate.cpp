/**
 * The output of a convolution on the matrix unit.
 *
 * The filter is packed into tiles, by features, taps and stretches of 32 channels. Positions are cut into boxes. The image
 * of a box is split pixel by pixel and stays in the second cache; 16 positions side by side are the rows of a tile, which
 * is loaded from where they are. Every tap finds its tile in the same split image.
 */
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "../core/pool.h"
#include "boxes.h"
#include "tileConv.h"

namespace tl {
namespace {

/** Positions of a box, and bytes of a slice of it. */
constexpr int64_t kPositions = 512;
constexpr int64_t kBytes = 256 << 10;
/** Channels of a slice: what comes in one go to the sums. */
constexpr int64_t kChannels = 128;
/** So much higher tiles must be along another axis, since neighbours along the last one share what is split for them. */
constexpr double kTurnGain = 1.4;
/** Features that are computed together. */
constexpr int64_t kStrip = 2 * kTileSide;

/** The rows of a tile, or fewer: where they begin in the split image and in the output. */
struct Rows {
  int64_t count, image, output;
};

class TileCorrelation {
 public:
  TileCorrelation(const Convolution<float>& c, int64_t threads)
      : c_(c), cuts_(c, {kPositions, kChannels, kBytes, threads, true, kTileTerms}), taps_(c.taps()) {
    // The first box is one of the largest.
    const Box box = cuts_.box(0);
    int64_t pixels = 1;
    for (int axis = 0; axis < kAxes; axis++) pixels *= c.axes[axis].reach(box.size[axis]);
    const int64_t pixelBytes = blocksOf(0) * 64;
    // The unit takes less time for fewer rows, so tiles are as high as fills them.
    height_ = ceilDiv(box.size[kAxes - 1], ceilDiv(box.size[kAxes - 1], kTileSide));
    // Rows that there are not are loaded too, so there must be memory behind the last pixel.
    level_ = roundUp((pixels + kTileSide * c.axes[kAxes - 1].stride) * pixelBytes, 64) + 64;
  }

  bool run(int64_t threads) {
    const int64_t strips = ceilDiv(c_.features, kStrip), places = c_.groups * cuts_.boxes();
    const int64_t shares = std::clamp<int64_t>((threads + places - 1) / places, 1, strips);
    const int64_t seats = std::min(threads, places * shares);
    const int64_t filterBytes = c_.groups * featureBlocks() * stepsBefore(cuts_.slices()) * kPackedBytes;
    const int64_t copyBytes = roundUp(cuts_.room() * static_cast<int64_t>(sizeof(float)), 64);
    char* const memory = Pool::scratch(filterBytes + seats * (copyBytes + 3 * level_));
    Pool::get().run(c_.groups * featureBlocks(), [&](int64_t block) { packFilter(block, memory); }, threads);
    const int64_t parts = Pool::finer(seats, places * shares);
    Pool::get().run(parts, [&](int64_t part, int64_t seat) {
      const TileUse use(height_);
      char* const own = memory + filterBytes + seat * (copyBytes + 3 * level_);
      const Range mine = rangeOf(part, parts, places * shares);
      for (int64_t unit = mine.begin; unit < mine.end && finite_; unit++)
        runBox(unit / shares / cuts_.boxes(), cuts_.box(unit / shares % cuts_.boxes()), rangeOf(unit % shares, shares, strips),
               memory, reinterpret_cast<float*>(own), own + copyBytes);
    }, seats);
    return finite_;
  }

 private:
  /** Stretches of 32 channels of a slice. */
  int64_t blocksOf(int64_t slice) const { return ceilDiv(cuts_.channelsOf(slice), kTileTerms); }
  int64_t featureBlocks() const { return ceilDiv(c_.features, kTileSide); }
  /** Steps of the sums of all slices before this one; all but the last slice are of one size. */
  int64_t stepsBefore(int64_t slice) const {
    int64_t steps = 0;
    for (int64_t s = 0; s < slice; s++) steps += blocksOf(s) * taps_;
    return steps;
  }
  /** Where the tiles of a slice begin, for a block of 16 features of a group. */
  int64_t filterAt(int64_t block, int64_t slice) const {
    return (block * stepsBefore(cuts_.slices()) + stepsBefore(slice)) * kPackedBytes;
  }

  /** Calls `f` with every tap. */
  template <class F>
  void forTaps(const F& f) const {
    const Axis* a = c_.axes;
    for (int64_t i = 0; i < a[0].taps; i++)
      for (int64_t j = 0; j < a[1].taps; j++)
        for (int64_t k = 0; k < a[2].taps; k++)
          for (int64_t l = 0; l < a[3].taps; l++) {
            const int64_t tap[kAxes] = {i, j, k, l};
            f(tap);
          }
  }

  /** Packs 16 features of a group, for all slices. */
  void packFilter(int64_t block, char* to) {
    const int64_t group = block / featureBlocks(), feature = block % featureBlocks() * kTileSide;
    const int64_t features = std::min(kTileSide, c_.features - feature);
    const float* const from = c_.filter.data + group * c_.filter.group + feature * c_.filter.feature;
    bool finite = true;
    for (int64_t slice = 0; slice < cuts_.slices(); slice++) {
      char* tile = to + filterAt(block, slice);
      const int64_t channels = cuts_.channelsOf(slice);
      forTaps([&](const int64_t(&tap)[kAxes]) {
        const float* at = from + cuts_.firstOf(slice) * c_.filter.channel;
        for (int axis = 0; axis < kAxes; axis++) at += tap[axis] * c_.filter.tap[axis];
        for (int64_t channel = 0; channel < channels; channel += kTileTerms, tile += kPackedBytes)
          finite &= simd().tiles.packRight(features, std::min(kTileTerms, channels - channel),
                                           at + channel * c_.filter.channel, c_.filter.feature, c_.filter.channel, tile, 0);
      });
    }
    if (!finite) finite_ = false;
  }

  /** Splits the image of a slice of a box into a dense grid of pixels. */
  void splitImage(const Box& box, int64_t slice, const float* image, const int64_t* along, char* to) {
    int64_t size[kAxes];
    for (int axis = 0; axis < kAxes; axis++) size[axis] = c_.axes[axis].reach(box.size[axis]);
    const int64_t channels = cuts_.channelsOf(slice), bytes = blocksOf(slice) * 64;
    const int64_t(&step)[kAxes] = cuts_.along();
    Range there[kAxes];
    for (int axis = 0; axis < kAxes; axis++) there[axis] = cuts_.readable(box, axis);
    const auto isThere = [&](int axis, int64_t pixel) { return pixel >= there[axis].begin && pixel < there[axis].end; };
    const auto clear = [&](char* pixel, int64_t count) {
      for (int64_t part = 0; part < 3; part++) std::memset(pixel + part * level_, 0, static_cast<size_t>(count * bytes));
    };
    bool finite = true;
    for (int64_t i = 0; i < size[0]; i++)
      for (int64_t j = 0; j < size[1]; j++)
        for (int64_t k = 0; k < size[2]; k++) {
          char* const row = to + i * along[0] + j * along[1] + k * along[2];
          const bool hasRow = isThere(0, i) && isThere(1, j) && isThere(2, k);
          const int64_t begin = hasRow ? there[3].begin : size[3], end = hasRow ? there[3].end : size[3];
          clear(row, begin);
          clear(row + end * bytes, size[3] - end);
          if (begin < end)
            finite &= simd().tiles.splitPixels(end - begin, channels, image + i * step[0] + j * step[1] + k * step[2] + begin * step[3],
                                               step[3], row + begin * bytes, bytes, level_);
        }
    if (!finite) finite_ = false;
  }

  void runBox(int64_t group, const Box& box, const Range& strips, const char* filter, float* copied, char* split) {
    std::vector<int64_t> steps, packedSteps;
    std::vector<Rows> blocks;
    for (int64_t slice = 0; slice < cuts_.slices(); slice++) {
      int64_t size[kAxes], along[kAxes];
      for (int axis = 0; axis < kAxes; axis++) size[axis] = c_.axes[axis].reach(box.size[axis]);
      denseSteps(size, blocksOf(slice) * 64, along);
      splitImage(box, slice, cuts_.image(box, group, slice, copied), along, split);
      if (!finite_) return;
      steps.clear();
      forTaps([&](const int64_t(&tap)[kAxes]) {
        int64_t at = 0;
        for (int axis = 0; axis < kAxes; axis++) at += tap[axis] * c_.axes[axis].dilation * along[axis];
        for (int64_t b = 0; b < blocksOf(slice); b++) steps.push_back(at + b * 64);
      });
      rowsOf(box, along, blocks);
      TileSums t;
      t.aRow = c_.axes[kAxes - 1].stride * along[kAxes - 1];
      t.aLevel = level_;
      t.aSteps = steps.data();
      t.steps = static_cast<int64_t>(steps.size());
      packedSteps.clear();
      for (int64_t step = 0; step < t.steps; step++) packedSteps.push_back(step * kPackedBytes);
      t.bSteps = packedSteps.data();
      t.bLevel = kTileBytes;
      t.bSecond = filterAt(1, 0);
      for (int64_t strip = strips.begin; strip < strips.end; strip++) {
        t.b = filter + filterAt(group * featureBlocks() + strip * 2, slice);
        runStrip(t, blocks, group, strip, split, slice > 0);
      }
    }
  }

  /** The positions of a box in blocks that follow each other along the last axis. */
  void rowsOf(const Box& box, const int64_t* along, std::vector<Rows>& blocks) const {
    blocks.clear();
    const int64_t(&to)[kAxes] = c_.output.along;
    for (int64_t i = 0; i < box.size[0]; i++)
      for (int64_t j = 0; j < box.size[1]; j++)
        for (int64_t k = 0; k < box.size[2]; k++)
          for (int64_t l = 0; l < box.size[3]; l += height_) {
            const int64_t at[kAxes] = {i, j, k, l};
            Rows rows = {std::min(height_, box.size[3] - l), 0, 0};
            for (int axis = 0; axis < kAxes; axis++) {
              rows.image += at[axis] * c_.axes[axis].stride * along[axis];
              rows.output += (box.start[axis] + at[axis]) * to[axis];
            }
            blocks.push_back(rows);
          }
  }

  void runStrip(TileSums& t, const std::vector<Rows>& blocks, int64_t group, int64_t strip, const char* split, bool add) const {
    const int64_t columns = std::min(kStrip, c_.features - strip * kStrip);
    float* const output = c_.output.data + group * c_.output.group + strip * kStrip * c_.output.channel;
    const int64_t step = c_.output.along[kAxes - 1];
    for (size_t i = 0; i < blocks.size(); i += 2) {
      const size_t count = std::min<size_t>(2, blocks.size() - i);
      const Rows &first = blocks[i], &second = blocks[i + count - 1];
      t.a = split + first.image;
      t.aSecond = second.image - first.image;
      const bool whole = c_.output.channel == 1 && columns % kTileSide == 0 && first.count == height_ && second.count == height_;
      alignas(64) float aside[2 * kTileSide * kStrip];
      t.c = whole ? output + first.output : aside;
      t.cRow = whole ? step : kStrip;
      t.cSecond = whole ? second.output - first.output : kTileSide * kStrip;
      t.add = whole && add;
      simd().tiles.multiply(t, static_cast<int64_t>(count), ceilDiv(columns, kTileSide));
      if (whole) continue;
      for (size_t b = 0; b < count; b++)
        copyRows(blocks[i + b].count, columns, aside + static_cast<int64_t>(b) * kTileSide * kStrip, output + blocks[i + b].output, add);
    }
  }

  void copyRows(int64_t rows, int64_t columns, const float* from, float* to, bool add) const {
    const int64_t step = c_.output.along[kAxes - 1], column = c_.output.channel;
    for (int64_t r = 0; r < rows; r++, from += kStrip, to += step) {
      if (!add) {
        copyOf(sizeof(float))(columns, to, column, from, 1);
        continue;
      }
      for (int64_t j = 0; j < columns; j++) to[j * column] += from[j];
    }
  }

  const Convolution<float>& c_;
  Cuts<float> cuts_;
  /** Rows of a tile. */
  int64_t taps_, level_, height_;
  std::atomic<bool> finite_{true};
};

/** The part of the products that are not with padding of tiles. */
double useOf(const Convolution<float>& c) {
  return fillOf(c.channels, kTileTerms) * fillOf(c.features, kTileSide) * fillOf(c.axes[kAxes - 1].out, kTileSide);
}

}  // namespace

bool tileCorrelate(const Convolution<float>& given) {
  if (!simd().tiles.multiply) return false;
  const Convolution<float> c = arranged(given, kTileSide, kTurnGain);
  if (useOf(c) < kLeastUse || c.work() < kTileGrain) return false;
  // Sums must be long, and many must share what is split.
  if (c.channels * c.taps() < 256 || c.features * c.taps() < 64 || c.positions() < 64) return false;
  const int64_t threads = Pool::get().parts(c.work(), kTileGrain);
  return TileCorrelation(c, threads).run(threads);
}

}  // namespace tl

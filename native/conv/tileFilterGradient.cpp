/**
 * The filter of a convolution on the matrix unit: for every tap a product of features and channels, summed over positions.
 *
 * Positions are cut into boxes. The output is the left side of the products: it is packed along rows of the image, with
 * zeros where a row of pixels has more of them than the output has positions. The right side is the image of the box, two
 * pixels to a line of 64 bytes. A tap reads the same lines as another, further up or down; where it is an odd number of
 * pixels away it reads a second copy, whose lines begin with the other pixels.
 */
#include <algorithm>
#include <atomic>
#include <vector>

#include "../core/pool.h"
#include "boxes.h"
#include "tileConv.h"

namespace tl {
namespace {

/** Positions of a box, and channels of a slice. */
constexpr int64_t kPositions = 1024;
constexpr int64_t kChannels = 128;
/**
 * Boxes are divided into so many pieces, each with sums of its own, where the sums of one have at most so many elements. Others
 * are shared out by taps and channels.
 */
constexpr int64_t kPieces = 8, kDividedSums = 1 << 17;
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
      : c_(c), cuts_(c, {kPositions, kChannels, 0, 1, false, true, kTileSide}), joins_(joinsRows(c)),
        features_(roundUp(c.features, kTileSide)), channels_(roundUp(c.channels, kTileSide)) {
    const Box box = cuts_.box(0);
    // Tiles reach beyond the last pixel, where there must be zeros.
    level_ = roundUp(pixelsOf(box) / 2 + 1 + kTileSide, kTileSide) * 64;
    steps_ = 0;
    for (const Stretch& s : stretchesOf(box)) steps_ += s.steps;
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
    constexpr int64_t size = sizeof(float);
    const int64_t sums = c_.taps() * channels_ * features_;
    // How a sum is divided must not depend on the number of threads.
    const int64_t pieces = sums <= kDividedSums ? std::min(kPieces, cuts_.boxes()) : 1;
    const int64_t seats = std::min(threads, pieces);
    const int64_t copyBytes = roundUp(cuts_.room() * size, 64);
    const int64_t imageBytes = roundUp(cuts_.channelsOf(0), kTileSide) / kTileSide * blockBytes();
    const int64_t outputBytes = features_ / kTileSide * steps_ * kPackedBytes;
    const int64_t placeBytes = copyBytes + imageBytes + outputBytes;
    char* const memory = Pool::scratch(seats * placeBytes + pieces * sums * size);
    float* const all = reinterpret_cast<float*>(memory + seats * placeBytes);
    for (int64_t group = 0; group < c_.groups && finite_; group++) {
      // A thread that has a piece keeps what it packs to itself.
      Pool::get().run(pieces, [&](int64_t piece, int64_t seat) {
        char* const own = memory + seat * placeBytes;
        const Place at = {reinterpret_cast<float*>(own), own + copyBytes, own + copyBytes + imageBytes, all + piece * sums};
        runBoxes(group, rangeOf(piece, pieces, cuts_.boxes()), at, threads);
      }, seats);
      const BlockFn add = simd().ops[static_cast<int>(Op::add)][static_cast<int>(Kind::f32)];
      for (int64_t piece = 1; piece < pieces; piece++) add(sums, {all, {all, all + piece * sums}, {1, 1}, 0, nullptr});
      if (finite_) copyFilter(group, all);
    }
    return finite_;
  }

 private:
  /** Memory for one thread: a copy of the image, what is packed, and the sums. */
  struct Place {
    float* copied;
    char *image, *output;
    float* sums;
  };

  void runBoxes(int64_t group, const Range& boxes, const Place& at, int64_t threads) {
    for (int64_t index = boxes.begin; index < boxes.end && finite_; index++) {
      const Box box = cuts_.box(index);
      const std::vector<Stretch> stretches = stretchesOf(box);
      const Steps steps = stepsOf(stretches);
      for (int64_t slice = 0; slice < cuts_.slices() && finite_; slice++) {
        pack(box, group, slice, stretches, at);
        if (finite_) multiply(box, slice, steps, index > boxes.begin, threads, at);
      }
    }
  }

  /** Where the steps begin: in the packed output, and in the image for taps an even and an odd number of pixels away. */
  struct Steps {
    std::vector<int64_t> output, image[2];
  };

  int64_t pixelsOf(const Box& box) const {
    int64_t pixels = 1;
    for (int axis = 0; axis < kAxes; axis++) pixels *= c_.axes[axis].reach(box.size[axis]);
    return pixels;
  }
  /** Bytes of 16 channels of an image: two copies of three parts. */
  int64_t blockBytes() const { return 6 * level_; }

  /** Pixels from the first tap of a box to another. */
  int64_t pixelOf(int64_t tap, const Box& box) const {
    int64_t pixel = 0, pixels = 1;
    for (int axis = kAxes - 1; axis >= 0; axis--) {
      const Axis& a = c_.axes[axis];
      pixel += tap % a.taps * a.dilation * pixels;
      pixels *= a.reach(box.size[axis]);
      tap /= a.taps;
    }
    return pixel;
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

  Steps stepsOf(const std::vector<Stretch>& stretches) const {
    Steps steps;
    for (const Stretch& s : stretches)
      for (int64_t step = 0; step < s.steps; step++) {
        steps.output.push_back(static_cast<int64_t>(steps.output.size()) * kPackedBytes);
        // A pixel is in line p / 2 of the first copy if p is even, of the second if it is odd.
        for (int64_t odd = 0; odd < 2; odd++) {
          const int64_t pixel = s.pixel + odd + step * kTileTerms;
          steps.image[odd].push_back(pixel % 2 * 3 * level_ + pixel / 2 * 64);
        }
      }
    return steps;
  }

  /** Packs the image of a slice, 16 channels at a time, and the output unless it is still there. */
  void pack(const Box& box, int64_t group, int64_t slice, const std::vector<Stretch>& stretches, const Place& at) {
    const float* const image = cuts_.image(box, group, slice, at.copied);
    const int64_t imageBlocks = ceilDiv(cuts_.channelsOf(slice), kTileSide);
    const int64_t tasks = imageBlocks + (slice == 0 ? features_ / kTileSide : 0);
    Pool::get().run(tasks, [&](int64_t task) {
      if (task < imageBlocks) packImage(pixelsOf(box), image, cuts_.channelsOf(slice), task, at.image);
      else packOutput(stretches, group, task - imageBlocks, at.output);
    });
  }

  void packImage(int64_t pixels, const float* image, int64_t channels, int64_t block, char* packed) {
    const int64_t step = cuts_.along()[kAxes - 1], count = std::min(kTileSide, channels - block * kTileSide);
    bool finite = true;
    for (int64_t odd = 0; odd < 2; odd++) {
      char* to = packed + block * blockBytes() + odd * 3 * level_;
      for (int64_t line = 0; line < level_ / 64; line += kTileSide, to += kTileBytes) {
        const float* terms[kTileTerms];
        for (int64_t t = 0; t < kTileTerms; t++) {
          const int64_t pixel = 2 * line + odd + t;
          terms[t] = pixel < pixels ? image + pixel * step + block * kTileSide : kZeros;
        }
        finite &= simd().tiles.packPairs(count, terms, to, level_);
      }
    }
    if (!finite) finite_ = false;
  }

  void packOutput(const std::vector<Stretch>& stretches, int64_t group, int64_t block, char* packed) {
    const int64_t features = std::min(kTileSide, c_.features - block * kTileSide);
    char* to = packed + block * steps_ * kPackedBytes;
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
        finite &= simd().tiles.packTurned(features, terms, to);
      }
    }
    if (!finite) finite_ = false;
  }

  /** Adds what a box gives to the sums [tap, feature, channel]. */
  void multiply(const Box& box, int64_t slice, const Steps& steps, bool add, int64_t threads, const Place& at) const {
    const int64_t taps = c_.taps(), channelPairs = ceilDiv(cuts_.channelsOf(slice), kBlock);
    const int64_t jobs = ceilDiv(features_, kBlock) * channelPairs * taps, parts = Pool::finer(threads, jobs);
    Pool::get().run(parts, [&](int64_t part) {
      const TileUse use;
      TileSums t;
      t.aRow = 64;
      t.aLevel = kTileBytes;
      t.aSecond = steps_ * kPackedBytes;
      t.aSteps = steps.output.data();
      t.bLevel = level_;
      t.bSecond = blockBytes();
      t.steps = static_cast<int64_t>(steps.output.size());
      t.cRow = channels_;
      t.cSecond = kTileSide * channels_;
      t.add = add;
      const Range mine = rangeOf(part, parts, jobs);
      for (int64_t job = mine.begin; job < mine.end; job++) {
        const int64_t tap = job % taps, channel = job / taps % channelPairs * kBlock, feature = job / taps / channelPairs * kBlock;
        const int64_t pixel = pixelOf(tap, box);
        t.a = at.output + feature / kTileSide * steps_ * kPackedBytes;
        t.b = at.image + channel / kTileSide * blockBytes() + pixel / 2 * 64;
        t.bSteps = steps.image[pixel % 2].data();
        t.c = at.sums + (tap * features_ + feature) * channels_ + cuts_.firstOf(slice) + channel;
        simd().tiles.multiply(t, std::min(kBlock, features_ - feature) / kTileSide,
                              ceilDiv(std::min(kBlock, cuts_.channelsOf(slice) - channel), kTileSide));
      }
    }, threads);
  }

  void copyFilter(int64_t group, const float* sums) const {
    const Filter<float>& f = c_.filter;
    for (int64_t index = 0; index < c_.taps(); index++) {
      float* to = f.data + group * f.group;
      int64_t tap = index;
      for (int axis = kAxes - 1; axis >= 0; axis--) {
        to += tap % c_.axes[axis].taps * f.tap[axis];
        tap /= c_.axes[axis].taps;
      }
      const float* from = sums + index * features_ * channels_;
      if (f.feature == 1) {
        simd().transpose[0](c_.channels, c_.features, to, f.channel, from, channels_);
        continue;
      }
      for (int64_t feature = 0; feature < c_.features; feature++)
        copyOf(sizeof(float))(c_.channels, to + feature * f.feature, f.channel, from + feature * channels_, 1);
    }
  }

  const Convolution<float>& c_;
  Cuts<float> cuts_;
  /** Whether rows of the output that follow each other are one stretch. */
  bool joins_;
  /** Features and channels, rounded up to whole tiles. */
  int64_t features_, channels_;
  /** Bytes of a part of 16 channels of the image, and steps of a whole box. */
  int64_t level_, steps_;
  std::atomic<bool> finite_{true};
};

}  // namespace

bool tileFilterGradient(const Convolution<float>& given) {
  if (!simd().tiles.multiply) return false;
  const Convolution<float> c = arranged(given, 1);
  if (c.axes[3].stride != 1 || c.output.channel != 1 || c.work() < kTileGrain) return false;
  const double use = fillOf(c.channels, kTileSide) * fillOf(c.features, kTileSide) * TileFilterGradient::useOf(c);
  // Taps must share what is packed.
  if (use < kLeastUse || c.taps() < 4) return false;
  return TileFilterGradient(c).run(Pool::get().parts(c.work(), kTileGrain));
}

}  // namespace tl

/**
 * The filter of a convolution on the matrix unit: for every tap a product of features and channels, summed over positions.
 *
 * Positions are cut into boxes. The output is the left side of the products, its features as rows; the right side is the image
 * of the box, with 16 channels of two numbers to a line of 64 bytes. These are the same pixel of two images of the batch, and
 * all images of a box lie side by side, so that every tap finds its lines in the same packed image. There are as many images in
 * a box as make rows of positions that fill tiles.
 */
#include <algorithm>
#include <atomic>
#include <vector>

#include "../core/pool.h"
#include "boxes.h"
#include "tileConv.h"

namespace tl {
namespace {

/** The axis of images. The others are the last one, whose positions are a row, and two that have rows. */
constexpr int kImages = 2, kRow = 3;
/** Positions of a box, channels of a slice, and pairs of images of a box. */
constexpr int64_t kPositions = 1600, kChannels = 64, kMostPairs = 16;
/** Bytes of a packed image, of the pixels between the borders: a part of the second cache. */
constexpr int64_t kImageBytes = 640 << 10;
/** Bytes of the three parts of a number. */
constexpr int64_t kSplitBytes = 6;
/** Rows of positions that fill so much of the best are good enough. */
constexpr double kGoodFill = 0.98;
/**
 * Boxes are divided into so many pieces, each with sums of its own, where the sums of one have at most so many elements. Others
 * are shared out by taps and channels.
 */
constexpr int64_t kPieces = 8, kDividedSums = 1 << 17;
/** Channels and features that are computed together. */
constexpr int64_t kBlock = 2 * kTileSide;
/** A term that there is not. */
alignas(64) constexpr float kZeros[kTileSide] = {};

/** The convolution with its images at their place: a plain axis with many positions, such as the batch. */
Convolution<float> withImages(const Convolution<float>& given) {
  Convolution<float> c = arranged(given, 1);
  int best = 0;
  for (int axis = 1; axis < kRow; axis++)
    if (c.axes[axis].isPlain() && (!c.axes[best].isPlain() || c.axes[axis].out > c.axes[best].out)) best = axis;
  for (int axis = best; axis < kImages; axis++) swapAxes(c, axis, axis + 1);
  return c;
}

/** How many images there are in a box. */
int64_t imagesOf(const Convolution<float>& c) {
  const int64_t row = c.axes[kRow].out, most = std::min(kMostPairs, ceilDiv(c.axes[kImages].out, 2));
  const auto fill = [&](int64_t pairs) { return fillOf(row * pairs, kTileSide); };
  double best = 0;
  for (int64_t pairs = 1; pairs <= most; pairs++) best = std::max(best, fill(pairs));
  int64_t pairs = 1;
  while (fill(pairs) < kGoodFill * best) pairs++;
  return 2 * pairs;
}

Limits limitsOf(const Convolution<float>& c) {
  int64_t bytes = std::min(kChannels, roundUp(c.channels, kTileSide)) * kSplitBytes;
  for (const Axis& a : c.axes) bytes *= a.stride;
  Limits limits = {std::min(kPositions, kImageBytes / bytes), kChannels, INT64_MAX, 1, true, kTileSide};
  limits.extents[kImages] = imagesOf(c);
  return limits;
}

/** Where the pixels of a box lie in its packed image. Along each axis, those a stride apart follow each other. */
class Grid {
 public:
  Grid(const Convolution<float>& c, const Box& box) : axes_(c.axes), pairs(ceilDiv(box.size[kImages], 2)) {
    for (int axis = 0; axis < kAxes; axis++) {
      apart_[axis] = ceilDiv(axes_[axis].reach(box.size[axis]), axes_[axis].stride);
      sizes_[axis] = apart_[axis] * axes_[axis].stride;
    }
  }

  int64_t size(int axis) const { return sizes_[axis]; }
  int64_t lines() const { return sizes_[0] * sizes_[1] * sizes_[kRow] * pairs; }
  /** The pixel of the box that is at a place along an axis. */
  int64_t pixelAt(int axis, int64_t place) const { return place % apart_[axis] * axes_[axis].stride + place / apart_[axis]; }
  /** The line of the pixel that a tap meets at the first position. */
  int64_t lineOfTap(int64_t i, int64_t j, int64_t l) const {
    const auto place = [&](int axis, int64_t tap) {
      const int64_t pixel = tap * axes_[axis].dilation, stride = axes_[axis].stride;
      return pixel % stride * apart_[axis] + pixel / stride;
    };
    return lineAt(place(0, i), place(1, j), place(kRow, l));
  }
  int64_t lineAt(int64_t i, int64_t j, int64_t l) const { return ((i * sizes_[1] + j) * sizes_[kRow] + l) * pairs; }

 private:
  const Axis (&axes_)[kAxes];
  int64_t apart_[kAxes], sizes_[kAxes];

 public:
  const int64_t pairs;
};

/** Gathers the addresses of terms, and hands them on in tiles. */
template <class Pack>
class Terms {
 public:
  explicit Terms(const Pack& pack) : pack_(pack) {}

  void add(const float* first, int64_t step, int64_t count) {
    for (int64_t i = 0; i < count; i++, first += step) {
      terms_[count_++] = first;
      if (count_ < kTileTerms) continue;
      pack_(terms_);
      count_ = 0;
    }
  }
  /** Adds terms that there are not. */
  void addZeros(int64_t count) { add(kZeros, 0, count); }
  void fill() {
    if (count_ > 0) addZeros(kTileTerms - count_);
  }

 private:
  const Pack& pack_;
  const float* terms_[kTileTerms];
  int64_t count_ = 0;
};

class TileFilterGradient {
 public:
  explicit TileFilterGradient(const Convolution<float>& c)
      : c_(c), cuts_(c, limitsOf(c)), features_(roundUp(c.features, kTileSide)), channels_(roundUp(c.channels, kTileSide)) {
    const Box box = cuts_.box(0);
    // Tiles reach beyond the last pixel, where there must be zeros.
    level_ = (ceilDiv(Grid(c, box).lines(), kTileSide) + 1) * kTileBytes;
    steps_ = box.size[0] * box.size[1] * stepsOfRow(box);
  }

  /** The part of the products that are not with padding of tiles. */
  double use() const {
    return fillOf(c_.channels, kTileSide) * fillOf(c_.features, kTileSide) * static_cast<double>(cuts_.positions()) /
           static_cast<double>(steps_ * kTileTerms);
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
      for (int64_t slice = 0; slice < cuts_.slices() && finite_; slice++) {
        pack(box, group, slice, at);
        if (finite_) multiply(box, slice, index > boxes.begin, threads, at);
      }
    }
  }

  /** Bytes of the three parts of 16 channels of an image. */
  int64_t blockBytes() const { return 3 * level_; }
  /** Steps of the sums that a row of positions takes. */
  static int64_t stepsOfRow(const Box& box) { return ceilDiv(box.size[kRow] * ceilDiv(box.size[kImages], 2), kTileSide); }

  /** Packs the image of a slice, 16 channels at a time, and the output unless it is still there. */
  void pack(const Box& box, int64_t group, int64_t slice, const Place& at) {
    const float* const image = cuts_.image(box, group, slice, at.copied);
    const int64_t imageBlocks = ceilDiv(cuts_.channelsOf(slice), kTileSide);
    const int64_t tasks = imageBlocks + (slice == 0 ? features_ / kTileSide : 0);
    Pool::get().run(tasks, [&](int64_t task) {
      const bool finite = task < imageBlocks ? packImage(box, image, cuts_.channelsOf(slice), task, at.image)
                                             : packOutput(box, group, task - imageBlocks, at.output);
      if (!finite) finite_ = false;
    });
  }

  bool packImage(const Box& box, const float* image, int64_t channels, int64_t block, char* packed) const {
    const int64_t(&along)[kAxes] = cuts_.along();
    const int64_t count = std::min(kTileSide, channels - block * kTileSide), images = box.size[kImages];
    const Grid grid(c_, box);
    char* to = packed + block * blockBytes();
    bool finite = true;
    const auto packTile = [&](const float* const* terms) {
      finite &= simd().tiles.packPairs(count, terms, to, level_);
      to += kTileBytes;
    };
    Terms terms(packTile);
    const auto isThere = [](const Range& pixels, int64_t pixel) { return pixel >= pixels.begin && pixel < pixels.end; };
    const Range there[] = {cuts_.readable(box, 0), cuts_.readable(box, 1)}, thereInRow = cuts_.readable(box, kRow);
    for (int64_t place0 = 0; place0 < grid.size(0); place0++)
      for (int64_t place1 = 0; place1 < grid.size(1); place1++) {
        const int64_t i = grid.pixelAt(0, place0), j = grid.pixelAt(1, place1);
        const float* const row = image + block * kTileSide + i * along[0] + j * along[1];
        const bool hasRow = isThere(there[0], i) && isThere(there[1], j);
        for (int64_t place = 0; place < grid.size(kRow); place++) {
          const int64_t l = grid.pixelAt(kRow, place), found = hasRow && isThere(thereInRow, l) ? images : 0;
          terms.add(row + l * along[kRow], along[kImages], found);
          terms.addZeros(2 * grid.pairs - found);
        }
      }
    terms.fill();
    terms.addZeros(kTileTerms);
    return finite;
  }

  bool packOutput(const Box& box, int64_t group, int64_t block, char* packed) const {
    const int64_t features = std::min(kTileSide, c_.features - block * kTileSide), images = box.size[kImages];
    const int64_t(&along)[kAxes] = c_.output.along;
    char* to = packed + block * steps_ * kPackedBytes;
    bool finite = true;
    const auto packTile = [&](const float* const* terms) {
      finite &= simd().tiles.packTurned(features, terms, to);
      to += kPackedBytes;
    };
    Terms terms(packTile);
    const float* first = c_.output.data + group * c_.output.group + block * kTileSide;
    for (int axis = 0; axis < kAxes; axis++) first += box.start[axis] * along[axis];
    for (int64_t i = 0; i < box.size[0]; i++)
      for (int64_t j = 0; j < box.size[1]; j++) {
        for (int64_t l = 0; l < box.size[kRow]; l++) {
          terms.add(first + i * along[0] + j * along[1] + l * along[kRow], along[kImages], images);
          terms.addZeros(images % 2);
        }
        terms.fill();
      }
    return finite;
  }

  /** Adds what a box gives to the sums [tap, feature, channel]. */
  void multiply(const Box& box, int64_t slice, bool add, int64_t threads, const Place& at) const {
    const int64_t taps = c_.taps(), channelPairs = ceilDiv(cuts_.channelsOf(slice), kBlock);
    const int64_t jobs = ceilDiv(features_, kBlock) * channelPairs * taps, parts = Pool::finer(threads, jobs);
    const Grid grid(c_, box);
    std::vector<int64_t> outputSteps, imageSteps;
    for (int64_t i = 0; i < box.size[0]; i++)
      for (int64_t j = 0; j < box.size[1]; j++)
        for (int64_t step = 0; step < stepsOfRow(box); step++) {
          outputSteps.push_back(static_cast<int64_t>(outputSteps.size()) * kPackedBytes);
          imageSteps.push_back(grid.lineAt(i, j, 0) * 64 + step * kTileBytes);
        }
    Pool::get().run(parts, [&](int64_t part) {
      const TileUse use;
      TileSums t;
      t.aRow = 64;
      t.aLevel = kTileBytes;
      t.aSecond = steps_ * kPackedBytes;
      t.aSteps = outputSteps.data();
      t.bLevel = level_;
      t.bSecond = blockBytes();
      t.bSteps = imageSteps.data();
      t.steps = static_cast<int64_t>(outputSteps.size());
      t.cRow = channels_;
      t.cSecond = kTileSide * channels_;
      t.add = add;
      const Range mine = rangeOf(part, parts, jobs);
      for (int64_t job = mine.begin; job < mine.end; job++) {
        const int64_t tap = job % taps, channel = job / taps % channelPairs * kBlock, feature = job / taps / channelPairs * kBlock;
        const int64_t inRow = c_.axes[kRow].taps, inRows = c_.axes[1].taps * inRow;
        const int64_t line = grid.lineOfTap(tap / inRows, tap % inRows / inRow, tap % inRow);
        t.a = at.output + feature / kTileSide * steps_ * kPackedBytes;
        t.b = at.image + channel / kTileSide * blockBytes() + line * 64;
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
  /** Features and channels, rounded up to whole tiles. */
  int64_t features_, channels_;
  /** Bytes of a part of 16 channels of the image, and steps of a whole box. */
  int64_t level_, steps_;
  std::atomic<bool> finite_{true};
};

}  // namespace

bool tileFilterGradient(const Convolution<float>& given) {
  if (!simd().tiles.multiply) return false;
  const Convolution<float> c = withImages(given);
  // Taps must share what is packed.
  if (c.output.channel != 1 || c.work() < kTileGrain || c.taps() < 4) return false;
  TileFilterGradient gradient(c);
  return gradient.use() >= kLeastUse && gradient.run(Pool::get().parts(c.work(), kTileGrain));
}

}  // namespace tl

/**
 * Products of long sums on the matrix unit, with factors larger than a cache: filter gradients of convolutions of one by one over
 * large images.
 *
 * Sums are cut into passes of so few terms that both factors stay in the second cache, packed, and the next pass is fetched from memory
 * while the unit multiplies this one. Passes are divided into pieces with sums of their own, which threads share. The left side is
 * turned as it is packed, which takes longer: that is the factor with fewer lines.
 */
#include "longProduct.h"

#include <algorithm>
#include <atomic>

#include "../dot/method.h"
#include "../tiles/ahead.h"
#include "tileConv.h"

namespace tl {
namespace {

/** Bytes of both factors that come from far, of a pass when it is packed, and terms of a sum, at least. */
constexpr int64_t kFarBytes = 2 << 20, kPassBytes = 512 << 10, kLeastTerms = 2048;
/** Pieces: as many as have so many sums in all, but not more, nor fewer, than these. How many there are must not depend on threads. */
constexpr int64_t kPieceSums = 1 << 18, kMostPieces = 8, kLeastPieces = 4;
/** Lines of both factors that are multiplied together. */
constexpr int64_t kBlock = 2 * kTileSide;

/** A factor: `lines` numbers side by side for every term. */
struct Factor {
  const float* at;
  int64_t lines, step;
  int64_t tiles() const { return ceilDiv(lines, kTileSide); }
};

class LongProduct {
 public:
  explicit LongProduct(const Gemm<float>& g)
      : g_(g), turned_(g.m > g.n), left_(turned_ ? Factor{g.b, g.n, g.bRow} : Factor{g.a, g.m, g.aColumn}),
        right_(turned_ ? Factor{g.a, g.m, g.aColumn} : Factor{g.b, g.n, g.bRow}) {
    const int64_t stepBytes = (left_.tiles() + right_.tiles()) * kPackedBytes;
    steps_ = std::clamp<int64_t>(kPassBytes / stepBytes, 1, kMostSteps);
    passes_ = ceilDiv(g.k, steps_ * kTileTerms);
    width_ = right_.tiles() * kTileSide;
    sums_ = left_.tiles() * kTileSide * width_;
    pieces_ = std::min(std::clamp<int64_t>(kPieceSums / sums_, 1, kMostPieces), passes_);
    for (int64_t step = 0; step < steps_; step++) packedSteps_[step] = step * kPackedBytes;
  }

  bool run(int64_t threads) {
    const int64_t seats = std::min(threads, pieces_), placeBytes = (left_.tiles() + right_.tiles()) * steps_ * kPackedBytes;
    char* const memory = Pool::sharedScratch(seats * placeBytes + pieces_ * sums_ * static_cast<int64_t>(sizeof(float)));
    float* const all = reinterpret_cast<float*>(memory + seats * placeBytes);
    Pool::get().run(pieces_, [&](int64_t piece, int64_t seat) {
      const Range mine = rangeOf(piece, pieces_, passes_);
      const TileUse use;
      for (int64_t pass = mine.begin; pass < mine.end && finite_; pass++)
        runPass(pass, pass > mine.begin, memory + seat * placeBytes, all + piece * sums_);
    }, seats);
    if (!finite_) return false;
    const BlockFn add = simd().ops[static_cast<int>(Op::add)][static_cast<int>(Kind::f32)];
    for (int64_t piece = 1; piece < pieces_; piece++) add(sums_, {all, {all, all + piece * sums_}, {1, 1}, 0, nullptr});
    copyResult(all);
    return true;
  }

 private:
  static constexpr int64_t kMostSteps = 16;

  int64_t termsOf(int64_t pass) const {
    const int64_t most = steps_ * kTileTerms;
    return std::clamp<int64_t>(g_.k - pass * most, 0, most);
  }

  void runPass(int64_t pass, bool add, char* memory, float* sums) {
    const int64_t terms = termsOf(pass);
    char *const left = memory, *const right = left + left_.tiles() * steps_ * kPackedBytes;
    if (!pack(left_, pass, terms, simd().tiles.packLeft, left) || !pack(right_, pass, terms, simd().tiles.packRight, right)) {
      finite_ = false;
      return;
    }
    Ahead ahead;
    for (const Factor& f : {left_, right_}) {
      const float* const next = f.at + (pass + 1) * steps_ * kTileTerms * f.step;
      ahead.add(next, f.step * kSize, f.lines * kSize, termsOf(pass + 1));
    }
    TileSums t;
    t.aRow = 64;
    t.aLevel = t.bLevel = kTileBytes;
    t.aSecond = t.bSecond = steps_ * kPackedBytes;
    t.aSteps = t.bSteps = packedSteps_;
    t.steps = ceilDiv(terms, kTileTerms);
    t.cRow = width_;
    t.cSecond = kTileSide * width_;
    t.add = add;
    t.ahead = &ahead;
    for (int64_t j = 0; j < right_.lines; j += kBlock)
      for (int64_t i = 0; i < left_.lines; i += kBlock) {
        t.a = left + i / kTileSide * t.aSecond;
        t.b = right + j / kTileSide * t.bSecond;
        t.c = sums + i * width_ + j;
        simd().tiles.multiply(t, ceilDiv(std::min(kBlock, left_.lines - i), kTileSide), ceilDiv(std::min(kBlock, right_.lines - j), kTileSide));
      }
  }

  /** Packs the terms of a pass, step by step: so the factor is read from one end to the other. */
  bool pack(const Factor& f, int64_t pass, int64_t terms, TileKernels::PackFn pack, char* to) const {
    const float* from = f.at + pass * steps_ * kTileTerms * f.step;
    bool finite = true;
    for (int64_t p = 0; p < terms; p += kTileTerms, from += kTileTerms * f.step, to += kPackedBytes)
      for (int64_t i = 0; i < f.lines; i += kBlock)
        finite &= pack(std::min(kBlock, f.lines - i), std::min(kTileTerms, terms - p), from + i, 1, f.step,
                       to + i / kTileSide * steps_ * kPackedBytes, steps_ * kPackedBytes);
    return finite;
  }

  void copyResult(const float* sums) const {
    const int64_t row = turned_ ? g_.cColumn : g_.cRow, column = turned_ ? g_.cRow : g_.cColumn;
    if (row == 1) return simd().transpose[0](right_.lines, left_.lines, g_.c, column, sums, width_);
    for (int64_t i = 0; i < left_.lines; i++) copyOf(sizeof(float))(right_.lines, g_.c + i * row, column, sums + i * width_, 1);
  }

  static constexpr int64_t kSize = sizeof(float);
  const Gemm<float>& g_;
  /** Whether the second factor is the left side. */
  bool turned_;
  Factor left_, right_;
  /** Steps of a pass; passes and pieces of all sums; from row to row of the sums of a piece, and all of them. */
  int64_t steps_, passes_, pieces_, width_, sums_;
  int64_t packedSteps_[kMostSteps];
  std::atomic<bool> finite_{true};
};

}  // namespace

bool multiplyLong(const Gemm<float>& g) {
  if (!simd().tiles.multiply || g.aRow != 1 || g.bColumn != 1 || g.k < kLeastTerms) return false;
  if ((g.m + g.n) * g.k * static_cast<int64_t>(sizeof(float)) < kFarBytes || g.m * g.n * kLeastPieces > kPieceSums) return false;
  if (!simd().tiles.suitsGemm(g.m, g.n, g.k)) return false;
  const double work = static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  return LongProduct(g).run(Pool::get().parts(work, kTileGemmGrain));
}

}  // namespace tl

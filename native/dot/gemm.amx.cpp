/**
 * Matrix products of float32 on the matrix unit; tiles.h says how numbers are split for it.
 *
 * A block of c is two by two tiles. Its strips of a and b are packed: a block of a, kNearBytes at most, stays in the second
 * cache, while one strip of b after the other is packed, or read again if there are several blocks of a.
 *
 * The terms of a sum go through tiles in steps of 32. A sum of several products is one sum with more steps.
 * As with vectors, what a number of c is the sum of, and in which order, depends on k alone.
 */
#include "../simd/kernels.h"
#include "../tiles/pack.h"

namespace tl::TL_SIMD {
namespace {

/** Steps of sums, of 32 terms each, that are added up in one pass over c; fewer where a sum has several products. */
constexpr int64_t kDepth = 32, kPairsDepth = 12;
constexpr int64_t kBlockColumns = 1024;
/** Rows and columns of a block of c. */
constexpr int64_t kBlock = 2 * kTileSide;
/** Bytes of a packed block of a, and half of it where all of b has no more than this: then both stay in the second cache. */
constexpr int64_t kNearBytes = 768 << 10, kSmallBytes = 512 << 10;
/** What follows a product begins when about so many elements are ready, which are then still in L2. */
constexpr int64_t kReadyElements = 32768;
/**
 * Of sums of so few steps mostly c takes time where it has more bytes than this: it is written row by row, a few rows at a time, and
 * fetched before, since a row that is written column by column is in as many pages of memory as there are rows.
 */
constexpr int64_t kShortSteps = 4, kFarBytes = 1 << 20;
/** Up to so many rows packing b takes as long as multiplying, so what is packed next is fetched; with more it is in the way. */
constexpr int64_t kFewRows = 2 * kBlock;
/** Up to so many it waits for all, so that b need not be kept packed for further rows. */
constexpr int64_t kReadyAtOnce = 65536;

inline int64_t minOf(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t maxOf(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

/** Tiles that the terms of all products of a sum take. */
inline int64_t stepsOf(const Gemm<float>& g) { return g.pairs * ceilDiv(g.k, kTileTerms); }

/** How a product is cut; where its packed blocks lie. */
struct Cut {
  int64_t steps, rows, columns;
  /** Whether b is packed strip by strip, each for all rows at once. */
  bool oneBlock;

  Cut(int64_t m, int64_t n, int64_t allSteps, int64_t depth, bool goesOn, bool writesFar) {
    steps = ceilDiv(allSteps, ceilDiv(allSteps, depth));
    columns = minOf(n, kBlockColumns);
    const bool isSmall = ceilDiv(columns, kBlock) * stripBytes() <= kSmallBytes;
    rows = (isSmall ? kNearBytes / 2 : kNearBytes) / stripBytes() * kBlock;
    if (goesOn && m * columns > kReadyAtOnce) rows = minOf(rows, maxOf(2 * kBlock, roundUp(kReadyElements / columns, kBlock)));
    if (writesFar) rows = minOf(rows, 2 * kBlock);
    rows = maxOf(rows, kBlock);
    oneBlock = m <= rows;
    rows = minOf(rows, m);
  }
  int64_t stripBytes() const { return 2 * steps * kPackedBytes; }
  int64_t aBytes() const { return ceilDiv(rows, kBlock) * stripBytes(); }
  int64_t bBytes() const { return (oneBlock ? 1 : ceilDiv(columns, kBlock)) * stripBytes(); }
};

/** The same product with vectors. */
using OtherFn = void (*)(const Gemm<float>&);

class TileProduct {
 public:
  TileProduct(const Gemm<float>& g, char* scratch, OtherFn other)
      : g_(g), steps_(stepsOf(g)), each_(ceilDiv(g.k, kTileTerms)), writesFar_(writesFar(g, steps_)),
        cut_(g.m, g.n, steps_, g.pairs > 1 ? kPairsDepth : kDepth, g.ready != nullptr, writesFar_), a_(scratch), b_(a_ + cut_.aBytes()),
        other_(other) {
    for (int64_t step = 0; step < cut_.steps; step++) packedSteps_[step] = step * kPackedBytes;
    passing_ = g.passing && !g.add && steps_ <= cut_.steps;
  }

  void run() {
    for (int64_t jc = 0; jc < g_.n; jc += cut_.columns) {
      const int64_t nc = minOf(cut_.columns, g_.n - jc);
      for (int64_t first = 0; first < steps_; first += cut_.steps)
        for (int64_t ic = 0; ic < g_.m; ic += cut_.rows) {
          const int64_t mc = minOf(cut_.rows, g_.m - ic);
          float* const c = g_.c + (passing_ ? 0 : ic * g_.cRow);
          const Block block = {ic, mc, jc, nc, first, minOf(cut_.steps, steps_ - first), c};
          const bool last = first + cut_.steps >= steps_;
          fetchFollowers(block);
          runBlock(block);
          if (g_.ready && last) g_.ready(g_.context, ic, mc, jc, nc, c);
        }
    }
  }

 private:
  /** A block of c, and the steps of its sums. */
  struct Block {
    int64_t i, rows, j, columns, first, steps;
    float* c;
  };
  static bool writesFar(const Gemm<float>& g, int64_t steps) {
    return !g.ready && g.cColumn == 1 && steps <= kShortSteps && g.m * g.n * static_cast<int64_t>(sizeof(float)) > kFarBytes;
  }
  /** Where the terms of a step begin, and how many there are. */
  struct Terms {
    const float *a, *b;
    int64_t count;
  };
  Terms termsOf(int64_t step) const {
    const int64_t pair = step / each_, p = step % each_ * kTileTerms;
    return {(g_.as ? g_.as[pair] : g_.a) + p * g_.aColumn, (g_.bs ? g_.bs[pair] : g_.b) + p * g_.bRow, minOf(kTileTerms, g_.k - p)};
  }

  /** Few rows use each tile of b so seldom that the loading of tiles needs the way to memory for itself. */
  static bool fetches(const Block& x) { return x.rows > kBlock; }

  /** What follows a block is fetched while it is computed. */
  void fetchFollowers(const Block& x) {
    ahead_.dropTo(0);
    if (fetches(x) && x.first + x.steps == steps_)  // the first of them first
      for (int64_t k = g_.followerCount - 1; k >= 0; k--) {
        const Follower& f = g_.followers[k];
        ahead_.add(f.at + x.i * f.row + x.j * f.column, f.row, x.columns * f.column, x.rows);
      }
  }

  /** The columns of b that are packed when a strip is done: the next ones, or in the next pass the first ones. */
  void fetchColumns(const Block& x, int64_t j) {
    constexpr int64_t size = sizeof(float);
    const int64_t strip = j < x.columns ? j : 0, columns = minOf(kBlock, x.columns - strip);
    int64_t step = j < x.columns ? x.first : x.first + x.steps;
    for (const int64_t end = minOf(step + cut_.steps, steps_); step < end;) {
      const int64_t next = minOf(end, (step / each_ + 1) * each_);
      const int64_t terms = minOf((next - step) * kTileTerms, g_.k - step % each_ * kTileTerms);
      const float* const from = termsOf(step).b + (x.j + strip) * g_.bColumn;
      if (g_.bColumn == 1) ahead_.add(from, g_.bRow * size, columns * size, terms);
      else if (g_.bRow == 1) ahead_.add(from, g_.bColumn * size, terms * size, columns);
      step = next;
    }
  }

  /** The part of c that is written when a strip is done: the next columns, or the first ones of the next rows. */
  void fetchResult(const Block& x, int64_t j) {
    constexpr int64_t size = sizeof(float);
    const bool goesOn = j < x.columns;
    const int64_t strip = goesOn ? j : 0, rows = goesOn ? x.rows : minOf(x.rows, g_.m - x.i - x.rows);
    if (rows <= 0) return;
    const float* const to = x.c + (goesOn ? 0 : x.rows * g_.cRow) + x.j + strip;
    ahead_.add(to, g_.cRow * size, minOf(kBlock, x.columns - strip) * size, rows);
  }

  /** The packed columns that come next. */
  void fetchStrip(const Block& x, const char* b, int64_t j, int64_t second) {
    const char* const next = j + kBlock < x.columns ? b + 2 * second : b - j / kTileSide * second;
    ahead_.add(next, second, x.steps * kPackedBytes, 2);
  }

  void runBlock(const Block& x) {
    const int64_t kept = ahead_.count();
    const bool finiteA = g_.packedA || packRows(x);
    const TileScope scope;  // for all strips: of short ones it would cost a tenth
    for (int64_t j = 0; j < x.columns; j += kBlock) {
      const int64_t strip = j / kBlock, columns = minOf(kBlock, x.columns - j);
      char* const own = b_ + (cut_.oneBlock ? 0 : strip * cut_.stripBytes());
      if (!g_.packedB && x.i == 0) {
        finite_[strip] = packColumns(x, x.j + j, columns, own);
        ahead_.dropTo(kept);
        if (fetches(x) && x.rows <= kFewRows) fetchColumns(x, j + kBlock);
      }
      if (!finiteA || !(g_.packedB || finite_[strip])) {
        runOther(x, j, columns);
        continue;
      }
      if (writesFar_) {
        ahead_.dropTo(kept);
        fetchResult(x, j + kBlock);
      }
      const bool isNew = !g_.packedB && x.i == 0;
      const int64_t second = (g_.packedB ? steps_ : cut_.steps) * kPackedBytes;
      const char* const b = g_.packedB ? g_.packedB + ((x.j + j) / kTileSide * steps_ + x.first) * kPackedBytes : own;
      if (!isNew && fetches(x) && ceilDiv(x.columns, kBlock) * cut_.stripBytes() > kSmallBytes) {
        ahead_.dropTo(kept);
        fetchStrip(x, b, j, second);
      }
      runStrip(x, j, columns, b, second);
    }
  }

  bool packRows(const Block& x) const {
    Watch watch;
    for (int64_t i = 0; i < x.rows; i += kTileSide) {
      char* to = a_ + i / kTileSide * cut_.steps * kPackedBytes;
      for (int64_t step = x.first; step < x.first + x.steps; step++, to += kPackedBytes) {
        const Terms t = termsOf(step);
        packLeft(minOf(kTileSide, x.rows - i), t.count, {t.a + (x.i + i) * g_.aRow, g_.aRow, g_.aColumn}, to, watch);
      }
    }
    return watch.isFinite();
  }

  bool packColumns(const Block& x, int64_t first, int64_t columns, char* strip) const {
    Watch watch;
    char* to = strip;
    for (int64_t step = x.first; step < x.first + x.steps; step++, to += kPackedBytes) {
      const Terms t = termsOf(step);
      packRight(columns, t.count, {t.b + first * g_.bColumn, g_.bColumn, g_.bRow}, to, cut_.steps * kPackedBytes, watch);
    }
    return watch.isFinite();
  }

  void runStrip(const Block& x, int64_t j, int64_t columns, const char* b, int64_t bSecond) {
    TileSums t;
    t.aRow = 64;
    t.aLevel = kTileBytes;
    const char* const a = g_.packedA ? g_.packedA + (x.i / kTileSide * steps_ + x.first) * kPackedBytes : a_;
    t.aSecond = (g_.packedA ? steps_ : cut_.steps) * kPackedBytes;
    t.bSecond = bSecond;
    t.bLevel = kTileBytes;
    t.aSteps = t.bSteps = packedSteps_;
    t.b = b;
    t.steps = x.steps;
    t.ahead = ahead_.count() > 0 ? &ahead_ : nullptr;
    // What a product is added to comes after its own sum, as if they were two instructions; further passes go on with the sum.
    const bool goesOn = x.first > 0, add = g_.add && !goesOn, direct = g_.cColumn == 1 && !add;
    t.add = goesOn;
    for (int64_t i = 0; i < x.rows; i += kBlock) {
      const int64_t rows = minOf(kBlock, x.rows - i);
      t.a = a + i / kTileSide * t.aSecond;
      float* const c = x.c + i * g_.cRow + (x.j + j) * g_.cColumn;
      if (direct && rows % kTileSide == 0 && columns % kTileSide == 0) {
        t.c = c;
        t.cRow = g_.cRow;
        t.cSecond = kTileSide * g_.cRow;
        multiplyTiles(t, rows / kTileSide, columns / kTileSide);
      } else {
        alignas(64) float aside[kBlock * kBlock];
        t.c = aside;
        t.cRow = kBlock;
        t.cSecond = kTileSide * kBlock;
        // The sum goes on here as it does in whole tiles: which of its rows are in such must not change it.
        if (goesOn) fillAside(rows, columns, c, aside);
        multiplyTiles(t, ceilDiv(rows, kTileSide), ceilDiv(columns, kTileSide));
        copyAside(rows, columns, aside, c, add);
      }
    }
  }

  /** Brings the sums of a block that is not made of whole tiles to where it is computed. */
  void fillAside(int64_t rows, int64_t columns, const float* c, float* aside) const {
    for (int64_t r = 0; r < rows; r++, c += g_.cRow, aside += kBlock) {
      if (g_.cColumn == 1)
        for (int64_t s = 0; s < columns; s += kTileSide) storeVector(aside + s, loadLanes(c + s, firstLanes(columns - s)));
      else
        for (int64_t s = 0; s < columns; s++) aside[s] = c[s * g_.cColumn];
    }
  }

  /** Moves a block that is not made of whole tiles to its place. */
  void copyAside(int64_t rows, int64_t columns, const float* aside, float* c, bool add) const {
    for (int64_t r = 0; r < rows; r++, c += g_.cRow, aside += kBlock)
      for (int64_t s = 0; s < columns; s += kTileSide) {
        if (g_.cColumn == 1) {
          const LaneMask mask = firstLanes(columns - s);
          const Floats sum = loadVector(aside + s);
          storeLanes(c + s, add ? loadLanes(c + s, mask) + sum : sum, mask);
        } else {
          for (int64_t q = s; q < minOf(columns, s + kTileSide); q++) {
            float& to = c[q * g_.cColumn];
            to = add ? to + aside[q] : aside[q];
          }
        }
      }
  }

  /** The same with vectors, for numbers that cannot be split. */
  void runOther(const Block& x, int64_t j, int64_t columns) const {
    for (int64_t step = x.first; step < x.first + x.steps; step++) {
      const Terms t = termsOf(step);
      other_({x.rows, columns, t.count, t.a + x.i * g_.aRow, g_.aRow, g_.aColumn, t.b + (x.j + j) * g_.bColumn, g_.bRow,
              g_.bColumn, x.c + (x.j + j) * g_.cColumn, g_.cRow, g_.cColumn, g_.add || step > 0});
    }
  }

  const Gemm<float>& g_;
  /** Steps of all sums, and of each product. */
  int64_t steps_, each_;
  bool writesFar_;
  Cut cut_;
  char *a_, *b_;
  OtherFn other_;
  int64_t packedSteps_[kDepth];
  bool finite_[kBlockColumns / kBlock];
  bool passing_;
  Ahead ahead_;
};

bool suits(int64_t m, int64_t n, int64_t k) {
  if (m < kTileSide || n < kTileSide || k < kTileSide) return false;
  // Packing costs as much per element as some products: what it saves must be more.
  return m * n > 48 * (m + n);
}

bool suitsPacked(int64_t m, int64_t n, int64_t k) { return m >= kTileSide && n >= 4 * kTileSide && k >= 2 * kTileTerms; }

/** Enough for any product that is not larger, and for its transpose. */
int64_t scratchBytes(int64_t m, int64_t n, int64_t k) {
  const int64_t tall = roundUp(maxOf(m, n), kBlock), strip = 2 * minOf(ceilDiv(k, kTileTerms), kDepth) * kPackedBytes;
  const int64_t a = minOf(tall / kBlock * strip, maxOf(kNearBytes, strip));
  return a + minOf(tall, kBlockColumns) / kBlock * strip;
}

void multiply(const Gemm<float>& g, char* scratch, OtherFn other) {
  if (g.cColumn != 1 && g.cRow == 1) {
    Gemm<float> turned = {g.n, g.m, g.k, g.b, g.bColumn, g.bRow, g.a, g.aColumn, g.aRow, g.c, g.cColumn, g.cRow, g.add};
    turned.pairs = g.pairs;
    turned.as = g.bs;
    turned.bs = g.as;
    TileProduct(turned, scratch, other).run();
    if (g.ready) g.ready(g.context, 0, g.m, 0, g.n, g.c);
    return;
  }
  TileProduct(g, scratch, other).run();
}

}  // namespace

void fillTileGemm(SimdKernels& k) {
  k.tiles.suitsGemm = suits;
  k.tiles.suitsPacked = suitsPacked;
  k.tiles.gemm = multiply;
  k.tiles.gemmScratch = scratchBytes;
}

}  // namespace tl::TL_SIMD

/**
 * Matrix products by tiles. Include only from *.simd.cpp.
 *
 * A tile of c, up to kTallest rows by two vectors, stays in registers while k runs (micro.h). Its rows of a and its
 * columns of b are panels. Panels are read where they are when that is as good, and packed otherwise, so that k steps
 * read them in a row; packing also absorbs transposes. What lies around the tiles depends on the product:
 *
 *   by rows      For each panel of a, all panels of b. The panel of a stays in L1, and a block of b, kDepth by
 *                kBlockColumns, in L2. This order suits large products, and b that is not packed at all.
 *   by columns   For each panel of b, all panels of a. The panel of b stays in L1 and all of a in L2, where it must fit;
 *                then this order moves less between the caches, since tiles are wider than tall. But it writes c here and
 *                there, which is what matters when k is short. Few rows hardly pay for packing b, and less for waiting for it
 *                where it comes from memory: the first panel of a copies b while it uses it, the others meanwhile fetch what
 *                comes next.
 *
 * A long k is cut into passes of at most kDepth, and c is read and written once per pass. A sum of short products has several of them in a
 * pass, whose panels of a follow each other. What a number of c is the sum
 * of, and in which order, depends on k and the number of products alone, not on how a product is cut among threads: no cut leaves a piece of so few rows or
 * columns that it goes another way (method.h).
 */
#pragma once
#include "micro.h"
#include "pack.h"

namespace tl::TL_SIMD {
namespace {

/** A panel of a has kDepth terms at most, about 20 KB. */
template <class T> constexpr int64_t kDepth = sizeof(T) == 4 ? 320 : 192;
/** A block of b has so many columns at most, about 1.5 MB. */
constexpr int64_t kBlockColumns = 1024;
/** The largest a, in bytes, for which the order by columns pays. */
constexpr int64_t kNearBytes = 1 << 18;
/** With fewer terms a product mostly writes c, which is done by rows. */
constexpr int64_t kLongDepth = 48;
/** With no more terms a is so near that packing it takes longer than it gains: lines of it hardly push each other out of L1. */
constexpr int64_t kFewTerms = 16;
/** The largest b, in bytes, that is expected to stay in L1. */
constexpr int64_t kVeryNearBytes = 32 << 10;
/** What follows a product begins when so many elements are ready, which are then still in L2. */
constexpr int64_t kReadyElements = 16384;
/** With so many columns it pays to pack a that lies along k, where b is copied meanwhile. */
constexpr int64_t kManyColumns = 256;
/** With so many it pays for a that lies across k, of which else every tile reads a line here and there: 16 tiles, or eight of longer numbers. */
template <class T> constexpr int64_t kManyColumnsAcross = 1024 / sizeof(T);
/** With so few rows a packed b would hardly be read again; and one of so many bytes is as near as if it were packed. */
constexpr int64_t kFewRows = 128, kNearB = 1 << 20;
/** The least b, in bytes, that is expected to come from memory, and the largest that is surely in L2. */
constexpr int64_t kFarBytes = 2 << 20, kSurelyNear = kFarBytes / 8 * 7;
/** More rows than this make panels enough to fetch b and to pay for it. What follows a product waits for this much of it, in bytes. */
constexpr int64_t kLeastStreamed = 3 * kTallest, kWaitingBytes = 1 << 19;

inline int64_t minOf(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

/** Room for a tile whose rows are a multiple of any vector. */
template <class T> using Aside = T[16 * kWidest * lanesOf<T>];

/** c[s * step + r] = aside[r, s], or += it: a tile that is written by columns. */
template <class T> void storeTurned(const Tile<T>& t, const T* aside, T* c, int64_t step, bool add) {
  using Corner = Square<static_cast<int>(sizeof(T))>;
  constexpr int64_t side = Corner::side, piece = Corner::piece, width = kWidest * lanesOf<T>;
  for (int64_t r = 0; r < t.rows; r += side) {
    const LaneMask mask = firstLanes(t.rows - r);
    for (int64_t s = 0; s < t.columns; s += piece) {
      typename Corner::Vector lines[piece];
      Corner::read([&](int i) TL_INLINE_LAMBDA { return aside + (r + i) * width + s; }, lines);
#pragma GCC unroll 4
      for (int64_t q = 0; q < piece; q++) {
        if (s + q >= t.columns) break;
        T* to = c + (s + q) * step + r;
        const Full<T> sum = (Full<T>)lines[q];
        storeLanes(to, add ? loadLanes(to, mask) + sum : sum, mask);
      }
    }
  }
}

/** A tile that its kernel cannot write: it is computed aside and copied. */
template <class T> __attribute__((noinline)) void runAside(Tile<T> t, MicroFn<T> kernel, int64_t cColumn) {
  constexpr int64_t width = kWidest * lanesOf<T>;
  alignas(64) Aside<T> aside;
  T* c = t.c;
  const int64_t cRow = t.cRow;
  const bool add = t.add;
  t.c = aside;
  t.cRow = width;
  t.add = false;
  kernel(t);
  if (kHasMasks && cRow == 1) return storeTurned(t, aside, c, cColumn, add);
  for (int64_t r = 0; r < t.rows; r++)
    for (int64_t s = 0; s < t.columns; s++) {
      T& to = c[r * cRow + s * cColumn];
      to = add ? to + aside[r * width + s] : aside[r * width + s];
    }
}

/** Rows this far apart fall into the same lines of the L1 cache, and push each other out. */
inline bool collides(int64_t step, int64_t size) { return step * size % 4096 == 0; }

/** Calls f(first, count) for as few panels of rows as possible, of nearly the same, even height. */
template <class F> TL_INLINE void forPanelsOf(int64_t rows, const F& f, int64_t tallest = kTallest) {
  const int64_t panels = ceilDiv(rows, tallest), pairs = ceilDiv(rows, 2), least = pairs / panels, more = pairs % panels;
  int64_t i = 0;
  for (int64_t t = 0; t < panels; t++) {
    const int64_t count = minOf(rows - i, 2 * (least + (t < more)));
    f(i, count);
    i += count;
  }
}

/** Terms of a pass. */
template <class T> int64_t depthOf(int64_t k) {
  const int64_t passes = ceilDiv(k, kDepth<T>);
  return passes <= 1 ? k : roundUp(ceilDiv(k, passes), 16);
}

/** Terms that a pass adds to c: `terms` of each of some products, from `first` on. */
struct Pass {
  int64_t product, products, first, terms;
  bool isLast;

  int64_t depth() const { return products * terms; }
  bool isFirst() const { return product == 0 && first == 0; }
};

template <class T> class Product {
 public:
  Product(const Gemm<T>& g, T* scratch) : g_(g), aBlock_(scratch) {
    constexpr int64_t size = sizeof(T);
    depth_ = depthOf<T>(g.k * g.pairs);
    together_ = g.pairs > 1 ? depth_ / g.k : 1;
    if (g.pairs > 1) depth_ = together_ * g.k;
    const int64_t passes = g.pairs > 1 ? ceilDiv(g.pairs, together_) : ceilDiv(g.k, depth_);
    const bool along = g.aColumn == 1, across = g.aRow == 1;
    const bool many = g.n >= (along ? kManyColumns : kManyColumnsAcross<T>) && g.k > kFewTerms;
    const bool nearA = g.m <= nearRows(depth_), nearB = g.n * depth_ * size <= kVeryNearBytes;
    streams_ = streams(g) && many && nearA && (!g.ready || g.m * minOf(g.n, kBlockColumns) * size <= kWaitingBytes);
    const bool packsMany = streams_ || (many && !along);
    readsOnce_ = readsFar(g) && g.m <= kTallest && many;
    packsA_ = g.pairs > 1 || readsOnce_ || !(along || across) || packsMany ||
              (along ? collides(g.aRow, size) : g.k > kFewTerms && collides(g.aColumn, size));
    copiesA_ = packsA_ && along && !packsMany && !readsOnce_ && g.pairs == 1;
    const bool isNearB = g.n * g.k * size <= kNearB && !collides(g.bRow, size);
    packsB_ = !g.panels && (g.bColumn != 1 || (g.m > kFewRows && !isNearB && g.pairs == 1));
    const bool goesOn = g.ready && g.m * minOf(g.n, kBlockColumns) * size > kNearBytes / 2;
    if (streams_) packsB_ = false;
    byColumns_ = streams_ || (g.pairs == 1 && (packsB_ || g.panels) && !goesOn && nearA && !nearB);
    passing_ = g.passing && !g.add && passes == 1 && !byColumns_;
    fetchesA_ = g.pairs == 1 && !byColumns_ && along && g.m * g.k * size > kNearBytes;
    fetchesB_ = !byColumns_ && g.n * g.k * size > kVeryNearBytes;
    follows_ = g.ready && g.followerCount > 0;
    fetchesC_ = !passing_ && g.k >= 64 && g.m * g.n * size > kNearBytes;
    bBlock_ = aBlock_ + aElements(g.m, depth_);
  }

  void run() const {
    for (int64_t jc = 0; jc < g_.n; jc += kBlockColumns) {
      const int64_t nc = minOf(kBlockColumns, g_.n - jc);
      forPasses([&](const Pass& p) {
        if (byColumns_) runByColumns(jc, nc, p);
        else runByRows(jc, nc, p);
      });
      if (byColumns_) ready(0, g_.m, jc, nc, g_.c);
    }
  }

  /** Enough for any product of so many terms that is not larger, and for its transpose. */
  static int64_t scratchElements(int64_t m, int64_t n, int64_t k) {
    const int64_t depth = depthOf<T>(k), widest = m > n ? m : n;
    return aElements(widest, depth) + roundUp(minOf(widest, kBlockColumns), kWidth) * depth + kPackSlack;
  }

  /** Whether several products can be added up in a pass. */
  static bool addsUp(const Gemm<T>& g) { return g.k <= kDepth<T>; }

  /** Whether b is copied while it is used, if it suits in other respects too. */
  static bool streams(const Gemm<T>& g) { return readsFar(g) && g.m > kLeastStreamed; }

 private:
  static constexpr int64_t kWidth = kWidest * lanesOf<T>;

  /** Whether b is read from memory, as it lies, and there are kernels that fetch more of it meanwhile. */
  static bool readsFar(const Gemm<T>& g) {
    const int64_t bytes = g.n * g.k * static_cast<int64_t>(sizeof(T));
    return kHasOrder && g.pairs == 1 && !g.panels && g.bColumn == 1 && g.cColumn == 1 && g.k % kPackedSteps == 0 &&
           bytes >= kFarBytes;
  }

  /** Rows of the tallest a that may be used by columns. */
  static int64_t nearRows(int64_t depth) {
    return depth < kLongDepth ? 0 : kNearBytes / (depth * static_cast<int64_t>(sizeof(T)));
  }

  /** Room for packing all of a, where it may be used by columns, and for one panel in any case; never less for more rows. */
  static int64_t aElements(int64_t m, int64_t depth) {
    return (minOf(m, nearRows(depth)) + kTallest) * copyStep(depth) + kPackSlack;
  }

  /** From one copied row of a to the next: these do not collide. */
  static int64_t copyStep(int64_t depth) { return roundUp(depth, lanesOf<T>) + lanesOf<T>; }

  template <class F> TL_INLINE void forPasses(const F& f) const {
    if (g_.pairs > 1)
      for (int64_t i = 0; i < g_.pairs; i += together_) f(Pass{i, minOf(together_, g_.pairs - i), 0, g_.k, i + together_ >= g_.pairs});
    else
      for (int64_t p = 0; p < g_.k; p += depth_) f(Pass{0, 1, p, minOf(depth_, g_.k - p), p + depth_ >= g_.k});
  }

  void runByColumns(int64_t jc, int64_t nc, const Pass& p) const {
    const int64_t kc = p.terms, step = copiesA_ ? copyStep(kc) : kc;
    if (packsA_) forPanels([&](int64_t i, int64_t rows) { packA(i, rows, p, aBlock_ + i * step); });
    for (int64_t j = jc; j < jc + nc; j += kWidth) {
      const int64_t columns = minOf(kWidth, jc + nc - j);
      if (streams_ && columns == kWidth) {
        streamPanel(j, columns, p, jc, nc);
        continue;
      }
      packB(j, columns, p);
      forPanels([&](int64_t i, int64_t rows) { runPanel(i, rows, j, columns, p, aBlock_ + i * step, cAt(i)); });
    }
  }

  /** All panels of a with columns that come from memory. */
  void streamPanel(int64_t j, int64_t columns, const Pass& p, int64_t jc, int64_t nc) const {
    const int64_t pc = p.first, kc = p.terms;
    const bool ends = j + kWidth >= jc + nc;
    const T* const next = !ends ? bAt(pc, j + kWidth) : !p.isLast ? bAt(pc + kc, jc) : bAt(0, jc + nc);
    Tile<T> tile;
    tile.depth = kc;
    tile.columns = columns;
    tile.aRow = 1;
    tile.cRow = g_.cRow;
    tile.add = g_.add || !p.isFirst();
    tile.fetchesC = fetchesC_;
    tile.copy = bBlock_;
    tile.nextStep = g_.bRow;
    int64_t fetched = 0;  // rows of the next columns
    forPanels([&](int64_t i, int64_t rows) {
      tile.rows = rows;
      tile.a = aBlock_ + i * kc;
      tile.aColumn = micros<T>.height[rows];
      tile.b = i == 0 ? bAt(pc, j) : bBlock_;
      tile.bStep = i == 0 ? g_.bRow : kWidth;
      tile.c = cAt(i) + j;
      tile.next = next + fetched * g_.bRow;
      const bool fetches = i > 0 && fetched < kc;
      const MicroFn<T> kernel = i == 0 ? micros<T>.copy[rows] : fetches ? micros<T>.next[rows] : micros<T>.packed[rows][1];
      kernel(tile);
      if (fetches) fetched += kc / kPackedSteps;
    });
  }

  void runByRows(int64_t jc, int64_t nc, const Pass& p) const {
    packB(jc, nc, p);
    int64_t first = 0;  // of the rows that are finished but not yet reported
    forPanels([&](int64_t i, int64_t rows) {
      if (packsA_) packA(i, rows, p, aBlock_);
      runPanel(i, rows, jc, nc, p, aBlock_, passing_ ? cAt(i - first) : cAt(i));
      const int64_t end = i + rows;
      if (!g_.ready || !p.isLast || ((end - first) * nc < kReadyElements && end < g_.m)) return;
      ready(first, end - first, jc, nc, passing_ ? g_.c : cAt(first));
      first = end;
    });
  }

  void ready(int64_t row, int64_t rows, int64_t column, int64_t columns, T* c) const {
    if (g_.ready) g_.ready(g_.context, row, rows, column, columns, c);
  }

  template <class F> TL_INLINE void forPanels(const F& f) const { forPanelsOf(g_.m, f); }

  T* cAt(int64_t i) const { return g_.c + i * g_.cRow; }
  const T* aAt(int64_t i, int64_t p, int64_t product = 0) const {
    return (g_.pairs > 1 ? g_.as[product] : g_.a) + i * g_.aRow + p * g_.aColumn;
  }
  const T* bAt(int64_t p, int64_t j, int64_t product = 0) const {
    return (g_.pairs > 1 ? g_.bs[product] : g_.b) + p * g_.bRow + j * g_.bColumn;
  }
  /** Whether a panel of so many columns is packed here. */
  bool packs(int64_t columns) const { return !g_.panels && (packsB_ || (!kHasMasks && columns < kWidth)); }

  /** Where a tile's columns of b are. */
  struct Right {
    const T* at;
    int64_t step;
    bool isPacked;
  };
  /** Those from column j of a block on that has `nc` columns from jc on. */
  Right rightOf(int64_t jc, int64_t nc, int64_t j, const Pass& p) const {
    if (g_.panels) return {g_.panels + (jc + j) * g_.k + p.first * kWidth, kWidth, true};
    if (packs(minOf(kWidth, nc - j))) return {bBlock_ + j * p.depth(), kWidth, true};
    return {bAt(p.first, jc + j, p.product), g_.bRow, false};
  }

  void packA(int64_t i, int64_t rows, const Pass& p, T* to) const {
    const int64_t height = micros<T>.height[rows];
    for (int64_t product = 0; product < p.products; product++) {
      const Side<T> side = {aAt(i, p.first, p.product + product), g_.aRow, g_.aColumn};
      if (copiesA_) copyRows<T>(rows, p.terms, side, to, copyStep(p.terms));
      else pack<T>(rows, height, p.terms, side, to + product * p.terms * height);
    }
  }
  void packB(int64_t jc, int64_t nc, const Pass& p) const {
    for (int64_t j = 0; j < nc; j += kWidth)
      if (packs(nc - j))
        for (int64_t product = 0; product < p.products; product++)
          pack<T>(minOf(kWidth, nc - j), kWidth, p.terms, {bAt(p.first, jc + j, p.product + product), g_.bColumn, g_.bRow},
                  bBlock_ + j * p.depth() + product * p.terms * kWidth);
  }

  /** One panel of a with the panels of b from column jc on; its rows of c begin at `c`. */
  void runPanel(int64_t i, int64_t rows, int64_t jc, int64_t nc, const Pass& p, const T* packedA, T* c) const {
    const int64_t pc = p.first, kc = p.terms;
    const T* bs[kDepth<T>];
    Tile<T> tile;
    tile.depth = kc;
    tile.rows = rows;
    tile.a = packsA_ ? packedA : aAt(i, pc);
    tile.aRow = copiesA_ ? copyStep(kc) : packsA_ ? 1 : g_.aRow;
    tile.aColumn = packsA_ && !copiesA_ ? micros<T>.height[rows] : g_.aColumn;
    const bool isPacked = packsA_ && !copiesA_ && kc % kPackedSteps == 0;
    const bool isBeside = tile.aRow == 1;
    const auto& kernels = isPacked ? micros<T>.packed : isBeside ? micros<T>.beside : micros<T>.of;
    tile.cRow = g_.cRow;
    tile.add = g_.add || !p.isFirst();
    tile.fetchesC = fetchesC_;
    const bool fetchesA = fetchesA_ && i + 2 * rows <= g_.m;
    const bool follows = follows_ && p.isLast;
    tile.followerRows = rows;
    for (int64_t j = 0; j < nc; j += kWidth) {
      if (fetchesA) fetchRows(i + rows, rows, pc, kc * j / nc, kc * minOf(j + kWidth, nc) / nc);
      tile.columns = minOf(kWidth, nc - j);
      const int vectors = tile.columns > lanesOf<T> ? 2 : 1;
      const Right right = rightOf(jc, nc, j, p);
      tile.b = right.at;
      tile.bStep = right.step;
      if (p.products > 1) {
        // Packed ones follow each other.
        tile.products = right.isPacked ? 1 : p.products;
        tile.depth = right.isPacked ? p.depth() : kc;
        tile.bs = bs;
        for (int64_t product = 1; product < tile.products; product++) bs[product] = bAt(0, jc + j, p.product + product);
      }
      tile.c = c + (jc + j) * g_.cColumn;
      const bool isWhole = right.isPacked || tile.columns == vectors * lanesOf<T>;
      // The first panel of a finds the columns of many matrices nowhere near.
      const bool isFar = (p.products > 1 || readsOnce_) && i == 0 && !right.isPacked;
      const bool isTall = isPacked && isWhole && vectors == 2 && micros<T>.beyond[rows];
      MicroFn<T> kernel = (isWhole ? kernels : micros<T>.part)[rows][vectors - 1 + (vectors == 2 && fetchesB_)];
      if (isTall && isFar) {
        tile.beyond = beyond(j, nc, p);
        kernel = micros<T>.beyond[rows];
      } else if (isTall && follows) {
        placeFollowers(i, jc + j, tile);
        kernel = micros<T>.follow[rows];
      }
      if (g_.cColumn == 1 && (kHasMasks || tile.columns == vectors * lanesOf<T>)) kernel(tile);
      else runAside(tile, kernel, g_.cColumn);
    }
  }

  /** From column j of a block to those that are fetched: two tiles later, which for a b that is read once may be in the next pass. */
  int64_t beyond(int64_t j, int64_t nc, const Pass& p) const {
    const int64_t later = j + 2 * kWidth, turn = later - roundUp(nc, kWidth);
    if (later + kWidth <= nc) return 2 * kWidth;
    return readsOnce_ && !p.isLast ? p.terms * g_.bRow - j + (turn > 0 ? turn : 0) : 0;
  }

  /** What will be used together with a tile at row i and column j: of matrices whose rows are equally far apart, for others are rare. */
  void placeFollowers(int64_t i, int64_t j, Tile<T>& tile) const {
    const Follower& first = g_.followers[0];
    tile.followerStep = first.row;
    for (int k = 0; k < kFollowers; k++) {
      const Follower& f = k < g_.followerCount && g_.followers[k].row == first.row ? g_.followers[k] : first;
      tile.followers[k] = f.at + i * f.row + j * f.column;
    }
  }

  /** Brings a part of the next rows of a nearer while others are in use. */
  TL_INLINE void fetchRows(int64_t i, int64_t rows, int64_t pc, int64_t from, int64_t to) const {
    constexpr int64_t line = 64 / sizeof(T);
    for (int64_t p = roundUp(from, line); p < to; p += line)
      for (int64_t r = 0; r < rows; r++) __builtin_prefetch(aAt(i + r, pc + p), 0, 2);
  }

  const Gemm<T>& g_;
  T* aBlock_;
  T* bBlock_;
  /** Terms of a pass, and products. */
  int64_t depth_, together_;
  /** Whether a is one panel, so that all of b comes from memory and is used only once. */
  bool readsOnce_;
  bool packsA_, copiesA_, packsB_, byColumns_, streams_, passing_, follows_, fetchesA_, fetchesB_, fetchesC_;
};

}  // namespace
}  // namespace tl::TL_SIMD

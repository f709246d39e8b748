/**
 * Matrix products of float32 and float64.
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
 * Products with vectors and with few columns have ways of their own, below.
 *
 * A long k is cut into passes of at most kDepth, and c is read and written once per pass. A sum of short products has several of them in a
 * pass, whose panels of a follow each other. What a number of c is the sum
 * of, and in which order, depends on k and the number of products alone, not on how a product is cut among threads: no cut leaves a piece of so few rows or
 * columns that it goes another way (method.h).
 */
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

/**
 * Products of few rows by a b whose columns lie along k, such as gradients of dense layers for small batches. To turn b over takes as long as
 * many multiplications, and that many rows hardly make it pay. So the transposed product is computed: columns of b become rows of tiles, read
 * as they lie, and a, of which there is little, becomes what vectors are of. A tile is turned over when it is finished.
 *
 * Sums are those of Product, in the same order.
 */
template <class T> class Lengthwise {
 public:
  static bool suits(const Gemm<T>& g) {
    return kHasMasks && g.bRow == 1 && g.bColumn != 1 && g.cColumn == 1 && !g.add && !g.panels && g.pairs == 1 && g.m >= lanesOf<T> &&
           g.m <= kMostRows && g.n >= 2 * g.m && g.k >= kLongDepth && g.n * g.k >= kFarBytes / static_cast<int64_t>(sizeof(T)) &&
           panelElements(g.m, g.k) <= kMostElements;
  }
  /** Enough for any product that suits and is not larger. */
  static int64_t scratchElements(int64_t m, int64_t n, int64_t k) {
    if (!kHasMasks || k < kLongDepth) return 0;
    const int64_t rows = minOf(roundUp(minOf(m > n ? m : n, kMostRows), kWidth), kMostElements / k);
    return rows * k + kTallest * copyStep(kDepth<T>) + kMostRows * kTileRows + 3 * kPackSlack;
  }

  Lengthwise(const Gemm<T>& g, T* scratch)
      : g_(g), tiles_(ceilDiv(g.m, kWidth)), depth_(depthOf<T>(g.k)), panels_(scratch),
        copy_(scratch + roundUp(panelElements(g.m, g.k) + kPackSlack, kPackSlack)), sums_(copy_ + roundUp(kTallest * copyStep(depth_), kPackSlack)) {}

  void run() const {
    for (int64_t j = 0; j < g_.m; j += kWidth)
      pack<T>(minOf(kWidth, g_.m - j), kWidth, g_.k, {g_.a + j * g_.aRow, g_.aRow, g_.aColumn}, panels_ + j * g_.k);
    int64_t first = 0;  // of the columns of c that are finished but not yet reported
    forPanelsOf(g_.n, [&](int64_t i, int64_t rows) {
      multiply(i, rows);
      const int64_t end = i + rows;
      if (!g_.ready || (end < g_.n && (end - first) * g_.m < kReadyElements)) return;
      g_.ready(g_.context, 0, g_.m, first, end - first, g_.c);
      first = end;
    });
  }

 private:
  static constexpr int64_t kWidth = kWidest * lanesOf<T>, kTileRows = 16;
  /** With more rows it pays to turn b over. */
  static constexpr int64_t kMostRows = 96;
  /** So much of a stays in L2. */
  static constexpr int64_t kMostElements = (1 << 19) / sizeof(T);

  static int64_t panelElements(int64_t m, int64_t k) { return roundUp(m, kWidth) * k; }
  /** From one copied row to the next: these do not collide. */
  static int64_t copyStep(int64_t depth) { return roundUp(depth, lanesOf<T>) + lanesOf<T>; }

  /** Some columns of c. */
  void multiply(int64_t i, int64_t rows) const {
    const T* const b = g_.b + i * g_.bColumn;
    Tile<T> tile;
    tile.rows = rows;
    tile.a = copy_;
    tile.aColumn = 1;
    tile.bStep = tile.cRow = tile.columns = kWidth;
    tile.fetchesC = false;
    tile.next = b + rows * g_.bColumn;
    tile.nextStep = ceilDiv(rows, tiles_);
    for (int64_t first = 0; first < g_.k; first += depth_) {
      tile.depth = minOf(depth_, g_.k - first);
      tile.aRow = copyStep(tile.depth);
      tile.add = first > 0;
      copyRows<T>(rows, tile.depth, {b + first, g_.bColumn, 1}, copy_, tile.aRow);
      for (int64_t t = 0; t < tiles_; t++, tile.next += tile.depth * tile.nextStep) {
        tile.b = panels_ + t * kWidth * g_.k + first * kWidth;
        tile.c = sums_ + t * kTileRows * kWidth;
        micros<T>.nextRows[rows][vectorsOf(t) - 1](tile);
      }
    }
    for (int64_t t = 0; t < tiles_; t++) {
      tile.columns = minOf(kWidth, g_.m - t * kWidth);
      storeTurned(tile, sums_ + t * kTileRows * kWidth, g_.c + t * kWidth * g_.cRow + i, g_.cRow, false);
    }
  }

  int64_t vectorsOf(int64_t t) const { return g_.m - t * kWidth > lanesOf<T> ? 2 : 1; }

  const Gemm<T>& g_;
  int64_t tiles_, depth_;
  T *panels_, *copy_, *sums_;
};

/** The sums of the numbers in each of `Count` vectors, no more than one has lanes, in order, in the first lanes of one. */
template <class T, int Count> TL_INLINE Full<T> sumsOf(Full<T> (&x)[Count]) {
  using Corner = Square<static_cast<int>(sizeof(T))>;
  using Words = typename Corner::Vector;
  // Halves of two vectors become one that has them in turn; so the vectors far apart in `x` end up side by side.
#pragma GCC unroll 4
  for (int count = Count / 2; count > 0; count /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < count; i++) {
      const Words left = (Words)x[i], right = (Words)x[i + count];
      x[i] = (Full<T>)Corner::interleave(left, right, false) + (Full<T>)Corner::interleave(left, right, true);
    }
  // Where vectors are fewer than lanes, each has left several sums, `Count` apart.
#pragma GCC unroll 4
  for (int lanes = lanesOf<T>; lanes > Count; lanes /= 2) {
    const Words all = (Words)x[0];
    x[0] += (Full<T>)Corner::secondHalf(all, lanes);
  }
  return x[0];
}

/** Terms of a dot product that are added up by themselves: a sum that grows and grows loses more of every term. */
constexpr int64_t kStretch = 4096;

/** sums[r] += the products of rows of a, `aRow` apart, with x, over whole strides of `Vectors` vectors; gives where these end. */
template <class T, int Rows, int Vectors>
TL_INLINE int64_t addDots(int64_t k, const T* a, int64_t aRow, const T* x, Full<T> (&sums)[Rows][Vectors]) {
  using V = Full<T>;
  constexpr int64_t lanes = lanesOf<T>, stride = Vectors * lanes;
  int64_t p = 0;
  const auto addUpTo = [&](int64_t end, V (&s)[Rows][Vectors]) TL_INLINE_LAMBDA {
    for (; p + stride <= end; p += stride)
#pragma GCC unroll 2
      for (int l = 0; l < Vectors; l++) {
        const V right = loadVector(x + p + l * lanes);
#pragma GCC unroll 4
        for (int r = 0; r < Rows; r++) s[r][l] += loadVector(a + r * aRow + p + l * lanes) * right;
      }
  };
  addUpTo(minOf(k, kStretch), sums);
  while (p + stride <= k) {
    V more[Rows][Vectors] = {};
    addUpTo(minOf(k, p + kStretch), more);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; r++)
#pragma GCC unroll 2
      for (int l = 0; l < Vectors; l++) sums[r][l] += more[r][l];
  }
  return p;
}

/**
 * y[m] = a[m, k] * x[k] for contiguous x, rows of a contiguous: several rows at once share the loads of x. What is left at the end is
 * computed with some of its neighbours a second time: a row has the same sum wherever it stands.
 */
template <class T> void rowDots(int64_t m, int64_t k, const T* a, int64_t aRow, const T* x, T* y, int64_t yStep) {
  using V = Full<T>;
  constexpr int lanes = lanesOf<T>;
  const auto restOf = [&](const T* row, int64_t from) {
    T total = 0;
    for (int64_t p = from; p < k; p++) total += row[p] * x[p];
    return total;
  };
  constexpr int together = lanes < 4 ? lanes : 4;
  for (int64_t next = 0; m >= together && next < m; next += together) {
    const int64_t i = minOf(next, m - together);
    const T* row = a + i * aRow;
    V s[together][1] = {};
    const int64_t p = addDots<T, together, 1>(k, row, aRow, x, s);
    V all[together];
#pragma GCC unroll 4
    for (int r = 0; r < together; r++) all[r] = s[r][0];
    const V sums = sumsOf<T, together>(all);
#pragma GCC unroll 4
    for (int r = 0; r < together; r++) y[(i + r) * yStep] = p < k ? sums[r] + restOf(row + r * aRow, p) : sums[r];
  }
  for (int64_t i = 0; m < together && i < m; i++) {
    const T* row = a + i * aRow;
    V s[1][2] = {};
    const int64_t p = addDots<T, 1, 2>(k, row, aRow, x, s);
    const V sums = sumsOf<T, 2>(s[0]);
    y[i * yStep] = sums[0] + sums[1] + restOf(row, p);
  }
}

/** Vectors side by side in a strip of columns whose sums stay in registers. */
constexpr int kStrip = 16;

/** y[s] = sum of a[p, s] * x[p] for `Width` vectors of s; of the last one there is only what the mask has, unless it is `Whole`. */
template <class T, int Width, bool Whole>
void stripSums(int64_t k, const T* a, int64_t aColumn, const T* x, int64_t xStep, T* y, LaneMask mask) {
  using V = Full<T>;
  constexpr int lanes = lanesOf<T>;
  const auto load = [&](const T* from, int j) TL_INLINE_LAMBDA {
    return Whole || j + 1 < Width ? loadVector(from + j * lanes) : loadLanes(from + j * lanes, mask);
  };
  V sum[Width] = {};
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) {
    const T *c0 = a + p * aColumn, *c1 = c0 + aColumn, *c2 = c1 + aColumn, *c3 = c2 + aColumn, *by = x + p * xStep;
    const V x0 = splat<V>(by[0]), x1 = splat<V>(by[xStep]), x2 = splat<V>(by[2 * xStep]), x3 = splat<V>(by[3 * xStep]);
#pragma GCC unroll 16
    for (int j = 0; j < Width; j++) sum[j] += (load(c0, j) * x0 + load(c1, j) * x1) + (load(c2, j) * x2 + load(c3, j) * x3);
  }
  for (; p < k; p++)
#pragma GCC unroll 16
    for (int j = 0; j < Width; j++) sum[j] += load(a + p * aColumn, j) * x[p * xStep];
#pragma GCC unroll 16
  for (int j = 0; j + 1 < Width; j++) storeVector(y + j * lanes, sum[j]);
  if constexpr (Whole) storeVector(y + (Width - 1) * lanes, sum[Width - 1]);
  else storeLanes(y + (Width - 1) * lanes, sum[Width - 1], mask);
}

/** y[m] = a[m, k] * x[k] where columns of a are contiguous and near: from there short pieces of them come as fast as long ones. */
template <class T> void nearColumnSums(int64_t m, int64_t k, const T* a, int64_t aColumn, const T* x, int64_t xStep, T* y) {
  constexpr int64_t lanes = lanesOf<T>;
  int64_t i = 0;
  for (; i + kStrip * lanes <= m; i += kStrip * lanes) stripSums<T, kStrip, true>(k, a + i, aColumn, x, xStep, y + i, {});
  for (; i + 4 * lanes <= m; i += 4 * lanes) stripSums<T, 4, true>(k, a + i, aColumn, x, xStep, y + i, {});
  for (; i < m; i += lanes) stripSums<T, 1, false>(k, a + i, aColumn, x, xStep, y + i, firstLanes(m - i));
}

/** y[m] = a[m, k] * x[k] where columns of a are contiguous: sums, in pieces that stay in L1, take four columns at a time. */
template <class T>
void columnSums(int64_t m, int64_t k, const T* a, int64_t aColumn, const T* x, int64_t xStep, T* y, int64_t yStep) {
  constexpr int64_t piece = 2048;
  alignas(64) T sum[piece];
  for (int64_t start = 0; start < m; start += piece) {
    const int64_t n = minOf(piece, m - start);
    const T* from = a + start;
    int64_t p = 0;
    for (bool goesOn = false; p < k; goesOn = true) {
      const int64_t end = minOf(k, p + kStretch);
      for (int64_t i = 0; i < n; i++) sum[i] = 0;
      for (; p + 4 <= end; p += 4) {
        const T x0 = x[p * xStep], x1 = x[(p + 1) * xStep], x2 = x[(p + 2) * xStep], x3 = x[(p + 3) * xStep];
        const T *c0 = from + p * aColumn, *c1 = c0 + aColumn, *c2 = c1 + aColumn, *c3 = c2 + aColumn;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) sum[i] += (c0[i] * x0 + c1[i] * x1) + (c2[i] * x2 + c3[i] * x3);
      }
      for (; p < end; p++) {
        const T x0 = x[p * xStep];
        const T* c0 = from + p * aColumn;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) sum[i] += c0[i] * x0;
      }
      for (int64_t i = 0; i < n; i++) {
        T& to = y[(start + i) * yStep];
        to = goesOn ? to + sum[i] : sum[i];
      }
    }
  }
}

/** The longest strided vector that is gathered before it is used. */
constexpr int64_t kGathered = 4096;

/** y[m] = a[m, k] * x[k] for a whose rows or columns are contiguous. */
template <class T> void matrixVector(const Gemm<T>& g, T* scratch) {
  if (g.aColumn != 1) {
    // Of the whole matrix, whichever part of it this is: the two ways may give other sums in the last bit.
    const bool isNear = kHasMasks && g.cRow == 1 && g.aColumn * g.k * static_cast<int64_t>(sizeof(T)) <= kSurelyNear;
    if (isNear) nearColumnSums(g.m, g.k, g.a, g.aColumn, g.b, g.bRow, g.c);
    else columnSums(g.m, g.k, g.a, g.aColumn, g.b, g.bRow, g.c, g.cRow);
    return;
  }
  const T* x = g.b;
  if (g.bRow != 1) {
    for (int64_t p = 0; p < g.k; p++) scratch[p] = g.b[p * g.bRow];
    x = scratch;
  }
  rowDots(g.m, g.k, g.a, g.aRow, x, g.c, g.cRow);
}

template <class T> void gemm(const Gemm<T>& g, char* scratch);

/** Few columns, and not a number that fills vectors. */
template <class T> bool isNarrow(const Gemm<T>& g) { return g.n > 1 && g.n <= kTallest && g.n % lanesOf<T> != 0; }

/** Rows and columns of c at most that narrowDots computes at once: their sums and factors fill the registers. */
constexpr int kDotRows = 4, kDotColumns = 5;

/**
 * c[i, j] as products of vectors along k, for up to kDotRows rows and `Columns` columns: no lane is idle, however few columns
 * there are. `b` has its columns as rows, `bColumn` apart. Rows that there are not repeat the last.
 */
template <class T, int Columns>
void dotTile(const Gemm<T>& g, int64_t i, int64_t j, const T* b, int64_t bColumn) {
  constexpr int lanes = lanesOf<T>;
  using V = Full<T>;
  const int64_t rows = minOf(kDotRows, g.m - i);
  const T* row[kDotRows];
#pragma GCC unroll 4
  for (int r = 0; r < kDotRows; r++) row[r] = g.a + (i + minOf(r, rows - 1)) * g.aRow;
  V sum[kDotRows][Columns] = {};
  const auto step = [&](int64_t p, const auto& load) TL_INLINE_LAMBDA {
    V left[kDotRows];
#pragma GCC unroll 4
    for (int r = 0; r < kDotRows; r++) left[r] = load(row[r] + p);
#pragma GCC unroll 5
    for (int s = 0; s < Columns; s++) {
      const V right = load(b + (j + s) * bColumn + p);
#pragma GCC unroll 4
      for (int r = 0; r < kDotRows; r++) sum[r][s] += left[r] * right;
    }
  };
  int64_t p = 0;
  // Reading some lanes only takes the place of a multiplication.
  for (; p + lanes <= g.k; p += lanes) step(p, [](const T* from) TL_INLINE_LAMBDA { return loadVector(from); });
  const LaneMask rest = firstLanes(g.k - p);
  if (p < g.k) step(p, [&](const T* from) TL_INLINE_LAMBDA { return loadLanes(from, rest); });

  constexpr int all = kDotRows * Columns, groups = (all + lanes - 1) / lanes;
  alignas(64) T total[groups * lanes];
#pragma GCC unroll 3
  for (int group = 0; group < groups; group++) {
    V x[lanes];
#pragma GCC unroll 16
    for (int l = 0; l < lanes; l++) {
      const int at = group * lanes + l;
      x[l] = at < all ? sum[at / Columns][at % Columns] : V{};
    }
    storeVector(total + group * lanes, sumsOf<T, lanes>(x));
  }
  const LaneMask mask = firstLanes(Columns);
  for (int64_t r = 0; r < rows; r++) {
    T* const c = g.c + (i + r) * g.cRow + j * g.cColumn;
    if (g.cColumn == 1) {
      const V x = loadLanes(total + r * Columns, mask);
      storeLanes(c, g.add ? x + loadLanes(c, mask) : x, mask);
      continue;
    }
#pragma GCC unroll 5
    for (int s = 0; s < Columns; s++) c[s * g.cColumn] = g.add ? total[r * Columns + s] + c[s * g.cColumn] : total[r * Columns + s];
  }
}

/** So many terms pay for adding up lanes at the end. */
template <class T> constexpr int64_t kDotTerms = 16 * lanesOf<T>;

template <class T> bool hasDotTerms(int64_t k) { return kHasMasks && k >= kDotTerms<T> && k <= kGathered; }
/** A product of few columns. */
template <class T> bool suitsDots(const Gemm<T>& g) {
  return isNarrow(g) && hasDotTerms<T>(g.k) && g.aColumn == 1 && g.cColumn == 1 && (g.bRow == 1 || g.bColumn == 1);
}
/** A product of few rows: the transposed one is a product of few columns. It need not turn over b. */
template <class T> bool suitsTurnedDots(const Gemm<T>& g) {
  return g.m > 1 && g.m <= kTallest && g.n > kTallest && hasDotTerms<T>(g.k) && g.bRow == 1 && g.bColumn != 1 && g.cColumn == 1 &&
         (g.aRow == 1 || g.aColumn == 1);
}

/** From one column of a transposed b to the next: not so that they fall into the same lines of L1. */
template <class T> constexpr int64_t dotColumnStep(int64_t k) { return k + lanesOf<T>; }
/** Memory for all of it; columns of a product may be fewer than expected. */
template <class T> int64_t dotScratchElements(int64_t n, int64_t k) {
  return k > kGathered ? 0 : minOf(n, kTallest) * dotColumnStep<T>(k);
}

/** A product of few columns, whose rows of a are contiguous. */
template <class T> void narrowDots(const Gemm<T>& g, T* scratch) {
  const T* b = g.b;
  int64_t bColumn = g.bColumn;
  if (g.bRow != 1) {
    bColumn = dotColumnStep<T>(g.k);
    transposeBlock<sizeof(T)>(g.n, g.k, scratch, bColumn, g.b, g.bRow);
    b = scratch;
  }
  const int64_t groups = ceilDiv(g.n, kDotColumns);
  for (int64_t i = 0; i < g.m; i += kDotRows)
    for (int64_t group = 0, j = 0; group < groups; group++) {
      const int64_t columns = g.n * (group + 1) / groups - j;
      if (columns == 5) dotTile<T, 5>(g, i, j, b, bColumn);
      else if (columns == 4) dotTile<T, 4>(g, i, j, b, bColumn);
      else if (columns == 3) dotTile<T, 3>(g, i, j, b, bColumn);
      else dotTile<T, 2>(g, i, j, b, bColumn);
      j += columns;
    }
}

/** The transposed products; they report nothing. */
template <class T> Gemm<T> transposed(const Gemm<T>& g) {
  Gemm<T> t = {g.n, g.m, g.k, g.b, g.bColumn, g.bRow, g.a, g.aColumn, g.aRow, g.c, g.cColumn, g.cRow, g.add};
  t.count = g.count;
  t.aNext = g.bNext;
  t.bNext = g.aNext;
  t.cNext = g.cNext;
  return t;
}

template <class T> void clear(const Gemm<T>& g) {
  for (int64_t i = 0; i < g.m && !g.add; i++)
    for (int64_t j = 0; j < g.n; j++) g.c[i * g.cRow + j * g.cColumn] = 0;
}

/** Calls f for all products alike, of which g is the first and becomes the others. */
template <class T, class F> TL_INLINE void forAlike(Gemm<T>& g, const F& f) {
  for (int64_t left = g.count; f(), --left > 0;) {
    g.a += g.aNext;
    g.b += g.bNext;
    g.c += g.cNext;
  }
}

/** Products with vectors b, if the layout of a suits them. */
template <class T> bool multiplyVectors(Gemm<T> g, T* memory) {
  const bool byColumns = g.aRow == 1 && g.aColumn != 1;
  const bool isGathered = g.bRow != 1;
  if (g.add || (!byColumns && (g.aColumn != 1 || (isGathered && g.k > kGathered)))) return false;
  forAlike(g, [&] { matrixVector(g, memory); });
  return true;
}

/**
 * Products so small that a few tiles are all of one. What is the same for all of them is found out once, for else it would take as long as
 * the multiplications. Sums are those of Product, in the same order.
 */
template <class T> class SmallProducts {
 public:
  static bool suits(const Gemm<T>& g) {
    return kHasMasks && g.pairs == 1 && !g.ready && !g.add && g.cColumn == 1 && g.m > 1 && g.m <= kMostRows && g.n > 1 &&
           g.n <= kWidest * lanesOf<T> && g.k <= kMostTerms;
  }

  SmallProducts(const Gemm<T>& g, T* scratch) : g_(g), scratch_(scratch), turnsB_(g.bColumn != 1) {
    const int64_t width = g.n > lanesOf<T> ? 2 : 1, lanes = width * lanesOf<T>;
    const bool isWhole = turnsB_ || g.n == lanes;
    tile_.depth = g.k;
    tile_.aRow = g.aRow;
    tile_.aColumn = g.aColumn;
    tile_.b = scratch;
    tile_.bStep = turnsB_ ? lanes : g.bRow;
    tile_.cRow = g.cRow;
    tile_.columns = g.n;
    tile_.add = tile_.fetchesC = false;
    const auto& wide = isWhole ? micros<T>.of : micros<T>.part;
    const auto& narrow = isWhole ? micros<T>.narrow : micros<T>.narrowPart;
    const auto add = [&](int64_t, int64_t rows) {
      rows_[panels_] = rows;
      kernels_[panels_++] = width == 1 ? narrow[rows] : wide[rows][1];
    };
    forPanelsOf(g.m, add, width == 1 ? kTallestNarrow : kTallest);
  }

  void run() {
    if (turnsB_) pack<T>(g_.n, tile_.bStep, g_.k, {g_.b, g_.bColumn, g_.bRow}, scratch_);
    else tile_.b = g_.b;
    tile_.a = g_.a;
    tile_.c = g_.c;
    for (int64_t panel = 0; panel < panels_; panel++) {
      tile_.rows = rows_[panel];
      kernels_[panel](tile_);
      tile_.a += tile_.rows * g_.aRow;
      tile_.c += tile_.rows * g_.cRow;
    }
  }

 private:
  static constexpr int64_t kMostRows = 32, kMostTerms = 64, kMostPanels = (kMostRows + kTallest - 1) / kTallest;

  const Gemm<T>& g_;
  T* const scratch_;
  const bool turnsB_;
  Tile<T> tile_;
  int64_t panels_ = 0;
  int64_t rows_[kMostPanels];
  MicroFn<T> kernels_[kMostPanels];
};

/**
 * Whether to compute the transpose of c: c is written along its rows, but its columns may be the contiguous direction. Also
 * where there are few columns: they would leave much of a vector empty, but they make a good height of tiles.
 */
template <class T> bool turns(const Gemm<T>& g) {
  if (g.cColumn != 1 && g.cRow == 1) return true;
  return kHasMasks && isNarrow(g) && g.aRow == 1 && g.m >= 2 * lanesOf<T>;
}

/** A sum of products, one after the other. */
template <class T> void multiplyPairs(Gemm<T> g, char* scratch) {
  const auto ready = g.ready;
  const int64_t pairs = g.pairs;
  g.pairs = 1;
  g.passing = false;
  for (int64_t pair = 0; pair < pairs; pair++) {
    g.a = g.as[pair];
    g.b = g.bs[pair];
    g.ready = pair + 1 < pairs ? nullptr : ready;
    gemm(g, scratch);
    g.add = true;
  }
}

template <class T> void gemm(const Gemm<T>& g, char* scratch) {
  T* memory = reinterpret_cast<T*>(scratch);
  const bool turned = turns(g);
  if (g.pairs > 1) {
    const bool isOther = turned || g.k == 0 || g.n == 1 || g.m == 1 || suitsDots(g) || suitsTurnedDots(g);
    if (isOther || !Product<T>::addsUp(g)) multiplyPairs(g, scratch);
    else Product<T>(g, memory).run();
    return;
  }
  Gemm<T> one = turned ? transposed(g) : g;
  if (g.k == 0) {
    forAlike(one, [&] { clear(one); });
  } else if (suitsDots(g)) {
    forAlike(one, [&] { narrowDots(one, memory); });
  } else if (suitsTurnedDots(g)) {
    one = transposed(g);
    forAlike(one, [&] { narrowDots(one, memory); });
  } else if (Lengthwise<T>::suits(g)) {
    forAlike(one, [&] { Lengthwise<T>(one, memory).run(); });
    return;
  } else if ((g.n != 1 || !multiplyVectors(g, memory)) && (g.m != 1 || !multiplyVectors(transposed(g), memory))) {
    if (SmallProducts<T>::suits(one)) {
      SmallProducts<T> products(one, memory);
      forAlike(one, [&] { products.run(); });
    } else {
      const Product<T> product(one, memory);
      forAlike(one, [&] { product.run(); });
      if (!turned) return;
    }
  }
  if (g.ready) g.ready(g.context, 0, g.m, 0, g.n, g.c);
}

/**
 * Terms and columns at most of a product so small that to choose a way takes longer than to go it: its rows and columns are one tile. Not
 * with vectors: their ways give other sums.
 */
constexpr int64_t kTinyTerms = 16, kTinyColumns = lanesOf<double>;

bool suitsTiny(int64_t m, int64_t n, int64_t k) {
  return kHasMasks && m > 1 && n > 1 && m <= kTallest && n <= kTinyColumns && k > 0 && k <= kTinyTerms;
}

template <class T> void multiplyTiny(const Gemm<T>& g) {
  Tile<T> tile;
  tile.depth = g.k;
  tile.a = g.a;
  tile.aRow = g.aRow;
  tile.aColumn = g.aColumn;
  tile.b = g.b;
  tile.bStep = g.bRow;
  tile.c = g.c;
  tile.cRow = g.cRow;
  tile.rows = g.m;
  tile.columns = g.n;
  tile.add = false;
  tile.fetchesC = false;
  T rows[kTinyTerms * kTinyColumns];
  if (g.bColumn != 1) {
    for (int64_t p = 0; p < g.k; p++)
      for (int64_t j = 0; j < g.n; j++) rows[p * kTinyColumns + j] = g.b[p * g.bRow + j * g.bColumn];
    tile.b = rows;
    tile.bStep = kTinyColumns;
  }
  micros<T>.part[g.m][0](tile);
}

/** Whether all products of this size use panels, so that sums do not depend on whether there are any. */
bool suitsPanels(int64_t m, int64_t n, int64_t k) {
  return m > 1 && n >= kWidest * lanesOf<float> && k > 0 && !(m <= kTallest && hasDotTerms<float>(k));
}

/** The columns of b from the first one of a panel on, as many as a tile has; what is there of further ones does not matter. */
template <class T> void packPanel(const Gemm<T>& g, int64_t column, T* to) {
  constexpr int64_t width = kWidest * lanesOf<T>;
  pack<T>(minOf(width, g.n - column), width, g.k, {g.b + column * g.bColumn, g.bColumn, g.bRow}, to);
}

template <class T> int64_t scratchElements(int64_t m, int64_t n, int64_t k) {
  const int64_t ways[] = {Product<T>::scratchElements(m, n, k), dotScratchElements<T>(m > n ? m : n, k), Lengthwise<T>::scratchElements(m, n, k)};
  int64_t most = kGathered;
  for (const int64_t elements : ways)
    if (elements > most) most = elements;
  return most;
}

}  // namespace

void fillGemm(SimdKernels& k) {
  k.gemmF32 = gemm<float>;
  k.gemmF64 = gemm<double>;
  k.tinyF32 = multiplyTiny<float>;
  k.tinyF64 = multiplyTiny<double>;
  k.suitsTiny = suitsTiny;
  k.gemmStreams = Product<float>::streams;
  k.panelWidth = kWidest * lanesOf<float>;
  k.suitsPanels = suitsPanels;
  k.packPanel = packPanel<float>;
  k.gemmScratch = [](int64_t m, int64_t n, int64_t k, int64_t size) {
    return (size == 4 ? scratchElements<float>(m, n, k) : scratchElements<double>(m, n, k)) * size;
  };
}

}  // namespace tl::TL_SIMD

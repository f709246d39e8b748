/** The `dot` instruction: batches of matrix products, spread over threads. */
#include <algorithm>
#include <cstring>

#include "../core/packs.h"
#include "../map/map.h"
#include "method.h"

namespace tl {
namespace {

/** Rows or columns of a piece of a product at least, and multiply-adds in it. */
constexpr int64_t kLeastLines = 32;
constexpr double kLeastPiece = 600e3;
/** Numbers to pack that pay for waking another thread. */
constexpr double kPackGrain = 20e3;
/**
 * Bytes of a packed factor that all pieces share at most; of larger ones every piece packs what it needs at the time. Up to
 * kMostTwice each thread packs it for itself, and finds it in its cache: to fetch what another has packed takes longer.
 */
constexpr int64_t kMostShared = 6 << 20, kMostTwice = 2 << 20;

/**
 * Terms at least, and how many at most, of the stretches of a sum that threads share where a factor is a vector; and bytes of a matrix
 * at most that may be in their caches.
 */
constexpr int64_t kLeastStretch = 256, kMostStretches = 8, kMostNear = 8 << 20;

/** One operand of a batch: its matrix strides and its strides along the batch dims. */
struct Matrix {
  View view;
  int64_t row, column;
  std::vector<int64_t> batch;

  explicit Matrix(const View& v) : view(v) {
    const size_t rank = v.dims.size();
    if (rank < 2) refuse("a matrix product needs matrices");
    row = v.strides[rank - 2];
    column = v.strides[rank - 1];
    batch.assign(v.strides.begin(), v.strides.end() - 2);
  }
  int64_t rows() const { return view.dims[view.dims.size() - 2]; }
  int64_t columns() const { return view.dims.back(); }
  /** Where matrix `index` of the batch begins. */
  int64_t startOf(int64_t index, const std::vector<int64_t>& dims) const {
    if (dims.empty()) return 0;
    int64_t start = 0;
    for (size_t d = dims.size() - 1; d > 0; index /= dims[d--]) start += index % dims[d] * batch[d];
    return start + index * batch[0];
  }
};

/** A complex number; the library's product checks every result for NaN. */
struct Complex {
  double re, im;
};
Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/** The plain product, for types without a fast one. */
template <class T>
void plainProduct(const Gemm<T>& g, char*) {
  constexpr int64_t strip = 64;
  T sum[strip];
  for (int64_t i = 0; i < g.m; i++)
    for (int64_t j = 0; j < g.n; j += strip) {
      const int64_t width = std::min(strip, g.n - j);
      for (int64_t s = 0; s < width; s++) sum[s] = T{};
      for (int64_t p = 0; p < g.k; p++) {
        const T left = g.a[i * g.aRow + p * g.aColumn];
        const T* right = g.b + p * g.bRow + j * g.bColumn;
        for (int64_t s = 0; s < width; s++) sum[s] = sum[s] + left * right[s * g.bColumn];
      }
      for (int64_t s = 0; s < width; s++) g.c[i * g.cRow + (j + s) * g.cColumn] = sum[s];
    }
}

/** What a product is added to, and what follows it. */
struct Surroundings {
  /** Further factors, like the first ones, whose products are added too. */
  std::vector<View> as, bs;
  /** Where the second factor is packed for other products or runs; or null. */
  Packed* packed = nullptr;
  /** Matrices of c's shape that the product is added to, and the dims of their batch. */
  Owned<Matrix> plus;
  /** A map that runs on every piece of c. */
  Owned<PieceMap> after;
  /** What that map reads and what it writes. */
  std::vector<View> afterReads, afterWrites;
  /** Whether it computes with whole numbers, which can fail. */
  bool afterMayFail = false;
  /** The slot through which `after` finds c when c is in no memory of the program; or -1. */
  int64_t ownSlot = -1;
  /** How many slots of the table `after` may use. */
  int64_t afterSlots = 0;
};

class Dot final : public Instruction, public RowWise {
 public:
  Dot(const View& a, const View& b, const View& c, Surroundings around)
      : a_(a), b_(b), c_(c), dtype_(c.dtype), around_(std::move(around)) {
    if (around_.after && around_.after->shape() != c.dims) refuse("a map on a product has another shape than it");
    if (around_.plus && (around_.plus->view.dims != c.dims || around_.plus->view.dtype != dtype_ || !isFast()))
      refuse("a product is added to something of another kind");
    if (isOwn() && (!around_.after || !isFast())) refuse("a product that goes nowhere");
    m_ = a_.rows();
    k_ = a_.columns();
    n_ = b_.columns();
    if (b_.rows() != k_ || c_.rows() != m_ || c_.columns() != n_) refuse("matrix sizes do not agree");
    if (a.dtype != dtype_ || b.dtype != dtype_) refuse("matrix types do not agree");
    if (dtype_ == DType::bool_) refuse("bools cannot be multiplied");
    batchDims_.assign(c.dims.begin(), c.dims.end() - 2);
    const auto sameBatch = [&](const View& v) {
      return std::equal(batchDims_.begin(), batchDims_.end(), v.dims.begin(), v.dims.end() - 2);
    };
    if (!sameBatch(a) || !sameBatch(b)) refuse("batch dims do not agree");
    const auto isLike = [](const View& v, const View& first) {
      return v.dtype == first.dtype && v.dims == first.dims && v.strides == first.strides;
    };
    for (const View& v : around_.as)
      if (!isLike(v, a) || !isFast()) refuse("the products of a sum are not alike");
    for (const View& v : around_.bs)
      if (!isLike(v, b)) refuse("the products of a sum are not alike");
    mergeBatch();
    batches_ = 1;
    for (int64_t d : batchDims_) batches_ *= d;
    cost_ = cost();
    tiles_ = isForTiles();
    stretches_ = stretches();
    tiny_ = isPlain() && batches_ == 1 && c_.column == 1 && simd().suitsTiny(m_, n_, k_);
  }

  bool isBrief() const override { return tiny_; }

  /** One whose second factor is packed before: its rows have nothing else in common. */
  RowWise* rowWise() override {
    return (tiles_ || usesPanels()) && batchDims_.empty() && c_.view.dims.size() == 2 && alwaysPacks() && !around_.plus &&
                   !around_.afterMayFail
               ? this
               : nullptr;
  }
  double products() const override { return work(); }
  int64_t rows() const override { return m_; }

  int64_t unitOf(int64_t rows, std::vector<RowBytes>& touched) const override {
    if (rows != m_) return 0;
    touched.push_back(RowBytes::of(a_.view, false));
    touched.push_back(RowBytes::shared(b_.view));
    const auto touch = [&](const View& v, bool isWritten) {
      if (!isOwn() || v.slot != around_.ownSlot) touched.push_back(RowBytes::of(v, isWritten));
    };
    touch(c_.view, true);
    for (const View& v : around_.afterReads) touch(v, false);
    for (const View& v : around_.afterWrites) touch(v, true);
    return kTileSide;
  }
  void prepareRows(void* const* table) override { packed(table); }
  void runRows(void* const* table, Range rows, int64_t) override {
    const Method<float> method = tiles_ ? withTiles() : withVectors(simd().gemmF32);
    const int64_t gemmBytes = roundUp(method.scratch(rows.end - rows.begin, n_, k_)), ownBytes = bytesOfOwn(rows.end - rows.begin);
    char* const scratch = Pool::scratch(gemmBytes + ownBytes + afterBytes());
    Piece<float> piece(*this, table, scratch + gemmBytes + ownBytes);
    multiplyBox({0, rows, {0, n_}}, method, piece, nullptr, packed(table), scratch, gemmBytes);
  }

  Failure run(void* const* table) override {
    if (tiny_) {
      if (dtype_ == DType::f32) simd().tinyF32(product<float>(table, 0));
      else simd().tinyF64(product<double>(table, 0));
      return {};
    }
    if (batches_ * m_ * n_ == 0) return {};
    failure_ = 0;
    switch (dtype_) {
      case DType::f32: runSplit<float>(table, tiles_ ? withTiles() : withVectors(simd().gemmF32)); break;
      case DType::f64: runSplit<double>(table, withVectors(simd().gemmF64)); break;
      // Half types are rounded once, at the end. Sums of integers wrap, so signed ones are multiplied as unsigned ones.
      case DType::f16: case DType::bf16: runWidened<float>(table, DType::f32, simd().gemmF32); break;
      case DType::i64: case DType::u64: runSplit<uint64_t>(table, withVectors(plainProduct<uint64_t>)); break;
      case DType::c64: runWidened<Complex>(table, DType::c128, plainProduct<Complex>); break;
      case DType::c128: runSplit<Complex>(table, withVectors(plainProduct<Complex>)); break;
      default: runWidened<uint32_t>(table, DType::u32, plainProduct<uint32_t>);
    }
    Failure result;
    result.code = static_cast<FailureCode>(failure_);
    return result;
  }

 private:
  /** A batch whose matrices of a and c follow each other and share b is one tall product. */
  void mergeBatch() {
    while (!batchDims_.empty()) {
      const size_t last = batchDims_.size() - 1;
      const bool tall = b_.batch[last] == 0 && a_.batch[last] == m_ * a_.row && c_.batch[last] == m_ * c_.row;
      if (batchDims_[last] != 1 && !tall) return;
      m_ *= batchDims_[last];
      batchDims_.pop_back();
      a_.batch.pop_back();
      b_.batch.pop_back();
      c_.batch.pop_back();
    }
  }

  /** Multiply-adds of one product. */
  double work() const { return static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(std::max<int64_t>(k_, 1)); }

  /** What all products cost, in multiply-adds: numbers must come and go too, and each product begin. */
  double cost() const {
    constexpr double moved = 8 / 4, begun = 3000;  // for a byte, for a product
    const double bytes = static_cast<double>((m_ + n_) * std::max<int64_t>(k_, 1) + m_ * n_) * static_cast<double>(sizeOf(dtype_));
    const double wide = dtype_ == DType::f64 ? 2 : 1;  // half as many numbers are in a vector
    return static_cast<double>(batches_ * pairs()) * (wide * work() + moved * bytes + begun);
  }

  template <class T>
  Gemm<T> product(void* const* table, int64_t batch) const {
    return {m_, n_, k_,
            a_.view.as<T>(table) + a_.startOf(batch, batchDims_), a_.row, a_.column,
            b_.view.as<T>(table) + b_.startOf(batch, batchDims_), b_.row, b_.column,
            isOwn() ? nullptr : c_.view.as<T>(table) + c_.startOf(batch, batchDims_), c_.row, c_.column};
  }

  bool isFast() const { return dtype_ == DType::f32 || dtype_ == DType::f64; }
  bool isOwn() const { return around_.ownSlot >= 0; }
  /** Memory for so many rows of c, if they have no other. */
  int64_t bytesOfOwn(int64_t rows) const { return isOwn() ? roundUp(rows * c_.row * sizeOf(dtype_)) : 0; }

  bool isForTiles() const {
    if (dtype_ != DType::f32 || !simd().tiles.gemm) return false;
    if (alwaysPacks() && simd().tiles.suitsPacked(m_, n_, k_)) return true;
    // What may be packed already need not be read as it is.
    if (pairs() > 1 || canPack()) return simd().tiles.suitsGemm(m_, n_, k_ * pairs());
    return suitsTiles({m_, n_, k_, nullptr, a_.row, a_.column, nullptr, b_.row, b_.column, nullptr, c_.row, c_.column},
                      around_.after.get() != nullptr);
  }
  /** Whether the second factor is packed in every run: results must not depend on whether it was. */
  bool alwaysPacks() const {
    return canPack() && (around_.packed->lasts != Lasts::whileContent || around_.packed->isShared);
  }
  int64_t pairs() const { return 1 + static_cast<int64_t>(around_.as.size()); }
  /** All terms of a sum, those of each product rounded up to whole tiles. */
  int64_t depth() const { return pairs() == 1 ? k_ : pairs() * ((k_ + kTileTerms - 1) / kTileTerms * kTileTerms); }
  bool canPack() const { return around_.packed && batches_ == 1 && pairs() == 1 && c_.column == 1; }
  /** Whether what is packed are panels for vectors: never where others may want tiles of it. */
  bool usesPanels() const {
    return canPack() && !simd().tiles.gemm && dtype_ == DType::f32 && simd().suitsPanels(m_, n_, k_);
  }

  /** The second factor in tiles or panels, if it can be had: not while another thread is packing it. */
  const char* packed(void* const* table) const {
    if (!canPack() || !(tiles_ || usesPanels())) return nullptr;
    Packed& to = *around_.packed;
    int state = Packed::missing;
    if (to.state.compare_exchange_strong(state, Packed::underWay, std::memory_order_acquire)) {
      state = to.hasRoom((tiles_ ? packedBytes(n_) : panelBytes(n_)) + 64) ? Packed::there : Packed::missing;
      if (state == Packed::there) to.finite = tiles_ ? packB(table, aligned(to)) : packPanels(table, aligned(to));
      to.state.store(state, std::memory_order_release);
    }
    return state == Packed::there && to.finite ? aligned(to) : nullptr;
  }
  static char* aligned(Packed& p) { return reinterpret_cast<char*>(roundUp(reinterpret_cast<int64_t>(p.memory.data()))); }

  /** Tiles that the terms of a sum take, and bytes of so many rows of a or columns of b. */
  int64_t steps() const { return pairs() * ((k_ + kTileTerms - 1) / kTileTerms); }
  int64_t packedBytes(int64_t lines) const { return (lines + kTileSide - 1) / kTileSide * steps() * kPackedBytes; }

  /** Bytes of the panels of so many columns. */
  int64_t panelBytes(int64_t columns) const {
    const int64_t width = simd().panelWidth;
    return (columns + width - 1) / width * width * k_ * static_cast<int64_t>(sizeof(float));
  }
  /** All panels of the second factor; vectors take any numbers. */
  bool packPanels(void* const* table, char* to) const {
    const int64_t width = simd().panelWidth, panels = (n_ + width - 1) / width;
    const Gemm<float> g = product<float>(table, 0);
    const int64_t threads = Pool::get().parts(static_cast<double>(n_) * static_cast<double>(k_), kPackGrain);
    Pool::get().run(panels, [&](int64_t panel) {
      simd().packPanel(g, panel * width, reinterpret_cast<float*>(to + panelBytes(panel * width)));
    }, threads);
    return true;
  }

  /** A whole factor in tiles, if it is finite. */
  bool packA(void* const* table, char* to) const {
    return pack(table, a_.view, around_.as, m_, a_.row, a_.column, simd().tiles.packLeft, to);
  }
  bool packB(void* const* table, char* to) const {
    return pack(table, b_.view, around_.bs, n_, b_.column, b_.row, simd().tiles.packRight, to);
  }
  bool pack(void* const* table, const View& first, const std::vector<View>& others, int64_t lines, int64_t lineStep,
            int64_t termStep, TileKernels::PackFn packTiles, char* to) const {
    constexpr int64_t side = 2 * kTileSide;
    const int64_t blocks = (lines + side - 1) / side, second = steps() * kPackedBytes;
    const int64_t threads = Pool::get().parts(static_cast<double>(lines) * static_cast<double>(k_ * pairs()), kPackGrain);
    const int64_t parts = Pool::finer(threads, blocks);
    std::atomic<bool> finite{true};
    Pool::get().run(parts, [&](int64_t part) {
      const Range mine = rangeOf(part, parts, blocks);
      bool allFinite = true;
      for (int64_t block = mine.begin; block < mine.end; block++) {
        char* tile = to + block * 2 * second;
        for (int64_t pair = 0; pair < pairs(); pair++) {
          const View& view = pair == 0 ? first : others[static_cast<size_t>(pair - 1)];
          const float* const from = view.as<float>(table) + block * side * lineStep;
          for (int64_t p = 0; p < k_; p += kTileTerms, tile += kPackedBytes)
            allFinite &= packTiles(std::min(side, lines - block * side), std::min(kTileTerms, k_ - p), from + p * termStep,
                                   lineStep, termStep, tile, second);
        }
      }
      if (!allFinite) finite.store(false, std::memory_order_relaxed);
    }, threads);
    return finite;
  }

  /** What follows a piece of c will use; what it updates in place counts once. */
  int64_t followersOf(void* const* table, int64_t firstRow, int64_t firstColumn, Follower* followers) const {
    int64_t count = 0;
    for (const View& v : around_.after->matrices()) {
      if (v.slot == around_.ownSlot || count == Follower::most) continue;
      const int64_t size = sizeOf(v.dtype), row = v.strides[v.strides.size() - 2] * size;
      const Follower f = {v.at(table) + firstRow * row + firstColumn * size, row, size};
      if (std::none_of(followers, followers + count, [&](const Follower& o) { return o.at == f.at; })) followers[count++] = f;
    }
    return count;
  }

  /** Where a thread is with a piece of a product. */
  template <class T>
  struct Piece {
    Dot* dot;
    void* const* table;
    std::vector<void*> own;  // the table as far as the map behind c looks, with c in its slot
    char* scratch;
    int64_t row = 0, column = 0;  // of the piece, the row counting through all batches

    Piece(Dot& of, void* const* outer, char* memory) : dot(&of), table(outer), scratch(memory) {
      if (!of.isOwn()) return;
      own.assign(table, table + of.around_.afterSlots);
    }

    /** Runs what follows on some rows of the piece, of which the first begins at `c`. */
    void follow(int64_t i, int64_t rows, int64_t j, int64_t columns, T* c) {
      const int64_t first = row + i;
      if (dot->isOwn()) own[static_cast<size_t>(dot->around_.ownSlot)] = c - first * dot->c_.row - column;
      dot->around_.after->run(dot->isOwn() ? own.data() : table, {first, first + rows}, {column + j, column + j + columns},
                              scratch, &dot->failure_);
    }
  };

  /** How the products are cut, what is packed for all pieces, and which factor each thread packs for all pieces that it takes. */
  struct Cut {
    Grid grid;
    int64_t threads, parts;
    const char *packedA = nullptr, *packedB = nullptr;
    bool ownA = false, ownB = false;
  };

  /** Whether a thread has packed the factor that it needs for all of its pieces; one that is not finite is of no use. */
  enum class OwnFactor : char { missing, there, infinite };

  /** A grid of pieces of c for every product, as square as threads allow. */
  Cut cutEvenly(int64_t threads) const {
    const Grid grid(m_, n_, (threads + batches_ - 1) / batches_);
    return {grid, threads, std::min(threads, batches_ * grid.pieces())};
  }

  /**
   * One product on the matrix unit for several threads: the smaller factor, which all pieces read, is packed once for all of
   * them or once by every thread, and each piece packs its part of the other. So there can be more pieces than threads.
   */
  Cut cutForTiles(void* const* table, int64_t threads) const {
    Cut cut = cutEvenly(threads);
    cut.packedB = packed(table);
    if (threads == 1 || batches_ > 1 || c_.column != 1) return cut;
    const bool byRows = cut.packedB ? m_ >= kTileSide * threads : m_ >= n_;
    const int64_t unit = byRows && m_ < 2 * kLeastLines * threads ? kTileSide : kLeastLines;
    if (!(byRows && cut.packedB)) {
      const int64_t bytes = packedBytes(byRows ? n_ : m_);
      if (bytes > kMostShared) return cut;
      if (bytes > kMostTwice) {
        char* const memory = Pool::sharedScratch(bytes);
        if (!(byRows ? packB(table, memory) : packA(table, memory))) return cut;
        (byRows ? cut.packedB : cut.packedA) = memory;
      } else {
        (byRows ? cut.ownB : cut.ownA) = true;
      }
    }
    const int64_t lines = byRows ? m_ : n_, most = static_cast<int64_t>(work() * static_cast<double>(pairs()) / kLeastPiece);
    const int64_t wanted = std::max<int64_t>(1, std::min(most, Pool::finer(threads, lines)));
    const int64_t each = std::max(unit, ((lines + wanted - 1) / wanted + unit - 1) / unit * unit);
    cut.grid.rows = {m_};
    cut.grid.columns = {n_};
    (byRows ? cut.grid.rows : cut.grid.columns) = {lines, (lines + each - 1) / each, unit};
    cut.parts = cut.grid.pieces();
    return cut;
  }

  /** Whether all products are alike, and nothing but them is to be done. */
  bool isPlain() const {
    return isFast() && batchDims_.size() <= 1 && pairs() == 1 && !around_.plus && !around_.after;
  }

  /** Whole products, with one call for all that a thread gets: small ones take no longer than such a call. */
  template <class T>
  void runPlain(void* const* table, const Method<T>& method, int64_t threads) {
    const int64_t bytes = method.scratch(m_, n_, k_), parts = Pool::finer(threads, batches_);
    Pool::get().run(parts, [&](int64_t part) {
      const Range range = rangeOf(part, parts, batches_);
      Gemm<T> g = product<T>(table, range.begin);
      g.count = range.end - range.begin;
      if (!batchDims_.empty()) {
        g.aNext = a_.batch[0];
        g.bNext = b_.batch[0];
        g.cNext = c_.batch[0];
      }
      method.multiply(g, Pool::scratch(bytes));
    }, threads);
  }

  /** Of a vector and a matrix whose lines across k are contiguous: into how many stretches k is cut. It depends on the product alone. */
  int64_t stretches() const {
    const Matrix& matrix = m_ == 1 ? b_ : a_;
    const bool across = m_ == 1 ? matrix.column == 1 && matrix.row != 1 : matrix.row == 1 && matrix.column != 1;
    const bool suits = isPlain() && batches_ == 1 && (m_ == 1) != (n_ == 1) && across && (m_ == 1 ? c_.column : c_.row) == 1;
    int64_t count = 1;
    const bool isNear = work() * static_cast<double>(sizeOf(dtype_)) <= static_cast<double>(kMostNear);
    while (suits && isNear && cost_ >= 2 * kGemmGrain && count < kMostStretches && k_ >= 2 * count * kLeastStretch) count *= 2;
    return count;
  }

  /**
   * Each thread adds up some stretches of k. If each had some columns of all of them, its part of the matrix would be in few lines of
   * its cache: those at the same places of all rows.
   */
  template <class T>
  void runStretches(void* const* table, const Method<T>& method, int64_t threads) {
    const int64_t count = stretches_, length = m_ * n_, bytes = method.scratch(m_, n_, k_);
    const Gemm<T> whole = product<T>(table, 0);
    T* const sums = reinterpret_cast<T*>(Pool::sharedScratch(count * length * static_cast<int64_t>(sizeof(T))));
    Pool::get().run(count, [&](int64_t part) {
      const Range terms = rangeOf(part, count, k_);
      Gemm<T> g = whole;
      g.k = terms.end - terms.begin;
      g.a += terms.begin * g.aColumn;
      g.b += terms.begin * g.bRow;
      g.c = sums + part * length;
      method.multiply(g, Pool::scratch(bytes));
    }, threads);
    simd().foldColumns[static_cast<int>(FoldOp::sum)][static_cast<int>(kindOf(dtype_))](count, length, sums, whole.c);
  }

  /** Cuts every product into pieces of c. Every piece sums over all of k. */
  template <class T>
  void runSplit(void* const* table, const Method<T>& method) {
    const int64_t threads = Pool::get().parts(cost_, method.grain);
    if (stretches_ > 1) return runStretches(table, method, threads);
    if (!method.tiles && threads <= batches_ && isPlain() && !usesPanels()) return runPlain(table, method, threads);
    Cut cut = method.tiles ? cutForTiles(table, threads) : cutEvenly(threads);
    if (!method.tiles) cut.packedB = packed(table);
    const int64_t mostRows = cut.grid.rows.most(), pieces = cut.grid.pieces(), tasks = batches_ * pieces, used = cut.parts;
    const int64_t mostColumns = cut.grid.columns.most(), terms = method.tiles ? depth() : k_ * pairs();
    // With vectors the products of a sum may have to be multiplied one by one.
    const int64_t gemmBytes = roundUp(std::max(method.scratch(mostRows, mostColumns, terms), method.scratch(mostRows, mostColumns, k_)));
    const int64_t ownBytes = bytesOfOwn(mostRows);
    const int64_t factorBytes = cut.ownA ? packedBytes(m_) : cut.ownB ? packedBytes(n_) : 0;
    std::vector<OwnFactor> factors(static_cast<size_t>(factorBytes > 0 ? threads : 0), OwnFactor::missing);
    Pool::get().run(used, [&](int64_t part, int64_t seat) {
      char* const factor = Pool::scratch(factorBytes + gemmBytes + ownBytes + afterBytes());
      char* const scratch = factor + factorBytes;
      const char *packedA = cut.packedA, *packedB = cut.packedB;
      if (factorBytes > 0) {
        OwnFactor& state = factors[static_cast<size_t>(seat)];
        if (state == OwnFactor::missing)
          state = (cut.ownA ? packA(table, factor) : packB(table, factor)) ? OwnFactor::there : OwnFactor::infinite;
        if (state == OwnFactor::there) (cut.ownA ? packedA : packedB) = factor;
      }
      Piece<T> piece(*this, table, scratch + gemmBytes + ownBytes);
      const Range range = rangeOf(part, used, tasks);
      for (int64_t task = range.begin; task < range.end; task++) {
        const Box box = {task / pieces, cut.grid.rowsOf(task % pieces), cut.grid.columnsOf(task % pieces)};
        multiplyBox(box, method, piece, packedA, packedB, scratch, gemmBytes);
      }
    }, threads);
  }

  /** A piece of one of the products. */
  struct Box {
    int64_t batch;
    Range rows, columns;
  };

  /** Computes a box of c, and what follows it. Scratch memory is for the product, and `gemmBytes` behind that for c if it has no other. */
  template <class T>
  void multiplyBox(const Box& box, const Method<T>& method, Piece<T>& piece, const char* packedA, const char* packedB, char* scratch,
                   int64_t gemmBytes) {
    void* const* const table = piece.table;
    Gemm<T> g = product<T>(table, box.batch);
    const int64_t i = box.rows.begin, j = box.columns.begin;
    g.m = box.rows.end - i;
    g.n = box.columns.end - j;
    g.a += i * g.aRow;
    g.b += j * g.bColumn;
    if (isOwn()) g.c = reinterpret_cast<T*>(scratch + gemmBytes);
    else g.c += i * g.cRow + j * g.cColumn;
    g.passing = isOwn();
    piece.row = box.batch * m_ + i;
    piece.column = j;
    std::vector<const T*> as, bs;
    if (pairs() > 1) {
      as.push_back(g.a);
      bs.push_back(g.b);
      for (const View& v : around_.as) as.push_back(v.as<T>(table) + a_.startOf(box.batch, batchDims_) + i * g.aRow);
      for (const View& v : around_.bs) bs.push_back(v.as<T>(table) + b_.startOf(box.batch, batchDims_) + j * g.bColumn);
      g.pairs = pairs();
      g.as = as.data();
      g.bs = bs.data();
    }
    if (packedA) g.packedA = packedA + packedBytes(i);
    if (packedB && method.tiles) g.packedB = packedB + packedBytes(j);
    if (packedB && !method.tiles) g.panels = reinterpret_cast<const T*>(packedB + panelBytes(j));
    begin(table, box.batch, i, j, g);
    Follower followers[Follower::most];
    if (around_.after && isFast()) {
      g.context = &piece;
      g.ready = [](const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns, T* c) {
        // The piece is this thread's own; products only hand it on.
        static_cast<Piece<T>*>(const_cast<void*>(context))->follow(row, rows, column, columns, c);
      };
      g.followers = followers;
      g.followerCount = followersOf(table, piece.row, piece.column, followers);
    }
    method.multiply(g, scratch);
    if (around_.after && !isFast()) piece.follow(0, g.m, 0, g.n, g.c);
  }

  /** Puts what the product is added to in its place, if it is not there already. */
  template <class T>
  void begin(void* const* table, int64_t batch, int64_t i, int64_t j, Gemm<T>& g) const {
    if (!around_.plus) return;
    g.add = true;
    const Matrix& plus = *around_.plus;
    const std::vector<int64_t> dims(plus.view.dims.begin(), plus.view.dims.end() - 2);
    for (int64_t r = 0; r < g.m; r++) {
      // Rows count through all batches, some of which may have become rows of one product.
      const int64_t row = batch * m_ + i + r, matrix = row / plus.rows();
      const T* from = plus.view.as<T>(table) + plus.startOf(matrix, dims) + row % plus.rows() * plus.row + j * plus.column;
      T* to = g.c + r * g.cRow;
      if (from == to && plus.column == g.cColumn) continue;
      copyOf(sizeof(T))(g.n, to, g.cColumn, from, plus.column);
    }
  }

  int64_t afterBytes() const { return around_.after ? around_.after->scratchBytes() : 0; }

  /** Elements of this type in the wider one they are multiplied in, and back. */
  void convert(int64_t n, void* out, int64_t outStep, const void* in, int64_t inStep, bool widens) const {
    if (dtype_ == DType::c64) {
      for (int64_t i = 0; i < n; i++)
        if (widens) {
          const float* x = static_cast<const float*>(in) + 2 * i * inStep;
          static_cast<Complex*>(out)[i * outStep] = {x[0], x[1]};
        } else {
          const Complex x = static_cast<const Complex*>(in)[i * inStep];
          float* to = static_cast<float*>(out) + 2 * i * outStep;
          to[0] = static_cast<float>(x.re);
          to[1] = static_cast<float>(x.im);
        }
      return;
    }
    const int type = static_cast<int>(dtype_);
    (widens ? simd().load : simd().store)[type](n, out, outStep, in, inStep);
  }

  /** Products in a wider type: operands are converted as a whole, results as they are ready. */
  template <class W>
  void runWidened(void* const* table, DType wide, void (*multiply)(const Gemm<W>&, char* scratch)) {
    const int64_t narrow = sizeOf(dtype_);
    std::vector<W> a(static_cast<size_t>(m_ * k_)), b(static_cast<size_t>(k_ * n_)), c(static_cast<size_t>(m_ * n_));
    // A single row would be multiplied in another way.
    const int64_t parts = std::max<int64_t>(1, std::min(m_ / 2, Pool::get().parts(work(), kGemmGrain)));
    for (int64_t batch = 0; batch < batches_; batch++) {
      // Addresses count bytes here, since the elements have several sizes.
      const auto at = [&](const Matrix& x) { return x.view.at(table) + x.startOf(batch, batchDims_) * narrow; };
      for (int64_t i = 0; i < m_; i++) convert(k_, a.data() + i * k_, 1, at(a_) + i * a_.row * narrow, a_.column, true);
      for (int64_t p = 0; p < k_; p++) convert(n_, b.data() + p * n_, 1, at(b_) + p * b_.row * narrow, b_.column, true);
      Pool::get().run(parts, [&](int64_t part) {
        const Range rows = rangeOf(part, parts, m_);
        const int64_t m = rows.end - rows.begin;
        multiply({m, n_, k_, a.data() + rows.begin * k_, k_, 1, b.data(), n_, 1, c.data() + rows.begin * n_, n_, 1},
                 Pool::scratch(simd().gemmScratch(m, n_, k_, sizeOf(wide))));
        for (int64_t i = rows.begin; i < rows.end; i++)
          convert(n_, at(c_) + i * c_.row * narrow, c_.column, c.data() + i * n_, 1, false);
        if (around_.after)
          around_.after->run(table, {batch * m_ + rows.begin, batch * m_ + rows.end}, {0, n_}, Pool::scratch(afterBytes()),
                             &failure_);
      });
    }
  }

  Matrix a_, b_, c_;
  DType dtype_;
  int64_t m_, n_, k_, batches_;
  double cost_;
  bool tiles_, tiny_;
  int64_t stretches_;
  std::vector<int64_t> batchDims_;
  Surroundings around_;
  int32_t failure_ = 0;
};

}  // namespace

InstructionPtr decodeDot(Reader& in) {
  const View a = in.view();
  const View b = in.view();
  const View c = in.view();
  Surroundings around;
  const int64_t more = in.word(0, 1 << 20, "number of further products");
  for (int64_t i = 0; i < more; i++) {
    around.as.push_back(in.view());
    around.bs.push_back(in.view());
  }
  const int64_t pack = in.word(-1, 1 << 20, "number of a packed matrix");
  if (pack >= 0) {
    around.packed = &in.packs.of(pack);
    Packed& packed = *around.packed;
    packed.lasts = in.code<Lasts>("how long a packed matrix lasts");
    if (packed.lasts == Lasts::whileContent) {
      packed.contentSlot = in.word(0, INT32_MAX, "slot");
      packed.isShared = in.word(0, 1, "flag of a shared matrix");
    }
  }
  if (in.word(0, 1, "flag of an addend")) around.plus = make<Matrix>(in.view());
  if (in.word(0, 1, "flag of a map on a product")) {
    const MapCode code = MapCode::decode(in);
    around.after = make<PieceMap>(code);
    around.afterReads = code.expression.inputs;
    around.afterWrites = code.outputs;
    around.afterMayFail = std::any_of(code.expression.nodes.begin(), code.expression.nodes.end(), [](const Node& n) {
      const Kind kind = kindOf(n.dtype);
      return kind == Kind::i32 || kind == Kind::i64 || kind == Kind::u32 || kind == Kind::u64;
    });
  }
  around.ownSlot = in.word(-1, INT32_MAX, "slot");
  around.afterSlots = around.ownSlot + 1;
  for (const std::vector<View>* views : {&around.afterReads, &around.afterWrites})
    for (const View& v : *views) around.afterSlots = std::max<int64_t>(around.afterSlots, v.slot + 1);
  return make<Dot>(a, b, c, std::move(around));
}

}  // namespace tl

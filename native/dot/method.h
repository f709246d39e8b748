/** Ways to multiply matrices, and cutting a product into pieces for threads. */
#pragma once
#include <algorithm>
#include <vector>

#include "../core/pool.h"
#include "../simd/kernels.h"

namespace tl {

/** Multiply-adds that pay for waking another thread; the matrix unit does more of them in that time. */
constexpr double kGemmGrain = 180e3, kTileGemmGrain = 900e3;

/**
 * Up to so many rows the matrix unit needs about as long to split a second factor as to multiply by it. Where so many bytes of it come
 * from memory, vectors are faster, which need not split it: a fifth on one thread, a half on two.
 */
constexpr int64_t kStreamedRows = 96, kStreamedBytes = 5 << 20;
/**
 * A product of so few terms mostly writes its result. From more bytes of it on, vectors are up to twice as fast, on two threads up to three
 * times: a tile writes lines in 16 rows at once, and waits for all of them.
 */
constexpr int64_t kShortTerms = kTileTerms, kFarResult = 2 << 20;

constexpr int64_t roundUp(int64_t n) { return (n + 63) & ~int64_t{63}; }

/** A way to multiply: a kernel, the scratch memory that it needs, and the work that pays for waking another thread. */
template <class T>
struct Method {
  void (*multiply)(const Gemm<T>&, char* scratch);
  int64_t (*scratch)(int64_t m, int64_t n, int64_t k);
  double grain = kGemmGrain;
  /** Whether it takes sums of products and packed matrices. */
  bool tiles = false;
};

template <class T>
Method<T> withVectors(void (*multiply)(const Gemm<T>&, char* scratch)) {
  return {multiply, [](int64_t m, int64_t n, int64_t k) { return simd().gemmScratch(m, n, k, sizeof(T)); }};
}

/** A product with vectors in memory of its own: what the matrix unit leaves to them is rare. */
inline void multiplyAside(const Gemm<float>& g) {
  const int64_t bytes = simd().gemmScratch(g.m, g.n, g.k, sizeof(float));
  std::vector<char> memory(static_cast<size_t>(roundUp(bytes) + 64));
  simd().gemmF32(g, memory.data() + roundUp(reinterpret_cast<int64_t>(memory.data())) - reinterpret_cast<int64_t>(memory.data()));
}

/** Whether a product of this size and these strides is for the matrix unit. What follows it, if anything, takes it from the cache. */
inline bool suitsTiles(const Gemm<float>& g, bool isFollowed) {
  if (!simd().tiles.gemm || !simd().tiles.suitsGemm(g.m, g.n, g.k)) return false;
  if (!isFollowed && g.k <= kShortTerms && g.m * g.n * static_cast<int64_t>(sizeof(float)) > kFarResult) return false;
  const bool isFar = g.n * g.k * static_cast<int64_t>(sizeof(float)) > kStreamedBytes;
  return !(g.m <= kStreamedRows && isFar && simd().gemmStreams(g));
}

inline Method<float> withTiles() {
  return {[](const Gemm<float>& g, char* scratch) { simd().tiles.gemm(g, scratch, multiplyAside); },
          simd().tiles.gemmScratch, kTileGemmGrain, true};
}

/** Lines of a matrix cut into ranges of whole units, of which only the last may end early. */
struct Lines {
  int64_t count, parts = 1, unit = 1;

  /** The larger ranges come last: where two units are wanted for every range, the last one has more than one that ends early. */
  Range of(int64_t part) const { return {begin(part), begin(part + 1)}; }
  int64_t most() const { return std::min(count, (units() + parts - 1) / parts * unit); }

 private:
  int64_t units() const { return (count + unit - 1) / unit; }
  int64_t begin(int64_t part) const { return std::min(count, units() * part / parts * unit); }
};

/**
 * A grid of pieces of c[m, n], as square as their number allows. None has so few rows or columns that it would be multiplied in another
 * way than the whole: that would give other sums in the last bit.
 */
struct Grid {
  Lines rows, columns;

  Grid(int64_t m, int64_t n, int64_t pieces) : rows{m}, columns{n, 1, 32} {
    int64_t &down = rows.parts, &across = columns.parts;
    while (down * across < pieces && (m / down > 32 || n / across > 64)) {
      if (m / down >= n / across && m / down > 32) down++;
      else if (n / across > 64) across++;
      else down++;
    }
  }
  int64_t pieces() const { return rows.parts * columns.parts; }
  Range rowsOf(int64_t piece) const { return rows.of(piece / columns.parts); }
  Range columnsOf(int64_t piece) const { return columns.of(piece % columns.parts); }
};

/** One product of float or double, spread over threads. */
template <class T>
void multiply(const Gemm<T>& g);

}  // namespace tl

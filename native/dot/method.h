/** Ways to multiply matrices, and cutting a product into pieces for threads. */
#pragma once
#include <vector>

#include "../core/pool.h"
#include "../simd/kernels.h"

namespace tl {

/** Multiply-adds that pay for waking another thread; the matrix unit does more of them in that time. */
constexpr double kGemmGrain = 350e3, kTileGemmGrain = 900e3;

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

inline Method<float> withTiles() {
  return {[](const Gemm<float>& g, char* scratch) { simd().tiles.gemm(g, scratch, multiplyAside); },
          simd().tiles.gemmScratch, kTileGemmGrain, true};
}

/** A grid of pieces of c[m, n], as square as their number allows. */
struct Grid {
  int64_t down = 1, across = 1;
  /** Of all pieces but the last ones. */
  int64_t rows, columns;

  Grid(int64_t m, int64_t n, int64_t pieces) {
    while (down * across < pieces && (m / down > 32 || n / across > 64)) {
      if (m / down >= n / across && m / down > 32) down++;
      else if (n / across > 64) across++;
      else down++;
    }
    rows = (m + down - 1) / down;
    columns = (n + across - 1) / across;
    if (across > 1) columns = (columns + 31) / 32 * 32;
  }
};

/** One product of float or double, spread over threads. */
template <class T>
void multiply(const Gemm<T>& g);

}  // namespace tl

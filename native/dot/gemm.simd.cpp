/** Matrix products of float32 and float64: which way each of them goes. Most go by tiles (`product.h`). */
#include "fewColumns.h"
#include "lengthwise.h"
#include "smallProducts.h"

namespace tl::TL_SIMD {
namespace {

template <class T> void gemm(const Gemm<T>& g, char* scratch);

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

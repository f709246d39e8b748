/**
 * Matrix products of float32 and float64.
 *
 * The blocking, from the inside out (T is the type, L the lanes of a vector):
 *
 *   micro kernel   c[kRows x 2L] stays in vector registers while k runs. Each step loads two vectors of b and
 *                  broadcasts kRows values of a. With AVX-512 that is 14 x 2 accumulators, two vectors of b and one
 *                  broadcast: 31 of the 32 registers. AVX2 has 16 registers, hence 6 x 2.
 *   b panel        [kDepth x 2L], packed so that k steps read it in a row: 32 KiB for AVX-512, stays in the L1 cache
 *                  while all panels of a pass by.
 *   a block        [kBlockRows x kDepth], packed in panels of the micro kernel's height: about 350 KiB, stays in L2.
 *   b block        [kDepth x kBlockColumns], packed: stays in L3.
 *
 * Packing absorbs any strides, hence any transposes. Heights below kRows have micro kernels of their own, so a matrix
 * of 128 rows is cut into ten panels of 13 rows or less instead of nine of 14 and one of 2.
 */
#include "../simd/transpose.h"

namespace tl::TL_SIMD {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kRows = 14;
constexpr int64_t kPanelsPerBlock = 24;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
constexpr int kRows = 6;
constexpr int64_t kPanelsPerBlock = 24;
#else
constexpr int kVectorBytes = 16;
constexpr int kRows = 6;
constexpr int64_t kPanelsPerBlock = 24;
#endif
constexpr int64_t kDepth = 256;
constexpr int64_t kBlockRows = kRows * kPanelsPerBlock;
constexpr int64_t kBlockColumns = 4096;
constexpr int64_t kSmallDepth = 1024;
/** With so few rows a packed b would hardly be read again; full panels of a row-major b are then read where they are. */
constexpr int64_t kFewRows = 3 * kRows;

inline int64_t minOf(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <class T> struct Simd {
  static constexpr int lanes = kVectorBytes / static_cast<int>(sizeof(T));
  static constexpr int columns = 2 * lanes;
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  /** The same vector anywhere in memory. */
  typedef T Loose __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
};

/** c[Rows x Width vectors] = or += a * b, with a packed as [depth, Rows] and rows of b `bStep` apart. */
template <class T, int Rows, int Width>
void micro(int64_t depth, const T* a, const T* b, int64_t bStep, T* c, int64_t cRow, bool add) {
  using V = typename Simd<T>::Vector;
  using Loose = typename Simd<T>::Loose;
  constexpr int lanes = Simd<T>::lanes;
  V sum[Rows][Width];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; i++)
#pragma GCC unroll 2
    for (int j = 0; j < Width; j++) sum[i][j] = V{};
  for (int64_t p = 0; p < depth; p++) {
    V right[Width];
#pragma GCC unroll 2
    for (int j = 0; j < Width; j++) right[j] = *reinterpret_cast<const Loose*>(b + j * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; i++)
#pragma GCC unroll 2
      for (int j = 0; j < Width; j++) sum[i][j] += a[i] * right[j];
    a += Rows;
    b += bStep;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; i++)
#pragma GCC unroll 2
    for (int j = 0; j < Width; j++) {
      Loose* to = reinterpret_cast<Loose*>(c + i * cRow + j * lanes);
      *to = add ? *to + sum[i][j] : sum[i][j];
    }
}

template <class T> using MicroFn = void (*)(int64_t, const T*, const T*, int64_t, T*, int64_t, bool);

/** Micro kernels by height and width. */
template <class T, int Rows> constexpr void enterMicro(MicroFn<T> (*table)[2]) {
  table[Rows][0] = micro<T, Rows, 1>;
  table[Rows][1] = micro<T, Rows, 2>;
  if constexpr (Rows > 1) enterMicro<T, Rows - 1>(table);
}
template <class T> struct MicroTable {
  MicroFn<T> of[kRows + 1][2] = {};
  constexpr MicroTable() { enterMicro<T, kRows>(of); }
};
template <class T> constexpr MicroTable<T> micros{};

/** Rows of the kernel below: their addresses must fit the general registers. */
constexpr int kDirectRows = 8;

/** Like `micro`, but reads a where it is: for products so small, or so narrow, that packing a would not pay. */
template <class T, int Rows, int Width>
void directMicro(int64_t depth, const T* a, int64_t aRow, int64_t aColumn, const T* b, int64_t bStep, T* c, int64_t cRow) {
  using V = typename Simd<T>::Vector;
  using Loose = typename Simd<T>::Loose;
  constexpr int lanes = Simd<T>::lanes;
  V sum[Rows][Width];
  const T* row[Rows];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; i++) {
    row[i] = a + i * aRow;
#pragma GCC unroll 2
    for (int j = 0; j < Width; j++) sum[i][j] = V{};
  }
  for (int64_t p = 0; p < depth; p++, b += bStep) {
    V right[Width];
#pragma GCC unroll 2
    for (int j = 0; j < Width; j++) right[j] = *reinterpret_cast<const Loose*>(b + j * lanes);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; i++)
#pragma GCC unroll 2
      for (int j = 0; j < Width; j++) sum[i][j] += row[i][p * aColumn] * right[j];
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; i++)
#pragma GCC unroll 2
    for (int j = 0; j < Width; j++) *reinterpret_cast<Loose*>(c + i * cRow + j * lanes) = sum[i][j];
}

template <class T> using DirectFn = void (*)(int64_t, const T*, int64_t, int64_t, const T*, int64_t, T*, int64_t);

template <class T, int Rows> constexpr void enterDirect(DirectFn<T> (*table)[2]) {
  table[Rows][0] = directMicro<T, Rows, 1>;
  table[Rows][1] = directMicro<T, Rows, 2>;
  if constexpr (Rows > 1) enterDirect<T, Rows - 1>(table);
}
template <class T> struct DirectTable {
  DirectFn<T> of[kDirectRows + 1][2] = {};
  constexpr DirectTable() { enterDirect<T, kDirectRows>(of); }
};
template <class T> constexpr DirectTable<T> directs{};

/** Packs `width` rows of length `depth` as [depth, height], missing rows as zeros. Strides are those of the source. */
template <class T>
void packPanel(int64_t width, int64_t height, int64_t depth, const T* in, int64_t acrossStep, int64_t alongStep, T* out) {
  if (acrossStep == 1) {
    for (int64_t p = 0; p < depth; p++, out += height) {
      const T* from = in + p * alongStep;
      for (int64_t i = 0; i < width; i++) out[i] = from[i];
      for (int64_t i = width; i < height; i++) out[i] = 0;
    }
    return;
  }
  int64_t i = 0;
  using Corner = Square<static_cast<int>(sizeof(T))>;
  if (alongStep == 1)
    for (; i + Corner::side <= width; i += Corner::side) {
      const T* from = in + i * acrossStep;
      int64_t p = 0;
      for (; p + Corner::side <= depth; p += Corner::side)
        Corner::transpose(from + p, acrossStep, out + p * height + i, height);
      for (; p < depth; p++)
        for (int64_t r = 0; r < Corner::side; r++) out[p * height + i + r] = from[r * acrossStep + p];
    }
  for (; i < width; i++)
    for (int64_t p = 0; p < depth; p++) out[p * height + i] = in[i * acrossStep + p * alongStep];
  for (; i < height; i++)
    for (int64_t p = 0; p < depth; p++) out[p * height + i] = 0;
}

/** One micro kernel call for a tile of any size: what sticks out is computed aside and copied. */
template <class T>
void tile(const Gemm<T>& g, int64_t i, int64_t j, int64_t rows, int64_t columns, int64_t depth, const T* a, const T* b,
          int64_t bStep, bool add) {
  constexpr int64_t width = Simd<T>::columns, lanes = Simd<T>::lanes;
  const int vectors = columns > lanes ? 2 : 1;
  const MicroFn<T> kernel = micros<T>.of[rows][vectors - 1];
  T* c = g.c + i * g.cRow + j * g.cColumn;
  if (g.cColumn == 1 && columns == vectors * lanes) {
    kernel(depth, a, b, bStep, c, g.cRow, add);
    return;
  }
  alignas(64) T aside[kRows * width];
  kernel(depth, a, b, bStep, aside, width, false);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t s = 0; s < columns; s++) {
      T& to = c[r * g.cRow + s * g.cColumn];
      to = add ? to + aside[r * width + s] : aside[r * width + s];
    }
}

template <class T> void gemmBlocks(const Gemm<T>& g, char* scratch) {
  constexpr int64_t width = Simd<T>::columns;
  T* aBlock = reinterpret_cast<T*>(scratch);
  T* bBlock = aBlock + kBlockRows * kDepth;
  const bool inPlace = g.m <= kFewRows && g.bColumn == 1;
  for (int64_t jc = 0; jc < g.n; jc += kBlockColumns) {
    const int64_t nc = minOf(kBlockColumns, g.n - jc);
    for (int64_t pc = 0; pc < g.k; pc += kDepth) {
      const int64_t kc = minOf(kDepth, g.k - pc);
      const T* b = g.b + pc * g.bRow + jc * g.bColumn;
      for (int64_t j = 0; j < nc; j += width)
        if (!inPlace || nc - j < width)
          packPanel(minOf(width, nc - j), width, kc, b + j * g.bColumn, g.bColumn, g.bRow, bBlock + j * kDepth);
      for (int64_t ic = 0; ic < g.m; ic += kBlockRows) {
        const int64_t mc = minOf(kBlockRows, g.m - ic);
        const int64_t height = ceilDiv(mc, ceilDiv(mc, kRows));
        const T* a = g.a + ic * g.aRow + pc * g.aColumn;
        for (int64_t i = 0; i < mc; i += height) {
          const int64_t rows = minOf(height, mc - i);
          packPanel(rows, rows, kc, a + i * g.aRow, g.aRow, g.aColumn, aBlock + i * kDepth);
        }
        for (int64_t j = 0; j < nc; j += width) {
          const bool packed = !inPlace || nc - j < width;
          const T* panel = packed ? bBlock + j * kDepth : b + j;
          for (int64_t i = 0; i < mc; i += height)
            tile(g, ic + i, jc + j, minOf(height, mc - i), minOf(width, nc - j), kc, aBlock + i * kDepth, panel,
                 packed ? width : g.bRow, pc > 0);
        }
      }
    }
  }
}

/** Products whose a fits the L1 cache, or meets only one panel of b, so that a is best read in place. */
template <class T> bool isSmall(const Gemm<T>& g) {
  const bool fits = g.m * g.k * static_cast<int64_t>(sizeof(T)) <= 16384;
  return g.cColumn == 1 && g.k <= kSmallDepth && (g.n <= Simd<T>::columns || fits);
}

template <class T> void gemmSmall(const Gemm<T>& g, T* panel) {
  constexpr int64_t width = Simd<T>::columns, lanes = Simd<T>::lanes;
  alignas(64) T aside[kDirectRows * width];
  for (int64_t j = 0; j < g.n; j += width) {
    const int64_t columns = minOf(width, g.n - j);
    const int vectors = columns > lanes ? 2 : 1;
    const bool whole = columns == vectors * lanes;
    const T* b = g.b + j * g.bColumn;
    int64_t bStep = g.bRow;
    if (g.bColumn != 1 || !whole) {
      packPanel(columns, width, g.k, b, g.bColumn, g.bRow, panel);
      b = panel;
      bStep = width;
    }
    for (int64_t i = 0; i < g.m;) {
      // Even shares, so that no short kernel is left for the end: nine rows are five and four.
      const int64_t left = g.m - i, rows = ceilDiv(left, ceilDiv(left, kDirectRows));
      const DirectFn<T> kernel = directs<T>.of[rows][vectors - 1];
      const T* a = g.a + i * g.aRow;
      T* c = g.c + i * g.cRow + j;
      if (whole) {
        kernel(g.k, a, g.aRow, g.aColumn, b, bStep, c, g.cRow);
      } else {
        kernel(g.k, a, g.aRow, g.aColumn, b, bStep, aside, width);
        for (int64_t r = 0; r < rows; r++)
          for (int64_t s = 0; s < columns; s++) c[r * g.cRow + s] = aside[r * width + s];
      }
      i += rows;
    }
  }
}

/** y[m] = a[m, k] * x[k] for contiguous x, rows of a contiguous: several rows at once share the loads of x. */
template <class T> void rowDots(int64_t m, int64_t k, const T* a, int64_t aRow, const T* x, T* y, int64_t yStep) {
  using V = typename Simd<T>::Vector;
  using Loose = typename Simd<T>::Loose;
  constexpr int64_t lanes = Simd<T>::lanes;
  const auto finish = [&](const T* row, int64_t from, V sum) {
    T total = 0;
    for (int64_t l = 0; l < lanes; l++) total += sum[l];
    for (int64_t p = from; p < k; p++) total += row[p] * x[p];
    return total;
  };
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) {
    const T* row = a + i * aRow;
    V s0{}, s1{}, s2{}, s3{};
    int64_t p = 0;
    for (; p + lanes <= k; p += lanes) {
      const V right = *reinterpret_cast<const Loose*>(x + p);
      s0 += *reinterpret_cast<const Loose*>(row + p) * right;
      s1 += *reinterpret_cast<const Loose*>(row + aRow + p) * right;
      s2 += *reinterpret_cast<const Loose*>(row + 2 * aRow + p) * right;
      s3 += *reinterpret_cast<const Loose*>(row + 3 * aRow + p) * right;
    }
    y[i * yStep] = finish(row, p, s0);
    y[(i + 1) * yStep] = finish(row + aRow, p, s1);
    y[(i + 2) * yStep] = finish(row + 2 * aRow, p, s2);
    y[(i + 3) * yStep] = finish(row + 3 * aRow, p, s3);
  }
  for (; i < m; i++) {
    const T* row = a + i * aRow;
    V s0{}, s1{};
    int64_t p = 0;
    for (; p + 2 * lanes <= k; p += 2 * lanes) {
      s0 += *reinterpret_cast<const Loose*>(row + p) * *reinterpret_cast<const Loose*>(x + p);
      s1 += *reinterpret_cast<const Loose*>(row + p + lanes) * *reinterpret_cast<const Loose*>(x + p + lanes);
    }
    y[i * yStep] = finish(row, p, s0 + s1);
  }
}

/** y[m] = a[m, k] * x[k] where columns of a are contiguous: y, in pieces that stay in L1, takes four columns at a time. */
template <class T>
void columnSums(int64_t m, int64_t k, const T* a, int64_t aColumn, const T* x, int64_t xStep, T* y, int64_t yStep) {
  constexpr int64_t piece = 2048;
  alignas(64) T sum[piece];
  for (int64_t start = 0; start < m; start += piece) {
    const int64_t n = minOf(piece, m - start);
    for (int64_t i = 0; i < n; i++) sum[i] = 0;
    const T* from = a + start;
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) {
      const T x0 = x[p * xStep], x1 = x[(p + 1) * xStep], x2 = x[(p + 2) * xStep], x3 = x[(p + 3) * xStep];
      const T *c0 = from + p * aColumn, *c1 = c0 + aColumn, *c2 = c1 + aColumn, *c3 = c2 + aColumn;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) sum[i] += (c0[i] * x0 + c1[i] * x1) + (c2[i] * x2 + c3[i] * x3);
    }
    for (; p < k; p++) {
      const T x0 = x[p * xStep];
      const T* c0 = from + p * aColumn;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) sum[i] += c0[i] * x0;
    }
    for (int64_t i = 0; i < n; i++) y[(start + i) * yStep] = sum[i];
  }
}

template <class T> bool matrixVector(const Gemm<T>& g, T* scratch) {
  if (g.aRow == 1 && g.aColumn != 1) {
    columnSums(g.m, g.k, g.a, g.aColumn, g.b, g.bRow, g.c, g.cRow);
    return true;
  }
  if (g.aColumn != 1 || g.k > kBlockRows * kDepth) return false;
  const T* x = g.b;
  if (g.bRow != 1) {
    for (int64_t p = 0; p < g.k; p++) scratch[p] = g.b[p * g.bRow];
    x = scratch;
  }
  rowDots(g.m, g.k, g.a, g.aRow, x, g.c, g.cRow);
  return true;
}

template <class T> Gemm<T> transposed(const Gemm<T>& g) {
  return {g.n, g.m, g.k, g.b, g.bColumn, g.bRow, g.a, g.aColumn, g.aRow, g.c, g.cColumn, g.cRow};
}

template <class T> void gemm(const Gemm<T>& g, char* scratch) {
  if (g.k == 0) {
    for (int64_t i = 0; i < g.m; i++)
      for (int64_t j = 0; j < g.n; j++) g.c[i * g.cRow + j * g.cColumn] = 0;
    return;
  }
  T* vectorScratch = reinterpret_cast<T*>(scratch);
  if (g.n == 1 && matrixVector(g, vectorScratch)) return;
  if (g.m == 1 && matrixVector(transposed(g), vectorScratch)) return;
  if (isSmall(g)) return gemmSmall(g, vectorScratch);
  // c is written along its rows; where its columns are the contiguous direction, compute its transpose.
  if (g.cColumn != 1 && g.cRow == 1)
    gemmBlocks(transposed(g), scratch);
  else
    gemmBlocks(g, scratch);
}

}  // namespace

void fillGemm(SimdKernels& k) {
  k.gemmF32 = gemm<float>;
  k.gemmF64 = gemm<double>;
  k.gemmScratch = [](int64_t m, int64_t n, int64_t, int64_t size) {
    const int64_t columns = 2 * kVectorBytes / size;
    const int64_t widest = m > n ? m : n;  // either may end up as the columns
    return (kBlockRows * kDepth + ceilDiv(minOf(widest, kBlockColumns), columns) * columns * kDepth) * size + 64;
  };
}

}  // namespace tl::TL_SIMD

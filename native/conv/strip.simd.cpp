/**
 * The product at the heart of convolutions: a strip of c from a and b that are read where they are.
 *
 * A convolution is a matrix product whose left matrix has every element of the image many times. Copying it, or even
 * packing it as matrix products do, would cost as much as multiplying where there are few features. It need not be:
 * rows of c are neighbouring positions, whose elements of a lie a fixed step apart, so a kernel can broadcast them
 * straight from the image. With AVX-512 a tile is 14 rows by two vectors of b: 28 sums, two vectors and one broadcast
 * in 32 registers.
 */
#include "../simd/vector.h"

namespace tl::TL_SIMD {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 14;
#else
constexpr int kRows = 6;
#endif

template <class T> struct Simd {
  static constexpr int lanes = kVectorBytes / static_cast<int>(sizeof(T));
  static constexpr int columns = 2 * lanes;
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  /** The same vector anywhere in memory. */
  typedef T Loose __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
};

/** Which of the two steps through a is 1: the one along a sum, or the one from row to row, of all rows or of each half. */
enum Layout { stepsAreOne, rowsAreOne, halvesAreOne, kLayouts };

/** Where the rows of a are now. Addresses of three rows at a time are one register and a multiple of another. */
template <class T, int Rows, Layout L> struct Left;
template <class T, int Rows> struct Left<T, Rows, stepsAreOne> {
  static constexpr int kGroups = (Rows + 2) / 3;
  const T* every3[kGroups];
  int64_t row;
  TL_INLINE Left(const T* a, const Strip<T>& s) : row(s.aRow) {
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; g++) every3[g] = a + 3 * g * row;
  }
  TL_INLINE T at(int i) const { return every3[i / 3][(i % 3) * row]; }
  TL_INLINE void next() {
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; g++) every3[g]++;
  }
};
template <class T, int Rows> struct Left<T, Rows, rowsAreOne> {
  const T* first;
  int64_t step;
  TL_INLINE Left(const T* a, const Strip<T>& s) : first(a), step(s.aStep) {}
  TL_INLINE T at(int i) const { return first[i]; }
  TL_INLINE void next() { first += step; }
};
template <class T, int Rows> struct Left<T, Rows, halvesAreOne> {
  const T *first, *second;
  int64_t step;
  TL_INLINE Left(const T* a, const Strip<T>& s) : first(a), second(a + s.aSecond), step(s.aStep) {}
  TL_INLINE T at(int i) const { return i < Rows / 2 ? first[i] : second[i - Rows / 2]; }
  TL_INLINE void next() {
    first += step;
    second += step;
  }
};

template <class T, int Rows, int Width, Layout L>
void tile(const Strip<T>& s, const T* a, T* c, int64_t cRow, bool add) {
  using V = typename Simd<T>::Vector;
  using Loose = typename Simd<T>::Loose;
  constexpr int lanes = Simd<T>::lanes;
  V sum[Rows][Width];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; i++)
#pragma GCC unroll 2
    for (int j = 0; j < Width; j++) sum[i][j] = V{};
  for (const Run* run = s.runs; run < s.runs + s.runCount; run++) {
    Left<T, Rows, L> left(a + run->a, s);
    const T* b = s.b + run->b;
    for (int64_t t = run->length; t > 0; t--, b += s.bStep, left.next()) {
      V right[Width];
#pragma GCC unroll 2
      for (int j = 0; j < Width; j++) right[j] = *reinterpret_cast<const Loose*>(b + j * lanes);
      if constexpr (L != stepsAreOne) __builtin_prefetch(b + s.bAhead, 0, 2);  // one line too many costs less than a question
#pragma GCC unroll 16
      for (int i = 0; i < Rows; i++)
#pragma GCC unroll 2
        for (int j = 0; j < Width; j++) sum[i][j] += left.at(i) * right[j];
    }
  }
  // Keeps the compiler from computing the addresses of c before the loop, which needs all registers.
  asm volatile("" : : : "memory");
  const auto store = [&](bool adds) TL_INLINE_LAMBDA {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; i++) {
#pragma GCC unroll 2
      for (int j = 0; j < Width; j++) {
        Loose* to = reinterpret_cast<Loose*>(c + j * lanes);
        *to = adds ? *to + sum[i][j] : sum[i][j];
      }
      c += cRow;
      asm("" : "+r"(c));
    }
  };
  if (add) store(true);
  else store(false);
}

template <class T> using TileFn = void (*)(const Strip<T>&, const T* a, T* c, int64_t cRow, bool add);

/** Tiles by layout, height and width. */
template <class T, int Rows> constexpr void enterTiles(TileFn<T> (*table)[kRows + 1][2]) {
  table[stepsAreOne][Rows][0] = tile<T, Rows, 1, stepsAreOne>;
  table[stepsAreOne][Rows][1] = tile<T, Rows, 2, stepsAreOne>;
  table[rowsAreOne][Rows][0] = tile<T, Rows, 1, rowsAreOne>;
  table[rowsAreOne][Rows][1] = tile<T, Rows, 2, rowsAreOne>;
  if constexpr (Rows % 2 == 0) {
    table[halvesAreOne][Rows][0] = tile<T, Rows, 1, halvesAreOne>;
    table[halvesAreOne][Rows][1] = tile<T, Rows, 2, halvesAreOne>;
  }
  if constexpr (Rows > 1) enterTiles<T, Rows - 1>(table);
}
template <class T> struct TileTable {
  TileFn<T> of[kLayouts][kRows + 1][2] = {};
  constexpr TileTable() { enterTiles<T, kRows>(of); }
};
template <class T> constexpr TileTable<T> tiles{};

template <class T> void strip(const Strip<T>& s) {
  constexpr int64_t lanes = Simd<T>::lanes, width = Simd<T>::columns;
  const int vectors = s.columns > lanes ? 2 : 1;
  const bool whole = s.cColumn == 1 && s.columns == vectors * lanes;
  const auto& kernels = tiles<T>.of[s.aSecond != 0 ? halvesAreOne : s.aRow == 1 ? rowsAreOne : stepsAreOne];
  for (int64_t i = 0; i < s.rows;) {
    // Even shares, so that no low tile is left for the end: 16 rows are two tiles of 8.
    const int64_t left = s.rows - i, shares = (left + kRows - 1) / kRows, rows = (left + shares - 1) / shares;
    const TileFn<T> kernel = kernels[rows][vectors - 1];
    const T* a = s.a + i * s.aRow;
    T* c = s.c + i * s.cRow;
    if (whole) {
      kernel(s, a, c, s.cRow, s.add);
    } else {
      alignas(64) T aside[kRows * width];
      kernel(s, a, aside, width, false);
      for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < s.columns; j++) {
          T& to = c[r * s.cRow + j * s.cColumn];
          to = s.add ? to + aside[r * width + j] : aside[r * width + j];
        }
    }
    i += rows;
  }
}

}  // namespace

void fillStrip(SimdKernels& k) {
  k.stripF32 = strip<float>;
  k.stripF64 = strip<double>;
  k.stripRows = kRows;
  k.stripBytes = 2 * kVectorBytes;
}

}  // namespace tl::TL_SIMD

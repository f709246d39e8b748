/**
 * The product at the heart of convolutions whose groups have few channels: each lane of a vector is a group of its own,
 * so nothing is broadcast. A tile keeps the sums of some positions in registers while the terms pass by.
 */
#include "../simd/vector.h"

namespace tl::TL_SIMD {
namespace {

constexpr int kPositions = 6;

/** Sums of `Positions` positions times `Width` vectors of N lanes. */
template <class T, int Positions, int N, int Width>
void tile(const Lanes<T>& s, const T* a, const T* w, T* c) {
  using V = Vector<T, N>;
  V sum[Positions][Width];
#pragma GCC unroll 8
  for (int p = 0; p < Positions; p++)
#pragma GCC unroll 2
    for (int j = 0; j < Width; j++) sum[p][j] = V{};
  for (const Run* run = s.runs; run < s.runs + s.runCount; run++) {
    const T* left = a + run->a;
    const T* right = w + run->b;
    for (int64_t t = run->length; t > 0; t--, left += s.aTerm, right += s.bTerm) {
      V factor[Width];
#pragma GCC unroll 2
      for (int j = 0; j < Width; j++) factor[j] = loadVector<T, N>(right + j * N);
#pragma GCC unroll 8
      for (int p = 0; p < Positions; p++)
#pragma GCC unroll 2
        for (int j = 0; j < Width; j++) sum[p][j] += loadVector<T, N>(left + p * s.aStep + j * N) * factor[j];
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < Positions; p++)
#pragma GCC unroll 2
    for (int j = 0; j < Width; j++) {
      T* to = c + p * s.cStep + j * N;
      storeVector<T, N>(to, s.add ? loadVector<T, N>(to) + sum[p][j] : sum[p][j]);
    }
}

/** All positions of the lanes from `lane` on, N * Width of them. */
template <class T, int N, int Width>
void column(const Lanes<T>& s, int64_t lane) {
  using TileFn = void (*)(const Lanes<T>&, const T*, const T*, T*);
  static constexpr TileFn tiles[kPositions + 1] = {
      nullptr,          tile<T, 1, N, Width>, tile<T, 2, N, Width>, tile<T, 3, N, Width>,
      tile<T, 4, N, Width>, tile<T, 5, N, Width>, tile<T, 6, N, Width>,
  };
  for (int64_t p = 0; p < s.positions;) {
    const int64_t left = s.positions - p, shares = (left + kPositions - 1) / kPositions;
    const int64_t rows = (left + shares - 1) / shares;
    tiles[rows](s, s.a + p * s.aStep + lane, s.b + lane, s.c + p * s.cStep + lane);
    p += rows;
  }
}

/** Two vectors at a time, then one, then halves of one for what is left. */
template <class T, int N>
void columns(const Lanes<T>& s, int64_t lane) {
  if constexpr (N == lanesOf<T>)
    for (; lane + 2 * N <= s.lanes; lane += 2 * N) column<T, N, 2>(s, lane);
  if (lane + N <= s.lanes) {
    column<T, N, 1>(s, lane);
    lane += N;
  }
  if constexpr (N > 1)
    if (lane < s.lanes) columns<T, N / 2>(s, lane);
}

template <class T> void lanes(const Lanes<T>& s) { columns<T, lanesOf<T>>(s, 0); }

}  // namespace

void fillLanes(SimdKernels& k) {
  k.lanesF32 = lanes<float>;
  k.lanesF64 = lanes<double>;
}

}  // namespace tl::TL_SIMD

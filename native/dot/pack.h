/** Packing panels for the micro kernels: strides and transposes end here. Include only from *.simd.cpp. */
#pragma once
#include "../simd/masks.h"
#include "../simd/transpose.h"

namespace tl::TL_SIMD {

/** One side of a product: `across` counts rows of a or columns of b, `along` runs with k. */
template <class T> struct Side {
  const T* at;
  int64_t across, along;
};

/** Room that packing may overwrite behind a panel, in elements. */
constexpr int64_t kPackSlack = 64;

/** Writes the first `count` lanes and no more. */
template <class T> TL_INLINE void storeFirst(T* to, Full<T> x, int64_t count, LaneMask mask) {
  if constexpr (kHasMasks) storeLanes(to, x, mask);
  else if (count >= lanesOf<T>) storeVector(to, x);
  else
    for (int64_t i = 0; i < count; i++) to[i] = x[i];
}

/** Elements of a row ahead of those that are turned over that are fetched: rows are too many for the processor to foresee. */
constexpr int64_t kTurnAhead = 128;

/**
 * Rows that lie along k: of as many as a vector has lanes, a line of each is turned over at a time, at the end pieces of 16 bytes; without
 * masks there are only such pieces. Further rows repeat the last.
 */
template <class T> void packTurned(int64_t valid, int64_t height, int64_t depth, const Side<T>& in, T* out) {
  using Corner = Square<static_cast<int>(sizeof(T))>;
  constexpr int64_t side = Corner::side, piece = Corner::piece;
  const auto packRows = [&](int64_t first, const auto& at) TL_INLINE_LAMBDA {
    const int64_t count = height - first < side ? height - first : side, there = valid - first < side ? valid - first : side;
    const LaneMask mask = firstLanes(count);
    T* to = out + first;
    int64_t p = 0;
    // Rows may all fall into the same lines of L1, which then has each for one vector only.
    if constexpr (kHasMasks)
      for (; p + side <= depth; p += side) {
        typename Corner::Vector lines[side];
#pragma GCC unroll 16
        for (int64_t i = 0; i < side; i++) {
          lines[i] = (typename Corner::Vector)loadVector(at(i, p));
          __builtin_prefetch(at(i, p + kTurnAhead), 0, 2);
        }
        Corner::turn(lines);
#pragma GCC unroll 16
        for (int64_t q = 0; q < side; q++, to += height) storeFirst<T>(to, (Full<T>)lines[q], count, mask);
      }
    for (; p + piece <= depth; p += piece) {
      typename Corner::Vector lines[piece];
      Corner::read([&](int i) TL_INLINE_LAMBDA { return at(i, p); }, lines);
#pragma GCC unroll 4
      for (int64_t q = 0; q < piece; q++, to += height) storeFirst<T>(to, (Full<T>)lines[q], count, mask);
    }
    for (; p < depth; p++, to += height)
      for (int64_t i = 0; i < there; i++) to[i] = in.at[(first + i) * in.across + p];
  };
  for (int64_t first = 0; first < valid; first += side) {
    if (valid % 2 == 0) {
      // Half as many addresses as rows are few enough for registers.
      const T* pair[side / 2];
      for (int64_t i = 0; i < side / 2; i++) pair[i] = in.at + (first + 2 * i < valid ? first + 2 * i : valid - 2) * in.across;
      packRows(first, [&](int64_t i, int64_t p) TL_INLINE_LAMBDA { return pair[i / 2] + (i % 2 == 0 ? p : p + in.across); });
    } else {
      const T* row[side];
      for (int64_t i = 0; i < side; i++) row[i] = in.at + (first + i < valid ? first + i : valid - 1) * in.across;
      packRows(first, [&](int64_t i, int64_t p) TL_INLINE_LAMBDA { return row[i] + p; });
    }
  }
}

/** Rows that lie across k: one vector after the other is copied. */
template <class T> void packStraight(int64_t valid, int64_t height, int64_t depth, const Side<T>& in, T* out) {
  constexpr int64_t lanes = lanesOf<T>;
  const T* from = in.at;
  if (valid == height && height == 2 * lanes) {
    for (int64_t p = 0; p < depth; p++, from += in.along, out += height) {
      const Full<T> x = loadVector(from), y = loadVector(from + lanes);
      storeVector(out, x);
      storeVector(out + lanes, y);
    }
    return;
  }
  // Each vector overwrites what the one before it wrote too far.
  if (kHasMasks && height <= lanes) {
    const LaneMask read = firstLanes(valid);
    for (int64_t p = 0; p < depth; p++, from += in.along, out += height) storeVector(out, loadLanes(from, read));
    return;
  }
  if (kHasMasks && height <= 2 * lanes && valid > lanes) {
    const LaneMask read = firstLanes(valid - lanes);
    for (int64_t p = 0; p < depth; p++, from += in.along, out += height) {
      const Full<T> x = loadVector(from), y = loadLanes(from + lanes, read);
      storeVector(out, x);
      storeVector(out + lanes, y);
    }
    return;
  }
  for (int64_t p = 0; p < depth; p++, from += in.along, out += height)
    for (int64_t i = 0; i < height; i += lanes) {
      const int64_t there = valid - i < lanes ? valid - i : lanes;
      if (kHasMasks) storeVector(out + i, loadLanes(from + i, firstLanes(there > 0 ? there : 0)));
      else if (there == lanes) storeVector(out + i, loadVector(from + i));
      else
        for (int64_t l = i; l < height && l < i + lanes; l++) out[l] = l < valid ? from[l] : 0;
    }
}

/** Copies rows of length `depth`, `in.across` apart, so that they lie `step` apart. */
template <class T> void copyRows(int64_t rows, int64_t depth, const Side<T>& in, T* out, int64_t step) {
  constexpr int64_t lanes = lanesOf<T>;
  const int64_t whole = depth / lanes * lanes;
  for (int64_t i = 0; i < rows; i++) {
    const T* from = in.at + i * in.across;
    T* to = out + i * step;
    for (int64_t p = 0; p < whole; p += lanes) storeVector(to + p, loadVector(from + p));
    for (int64_t p = whole; p < depth; p++) to[p] = from[p];
  }
}

/** Packs `valid` rows of length `depth` as [depth, height]; what is there of further rows does not matter. */
template <class T> void pack(int64_t valid, int64_t height, int64_t depth, const Side<T>& in, T* out) {
  if (in.across == 1) return packStraight(valid, height, depth, in, out);
  if (in.along == 1) return packTurned(valid, height, depth, in, out);
  for (int64_t p = 0; p < depth; p++)
    for (int64_t i = 0; i < height; i++) out[p * height + i] = i < valid ? in.at[i * in.across + p * in.along] : 0;
}

}  // namespace tl::TL_SIMD

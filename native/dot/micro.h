/**
 * The micro kernels of the matrix product: a tile of c stays in vector registers while k runs. Include only from
 * *.simd.cpp.
 */
#pragma once
#include "../simd/masks.h"

namespace tl::TL_SIMD {

#if defined(__AVX512F__) || defined(__aarch64__)
/** The tallest tile: 14 x 2 sums, two vectors of b and one number of a take 31 of 32 registers. */
constexpr int kTallest = 14;
#else
constexpr int kTallest = 6;
#endif
/** Vectors side by side in the widest tile. */
constexpr int kWidest = 2;
/** The tallest tile of one vector. */
constexpr int kTallestNarrow = 16;
/**
 * Rows of b that are fetched ahead of their use: longer than the second-level cache takes to answer, but fewer than the L1 cache has ways,
 * for rows may all fall into the same lines of it.
 */
constexpr int64_t kAhead = 8;

/** Matrices of which Fetch::follow finds rows. */
constexpr int kFollowers = 3;

template <class T> struct Tile {
  int64_t depth;
  const T* a;
  int64_t aRow, aColumn;
  const T* b;
  int64_t bStep;
  T* c;
  int64_t cRow;
  /** How much of the tile there is; with masks, columns may end anywhere in the last vector. */
  int64_t rows, columns;
  /** Whether to add to what is in c. */
  bool add;
  /** Whether c is so large that its part of the tile will be far away. */
  bool fetchesC;
  /** In a sum of products: how many there are, of `depth` terms each, and where their b begin. Their a follow each other. */
  int64_t products = 1;
  const T* const* bs = nullptr;
  /** From columns of b to those that Fetch::beyond fetches. */
  int64_t beyond = 0;
  /** Where Fetch::copy writes b, and what Fetch::next finds, `nextStep` elements apart. */
  T* copy;
  const T* next;
  int64_t nextStep;
  /** What Fetch::follow finds: this many rows of each, so many bytes apart. */
  const char* followers[kFollowers];
  int64_t followerRows, followerStep;
};

/** What a kernel does beside multiplying. */
enum class Fetch {
  nothing,
  /** Fetches b ahead of its use: pays where b comes from the second-level cache, as it mostly does when there are few rows. */
  ahead,
  /** The same, and writes what it has read to `copy`. */
  copy,
  /** Fetches the columns of b that the next tile reads, from where it is into the second-level cache. */
  beyond,
  /** Fetches b ahead of its use and, for every kPackedSteps steps, a row of what will be used when the tile is ready. */
  follow,
  /**
   * Fetches what other tiles will read, from memory into the second-level cache: for every kPackedSteps steps a row of b, or for every step
   * some of what becomes a.
   */
  next,
};

/**
 * The same address, which the compiler no longer knows how to compute: else it computes those of all rows at once, more than
 * there are registers for, and parks them in vector registers, whose moves take the place of multiplications.
 */
template <class T> TL_INLINE T* inRegister(T* address) {
  asm("" : "+r"(address));
  return address;
}

/** Steps of k at a time where a is packed. */
constexpr int kPackedSteps = 4;
#if defined(__AVX512F__)
/** Whether there are kernels whose rows of a lie side by side, spelled as instructions. */
constexpr bool kHasOrder = true;
// What is volatile stays in order: the compiler's order of several steps needs more vectors than there are registers.
TL_INLINE void addInOrder(Full<float>& sum, Full<float> right, Full<float> left) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(right), "v"(left));
}
TL_INLINE void addInOrder(Full<double>& sum, Full<double> right, Full<double> left) {
  asm volatile("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(right), "v"(left));
}
TL_INLINE Full<float> repeated(const float* from) {
  Full<float> x;
  asm volatile("vbroadcastss %1, %0" : "=v"(x) : "m"(*from));
  return x;
}
TL_INLINE Full<double> repeated(const double* from) {
  Full<double> x;
  asm volatile("vbroadcastsd %1, %0" : "=v"(x) : "m"(*from));
  return x;
}
#else
constexpr bool kHasOrder = false;
#endif

/**
 * One step of k where rows of a lie side by side. A multiplication could find its number of a in memory, which saves an instruction, but
 * would read it for every vector of b: then the caches' ports are what is scarce.
 */
template <class T, int Height, int Width>
TL_INLINE void addStep(Full<T> (&sum)[Height][Width], const Full<T> (&right)[Width], const T* a, int64_t last) {
#pragma GCC unroll 16
  for (int i = 0; i < Height; i++) {
    const Full<T> left = repeated(i + 1 < Height ? a + i : a + last);
#pragma GCC unroll 2
    for (int j = 0; j < Width; j++) addInOrder(sum[i][j], right[j], left);
  }
}

/**
 * A tile with `Height` rows, or with one less: then the last row is computed twice. `Steps` is 0 for a of any strides, 1 for rows of
 * a that lie side by side, and kPackedSteps for packed ones, whose length is a multiple of it. `Whole` is for b of which all lanes can be
 * read: reading only some of them takes the place of a multiplication.
 */
template <class T, int Height, int Width, Fetch Fetches, int Steps, bool Whole>
void micro(const Tile<T>& t) {
  using V = Full<T>;
  constexpr int lanes = lanesOf<T>;
  const LaneMask mask = firstLanes(t.columns - (Width - 1) * lanes);
  V sum[Height][Width];
#pragma GCC unroll 16
  for (int i = 0; i < Height; i++)
#pragma GCC unroll 2
    for (int j = 0; j < Width; j++) sum[i][j] = V{};
  if (t.fetchesC)
    for (int64_t i = 0; i < t.rows; i++) {
      __builtin_prefetch(t.c + i * t.cRow, 1);
      if constexpr (Width > 1) __builtin_prefetch(t.c + i * t.cRow + lanes, 1);
    }

  const int64_t aColumn = t.aColumn, aRow = t.aRow, bStep = t.bStep, aheadStep = kAhead * bStep;
  const T* b = t.b;
  const auto loadRight = [&](V (&right)[Width]) TL_INLINE_LAMBDA {
#pragma GCC unroll 2
    for (int j = 0; j < Width; j++) right[j] = Whole || j + 1 < Width ? loadVector(b + j * lanes) : loadLanes(b + j * lanes, mask);
    if constexpr (Fetches == Fetch::ahead || Fetches == Fetch::copy || Fetches == Fetch::follow) {
      const T* ahead = inRegister(b + aheadStep);
#pragma GCC unroll 2
      for (int j = 0; j < Width; j++) __builtin_prefetch(ahead + j * lanes);
    }
    if constexpr (Fetches == Fetch::beyond) {
      const T* beyond = inRegister(b + t.beyond);
#pragma GCC unroll 2
      for (int j = 0; j < Width; j++) __builtin_prefetch(beyond + j * lanes, 0, 2);
    }
  };
  if constexpr (Steps > 0) {
    const T* a = t.a;
    const int64_t last = t.rows - 1, nextStep = t.nextStep;
    T* copy = t.copy;
    const T* next = t.next;
    const char* followers[kFollowers];
    int64_t followerRows, followerStep;
    if constexpr (Fetches == Fetch::follow) {
#pragma GCC unroll 3
      for (int f = 0; f < kFollowers; f++) followers[f] = t.followers[f];
      followerRows = t.followerRows;
      followerStep = t.followerStep;
    }
    for (int64_t product = 1;; product++) {
      for (int64_t p = t.depth; p > 0; p -= Steps) {
        if constexpr (Fetches == Fetch::follow) {
          // The last row is fetched over and over, which costs no more than a question.
          if (--followerRows <= 0) followerStep = 0;
#pragma GCC unroll 3
          for (int f = 0; f < kFollowers; f++) {
#pragma GCC unroll 2
            for (int j = 0; j < Width; j++) __builtin_prefetch(followers[f] + j * 64, 0, 2);
            followers[f] = inRegister(followers[f] + followerStep);
          }
        }
        if constexpr (Fetches == Fetch::next) {
#pragma GCC unroll 2
          for (int j = 0; j < Width; j++) __builtin_prefetch(next + j * lanes, 0, 2);
          next = inRegister(next + nextStep);
        }
#pragma GCC unroll 4
        for (int q = 0; q < Steps; q++) {
          V right[Width];
          loadRight(right);
          if constexpr (Fetches == Fetch::copy) {
#pragma GCC unroll 2
            for (int j = 0; j < Width; j++) storeVector(copy + j * lanes, right[j]);
            copy = inRegister(copy + Width * lanes);
          }
          addStep<T>(sum, right, a + q * Height, last);
          b = inRegister(b + bStep);
        }
        a = inRegister(a + (Steps > 1 ? Steps * Height : aColumn));
      }
      if (product >= t.products) break;
      b = t.bs[product];
    }
  } else {
    // Addresses of three rows at a time share a register: the processor adds one or two strides by itself.
    constexpr int kGroups = (Height + 1) / 3;
    const T* row[kGroups + 1];
    const T* last = t.a + (t.rows - 1) * aRow;
#pragma GCC unroll 16
    for (int g = 0; g < kGroups; g++) row[g] = t.a + 3 * g * aRow;
    const T* next = t.next;
    for (int64_t product = 1;; product++) {
      for (int64_t p = t.depth; p > 0; p--) {
        V right[Width];
        loadRight(right);
        if constexpr (Fetches == Fetch::next) {
          __builtin_prefetch(next, 0, 2);
          next = inRegister(next + t.nextStep);
        }
#pragma GCC unroll 16
        for (int i = 0; i < Height; i++) {
          const T left = i + 1 < Height ? row[i / 3][i % 3 * aRow] : *last;
#pragma GCC unroll 2
          for (int j = 0; j < Width; j++) sum[i][j] += left * right[j];
        }
#pragma GCC unroll 16
        for (int g = 0; g < kGroups; g++) row[g] += aColumn;
        last += aColumn;
        b += bStep;
      }
      if (product >= t.products) break;
      b = t.bs[product];
    }
  }

  // Keeps the compiler from computing the addresses of c before the loop, which needs all registers.
  asm volatile("" : : : "memory");
  const int64_t cRow = t.cRow;
  T* const lastC = t.c + (t.rows - 1) * cRow;
  const auto forRows = [&](const auto& f) TL_INLINE_LAMBDA {
    T* c = t.c;
#pragma GCC unroll 16
    for (int i = 0; i + 1 < Height; i++) {
      f(i, c);
      c = inRegister(c + cRow);
    }
    f(Height - 1, lastC);
  };
  // All rows are read before any is written, since the last one may be there twice.
  if (t.add)
    forRows([&](int i, const T* c) TL_INLINE_LAMBDA {
#pragma GCC unroll 2
      for (int j = 0; j + 1 < Width; j++) sum[i][j] += loadVector(c + j * lanes);
      sum[i][Width - 1] += loadLanes(c + (Width - 1) * lanes, mask);
    });
  forRows([&](int i, T* c) TL_INLINE_LAMBDA {
#pragma GCC unroll 2
    for (int j = 0; j + 1 < Width; j++) storeVector(c + j * lanes, sum[i][j]);
    storeLanes(c + (Width - 1) * lanes, sum[i][Width - 1], mask);
  });
}

template <class T> using MicroFn = void (*)(const Tile<T>&);

/** Kernels by rows and width, in vectors: for heights that have none the next taller one. Behind them, those that fetch b ahead. */
template <class T> struct MicroTable {
  using Kernels = MicroFn<T>[kTallest + 1][kWidest + 1];
  Kernels of = {};
  /** The same where not all lanes of b's last vector can be read. */
  Kernels part = {};
  /** As `of` for rows of a that lie side by side, and for packed ones. Low tiles have the same kernels for all. */
  Kernels beside = {}, packed = {};
  /** For packed rows of a, two vectors wide: those that copy b, and those that fetch other rows or columns of it. Low tiles have none. */
  MicroFn<T> copy[kTallest + 1] = {}, next[kTallest + 1] = {}, beyond[kTallest + 1] = {}, follow[kTallest + 1] = {};
  /** For rows of a that lie along k: those that fetch what becomes a. */
  MicroFn<T> nextRows[kTallest + 1][kWidest] = {};
  /** For tiles of one vector, which leave registers for more rows: where all lanes of b can be read, and where not. */
  MicroFn<T> narrow[kTallestNarrow + 1] = {}, narrowPart[kTallestNarrow + 1] = {};
  int height[kTallest + 1] = {};

  constexpr MicroTable() {
#if defined(__AVX512F__) || defined(__aarch64__)
    enter<1, 2, 4, 6, 8, 10, 12, 14>();
#else
    enter<1, 2, 4, 6>();
#endif
    if constexpr (kHasMasks)
      for (int rows = 1; rows <= kTallestNarrow; rows++) {
        narrow[rows] = rows <= kTallest ? of[rows][0] : micro<T, kTallestNarrow, 1, Fetch::nothing, 0, true>;
        narrowPart[rows] = rows <= kTallest ? part[rows][0] : micro<T, kTallestNarrow, 1, Fetch::nothing, 0, false>;
      }
  }

 private:
  template <int... Heights> constexpr void enter() { (enterOne<Heights>(), ...); }
  template <int Height> constexpr void enterOne() {
    for (int rows = Height; rows > 0 && height[rows] == 0; rows--) {
      constexpr bool tall = kHasOrder && Height > kTallest / 2;
      if constexpr (kHasMasks) {
        nextRows[rows][0] = micro<T, Height, 1, Fetch::next, 0, true>;
        nextRows[rows][1] = micro<T, Height, 2, Fetch::next, 0, true>;
      }
      enterThree<Height, 0>(of[rows]);
      enterThree<Height, 0, !kHasMasks>(part[rows]);
      enterThree<Height, tall ? 1 : 0>(beside[rows]);
      enterThree<Height, tall ? kPackedSteps : 0>(packed[rows]);
      if constexpr (tall) {
        copy[rows] = micro<T, Height, 2, Fetch::copy, kPackedSteps, true>;
        next[rows] = micro<T, Height, 2, Fetch::next, kPackedSteps, true>;
        beyond[rows] = micro<T, Height, 2, Fetch::beyond, kPackedSteps, true>;
        follow[rows] = micro<T, Height, 2, Fetch::follow, kPackedSteps, true>;
      }
      height[rows] = Height;
    }
  }
  template <int Height, int Steps, bool Whole = true> constexpr void enterThree(MicroFn<T> (&to)[kWidest + 1]) {
    to[0] = micro<T, Height, 1, Fetch::nothing, 0, Whole>;
    to[1] = micro<T, Height, 2, (Height < kTallest - 2 ? Fetch::ahead : Fetch::nothing), Steps, Whole>;
    to[2] = micro<T, Height, 2, Fetch::ahead, Steps, Whole>;
  }
};
template <class T> constexpr MicroTable<T> micros{};

}  // namespace tl::TL_SIMD

/**
 * What is compiled several times, once per instruction set: loops over blocks of elements, and the matrix product.
 *
 * Files named *.simd.cpp are compiled for every variant with TL_SIMD set to the variant's name, which is also the
 * namespace that keeps the copies apart. They must not instantiate templates of the standard library: the linker would
 * keep one copy for all variants, perhaps one with instructions that this processor lacks.
 */
#pragma once
#include <cstdint>

#include "../core/names.h"
#include "../linalg/kernels.h"

namespace tl {

/** Scalars in registers are repeated this often, so that a loop over vectors can read them like any other operand. */
constexpr int64_t kLanes = 16;

/** Operands of an operation at most: some are joined from several. */
constexpr int kMostOperands = 5;

/**
 * The operands of one operation on a block. A `step` of 0 marks a scalar: `kLanes` copies of one value. When every
 * operand is a scalar the block is `kLanes` long and the result is a scalar again. `out` may be one of the inputs.
 */
struct BlockArgs {
  void* out;
  const void* in[kMostOperands];
  int64_t step[kMostOperands];
  /** Width in bits of the type computed, for shifts of small integers. */
  int32_t bits;
  /** Receives a FailureCode; several threads may write it. */
  int32_t* failure;
};
using BlockFn = void (*)(int64_t n, const BlockArgs&);

/** Bytes of an element of a result and of its operands; 0 for operands that there are not. */
struct Sizes {
  uint8_t out, in[kMostOperands];
};
/** Computes the elements [done, n) of a block, fewer than `lanes`, by calling `kernel` on copies of them. */
void finishBlock(BlockFn kernel, int64_t done, int64_t n, int64_t lanes, const BlockArgs&, Sizes);

/** Converts between memory and registers. Steps count elements, may be 0 on the source side, and may be negative. */
using ConvertFn = void (*)(int64_t n, void* out, int64_t outStep, const void* in, int64_t inStep);

/** Folds a dense block [rows, columns] along rows or along columns. */
using FoldFn = void (*)(int64_t rows, int64_t columns, const void* in, void* out);

using FoldProductsFn = void (*)(int64_t rows, int64_t columns, const float* x, const float* y, float* out);

enum class FoldOp : int32_t { sum, prod, max, min, count };
constexpr int kFolds = static_cast<int>(FoldOp::count);

/**
 * A matrix with as many rows as c that is used when c is ready, or soon after: the address of its first element, bytes from row to
 * row, and bytes of a row for each column of c.
 */
struct Follower {
  static constexpr int64_t most = 6;
  const char* at;
  int64_t row, column;
};

/** One matrix product c[m, n] = a[m, k] * b[k, n]; strides in elements, any sign. */
template <class T>
struct Gemm {
  int64_t m, n, k;
  const T* a;
  int64_t aRow, aColumn;
  const T* b;
  int64_t bRow, bColumn;
  T* c;
  int64_t cRow, cColumn;
  /** The product is added to what is in c. */
  bool add = false;
  /** If not null, called for every piece of c as soon as it is finished; `c` is where the first of its rows begins. */
  void (*ready)(const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns, T* c) = nullptr;
  const void* context = nullptr;
  /** What will be read and written next, which is fetched meanwhile. */
  const Follower* followers = nullptr;
  int64_t followerCount = 0;
  /** Nobody looks at c after `ready`, so that rows may be written over earlier ones. */
  bool passing = false;
  /** Where a sum of products has several: the addresses of all a and all b, the first ones too. */
  int64_t pairs = 1;
  const T* const* as = nullptr;
  const T* const* bs = nullptr;
  /** If not null, a and b as tiles: all steps of 16 rows or columns after each other. */
  const char *packedA = nullptr, *packedB = nullptr;
  /** If not null, b in panels for vectors: all terms of `panelWidth` columns after each other. */
  const T* panels = nullptr;
  /** How many products alike there are, of matrices so many elements apart. Kernels on vectors take several, without `ready`. */
  int64_t count = 1, aNext = 0, bNext = 0, cNext = 0;
};

/** What one call of a window kernel works on: a block of `n` channels at some of the points of one window. */
struct WindowArgs {
  int64_t n;
  int64_t count;
  /** The number, within its window, of the first of the points. */
  int64_t first;
  const void* const* points;
  /** The same points of the gradient. */
  void* const* targets;
  const void* pooled[2];
  void* out;
  /** What a fold begins with; null where it goes on from what is in `out`. */
  const void* start;
  void* position;
  /** The number of points that a mean or a gradient is shared by; 0 where a sum is not finished. */
  double divisor;
  /** Whether the gradient of a maximum goes on only where that is above zero. */
  bool positive;
};
using WindowFn = void (*)(const WindowArgs&);

/**
 * All windows of one row of the pooled image at once, for operands that kernels can use in place. A window is the part
 * [begin, end) of each of `rows`; rows of the gradient are the same rows of another array, of which only some are written.
 */
struct WindowRow {
  int64_t n;
  int64_t windows;
  /** Begin and end of each window along the rows. */
  const int64_t (*spans)[2];
  int64_t rowCount;
  const char* const* rows;
  char* const* targets;
  int64_t firstTarget, lastTarget;
  /** Bytes to the row that the next call begins with, which is fetched. */
  int64_t ahead;
  /** Bytes from one point of a row to the next, in rows and targets, and from one window to the next. */
  int64_t step, targetStep;
  const char* pooled;
  int64_t pooledStep;
  char* out;
  int64_t outStep;
  const void* start;
  /** Whether the gradient of a maximum goes on only where that is above zero. */
  bool positive;
  /** Whether each point is in one window only, which then stores its gradient instead of adding to it. */
  bool alone;
};
using WindowRowFn = void (*)(const WindowRow&);

/** Null where a kind has no such operation. */
struct WindowKernels {
  WindowFn max, sum, mean, argmax, pick, spread, near, share;
  WindowRowFn maxRow, sumRow, meanRow, spreadRow, shareRow;
};

/** A stretch of a sum of products: where its factors begin, and how many there are. */
struct Run {
  int64_t a, b, length;
};

/**
 * c[row, column] = or += the sum over all runs and their steps t of
 * a[run.a + row * aRow + t * aStep] * b[run.b + t * bStep + column]. Either aStep or aRow is 1. There are at most as many
 * columns as fit `stripBytes`; b can be read for whole vectors of them. If `aSecond` is not 0, the second half of the rows, which
 * are one tile, begins so far from the first; aRow is then 1.
 */
template <class T>
struct Strip {
  int64_t rows, columns;
  const Run* runs;
  int64_t runCount;
  const T* a;
  int64_t aRow, aStep;
  const T* b;
  int64_t bStep;
  T* c;
  int64_t cRow, cColumn;
  bool add;
  int64_t aSecond = 0;
  /** From b to what is fetched meanwhile, where aRow is 1. */
  int64_t bAhead = 0;
};

/**
 * c[position, lane] = or += the sum over all runs and their terms t of
 * a[run.a + position * aStep + t * aTerm + lane] * b[run.b + t * bTerm + lane].
 */
template <class T>
struct Lanes {
  int64_t lanes, positions;
  const Run* runs;
  int64_t runCount;
  const T* a;
  int64_t aStep, aTerm;
  const T* b;
  int64_t bTerm;
  T* c;
  int64_t cStep;
  bool add;
};

/** to[position, row, i] += from[position, row, i] for i < length, one after the other: what is added to may overlap. */
template <class T>
struct Windows {
  int64_t positions, rows, length;
  const T* from;
  int64_t fromStep, fromRow;
  T* to;
  int64_t toStep, toRow;
};

/** Points along an axis of a patch, and in all of it; see conv/winograd.h. */
constexpr int64_t kPatchSide = 6, kPatchPoints = kPatchSide * kPatchSide;

/** Six rows of pixels, some elements apart each: out[i, x, channel] is what they give along a column at point i. */
struct PatchRows {
  const float* rows[kPatchSide];
  int64_t steps[kPatchSide];
  int64_t pixels, channels;
  float* out;
  int64_t outRow;
};

/**
 * A line of patches side by side: `points` has the points of the first one, `point` elements apart, and those of the next one `patch`
 * elements later. `pixels` is what they come from or go to: rows and columns, so many elements apart. Channels are a multiple of 16.
 */
template <class T>
struct Patches {
  int64_t count, channels;
  float* points;
  int64_t point, patch;
  T* pixels;
  int64_t row, column;
  /** How many of the pixels in a patch's rows, and in the columns of all, there are. */
  int64_t rows, columns;
};

/** The points of a filter: of `features` side by side, for taps some elements apart. */
template <class T>
struct FilterPoints {
  int64_t features;
  float* points;
  int64_t point;
  T* taps;
  int64_t row, column;
};

/** Convolutions by fewer products: what comes before and after these, for filters of so many taps along each axis. */
struct WinogradKernels {
  /** Inputs: rows first, then the points from those of all six rows. */
  void (*inputRows)(const PatchRows&);
  void (*inputPoints)(const Patches<const float>&, int64_t taps);
  /** The points of outputs; and outputs from their points, with whether all of them are finite. */
  void (*outputPoints)(const Patches<const float>&, int64_t taps);
  bool (*outputs)(const Patches<float>&, int64_t taps);
  /** The points of filters, and filters from their points. */
  void (*filterPoints)(const FilterPoints<const float>&, int64_t taps);
  bool (*filters)(const FilterPoints<float>&, int64_t taps);
};

/** Rows of a tile of the matrix unit, 32-bit words in one of its rows, and its bytes. */
constexpr int64_t kTileSide = 16, kTileBytes = 1024;
/** Terms of a sum that one tile of each side has. */
constexpr int64_t kTileTerms = 32;
/** Bytes of the three parts of a packed tile. */
constexpr int64_t kPackedBytes = 3 * kTileBytes;

class Ahead;

/** The sums of one to four tiles of c. */
struct TileSums {
  /** Rows of the left side are `aRow` bytes apart, its parts `aLevel`; a second block of rows begins at `aSecond`. */
  const char* a;
  int64_t aRow, aLevel, aSecond;
  /** Tiles of the right side, whose parts are `bLevel` apart; a second block of columns begins at `bSecond`. */
  const char* b;
  int64_t bLevel, bSecond;
  /** Where each step of the sum begins in a and in b; there is at least one. */
  const int64_t *aSteps, *bSteps;
  int64_t steps;
  /** Rows of c are `cRow` elements apart, its second block of rows begins at `cSecond`, that of columns 16 further on. */
  float* c;
  int64_t cRow, cSecond;
  /** Whether the sums begin with what is in c. */
  bool add;
  /** If not null, what to fetch meanwhile. */
  Ahead* ahead = nullptr;
};

/**
 * What the matrix unit does, for float32; all null where there is none. See tiles/tiles.h. What splits numbers says
 * whether it could split all of them.
 */
struct TileKernels {
  /** Whether a product of this size is faster there, and whether it is if b need not be packed. */
  bool (*suitsGemm)(int64_t m, int64_t n, int64_t k);
  bool (*suitsPacked)(int64_t m, int64_t n, int64_t k);
  /** `other` multiplies with vectors, where numbers are not for the matrix unit; it reports nothing. */
  void (*gemm)(const Gemm<float>&, char* scratch, void (*other)(const Gemm<float>&));
  int64_t (*gemmScratch)(int64_t m, int64_t n, int64_t k);

  /** A thread calls these before and after it multiplies tiles whose sums and left sides have so many rows, at most 16. */
  void (*begin)(int64_t rows);
  void (*end)();
  /** Adds up tiles: one or two blocks of rows and of columns. */
  void (*multiply)(const TileSums&, int64_t rows, int64_t columns);
  /**
   * Up to 32 rows of up to 32 terms as one or two tiles of the left side, in which word t has the terms t and t + 16 of a row;
   * or as many columns as tiles of the right side, whose row t has those terms. The second tile begins `second` bytes later.
   */
  using PackFn = bool (*)(int64_t lines, int64_t terms, const float* from, int64_t lineStep, int64_t termStep, char* to, int64_t second);
  PackFn packLeft, packRight;
  /**
   * The same from the addresses of 32 terms, each with its columns side by side; row t has the terms 2t and 2t + 1. Parts are
   * `level` bytes apart.
   */
  bool (*packPairs)(int64_t columns, const float* const* terms, char* to, int64_t level);
  /** The same terms as a packed tile of the left side; columns become rows. */
  bool (*packTurned)(int64_t columns, const float* const* terms, char* to);
  /** Pixels of so many channels as rows of the left side, in stretches of 32 channels with 64 bytes each. */
  bool (*splitPixels)(int64_t pixels, int64_t channels, const float* from, int64_t step, char* to, int64_t pixelBytes,
                      int64_t level);
};

/** What the first and the second of two joined operations can be; `subFrom` is the difference the other way round. */
enum class Inner : int32_t { add, sub, mul, count };
enum class Outer : int32_t { add, sub, subFrom, mul, div, max, count };
constexpr int kInners = static_cast<int>(Inner::count), kOuters = static_cast<int>(Outer::count);

/** A function f joined with others: f(inner(x0, x1)), and f(x0) x1. */
struct JoinedFunction {
  BlockFn of[kInners];
  BlockFn times;
};

/** Operations of float32 that are joined from others; their operands are x0, x1 … */
struct JoinedOps {
  /** outer(inner(x0, x1), x2). */
  BlockFn chain[kInners][kOuters];
  /** x0 x1 + x2 x3. */
  BlockFn twoProducts;
  /** x0 + (x1 - x0) x2, and the same with x1 x3 in place of x1: running means. */
  BlockFn towards, towardsProduct;
  /** x0 - x1 x2 / (sqrt(x3) + x4): what Adam does with its running means. */
  BlockFn scaledStep;
  JoinedFunction exp, tanh, sigmoid;
  /** x2 where x0 < x1, x0 <= x1, x0 = x1, and x3 elsewhere. */
  BlockFn less, lessOrEqual, equal;
};

struct SimdKernels {
  const char* name;
  /** Whether the processor can run the code that ../code generates. */
  bool generated;
  /** Operations by the kind of their first operand (the second, for `select`); null where there is none. */
  BlockFn ops[kOps][kKinds];
  JoinedOps joined;
  BlockFn casts[kKinds][kKinds];
  /** Rounds or wraps register values, in place, to a type narrower than its register; null for others. */
  BlockFn narrow[kDTypes];
  ConvertFn load[kDTypes];
  ConvertFn store[kDTypes];
  /** int64 positions: out[i] = start + i * inStep, where `in` points to the start. */
  ConvertFn iota;
  /** Copies elements of 1, 2, 4, 8 and 16 bytes. */
  ConvertFn copy[5];
  /** Transposes a block of elements of 4 and 8 bytes; rows of both sides are any number of elements apart. */
  void (*transpose[2])(int64_t rows, int64_t columns, void* out, int64_t outRow, const void* in, int64_t inRow);
  FoldFn foldRows[kFolds][kKinds];     // out[row] = fold over columns
  FoldFn foldColumns[kFolds][kKinds];  // out[column] = fold over rows
  /** Sums of the products of two blocks, along rows or columns; fast for long rows. */
  FoldProductsFn productRows, productColumns;
  WindowKernels window[kKinds];
  void (*gemmF32)(const Gemm<float>&, char* scratch);
  void (*gemmF64)(const Gemm<double>&, char* scratch);
  /** Whether the second factor of such a product will come from memory, and is read in place, each number once. */
  bool (*gemmStreams)(const Gemm<float>&);
  int64_t (*gemmScratch)(int64_t m, int64_t n, int64_t k, int64_t size);
  /** Columns of a panel, and the one of b that begins at a column: what is there of columns that there are not does not matter. */
  int64_t panelWidth;
  bool (*suitsPanels)(int64_t m, int64_t n, int64_t k);
  void (*packPanel)(const Gemm<float>&, int64_t column, float* to);
  /** For one product so small that `suitsTiny`, whose rows of c are contiguous. */
  void (*tinyF32)(const Gemm<float>&);
  void (*tinyF64)(const Gemm<double>&);
  bool (*suitsTiny)(int64_t m, int64_t n, int64_t k);
  void (*stripF32)(const Strip<float>&);
  void (*stripF64)(const Strip<double>&);
  /** The largest tile of a strip: rows, and bytes of a row. */
  int64_t stripRows, stripBytes;
  void (*lanesF32)(const Lanes<float>&);
  void (*lanesF64)(const Lanes<double>&);
  void (*addWindowsF32)(const Windows<float>&);
  void (*addWindowsF64)(const Windows<double>&);
  WinogradKernels winograd;
  /** Blocks of Philox, of four words each, for the counters `counter`, `counter + step` … in a key. */
  void (*philox)(const uint32_t* counter, const uint32_t* key, int64_t count, uint64_t step, uint32_t* out);
  /** The same for the counters that lie `offsets` after `counter`. */
  void (*philoxAt)(const uint32_t* counter, const uint32_t* key, int64_t count, const uint64_t* offsets, uint32_t* out);
  /** Random words as numbers of [0, 1). */
  void (*unitFloats)(int64_t n, const uint32_t* words, float* out);
  /** Pairs of random words as pairs of normals. */
  void (*normals)(int64_t pairs, const uint32_t* words, float* out);
  TileKernels tiles;
  LinalgKernels linalg;
};

/** The fastest variant that was compiled and that this processor can run. */
const SimdKernels& simd();

/** `copy` entry for elements of `size` bytes. */
inline ConvertFn copyOf(int64_t size) {
  return simd().copy[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4];
}

}  // namespace tl

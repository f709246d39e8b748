/** Iteration spaces: which points an instruction visits, how its operands lie in memory, and how it is cut into boxes. */
#pragma once
#include <cstdint>
#include <vector>

#include "../core/view.h"
#include "../simd/kernels.h"

namespace tl {

/** Enough for any space after merging: every dim left has at least two points. */
constexpr int kMaxDims = 40;

/** How one operand moves with the dims of a space, in elements. */
struct Strides {
  int64_t of[kMaxDims] = {};
};

/**
 * A space of points, visited box by box. A box spans at most `tile[d]` points of each dim and is evaluated in registers
 * that hold its points densely, last dim fastest.
 */
struct Space {
  int rank = 0;
  int64_t dims[kMaxDims] = {};
  int64_t tile[kMaxDims] = {};
  /** Dims carry a mark, such as kept or reduced; only dims of the same mark are merged. */
  bool mark[kMaxDims] = {};

  int64_t points() const;
  int64_t boxes() const;
  /** Most points of a box. */
  int64_t block() const;
};

/** A part of a space: where it begins and how far it reaches. */
struct Box {
  int64_t start[kMaxDims];
  int64_t extent[kMaxDims];
  int64_t points;
};

/** The `index`-th box, in row-major order of the grid. */
Box boxAt(const Space&, int64_t index);
/** Moves on to the next box of the grid; the last one is followed by the first. */
void advance(const Space&, Box&);

/** Where an operand's part of a box begins, in elements from the operand's first. */
int64_t startOf(const Space&, const Box&, const Strides&);

/**
 * Simplifies a space without changing its points: dims of one point are dropped, dims are brought into the memory order
 * of operand `leader`, and neighbours are merged wherever all operands allow it. With `reorder` false the order stays.
 */
void simplify(Space&, std::vector<Strides>& operands, int leader, bool reorder);

/**
 * Chooses boxes of at most `block` points: whole trailing dims and a piece of the next one. When an operand runs across
 * the last dim, boxes become squares instead, so that its cache lines are used whole.
 */
void chooseTile(Space&, const std::vector<Strides>& operands, int64_t block);

/** Whether an operand's elements of any box lie exactly as the registers hold them. */
bool isDense(const Space&, const Strides&);
/** Whether all points of any box share one element of the operand. */
bool isScalar(const Space&, const Strides&);
/** Whether some boxes share all their elements of the operand. */
bool isShared(const Space&, const Strides&);

/** The strides of a dense register over the dims of a box. */
Strides denseStrides(const Space&, const Box&);

/** One side of a move: an address, the operand's strides and its element size. */
struct Side {
  char* address;
  const Strides& strides;
  int64_t size;
};
/** Copies or converts a box between two layouts. */
void moveBox(const Space&, const Box&, ConvertFn, const Side& to, const Side& from);
/** Fills a dense box with positions: the sum of the coordinates times the strides. */
void fillPositions(const Space&, const Box&, const Strides&, int64_t* out);

}  // namespace tl

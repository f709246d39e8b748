/** Iteration spaces: merging dims, cutting into boxes, moving boxes between layouts. */
#include "space.h"

#include <algorithm>
#include <cstdlib>

namespace tl {

int64_t Space::points() const {
  int64_t n = 1;
  for (int d = 0; d < rank; d++) n *= dims[d];
  return n;
}

int64_t Space::boxes() const {
  int64_t n = 1;
  for (int d = 0; d < rank; d++) n *= (dims[d] + tile[d] - 1) / tile[d];
  return n;
}

int64_t Space::block() const {
  int64_t n = 1;
  for (int d = 0; d < rank; d++) n *= tile[d];
  return n;
}

namespace {

void measure(const Space& space, Box& box) {
  box.points = 1;
  for (int d = 0; d < space.rank; d++) {
    box.extent[d] = std::min(space.tile[d], space.dims[d] - box.start[d]);
    box.points *= box.extent[d];
  }
}

void swapDims(Space& space, std::vector<Strides>& operands, int d, int e) {
  std::swap(space.dims[d], space.dims[e]);
  std::swap(space.mark[d], space.mark[e]);
  for (Strides& s : operands) std::swap(s.of[d], s.of[e]);
}

void removeDim(Space& space, std::vector<Strides>& operands, int d) {
  for (int e = d; e + 1 < space.rank; e++) swapDims(space, operands, e, e + 1);
  space.rank--;
}

}  // namespace

Box boxAt(const Space& space, int64_t index) {
  Box box;
  for (int d = space.rank - 1; d >= 0; d--) {
    const int64_t grid = (space.dims[d] + space.tile[d] - 1) / space.tile[d];
    box.start[d] = index % grid * space.tile[d];
    index /= grid;
  }
  measure(space, box);
  return box;
}

void advance(const Space& space, Box& box) {
  for (int d = space.rank - 1; d >= 0; d--) {
    box.start[d] += space.tile[d];
    if (box.start[d] < space.dims[d]) break;
    box.start[d] = 0;
  }
  measure(space, box);
}

int64_t startOf(const Space& space, const Box& box, const Strides& strides) {
  int64_t at = 0;
  for (int d = 0; d < space.rank; d++) at += box.start[d] * strides.of[d];
  return at;
}

void simplify(Space& space, std::vector<Strides>& operands, int leader, bool reorder) {
  for (int d = space.rank - 1; d >= 0; d--)
    if (space.dims[d] == 1) removeDim(space, operands, d);
  if (reorder)  // insertion sort, so that equal strides keep their order
    for (int d = 1; d < space.rank; d++)
      for (int e = d; e > 0; e--) {
        const Strides& s = operands[static_cast<size_t>(leader)];
        // Dims along which the leader stands still go outside: they are not in its memory at all.
        const auto reach = [&](int dim) { return s.of[dim] == 0 ? INT64_MAX : std::llabs(s.of[dim]); };
        if (reach(e - 1) >= reach(e)) break;
        swapDims(space, operands, e - 1, e);
      }
  for (int d = space.rank - 2; d >= 0; d--) {
    if (space.mark[d] != space.mark[d + 1]) continue;
    const bool joins = std::all_of(operands.begin(), operands.end(),
                                   [&](const Strides& s) { return s.of[d] == s.of[d + 1] * space.dims[d + 1]; });
    if (!joins) continue;
    space.dims[d] *= space.dims[d + 1];
    for (Strides& s : operands) s.of[d] = s.of[d + 1];
    space.dims[d + 1] = 1;
    removeDim(space, operands, d + 1);
  }
}

namespace {

/** The dim along which an operand is contiguous although it strides along the last one; -1 if there is none. */
int crossDim(const Space& space, const std::vector<Strides>& operands) {
  const int last = space.rank - 1;
  for (const Strides& s : operands) {
    if (std::llabs(s.of[last]) <= 1 || space.dims[last] < 4) continue;
    for (int d = 0; d < last; d++)
      if (std::llabs(s.of[d]) == 1 && space.dims[d] >= 4) return d;
  }
  return -1;
}

}  // namespace

void chooseTile(Space& space, const std::vector<Strides>& operands, int64_t block) {
  std::fill(space.tile, space.tile + space.rank, int64_t{1});
  if (space.rank == 0) return;
  const int last = space.rank - 1;
  const int cross = crossDim(space, operands);
  if (cross >= 0) {
    int64_t side = 1;
    while (side * side * 4 <= block) side *= 2;
    space.tile[last] = std::min(space.dims[last], std::max(side, block / space.dims[cross]));
    space.tile[cross] = std::min(space.dims[cross], block / space.tile[last]);
    return;
  }
  for (int d = last; d >= 0 && block > 1; d--) {
    space.tile[d] = std::min(space.dims[d], block);
    if (space.tile[d] < space.dims[d]) return;
    block /= space.tile[d];
  }
}

bool isDense(const Space& space, const Strides& strides) {
  int64_t step = 1;
  bool whole = true;  // an outer dim may only follow inner dims that every box covers from end to end
  for (int d = space.rank - 1; d >= 0; d--) {
    if (space.tile[d] == 1) {
      whole = false;
      continue;
    }
    if (strides.of[d] != step || (!whole && step > 1)) return false;
    step *= space.tile[d];
    if (space.tile[d] < space.dims[d]) whole = false;
  }
  return true;
}

bool isScalar(const Space& space, const Strides& strides) {
  for (int d = 0; d < space.rank; d++)
    if (space.tile[d] > 1 && strides.of[d] != 0) return false;
  return true;
}

bool isShared(const Space& space, const Strides& strides) {
  for (int d = 0; d < space.rank; d++)
    if (space.tile[d] < space.dims[d] && strides.of[d] == 0) return true;
  return false;
}

Strides denseStrides(const Space& space, const Box& box) {
  Strides dense;
  int64_t step = 1;
  for (int d = space.rank - 1; d >= 0; d--) {
    dense.of[d] = step;
    step *= box.extent[d];
  }
  return dense;
}

void moveBox(const Space& space, const Box& box, ConvertFn move, const Side& to, const Side& from) {
  // The dims that the box really spans, neighbours merged where both sides allow it.
  int64_t extent[kMaxDims], toStep[kMaxDims], fromStep[kMaxDims];
  int rank = 0;
  for (int d = 0; d < space.rank; d++) {
    if (box.extent[d] == 1) continue;
    const int64_t t = to.strides.of[d], f = from.strides.of[d], n = box.extent[d];
    if (rank > 0 && toStep[rank - 1] == t * n && fromStep[rank - 1] == f * n) {
      extent[rank - 1] *= n;
      toStep[rank - 1] = t;
      fromStep[rank - 1] = f;
      continue;
    }
    extent[rank] = n;
    toStep[rank] = t;
    fromStep[rank] = f;
    rank++;
  }
  if (rank == 0) {
    move(1, to.address, 1, from.address, 1);
    return;
  }
  const bool copies = to.size == from.size && move == copyOf(to.size) && (to.size == 4 || to.size == 8);
  if (rank == 2 && copies && toStep[1] == 1 && fromStep[0] == 1 && fromStep[1] != 0) {
    simd().transpose[to.size / 4 - 1](extent[0], extent[1], to.address, toStep[0], from.address, fromStep[1]);
    return;
  }
  // The inner loop runs where the writes, or else the reads, are neighbours.
  int inner = rank - 1;
  for (int d = 0; d < rank; d++)
    if (toStep[inner] != 1 && (toStep[d] == 1 || (fromStep[inner] > 1 && fromStep[d] == 1))) inner = d;
  std::swap(extent[inner], extent[rank - 1]);
  std::swap(toStep[inner], toStep[rank - 1]);
  std::swap(fromStep[inner], fromStep[rank - 1]);
  inner = rank - 1;

  int64_t at[kMaxDims] = {};
  char* out = to.address;
  const char* in = from.address;
  for (;;) {
    move(extent[inner], out, toStep[inner], in, fromStep[inner]);
    int d = inner - 1;
    for (; d >= 0; d--) {
      out += toStep[d] * to.size;
      in += fromStep[d] * from.size;
      if (++at[d] < extent[d]) break;
      out -= toStep[d] * to.size * extent[d];
      in -= fromStep[d] * from.size * extent[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

void fillPositions(const Space& space, const Box& box, const Strides& strides, int64_t* out) {
  int64_t value = startOf(space, box, strides);
  if (space.rank == 0) {
    *out = value;
    return;
  }
  const int last = space.rank - 1;
  int64_t at[kMaxDims] = {};
  for (;; out += box.extent[last]) {
    simd().iota(box.extent[last], out, 1, &value, strides.of[last]);
    int d = last - 1;
    for (; d >= 0; d--) {
      value += strides.of[d];
      if (++at[d] < box.extent[d]) break;
      value -= strides.of[d] * box.extent[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace tl

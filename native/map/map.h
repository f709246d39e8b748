/** A map as it arrives in a program, and running one on pieces of its space. */
#pragma once
#include <vector>

#include "../core/pool.h"
#include "body.h"

namespace tl {

/** A map's expression, and for each output where it goes and which node it is. */
struct MapCode {
  Expression expression;
  std::vector<View> outputs;
  std::vector<int64_t> results;

  static MapCode decode(Reader&);
};

InstructionPtr mapOf(const MapCode&);

/**
 * A map over matrices that is run piece by piece by whoever computes its input, while the piece is still in the cache.
 * Rows are counted over all dims of the shape but the last, whose points are the columns.
 */
class PieceMap {
 public:
  explicit PieceMap(const MapCode&);

  const std::vector<int64_t>& shape() const { return shape_; }
  /** What it reads and writes of the whole shape, row by row, at equal distances. */
  const std::vector<View>& matrices() const { return matrices_; }
  /** The memory that `run` needs. */
  int64_t scratchBytes() const;
  /** Runs the map for some rows and columns on the calling thread. */
  void run(void* const* table, Range rows, Range columns, char* scratch, int32_t* failure) const;

 private:
  /** The map cut into boxes of one kind. */
  struct Form {
    Space space;
    Owned<Body> body;
  };
  Form form(const MapCode&, const Layout&, int64_t rows, int64_t columns) const;

  std::vector<int64_t> shape_;
  std::vector<View> matrices_;
  int64_t columns_ = 1;
  /** Boxes of several whole rows, boxes that are long pieces of one row, and boxes of short pieces of several. */
  Form whole_, part_, narrow_;
};

}  // namespace tl

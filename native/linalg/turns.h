/** Turns of rows against each other, gathered and applied many at a time: every column then goes through all of them in the cache. */
#pragma once
#include "matrix.h"

namespace tl {

class Turns {
 public:
  /** For the rows of this matrix. */
  explicit Turns(MatrixView<double> rows) : rows_(rows) {}
  /** Begins a sweep from row `first` on; each turn that is added to it then takes the next row. */
  void begin(int64_t first);
  void add(double c, double s) { turns_.push_back({c, s}); }
  /** Applies what is left. */
  void finish();

 private:
  struct Start {
    int64_t row, turn;
  };
  MatrixView<double> rows_;
  std::vector<Turn> turns_;
  std::vector<Start> starts_;
};

}  // namespace tl

/** Matrices that products of a program share, packed once in each run, or once for all runs where they never change. */
#pragma once
#include <atomic>
#include <vector>

#include "owned.h"

namespace tl {

/** A matrix in the form that the matrix unit wants, for all products that share it. */
struct Packed {
  enum State : int { missing, underWay, there };
  std::atomic<int> state{missing};
  /** Whether it is a constant of the program. */
  bool isConstant = false;
  /** Whether it could be split. */
  bool finite = false;
  std::vector<char> memory;
};

/** What the products of a program share. */
class Packs {
 public:
  Packed& of(int64_t id) {
    while (static_cast<int64_t>(all_.size()) <= id) all_.push_back(make<Packed>());
    return *all_[static_cast<size_t>(id)];
  }
  /** A run begins: matrices may have changed since the last one, which may have ended while one was packed. */
  void restart() {
    for (Owned<Packed>& packed : all_)
      if (!packed->isConstant || packed->state.load(std::memory_order_relaxed) != Packed::there)
        packed->state.store(Packed::missing, std::memory_order_relaxed);
  }

 private:
  std::vector<Owned<Packed>> all_;
};

}  // namespace tl

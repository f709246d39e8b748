/** Matrices that products of a program share, packed once in each run, or once for all runs in which they are the same. */
#pragma once
#include <atomic>
#include <cstdint>
#include <new>
#include <vector>

#include "names.h"
#include "owned.h"

namespace tl {

/** A matrix in the form that the matrix unit wants, for all products that share it. */
struct Packed {
  /** Of one that is new in this run, it is not known yet whether it lasts: then products pack it for themselves. */
  enum State : int { missing, underWay, there, isNew };
  std::atomic<int> state{missing};
  Lasts lasts = Lasts::oneRun;
  /** Whether several products of a run share it, so that packing it pays in any case. */
  bool isShared = true;
  /** Where the table has the number of its content, which is another one when it has been written; and what was there. */
  int64_t contentSlot = 0;
  const void* content = nullptr;
  /** Whether it could be split. */
  bool finite = false;
  std::vector<char> memory;

  /** Whether there is memory for it. Where there is none, products do without: it only saves them time. */
  bool hasRoom(int64_t bytes) {
    try {
      memory.resize(static_cast<size_t>(bytes));
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  /** A run begins: it may have changed since the last one, which may have ended while it was packed. */
  void restart(void* const* table) {
    const bool isThere = state.load(std::memory_order_relaxed) == there;
    if (lasts == Lasts::always && isThere) return;
    State next = missing;
    if (lasts == Lasts::whileContent) {
      if (table[contentSlot] == content) {
        if (isThere) return;
      } else if (!isShared) {
        next = isNew;
      }
      content = table[contentSlot];
    }
    state.store(next, std::memory_order_relaxed);
  }
};

/** What the products of a program share. */
class Packs {
 public:
  Packed& of(int64_t id) {
    while (static_cast<int64_t>(all_.size()) <= id) all_.push_back(make<Packed>());
    return *all_[static_cast<size_t>(id)];
  }
  void restart(void* const* table) {
    for (Owned<Packed>& packed : all_) packed->restart(table);
  }

 private:
  std::vector<Owned<Packed>> all_;
};

}  // namespace tl

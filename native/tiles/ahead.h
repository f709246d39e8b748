/** Fetching memory into the second cache while the matrix unit multiplies. */
#pragma once
#include "../simd/kernels.h"

namespace tl {

/**
 * Lines of memory that somebody will use soon, fetched one by one, what was added last first. The unit leaves the way to memory idle:
 * a line fetched behind each multiplication costs nothing there. Several at once would hold up the loading of tiles.
 */
class Ahead {
 public:
  Ahead() { rest(); }
  /** Adds rows of so many bytes; those that do not fit are not fetched. */
  void add(const void* at, int64_t rowStep, int64_t rowBytes, int64_t rows) {
    if (count_ == kMost || rows <= 0 || rowBytes <= 0) return;
    areas_[count_++] = {static_cast<const char*>(at), rowStep, (rowBytes + kLine - 1) / kLine, rows};
    if (step_ == 0) left_ = 1;
  }
  int64_t count() const { return count_; }
  /** Leaves out what was added when there were so many already. */
  void dropTo(int64_t count) {
    if (count_ > count) count_ = count;
  }
  void fetchLine() {
#if defined(__x86_64__)
    asm volatile("prefetcht1 (%0)" : : "r"(line_));  // stays where it is among the unit's instructions
#else
    __builtin_prefetch(line_, 0, 2);
#endif
    line_ += step_;
    if (--left_ == 0) turn();
  }

 private:
  static constexpr int64_t kLine = 64, kMost = 32;
  struct Area {
    const char* at;
    int64_t rowStep, lines, rows;
  };

  /** Goes on to the next row. */
  __attribute__((noinline)) void turn() {
    if (count_ == 0) return rest();
    Area& now = areas_[count_ - 1];
    line_ = now.at;
    step_ = kLine;
    left_ = now.lines;
    now.at += now.rowStep;
    if (--now.rows == 0) count_--;
  }
  /** Fetches one line over and over, which costs no more than a question. */
  void rest() {
    line_ = reinterpret_cast<const char*>(this);
    step_ = 0;
    left_ = INT64_MAX;
  }

  Area areas_[kMost];
  int64_t count_ = 0;
  const char* line_;
  int64_t step_, left_;
};

}  // namespace tl

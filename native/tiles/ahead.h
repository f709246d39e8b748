/** Fetching memory into the second cache while the matrix unit multiplies. */
#pragma once
#include "../simd/kernels.h"

namespace tl {

/**
 * Lines of memory that somebody will use soon, fetched one by one. The unit leaves the way to memory idle: a line fetched
 * behind each multiplication costs nothing there. Several at once would hold up the loading of tiles.
 */
class Ahead {
 public:
  /** Adds rows of so many bytes; those that do not fit are not fetched. */
  void add(const char* at, int64_t rowStep, int64_t rowBytes, int64_t rows) {
    if (count_ == kMost || rows == 0) return;
    areas_[count_++] = {at, rowStep, (rowBytes + kLine - 1) / kLine, rows};
  }
  /** To be called when all are added. */
  void begin() {
    next_ = 0;
    now_.rows = 0;
    turn();
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
  static constexpr int64_t kLine = 64, kMost = Follower::most;
  struct Area {
    const char* at;
    int64_t rowStep, lines, rows;
  };

  /** Goes on to the next row. When there is none, one line is fetched over and over, which costs no more than a question. */
  __attribute__((noinline)) void turn() {
    if (now_.rows == 0) {
      if (next_ == count_) {
        line_ = reinterpret_cast<const char*>(this);
        step_ = 0;
        left_ = INT64_MAX;
        return;
      }
      now_ = areas_[next_++];
    }
    line_ = now_.at;
    step_ = kLine;
    left_ = now_.lines;
    now_.at += now_.rowStep;
    now_.rows--;
  }

  Area areas_[kMost];
  Area now_ = {};
  int64_t count_ = 0, next_ = 0;
  const char* line_;
  int64_t step_, left_;
};

}  // namespace tl

/** The thread pool: one master at a time splits an instruction into parts, workers and master run them. */
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tl {

class Pool {
 public:
  /** Never destroyed: workers may be asleep in it while the process exits. */
  static Pool& get();

  int threads() const { return wanted_.load(std::memory_order_relaxed); }
  void setThreads(int count);

  /** How many parts to split `work` units into when one part should have at least `grain`. */
  int64_t parts(double work, double grain) const;

  /** Calls `body(part)` for every part in [0, parts). Which thread runs a part never changes a result. */
  template <class Body>
  void run(int64_t parts, const Body& body) {
    if (parts <= 1) {
      if (parts == 1) body(int64_t{0});
      return;
    }
    runParts(parts, [](const void* context, int64_t part) { (*static_cast<const Body*>(context))(part); }, &body);
  }

  /** Scratch memory of the calling thread, 64-byte aligned, at least `bytes` long; overwritten by the next caller. */
  static char* scratch(int64_t bytes);

 private:
  using Task = void (*)(const void* context, int64_t part);

  Pool();
  void runParts(int64_t parts, Task task, const void* context);
  void resize();
  void work(int worker, uint32_t seen);

  std::atomic<int> wanted_;
  std::mutex master_;
  std::vector<std::thread> workers_;

  // What the workers of the current round do. Written by the master before `round_` moves on.
  Task task_ = nullptr;
  const void* context_ = nullptr;
  int64_t parts_ = 0;
  int64_t team_ = 1;
  bool stop_ = false;

  /** Set by a part that could not get memory; the master then throws for all. */
  std::atomic<bool> outOfMemory_{false};
  void runShare(int64_t first);

  alignas(64) std::atomic<uint32_t> round_{0};
  alignas(64) std::atomic<uint32_t> busy_{0};
};

/** The half-open range of `part` when `count` items are split into `parts` nearly equal, consecutive ranges. */
struct Range {
  int64_t begin, end;
};
inline Range rangeOf(int64_t part, int64_t parts, int64_t count) {
  return {count / parts * part + (part < count % parts ? part : count % parts),
          count / parts * (part + 1) + (part + 1 < count % parts ? part + 1 : count % parts)};
}

}  // namespace tl

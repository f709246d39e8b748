/** The thread pool: a running program splits an instruction into parts, which it and idle workers run. */
#pragma once
#include <cstdint>
#include <type_traits>

namespace tl {

/**
 * One pool serves the whole process. Programs that run at the same time share its workers, so that there are never more
 * busy threads than processors; a program that finds no idle worker runs all its parts itself.
 */
class Pool {
 public:
  /** Never destroyed: workers may be asleep in it while the process exits. */
  static Pool& get();

  /** How many threads the program that runs on this thread may use. */
  int threads() const;

  /** How many parts to split `work` units into when one part should have at least `grain`. */
  int64_t parts(double work, double grain) const;

  /**
   * How many parts to make of work that `threads` threads share, of at most `most`: some more than there are threads, because
   * parts are handed out one by one, and a processor that others use too takes fewer of them.
   */
  static int64_t finer(int64_t threads, int64_t most) {
    const int64_t wanted = threads == 1 ? 1 : kFiner * threads;
    return wanted < most ? wanted : most;
  }

  /**
   * Calls `body(part)`, or `body(part, seat)`, for every part in [0, parts), on at most `seats` threads. Which thread runs a
   * part never changes a result. No two threads have the same seat, so that each can have memory of its own.
   */
  template <class Body>
  void run(int64_t parts, const Body& body, int64_t seats = INT64_MAX) {
    if (parts < 1) return;
    const auto task = [](const void* context, int64_t part, int64_t seat) {
      const Body& run = *static_cast<const Body*>(context);
      if constexpr (std::is_invocable_v<Body, int64_t, int64_t>) run(part, seat);
      else run(part);
    };
    if (parts == 1) task(&body, 0, 0);
    else runParts(parts, seats, task, &body);
  }

  /** Scratch memory of the calling thread, 64-byte aligned, at least `bytes` long; overwritten by the next caller. */
  static char* scratch(int64_t bytes);
  /** The same, for what the parts of one run share; parts have no such memory. */
  static char* sharedScratch(int64_t bytes);

 private:
  using Task = void (*)(const void* context, int64_t part, int64_t seat);
  static constexpr int64_t kFiner = 4;

  Pool() = default;
  void runParts(int64_t parts, int64_t seats, Task task, const void* context);
};

/** Passes some 50 ns while another thread is about to do something; gives the processor away now and then, should another want it. */
void spin(int round);

/** The processors that this process may use. */
int processors();

/** While it lives, numbers too small for a normal exponent count as zero, as they do in TensorFlow. */
class FlushScope {
 public:
  FlushScope();
  ~FlushScope();
  FlushScope(const FlushScope&) = delete;
  FlushScope& operator=(const FlushScope&) = delete;

 private:
  uint64_t outer_;
};

/** While it lives, the calling thread runs a program on at most `threads` threads (0: on all processors). */
class RunScope {
 public:
  explicit RunScope(int threads);
  ~RunScope();
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  int outerLimit_;
  int place_;
  struct Scratch* outerScratch_;
  FlushScope flush_;
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

/** The thread pool: a running program splits an instruction into parts, which it and idle workers run. */
#pragma once
#include <cstdint>

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

  Pool() = default;
  void runParts(int64_t parts, Task task, const void* context);
};

/** The processors that this process may use. */
int processors();

/**
 * While it lives, the calling thread runs a program on at most `threads` threads (0: on all processors), and numbers too
 * small for a normal exponent count as zero, as they do in TensorFlow.
 */
class RunScope {
 public:
  explicit RunScope(int threads);
  ~RunScope();
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  int outerLimit_;
  uint64_t outerControl_;
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

/**
 * Libraries in turns: the same work done by several of them in one process, with the best time of each.
 *
 * In every round each library does all of its work, and then the next one. So the rounds of one piece of work are seconds
 * apart, and a moment in which the machine is slow is not in all of them; and a library's threads, which wait for more work by
 * spinning for up to a fifth of a second, are asleep when the next one begins.
 */
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

struct Contestant {
  std::string library;
  std::function<void()> run;
  double best = 1e30;
  /** Seconds of all its turns. */
  double spent = 0;
};

/** One piece of work, and those who do it. */
struct Contest {
  std::string name;
  double flops;
  std::vector<Contestant> by;
};

/** Seconds. */
inline double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/** Seconds that a contestant has in a round, unless once takes longer. */
constexpr double kTurn = 2e-3;
/** Seconds after which a contestant has no further turns, once it has had so many: they are for work so short that it can miss every good moment. */
constexpr double kEnough = 1.5;
constexpr int kLeastTurns = 4;

inline void takeTurn(Contestant& one, double flops) {
  // Small work is repeated for some hundred microseconds; the clock itself costs as much as one of it.
  const int together = static_cast<int>(std::max(1.0, 1e7 / (flops + 3e4)));
  const double begun = now();
  double start = begun, end;
  do {
    for (int i = 0; i < together; i++) one.run();
    end = now();
    one.best = std::min(one.best, (end - start) / together);
    start = end;
  } while (end - begun < kTurn);
  one.spent += end - begun;
}

inline void takeTurns(std::vector<Contest>& all, int rounds, int threads) {
  std::vector<std::string> libraries;
  for (const Contest& contest : all)
    for (const Contestant& one : contest.by)
      if (std::find(libraries.begin(), libraries.end(), one.library) == libraries.end()) libraries.push_back(one.library);
  for (int round = 0; round < rounds; round++)
    for (const std::string& library : libraries) {
      if (threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
      for (Contest& contest : all)
        for (Contestant& one : contest.by)
          if (one.library == library && (round < kLeastTurns || one.spent < kEnough)) takeTurn(one, contest.flops);
    }
}

/** The contest's line without its end: `{"case":…,"threads":…,"LIBRARY":GFLOP/s…`. */
inline void print(const Contest& contest, int threads) {
  std::printf("{\"case\":\"%s\",\"threads\":%d", contest.name.c_str(), threads);
  for (const Contestant& one : contest.by) std::printf(",\"%s\":%.2f", one.library.c_str(), contest.flops / one.best * 1e-9);
}

/** A build of tensorloom's library. */
class Loom {
 public:
  explicit Loom(const char* path) {
    void* library = dlopen(path, RTLD_NOW);
    if (!library) fail(dlerror());
    code = reinterpret_cast<decltype(code)>(dlsym(library, "tl_code"));
    create_ = reinterpret_cast<decltype(create_)>(dlsym(library, "tl_program_create"));
    run_ = reinterpret_cast<decltype(run_)>(dlsym(library, "tl_program_run"));
    allocate = reinterpret_cast<decltype(allocate)>(dlsym(library, "tl_allocate"));
  }

  int64_t (*code)(const char*, const char*);
  void* (*allocate)(int64_t bytes);

  /** A program in words, ready to run on these arrays. */
  std::function<void()> prepare(const std::vector<int64_t>& words, std::vector<void*> table, int threads) {
    char error[256] = "";
    void* program = create_(words.data(), static_cast<int64_t>(words.size()), error, sizeof(error));
    if (!program) fail(error);
    return [this, program, table, threads] {
      double result[4];
      run_(program, table.data(), result, nullptr, threads, 0, HUGE_VAL);
    };
  }

 private:
  [[noreturn]] static void fail(const char* message) {
    std::fprintf(stderr, "%s\n", message);
    std::exit(1);
  }

  void* (*create_)(const int64_t*, int64_t, char*, int64_t);
  int64_t (*run_)(void*, void* const*, double*, double*, int32_t, int64_t, double);
};

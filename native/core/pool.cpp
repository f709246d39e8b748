/** The thread pool: workers spin for some microseconds after a round, because the next one often follows at once. */
#include "pool.h"

#include <algorithm>
#include <new>
#include <system_error>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace tl {
namespace {

void pause() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

constexpr int kSpins = 400;  // about 10 µs; longer would burn processors that other processes want

template <class Condition>
bool spinUntil(const Condition& met) {
  for (int i = 0; i < kSpins; i++) {
    if (met()) return true;
    pause();
  }
  return false;
}

int processors() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

/** True while a thread is inside a part: parts of parts run where they are. */
thread_local bool insidePart = false;

}  // namespace

Pool& Pool::get() {
  static Pool* pool = new Pool();
  return *pool;
}

Pool::Pool() : wanted_(processors()) {}

void Pool::setThreads(int count) { wanted_.store(count < 1 ? processors() : std::min(count, 1024)); }

int64_t Pool::parts(double work, double grain) const {
  return std::max<int64_t>(1, std::min<int64_t>(threads(), static_cast<int64_t>(work / grain)));
}

void Pool::runParts(int64_t parts, Task task, const void* context) {
  // A second master (another device of this process) does not wait for the pool: it runs its parts alone.
  std::unique_lock<std::mutex> lock(master_, std::defer_lock);
  if (insidePart || threads() == 1 || !lock.try_lock()) {
    for (int64_t part = 0; part < parts; part++) task(context, part);
    return;
  }
  if (static_cast<int>(workers_.size()) + 1 != threads()) resize();
  task_ = task;
  context_ = context;
  parts_ = parts;
  team_ = static_cast<int64_t>(workers_.size()) + 1;
  busy_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();

  insidePart = true;
  runShare(0);
  insidePart = false;

  if (!spinUntil([&] { return busy_.load(std::memory_order_acquire) == 0; }))
    for (uint32_t left; (left = busy_.load(std::memory_order_acquire)) != 0;) busy_.wait(left);
  if (outOfMemory_.exchange(false)) throw std::bad_alloc();
}

/** Every team_-th part from `first` on. No exception may leave a worker, nor the master before the workers are done. */
void Pool::runShare(int64_t first) {
  try {
    for (int64_t part = first; part < parts_; part += team_) task_(context_, part);
  } catch (const std::bad_alloc&) {
    outOfMemory_.store(true);
  }
}

void Pool::work(int worker, uint32_t seen) {
  insidePart = true;
  for (;;) {
    if (!spinUntil([&] { return round_.load(std::memory_order_acquire) != seen; })) round_.wait(seen);
    if (round_.load(std::memory_order_acquire) == seen) continue;
    seen++;
    if (stop_) return;
    runShare(worker);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

void Pool::resize() {
  stop_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& t : workers_) t.join();
  workers_.clear();
  stop_ = false;
  const uint32_t round = round_.load();
  try {
    for (int i = 1; i < threads(); i++) workers_.emplace_back([this, i, round] { work(i, round); });
  } catch (const std::system_error&) {
    // The system gives no more threads: go on with those there are.
    wanted_.store(static_cast<int>(workers_.size()) + 1);
  }
}

char* Pool::scratch(int64_t bytes) {
  struct Block {
    char* data = nullptr;
    int64_t size = 0;
    ~Block() { ::operator delete(data, std::align_val_t(64)); }
  };
  thread_local Block block;
  if (block.size < bytes) {
    ::operator delete(block.data, std::align_val_t(64));
    block.data = nullptr;
    block.size = 0;
    block.data = static_cast<char*>(::operator new(static_cast<size_t>(bytes), std::align_val_t(64)));
    block.size = bytes;
  }
  return block.data;
}

}  // namespace tl

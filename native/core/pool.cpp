/**
 * The thread pool.
 *
 * A worker's state says who may touch it. A master claims an idle worker, offers it a job, and afterwards either takes
 * the offer back, if the worker has not woken up yet, or waits for it to finish. Every thread begins with a share of parts
 * that follow each other, so that what one instruction leaves in a cache is where the next one looks for it; who is done
 * takes parts from the ends of others' shares. So a worker that wakes late, or a processor that is busy elsewhere, costs
 * little. Workers that have just worked look for the next job for a while before they sleep, because instructions follow
 * each other closely.
 *
 * The system often wakes a worker on its master's processor, beside an idle one, and leaves it there for many milliseconds; then
 * two threads are slower than one. So a worker is kept off that processor while it is woken, and leaves it when it finds itself
 * there. It is tied to nothing: once awake it may run wherever it might before. Masters leave each other's processors in the same way.
 */
#include "pool.h"

#include <atomic>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace tl {
namespace {

constexpr int kMostWorkers = 255;
/** Rounds of waiting, some 50 ns each: with nothing running a worker soon sleeps, between two instructions it does not. */
constexpr int kIdleSpins = 400, kBusySpins = 4000, kSpinsPerYield = 32;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/** Waits for a condition without sleeping. */
template <class Condition>
bool spinUntil(int spins, const Condition& met) {
  for (int i = 0; i < spins; i++) {
    if (met()) return true;
    spin(i);
  }
  return false;
}

/** The bits of the floating-point control register that make numbers below the normal range count as zero. */
#if defined(__x86_64__)
constexpr uint64_t kFlush = 0x8040;  // flush to zero, denormals are zero
uint64_t control() { return __builtin_ia32_stmxcsr(); }
void setControl(uint64_t bits) { __builtin_ia32_ldmxcsr(static_cast<unsigned>(bits)); }
#elif defined(__aarch64__)
constexpr uint64_t kFlush = uint64_t{1} << 24;
uint64_t control() {
  uint64_t bits;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}
void setControl(uint64_t bits) { asm volatile("msr fpcr, %0" : : "r"(bits)); }
#else
constexpr uint64_t kFlush = 0;
uint64_t control() { return 0; }
void setControl(uint64_t) {}
#endif

/** The parts that a thread has still to begin, first and end in one word. */
class alignas(64) Share {
 public:
  void set(Range parts) { word_.store(wordOf(parts), std::memory_order_relaxed); }
  /** The first part, for the thread whose share it is; or -1. */
  int64_t takeFirst() {
    return take([](Range& r) { return r.begin++; });
  }
  /** The last part, for the others. */
  int64_t takeLast() {
    return take([](Range& r) { return --r.end; });
  }

 private:
  static uint64_t wordOf(Range r) { return static_cast<uint64_t>(r.begin) << 32 | static_cast<uint64_t>(r.end); }
  template <class Choose>
  int64_t take(Choose choose) {
    for (uint64_t seen = word_.load(std::memory_order_relaxed);;) {
      Range left = {static_cast<int64_t>(seen >> 32), static_cast<int64_t>(seen & 0xffffffff)};
      if (left.begin >= left.end) return -1;
      const int64_t part = choose(left);
      if (word_.compare_exchange_weak(seen, wordOf(left), std::memory_order_relaxed)) return part;
    }
  }

  std::atomic<uint64_t> word_{0};
};

struct Job {
  void (*task)(const void* context, int64_t part, int64_t seat);
  const void* context;
  /** One for every thread; the master has the first seat. */
  Share* shares;
  int64_t seats;
  std::atomic<bool> outOfMemory{false};

  int64_t next(int64_t seat) {
    int64_t part = shares[seat].takeFirst();
    for (int64_t i = 1; part < 0 && i < seats; i++) part = shares[(seat + i) % seats].takeLast();
    return part;
  }

  /** Runs parts until none is left. No exception may leave a worker, nor the master before the workers are done. */
  void work(int64_t seat) {
    try {
      for (int64_t part; (part = next(seat)) >= 0;) task(context, part, seat);
    } catch (const std::bad_alloc&) {
      outOfMemory.store(true, std::memory_order_relaxed);
    }
  }
};

#if defined(__linux__)
using ThreadId = pid_t;
using Processors = cpu_set_t;
ThreadId threadHere() { return static_cast<ThreadId>(syscall(SYS_gettid)); }
int processorHere() { return sched_getcpu(); }
void allow(ThreadId thread, const Processors& allowed) { sched_setaffinity(thread, sizeof(allowed), &allowed); }
/** Lets a thread run on all processors but one, if there are others; `before` is what it was allowed. */
bool keepOff(int processor, ThreadId thread, Processors& before) {
  if (processor < 0 || sched_getaffinity(thread, sizeof(before), &before) != 0) return false;
  Processors others = before;
  CPU_CLR(static_cast<size_t>(processor), &others);
  return CPU_COUNT(&others) > 0 && sched_setaffinity(thread, sizeof(others), &others) == 0;
}
#else
using ThreadId = int;
struct Processors {};
ThreadId threadHere() { return 0; }
int processorHere() { return -1; }
void allow(ThreadId, const Processors&) {}
bool keepOff(int, ThreadId, Processors&) { return false; }
#endif

enum State : int { idle, claimed, offered, running, finished };

struct alignas(64) Worker {
  std::atomic<int> state{idle};
  /** How often it was offered a job; this wakes it, since its state may be the old one again by the time that it looks. */
  std::atomic<uint32_t> offers{0};
  Job* job = nullptr;
  int64_t seat = 0;
  /** The processor of the master that offered the latest job. */
  std::atomic<int> beside{-1};
  ThreadId thread = 0;
  std::atomic<bool> asleep{false};
  /** Whether a master keeps the worker off its processor while it wakes, and what it was allowed before. */
  std::atomic<bool> keptOff{false};
  Processors allowed;
};

/** True while a thread is inside a part: parts of parts run where they are. */
thread_local bool insidePart = false;
/** The limit of the program that runs on this thread; 0 stands for all processors. */
thread_local int limit = 0;

Worker workers[kMostWorkers];
std::atomic<int> workerCount{0};
std::mutex growing;
/** Threads inside a RunScope. */
std::atomic<int> masters{0};
/** Workers that have a job, or are about to. */
std::atomic<int> busyWorkers{0};

/** Before a worker is woken: not to where its master is. */
void keepOffMaster(Worker& worker) {
  const int here = processorHere();
  worker.beside.store(here, std::memory_order_relaxed);
  if (!worker.asleep.load(std::memory_order_acquire) || worker.keptOff.load(std::memory_order_acquire)) return;
  if (keepOff(here, worker.thread, worker.allowed)) worker.keptOff.store(true, std::memory_order_release);
}

/** What a worker does once it is awake. */
void runAnywhere(Worker& self) {
  if (!self.keptOff.load(std::memory_order_acquire)) return;
  allow(self.thread, self.allowed);
  // The next master writes what is allowed, which has been read by then.
  self.keptOff.store(false, std::memory_order_release);
}

/** Moves a thread, the calling one, to another processor. */
void leave(int processor, ThreadId thread) {
  Processors before;
  if (keepOff(processor, thread, before)) allow(thread, before);
}

/** Before a worker begins a job. */
void leaveMaster(Worker& self) {
  const int here = processorHere();
  if (here == self.beside.load(std::memory_order_relaxed)) leave(here, self.thread);
}

/** The processors of masters, counted from one, and zero where there is no master. Others do not see one that finds no room here. */
constexpr int kMostPlaces = 16;
std::atomic<int> places[kMostPlaces];

/** Notes where a master is, once it has left a processor that another one has; gives the index of its place, or -1. */
int takePlace(bool isAlone) {
  int here = processorHere() + 1;
  if (!isAlone)
    for (const std::atomic<int>& other : places)
      if (other.load(std::memory_order_relaxed) == here) {
        leave(here - 1, threadHere());
        here = processorHere() + 1;
        break;
      }
  for (int i = 0; i < kMostPlaces; i++) {
    int nobody = 0;
    if (places[i].compare_exchange_strong(nobody, here, std::memory_order_relaxed)) return i;
  }
  return -1;
}

void work(Worker& self) {
  insidePart = true;
  setControl(control() | kFlush);
  self.thread = threadHere();
  for (;;) {
    const auto isOffered = [&] { return self.state.load(std::memory_order_acquire) == offered; };
    // A job may be done by the time its worker is awake; who then fell asleep at once would miss the next one too.
    while (!spinUntil(masters.load(std::memory_order_relaxed) > 0 ? kBusySpins : kIdleSpins, isOffered)) {
      const uint32_t seen = self.offers.load(std::memory_order_acquire);
      // An offer may have come and gone: asleep it would be kept off for long, and undo what others allow it meanwhile.
      runAnywhere(self);
      self.asleep.store(true, std::memory_order_release);
      if (!isOffered()) self.offers.wait(seen, std::memory_order_acquire);
      self.asleep.store(false, std::memory_order_relaxed);
      runAnywhere(self);
    }
    runAnywhere(self);
    leaveMaster(self);
    int expected = offered;
    if (!self.state.compare_exchange_strong(expected, running, std::memory_order_acq_rel)) continue;
    self.job->work(self.seat);
    self.state.store(finished, std::memory_order_release);
    self.state.notify_one();
  }
}

/** Makes sure that there are `count` workers, or as many as the system gives. */
void growTo(int count) {
  if (workerCount.load(std::memory_order_acquire) >= count) return;
  const std::lock_guard<std::mutex> lock(growing);
  try {
    for (int i = workerCount.load(); i < count; i++) {
      std::thread([i] { work(workers[i]); }).detach();
      workerCount.store(i + 1, std::memory_order_release);
    }
  } catch (const std::system_error&) {
    // The system gives no more threads: go on with those there are.
  }
}

bool claim(Worker& worker) {
  int expected = idle;
  return worker.state.compare_exchange_strong(expected, claimed, std::memory_order_acq_rel);
}

int countProcessors() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
  const int count = static_cast<int>(std::thread::hardware_concurrency());
  return count < 1 ? 1 : count;
}

}  // namespace

void spin(int round) {
  if (round % kSpinsPerYield == kSpinsPerYield - 1)
    std::this_thread::yield();
  else
    pause();
}

int processors() {
  static const int count = countProcessors();
  return count;
}

Pool& Pool::get() {
  static Pool pool;
  return pool;
}

int Pool::threads() const { return limit > 0 ? limit : processors(); }

int64_t Pool::parts(double work, double grain) const {
  if (insidePart) return 1;
  const double most = work / grain;
  const int64_t wanted = most < threads() ? static_cast<int64_t>(most) : threads();
  return wanted < 1 ? 1 : wanted;
}

void Pool::runParts(int64_t parts, int64_t seats, Task task, const void* context) {
  if (seats > threads()) seats = threads();
  if (seats > parts) seats = parts;
  if (insidePart || seats <= 1) {
    for (int64_t part = 0; part < parts; part++) task(context, part, 0);
    return;
  }
  const int others = processors() - masters.load(std::memory_order_relaxed);
  int64_t wanted = seats - 1;
  if (wanted > kMostWorkers) wanted = kMostWorkers;
  if (others > 0 && wanted > 0) growTo(static_cast<int>(wanted < processors() ? wanted : processors() - 1));
  Worker* team[kMostWorkers];
  int size = 0;
  const int count = workerCount.load(std::memory_order_acquire);
  for (int i = 0; i < count && size < wanted && busyWorkers.load(std::memory_order_relaxed) < others; i++) {
    Worker& worker = workers[i];
    if (!claim(worker)) continue;
    busyWorkers.fetch_add(1, std::memory_order_relaxed);
    team[size++] = &worker;
  }
  // They belong to the master: a worker may look into the share of one that has gone to another master meanwhile.
  thread_local Share shares[kMostWorkers + 1];
  Job job{task, context, shares, size + 1};
  for (int64_t seat = 0; seat <= size; seat++) shares[seat].set(rangeOf(seat, size + 1, parts));
  for (int i = 0; i < size; i++) {
    Worker& worker = *team[i];
    keepOffMaster(worker);
    worker.job = &job;
    worker.seat = i + 1;
    worker.state.store(offered, std::memory_order_release);
    worker.offers.fetch_add(1, std::memory_order_release);
    worker.offers.notify_one();
  }

  insidePart = true;
  job.work(0);
  insidePart = false;

  for (int i = 0; i < size; i++) {
    Worker& worker = *team[i];
    int expected = offered;
    if (!worker.state.compare_exchange_strong(expected, idle, std::memory_order_acq_rel)) {
      const auto isDone = [&] { return worker.state.load(std::memory_order_acquire) == finished; };
      if (!spinUntil(kBusySpins, isDone))
        while (!isDone()) worker.state.wait(running, std::memory_order_acquire);
      worker.state.store(idle, std::memory_order_release);
    }
    busyWorkers.fetch_sub(1, std::memory_order_relaxed);
  }
  if (job.outOfMemory.load(std::memory_order_relaxed)) throw std::bad_alloc();
}

namespace {

/** Memory that grows with what is asked of it. */
struct Block {
  char* data = nullptr;
  int64_t size = 0;

  ~Block() { ::operator delete(data, std::align_val_t(64)); }
  char* grownTo(int64_t bytes) {
    if (size < bytes) {
      ::operator delete(data, std::align_val_t(64));
      data = nullptr;
      size = 0;
      data = static_cast<char*>(::operator new(static_cast<size_t>(bytes), std::align_val_t(64)));
      size = bytes;
    }
#if defined(__SANITIZE_ADDRESS__)
    // What was asked for before does not excuse who uses more than asked for now.
    ASAN_UNPOISON_MEMORY_REGION(data, size);
    ASAN_POISON_MEMORY_REGION(data + bytes, size - bytes);
#endif
    return data;
  }
};

}  // namespace

/** Scratch memory, and that which parts share. */
struct Scratch {
  Block own, shared;
};

namespace {

/**
 * Scratch memory of programs that have run. The host runs programs on several threads, some side by side, and the next one on any of them:
 * memory that went with a thread would seldom be in the cache, and there would be more of it than programs run at a time.
 */
struct SpareScratch {
  std::mutex lock;
  std::vector<Scratch*> list;
  size_t made = 0;
};
SpareScratch& spareScratch() {
  static SpareScratch* const spare = new SpareScratch;  // threads may outlive what is destroyed at the end
  return *spare;
}

/** What the program that runs on this thread has, if there is one. */
thread_local Scratch* ofProgram = nullptr;

Scratch& scratchHere() {
  thread_local Scratch ofThread;
  return ofProgram ? *ofProgram : ofThread;
}

}  // namespace

char* Pool::scratch(int64_t bytes) { return scratchHere().own.grownTo(bytes); }
char* Pool::sharedScratch(int64_t bytes) { return scratchHere().shared.grownTo(bytes); }

FlushScope::FlushScope() : outer_(control()) { setControl(outer_ | kFlush); }
FlushScope::~FlushScope() { setControl(outer_); }

RunScope::RunScope(int threads) : outerLimit_(limit), outerScratch_(ofProgram) {
  SpareScratch& spare = spareScratch();
  {
    const std::lock_guard<std::mutex> lock(spare.lock);
    if (spare.list.empty()) {
      spare.list.reserve(spare.made + 1);  // so that giving it back needs no memory
      spare.list.push_back(new Scratch);
      spare.made++;
    }
    ofProgram = spare.list.back();
    spare.list.pop_back();
  }
  limit = threads;
  const bool isAlone = masters.fetch_add(1, std::memory_order_relaxed) == 0;
  place_ = takePlace(isAlone);
}

RunScope::~RunScope() {
  if (place_ >= 0) places[place_].store(0, std::memory_order_relaxed);
  masters.fetch_sub(1, std::memory_order_relaxed);
  limit = outerLimit_;
  SpareScratch& spare = spareScratch();
  const std::lock_guard<std::mutex> lock(spare.lock);
  spare.list.push_back(ofProgram);
  ofProgram = outerScratch_;
}

}  // namespace tl

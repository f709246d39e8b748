#include "chain.h"

#include <algorithm>
#include <atomic>
#include <numeric>

namespace tl {
namespace {

/** Multiply-adds that pay for waking another thread, and those of a chain at most: somebody may wait for a program to pause. */
constexpr double kGrain = 900e3, kMostProducts = 100e6;
/** Rows of a part at least where there are enough: with fewer, products read their second factor more often than they need to. */
constexpr int64_t kPartRows = 32;

struct Bytes {
  int64_t begin, end;
};
/** All that is touched, by all rows. */
Bytes allOf(const RowBytes& x, int64_t rows) {
  const int64_t way = x.step * (rows - 1);
  return {x.begin + std::min<int64_t>(way, 0), x.end + std::max<int64_t>(way, 0)};
}

/** Whether a row of an earlier instruction may touch what another row of a later one does, where one of them writes. */
bool meet(const RowBytes& x, const RowBytes& y, int64_t rows) {
  if (y.isLate || (!x.isWritten && !y.isWritten)) return false;
  if (x.slot != y.slot) return x.storage == y.storage;
  const Bytes all = allOf(x, rows), others = allOf(y, rows);
  if (all.end <= others.begin || others.end <= all.begin) return false;
  // Rows lie side by side in the same places.
  return x.step != y.step || std::max(x.end, y.end) - std::min(x.begin, y.begin) > x.step;
}

/** The bytes of a view's elements from dim `first` on, those before it being at their first point. */
RowBytes bytesFrom(size_t first, const View& v, bool isWritten) {
  const int64_t size = sizeOf(v.dtype);
  RowBytes x = {v.slot, v.storage, v.offset, v.offset + size, 0, isWritten};
  for (size_t d = first; d < v.dims.size(); d++) {
    const int64_t reach = (v.dims[d] - 1) * v.strides[d] * size;
    (reach < 0 ? x.begin : x.end) += reach;
  }
  return x;
}

}  // namespace

RowBytes RowBytes::of(const View& v, bool isWritten) {
  RowBytes x = bytesFrom(1, v, isWritten);
  x.step = v.strides[0] * sizeOf(v.dtype);
  return x;
}

RowBytes RowBytes::shared(const View& v) {
  RowBytes x = bytesFrom(0, v, false);
  x.isEarly = true;
  return x;
}

RowBytes RowBytes::late(const View& v) {
  RowBytes x = bytesFrom(0, v, true);
  x.isLate = true;
  return x;
}

/** How far some of the rows are. */
struct alignas(64) Chain::Part {
  Range rows;
  /** Steps that are done, and whether a thread is at the next one. */
  std::atomic<int64_t> done{0};
  std::atomic<bool> isBusy{false};
};

Chain::Chain(const std::vector<RowWise*>& from) {
  if (from.empty() || !from[0] || from[0]->products() == 0) return;
  rows_ = from[0]->rows();
  for (RowWise* instruction : from)
    if (!instruction || !add(*instruction)) break;
}

bool Chain::add(RowWise& instruction) {
  Step step = {&instruction, {}, 0};
  const int64_t unit = instruction.unitOf(rows_, step.touched);
  if (unit == 0 || products_ + instruction.products() > kMostProducts) return false;
  for (size_t i = 0; i < steps_.size(); i++)
    for (const RowBytes& earlier : steps_[i].touched)
      for (const RowBytes& later : step.touched) {
        if (!meet(earlier, later, rows_)) continue;
        if (earlier.isLate || (later.isEarly && earlier.isWritten)) return false;
        step.needs = static_cast<int64_t>(i) + 1;
      }
  steps_.push_back(std::move(step));
  products_ += instruction.products();
  unit_ = std::lcm(unit_, unit);
  return true;
}

bool Chain::pays() const {
  const int64_t threads = Pool::get().threads();
  return threads > 1 && rows_ >= threads * unit_ && Pool::get().parts(products_, kGrain) == threads;
}

void Chain::run(void* const* table) {
  for (Step& step : steps_) step.instruction->prepareRows(table);
  // What is no whole unit goes with the last one: products of few rows are computed in another way, with other sums in the last bit.
  const int64_t threads = Pool::get().threads(), units = rows_ / unit_;
  const int64_t count = std::max(threads, Pool::finer(threads, std::min(units, rows_ / kPartRows)));
  std::vector<Part> parts(static_cast<size_t>(count));
  for (int64_t part = 0; part < count; part++) {
    const Range mine = rangeOf(part, count, units);
    parts[static_cast<size_t>(part)].rows = {mine.begin * unit_, part + 1 < count ? mine.end * unit_ : rows_};
  }
  Pool::get().run(count, [&](int64_t part) { runPart(table, parts, parts[static_cast<size_t>(part)]); });
  for (Step& step : steps_) step.instruction->finishRows(table);
}

bool Chain::runNext(void* const* table, std::vector<Part>& parts, Part& part) const {
  if (part.isBusy.exchange(true, std::memory_order_acquire)) return false;
  const int64_t at = part.done.load(std::memory_order_relaxed), end = static_cast<int64_t>(steps_.size());
  const bool runs = at < end && std::all_of(parts.begin(), parts.end(), [&](const Part& other) {
    return &other == &part || other.done.load(std::memory_order_acquire) >= steps_[static_cast<size_t>(at)].needs;
  });
  try {
    if (runs) steps_[static_cast<size_t>(at)].instruction->runRows(table, part.rows, rows_);
  } catch (...) {
    // Nobody shall wait for it.
    part.done.store(end, std::memory_order_release);
    part.isBusy.store(false, std::memory_order_release);
    throw;
  }
  if (runs) part.done.store(at + 1, std::memory_order_release);
  part.isBusy.store(false, std::memory_order_release);
  return runs;
}

void Chain::runPart(void* const* table, std::vector<Part>& parts, Part& mine) const {
  const int64_t end = static_cast<int64_t>(steps_.size());
  for (int waited = 0;; waited++) {
    const bool ran = runNext(table, parts, mine);
    const int64_t at = mine.done.load(std::memory_order_acquire);
    if (at >= end) return;
    if (ran) {
      waited = 0;
      continue;
    }
    // Who must wait for a part that no thread is at goes on with that one: there may be fewer threads than parts.
    bool helped = false;
    for (Part& other : parts)
      if (other.done.load(std::memory_order_acquire) < steps_[static_cast<size_t>(at)].needs) helped |= runNext(table, parts, other);
    if (!helped) spin(waited);
  }
}

}  // namespace tl

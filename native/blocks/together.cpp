/**
 * The `together` instruction: independent instructions, shared out among threads.
 *
 * An instruction that runs on one thread beside others costs less in all than one that is split among threads, but at
 * the end some threads may have nothing left to do. So the longest ones are split, as many of them as it takes for the
 * rest to come out even.
 */
#include <algorithm>

#include "../core/pool.h"
#include "../core/program.h"

namespace tl {
namespace {

/** Estimated nanoseconds that pay for waking another thread. */
constexpr double kGrain = 4e3;
/** What splitting an instruction costs, and how much of the time it takes it can at best divide. */
constexpr double kSplitting = 3e3, kSplitShare = 0.95;
/**
 * How much slower one of the threads is taken to be: the last processor is seldom ours alone. What is split is handed out in
 * small parts, of which a slow thread takes fewer.
 */
constexpr double kSlower = 1.25;

class Together final : public Instruction {
 public:
  explicit Together(Reader& in) {
    const int64_t count = in.word(1, 1 << 20, "step count");
    for (int64_t i = 0; i < count; i++) {
      const double cost = static_cast<double>(in.word());
      steps_.push_back({cost, decodeInstruction(in)});
      total_ += cost;
    }
    std::stable_sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.cost > b.cost; });
  }

  Failure run(void* const* table) override {
    const int threads = Pool::get().threads();
    const int64_t count = static_cast<int64_t>(steps_.size());
    if (threads != threads_) {
      threads_ = threads;
      split_ = threads == 1 || total_ < kGrain ? count : bestSplit();
    }
    for (int64_t i = 0; i < split_; i++) steps_[static_cast<size_t>(i)].instruction->run(table);
    Pool::get().run(count - split_, [&](int64_t part) {
      steps_[static_cast<size_t>(split_ + part)].instruction->run(table);
    });
    return {};
  }

 private:
  struct Step {
    double cost;
    InstructionPtr instruction;
  };

  /** How many steps to split: the number with the least estimated time. */
  int64_t bestSplit() const {
    int64_t best = 0;
    double least = 0, alone = 0;
    for (size_t split = 0; split <= steps_.size(); split++) {
      const double time = alone + longest(split);
      if (split == 0 || time < least) {
        least = time;
        best = static_cast<int64_t>(split);
      }
      if (split == steps_.size()) break;
      const double cost = steps_[split].cost;
      alone += std::min(cost, kSplitting + cost * (1 - kSplitShare) + cost * kSplitShare / (threads_ - 1 + 1 / kSlower));
    }
    return best;
  }

  /** The time until the last thread is done, when the steps from `first` on are handed out one by one. */
  double longest(size_t first) const {
    std::vector<double> busy(static_cast<size_t>(threads_), 0.0);
    for (size_t i = first; i < steps_.size(); i++) {
      const auto next = std::min_element(busy.begin(), busy.end());
      *next += steps_[i].cost * (next + 1 == busy.end() ? kSlower : 1);
    }
    return *std::max_element(busy.begin(), busy.end());
  }

  std::vector<Step> steps_;
  double total_ = 0;
  int threads_ = 0;
  int64_t split_ = 0;
};

}  // namespace

InstructionPtr decodeTogether(Reader& in) { return make<Together>(in); }

}  // namespace tl

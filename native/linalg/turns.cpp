#include "turns.h"

#include "../core/pool.h"

namespace tl {

void Turns::begin(int64_t first) {
  constexpr size_t kMany = 1 << 13;
  if (turns_.size() >= kMany) finish();
  starts_.push_back({first, static_cast<int64_t>(turns_.size())});
}

void Turns::finish() {
  std::vector<Sweep> sweeps;
  for (size_t i = 0; i < starts_.size(); i++) {
    const int64_t end = i + 1 < starts_.size() ? starts_[i + 1].turn : static_cast<int64_t>(turns_.size());
    sweeps.push_back({starts_[i].row, end - starts_[i].turn, turns_.data() + starts_[i].turn});
  }
  constexpr int64_t kStrip = 32;
  constexpr double kGrain = 400e3;
  const int64_t strips = (rows_.columns + kStrip - 1) / kStrip;
  const double work = static_cast<double>(turns_.size()) * static_cast<double>(rows_.columns);
  const int64_t parts = std::min(strips, Pool::get().parts(work, kGrain));
  Pool::get().run(parts, [&](int64_t part) {
    const Range range = rangeOf(part, parts, strips);
    simd().linalg.turnRows(sweeps.data(), static_cast<int64_t>(sweeps.size()), rows_.data, rows_.step, range.begin * kStrip,
                           std::min(rows_.columns, range.end * kStrip));
  });
  turns_.clear();
  starts_.clear();
}

}  // namespace tl

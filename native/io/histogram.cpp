/** @file Numbers counted by their size, for summaries. The TypeScript side explains the buckets and cells. */
#include <cmath>
#include <cstring>

#include "../tensorloom.h"

namespace {

enum Problem : int32_t { fine = 0, notANumber = 1, infinite = 2 };

struct Buckets {
  const double* limits;
  int64_t count;
  const uint16_t* cells;
  double* counts;
};

struct Statistics {
  double min, max, count, sum, sumOfSquares;
};

template <typename T>
int32_t collect(const T* values, int64_t size, const Buckets& buckets, Statistics& statistics) {
  Statistics s = statistics;
  for (int64_t i = 0; i < size; i++) {
    const double value = double(values[i]);
    if (!std::isfinite(value)) return std::isnan(value) ? notANumber : infinite;
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    int64_t bucket = buckets.cells[bits >> 48];
    while (bucket < buckets.count - 1 && buckets.limits[bucket] <= value) bucket++;
    buckets.counts[bucket] += 1;
    if (value < s.min) s.min = value;
    if (value > s.max) s.max = value;
    s.count += 1;
    s.sum += value;
    s.sumOfSquares += value * value;
  }
  statistics = s;
  return fine;
}

}  // namespace

/** Counts float32s (`kind` 0), float64s (1) or int32s (2); says what is wrong with the first that is not finite. */
TL_API int32_t tl_histogram(int32_t kind, int64_t values, int64_t size, int64_t limits, int64_t count, int64_t cells, int64_t counts,
                            int64_t statistics) {
  const Buckets buckets{reinterpret_cast<const double*>(limits), count, reinterpret_cast<const uint16_t*>(cells), reinterpret_cast<double*>(counts)};
  auto& s = *reinterpret_cast<Statistics*>(statistics);
  if (kind == 0) return collect(reinterpret_cast<const float*>(values), size, buckets, s);
  if (kind == 1) return collect(reinterpret_cast<const double*>(values), size, buckets, s);
  return collect(reinterpret_cast<const int32_t*>(values), size, buckets, s);
}

#include "fourier.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "../core/pool.h"
#include "../tensorloom.h"

namespace tl {
namespace {

constexpr long double kPi = 3.14159265358979323846264338327950288L;
/** Larger prime factors take longer than Bluestein's method, whose transforms are twice to four times as long. */
constexpr int64_t kLargestFactor = 13;

inline Wave operator+(Wave a, Wave b) { return {a.re + b.re, a.im + b.im}; }
inline Wave operator-(Wave a, Wave b) { return {a.re - b.re, a.im - b.im}; }
inline Wave operator*(Wave a, Wave b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
inline Wave conj(Wave a) { return {a.re, -a.im}; }
/** a times -i. */
inline Wave turned(Wave a) { return {a.im, -a.re}; }

/**
 * e^(-2 pi i k / n) for k below n. Sines take longer than transforms, so those of large angles are multiplied by those of small ones, with
 * some digits more where the processor has them.
 */
class Circle {
 public:
  explicit Circle(int64_t n) : side_(static_cast<int64_t>(std::sqrt(static_cast<double>(n))) + 1) {
    for (int64_t k = 0; k < side_; k++) {
      small_.push_back(at(k, n));
      large_.push_back(at(k * side_ % n, n));
    }
  }
  Wave operator[](int64_t k) const {
    const Exact a = large_[static_cast<size_t>(k / side_)], b = small_[static_cast<size_t>(k % side_)];
    return {static_cast<double>(a.re * b.re - a.im * b.im), static_cast<double>(a.re * b.im + a.im * b.re)};
  }

 private:
  struct Exact {
    long double re, im;
  };
  static Exact at(int64_t k, int64_t n) {
    const long double angle = -2 * kPi * static_cast<long double>(k) / static_cast<long double>(n);
    return {std::cos(angle), std::sin(angle)};
  }

  int64_t side_;
  std::vector<Exact> small_, large_;
};

std::vector<int64_t> factorsOf(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t f = 4; n > 1; f = f == 4 ? 2 : f == 2 ? 3 : f + 2) {
    if (f * f > n && f != 4 && f != 2) f = n;
    for (; n % f == 0; n /= f) factors.push_back(f);
  }
  return factors;
}

/** The transform of so many numbers, in place; of 2 and 4 it is known while compiling. */
template <int Known> inline void smallTransform(Wave* x, int64_t size, const std::vector<Wave>& circle) {
  if constexpr (Known == 2) {
    const Wave sum = x[0] + x[1];
    x[1] = x[0] - x[1];
    x[0] = sum;
  } else if constexpr (Known == 4) {
    const Wave even = x[0] + x[2], odd = x[1] + x[3], left = x[0] - x[2], right = turned(x[1] - x[3]);
    x[0] = even + odd;
    x[1] = left + right;
    x[2] = even - odd;
    x[3] = left - right;
  } else {
    const int64_t step = static_cast<int64_t>(circle.size()) / size;
    Wave sums[kLargestFactor];
    for (int64_t k = 0; k < size; k++) {
      sums[k] = x[0];
      for (int64_t j = 1; j < size; j++) sums[k] = sums[k] + x[j] * circle[static_cast<size_t>(j * k % size * step)];
    }
    std::copy(sums, sums + size, x);
  }
}

}  // namespace

FourierPlan::FourierPlan(int64_t length) : length_(length), factors_(factorsOf(length)) {
  isWhole_ = factors_.empty() || *std::max_element(factors_.begin(), factors_.end()) <= kLargestFactor;
  turns_.resize(static_cast<size_t>(length));
  // Half turns for Bluestein's method.
  const Circle circle(isWhole_ ? length : 2 * length);
  for (int64_t k = 0; k < length; k++) turns_[static_cast<size_t>(k)] = circle[isWhole_ ? k : k * k % (2 * length)];
  if (isWhole_) return;
  int64_t padded = 1;
  while (padded < 2 * length - 1) padded *= 2;
  inner_.emplace_back(padded);
  chirped_.resize(static_cast<size_t>(padded));
  for (int64_t k = 0; k < length; k++)
    chirped_[static_cast<size_t>(k)] = chirped_[static_cast<size_t>(k > 0 ? padded - k : 0)] = conj(turns_[static_cast<size_t>(k)]);
  std::vector<Wave> scratch(static_cast<size_t>(inner_[0].scratch()));
  inner_[0].run(chirped_.data(), scratch.data());
}

void FourierPlan::run(Wave* x, Wave* scratch) const {
  if (isWhole_) runFactors(x, scratch);
  else runChirp(x, scratch);
}

/**
 * A pass over `stride` interleaved transforms of what is left of the length: numbers that are a part of it away from each other are
 * transformed, and their results, turned, become neighbours of transforms that are so much shorter.
 */
template <int Known> void FourierPlan::pass(int64_t factor, int64_t part, int64_t stride, const Wave* from, Wave* to) const {
  const int64_t size = Known > 0 ? Known : factor;
  for (int64_t p = 0; p < part; p++) {
    Wave turns[kLargestFactor];
    for (int64_t k = 0; k < size; k++) turns[k] = turns_[static_cast<size_t>(p * k * stride)];
    const Wave* const in = from + stride * p;
    Wave* const out = to + stride * size * p;
    for (int64_t q = 0; q < stride; q++) {
      Wave x[kLargestFactor];
      for (int64_t j = 0; j < size; j++) x[j] = in[q + stride * part * j];
      smallTransform<Known>(x, size, turns_);
      for (int64_t k = 0; k < size; k++) out[q + stride * k] = k == 0 ? x[k] : x[k] * turns[k];
    }
  }
}

void FourierPlan::runFactors(Wave* x, Wave* scratch) const {
  Wave *from = x, *to = scratch;
  int64_t rest = length_, stride = 1;
  for (const int64_t factor : factors_) {
    rest /= factor;
    if (factor == 4) pass<4>(factor, rest, stride, from, to);
    else if (factor == 2) pass<2>(factor, rest, stride, from, to);
    else pass<0>(factor, rest, stride, from, to);
    stride *= factor;
    std::swap(from, to);
  }
  if (from != x) std::copy(from, from + length_, x);
}

void FourierPlan::runChirp(Wave* x, Wave* scratch) const {
  const int64_t n = length_, size = padded();
  Wave* const a = scratch;
  for (int64_t k = 0; k < n; k++) a[k] = x[k] * turns_[static_cast<size_t>(k)];
  std::fill(a + n, a + size, Wave{0, 0});
  inner_[0].run(a, scratch + size);
  // The inverse transform is that of the conjugates, conjugated.
  for (int64_t k = 0; k < size; k++) a[k] = conj(a[k] * chirped_[static_cast<size_t>(k)]);
  inner_[0].run(a, scratch + size);
  const double scale = 1 / static_cast<double>(size);
  for (int64_t k = 0; k < n; k++) x[k] = conj(a[k]) * Wave{scale, 0} * turns_[static_cast<size_t>(k)];
}

}  // namespace tl

/** Lines along the middle axis of data[outer][length][inner], complex numbers, in place; the inverse divides by the length. */
TL_API int64_t tl_fourier(int64_t threads, int64_t outer, int64_t length, int64_t inner, int64_t inverse, int64_t data) {
  using namespace tl;
  try {
    const RunScope scope(static_cast<int>(threads));
    const FourierPlan plan(length);
    const int64_t lines = outer * inner, each = length + plan.scratch();
    constexpr double kGrain = 50e3;
    const int64_t parts = std::min(lines, Pool::get().parts(static_cast<double>(lines) * static_cast<double>(length), kGrain));
    std::vector<Wave> memory(static_cast<size_t>(parts * each));
    const double scale = inverse ? 1 / static_cast<double>(length) : 1;
    Pool::get().run(parts, [&](int64_t part) {
      Wave* const line = memory.data() + part * each;
      const Range range = rangeOf(part, parts, lines);
      for (int64_t i = range.begin; i < range.end; i++) {
        Wave* const at = reinterpret_cast<Wave*>(data) + i / inner * length * inner + i % inner;
        // Swapping the parts before and after turns the transform into its inverse.
        for (int64_t k = 0; k < length; k++) line[k] = inverse ? Wave{at[k * inner].im, at[k * inner].re} : at[k * inner];
        plan.run(line, line + length);
        for (int64_t k = 0; k < length; k++)
          at[k * inner] = inverse ? Wave{line[k].im * scale, line[k].re * scale} : line[k];
      }
    });
    return 0;
  } catch (const std::bad_alloc&) {
    return 2;
  }
}

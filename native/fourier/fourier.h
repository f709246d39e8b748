/** Fourier transforms of complex numbers, for the ops of src/ops/math. */
#pragma once
#include <cstdint>
#include <vector>

namespace tl {

/** A complex number; the library's own checks every product for NaN. */
struct Wave {
  double re, im;
};

/**
 * How transforms of one length are computed. Lengths of small prime factors go factor by factor, each pass sorting as it goes (Stockham);
 * others by Bluestein's method, as a convolution with a chirp, for which they need transforms of a power of two.
 */
class FourierPlan {
 public:
  explicit FourierPlan(int64_t length);

  /** How many numbers of scratch memory a transform needs. */
  int64_t scratch() const { return isWhole_ ? length_ : 2 * padded(); }
  /** Transforms `x` in place; not by `length`, whichever way. */
  void run(Wave* x, Wave* scratch) const;

 private:
  void runFactors(Wave* x, Wave* scratch) const;
  template <int Known> void pass(int64_t factor, int64_t part, int64_t stride, const Wave* from, Wave* to) const;
  void runChirp(Wave* x, Wave* scratch) const;
  int64_t padded() const { return static_cast<int64_t>(chirped_.size()); }

  int64_t length_;
  /** Whether it goes by factors, and which. */
  bool isWhole_;
  std::vector<int64_t> factors_;
  /** e^(-2 pi i k / length), or for Bluestein's method e^(-pi i k^2 / length). */
  std::vector<Wave> turns_;
  /** The transform of the chirp, and how others of its length are computed: a plan or none. */
  std::vector<Wave> chirped_;
  std::vector<FourierPlan> inner_;
};

}  // namespace tl

/**
 * Measures the largest errors of the library's float32 functions over all float32 numbers, against double precision, for every
 * instruction set that this processor has: `accuracy LIBRARY README [FUNCTION [STEP]]`. Fails when one is larger than the README says.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "inverseErf.h"
#include "variants.h"

namespace {

/** How far a float32 result is from the true value, in units of the last place of that value. */
double errorOf(float got, double want) {
  constexpr double smallest = 0x1p-126, largest = 0x1p128;
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : INFINITY;
  if (std::signbit(got) != std::signbit(want)) return INFINITY;
  const double size = std::fabs(want);
  // Results below the normal range count as zero; the last normal number before it may become one.
  if (size < smallest) return std::fabs(got) <= smallest ? 0 : INFINITY;
  uint64_t bits;
  std::memcpy(&bits, &want, sizeof(bits));
  const uint64_t exponent = bits >> 52 & 2047;
  const double place = exponent > 1023 + 127 ? 0x1p104 : std::ldexp(1.0, static_cast<int>(exponent) - 1023 - 23);
  if (size >= largest - place / 2) return std::isinf(got) ? 0 : std::fabs(got) >= largest - place ? 1 : INFINITY;
  return std::fabs(got - want) / place;
}

struct Function {
  const char* name;
  double (*of)(double);
  /** Whether the C library computes it where products are rounded before they are added to. */
  bool isFused = false;
};
const Function functions[] = {
    {"exp", std::exp},
    {"log", std::log},
    {"log1p", std::log1p},
    {"expm1", std::expm1},
    {"tanh", std::tanh},
    {"sigmoid", [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }},
    {"erf", std::erf},
    {"sin", std::sin},
    {"cos", std::cos},
    {"sqrt", std::sqrt},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"reciprocal", [](double x) { return 1 / x; }},
    {"sinh", std::sinh, true},
    {"cosh", std::cosh, true},
    {"atanh", std::atanh, true},
    {"tan", std::tan, true},
    {"erfc", std::erfc, true},
    {"erfinv", [](double x) -> double { return erfinvBy<long double>(x, erfl, erfcl, expl); }, true},
    {"ndtri", [](double p) -> double { return ndtriBy<long double>(p, erfl, erfcl, expl); }, true},
    {"asin", std::asin, true},
    {"acos", std::acos, true},
    {"atan", std::atan, true},
};

bool isRight = true;

struct Worst {
  double error = 0, want = 0;
  float x = 0, y = 0, got = 0;
};
void report(const std::string& name, const char* variant, const Worst& worst, double bound) {
  const bool isWithin = worst.error <= bound;
  isRight = isRight && isWithin;
  std::printf("%-10s %-18s %.4f of %.2f%s, at %a %a: %a instead of %a\n", name.c_str(), variant, worst.error, bound,
              isWithin ? "" : " TOO LARGE", static_cast<double>(worst.x), static_cast<double>(worst.y), static_cast<double>(worst.got),
              worst.want);
  std::fflush(stdout);
}

void sweep(const std::vector<Variant>& variants, const Function& function, double bound, uint64_t step) {
  std::vector<float> x(kBlock), got(kBlock);
  std::vector<double> want(kBlock), wide(kBlock);
  std::vector<Worst> worst(2 * variants.size());
  std::vector<void*> programs;
  for (const Variant& variant : variants)
    for (const bool widened : {false, true}) {
      const bool isOurs = variant.isThere() && !(function.isFused && &variant == &variants[0]);
      programs.push_back(isOurs ? variant.program(function.name, 1, "f32", widened) : nullptr);
    }
  for (uint64_t bits = 0; bits >> 32 == 0;) {
    for (int64_t i = 0; i < kBlock; i++, bits += step) {
      const uint32_t word = static_cast<uint32_t>(bits >> 32 == 0 ? bits : 0);
      std::memcpy(&x[i], &word, sizeof(word));
      // Numbers below the normal range count as zero.
      want[i] = function.of(std::fabs(x[i]) < 0x1p-126f ? std::copysign(0.0f, x[i]) : x[i]);
    }
    for (size_t p = 0; p < programs.size(); p++) {
      if (!programs[p]) continue;
      const bool widened = p % 2 == 1;
      variants[p / 2].run(programs[p], {x.data(), widened ? static_cast<void*>(wide.data()) : got.data()});
      for (int64_t i = 0; i < kBlock; i++) {
        if (widened) got[i] = static_cast<float>(wide[i]);
        const double error = errorOf(got[i], want[i]);
        if (error > worst[p].error) worst[p] = {error, want[i], x[i], 0, got[i]};
      }
    }
  }
  for (size_t p = 0; p < programs.size(); p++)
    if (programs[p]) report(function.name, (std::string(kVariants[p / 2]) + (p % 2 ? ", alone" : "")).c_str(), worst[p], bound);
}

/** Pairs of coordinates of all lengths, and of like ones. */
void tryAngles(const std::vector<Variant>& variants, double bound, uint64_t step) {
  std::mt19937_64 random(13);
  std::vector<float> y(kBlock), x(kBlock), got(kBlock);
  std::vector<double> want(kBlock);
  for (size_t v = 1; v < variants.size(); v++) {
    if (!variants[v].isThere()) continue;
    void* const program = variants[v].program("atan2", 2, "f32", false);
    Worst worst;
    for (uint64_t round = 0; round < 8192 / step + 2; round++) {
      for (int64_t i = 0; i < kBlock; i++) {
        const uint64_t word = random();
        const uint32_t first = static_cast<uint32_t>(word), second = static_cast<uint32_t>(word >> 32);
        std::memcpy(&y[i], &first, sizeof(first));
        std::memcpy(&x[i], &second, sizeof(second));
        if (round % 2 == 1) x[i] = static_cast<float>(static_cast<int32_t>(first)), y[i] = static_cast<float>(static_cast<int32_t>(second));
        const auto normal = [](float value) { return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value; };
        want[i] = std::atan2(static_cast<double>(normal(y[i])), static_cast<double>(normal(x[i])));
      }
      variants[v].run(program, {y.data(), x.data(), got.data()});
      for (int64_t i = 0; i < kBlock; i++) {
        const double error = errorOf(got[i], want[i]);
        if (error > worst.error) worst = {error, want[i], y[i], x[i], got[i]};
      }
    }
    report("atan2", kVariants[v], worst, bound);
  }
}

/** Powers are too many to try all: random bases, also close to 1, with exponents whose results are not all 0 or infinite. */
void tryPowers(const std::vector<Variant>& variants, double bound, uint64_t step) {
  std::mt19937_64 random(7);
  std::vector<float> x(kBlock), y(kBlock), got(kBlock);
  std::vector<double> want(kBlock);
  for (size_t v = 0; v < variants.size(); v++) {
    if (!variants[v].isThere()) continue;
    void* const program = variants[v].program("pow", 2, "f32", false);
    Worst worst;
    for (uint64_t round = 0; round < 8192 / step + 3; round++) {
      for (int64_t i = 0; i < kBlock; i++) {
        const uint64_t word = random();
        const uint32_t bits = 0x00800000 + static_cast<uint32_t>(word % 0x7f000000u);
        std::memcpy(&x[i], &bits, sizeof(bits));
        if (round % 3 == 1) x[i] = 1 + static_cast<float>(static_cast<int>(word % 65536) - 32768) * 0x1p-17f;
        const double power = static_cast<double>(random() >> 11) * 0x1p-53 * 260 - 130;
        y[i] = static_cast<float>(power / std::log2(static_cast<double>(x[i])));
        if (round % 3 == 2) y[i] = static_cast<float>(static_cast<int>(word >> 40 & 15) - 8) / 2;
        want[i] = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
      }
      variants[v].run(program, {x.data(), y.data(), got.data()});
      for (int64_t i = 0; i < kBlock; i++) {
        const double error = errorOf(got[i], want[i]);
        if (error > worst.error) worst = {error, want[i], x[i], y[i], got[i]};
      }
    }
    report("pow", kVariants[v], worst, bound);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "accuracy LIBRARY README [FUNCTION [STEP]]\n"), 1;
  const std::string only = argc > 3 ? argv[3] : "all";
  const uint64_t step = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1;
  std::vector<Variant> variants;
  for (const char* name : kVariants) variants.emplace_back(argv[1], name);
  for (const Function& function : functions)
    if (only == "all" || only == function.name) sweep(variants, function, promised(argv[2], function.name, 0), step);
  if (only == "all" || only == "pow") tryPowers(variants, promised(argv[2], "pow", 0), step);
  if (only == "all" || only == "atan2") tryAngles(variants, promised(argv[2], "atan2", 0), step);
  return isRight ? 0 : 1;
}

/**
 * Measures the largest errors of the library's float64 functions on many numbers, against quadruple precision, for every instruction
 * set that this processor has: `accuracy64 LIBRARY README [FUNCTION [BLOCKS]]`. Fails when one is larger than the README says. The
 * portable instruction set is left out, where the C library computes all of them.
 */
#include <quadmath.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "inverseErf.h"
#include "variants.h"

namespace {

using Quad = __float128;

/** How far a float64 result is from the true value, in units of the last place of that value. */
double errorOf(double got, Quad want) {
  constexpr Quad largest = 0x1p1024Q;
  if (std::isnan(got) || isnanq(want)) return std::isnan(got) && isnanq(want) ? 0 : INFINITY;
  if (std::signbit(got) != static_cast<bool>(signbitq(want))) return INFINITY;
  const Quad size = fabsq(want);
  // Results below the normal range count as zero; the last normal number before it may become one.
  if (size < 0x1p-1022Q) return std::fabs(got) <= 0x1p-1022 ? 0 : INFINITY;
  int exponent;
  frexpq(size, &exponent);
  const Quad place = exponent > 1024 ? 0x1p971Q : ldexpq(1, exponent - 53);
  if (size >= largest - place / 2) return std::isinf(got) ? 0 : std::fabs(got) >= 0x1.fffffffffffffp1023 ? 1 : INFINITY;
  return static_cast<double>(fabsq(got - want) / place);
}

struct Function {
  const char* name;
  Quad (*of)(Quad);
};
const Function functions[] = {
    {"exp", expq},
    {"log", logq},
    {"log1p", log1pq},
    {"expm1", expm1q},
    {"tanh", tanhq},
    {"sigmoid", [](Quad x) { return x < 0 ? expq(x) / (1 + expq(x)) : 1 / (1 + expq(-x)); }},
    {"sinh", sinhq},
    {"cosh", coshq},
    {"atanh", atanhq},
    {"erf", erfq},
    {"erfc", erfcq},
    {"erfinv", [](Quad x) { return erfinvBy(x, erfq, erfcq, expq); }},
    {"ndtri", [](Quad p) { return ndtriBy(p, erfq, erfcq, expq); }},
    {"sin", sinq},
    {"cos", cosq},
    {"tan", tanq},
    {"asin", asinq},
    {"acos", acosq},
    {"atan", atanq},
};

/** Numbers where functions change their ways, beside those that are in other places already. */
const double places[] = {0.0,   0x1p-1022, 0x1p-54, 0x1p-27, 0.25,  0.34657359027997264, 0.4142135623730951, 0.5,      0.625, 0.7071067811865476,
                         1.0,   1.4142135623730951, 1.5707963267948966, 2.0, 2.414213562373095, 3.141592653589793, 6.0, 19.0, 20.0, 26.5,
                         27.0,  36.7,      40.0,    708.39,  709.0, 709.7,               709.78,             710.475,  745.0, 1647099.0,
                         0x1p53, 1e22,     1e300,   0x1.fffffffffffffp1023};

/** The next block of numbers: of all sizes, of usual sizes, and near the places above. */
void choose(std::mt19937_64& random, std::vector<double>& x) {
  for (int64_t i = 0; i < kBlock; i++) {
    const uint64_t word = random();
    const double unit = static_cast<double>(static_cast<int64_t>(word)) * 0x1p-63;
    switch (i % 8) {
      case 0: std::memcpy(&x[i], &word, sizeof(word)); break;
      case 1: case 2: x[i] = std::ldexp(1 + std::fabs(unit), static_cast<int>(random() % 80) - 64) * (word & 1 ? -1 : 1); break;
      case 3: x[i] = unit; break;
      case 4: x[i] = 1 + std::ldexp(unit, -static_cast<int>(random() % 40)); break;
      case 5: x[i] = unit * 8; break;
      case 6: x[i] = unit * (i % 16 < 8 ? 750 : 40); break;
      default: {
        const double place = places[random() % (sizeof(places) / sizeof(places[0]))];
        int64_t bits;
        std::memcpy(&bits, &place, sizeof(bits));
        bits = std::max<int64_t>(0, bits + static_cast<int64_t>(word >> (word & 1 ? 58 : 24)) % (1 << 30) - (word & 1 ? 32 : 1 << 29));
        std::memcpy(&x[i], &bits, sizeof(bits));
        if (word & 2) x[i] = -x[i];
      }
    }
  }
}

bool isRight = true;

struct Worst {
  double error = 0, x = 0, y = 0, got = 0;
  Quad want = 0;
  void take(double own, double atX, double atY, double given, Quad wanted) {
    if (own > error) *this = {own, atX, atY, given, wanted};
  }
};
void report(const std::string& name, const char* variant, const Worst& worst, double bound) {
  const bool isWithin = worst.error <= bound;
  isRight = isRight && isWithin;
  std::printf("%-10s %-10s %.4f of %.2f%s, at %a %a: %a instead of %a\n", name.c_str(), variant, worst.error, bound,
              isWithin ? "" : " TOO LARGE", worst.x, worst.y, worst.got, static_cast<double>(worst.want));
  std::fflush(stdout);
}

double normalOrZero(double x) { return std::fabs(x) < 0x1p-1022 ? std::copysign(0.0, x) : x; }

/** Pairs of coordinates of all lengths, and of like ones. */
void tryAngles(const std::vector<Variant>& variants, double bound, uint64_t blocks) {
  std::mt19937_64 random(13);
  std::vector<double> y(kBlock), x(kBlock), got(kBlock);
  std::vector<Worst> worst(variants.size());
  std::vector<void*> programs;
  for (const Variant& variant : variants) programs.push_back(variant.isThere() ? variant.program("atan2", 2, "f64", false) : nullptr);
  for (uint64_t block = 0; block < blocks; block++) {
    choose(random, y);
    choose(random, x);
    std::vector<Quad> want(kBlock);
    for (int64_t i = 0; i < kBlock; i++) {
      if (i % 3 == 0) x[i] = y[i] * (static_cast<double>(random() >> 11) * 0x1p-51 - 2);
      want[i] = atan2q(normalOrZero(y[i]), normalOrZero(x[i]));
    }
    for (size_t v = 0; v < variants.size(); v++) {
      if (!programs[v]) continue;
      variants[v].run(programs[v], {y.data(), x.data(), got.data()});
      for (int64_t i = 0; i < kBlock; i++) worst[v].take(errorOf(got[i], want[i]), y[i], x[i], got[i], want[i]);
    }
  }
  for (size_t v = 0; v < variants.size(); v++)
    if (programs[v]) report("atan2", kVariants[v + 1], worst[v], bound);
}

/** Bases of all sizes and close to 1, with powers of all sizes and some whose results are not all 0 or infinite; whole ones, too. */
void tryPowers(const std::vector<Variant>& variants, double bound, uint64_t blocks) {
  std::mt19937_64 random(17);
  std::vector<double> x(kBlock), y(kBlock), got(kBlock);
  std::vector<Quad> want(kBlock);
  std::vector<Worst> worst(variants.size());
  std::vector<void*> programs;
  for (const Variant& variant : variants) programs.push_back(variant.isThere() ? variant.program("pow", 2, "f64", false) : nullptr);
  for (uint64_t block = 0; block < blocks; block++) {
    choose(random, x);
    choose(random, y);
    for (int64_t i = 0; i < kBlock; i++) {
      const double most = 750 / std::fabs(std::log(std::fabs(x[i])));
      if (random() % 4 != 0 && std::isfinite(most)) y[i] = most * (static_cast<double>(random() >> 11) * 0x1p-52 - 1);
      if (random() % 4 == 0) y[i] = std::rint(y[i]);
      else if (random() % 4 != 0) x[i] = std::fabs(x[i]);
      // Signalling ones stay NaN even where a number does not matter.
      for (double* const number : {&x[i], &y[i]})
        if (std::isnan(*number)) *number = NAN;
      want[i] = powq(normalOrZero(x[i]), normalOrZero(y[i]));
    }
    for (size_t v = 0; v < variants.size(); v++) {
      if (!programs[v]) continue;
      variants[v].run(programs[v], {x.data(), y.data(), got.data()});
      for (int64_t i = 0; i < kBlock; i++) worst[v].take(errorOf(got[i], want[i]), x[i], y[i], got[i], want[i]);
    }
  }
  for (size_t v = 0; v < variants.size(); v++)
    if (programs[v]) report("pow", kVariants[v + 1], worst[v], bound);
}

void sweep(const std::vector<Variant>& variants, const Function& function, double bound, uint64_t blocks) {
  std::mt19937_64 random(11);
  std::vector<double> x(kBlock), got(kBlock);
  std::vector<Quad> want(kBlock);
  std::vector<Worst> worst(variants.size());
  std::vector<void*> programs;
  for (const Variant& variant : variants) programs.push_back(variant.isThere() ? variant.program(function.name, 1, "f64", false) : nullptr);
  for (uint64_t block = 0; block < blocks; block++) {
    choose(random, x);
    for (int64_t i = 0; i < kBlock; i++) want[i] = function.of(normalOrZero(x[i]));
    for (size_t v = 0; v < variants.size(); v++) {
      if (!programs[v]) continue;
      variants[v].run(programs[v], {x.data(), got.data()});
      for (int64_t i = 0; i < kBlock; i++) worst[v].take(errorOf(got[i], want[i]), x[i], 0, got[i], want[i]);
    }
  }
  for (size_t v = 0; v < variants.size(); v++)
    if (programs[v]) report(function.name, kVariants[v + 1], worst[v], bound);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "accuracy64 LIBRARY README [FUNCTION [BLOCKS]]\n"), 1;
  const std::string only = argc > 3 ? argv[3] : "all";
  const uint64_t blocks = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1600;
  std::vector<Variant> variants;
  for (const char* name : {kVariants[1], kVariants[2]}) variants.emplace_back(argv[1], name);
  for (const Function& function : functions)
    if (only == "all" || only == function.name) sweep(variants, function, promised(argv[2], function.name, 1), blocks);
  if (only == "all" || only == "atan2") tryAngles(variants, promised(argv[2], "atan2", 1), blocks);
  if (only == "all" || only == "pow") tryPowers(variants, promised(argv[2], "pow", 1), blocks);
  return isRight ? 0 : 1;
}

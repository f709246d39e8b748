/**
 * Pairs of normals from pairs of random words, by Box and Muller: bit for bit TensorFlow's on Linux.
 *
 * TensorFlow calls the C library's logf and sincosf. These compute in double precision with short polynomials whose error shows
 * in the float32 results, so that only the same polynomials give the same bits: those below are the GNU C library's since 2.28.
 * How the terms are rounded and whether they are contracted does not show: there are 2^23 arguments of each function, and
 * tools/normalCheck.cpp has tried them all in every variant.
 */
#include "../simd/vector.h"

namespace tl::TL_SIMD {
namespace {

constexpr int kPairs = kVectorBytes / 8;
using D = Vector<double, kPairs>;
using U = Vector<uint64_t, kPairs>;
using F = Vector<float, kPairs>;

TL_INLINE D all(double x) { return splat<D>(x); }
TL_INLINE F narrowed(D x) { return __builtin_convertvector(x, F); }

/** Intervals of a mantissa, from 0.69921875 to twice as much: the inverse of a number c in each, and log(c). */
constexpr int kIntervals = 16;
alignas(64) constexpr double kInverse[kIntervals] = {
    0x1.661ec79f8f3bep+0, 0x1.571ed4aaf883dp+0, 0x1.49539f0f010bp+0,  0x1.3c995b0b80385p+0, 0x1.30d190c8864a5p+0, 0x1.25e227b0b8eap+0,
    0x1.1bb4a4a1a343fp+0, 0x1.12358f08ae5bap+0, 0x1.0953f419900a7p+0, 0x1p+0,               0x1.e608cfd9a47acp-1, 0x1.ca4b31f026aap-1,
    0x1.b2036576afce6p-1, 0x1.9c2d163a1aa2dp-1, 0x1.886e6037841edp-1, 0x1.767dcf5534862p-1};
alignas(64) constexpr double kLogarithm[kIntervals] = {
    -0x1.57bf7808caadep-2, -0x1.2bef0a7c06ddbp-2, -0x1.01eae7f513a67p-2, -0x1.b31d8a68224e9p-3,
    -0x1.6574f0ac07758p-3, -0x1.1aa2bc79c81p-3,   -0x1.a4e76ce8c0e5ep-4, -0x1.1973c5a611cccp-4,
    -0x1.252f438e10c1ep-5, 0,                     0x1.aa5aa5df25984p-5,  0x1.c5e53aa362eb4p-4,
    0x1.526e57720db08p-3,  0x1.bc2860d22477p-3,   0x1.1058bc8a07ee1p-2,  0x1.4043057b6ee09p-2};

TL_INLINE D lookUp(const double (&table)[kIntervals], U index) {
#if defined(__AVX512F__) && !defined(__clang__)
  return __builtin_shuffle(loadVector<double, kPairs>(table), loadVector<double, kPairs>(table + kPairs), index);
#else
  D found;
  for (int i = 0; i < kPairs; i++) found[i] = table[index[i]];
  return found;
#endif
}

/** The lower 23 bits of every lane as a number of [0, 1). */
TL_INLINE D unit(U words) { return (D)((words & 0x7fffff) << 29 | 0x3ff0000000000000) - 1.0; }

/** logf(u) for the numbers that `unit` gives, and for what stands for 0 among them. */
TL_INLINE F logarithm(D u) {
  constexpr uint64_t kBegin = 0x3fe6600000000000, kExponent = 0xfff0000000000000, kBias = 1024;
  // u = 2^k z.
  const U bits = (U)u, from = bits - kBegin;
  const D z = (D)(bits - (from & kExponent));
  // Added to the bits of 1.5 * 2^52, a whole number becomes a float64.
  const D k = (D)(((from + (kBias << 52)) >> 52) + (0x4338000000000000 - kBias)) - 6755399441055744.0;
  const U interval = from >> 48 & (kIntervals - 1);
  const D r = z * lookUp(kInverse, interval) - 1.0, r2 = r * r;
  const D p = r2 * -0x1.00ea348b88334p-2 + (r * 0x1.5575b0be00b6ap-2 + -0x1.ffffef20a4123p-2);
  return narrowed(p * r2 + (k * 0x1.62e42fefa39efp-1 + lookUp(kLogarithm, interval) + r));
}

/** The radius for u: sqrt(-2 log(u)), rounded to float32 after every step. */
TL_INLINE F radius(D u) {
  float lanes[kPairs];
  storeVector<float, kPairs>(lanes, -2.0f * logarithm(u));
  for (float& lane : lanes) lane = sqrtOf(lane);
  return loadVector<float, kPairs>(lanes);
}

struct Turn {
  F sine, cosine;
};
/** sincosf(2 pi v) for v of [0, 1). */
TL_INLINE Turn turn(D v) {
  const D angle = __builtin_convertvector(narrowed(v * (2.0 * 3.14159265358979323846)), D);
  constexpr double kRounder = 6755399441055744.0;
  const D shifted = angle * 0x1.45f306dc9c883p-1 + kRounder;
  const D x = angle - (shifted - kRounder) * 0x1.921fb54442d18p+0, x2 = x * x, x3 = x2 * x, x4 = x2 * x2;
  const D s = (x + x3 * -0x1.555545995a603p-3) + x3 * x2 * (0x1.1107605230bc4p-7 + x2 * -0x1.994eb3774cf24p-13);
  const D c = ((1.0 + x2 * -0x1.ffffffd0c621cp-2) + x4 * 0x1.55553e1068f19p-5) +
              x4 * x2 * (-0x1.6c087e89a359dp-10 + x2 * 0x1.99343027bf8c3p-16);
  // Quarters of a turn: sine and cosine change places in every second one, and signs in two of four.
  const U quarter = (U)shifted;
  const auto isOdd = (quarter & 1) != 0;
  const U sineSign = (quarter & 2) << 62, cosineSign = ((quarter + 1) & 2) << 62;
  return {narrowed((D)((U)(isOdd ? c : s) ^ sineSign)), narrowed((D)((U)(isOdd ? s : c) ^ cosineSign))};
}

/** The pairs of one vector; the sine's normal comes first. */
TL_INLINE void somePairs(const uint32_t* words, float* out) {
  U x;
  __builtin_memcpy(&x, words, sizeof(x));
  // In memory the first word of a pair is the lower half of a lane.
  const D drawn = unit(x), u = drawn == 0.0 ? all(1.0e-7f) : drawn;
  const F r = radius(u);
  const Turn t = turn(unit(x >> 32));
  using Words = Vector<uint32_t, kPairs>;
  const U first = __builtin_convertvector((Words)(t.sine * r), U), second = __builtin_convertvector((Words)(t.cosine * r), U);
  const U pairs = first | second << 32;
  __builtin_memcpy(out, &pairs, sizeof(pairs));
}

void normals(int64_t pairs, const uint32_t* words, float* out) {
  int64_t i = 0;
  for (; i + kPairs <= pairs; i += kPairs) somePairs(words + 2 * i, out + 2 * i);
  if (i == pairs) return;
  const size_t left = static_cast<size_t>(pairs - i) * 8;
  uint32_t last[2 * kPairs] = {};
  float results[2 * kPairs];
  __builtin_memcpy(last, words + 2 * i, left);
  somePairs(last, results);
  __builtin_memcpy(out + 2 * i, results, left);
}

}  // namespace

void fillNormals(SimdKernels& k) { k.normals = normals; }

}  // namespace tl::TL_SIMD

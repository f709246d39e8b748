/** Implicit QR steps with shifts. Matrices are scaled to numbers of about 1 before, so nothing here overflows. */
#include "iterations.h"

namespace tl {
namespace {

/** (x, z) as (r, 0), turned back by c and s. */
struct Rotation {
  double c, s, r;
  Rotation(double x, double z) {
    r = std::sqrt(x * x + z * z);
    c = r == 0 ? 1 : x / r;
    s = r == 0 ? 0 : z / r;
  }
};

/** Each value takes about two steps; far more happen only to numbers that are not finite. */
constexpr int64_t kMostSteps = 60;

/** Where the last block that cannot be divided begins, which ends at `end`. */
template <class IsNegligible>
int64_t startOfBlock(std::vector<double>& beside, int64_t end, const IsNegligible& isNegligible) {
  int64_t start = end;
  while (start > 0 && !isNegligible(static_cast<size_t>(start - 1))) start--;
  if (start > 0) beside[static_cast<size_t>(start - 1)] = 0;
  return start;
}

/** The eigenvalue of the last two rows that is nearer to the last element. */
double shiftOf(double a, double b, double d) {
  const double half = (a - d) / 2;
  const double far = std::fabs(half) + std::sqrt(half * half + b * b);
  return far == 0 ? d : d - (half < 0 ? -1 : 1) * b * (b / far);
}

void stepTridiagonal(Diagonals& t, size_t start, size_t end, Turns* vectors) {
  double *d = t.main.data(), *e = t.beside.data();
  if (vectors) vectors->begin(static_cast<int64_t>(start));
  double x = d[start] - shiftOf(d[end - 1], e[end - 1], d[end]), z = e[start];
  for (size_t k = start; k < end; k++) {
    const Rotation turn(x, z);
    if (k > start) e[k - 1] = turn.r;
    const double change = turn.s * (d[k + 1] - d[k]) + 2 * turn.c * e[k];
    d[k] += turn.s * change;
    d[k + 1] -= turn.s * change;
    e[k] = turn.c * change - e[k];
    if (k + 1 < end) {
      x = e[k];
      z = turn.s * e[k + 1];
      e[k + 1] *= turn.c;
    }
    if (vectors) vectors->add(turn.c, turn.s);
  }
}

/** The smaller singular value of (a b; 0 d). */
double smallerOf(double a, double b, double d) {
  const double f = std::fabs(a), g = std::fabs(b), h = std::fabs(d), small = std::min(f, h), large = std::max(f, h);
  if (small == 0) return 0;
  if (g < large) {
    const double ratio = g / large, sum = 1 + small / large, gap = (large - small) / large;
    return small * 2 / (std::sqrt(sum * sum + ratio * ratio) + std::sqrt(gap * gap + ratio * ratio));
  }
  const double ratio = large / g;
  if (ratio == 0) return small * large / g;
  const double sum = (1 + small / large) * ratio, gap = (large - small) / large * ratio;
  return 2 * (small / (std::sqrt(1 + sum * sum) + std::sqrt(1 + gap * gap)) * ratio);
}

/** A step of Demmel and Kahan without a shift: it is exact where a number on the diagonal is zero, and leaves a zero beside the last one. */
void stepWithoutShift(Diagonals& b, size_t start, size_t end, Turns* left, Turns* right) {
  double *d = b.main.data(), *e = b.beside.data();
  double c = 1, oldC = 1, oldS = 0;
  for (size_t k = start; k < end; k++) {
    const Rotation first(d[k] * c, e[k]);
    if (k > start) e[k - 1] = oldS * first.r;
    const Rotation second(oldC * first.r, d[k + 1] * first.s);
    d[k] = second.r;
    c = first.c;
    oldC = second.c;
    oldS = second.s;
    if (right) right->add(first.c, first.s);
    if (left) left->add(second.c, second.s);
  }
  const double last = d[end] * c;
  d[end] = last * oldC;
  e[end - 1] = last * oldS;
}

void stepWithShift(Diagonals& b, size_t start, size_t end, double shift, Turns* left, Turns* right) {
  double *d = b.main.data(), *e = b.beside.data();
  double x = (std::fabs(d[start]) - shift) * ((d[start] < 0 ? -1 : 1) + shift / d[start]), z = e[start];
  for (size_t k = start; k < end; k++) {
    const Rotation first(x, z);
    if (k > start) e[k - 1] = first.r;
    x = first.c * d[k] + first.s * e[k];
    e[k] = first.c * e[k] - first.s * d[k];
    z = first.s * d[k + 1];
    d[k + 1] *= first.c;
    const Rotation second(x, z);
    d[k] = second.r;
    x = second.c * e[k] + second.s * d[k + 1];
    d[k + 1] = second.c * d[k + 1] - second.s * e[k];
    if (k + 1 < end) {
      z = second.s * e[k + 1];
      e[k + 1] *= second.c;
    }
    if (right) right->add(first.c, first.s);
    if (left) left->add(second.c, second.s);
  }
  e[end - 1] = x;
}

}  // namespace

void diagonalizeTridiagonal(Diagonals& t, Turns* vectors) {
  const auto isNegligible = [&](size_t i) {
    const double size = std::fabs(t.beside[i]);
    return size <= kEpsilon * (std::fabs(t.main[i]) + std::fabs(t.main[i + 1])) || size < std::numeric_limits<double>::min();
  };
  const int64_t n = static_cast<int64_t>(t.main.size());
  int64_t left = kMostSteps * n;
  for (int64_t end = n - 1; end > 0 && left > 0;) {
    const int64_t start = startOfBlock(t.beside, end, isNegligible);
    if (start == end) {
      end--;
      continue;
    }
    stepTridiagonal(t, static_cast<size_t>(start), static_cast<size_t>(end), vectors);
    left--;
  }
  if (vectors) vectors->finish();
}

void diagonalizeBidiagonal(Diagonals& b, Turns* left, Turns* right) {
  const int64_t n = static_cast<int64_t>(b.main.size());
  double largest = 0;
  for (const double x : b.main) largest = std::max(largest, std::fabs(x));
  for (const double x : b.beside) largest = std::max(largest, std::fabs(x));
  const double least = kEpsilon * largest;
  const auto isNegligible = [&](size_t i) {
    const double size = std::fabs(b.beside[i]);
    return size <= kEpsilon * (std::fabs(b.main[i]) + std::fabs(b.main[i + 1])) || size <= least;
  };
  int64_t steps = kMostSteps * n;
  for (int64_t last = n - 1; last > 0 && steps > 0;) {
    const int64_t first = startOfBlock(b.beside, last, isNegligible);
    if (first == last) {
      last--;
      continue;
    }
    const size_t start = static_cast<size_t>(first), end = static_cast<size_t>(last);
    bool hasZero = false;
    for (size_t i = start; i <= end; i++)
      if (std::fabs(b.main[i]) <= least) {
        b.main[i] = 0;
        hasZero = true;
      }
    const double shift = hasZero ? 0 : smallerOf(b.main[end - 1], b.beside[end - 1], b.main[end]);
    const double share = hasZero ? 0 : shift / std::fabs(b.main[start]);
    if (right) right->begin(first);
    if (left) left->begin(first);
    // A shift that changes nothing at the top of the block only costs exactness.
    if (share * share < kEpsilon) stepWithoutShift(b, start, end, left, right);
    else stepWithShift(b, start, end, shift, left, right);
    steps--;
  }
  if (left) left->finish();
  if (right) right->finish();
}

}  // namespace tl

/**
 * Products of many rows on the matrix unit, with a result larger than a cache: convolutions of one by one over large images.
 *
 * The second factor is packed once, and threads take some rows at a time. Where the result is larger than the first factor, the
 * product takes little longer than its result takes to be written: rows are then computed aside, where they stay in the cache, and
 * copied to their place from one end to the other, which memory likes better than columns of tiles.
 *
 * Rows of the result and the next rows of the first factor come from memory, and are fetched while the unit multiplies: the smaller
 * of them first, for there are not always as many multiplications as lines.
 */
#include <algorithm>
#include <cstring>

#include "tallProduct.h"

#include "../dot/method.h"

namespace tl {
namespace {

/** Rows that are computed together, and bytes of a result that is large. */
constexpr int64_t kRows = 64, kFarBytes = 1 << 20;
/** Bytes of a second factor that stays in the second cache. */
constexpr int64_t kNearBytes = 512 << 10;

int64_t stepsOf(const Gemm<float>& g) { return (g.k + kTileTerms - 1) / kTileTerms; }
int64_t packedBytes(const Gemm<float>& g) { return (g.n + kTileSide - 1) / kTileSide * stepsOf(g) * kPackedBytes; }

bool packColumns(const Gemm<float>& g, char* to) {
  constexpr int64_t side = 2 * kTileSide;
  const int64_t second = stepsOf(g) * kPackedBytes;
  bool finite = true;
  for (int64_t j = 0; j < g.n; j += side)
    for (int64_t p = 0; p < g.k; p += kTileTerms)
      finite &= simd().tiles.packRight(std::min(side, g.n - j), std::min(kTileTerms, g.k - p), g.b + j * g.bColumn + p * g.bRow,
                                       g.bColumn, g.bRow, to + j / kTileSide * second + p / kTileTerms * kPackedBytes, second);
  return finite;
}

/** What to fetch while the rows from `i` on are computed; says how much that is. */
int64_t followersOf(const Gemm<float>& g, int64_t i, Follower (&followers)[2]) {
  constexpr int64_t size = sizeof(float);
  const Follower result = {reinterpret_cast<const char*>(g.c + i * g.cRow), g.cRow * size, size};
  if (i + 2 * kRows > g.m || g.aColumn != 1) {
    followers[0] = result;
    return 1;
  }
  const Follower next = {reinterpret_cast<const char*>(g.a + (i + kRows) * g.aRow), g.aRow * size, (g.k * size + g.n - 1) / g.n};
  followers[0] = g.n > g.k ? next : result;
  followers[1] = g.n > g.k ? result : next;
  return 2;
}

}  // namespace

bool multiplyTall(const Gemm<float>& whole) {
  const int64_t resultBytes = whole.m * whole.n * static_cast<int64_t>(sizeof(float));
  if (!simd().tiles.gemm || whole.cColumn != 1 || resultBytes < kFarBytes || packedBytes(whole) > kNearBytes) return false;
  if (!simd().tiles.suitsPacked(whole.m, whole.n, whole.k)) return false;
  char* const packed = Pool::sharedScratch(packedBytes(whole));
  if (!packColumns(whole, packed)) return false;
  const double work = static_cast<double>(whole.m) * static_cast<double>(whole.n) * static_cast<double>(whole.k);
  const int64_t chunks = (whole.m + kRows - 1) / kRows, threads = Pool::get().parts(work, kTileGemmGrain);
  const int64_t parts = Pool::finer(threads, chunks), gemmBytes = roundUp(simd().tiles.gemmScratch(kRows, whole.n, whole.k));
  const bool goesAside = whole.n > whole.k;
  Pool::get().run(parts, [&](int64_t part) {
    char* const scratch = Pool::scratch(gemmBytes + (goesAside ? kRows * whole.n * static_cast<int64_t>(sizeof(float)) : 0));
    float* const aside = reinterpret_cast<float*>(scratch + gemmBytes);
    const Range mine = rangeOf(part, parts, chunks);
    for (int64_t i = mine.begin * kRows; i < std::min(mine.end * kRows, whole.m); i += kRows) {
      Gemm<float> g = whole;
      g.m = std::min(kRows, whole.m - i);
      g.a += i * g.aRow;
      g.packedB = packed;
      g.c = goesAside ? aside : whole.c + i * whole.cRow;
      if (goesAside) g.cRow = g.n;
      Follower followers[2];
      g.followers = followers;
      g.followerCount = followersOf(whole, i, followers);
      simd().tiles.gemm(g, scratch, multiplyAside);
      if (!goesAside) continue;
      const bool follow = whole.cRow == whole.n;
      const int64_t rows = follow ? 1 : g.m, length = follow ? g.m * g.n : g.n;
      for (int64_t r = 0; r < rows; r++)
        std::memcpy(whole.c + (i + r) * whole.cRow, aside + r * g.n, static_cast<size_t>(length) * sizeof(float));
    }
  }, threads);
  return true;
}

}  // namespace tl

/** The kernels of the matrix unit that convolutions are made of. */
#include "pack.h"

namespace tl::TL_SIMD {
namespace {

void configure(int64_t rows) { TileShapes(rows).load(); }
void release() { asm volatile("tilerelease"); }

bool packRows(int64_t rows, int64_t terms, const float* from, int64_t rowStep, int64_t termStep, char* to, int64_t second) {
  Watch watch;
  for (int64_t r = 0; r < rows; r += kTileSide, from += kTileSide * rowStep, to += second)
    packLeft(rows - r < kTileSide ? rows - r : kTileSide, terms, {from, rowStep, termStep}, to, watch);
  return watch.isFinite();
}

bool packColumns(int64_t columns, int64_t terms, const float* from, int64_t columnStep, int64_t termStep, char* to, int64_t second) {
  Watch watch;
  packRight(columns, terms, {from, columnStep, termStep}, to, second, watch);
  return watch.isFinite();
}

bool packPairs(int64_t columns, const float* const* terms, char* to, int64_t level) {
  Watch watch;
  const LaneMask mask = firstLanes(columns);
  for (int64_t t = 0; t < kTileSide; t++)
    splitPair(loadLanes(terms[2 * t], mask), loadLanes(terms[2 * t + 1], mask), to + t * 64, level, watch);
  return watch.isFinite();
}

bool packTurned(int64_t columns, const float* const* terms, char* to) {
  using Corner = Square<4>;
  Watch watch;
  const LaneMask mask = firstLanes(columns);
  alignas(64) float turned[2][kTileSide * kTileSide];
  for (int64_t odd = 0; odd < 2; odd++) {
    typename Corner::Vector lines[kTileSide];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kTileSide; i++) lines[i] = (typename Corner::Vector)loadLanes(terms[2 * i + odd], mask);
    Corner::turn(lines);
#pragma GCC unroll 16
    for (int64_t i = 0; i < kTileSide; i++) storeVector(turned[odd] + i * kTileSide, (Floats)lines[i]);
  }
  for (int64_t r = 0; r < kTileSide; r++)
    splitPair(loadVector(turned[0] + r * kTileSide), loadVector(turned[1] + r * kTileSide), to + r * 64, kTileBytes, watch);
  return watch.isFinite();
}

bool splitPixels(int64_t pixels, int64_t channels, const float* from, int64_t step, char* to, int64_t pixelBytes,
                 int64_t level) {
  Watch watch;
  const int64_t whole = channels / kTileTerms * kTileTerms, left = channels - whole;
  const LaneMask first = firstLanes(left), second = firstLanes(left > kTileSide ? left - kTileSide : 0);
  for (int64_t i = 0; i < pixels; i++, from += step, to += pixelBytes) {
    for (int64_t c = 0; c < whole; c += kTileTerms)
      splitPair(loadVector(from + c), loadVector(from + c + kTileSide), to + c * 2, level, watch);
    if (left == 0) continue;
    const Floats y = left > kTileSide ? loadLanes(from + whole + kTileSide, second) : Floats{};
    splitPair(loadLanes(from + whole, first), y, to + whole * 2, level, watch);
  }
  return watch.isFinite();
}

}  // namespace

void fillTiles(SimdKernels& k) {
  k.tiles.begin = configure;
  k.tiles.end = release;
  k.tiles.multiply = multiplyTiles;
  k.tiles.packLeft = packRows;
  k.tiles.packRight = packColumns;
  k.tiles.packPairs = packPairs;
  k.tiles.splitPixels = splitPixels;
  k.tiles.packTurned = packTurned;
}

}  // namespace tl::TL_SIMD

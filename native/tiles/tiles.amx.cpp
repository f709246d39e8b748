/** The kernels of the matrix unit that convolutions are made of. */
#include "pack.h"

namespace tl::TL_SIMD {
namespace {

void configure() { TileShapes().load(); }
void release() { asm volatile("tilerelease"); }

bool packColumns(int64_t columns, int64_t terms, const float* from, int64_t columnStep, int64_t termStep, char* to) {
  Watch watch;
  packRight(columns, terms, {from, columnStep, termStep}, to, watch);
  return watch.isFinite();
}

bool packPairs(int64_t columns, const float* const* terms, char* to) {
  Watch watch;
  const LaneMask mask = firstLanes(columns);
  for (int64_t t = 0; t < kTileSide; t++)
    splitPair(loadLanes(terms[2 * t], mask), loadLanes(terms[2 * t + 1], mask), to + t * 64, kTileBytes, watch);
  return watch.isFinite();
}

bool splitPixels(int64_t pixels, int64_t channels, const float* from, int64_t step, char* to, int64_t pixelBytes,
                 int64_t level) {
  Watch watch;
  for (int64_t i = 0; i < pixels; i++, from += step, to += pixelBytes)
    for (int64_t c = 0; c < channels; c += kTileTerms) {
      const int64_t left = channels - c;
      const Floats x = loadLanes(from + c, firstLanes(left));
      const Floats y = left > kTileSide ? loadLanes(from + c + kTileSide, firstLanes(left - kTileSide)) : Floats{};
      splitPair(x, y, to + c * 2, level, watch);
    }
  return watch.isFinite();
}

bool splitChannels(int64_t pixels, int64_t channels, const float* from, int64_t step, char* to, int64_t rowBytes,
                   int64_t level) {
  Watch watch;
  alignas(64) float even[kTileSide * kTileSide], odd[kTileSide * kTileSide];
  for (int64_t i = 0; i < pixels; i += kTileTerms)
    for (int64_t c = 0; c < channels; c += kTileSide) {
      const int64_t left = pixels - i, lanes = channels - c;
      const float* const at = from + i * step + c;
      turnBlock<kTileSide>((left + 1) / 2, lanes, at, 2 * step, even);
      turnBlock<kTileSide>(left / 2, lanes, at + step, 2 * step, odd);
      for (int64_t r = 0; r < kTileSide && r < lanes; r++)
        splitPair(loadVector(even + r * kTileSide), loadVector(odd + r * kTileSide), to + (c + r) * rowBytes + i * 2, level, watch);
    }
  return watch.isFinite();
}

}  // namespace

void fillTiles(SimdKernels& k) {
  k.tiles.begin = configure;
  k.tiles.end = release;
  k.tiles.multiply = multiplyTiles;
  k.tiles.packRight = packColumns;
  k.tiles.packPairs = packPairs;
  k.tiles.splitPixels = splitPixels;
  k.tiles.splitChannels = splitChannels;
}

}  // namespace tl::TL_SIMD

/** Pixels of BMP files, whose header TypeScript has read and checked. */
#include "image.h"

namespace {

/** Colours stand as blue, green, red; a grey is all three of them. */
template <int own, int wanted>
void row(const uint8_t* from, uint8_t* to, int64_t width) {
  for (int64_t x = 0; x < width; x++, from += own, to += wanted) {
    if constexpr (wanted == 1) {
      to[0] = from[0];
    } else {
      to[0] = from[own == 1 ? 0 : 2];
      to[1] = from[own == 1 ? 0 : 1];
      to[2] = from[0];
      if constexpr (wanted == 4) to[3] = own == 4 ? from[3] : 255;
    }
  }
}

template <int own>
void rowOf(int wanted, const uint8_t* from, uint8_t* to, int64_t width) {
  if (wanted == 1) row<own, 1>(from, to, width);
  else if (wanted == 3) row<own, 3>(from, to, width);
  else row<own, 4>(from, to, width);
}

}  // namespace

int32_t tl_bmp_decode(int64_t pixels, int64_t rowBytes, int32_t own, int32_t wanted, int64_t width, int64_t height, int64_t out) {
  const auto* from = reinterpret_cast<const uint8_t*>(pixels);
  auto* to = reinterpret_cast<uint8_t*>(out);
  // A height below zero says that the first row is the top one.
  const int64_t rows = height < 0 ? -height : height;
  for (int64_t y = 0; y < rows; y++, to += width * wanted) {
    const uint8_t* line = from + (height < 0 ? y : rows - 1 - y) * rowBytes;
    if (own == 1) rowOf<1>(wanted, line, to, width);
    else if (own == 3) rowOf<3>(wanted, line, to, width);
    else rowOf<4>(wanted, line, to, width);
  }
  return imageFine;
}

/** From the planes of components to pixels: stretching with libjpeg's rounding, and colours. */
#include <cstring>

#include "jpeg.h"

namespace jpeg {
namespace {

void fancyAcross(const uint8_t* in, size_t width, uint8_t* row) {
  row[0] = in[0];
  row[1] = uint8_t((in[0] * 3 + in[1] + 2) >> 2);
  for (size_t x = 1; x + 1 < width; x++) {
    const int here = in[x] * 3;
    row[2 * x] = uint8_t((here + in[x - 1] + 1) >> 2);
    row[2 * x + 1] = uint8_t((here + in[x + 1] + 2) >> 2);
  }
  row[2 * width - 2] = uint8_t((in[width - 1] * 3 + in[width - 2] + 1) >> 2);
  row[2 * width - 1] = in[width - 1];
}

void fancyBoth(const uint8_t* here, const uint8_t* near, size_t width, uint8_t* row) {
  int before, sum = here[0] * 3 + near[0], next = here[1] * 3 + near[1];
  row[0] = uint8_t((sum * 4 + 8) >> 4);
  row[1] = uint8_t((sum * 3 + next + 7) >> 4);
  for (size_t x = 1; x + 1 < width; x++) {
    before = sum;
    sum = next;
    next = here[x + 1] * 3 + near[x + 1];
    row[2 * x] = uint8_t((sum * 3 + before + 8) >> 4);
    row[2 * x + 1] = uint8_t((sum * 3 + next + 7) >> 4);
  }
  row[2 * width - 2] = uint8_t((next * 3 + sum + 8) >> 4);
  row[2 * width - 1] = uint8_t((next * 4 + 7) >> 4);
}

struct ColourTables {
  int red[256], blue[256], greenOfCr[256], greenOfCb[256];
  /** Clamps sums from -256 to 767. */
  uint8_t limit[1024];
  ColourTables() {
    for (int i = 0; i < 256; i++) {
      red[i] = (91881 * (i - 128) + 32768) >> 16;
      blue[i] = (116130 * (i - 128) + 32768) >> 16;
      greenOfCr[i] = -46802 * (i - 128);
      greenOfCb[i] = -22554 * (i - 128) + 32768;
    }
    for (int i = 0; i < 1024; i++) limit[i] = uint8_t(i < 256 ? 0 : i > 511 ? 255 : i - 256);
  }
};
const ColourTables& tables() {
  static const ColourTables made;
  return made;
}

}  // namespace

void readRow(const Component& c, size_t y, size_t width, bool fancy, uint8_t* row) {
  const uint8_t* plane = c.plane.get();
  if (c.across == 1 && c.down == 1) {
    memcpy(row, plane + y * c.stride, width);
  } else if (fancy && c.across == 2 && c.down == 1 && c.width > 2) {
    fancyAcross(plane + y * c.stride, c.width, row);
  } else if (fancy && c.down == 2 && (c.across == 1 || (c.across == 2 && c.width > 2))) {
    const size_t here = y >> 1;
    size_t near = y & 1 ? here + 1 : here == 0 ? 0 : here - 1;
    if (near >= c.height) near = c.height - 1;
    const uint8_t *a = plane + here * c.stride, *b = plane + near * c.stride;
    if (c.across == 2) fancyBoth(a, b, c.width, row);
    else
      for (size_t x = 0; x < width; x++) row[x] = uint8_t((a[x] * 3 + b[x] + (y & 1 ? 2 : 1)) >> 2);
  } else {
    const uint8_t* from = plane + y / size_t(c.down) * c.stride;
    for (size_t x = 0; x < width; x++) row[x] = from[x / size_t(c.across)];
  }
}

void convertRow(Space space, int channels, bool inverted, uint8_t* const* rows, uint8_t* out, size_t width) {
  const uint8_t *a = rows[0], *b = rows[1], *c = rows[2], *k = rows[3];
  if (channels == 1) {
    if (space != Space::RGB) memcpy(out, a, width);
    else
      for (size_t x = 0; x < width; x++) out[x] = uint8_t((19595 * a[x] + 38470 * b[x] + 7471 * c[x] + 32768) >> 16);
    return;
  }
  const ColourTables& t = tables();
  const uint8_t* limit = t.limit + 256;
  if (space == Space::YCbCr) {
    for (size_t x = 0; x < width; x++, out += 3) {
      const int luma = a[x], cb = b[x], cr = c[x];
      out[0] = limit[luma + t.red[cr]];
      out[1] = limit[luma + ((t.greenOfCb[cb] + t.greenOfCr[cr]) >> 16)];
      out[2] = limit[luma + t.blue[cb]];
    }
    return;
  }
  for (size_t x = 0; x < width; x++, out += 3) {
    int red = a[x], green = red, blue = red;
    if (space == Space::RGB || space == Space::CMYK) {
      green = b[x];
      blue = c[x];
    } else if (space == Space::YCCK) {
      const int luma = red, cb = b[x], cr = c[x];
      red = 255 - limit[luma + t.red[cr]];
      green = 255 - limit[luma + ((t.greenOfCb[cb] + t.greenOfCr[cr]) >> 16)];
      blue = 255 - limit[luma + t.blue[cb]];
    }
    if (k) {
      const int black = k[x];
      const auto ink = [&](int value) { return inverted ? black * value / 255 : (255 - black) * (255 - value) / 255; };
      red = ink(red);
      green = ink(green);
      blue = ink(blue);
    }
    out[0] = uint8_t(red);
    out[1] = uint8_t(green);
    out[2] = uint8_t(blue);
  }
}

}  // namespace jpeg

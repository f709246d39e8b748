/** From the planes of components to pixels: stretching with libjpeg's rounding, and colours. */
#include <cstring>

#include "jpeg.h"
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <tmmintrin.h>
#define TL_SHUFFLES __attribute__((target("ssse3")))
#endif

namespace jpeg {

const int8_t pixelPlaces[3][3][16] = {
    {{0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5},
     {-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1},
     {-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1}},
    {{-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1},
     {5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10},
     {-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1}},
    {{-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1},
     {-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1},
     {10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15}},
};

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
  size_t x = stretchWide(here, near, width, row);
#ifdef TL_SHUFFLES
  const __m128i zero = _mm_setzero_si128(), three = _mm_set1_epi16(3);
  const auto wide = [&](const uint8_t* at) {
    return _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)), zero);
  };
  const auto sums = [&](size_t at) { return _mm_add_epi16(_mm_mullo_epi16(wide(here + at), three), wide(near + at)); };
  for (; x + 9 <= width; x += 8) {
    const __m128i most = _mm_mullo_epi16(sums(x), three);
    const __m128i even = _mm_srli_epi16(_mm_add_epi16(_mm_add_epi16(most, sums(x - 1)), _mm_set1_epi16(8)), 4);
    const __m128i odd = _mm_srli_epi16(_mm_add_epi16(_mm_add_epi16(most, sums(x + 1)), _mm_set1_epi16(7)), 4);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(row + 2 * x), _mm_or_si128(even, _mm_slli_epi16(odd, 8)));
  }
  sum = here[x - 1] * 3 + near[x - 1];
  next = here[x] * 3 + near[x];
#endif
  for (; x + 1 < width; x++) {
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

#ifdef TL_SHUFFLES

/** Three registers with 16 samples each become 16 pixels. */
TL_SHUFFLES inline void storePixels(__m128i red, __m128i green, __m128i blue, uint8_t* out) {
  for (int part = 0; part < 3; part++) {
    const auto from = [&](__m128i samples, int channel) TL_SHUFFLES {
      return _mm_shuffle_epi8(samples, _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixelPlaces[part][channel])));
    };
    const __m128i pixels = _mm_or_si128(_mm_or_si128(from(red, 0), from(green, 1)), from(blue, 2));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * part), pixels);
  }
}

/** The three channels of eight pixels, as the tables have them; factors that need 17 bits are taken apart. */
TL_SHUFFLES inline void colours(__m128i luma, __m128i cb, __m128i cr, __m128i& red, __m128i& green, __m128i& blue) {
  const __m128i middle = _mm_set1_epi16(128), one = _mm_set1_epi16(1);
  cb = _mm_sub_epi16(cb, middle);
  cr = _mm_sub_epi16(cr, middle);
  // x * factor / 65536, rounded: twice as much without its last bits, plus one, halved.
  const auto times = [&](__m128i x, int factor) TL_SHUFFLES {
    const __m128i twice = _mm_mulhi_epi16(_mm_add_epi16(x, x), _mm_set1_epi16(short(factor)));
    return _mm_srai_epi16(_mm_add_epi16(twice, one), 1);
  };
  red = _mm_add_epi16(luma, _mm_add_epi16(cr, times(cr, 91881 - 65536)));
  blue = _mm_add_epi16(luma, _mm_add_epi16(_mm_add_epi16(cb, cb), times(cb, 116130 - 131072)));
  const __m128i factors = _mm_set1_epi32((65536 - 46802) * 65536 + (-22554 & 65535)), half = _mm_set1_epi32(32768);
  const auto part = [&](__m128i pairs) TL_SHUFFLES {
    return _mm_srai_epi32(_mm_add_epi32(_mm_madd_epi16(pairs, factors), half), 16);
  };
  const __m128i both = _mm_packs_epi32(part(_mm_unpacklo_epi16(cb, cr)), part(_mm_unpackhi_epi16(cb, cr)));
  green = _mm_add_epi16(luma, _mm_sub_epi16(both, cr));
}

/** As many pixels as come in groups of 16. */
TL_SHUFFLES size_t convertGroups(const uint8_t* a, const uint8_t* b, const uint8_t* c, uint8_t* out, size_t width) {
  const __m128i zero = _mm_setzero_si128();
  size_t x = convertWide(a, b, c, out, width);
  for (; x + 16 <= width; x += 16) {
    const auto load = [&](const uint8_t* from) TL_SHUFFLES {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + x));
    };
    const __m128i luma = load(a), cb = load(b), cr = load(c);
    __m128i low[3], high[3];
    colours(_mm_unpacklo_epi8(luma, zero), _mm_unpacklo_epi8(cb, zero), _mm_unpacklo_epi8(cr, zero), low[0], low[1], low[2]);
    colours(_mm_unpackhi_epi8(luma, zero), _mm_unpackhi_epi8(cb, zero), _mm_unpackhi_epi8(cr, zero), high[0], high[1], high[2]);
    storePixels(_mm_packus_epi16(low[0], high[0]), _mm_packus_epi16(low[1], high[1]), _mm_packus_epi16(low[2], high[2]), out + 3 * x);
  }
  return x;
}
bool canShuffle() { return __builtin_cpu_supports("ssse3"); }

#else

size_t convertGroups(const uint8_t*, const uint8_t*, const uint8_t*, uint8_t*, size_t) { return 0; }
bool canShuffle() { return false; }

#endif

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
    size_t x = canShuffle() ? convertGroups(a, b, c, out, width) : 0;
    for (out += 3 * x; x < width; x++, out += 3) {
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

/** The ways of jpegColours.cpp for many samples at once, for processors with AVX2. */
#include "jpeg.h"
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#define TL_WIDE __attribute__((target("avx2")))
#endif

namespace jpeg {

#ifdef TL_WIDE

namespace {

bool isWide() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}

TL_WIDE inline __m256i load(const uint8_t* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }

/** 16 samples as numbers of 16 bits. */
TL_WIDE inline __m256i widened(const uint8_t* at) { return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))); }

/** As in jpegColours.cpp. */
TL_WIDE inline void colours(__m256i luma, __m256i cb, __m256i cr, __m256i& red, __m256i& green, __m256i& blue) {
  const __m256i middle = _mm256_set1_epi16(128), one = _mm256_set1_epi16(1);
  cb = _mm256_sub_epi16(cb, middle);
  cr = _mm256_sub_epi16(cr, middle);
  const auto times = [&](__m256i x, int factor) TL_WIDE {
    const __m256i twice = _mm256_mulhi_epi16(_mm256_add_epi16(x, x), _mm256_set1_epi16(short(factor)));
    return _mm256_srai_epi16(_mm256_add_epi16(twice, one), 1);
  };
  red = _mm256_add_epi16(luma, _mm256_add_epi16(cr, times(cr, 91881 - 65536)));
  blue = _mm256_add_epi16(luma, _mm256_add_epi16(_mm256_add_epi16(cb, cb), times(cb, 116130 - 131072)));
  const __m256i factors = _mm256_set1_epi32((65536 - 46802) * 65536 + (-22554 & 65535)), half = _mm256_set1_epi32(32768);
  const auto part = [&](__m256i pairs) TL_WIDE { return _mm256_srai_epi32(_mm256_add_epi32(_mm256_madd_epi16(pairs, factors), half), 16); };
  const __m256i both = _mm256_packs_epi32(part(_mm256_unpacklo_epi16(cb, cr)), part(_mm256_unpackhi_epi16(cb, cr)));
  green = _mm256_add_epi16(luma, _mm256_sub_epi16(both, cr));
}

/** Three registers with 32 samples each become 32 pixels; each half is shuffled by itself. */
TL_WIDE inline void storePixels(__m256i red, __m256i green, __m256i blue, uint8_t* out) {
  for (int part = 0; part < 3; part++) {
    const auto from = [&](__m256i samples, int channel) TL_WIDE {
      const __m128i places = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixelPlaces[part][channel]));
      return _mm256_shuffle_epi8(samples, _mm256_broadcastsi128_si256(places));
    };
    const __m256i pixels = _mm256_or_si256(_mm256_or_si256(from(red, 0), from(green, 1)), from(blue, 2));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * part), _mm256_castsi256_si128(pixels));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 48 + 16 * part), _mm256_extracti128_si256(pixels, 1));
  }
}

TL_WIDE size_t convert(const uint8_t* a, const uint8_t* b, const uint8_t* c, uint8_t* out, size_t width) {
  const __m256i zero = _mm256_setzero_si256();
  size_t x = 0;
  for (; x + 32 <= width; x += 32) {
    const __m256i luma = load(a + x), cb = load(b + x), cr = load(c + x);
    __m256i low[3], high[3];
    colours(_mm256_unpacklo_epi8(luma, zero), _mm256_unpacklo_epi8(cb, zero), _mm256_unpacklo_epi8(cr, zero), low[0], low[1], low[2]);
    colours(_mm256_unpackhi_epi8(luma, zero), _mm256_unpackhi_epi8(cb, zero), _mm256_unpackhi_epi8(cr, zero), high[0], high[1], high[2]);
    storePixels(_mm256_packus_epi16(low[0], high[0]), _mm256_packus_epi16(low[1], high[1]), _mm256_packus_epi16(low[2], high[2]), out + 3 * x);
  }
  return x;
}

TL_WIDE size_t stretch(const uint8_t* here, const uint8_t* near, size_t width, uint8_t* row) {
  const __m256i three = _mm256_set1_epi16(3), eight = _mm256_set1_epi16(8), seven = _mm256_set1_epi16(7);
  const auto sums = [&](size_t at) TL_WIDE { return _mm256_add_epi16(_mm256_mullo_epi16(widened(here + at), three), widened(near + at)); };
  size_t x = 1;
  for (; x + 17 <= width; x += 16) {
    const __m256i most = _mm256_mullo_epi16(sums(x), three);
    const __m256i even = _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(most, sums(x - 1)), eight), 4);
    const __m256i odd = _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(most, sums(x + 1)), seven), 4);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + 2 * x), _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
  }
  return x;
}

}  // namespace

size_t convertWide(const uint8_t* a, const uint8_t* b, const uint8_t* c, uint8_t* out, size_t width) {
  return isWide() ? convert(a, b, c, out, width) : 0;
}
size_t stretchWide(const uint8_t* here, const uint8_t* near, size_t width, uint8_t* row) { return isWide() ? stretch(here, near, width, row) : 1; }

#else

size_t convertWide(const uint8_t*, const uint8_t*, const uint8_t*, uint8_t*, size_t) { return 0; }
size_t stretchWide(const uint8_t*, const uint8_t*, size_t, uint8_t*) { return 1; }

#endif

}  // namespace jpeg

/** Inverse cosine transforms in whole numbers, with libjpeg's results. */
#include <cstring>

#include "jpeg.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace jpeg {
namespace {

inline uint8_t sample(int x) { return uint8_t(x < -128 ? 0 : x > 127 ? 255 : x + 128); }

#if defined(__SSE2__)

/** a * factor / 256 with a factor below 1, all bits kept until the end. */
inline __m128i times(__m128i a, int factor) {
  return _mm_mulhi_epi16(_mm_slli_epi16(a, 2), _mm_set1_epi16(short(factor * 64)));
}
inline __m128i plus(__m128i a, __m128i b) { return _mm_add_epi16(a, b); }
inline __m128i minus(__m128i a, __m128i b) { return _mm_sub_epi16(a, b); }

/** Arai, Agui and Nakajima's algorithm on eight columns at once; factors above 1 are taken apart. */
inline void fastPass(__m128i x[8]) {
  const __m128i even13 = plus(x[2], x[6]), difference = minus(x[2], x[6]);
  const __m128i even12 = minus(plus(times(difference, 362 - 256), difference), even13);
  const __m128i even10 = plus(x[0], x[4]), even11 = minus(x[0], x[4]);
  const __m128i e0 = plus(even10, even13), e3 = minus(even10, even13), e1 = plus(even11, even12), e2 = minus(even11, even12);
  const __m128i z13 = plus(x[5], x[3]), z10 = minus(x[5], x[3]), z11 = plus(x[1], x[7]), z12 = minus(x[1], x[7]);
  const __m128i o7 = plus(z11, z13), odd = minus(z11, z13);
  const __m128i odd11 = plus(times(odd, 362 - 256), odd);
  const __m128i sum = plus(z10, z12);
  const __m128i z5 = plus(times(sum, 473 - 256), sum);
  const __m128i odd10 = minus(plus(times(z12, 277 - 256), z12), z5);
  // 669 = 2 * 256 + 157; the negative factor rounds the other way.
  const __m128i odd12 = plus(minus(times(z10, -(669 - 512)), plus(z10, z10)), z5);
  const __m128i o6 = minus(odd12, o7), o5 = minus(odd11, o6), o4 = plus(odd10, o5);
  x[0] = plus(e0, o7);
  x[7] = minus(e0, o7);
  x[1] = plus(e1, o6);
  x[6] = minus(e1, o6);
  x[2] = plus(e2, o5);
  x[5] = minus(e2, o5);
  x[4] = plus(e3, o4);
  x[3] = minus(e3, o4);
}

inline void transpose(__m128i x[8]) {
  __m128i a[8], b[8];
  for (int i = 0; i < 4; i++) {
    a[2 * i] = _mm_unpacklo_epi16(x[i], x[i + 4]);
    a[2 * i + 1] = _mm_unpackhi_epi16(x[i], x[i + 4]);
  }
  for (int i = 0; i < 4; i++) {
    b[2 * i] = _mm_unpacklo_epi16(a[i], a[i + 4]);
    b[2 * i + 1] = _mm_unpackhi_epi16(a[i], a[i + 4]);
  }
  for (int i = 0; i < 4; i++) {
    x[2 * i] = _mm_unpacklo_epi16(b[i], b[i + 4]);
    x[2 * i + 1] = _mm_unpackhi_epi16(b[i], b[i + 4]);
  }
}

void fastTransform(const int16_t* coefficients, const int16_t* q, uint8_t* to, size_t stride) {
  __m128i x[8];
  for (int i = 0; i < 8; i++) {
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(coefficients + 8 * i));
    x[i] = _mm_mullo_epi16(c, _mm_loadu_si128(reinterpret_cast<const __m128i*>(q + 8 * i)));
  }
  fastPass(x);
  transpose(x);
  fastPass(x);
  transpose(x);
  const __m128i middle = _mm_set1_epi8(char(0x80));
  for (int i = 0; i < 8; i += 2) {
    const __m128i both = _mm_packs_epi16(_mm_srai_epi16(x[i], 5), _mm_srai_epi16(x[i + 1], 5));
    const __m128i bytes = _mm_add_epi8(both, middle);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + i * stride), bytes);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + (i + 1) * stride), _mm_srli_si128(bytes, 8));
  }
}

#else

inline void fastLine(const int* x, int* line) {
  const int even13 = x[2] + x[6], even12 = (((x[2] - x[6]) * 362) >> 8) - even13;
  const int even10 = x[0] + x[4], even11 = x[0] - x[4];
  const int e0 = even10 + even13, e3 = even10 - even13, e1 = even11 + even12, e2 = even11 - even12;
  const int z13 = x[5] + x[3], z10 = x[5] - x[3], z11 = x[1] + x[7], z12 = x[1] - x[7];
  const int o7 = z11 + z13, odd11 = ((z11 - z13) * 362) >> 8, z5 = ((z10 + z12) * 473) >> 8;
  const int odd10 = ((z12 * 277) >> 8) - z5, odd12 = ((z10 * -669) >> 8) + z5;
  const int o6 = odd12 - o7, o5 = odd11 - o6, o4 = odd10 + o5;
  const int out[8] = {e0 + o7, e1 + o6, e2 + o5, e3 - o4, e3 + o4, e2 - o5, e1 - o6, e0 - o7};
  memcpy(line, out, sizeof out);
}

void fastTransform(const int16_t* coefficients, const int16_t* q, uint8_t* to, size_t stride) {
  int work[64], x[8], line[8];
  for (int c = 0; c < 8; c++) {
    for (int k = 0; k < 8; k++) x[k] = int16_t(coefficients[c + 8 * k] * q[c + 8 * k]);
    fastLine(x, line);
    for (int k = 0; k < 8; k++) work[c + 8 * k] = line[k];
  }
  for (int r = 0; r < 8; r++) {
    fastLine(work + 8 * r, line);
    for (int c = 0; c < 8; c++) to[r * stride + c] = sample(line[c] >> 5);
  }
}

#endif

/** Loeffler, Ligtenberg and Moschytz with 13-bit factors, rounded by `shift` bits. */
inline void accurateLine(const int64_t* x, int64_t* line, int shift) {
  const int64_t half = int64_t(1) << (shift - 1);
  const int64_t z1 = (x[2] + x[6]) * 4433, t2 = z1 - x[6] * 15137, t3 = z1 + x[2] * 6270;
  const int64_t t0 = (x[0] + x[4]) * 8192 + half, t1 = (x[0] - x[4]) * 8192 + half;
  const int64_t e0 = t0 + t3, e3 = t0 - t3, e1 = t1 + t2, e2 = t1 - t2;
  const int64_t z5 = (x[7] + x[3] + x[5] + x[1]) * 9633;
  const int64_t za = (x[7] + x[1]) * -7373, zb = (x[5] + x[3]) * -20995;
  const int64_t zc = (x[7] + x[3]) * -16069 + z5, zd = (x[5] + x[1]) * -3196 + z5;
  const int64_t o0 = x[7] * 2446 + za + zc, o1 = x[5] * 16819 + zb + zd, o2 = x[3] * 25172 + zb + zc, o3 = x[1] * 12299 + za + zd;
  line[0] = (e0 + o3) >> shift;
  line[7] = (e0 - o3) >> shift;
  line[1] = (e1 + o2) >> shift;
  line[6] = (e1 - o2) >> shift;
  line[2] = (e2 + o1) >> shift;
  line[5] = (e2 - o1) >> shift;
  line[3] = (e3 + o0) >> shift;
  line[4] = (e3 - o0) >> shift;
}

inline uint8_t wideSample(int64_t x) { return uint8_t(x < -128 ? 0 : x > 127 ? 255 : x + 128); }

void accurateTransform(const int16_t* coefficients, const int16_t* q, uint8_t* to, size_t stride) {
  int64_t work[64], x[8], line[8];
  for (int c = 0; c < 8; c++) {
    for (int k = 0; k < 8; k++) x[k] = int64_t(coefficients[c + 8 * k]) * uint16_t(q[c + 8 * k]);
    accurateLine(x, line, 11);
    for (int k = 0; k < 8; k++) work[c + 8 * k] = line[k];
  }
  for (int r = 0; r < 8; r++) {
    accurateLine(work + 8 * r, line, 18);
    for (int c = 0; c < 8; c++) to[r * stride + c] = wideSample(line[c]);
  }
}

inline void halfLine(const int64_t* x, int64_t* line, int shift) {
  const int64_t start = x[0] * 16384 + (int64_t(1) << (shift - 1)), even = x[2] * 15137 - x[6] * 6270;
  const int64_t odd0 = x[7] * -1730 + x[5] * 11893 - x[3] * 17799 + x[1] * 8697;
  const int64_t odd2 = x[7] * -4176 - x[5] * 4926 + x[3] * 7373 + x[1] * 20995;
  line[0] = (start + even + odd2) >> shift;
  line[3] = (start + even - odd2) >> shift;
  line[1] = (start - even + odd0) >> shift;
  line[2] = (start - even - odd0) >> shift;
}

void halfTransform(const int16_t* coefficients, const int16_t* q, uint8_t* to, size_t stride) {
  int64_t work[32], x[8], line[4];
  for (int c = 0; c < 8; c++) {
    for (int k = 0; k < 8; k++) x[k] = int64_t(coefficients[c + 8 * k]) * uint16_t(q[c + 8 * k]);
    halfLine(x, line, 12);
    for (int k = 0; k < 4; k++) work[c + 8 * k] = line[k];
  }
  for (int r = 0; r < 4; r++) {
    halfLine(work + 8 * r, line, 19);
    for (int c = 0; c < 4; c++) to[r * stride + c] = wideSample(line[c]);
  }
}

inline void quarterLine(const int64_t* x, int64_t* line, int shift) {
  const int64_t start = x[0] * 32768 + (int64_t(1) << (shift - 1));
  const int64_t odd = x[7] * -5906 + x[5] * 6967 - x[3] * 10426 + x[1] * 29692;
  line[0] = (start + odd) >> shift;
  line[1] = (start - odd) >> shift;
}

void quarterTransform(const int16_t* coefficients, const int16_t* q, uint8_t* to, size_t stride) {
  int64_t work[16], x[8], line[2];
  for (int c = 0; c < 8; c++) {
    for (int k = 0; k < 8; k++) x[k] = int64_t(coefficients[c + 8 * k]) * uint16_t(q[c + 8 * k]);
    quarterLine(x, line, 13);
    work[c] = line[0];
    work[8 + c] = line[1];
  }
  for (int r = 0; r < 2; r++) {
    quarterLine(work + 8 * r, line, 20);
    to[r * stride] = wideSample(line[0]);
    to[r * stride + 1] = wideSample(line[1]);
  }
}

void eighthTransform(const int16_t* coefficients, const int16_t* q, uint8_t* to, size_t) {
  to[0] = wideSample((int64_t(coefficients[0]) * uint16_t(q[0]) + 4) >> 3);
}

}  // namespace

Transform transformOfSize(int size, bool isFast) {
  if (size == 8) return isFast ? fastTransform : accurateTransform;
  return size == 4 ? halfTransform : size == 2 ? quarterTransform : eighthTransform;
}

void prepareQuantization(const uint16_t* table, bool isFast, int16_t* out) {
  // The scale factors of the fast algorithm, times 2^14; its quantization has two more bits.
  static const int row[8] = {16384, 22725, 21407, 19266, 16384, 12873, 8867, 4520};
  for (int i = 0; i < 64; i++) {
    if (!isFast) {
      out[i] = int16_t(table[i]);
      continue;
    }
    const int scale = int((int64_t(row[i >> 3]) * row[i & 7] + 8192) >> 14);
    out[i] = int16_t((int64_t(table[i]) * scale + 2048) >> 12);
  }
}

}  // namespace jpeg

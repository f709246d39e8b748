/** Images from files: what TypeScript calls. Every function may run on any thread; nothing is kept between calls. */
#pragma once
#include "../tensorloom.h"

/**
 * Decodes a PNG file into `out`, which has room for width * height * channels samples of `bits` bits. The caller has read
 * the header and knows the size. Returns 0, or one of the codes in `ImageProblem`.
 */
TL_API int32_t tl_png_decode(const uint8_t* file, int64_t length, int32_t channels, int32_t bits, void* out, int64_t room);

/**
 * Decodes a JPEG file into `out`. `options`: channels, ratio, fancy upscaling, recovery of cut-off files, accurate
 * transform, and the part that is wanted as top, left, height and width. Returns 0, or one of the codes in `ImageProblem`.
 */
TL_API int32_t tl_jpeg_decode(const uint8_t* file, int64_t length, const int32_t* options, void* out, int64_t room);

enum ImageProblem : int32_t {
  imageFine = 0,
  /** The file is not what it should be, or is of a kind that is not supported. */
  imageInvalid = 1,
  /** Compressed data makes no sense. */
  imageCorrupt = 2,
  /** The file ends too early. */
  imageCutOff = 3,
  /** There is no memory. */
  imageNoMemory = 4,
};

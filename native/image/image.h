/** Images from files: what TypeScript calls. Every function may run on any thread, and gives the same whatever was called before. */
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

/**
 * The coefficients of one component of a JPEG file that is to be written. `options`: width, height and channels of the pixels,
 * which channel, its sampling and the highest of all, its blocks across and down, and those of whole units.
 */
TL_API int32_t tl_jpeg_transform(int64_t pixels, int64_t options, int64_t table, int64_t out);

/**
 * Writes a scan: with `codes`, 256 for each of four tables, to `out`; without them counts symbols, 257 for each table. Returns
 * how many bytes there are, or -1 where there is no room for them.
 */
TL_API int64_t tl_jpeg_scan(int64_t plan, int64_t codes, int64_t frequencies, int64_t out, int64_t room);

/** Decompresses the `count` pixels of a GIF's frame. Returns 0; 1 where the data ends too early, 2 where it makes no sense. */
TL_API int32_t tl_gif_decompress(int64_t bytes, int64_t length, int32_t codeBits, int64_t out, int64_t count);

/**
 * Draws a GIF's frame. `place`: left, top, width and height of the frame, the colour that leaves what is there (-1 for none),
 * width and height of the canvas. Returns the first pixel that is not among the colours, or -1.
 */
TL_API int32_t tl_gif_draw(int64_t pixels, int64_t place, int64_t colours, int64_t colourBytes, int64_t canvas);

/** Turns the rows of a BMP file, `own` bytes a pixel, into pixels of `wanted` channels, from the top. */
TL_API int32_t tl_bmp_decode(int64_t pixels, int64_t rowBytes, int32_t own, int32_t wanted, int64_t width, int64_t height, int64_t out);

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

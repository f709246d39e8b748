/** Decompression of deflate streams into memory whose size is known. */
#pragma once
#include <cstddef>
#include <cstdint>

/** Decompresses a zlib stream until `out` is full. False when the stream ends before that or makes no sense. */
bool inflateZlib(const uint8_t* in, size_t length, uint8_t* out, size_t room);

/** Transposing small squares in vector registers. Include only from *.simd.cpp. */
#pragma once
#include "vector.h"

namespace tl::TL_SIMD {

constexpr int kSquareBytes = kVectorBytes;

/** Unsigned integers of an element's size: transposing only moves bits. */
template <int Size> struct WordOf;
template <> struct WordOf<4> { using type = uint32_t; };
template <> struct WordOf<8> { using type = uint64_t; };

/** Transposes squares of `side` elements of `Size` bytes; rows of in and out are any number of elements apart. */
template <int Size> struct Square {
  using Word = typename WordOf<Size>::type;
  static constexpr int side = kSquareBytes / Size;
  typedef Word Vector __attribute__((vector_size(kSquareBytes)));
  typedef Word Loose __attribute__((vector_size(kSquareBytes), aligned(1), may_alias));

  /** The elements of a and b taken in turn, from the first half of each or from the second. */
  static TL_INLINE Vector interleave(Vector a, Vector b, bool second) {
    return picked(a, b, [&](int i) TL_INLINE_LAMBDA { return (i % 2 ? side : 0) + i / 2 + (second ? side / 2 : 0); });
  }

  /** The second half of the first `lanes` elements, where the first half was. */
  static TL_INLINE Vector secondHalf(Vector a, int lanes) {
    return picked(a, a, [&](int i) TL_INLINE_LAMBDA { return i < lanes / 2 ? i + lanes / 2 : i; });
  }

  /** Element j of row i becomes element i of row j. */
  static TL_INLINE void turn(Vector (&rows)[side]) {
    // Interleaving row i with row i + side / 2, log2(side) times over, is a transpose.
#pragma GCC unroll 4
    for (int step = 1; step < side; step *= 2) {
      Vector next[side];
#pragma GCC unroll 16
      for (int i = 0; i < side / 2; i++) {
        next[2 * i] = interleave(rows[i], rows[i + side / 2], false);
        next[2 * i + 1] = interleave(rows[i], rows[i + side / 2], true);
      }
#pragma GCC unroll 16
      for (int i = 0; i < side; i++) rows[i] = next[i];
    }
  }

  /** Elements in 16 bytes. */
  static constexpr int piece = 16 / Size;

  /**
   * Lines of the first `piece` elements of `side` rows in memory, which begin at at(0), at(1) …: a part of their transpose, with half the
   * shuffles, since pieces are read to where they belong.
   */
  template <class At> static TL_INLINE void read(const At& at, Vector (&lines)[piece]) {
#pragma GCC unroll 4
    for (int i = 0; i < piece; i++) lines[i] = readPieces([&](int l) TL_INLINE_LAMBDA { return at(i + l * piece); });
#pragma GCC unroll 2
    for (int step = 1; step < piece; step *= 2) {
      Vector next[piece];
#pragma GCC unroll 2
      for (int i = 0; i < piece / 2; i++) {
        next[2 * i] = interleavePieces(lines[i], lines[i + piece / 2], false);
        next[2 * i + 1] = interleavePieces(lines[i], lines[i + piece / 2], true);
      }
#pragma GCC unroll 4
      for (int i = 0; i < piece; i++) lines[i] = next[i];
    }
  }

  static TL_INLINE void transpose(const void* in, int64_t inRow, void* out, int64_t outRow) {
    Vector rows[side];
#pragma GCC unroll 16
    for (int i = 0; i < side; i++) rows[i] = *reinterpret_cast<const Loose*>(static_cast<const Word*>(in) + i * inRow);
    turn(rows);
#pragma GCC unroll 16
    for (int i = 0; i < side; i++) *reinterpret_cast<Loose*>(static_cast<Word*>(out) + i * outRow) = rows[i];
  }

 private:
  typedef Word Piece __attribute__((vector_size(16), aligned(1), may_alias));

  static TL_INLINE const Piece& asPiece(const void* at) { return *static_cast<const Piece*>(at); }

  /** A vector of the 16 bytes at at(0), at(1) … */
  template <class At> static TL_INLINE Vector readPieces(const At& at) {
#if defined(__AVX512F__)
    Vector x;
    asm("vmovdqu32 %1, %x0" : "=v"(x) : "m"(asPiece(at(0))));
    asm("vinserti32x4 $1, %1, %0, %0" : "+v"(x) : "m"(asPiece(at(1))));
    asm("vinserti32x4 $2, %1, %0, %0" : "+v"(x) : "m"(asPiece(at(2))));
    asm("vinserti32x4 $3, %1, %0, %0" : "+v"(x) : "m"(asPiece(at(3))));
    return x;
#elif defined(__AVX__)
    Vector x;
    asm("vmovdqu %1, %x0" : "=x"(x) : "m"(asPiece(at(0))));
    asm("vinsertf128 $1, %1, %0, %0" : "+x"(x) : "m"(asPiece(at(1))));
    return x;
#else
    return *reinterpret_cast<const Loose*>(at(0));
#endif
  }

  /** Within every 16 bytes, the elements of a and b taken in turn, from the first half or from the second. */
  static TL_INLINE Vector interleavePieces(Vector a, Vector b, bool second) {
    return picked(a, b, [&](int i) TL_INLINE_LAMBDA {
      return (i % 2 ? side : 0) + i / piece * piece + i % piece / 2 + (second ? piece / 2 : 0);
    });
  }
};

/** out[i * outRow + j] = in[j * inRow + i] for i < rows, j < columns. */
template <int Size>
void transposeBlock(int64_t rows, int64_t columns, void* outBytes, int64_t outRow, const void* inBytes, int64_t inRow) {
  using Word = typename WordOf<Size>::type;
  constexpr int64_t side = Square<Size>::side;
  Word* out = static_cast<Word*>(outBytes);
  const Word* in = static_cast<const Word*>(inBytes);
  const int64_t wholeRows = rows / side * side, wholeColumns = columns / side * side;
  for (int64_t i = 0; i < wholeRows; i += side)
    for (int64_t j = 0; j < wholeColumns; j += side)
      Square<Size>::transpose(in + j * inRow + i, inRow, out + i * outRow + j, outRow);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = i < wholeRows ? wholeColumns : 0; j < columns; j++) out[i * outRow + j] = in[j * inRow + i];
}

}  // namespace tl::TL_SIMD

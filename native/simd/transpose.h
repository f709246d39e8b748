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
#if defined(__clang__)
    Vector r;
    for (int i = 0; i < side; i++) r[i] = (i % 2 ? b : a)[i / 2 + (second ? side / 2 : 0)];
    return r;
#else
    Vector order;
    for (int i = 0; i < side; i++) order[i] = static_cast<Word>((i % 2 ? side : 0) + i / 2 + (second ? side / 2 : 0));
    return __builtin_shuffle(a, b, order);
#endif
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

  static TL_INLINE void transpose(const void* in, int64_t inRow, void* out, int64_t outRow) {
    Vector rows[side];
#pragma GCC unroll 16
    for (int i = 0; i < side; i++) rows[i] = *reinterpret_cast<const Loose*>(static_cast<const Word*>(in) + i * inRow);
    turn(rows);
#pragma GCC unroll 16
    for (int i = 0; i < side; i++) *reinterpret_cast<Loose*>(static_cast<Word*>(out) + i * outRow) = rows[i];
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

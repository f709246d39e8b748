/** The iterations that make diagonal matrices of tridiagonal and bidiagonal ones. */
#pragma once
#include "reductions.h"
#include "turns.h"

namespace tl {

/** The eigenvalues of a symmetric tridiagonal matrix, in no order, on its diagonal; its rows are turned with those of `vectors`, if any. */
void diagonalizeTridiagonal(Diagonals& t, Turns* vectors);

/** The singular values of a bidiagonal matrix, in no order and of either sign, on its diagonal; likewise for both sides. */
void diagonalizeBidiagonal(Diagonals& b, Turns* left, Turns* right);

}  // namespace tl

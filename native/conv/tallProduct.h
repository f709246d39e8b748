/** Products of many rows whose result is larger than a cache. */
#pragma once
#include "../simd/kernels.h"

namespace tl {

/** Computes a product on the matrix unit, if it is such a one; false where nothing has been computed. */
bool multiplyTall(const Gemm<float>& g);

}  // namespace tl

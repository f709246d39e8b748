/** Products of long sums whose factors are larger than a cache. */
#pragma once
#include "../simd/kernels.h"

namespace tl {

/** Computes a product on the matrix unit, if it is such a one; false where nothing has been computed. */
bool multiplyLong(const Gemm<float>& g);

}  // namespace tl

/** The entries of the table that work one element at a time, compiled once for all variants. */
#pragma once
#include "../simd/kernels.h"

namespace tl {

/** Each enters its operations into the table; faster versions of a variant may overwrite some. */
void fillSlowOps(SimdKernels&);
void fillIntegerOps(SimdKernels&);
void fillComplexOps(SimdKernels&);
void fillPlainCasts(SimdKernels&);
void fillPlainFolds(SimdKernels&);

}  // namespace tl

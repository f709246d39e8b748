/** @file Public functions of the math ops; importing it loads their definitions. */
import './bessel.ts';
import './eig.ts';
import './leastSquares.ts';
import './lu.ts';
import './methods.ts';

export { add } from './add.ts';
export { accumulateN, addN } from './addN.ts';
export { type ArgOptions, argmax, argmax as argMax, argmin, argmin as argMin } from './argmax.ts';
export { betainc, lbeta } from './beta.ts';
export { bitcast } from './bitcast.ts';
export * as bitwise from './bitwise.ts';
export { populationCount } from './bitwiseOps.ts';
export { cast } from './cast.ts';
export { saturateCast, toBfloat16, toComplex64, toComplex128, toDouble, toFloat, toInt32, toInt64 } from './castTo.ts';
export { clipByAverageNorm, clipByGlobalNorm, clipByNorm, clipByValue, globalNorm } from './clip.ts';
export { approximateEqual, equal, greater, greaterEqual, less, lessEqual, notEqual } from './compare.ts';
export { angle, complex, conj, imag, real } from './complex.ts';
export { type CumulativeOptions, cumprod, cumsum } from './cumulative.ts';
export {
  div,
  divide,
  divNoNan,
  floorDiv,
  floordiv,
  realdiv,
  reciprocalNoNan,
  truediv,
  truncatediv,
} from './divide.ts';
export { erf, erfc, erfcinv, erfinv, ndtri } from './erf.ts';
export { exp, expm1, log, log1p } from './exp.ts';
export { digamma, igamma, igammac, lgamma, polygamma, zeta } from './gamma.ts';
export { acosh, asinh, atanh, cosh, sinh } from './hyperbolic.ts';
export { isFinite, isInf, isNan } from './isNan.ts';
export { logicalAnd, logicalNot, logicalOr, logicalXor } from './logical.ts';
export { type MatmulOptions, matmul } from './matmul.ts';
export { sqrtm as matrixSquareRoot } from './matrixRoots.ts';
export { maximum, minimum } from './maximum.ts';
export { floormod, mod, truncatemod } from './mod.ts';
export { mul, multiply, multiplyNoNan, scalarMul } from './multiply.ts';
export { abs, neg, negative, sign } from './neg.ts';
export { nextafter } from './nextAfter.ts';
export { pow } from './pow.ts';
export {
  type Axis,
  countNonzero,
  type ReduceOptions,
  reduceAll,
  reduceAny,
  reduceLogsumexp,
  reduceMax,
  reduceMean,
  reduceMin,
  reduceProd,
  reduceSum,
} from './reductions.ts';
export { ceil, floor, rint, round } from './round.ts';
export {
  type SegmentFunction,
  type SparseSegmentFunction,
  segmentMax,
  segmentMean,
  segmentMin,
  segmentProd,
  segmentSum,
  sparseSegmentMean,
  sparseSegmentSqrtN,
  sparseSegmentSum,
  type UnsortedFunction,
  unsortedSegmentMax,
  unsortedSegmentMean,
  unsortedSegmentMin,
  unsortedSegmentProd,
  unsortedSegmentSqrtN,
  unsortedSegmentSum,
} from './segments.ts';
export { where, whereV2 } from './select.ts';
export { logSigmoid, sigmoid, tanh } from './sigmoid.ts';
export { argsort, type SortOptions, sort } from './sort.ts';
export { reciprocal, rsqrt, sqrt, square } from './sqrt.ts';
export { squaredDifference, sub, subtract } from './subtract.ts';
export { type TensordotAxes, tensordot } from './tensordot.ts';
export { acos, asin, atan, atan2, cos, sin, tan } from './trig.ts';
export { xdivy, xlog1py, xlogy } from './xlogy.ts';
export { onesLike, zerosLike } from './zerosLike.ts';

import './reductionMethods.ts';

export { type BincountOptions, bincount } from './bincount.ts';
export { cross } from './cross.ts';
export { einsum } from './einsum.ts';
export { type FourierFunction, fft, fft2d, fft3d, ifft, ifft2d, ifft3d } from './fft.ts';
export { type HistogramOptions, histogramFixedWidth, histogramFixedWidthBins } from './histogram.ts';
export {
  cholesky,
  choleskySolve,
  matrixDeterminant,
  matrixInverse,
  matrixSolve,
  matrixTriangularSolve,
  qr,
} from './linalg.ts';
export { type NormOptions, norm, trace } from './norm.ts';

import './signal.ts';

export { selfAdjointEig, selfAdjointEigvals, svd } from './spectrum.ts';

import './topk.ts';

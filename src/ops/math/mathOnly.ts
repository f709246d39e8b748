/** @file Functions that TensorFlow has in `tf.math` and not in `tf` itself. */
export { besselI0, besselI0e, besselI1, besselI1e } from './bessel.ts';
export { cumulativeLogsumexp } from './cumulative.ts';
export { divNoNan as divideNoNan } from './divide.ts';
export { polyval } from './matrixFunctions.ts';
export { reduceEuclideanNorm, reduceStd, reduceVariance } from './reductions.ts';
export { inTopK, type TopKOptions, type TopKResult, topK } from './topk.ts';

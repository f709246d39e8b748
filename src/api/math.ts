/** @file `tf.math`. */
export { confusionMatrix } from '../front/confusionMatrix.ts';
export { invertPermutation } from '../ops/array/index.ts';
export { isNonDecreasing, isStrictlyIncreasing } from '../ops/flow/index.ts';
export * from '../ops/math/index.ts';
export * from '../ops/math/mathOnly.ts';
export { l2Normalize, logSoftmax, softmax, softplus, softsign, zeroFraction } from '../ops/nn/index.ts';

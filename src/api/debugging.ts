/** @file `tf.debugging`. */
export { assertProperIterable, assertSameFloatDtype } from '../front/asserts.ts';
export { checkNumerics, verifyTensorAllFinite as assertAllFinite } from '../ops/array/index.ts';
export {
  Assert,
  assertEqual,
  assertGreater,
  assertGreaterEqual,
  assertInteger,
  assertLess,
  assertLessEqual,
  assertNear,
  assertNegative,
  assertNoneEqual,
  assertNonNegative,
  assertNonPositive,
  assertPositive,
  assertRank,
  assertRankAtLeast,
  assertRankIn,
  assertScalar,
  assertType,
  isNonDecreasing,
  isNumericTensor,
  isStrictlyIncreasing,
} from '../ops/flow/index.ts';
export { isFinite, isInf, isNan } from '../ops/math/index.ts';

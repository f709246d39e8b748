/** @file Public functions of the flow ops; importing it loads their definitions. */
import './fakeParam.ts';
import './frames.ts';
import './olderCalls.ts';
import './call.ts';
import './case.ts';
import './if.ts';
import './while.ts';
import './optional.ts';
import './stack.ts';
import './tensorArrayCreate.ts';
import './tensorArrayOps.ts';
import './tensorList/index.ts';

export { type AssertOptions, assert as Assert } from './assert.ts';
export {
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
  type CheckOptions,
  isNonDecreasing,
  isNumericTensor,
  isStrictlyIncreasing,
} from './checkOps.ts';
export { group, tuple, type Waitable, type Waitables, withDependencies } from './group.ts';
export { type JsFuncOptions, type JsFunction, type JsResult, jsFunc, jsFunc as pyFunc } from './jsFunc.ts';
export { controlTrigger, noOp } from './noOp.ts';
export {
  type Printable,
  type PrintOptions,
  type PrintV2Options,
  print,
  printIdentity as Print,
} from './print.ts';
export { timestamp } from './timestamp.ts';

/** @file Public functions of the flow ops; importing it loads their definitions. */
export { type AssertOptions, assert as Assert } from './assert.ts';
export { group, tuple, type Waitable, type Waitables, withDependencies } from './group.ts';
export { type JsFuncOptions, type JsFunction, type JsResult, jsFunc } from './jsFunc.ts';
export { controlTrigger, noOp } from './noOp.ts';
export {
  type Printable,
  type PrintOptions,
  type PrintV2Options,
  print,
  printIdentity as Print,
} from './print.ts';

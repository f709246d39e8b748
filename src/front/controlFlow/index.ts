/** @file Public functions of control flow: branches, loops, arrays. */
export { type CaseOptions, case, switchCase } from './case.ts';
export { type CondOptions, cond, smartCond } from './cond.ts';
export {
  type CallArguments,
  type CallResult,
  type DefinedFunction,
  Defun,
  type DefunOptions,
  type FunctionOptions,
  function,
} from './function.ts';
export {
  type Accumulated,
  type Elements,
  type FoldOptions,
  foldl,
  foldr,
  type LoopingOptions,
  type MapFnOptions,
  mapFn,
  type ScanOptions,
  scan,
} from './mapFn.ts';
export { recomputeGrad } from './recomputeGrad.ts';
export { TensorArray, type TensorArrayOptions } from './tensorArray.ts';
export { type LoopResult, type LoopStep, type WhileOptions, whileLoop } from './whileLoop.ts';

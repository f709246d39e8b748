/** @file Recurrent networks: what `tf.nn` has besides ops. */
export {
  type BidirectionalOptions,
  bidirectionalDynamicRnn,
  type DynamicRnnOptions,
  dynamicRnn,
} from './dynamic.ts';
export { type RawRnnLoop, type RawRnnOptions, type RawRnnStep, type RawRnnTuple, rawRnn } from './raw.ts';
export * as rnnCell from './rnnCell.ts';
export { type StateNames, type StateSaver, staticStateSavingRnn } from './stateSaving.ts';
export {
  type StaticBidirectionalOptions,
  type StaticRnnOptions,
  staticBidirectionalRnn,
  staticRnn,
} from './static.ts';

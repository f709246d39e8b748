/** @file Public functions of the array ops; importing it loads their definitions. */

export {
  broadcastDynamicShape,
  broadcastStaticShape,
  broadcastTo,
} from './broadcastTo.ts';
export { concat } from './concat.ts';
export { type ConstantOptions, constant } from './constant.ts';
export { dynamicPartition, dynamicStitch } from './dynamicStitch.ts';
export { expandDims } from './expandDims.ts';
export { type FilledOptions, fill, ones, zeros } from './fill.ts';
export { type GatherOptions, gather } from './gather.ts';
export { newaxis, type SlicePart, type SliceSpec } from './getItem.ts';
export { guaranteeConst, identity, identityN, preventGradient, stopGradient } from './identity.ts';
export { type PadOptions, pad } from './pad.ts';
export { placeholder } from './placeholder.ts';
export { type RangeOptions, range } from './range.ts';
export { reshape } from './reshape.ts';
export { rank, type ShapeOptions, shape, shapeN, size } from './shape.ts';
export { slice } from './slice.ts';
export { split } from './split.ts';
export { squeeze } from './squeeze.ts';
export { parallelStack, stack, unstack } from './stack.ts';
export { type StridedSliceOptions, stridedSlice } from './stridedSlice.ts';
export { tile } from './tile.ts';
export { invertPermutation, matrixTranspose, type TransposeOptions, transpose } from './transpose.ts';

import './where.ts';

export { where } from '../math/select.ts';
export { onesLike, zerosLike } from '../math/zerosLike.ts';

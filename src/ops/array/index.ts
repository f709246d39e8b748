/** @file Public functions of the array ops; importing it loads their definitions. */
import './indexedSlices.ts';
import './methods.ts';
import './where.ts';

export { where } from '../math/select.ts';
export { onesLike, zerosLike } from '../math/zerosLike.ts';
export { batchGather } from './batchGather.ts';
export { booleanMask, sequenceMask } from './booleanMask.ts';
export { broadcastDynamicShape, broadcastStaticShape, broadcastTo } from './broadcastTo.ts';
export { checkNumerics, ensureShape, verifyTensorAllFinite } from './checkNumerics.ts';
export { concat } from './concat.ts';
export { type ConstantOptions, constant } from './constant.ts';
export { diag, diagPart } from './diag.ts';
export type { Alignment, DiagonalOptions } from './diagonalOptions.ts';
export { dynamicPartition, dynamicStitch } from './dynamicStitch.ts';
export { expandDims } from './expandDims.ts';
export { type FilledOptions, fill, ones, zeros } from './fill.ts';
export { type GatherOptions, gather } from './gather.ts';
export { type GatherNdOptions, gatherNd } from './gatherNd.ts';
export { newaxis, type SlicePart, type SliceSpec } from './getItem.ts';
export { guaranteeConst, identity, identityN, preventGradient, stopGradient } from './identity.ts';
export { linspace, linspace as linSpace } from './linspace.ts';
export { matrixBandPart } from './matrixBandPart.ts';
export { matrixDiag } from './matrixDiag.ts';
export { matrixDiagPart } from './matrixDiagPart.ts';
export { matrixSetDiag } from './matrixSetDiag.ts';
export { type EyeOptions, eye, meshgrid } from './meshgrid.ts';
export { type OneHotOptions, oneHot } from './oneHot.ts';
export { type PadOptions, pad } from './pad.ts';
export { placeholder, placeholderWithDefault } from './placeholder.ts';
export { type RangeOptions, range } from './range.ts';
export { repeat } from './repeat.ts';
export { requiredSpaceToBatchPaddings } from './requiredPaddings.ts';
export { reshape } from './reshape.ts';
export { reverse, reverse as reverseV2, reverseSequence } from './reverse.ts';
export { roll, unravelIndex } from './roll.ts';
export {
  type ScatterOptions,
  scatterNd,
  tensorScatterAdd,
  tensorScatterAdd as tensorScatterNdAdd,
  tensorScatterMax,
  tensorScatterMax as tensorScatterNdMax,
  tensorScatterMin,
  tensorScatterMin as tensorScatterNdMin,
  tensorScatterSub,
  tensorScatterSub as tensorScatterNdSub,
  tensorScatterUpdate,
  tensorScatterUpdate as tensorScatterNdUpdate,
} from './scatterNd.ts';
export { searchsorted } from './searchsorted.ts';
export { rank, type ShapeOptions, shape, shapeN, size } from './shape.ts';
export { slice } from './slice.ts';
export { batchToSpace, batchToSpaceNd, spaceToBatch, spaceToBatchNd } from './spaceToBatch.ts';
export { depthToSpace, spaceToDepth } from './spaceToDepth.ts';
export { split } from './split.ts';
export { squeeze } from './squeeze.ts';
export { parallelStack, stack, unstack } from './stack.ts';
export { getStaticValue } from './staticValue.ts';
export { type StridedSliceOptions, stridedSlice } from './stridedSlice.ts';
export { tile } from './tile.ts';
export { invertPermutation, matrixTranspose, type TransposeOptions, transpose } from './transpose.ts';
export { setdiff1d, unique, uniqueWithCounts } from './unique.ts';

/** @file What is known of a tensor list or an optional while building: the type and static shape of its elements. */
import { type DType, variant } from '../../../core/dtypes.ts';
import type { Dims } from '../../../core/shape.ts';
import type { Tensor } from '../../../graph/tensor.ts';
import { decodeAttr } from '../../../op/attrs.ts';
import { knownValue } from '../../../op/constantValue.ts';
import { originOf } from '../../../op/handles.ts';

export interface ElementInfo {
  readonly dtype: DType;
  readonly shape: Dims;
}

/** Ops whose first output is a list of the form of their first input. */
const changing = new Set([
  'AddN',
  'TensorListConcatLists',
  'TensorListPopBack',
  'TensorListPushBack',
  'TensorListResize',
  'TensorListScatterIntoExistingList',
  'TensorListSetItem',
  'ZerosLike',
]);

/** Ops that make a list, with the position of the input that tells the shape of its elements. */
const making = new Map([
  ['EmptyTensorList', 0],
  ['TensorListFromTensor', 1],
  ['TensorListReserve', 0],
  ['TensorListScatter', 2],
  ['TensorListScatterV2', 2],
  ['TensorListSplit', 1],
]);

/** Type and static shape of the elements of the list, or of what is in the optional, behind a handle, as far as the graph tells. */
export function elementsOf(handle: Tensor): ElementInfo | undefined {
  let at = originOf(handle);
  while (at.dtype === variant && at.index === 0 && changing.has(at.op.type)) at = originOf(at.op.inputs[0]!);
  if (at.op.type === 'OptionalFromValue') return sameType(at.op.inputs);
  const position = making.get(at.op.type);
  const dtype = at.op.attrs['element_dtype'];
  if (position === undefined || !dtype) return undefined;
  const shape = knownValue(at.op.inputs[position]!);
  return {
    dtype: decodeAttr('element_dtype', { kind: 'type' }, dtype) as DType, // its kind is type
    shape: shape && shape.rank > 0 ? shape.numbers().map((d) => (d < 0 ? null : d)) : null,
  };
}

function sameType([first, ...rest]: readonly Tensor[]): ElementInfo | undefined {
  return first && rest.every((t) => t.dtype === first.dtype) ? { dtype: first.dtype, shape: null } : undefined;
}

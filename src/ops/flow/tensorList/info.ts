/** @file What is known of a tensor list while building: the type and static shape of its elements. */
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

/** Ops that give a list of the form of their first input. */
const sameForm = new Set(['ZerosLike', 'AddN']);

/** Type and static shape of the elements of the list behind a handle, as far as the graph tells. */
export function elementsOf(handle: Tensor): ElementInfo | undefined {
  let at = originOf(handle);
  while (at.op.inputs[0]?.dtype === variant && (sameForm.has(at.op.type) || at.op.attrs['element_dtype']))
    at = originOf(at.op.inputs[0]);
  const dtype = at.op.attrs['element_dtype'];
  if (!dtype || at.dtype !== variant) return undefined;
  return {
    dtype: decodeAttr('element_dtype', { kind: 'type' }, dtype) as DType, // its kind is type
    shape: givenShape(at.op.inputs),
  };
}

/** The `element_shape` that a list was made with: the first input, or the one after the tensor it was made of. */
function givenShape(inputs: readonly Tensor[]): Dims {
  const given = inputs.find((t, i) => t.dtype.isInteger && (i > 0 || inputs.length === 2));
  const value = given && knownValue(given);
  if (!value || value.rank === 0) return null;
  return value.numbers().map((d) => (d < 0 ? null : d));
}

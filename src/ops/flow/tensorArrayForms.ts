/** @file The three versions of the tensor array ops, and what they have in common. */
import { type DType, resource, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { type Dims, isFullyDefined, type Shape, showShape, withRank } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { attr, decodeAttr } from '../../op/attrs.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { RunScope } from '../../program/instructions.ts';
import type { Value } from '../../program/value.ts';
import { arrayBehind, type TensorArray } from './tensorArrayState.ts';

/** `deprecated` is the GraphDef version that took a version away; some ops went later than the rest. */
export interface Version {
  readonly suffix: 'V3' | 'V2' | '';
  readonly handle: string;
  readonly handleType: DType;
  readonly handleShape: Shape;
  readonly stateful: boolean;
  readonly deprecated?: number;
}
export const versions: readonly Version[] = [
  { suffix: 'V3', handle: 'resource', handleType: resource, handleShape: [], stateful: true },
  { suffix: 'V2', handle: 'string', handleType: string, handleShape: [2], stateful: false, deprecated: 26 },
  { suffix: '', handle: 'Ref(string)', handleType: string, handleShape: [2], stateful: false, deprecated: 16 },
];

/** The first version has no shape rules. */
export const isChecked = ({ suffix }: Version) => suffix !== '';
export const since = (version: number | undefined) => (version === undefined ? {} : { deprecatedSince: version });

export const anyShape = attr('shape', { default: null });

export function checkHandle(handle: Dims): void {
  if (withRank(handle, 1)[0] !== null && handle![0] !== 2)
    throw new InvalidArgumentError(`the handle of a TensorArray has shape [2], not ${showShape(handle)}`);
}

/** The element shape of the array behind a handle, as far as the graph tells; undefined when it tells nothing. */
export function elementShapeOf({ op }: Tensor): Dims | undefined {
  const { element_shape: shape, identical_element_shapes: identical } = op.attrs;
  if (shape && identical) {
    const known = decodeAttr('element_shape', { kind: 'shape' }, shape) as Dims; // by its kind
    return isFullyDefined(known) || identical.b ? known : undefined;
  }
  const [from] = op.inputs;
  return from?.dtype === resource ? elementShapeOf(from) : undefined;
}

/** Calls on the array behind a handle, when a run comes to this point. */
export function onArray(
  p: ProgramBuilder,
  handle: Value,
  inputs: readonly Value[],
  results: readonly { dtype: DType; shape?: Shape }[],
  call: (array: TensorArray, inputs: readonly NDArray[], run: RunScope) => readonly NDArray[],
): readonly Value[] {
  return p.host([handle, ...inputs], results, ([at, ...rest], run) => call(arrayBehind(at!, run), rest, run));
}

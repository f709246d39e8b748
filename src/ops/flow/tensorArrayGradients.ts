/** @file Gradients of the tensor array ops: what was read is written to an array of gradients, and the other way round. */
import { type DType, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { colocateWith, controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { node } from '../../op/node.ts';
import type { Gradient } from '../../op/registry.ts';
import { identity } from '../array/index.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { cast } from '../math/index.ts';

/** The call of `tf.gradients` that a gradient belongs to: every call has arrays of its own, so that none counts twice. */
function sourceOf({ name }: Tensor): string {
  const parts = name.split('/');
  const last = parts.findLastIndex((part) => part.startsWith('gradients'));
  if (last < 0)
    throw new InvalidArgumentError(
      `Expected op/tensor name to start with gradients (excluding scope), got: ${name}. Calls of tf.gradients with a name must use one that starts with 'gradients'.`,
    );
  return parts.slice(0, last + 1).join('/');
}

interface GradientArray {
  readonly handle: Tensor;
  readonly flow: Tensor;
}

/** The array of gradients of the array behind a handle. */
function gradientArray(handle: Tensor, flow: Tensor, source: string): GradientArray {
  return nameScope('TensorArrayGrad', () =>
    colocateWith(handle, () => {
      const made = node('TensorArrayGradV3', { handle, flow_in: flow }, { attrs: { source } }).outputs[0]!;
      return { handle: made, flow: controlDependencies([made], () => identity(flow, { name: 'gradient_flow' })) };
    }),
  );
}

/** The same for what was written: the array is complete once the write has happened. */
function arrayAfterWrite(
  handle: Tensor,
  flowOut: Tensor,
  dFlow: Gradient,
): GradientArray & { readonly barrier: Tensor } {
  const flow = denseGradient(dFlow);
  const source = sourceOf(flow);
  const written = identity(flowOut, { name: 'flow_out' });
  const barrier = controlDependencies([written], () => identity(flow, { name: 'write_barrier' }));
  return { ...gradientArray(handle, barrier, source), barrier };
}

type Inputs = Readonly<Record<string, TensorLike>>;

/** Stores a gradient by a node under a scope of its own; gives the flow after it. */
function stored(scope: string, type: string, inputs: Inputs): Tensor {
  return nameScope(scope, () => node(type, inputs).outputs[0]!);
}

export function readGradient(handle: Tensor, index: Tensor, flow: Tensor, dy: Gradient): Tensor {
  const value = denseGradient(dy);
  const array = gradientArray(handle, flow, sourceOf(value));
  return stored('TensorArrayWrite', 'TensorArrayWriteV3', { handle: array.handle, index, value, flow_in: array.flow });
}

export function gatherGradient(handle: Tensor, indices: Tensor, flow: Tensor, dy: Gradient): Tensor {
  const value = denseGradient(dy);
  const array = gradientArray(handle, flow, sourceOf(value));
  return stored('TensorArrayScatter', 'TensorArrayScatterV3', {
    handle: array.handle,
    indices,
    value,
    flow_in: array.flow,
  });
}

export function concatGradient(handle: Tensor, flow: Tensor, lengths: Tensor, dy: Gradient): Tensor {
  const value = denseGradient(dy);
  const array = gradientArray(handle, flow, sourceOf(value));
  return nameScope('TensorArraySplit', () => {
    const inputs = { handle: array.handle, value, lengths: cast(lengths, int64), flow_in: array.flow };
    return node('TensorArraySplitV3', inputs).outputs[0]!;
  });
}

interface WriteGradient {
  readonly value: Tensor;
  readonly flow: Tensor;
}

/** The gradient of what a node wrote, got from the array of gradients by the node of the opposite kind. */
function fetched(type: string, dtype: DType, array: GradientArray & { barrier: Tensor }, more: Inputs): WriteGradient {
  const inputs = { handle: array.handle, ...more, flow_in: array.flow };
  return { value: node(type, inputs, { attrs: { dtype } }).outputs[0]!, flow: array.barrier };
}

export function writeGradient(
  handle: Tensor,
  index: Tensor,
  dtype: DType,
  flowOut: Tensor,
  dFlow: Gradient,
): WriteGradient {
  return fetched('TensorArrayReadV3', dtype, arrayAfterWrite(handle, flowOut, dFlow), { index });
}

export function scatterGradient(
  handle: Tensor,
  indices: Tensor,
  dtype: DType,
  flowOut: Tensor,
  dFlow: Gradient,
): WriteGradient {
  return fetched('TensorArrayGatherV3', dtype, arrayAfterWrite(handle, flowOut, dFlow), { indices });
}

export function splitGradient(handle: Tensor, dtype: DType, flowOut: Tensor, dFlow: Gradient): WriteGradient {
  return fetched('TensorArrayConcatV3', dtype, arrayAfterWrite(handle, flowOut, dFlow), {});
}

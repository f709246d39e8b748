/** @file ScatterNd and the TensorScatter ops: updates put into a tensor at index tuples. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { compatible, type Dims, type Shape, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Combine } from '../../program/instructions.ts';
import type { Value } from '../../program/value.ts';
import { zerosLike } from '../math/zerosLike.ts';
import { concreteShape, dimsFrom, filled, int32or64, type Named, zeroElement } from './common.ts';
import { wideIndices } from './gather.ts';
import { explainTuple, gatherNd } from './gatherNd.ts';
import { identity } from './identity.ts';
import { denseGradient } from './indexedSlices.ts';
import { add, cast, equal, mul, negative, truediv } from './neighbours.ts';
import { shape } from './shape.ts';

const policy = attr('string', { default: '' });

/** `updates` must be the shape of `indices` without its last axis, then what a tuple picks. */
function checkUpdates(indices: Dims, updates: Dims, output: Dims): void {
  const depth = indices?.at(-1);
  if (indices === null || updates === null || output === null || depth == null) return;
  if (depth > output.length)
    throw new InvalidArgumentError(
      `indices is ${showShape(indices)}, but the tensor is ${showShape(output)}: tuples of ${depth} index at most as many axes.`,
    );
  const wanted = [...indices.slice(0, -1), ...output.slice(depth)];
  if (!compatible(updates, wanted))
    throw new InvalidArgumentError(
      `updates is ${showShape(updates)}, but indices ${showShape(indices)} into ${showShape(output)} need updates of shape ${showShape(wanted)}.`,
    );
}

/** Combines `updates` into `target`, which is changed. */
function scatterInto(
  p: ProgramBuilder,
  combine: Combine,
  target: Value,
  inputs: { indices: Value; updates: Value },
  options: { ignore: boolean; where?: string },
): Value {
  const { indices, updates } = inputs;
  const output = target.shape;
  const depth = indices.shape.length === 0 ? 1 : indices.shape.at(-1)!;
  if (depth > output.length && sizeOf(updates.shape) > 0)
    throw new InvalidArgumentError(
      `index innermost dimension length must be <= tensor rank; saw: ${depth} vs. ${output.length}`,
    );
  const lead = indices.shape.slice(0, -1);
  const element = output.slice(depth);
  const wanted: Shape = [...lead, ...element];
  if (showRuntime(wanted) !== showRuntime(updates.shape))
    throw new InvalidArgumentError(
      `Dimensions [0,${lead.length}) of indices[shape=${showRuntime(indices.shape)}] must match dimensions [0,${lead.length}) of updates[shape=${showRuntime(updates.shape)}]`,
    );
  const count = sizeOf(lead);
  const inner = sizeOf(element);
  if (count === 0 || inner === 0) return target;
  p.scatter(
    combine,
    p.reshape(target, [...output.slice(0, depth), inner]),
    p.reshape(wideIndices(p, indices), [count, depth]),
    p.reshape(updates, [count, inner]),
    {
      bounds: options.ignore ? 'drop' : 'error',
      explain: explainTuple(indices.shape, output, () => indices.known?.numbers(), options.where ?? 'shape'),
    },
  );
  return target;
}

export const ScatterNd = defineOp({
  name: 'ScatterNd',
  inputs: { indices: 'Tindices', updates: 'T', shape: 'Tindices' },
  outputs: { output: 'T' },
  attrs: {
    T: anyType,
    Tindices: attr('type', { allowed: [d.int16, d.int32, d.int64] }),
    bad_indices_policy: policy,
  },
  hostInputs: ['shape'],
  shape({ indices, updates }, _, context) {
    const output = dimsFrom(context.partial('shape'));
    checkUpdates(indices, updates, output);
    return { output };
  },
  grad: ({ inputs: { indices } }, { output: dy }) => ({ updates: gatherNd(dy, indices) }),
  lower(p, { indices, updates, shape: whole }, { bad_indices_policy }) {
    const dims = concreteShape(p, whole, 'shape');
    const target = filled(p, zeroElement(p, updates.dtype), dims);
    // Strings cannot be added up, so there the last one stays.
    const combine = updates.dtype.isObject ? 'update' : 'add';
    const ignore = bad_indices_policy === 'IGNORE';
    return { output: scatterInto(p, combine, target, { indices, updates }, { ignore }) };
  },
  cases: () => [
    { shape: '[4, 1], [4, ?], [2] -> [8, 3]', given: { shape: { dtype: 'int32', value: [8, 3] } } },
    { shape: '[4, 1], [4], ? -> ?' },
    {
      shape: '[4, 1], [3], [1]',
      given: { shape: { dtype: 'int32', value: [8] } },
      rejects: /need updates of shape \[4\]/,
    },
    {
      given: {
        indices: { dtype: 'int32', value: [[4], [1], [4]] },
        updates: [9, 10, 11],
        shape: { dtype: 'int32', value: [6] },
      },
      expect: { output: [0, 10, 0, 0, 20, 0] },
    },
    {
      given: {
        indices: { dtype: 'int64', value: [[1]] },
        updates: [[5, 6]],
        shape: { dtype: 'int64', value: [2, 2] },
      },
      expect: {
        output: [
          [0, 0],
          [5, 6],
        ],
      },
    },
    {
      given: {
        indices: { dtype: 'int32', value: [[0], [7]] },
        updates: [1, 2],
        shape: { dtype: 'int32', value: [3] },
      },
      fails: /indices\[1\] = \[7\] does not index into shape \[3\]/,
    },
  ],
});

interface TensorScatter {
  readonly name: string;
  readonly combine: Combine;
  readonly indexTypes?: readonly d.DType[];
  grad(context: ScatterContext, dy: Tensor): { tensor: Tensor; updates: Tensor };
  cases(): readonly Case<'tensor' | 'indices' | 'updates', 'output'>[];
}
interface ScatterContext {
  readonly inputs: { readonly tensor: Tensor; readonly indices: Tensor; readonly updates: Tensor };
  readonly outputs: { readonly output: Tensor };
  readonly attrs: { readonly bad_indices_policy: string };
}

function defineTensorScatter({ name, combine, indexTypes, grad, cases }: TensorScatter) {
  return defineOp({
    name,
    inputs: { tensor: 'T', indices: 'Tindices', updates: 'T' },
    outputs: { output: 'T' },
    attrs: {
      T: anyType,
      Tindices: indexTypes ? attr('type', { allowed: indexTypes }) : int32or64,
      bad_indices_policy: policy,
    },
    shape({ tensor, indices, updates }) {
      checkUpdates(indices, updates, tensor);
      return { output: tensor };
    },
    grad: (context, { output: dy }) => grad(context, denseGradient(dy)),
    lower(p, { tensor, indices, updates }, { bad_indices_policy }) {
      const ignore = bad_indices_policy === 'IGNORE';
      return { output: scatterInto(p, combine, p.copy(tensor), { indices, updates }, { ignore }) };
    },
    cases,
  });
}

/** One case that all of them share, with the result that differs. */
const standard = (output: readonly number[]): readonly Case<'tensor' | 'indices' | 'updates', 'output'>[] => [
  { shape: '[4, ?], [2, 1], [2, ?] -> [4, ?]' },
  {
    given: { tensor: [1, 5, 3, 8], indices: { dtype: 'int32', value: [[3], [0]] }, updates: [6, 7] },
    expect: { output },
  },
  {
    given: { tensor: [1, 5], indices: { dtype: 'int32', value: [[2]] }, updates: [6] },
    fails: /indices\[0\] = \[2\] does not index into shape \[2\]/,
  },
];

export const TensorScatterUpdate = defineTensorScatter({
  name: 'TensorScatterUpdate',
  combine: 'update',
  indexTypes: [d.int16, d.int32, d.int64, d.uint16],
  grad({ inputs: { indices, updates } }, dy) {
    const dUpdates = gatherNd(dy, indices);
    const cleared = tensorScatterUpdate(identity(dy), indices, zerosLike(updates, { dtype: dy.dtype }));
    return { tensor: cleared, updates: dUpdates };
  },
  cases: () => standard([7, 5, 3, 6]),
});

export const TensorScatterAdd = defineTensorScatter({
  name: 'TensorScatterAdd',
  combine: 'add',
  grad({ inputs: { indices } }, dy) {
    const updates = gatherNd(dy, indices);
    return { tensor: identity(dy), updates };
  },
  cases: () => standard([8, 5, 3, 14]),
});

export const TensorScatterSub = defineTensorScatter({
  name: 'TensorScatterSub',
  combine: 'sub',
  grad({ inputs: { indices } }, dy) {
    const updates = gatherNd(dy, indices);
    const tensor = identity(dy);
    return { tensor, updates: negative(updates) };
  },
  cases: () => standard([-6, 5, 3, 2]),
});

/** Ties share the gradient evenly, as in TensorFlow. */
function extremeGradient(
  { inputs: { tensor, indices, updates }, outputs, attrs }: ScatterContext,
  dy: Tensor,
): { tensor: Tensor; updates: Tensor } {
  const badIndicesPolicy = attrs.bad_indices_policy;
  const fromTensor = cast(equal(tensor, outputs.output), dy.dtype);
  const result = gatherNd(outputs.output, indices, { badIndicesPolicy });
  const fromUpdate = cast(equal(updates, result), dy.dtype);
  const whole = shape(tensor, { outType: indices.dtype });
  const all = add(fromTensor, scatterNd(indices, fromUpdate, whole, { badIndicesPolicy }));
  const dTensor = truediv(mul(dy, fromTensor), all);
  const dUpdates = mul(gatherNd(truediv(dy, all), indices, { badIndicesPolicy }), fromUpdate);
  return { tensor: dTensor, updates: dUpdates };
}

export const TensorScatterMax = defineTensorScatter({
  name: 'TensorScatterMax',
  combine: 'max',
  grad: extremeGradient,
  cases: () => standard([7, 5, 3, 8]),
});

export const TensorScatterMin = defineTensorScatter({
  name: 'TensorScatterMin',
  combine: 'min',
  grad: extremeGradient,
  cases: () => standard([1, 5, 3, 6]),
});

export const ScatterNdNonAliasingAdd = defineOp({
  name: 'ScatterNdNonAliasingAdd',
  inputs: { input: 'T', indices: 'Tindices', updates: 'T' },
  outputs: { output: 'T' },
  attrs: {
    T: attr('type', {
      // biome-ignore format: a table reads better in rows
      allowed: [
        d.float32, d.float64, d.int32, d.uint8, d.int16, d.int8, d.complex64, d.int64, d.qint8, d.quint8, d.qint32,
        d.bfloat16, d.qint16, d.quint16, d.uint16, d.complex128, d.float16, d.uint32, d.uint64, d.bool,
      ],
    }),
    Tindices: int32or64,
    bad_indices_policy: policy,
  },
  shape({ input, indices, updates }) {
    checkUpdates(indices, updates, input);
    return { output: input };
  },
  grad: ({ inputs: { indices } }, { output: dy }) => ({ input: dy, updates: gatherNd(dy, indices) }),
  lower(p, { input, indices, updates }, { bad_indices_policy }) {
    const ignore = bad_indices_policy === 'IGNORE';
    return { output: scatterInto(p, 'add', p.copy(input), { indices, updates }, { ignore }) };
  },
  cases: () => [
    { shape: '[4, ?], [2, 1], [2, ?] -> [4, ?]' },
    {
      given: { input: [1, 5, 3, 8], indices: { dtype: 'int32', value: [[3], [0]] }, updates: [6, 7] },
      expect: { output: [8, 5, 3, 14] },
    },
  ],
});

export interface ScatterOptions extends Named {
  /** `'IGNORE'` drops indices out of range instead of failing. */
  readonly badIndicesPolicy?: string | undefined;
}

/**
 * Zeros of `shape` with `updates` added at `indices`; equal indices add up. Adds one `ScatterNd` node.
 *
 * @example tf.scatterNd([[1], [3]], [9, 10], [5]) // runs to [ 0  9  0 10  0]
 */
export function scatterNd(
  indices: TensorLike,
  updates: TensorLike,
  shape: TensorLike,
  options: ScatterOptions = {},
): Tensor {
  const { name, badIndicesPolicy = '' } = onlyOptions('tf.scatterNd', options, 'name', 'badIndicesPolicy');
  const attrs = { bad_indices_policy: badIndicesPolicy };
  return ScatterNd.build({ indices, updates, shape }, { name, attrs }).output;
}

function tensorScatter(op: ReturnType<typeof defineTensorScatter>) {
  return (
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    { name, badIndicesPolicy = '' }: ScatterOptions = {},
  ): Tensor => op.build({ tensor, indices, updates }, { name, attrs: { bad_indices_policy: badIndicesPolicy } }).output;
}

type ScatterFunction = (
  tensor: TensorLike,
  indices: TensorLike,
  updates: TensorLike,
  options?: ScatterOptions,
) => Tensor;

/**
 * A copy of `tensor` with `updates` at `indices`. Adds one `TensorScatterUpdate` node.
 *
 * @example tf.tensorScatterUpdate([1, 2, 3], [[1]], [9]) // runs to [1 9 3]
 */
export const tensorScatterUpdate: ScatterFunction = (...args) => tensorScatter(TensorScatterUpdate)(...args);

/**
 * A copy of `tensor` with `updates` added at `indices`. Adds one `TensorScatterAdd` node.
 *
 * @example tf.tensorScatterAdd([1, 2, 3], [[1]], [9]) // runs to [ 1 11  3]
 */
export const tensorScatterAdd: ScatterFunction = (...args) => tensorScatter(TensorScatterAdd)(...args);

/**
 * A copy of `tensor` with `updates` subtracted at `indices`. Adds one `TensorScatterSub` node.
 *
 * @example tf.tensorScatterSub([1, 2, 3], [[1]], [9]) // runs to [ 1 -7  3]
 */
export const tensorScatterSub: ScatterFunction = (...args) => tensorScatter(TensorScatterSub)(...args);

/**
 * A copy of `tensor` with the larger of its element and the update at `indices`. Adds one `TensorScatterMax` node.
 *
 * @example tf.tensorScatterMax([1, 2, 3], [[1]], [9]) // runs to [1 9 3]
 */
export const tensorScatterMax: ScatterFunction = (...args) => tensorScatter(TensorScatterMax)(...args);

/**
 * A copy of `tensor` with the smaller of its element and the update at `indices`. Adds one `TensorScatterMin` node.
 *
 * @example tf.tensorScatterMin([1, 2, 3], [[1]], [0]) // runs to [1 0 3]
 */
export const tensorScatterMin: ScatterFunction = (...args) => tensorScatter(TensorScatterMin)(...args);

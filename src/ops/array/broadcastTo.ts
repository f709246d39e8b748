/** @file BroadcastTo and BroadcastArgs: stretching a tensor to a larger shape. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { intVector } from '../../core/ndarray.ts';
import { broadcastShapes, type Dims, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, indexTypes } from '../../op/attrs.ts';
import { partialValueOf } from '../../op/constantValue.ts';
import { constantNode } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { complete, concreteShape, dimsFrom, type Known, type Named } from './common.ts';
import { broadcastGradientArgs, sum } from './neighbours.ts';
import { reshape } from './reshape.ts';
import { shape as shapeOf } from './shape.ts';

function stretchable(from: Dims, to: Dims): boolean {
  if (from === null || to === null) return true;
  if (from.length > to.length) return false;
  const lead = to.length - from.length;
  return from.every((d, i) => d === null || d === 1 || to[i + lead] == null || to[i + lead] === d);
}

export const BroadcastTo = defineOp({
  name: 'BroadcastTo',
  inputs: { input: 'T', shape: 'Tidx' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Tidx: indexTypes },
  hostInputs: ['shape'],
  shape({ input }, _, context) {
    const output = dimsFrom(context.partial('shape'));
    if (!stretchable(input, output))
      throw new InvalidArgumentError(
        `input is ${showShape(input)}, which cannot be broadcast to ${showShape(output)}: every size must be 1 or equal, counted from the last axis.`,
      );
    return { output };
  },
  grad({ inputs: { input, shape } }, { output: dy }) {
    const inputShape = shapeOf(input, { outType: shape.dtype });
    const known = complete(partialValueOf(shape));
    const whole = known ? constantNode(intVector(known, shape.dtype)) : shape;
    const [, axes] = broadcastGradientArgs(whole, inputShape);
    return { input: reshape(sum(dy, axes, { keepdims: true }), inputShape) };
  },
  lower(p, { input, shape }) {
    const output = concreteShape(p, shape, 'shape');
    if (!stretchable(input.shape, output))
      throw new InvalidArgumentError(
        input.shape.length > output.length
          ? `Rank of input (${input.shape.length}) must be no greater than rank of output shape (${output.length}).`
          : `Incompatible shapes: ${showRuntime(input.shape)} vs. ${showRuntime(output)}`,
      );
    return { output: p.broadcast(input, output) };
  },
  partialValue({ inputs, outputs }, known): Known | undefined {
    const entries = known(inputs.input);
    const count = outputs.output.shape?.length === 1 ? outputs.output.shape[0]! : null;
    if (!entries || count === null) return undefined;
    return entries.length === count ? entries : new Array<number | null>(count).fill(entries[0] ?? null);
  },
  cases: () => [
    { shape: '[?, 1], [3] -> [2, 3, 4]', given: { shape: { dtype: 'int32', value: [2, 3, 4] } } },
    { shape: '[2], [1]', given: { shape: { dtype: 'int32', value: [3] } }, rejects: /cannot be broadcast to \[3\]/ },
    {
      given: { input: [1, 2], shape: { dtype: 'int32', value: [2, 2] } },
      expect: {
        output: [
          [1, 2],
          [1, 2],
        ],
      },
    },
    { given: { input: 'a', shape: { dtype: 'int64', value: [2] } }, expect: { output: ['a', 'a'] } },
  ],
});

export const BroadcastArgs = defineOp({
  name: 'BroadcastArgs',
  inputs: { s0: 'T', s1: 'T' },
  outputs: { r0: 'T' },
  attrs: { T: indexTypes },
  hostInputs: ['s0', 's1'],
  shape: ({ s0, s1 }) => ({ r0: [s0?.[0] == null || s1?.[0] == null ? null : Math.max(s0[0], s1[0])] }),
  grad: notDifferentiable,
  lower: (p, { s0, s1 }, { T }) => ({
    r0: p.constant(intVector(broadcastShapes(p.demandInts(s0), p.demandInts(s1)) as Shape, T)), // known sizes stay known
  }),
  partialValue({ inputs }, known) {
    const a = dimsFrom(known(inputs.s0));
    const b = dimsFrom(known(inputs.s1));
    return broadcastShapes(a, b) ?? undefined;
  },
  cases: () => [
    { shape: '[2], [3] -> [3]' },
    { shape: '[?], [3] -> [?]' },
    {
      given: { s0: { dtype: 'int32', value: [2, 1] }, s1: { dtype: 'int32', value: [3] } },
      expect: { r0: { dtype: 'int32', value: [2, 3] } },
    },
  ],
});

/**
 * The tensor stretched to `shape`. Adds one `BroadcastTo` node.
 *
 * @example tf.broadcastTo(tf.constant([1, 2]), [2, 2]) // runs to [[1 2] [1 2]]
 */
export function broadcastTo(input: TensorLike, shape: TensorLike, options: Named = {}): Tensor {
  return BroadcastTo.build({ input, shape }, options).output;
}

/**
 * The shape that two shapes broadcast to, while building; `null` sizes are unknown. Adds no node.
 *
 * @example tf.broadcastStaticShape([2, 1], [3]) // [2, 3]
 */
export function broadcastStaticShape(shapeX: Dims, shapeY: Dims): Dims {
  return broadcastShapes(shapeX, shapeY);
}

/**
 * The shape that two shapes broadcast to, as a tensor. Adds one `BroadcastArgs` node.
 *
 * @example tf.broadcastDynamicShape([2, 1], [3]) // runs to [2 3]
 */
export function broadcastDynamicShape(shapeX: TensorLike, shapeY: TensorLike): Tensor {
  return BroadcastArgs.build({ s0: shapeX, s1: shapeY }).r0;
}

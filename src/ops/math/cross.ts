/** @file Cross: the cross product of vectors in three dimensions. */
import { FailedPreconditionError, InvalidArgumentError } from '../../core/errors.ts';
import { mergeShapes, sameShape, showRuntime, showShape } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { type AttrSpec, realNumbers } from '../../op/attrs.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import * as e from '../../program/expr.ts';

export const Cross: Op<
  { readonly a: 'T'; readonly b: 'T' },
  { readonly product: 'T' },
  { readonly T: AttrSpec<'type'> }
> = defineOp({
  name: 'Cross',
  inputs: { a: 'T', b: 'T' },
  outputs: { product: 'T' },
  attrs: { T: realNumbers },
  shape({ a, b }) {
    const shape = mergeShapes(a, b);
    if (shape !== null && (shape.length === 0 || (shape.at(-1) ?? 3) !== 3))
      throw new InvalidArgumentError(
        `a is ${showShape(a)} and b is ${showShape(b)}; cross products are only defined for vectors of three elements.`,
      );
    return { product: shape };
  },
  grad: ({ inputs: { a, b } }, { product: dy }) => ({
    a: Cross.build({ a: b, b: dy }).product,
    b: Cross.build({ a: dy, b: a }).product,
  }),
  lower(p, { a, b }) {
    if (!sameShape(a.shape, b.shape))
      throw new InvalidArgumentError(
        `Both inputs must be of same shape: ${showRuntime(a.shape)} vs. ${showRuntime(b.shape)}`,
      );
    const last = a.shape.length - 1;
    if (a.shape[last] !== 3)
      throw new FailedPreconditionError('Cross-products are only defined for 3-element vectors.');
    const part = (value: typeof a, k: number) =>
      p.slice(
        value,
        value.shape.map((_, i) => (i === last ? k : 0)),
        [...value.shape.slice(0, -1), 1],
      );
    const component = (i: number, j: number) =>
      p.map([part(a, i), part(b, j), part(a, j), part(b, i)], (ai, bj, aj, bi) =>
        e.sub(e.mul(ai!, bj!), e.mul(aj!, bi!)),
      );
    return { product: p.concat([component(1, 2), component(2, 0), component(0, 1)], last) };
  },
  cases: () => [
    { shape: '[?, 3], [2, ?] -> [2, 3]' },
    { shape: '[2, 4], [2, 4]', rejects: /vectors of three elements/ },
    { given: { a: [1, 2, 3], b: [3, 1, 2] }, expect: { product: [1, 7, -5] } },
    {
      given: { a: { dtype: 'int32', value: [[1, 0, 0]] }, b: { dtype: 'int32', value: [[0, 1, 0]] } },
      expect: { product: { dtype: 'int32', value: [[0, 0, 1]] } },
    },
  ],
});

/**
 * The cross product along the last axis, which has three elements. Adds one `Cross` node.
 *
 * @example tf.cross([1, 0, 0], [0, 1, 0]) // runs to [0 0 1]
 */
export function cross(a: TensorLike, b: TensorLike, options: { name?: string } = {}): Tensor {
  return Cross.build({ a, b }, options).product;
}

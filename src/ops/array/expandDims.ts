/** @file ExpandDims: a new axis of size 1. */

import { InvalidArgumentError } from '../../core/errors.ts';
import { showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { AxisIn, DTypeOf, Expand, KnownShape, ShapeOf } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, indexTypes } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { type Named, unknownDims, withAxis } from './common.ts';
import { reshapeToInput } from './reshape.ts';

function position(axis: number, rank: number): number {
  if (axis < -1 - rank || axis > rank)
    throw new InvalidArgumentError(
      `Tried to expand dim index ${axis} for tensor with ${rank} dimensions. The axis must be in [${-1 - rank}, ${rank}].`,
    );
  return axis < 0 ? axis + rank + 1 : axis;
}

export const ExpandDims = defineOp({
  name: 'ExpandDims',
  inputs: { input: 'T', dim: 'Tdim' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Tdim: indexTypes },
  hostInputs: ['dim'],
  shape({ input }, _, context) {
    const dim = context.partial('dim');
    if (dim && dim.length > 1)
      throw new InvalidArgumentError(
        `'dim' input must be a tensor with a single value, not ${showShape([dim.length])}`,
      );
    if (input === null) return { output: null };
    if (dim?.[0] == null) return { output: unknownDims(input.length + 1) };
    const at = position(dim[0], input.length);
    return { output: [...input.slice(0, at), 1, ...input.slice(at)] };
  },
  grad: ({ inputs }, { output }) => ({ input: reshapeToInput(inputs.input, output) }),
  lower(p, { input, dim }) {
    const axes = p.demandInts(dim);
    if (axes.length !== 1) throw new InvalidArgumentError("'dim' must be a tensor with a single value");
    const at = position(axes[0]!, input.shape.length);
    return { output: p.reshape(input, [...input.shape.slice(0, at), 1, ...input.shape.slice(at)]) };
  },
  partialValue: ({ inputs }, known) => (inputs.input.rank === 0 ? known(inputs.input) : undefined),
  cases: () => [
    { shape: '[2, ?], [] -> [2, ?, 1]', given: { dim: { dtype: 'int32', value: -1 } } },
    { shape: '[2, ?], [] -> [?, ?, ?]' },
    { shape: '[2], []', given: { dim: { dtype: 'int32', value: 2 } }, rejects: /dim index 2 for tensor with 1/ },
    { given: { input: [1, 2], dim: { dtype: 'int32', value: 0 } }, expect: { output: [[1, 2]] } },
    { given: { input: ['a', 'b'], dim: { dtype: 'int64', value: -1 } }, expect: { output: [['a'], ['b']] } },
    { given: { input: 3, dim: { dtype: 'int32', value: 0 } }, expect: { output: [3] } },
  ],
});

export interface ExpandDimsOptions extends Named {
  /** May stand here, or alone as the second argument. */
  readonly axis: TensorLike;
}

/**
 * A tensor with a new axis of size 1 at `axis`. Adds one `ExpandDims` node.
 *
 * @example tf.expandDims(tf.constant([1, 2]), 0) // runs to [[1 2]]
 */
export function expandDims<X extends TensorLike, const A extends TensorLike | ExpandDimsOptions>(
  input: X,
  axis: A,
  options?: Named,
): Tensor<DTypeOf<X>, KnownShape<Expand<ShapeOf<X>, AxisIn<A, undefined>>>>;
export function expandDims(input: TensorLike, given: TensorLike | ExpandDimsOptions, last: Named = {}): Tensor {
  const { axis, name } = onlyOptions('tf.expandDims', withAxis(given, last as ExpandDimsOptions), 'axis', 'name');
  return ExpandDims.build({ input, dim: axis }, { name }).output;
}

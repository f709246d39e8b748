/** @file Squeeze: removes axes of size 1. */

import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { AxisIn, DTypeOf, KnownShape, ShapeOf, Squeeze as Squeezed } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { type Named, withAxis } from './common.ts';
import { reshapeToInput } from './reshape.ts';

/** The dims that stay; unknown rank when it cannot be told which go. */
function squeezed(dims: Dims, axes: readonly number[]): Dims {
  if (dims === null) return null;
  const rank = dims.length;
  const dropped = axes.map((axis) => {
    if (axis < -rank || axis >= rank)
      throw new InvalidArgumentError(`Tried to squeeze dim index ${axis} for tensor with ${rank} dimensions.`);
    return axis < 0 ? axis + rank : axis;
  });
  for (const axis of dropped)
    if (dims[axis] !== null && dims[axis] !== 1)
      throw new InvalidArgumentError(
        `Can not squeeze dim[${axis}], expected a dimension of 1, got ${dims[axis]}: the input is ${showShape(dims)}`,
      );
  if (axes.length > 0) return dims.filter((_, i) => !dropped.includes(i));
  return dims.includes(null) ? null : dims.filter((d) => d !== 1);
}

export const Squeeze = defineOp({
  name: 'Squeeze',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType, squeeze_dims: attr('list(int)', { default: [], minimum: 0 }) },
  shape: ({ input }, { squeeze_dims }) => ({ output: squeezed(input, squeeze_dims) }),
  grad: ({ inputs }, { output }) => ({ input: reshapeToInput(inputs.input, output) }),
  lower: (p, { input }, { squeeze_dims }) => ({
    output: p.reshape(input, squeezed(input.shape, squeeze_dims)!.map(Number)),
  }),
  partialValue: ({ inputs }, known) => (inputs.input.rank === 1 ? known(inputs.input) : undefined),
  cases: () => [
    { shape: '[1, ?, 1] -> ?' },
    { shape: '[1, ?, 1] -> [1, ?]', attrs: { squeeze_dims: [-1] } },
    { shape: '[1, 2, 1] -> [2]' },
    {
      shape: '[2, 3]',
      attrs: { squeeze_dims: [0] },
      rejects: /Can not squeeze dim\[0\], expected a dimension of 1, got 2/,
    },
    { given: { input: [[[1], [2]]] }, expect: { output: [1, 2] } },
    { given: { input: [[[1], [2]]] }, attrs: { squeeze_dims: [0] }, expect: { output: [[1], [2]] } },
    { given: { input: [['a']] }, expect: { output: 'a' } },
  ],
});

export type SqueezeAxis = number | readonly number[] | null;
export interface SqueezeOptions extends Named {
  /** May stand here, or alone as the second argument. */
  readonly axis?: SqueezeAxis | undefined;
}

/**
 * The tensor without its axes of size 1, or without those named in `axis`. Adds one `Squeeze` node.
 *
 * @example tf.squeeze(tf.constant([[[1], [2]]])) // runs to [1 2]
 */
export function squeeze<X extends TensorLike, const A extends SqueezeAxis | SqueezeOptions | undefined = undefined>(
  input: X,
  axis?: A,
  options?: SqueezeOptions,
): Tensor<DTypeOf<X>, KnownShape<Squeezed<ShapeOf<X>, AxisIn<A, undefined>>>>;
export function squeeze(input: TensorLike, given?: SqueezeAxis | SqueezeOptions, last: SqueezeOptions = {}): Tensor {
  const options = withAxis(given, last);
  const { axis, name } = onlyOptions('tf.squeeze', options, 'axis', 'name');
  const squeeze_dims = typeof axis === 'number' ? [axis] : (axis ?? []);
  return Squeeze.build({ input }, { name, attrs: { squeeze_dims } }).output;
}

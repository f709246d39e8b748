/** @file Placeholder: a tensor whose value is fed at every run. */
import type { DType } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showRuntime } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';

export const Placeholder = defineOp({
  name: 'Placeholder',
  inputs: {},
  outputs: { output: 'dtype' },
  attrs: { dtype: anyType, shape: attr('shape', { default: null }) },
  shape: (_, { shape }) => ({ output: shape }),
  grad: notDifferentiable,
  lower: (_p, _inputs, { dtype, shape }, node) => {
    const expected = shape === null || shape.length === 0 ? '' : ` and shape ${showRuntime(shape)}`;
    throw new InvalidArgumentError(
      `You must feed a value for placeholder tensor '${node.name}' with dtype ${dtype.runtimeName}${expected}`,
    );
  },
  cases: () => [],
});

/**
 * A tensor to be fed: running anything that needs it without a feed is an error. Adds one `Placeholder` node.
 *
 * @example const x = tf.placeholder(tf.float32, [null, 784], { name: 'x' });
 */
export function placeholder<const D extends DType, const S extends Dims = null>(
  dtype: D,
  shape?: S,
  options: { name?: string } = {},
): Tensor<D, S> {
  const attrs = { dtype, shape: shape ?? null };
  return Placeholder.build({}, { name: options.name, attrs }).output as Tensor<D, S>; // the node has just this type and shape
}

/** @file Identity and its relatives: the same value under a new name. */
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';

export const Identity = defineOp({
  name: 'Identity',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType },
  shape: ({ input }) => ({ output: input }),
  grad: (_, dy) => ({ input: dy.output }),
  lower: (_, { input }) => ({ output: input }),
  cases: () => [{ shape: '[2, ?] -> [2, ?]' }, { given: { input: [1, 2] }, expect: { output: [1, 2] } }],
});

/**
 * The same value as another node. Adds one `Identity` node.
 *
 * @example tf.identity(tf.constant([1.5, 2])) // runs to [1.5 2.]
 */
export function identity(input: TensorLike, options: { name?: string } = {}): Tensor {
  return Identity.build({ input }, options).output;
}

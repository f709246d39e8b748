/** @file L2Loss: half the sum of squares. */
import type { DTypeOf } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { floats } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import * as e from '../../program/expr.ts';
import { times } from '../math/operators.ts';

export const L2Loss = defineOp({
  name: 'L2Loss',
  inputs: { t: 'T' },
  outputs: { output: 'T' },
  attrs: { T: floats },
  shape: () => ({ output: [] }),
  grad: ({ inputs: { t } }, { output: dy }) => ({ t: times(t, dy) }),
  lower(p, { t }, { T }) {
    const axes = t.shape.map((_, i) => i);
    const total = p.reduce('sum', t, axes, { of: (x) => e.square(e.cast(x, e.computeType(T))) });
    return { output: p.map([total], (x) => e.cast(e.mul(x!, 0.5), T)) };
  },
  cases: () => [
    { shape: '[2, ?] -> []' },
    { shape: '? -> []' },
    {
      given: {
        t: [
          [1, 2],
          [3, 4],
        ],
      },
      expect: { output: 15 },
    },
    { given: { t: 3 }, expect: { output: 4.5 } },
    { given: { t: { dtype: 'float32', value: [], shape: [0] } }, expect: { output: 0 } },
  ],
});

/**
 * Half the sum of the squares of all elements. Adds one `L2Loss` node.
 *
 * @example tf.nn.l2Loss(tf.constant([1.5, 2])) // runs to 3.125
 */
export function l2Loss<T extends TensorLike>(t: T, options: { name?: string } = {}): Tensor<DTypeOf<T>, readonly []> {
  return L2Loss.build({ t }, options).output as Tensor<DTypeOf<T>, readonly []>; // a scalar of its input's type
}

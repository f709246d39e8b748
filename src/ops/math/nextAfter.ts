/** @file NextAfter: the next float on the way to another. */
import { float32, float64 } from '../../core/dtypes.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import * as e from '../../program/map.ts';
import { ones, zeros } from '../array/fill.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { BroadcastGradientArgs } from './broadcast.ts';
import { broadcastPorts, type NameOption } from './elementwise.ts';
import { times } from './operators.ts';
import { reduceSum } from './reductions.ts';

export const NextAfter = defineOp({
  name: 'NextAfter',
  inputs: { x1: 'T', x2: 'T' },
  outputs: { output: 'T' },
  attrs: { T: attr('type', { allowed: [float64, float32], default: float32 }) },
  shape: ({ x1, x2 }) => ({ output: broadcastPorts(['x1', x1], ['x2', x2]) }),
  grad({ inputs: { x1, x2 } }, { output: dy }) {
    const s1 = shape(x1);
    const s2 = shape(x2);
    const { r0, r1 } = BroadcastGradientArgs.build({ s0: s1, s1: s2 });
    return controlDependencies([dy], () => {
      const by1 = ones(s1, { dtype: x1.dtype });
      const by2 = zeros(s2, { dtype: x2.dtype });
      const first = reshape(reduceSum(times(by1, dy), r0), s1);
      return { x1: first, x2: reshape(reduceSum(times(by2, dy), r1), s2) };
    });
  },
  lower: e.pointwise((x, y) => e.nextafter(x!, y!)),
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    {
      given: { x1: [1, 0, 2], x2: [2, -1, 2] },
      expect: { output: [1.0000001192092896, -1.401298464324817e-45, 2] },
      differentiable: false,
    },
    { given: { x1: [1, 0.5], x2: [2, -1] }, expect: { output: [1.0000001192092896, 0.4999999701976776] } },
  ],
});

/**
 * The next float after `x1` on the way to `x2`. Adds one `NextAfter` node.
 *
 * @example tf.math.nextafter(tf.constant([1.5]), tf.constant([2.5])) // runs to [1.5000001]
 */
export function nextafter(x1: TensorLike, x2: TensorLike, options: NameOption = {}): Tensor {
  return NextAfter.build({ x1, x2 }, options).output;
}

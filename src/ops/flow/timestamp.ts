/** @file Timestamp: the time at which a run comes by. */
import { float64 } from '../../core/dtypes.ts';
import { scalar } from '../../core/ndarray.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';

export const Timestamp = defineOp({
  name: 'Timestamp',
  inputs: {},
  outputs: { ts: 'float64' },
  attrs: {},
  stateful: true,
  shape: () => ({ ts: [] }),
  grad: notDifferentiable,
  lower(p) {
    const [ts] = p.host([], [{ dtype: float64, shape: [] }], () => [scalar(float64, Date.now() / 1000)]);
    return { ts: ts! };
  },
  cases: () => [{ shape: ' -> []' }],
});

/**
 * Seconds since 1970, when the node runs. Adds one `Timestamp` node.
 *
 * @example const seconds = await sess.run(tf.timestamp());
 */
export function timestamp(options: { name?: string } = {}): Tensor {
  return Timestamp.build({}, options).ts;
}

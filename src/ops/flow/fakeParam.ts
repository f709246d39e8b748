/** @file FakeParam: a stand-in for a value of a branch that was not taken. */
import { zeros } from '../../core/ndarray.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';

/** Nobody looks at the value; unknown sizes are 0, so that it costs nothing. */
export const FakeParam = defineOp({
  name: 'FakeParam',
  inputs: {},
  outputs: { output: 'dtype' },
  attrs: { dtype: anyType, shape: attr('shape') },
  shape: (_, { shape }) => ({ output: shape }),
  grad: notDifferentiable,
  lower: (p, _inputs, { dtype, shape }) => ({
    output: p.constant(
      zeros(
        dtype,
        (shape ?? []).map((d) => d ?? 0),
      ),
    ),
  }),
  cases: () => [
    { shape: ' -> [2, ?]', attrs: { dtype: 'float32', shape: [2, null] } },
    {
      given: {},
      attrs: { dtype: 'float32', shape: [0, 3] },
      expect: { output: { dtype: 'float32', shape: [0, 3], value: [] } },
    },
  ],
});

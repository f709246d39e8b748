/** @file IgammaGradA: the derivative of the incomplete gamma function by its first argument. */
import { float32, float64 } from '../../core/dtypes.ts';
import { fromElements } from '../../core/ndarray.ts';
import { broadcastConcrete } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { broadcastPorts } from './elementwise.ts';
import { hostBroadcast } from './hostBroadcast.ts';
import { igammaDerivative } from './hostGamma.ts';

export const IgammaGradA = defineOp({
  name: 'IgammaGradA',
  inputs: { a: 'T', x: 'T' },
  outputs: { z: 'T' },
  attrs: { T: attr('type', { allowed: [float32, float64] }) },
  shape: ({ a, x }) => ({ z: broadcastPorts(['a', a], ['x', x]) }),
  grad: gradientPending('TensorFlow has no second derivative of the incomplete gamma function by a either'),
  lower(p, { a, x }, { T }) {
    const shape = broadcastConcrete(a.shape, x.shape);
    const [z] = p.host([a, x], [{ dtype: T, shape }], async ([first, second]) => {
      const { pairs } = hostBroadcast(first!, second!);
      const slopes = await pairs((i, j) => igammaDerivative(first!.numberAt(i), second!.numberAt(j)));
      return [fromElements(T, shape, slopes)];
    });
    return { z: z! };
  },
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    {
      given: { a: { dtype: 'float64', value: [0.5, 3, 10, 2] }, x: { dtype: 'float64', value: [0.25, 2, 12, 40] } },
      expect: {
        z: {
          dtype: 'float64',
          value: [-0.797947316783223, -0.23184867204398962, -0.09717797203717947, -5.732487245607528e-16],
        },
      },
    },
  ],
});

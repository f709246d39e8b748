/** @file RandomGammaGrad: how a number drawn from the gamma distribution moves with the distribution's parameter. */
import { float32, float64, int32 } from '../../core/dtypes.ts';
import { fromElements } from '../../core/ndarray.ts';
import { broadcastConcrete } from '../../core/shape.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { concat } from '../array/concat.ts';
import { ones } from '../array/fill.ts';
import { getItem } from '../array/getItem.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { shape as shapeOf } from '../array/shape.ts';
import { broadcastPorts } from '../math/elementwise.ts';
import { hostBroadcast } from '../math/hostBroadcast.ts';
import { gammaSampleDerivative } from '../math/hostGamma.ts';
import { times } from '../math/operators.ts';
import { reduceSum } from '../math/reductions.ts';

export const RandomGammaGrad = defineOp({
  name: 'RandomGammaGrad',
  inputs: { alpha: 'T', sample: 'T' },
  outputs: { output: 'T' },
  attrs: { T: attr('type', { allowed: [float32, float64] }) },
  shape: ({ alpha, sample }) => ({ output: broadcastPorts(['alpha', alpha], ['sample', sample]) }),
  grad: gradientPending('TensorFlow has no second derivative of drawn numbers either'),
  lower(p, { alpha, sample }, { T }) {
    const shape = broadcastConcrete(alpha.shape, sample.shape);
    const [output] = p.host([alpha, sample], [{ dtype: T, shape }], async ([a, x]) => {
      const { pairs } = hostBroadcast(a!, x!);
      const slopes = await pairs((i, j) => gammaSampleDerivative(a!.numberAt(i), x!.numberAt(j)));
      return [fromElements(T, shape, slopes)];
    });
    return { output: output! };
  },
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    {
      given: { alpha: [0.5, 1, 4.5, 50], sample: [0.2, 0.3, 5, 45] },
      expect: { output: [0.7940504550933838, 0.5957784056663513, 1.0934116840362549, 0.9514099955558777] },
    },
    {
      given: { alpha: { dtype: 'float64', value: 2.5 }, sample: { dtype: 'float64', value: [0.01, 2.5, 12] } },
      expect: { output: { dtype: 'float64', value: [0.022901968802790315, 1.0686730199876306, 2.110481520182] } },
    },
  ],
});

/** The gradient of `RandomGamma` by `alpha`: the probability below each number stays the same. */
export function randomGammaGradient(shape: Tensor, alpha: Tensor, sample: Tensor, dy: Tensor): Tensor {
  return controlDependencies([dy], () => {
    const count = getItem(shapeOf(shape), [0]);
    const spread = reshape(alpha, concat([ones([count], { dtype: int32 }), shapeOf(alpha)], 0));
    const slopes = RandomGammaGrad.build({ alpha: spread, sample }).output;
    return reduceSum(times(dy, slopes), range(count));
  });
}

/** @file Betainc, the incomplete beta function; and the logarithm of the complete one. */
import { float32, float64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { makeNumbers } from '../../core/makeArray.ts';
import { compatible, type Dims, mergeShapes, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { BroadcastGradientArgs } from './broadcast.ts';
import type { NameOption } from './elementwise.ts';
import { exp } from './exp.ts';
import { Lgamma, lgamma } from './gamma.ts';
import { betainc as betaincOf } from './hostGamma.ts';
import { minus, minusOf, plus, times } from './operators.ts';
import { reduceSum } from './reductions.ts';
import { xlog1py, xlogy } from './xlogy.ts';

/** All arguments that are not scalars must have one shape, which is the result's. */
function commonDims(ports: Readonly<Record<string, Dims>>): Dims {
  let common: Dims | undefined;
  for (const [port, dims] of Object.entries(ports)) {
    if (dims === null || dims.length === 0) continue;
    if (common !== undefined && !compatible(common, dims))
      throw new InvalidArgumentError(
        `${port} is ${showShape(dims)}, but another argument is ${showShape(common)}; all that are not scalars must have one shape.`,
      );
    common = common === undefined ? dims : mergeShapes(common, dims);
  }
  return common ?? (Object.values(ports).includes(null) ? null : []);
}

function commonShape(shapes: Readonly<Record<string, Shape>>): Shape {
  const given = Object.entries(shapes).filter(([, dims]) => dims.length > 0);
  const [first, ...others] = given;
  for (const [port, dims] of others)
    if (`${dims}` !== `${first![1]}`)
      throw new InvalidArgumentError(
        `Shapes of ${first![0]} and ${port} are inconsistent: ${showRuntime(first![1])} vs. ${showRuntime(dims)}`,
      );
  return first?.[1] ?? [];
}

export const Betainc = defineOp({
  name: 'Betainc',
  inputs: { a: 'T', b: 'T', x: 'T' },
  outputs: { z: 'T' },
  attrs: { T: attr('type', { allowed: [float32, float64] }) },
  shape: (ports) => ({ z: commonDims(ports) }),
  // The derivatives by a and b have no closed form, and TensorFlow does not give them either.
  grad({ inputs: { a, b, x } }, { z: dy }) {
    const sa = shape(a);
    const sx = shape(x);
    const { r1 } = BroadcastGradientArgs.build({ s0: sa, s1: sx });
    const [ofA, ofB] = [Lgamma.build({ x: a }).y, Lgamma.build({ x: b }).y];
    const both = plus(ofA, ofB);
    const logBeta = minus(both, Lgamma.build({ x: plus(a, b) }).y);
    // In log space, because the factors overflow long before their product does.
    const [oneLess, opposite] = [minus(b, 1), minusOf(x)];
    const tail = xlog1py(oneLess, opposite);
    const partial = exp(minus(plus(tail, xlogy(minus(a, 1), x)), logBeta));
    return { a: null, b: null, x: reshape(reduceSum(times(partial, dy), r1), sx) };
  },
  lower(p, { a, b, x }, { T }) {
    const common = commonShape({ a: a.shape, b: b.shape, x: x.shape });
    const [z] = p.host([a, b, x], [{ dtype: T, shape: common }], async (arrays) => {
      const [ofA, ofB, ofX] = arrays.map((array) => (i: number) => array.numberAt(array.size === 1 ? 0 : i));
      return [await makeNumbers(T, common, (i) => betaincOf(ofA!(i), ofB!(i), ofX!(i)))];
    });
    return { z: z! };
  },
  cases: () => [
    { shape: '[2, ?], [], [2, 3] -> [2, 3]' },
    { shape: '[2], ?, [2] -> [2]' },
    { shape: '[], ?, [] -> ?' },
    { shape: '[2], [3], []', rejects: /b is \[3\], but another argument is \[2\]/ },
    {
      given: { a: [0.5, 2, 10], b: [0.5, 3, 2], x: [0.1, 0.4, 0.9] },
      expect: { z: [0.2048327624797821, 0.5248000621795654, 0.6973567008972168] },
      // Nothing is passed to a and b, so second derivatives that mix them with x are not complete.
      differentiable: 'once',
    },
    {
      given: {
        a: { dtype: 'float64', value: 2.5 },
        b: { dtype: 'float64', value: 1.5 },
        x: { dtype: 'float64', value: [0.25, 0.75] },
      },
      expect: { z: { dtype: 'float64', value: [0.05766888562243731, 0.6666666666666666] } },
      differentiable: 'once',
    },
    {
      given: { a: [1, -1, 1, 1], b: 2, x: [0, 0.5, 1, 1.5] },
      expect: { z: [0, Number.NaN, 1, Number.NaN] },
      differentiable: false,
    },
  ],
});

/**
 * The incomplete beta function of `x`, divided by the complete one. Adds one `Betainc` node.
 *
 * @example tf.betainc(tf.constant(1.5), 2.5, [0.25, 0.75]) // runs to [0.3333333 0.9423311]
 */
export function betainc(a: TensorLike, b: TensorLike, x: TensorLike, options: NameOption = {}): Tensor {
  return Betainc.build({ a, b, x }, options).z;
}

/**
 * The logarithm of the beta function of the numbers along the last axis. Adds nodes under `lbeta/`.
 *
 * @example tf.lbeta(tf.constant([1.5, 2.5])) // runs to -1.6278589
 */
export function lbeta(x: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.lbeta', options, 'name');
  return nameScope(options.name ?? 'lbeta', () => {
    const values = convertToTensor(x, { name: 'x', hint: float32 });
    const logProduct = reduceSum(lgamma(values), [-1]);
    return minus(logProduct, lgamma(reduceSum(values, [-1])));
  });
}

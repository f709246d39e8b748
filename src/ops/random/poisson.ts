/** @file RandomPoissonV2: numbers of the Poisson distribution, as TensorFlow draws them. */
import * as d from '../../core/dtypes.ts';
import { type DType, float32, int32 } from '../../core/dtypes.ts';
import { makeNumbers } from '../../core/makeArray.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { Philox } from '../../program/philox.ts';
import { concreteShape, dimsFrom } from '../array/common.ts';
import { blocksPerNumber, seedAttrs, shapeTypes } from './distributions.ts';
import { hostGenerator } from './hostGenerator.ts';
import { getSeed, initialState } from './seed.ts';
import { byPairs, uniformPair } from './uniform.ts';

/** log(k!) by Stirling's series, which is exact to a double beyond 16; a sum of logarithms below. */
function logFactorial(k: number): number {
  if (k < 16) {
    let sum = 0;
    for (let i = 2; i <= k; i++) sum += Math.log(i);
    return sum;
  }
  const x = k + 1;
  const square = x * x;
  return (
    (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + (1 - (1 / 30 - 1 / (105 * square)) / square) / (12 * x)
  );
}

/** Knuth's method: how many uniform factors it takes to fall below e^-rate. */
function bySmallRate(rate: number, uniform: () => number): number {
  const limit = Math.exp(-rate);
  let product = uniform();
  let count = 0;
  for (; product > limit; count++) product *= uniform();
  return count;
}

/** Hörmann's transformed rejection (1993); the constants are those of his paper. */
function byLargeRate(rate: number, uniform: () => number): number {
  const b = 0.931 + 2.53 * Math.sqrt(rate);
  const a = -0.059 + 0.02483 * b;
  const inverseAlpha = 1.1239 + 1.1328 / (b - 3.4);
  for (;;) {
    const u = uniform() - 0.5;
    const v = uniform();
    const shifted = 0.5 - Math.abs(u);
    const k = Math.floor(((2 * a) / shifted + b) * u + rate + 0.43);
    // A rectangle under the curve accepts most numbers without logarithms.
    if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
    const left = Math.log((v * inverseAlpha) / (a / (shifted * shifted) + b));
    if (left <= -rate + k * Math.log(rate) - logFactorial(k)) return k;
  }
}

/** Makes number `at` of `count` for each rate, the rate changing fastest. */
function sampler(rates: readonly number[], count: number, state: NDArray): (at: number) => number {
  const random = new Philox(new DataView(state.bytes.buffer, state.bytes.byteOffset), 0);
  return (at) => {
    const k = at % rates.length;
    const rate = rates[k]!;
    random.seek(blocksPerNumber * (k * count + Math.floor(at / rates.length)));
    const uniform = byPairs(() => uniformPair(random));
    return rate < 10 ? bySmallRate(rate, uniform) : byLargeRate(rate, uniform);
  };
}

const numbers = [d.float16, d.float32, d.float64, d.int32, d.int64];

export const RandomPoissonV2 = defineOp({
  name: 'RandomPoissonV2',
  inputs: { shape: 'S', rate: 'R' },
  outputs: { output: 'dtype' },
  attrs: {
    ...seedAttrs,
    S: shapeTypes,
    R: attr('type', { allowed: numbers, default: d.float64 }),
    dtype: attr('type', { allowed: numbers, default: d.int64 }),
  },
  stateful: true,
  effects: 'draws',
  hostInputs: ['shape'],
  shape({ rate }, _, context) {
    const dims = dimsFrom(context.partial('shape'));
    return { output: dims === null || rate === null ? null : [...dims, ...rate] };
  },
  grad: notDifferentiable,
  lower(p, { shape, rate }, { dtype, seed, seed2 }) {
    const dims = concreteShape(p, shape, 'shape');
    const all = [...dims, ...rate.shape];
    const state = hostGenerator(p, () => initialState({ seed, seed2 }), blocksPerNumber * sizeOf(all));
    const [output] = p.host([rate, state], [{ dtype, shape: all }], async ([r, s]) => [
      await makeNumbers(dtype, all, sampler(r!.numbers(), sizeOf(dims), s!)),
    ]);
    return { output: output! };
  },
  cases: () => [
    { shape: '[1], [2] -> [3, 2]', given: { shape: { dtype: 'int32', value: [3] } }, attrs: { R: float32 } },
    {
      given: { shape: { dtype: 'int32', value: [6] }, rate: [0.5, 3, 20] },
      attrs: { seed: 1, seed2: 2 },
      expect: {
        output: {
          dtype: 'int64',
          value: [
            [0, 2, 14],
            [1, 2, 13],
            [0, 4, 30],
            [0, 2, 21],
            [0, 2, 19],
            [1, 2, 19],
          ],
        },
      },
    },
  ],
});

/**
 * Numbers of the Poisson distribution, `shape` of them for each entry of `lam`. Adds one `RandomPoissonV2` node under
 * `random_poisson/`.
 *
 * @example tf.randomPoisson([0.5, 1.5], [10], { seed: 1 })
 */
export function randomPoisson(
  lam: TensorLike,
  shape: TensorLike,
  options: { dtype?: DType; seed?: number | null; name?: string } = {},
): Tensor {
  onlyOptions('tf.randomPoisson', options, 'dtype', 'seed', 'name');
  const dtype = options.dtype ?? float32;
  return nameScope(options.name ?? 'random_poisson', () => {
    const dims = convertToTensor(shape, { dtype: int32, name: 'shape' });
    const attrs = { dtype, ...getSeed(options.seed) };
    return RandomPoissonV2.build({ shape: dims, rate: lam }, { attrs }).output;
  });
}

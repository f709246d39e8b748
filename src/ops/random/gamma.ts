/** @file RandomGamma: numbers of the gamma distribution, by Marsaglia and Tsang's method, as TensorFlow draws them. */
import * as d from '../../core/dtypes.ts';
import { type DType, float32, int32 } from '../../core/dtypes.ts';
import { makeNumbers } from '../../core/makeArray.ts';
import { fromElements, type NDArray } from '../../core/ndarray.ts';
import { sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import { Philox } from '../../program/philox.ts';
import { broadcastDynamicShape, broadcastTo } from '../array/broadcastTo.ts';
import { concreteShape, dimsFrom } from '../array/common.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { shape as shapeOf } from '../array/shape.ts';
import { maximum } from '../math/maximum.ts';
import { over } from '../math/operators.ts';
import { blocksPerNumber, seedAttrs, shapeTypes } from './distributions.ts';
import { randomGammaGradient } from './gammaGrad.ts';
import { hostGenerator } from './hostGenerator.ts';
import { getSeed, initialState } from './seed.ts';
import { byPairs, normalPair, uniformPair } from './uniform.ts';

/** One number of the gamma distribution with this shape parameter and scale 1. */
function gamma(alpha: number, random: Philox): number {
  const uniform = byPairs(() => uniformPair(random));
  if (alpha === 1) return -Math.log1p(-uniform());
  const normal = byPairs(() => normalPair(random));
  // Below 1 the method does not work: draw for alpha + 1 and scale down by a power of a uniform number.
  const boosted = alpha < 1;
  const a = alpha + (boosted ? 2 / 3 : -1 / 3);
  const c = 1 / 3 / Math.sqrt(a);
  for (;;) {
    const x = normal();
    const root = 1 + c * x;
    if (root <= 0) continue;
    const v = root * root * root;
    const u = uniform();
    // The first test accepts most numbers without a logarithm.
    if (u < 1 - 0.0331 * (x * x) * (x * x) || Math.log(u) < 0.5 * x * x + a * (1 - v + Math.log(v)))
      return boosted ? a * v * uniform() ** (1 / alpha) : a * v;
  }
}

/** Makes number `at` of `count` for each shape parameter, the parameter changing fastest. */
function sampler(alphas: readonly number[], count: number, state: NDArray): (at: number) => number {
  const random = new Philox(new DataView(state.bytes.buffer, state.bytes.byteOffset), 0);
  return (at) => {
    const k = at % alphas.length;
    random.seek(blocksPerNumber * (k * count + Math.floor(at / alphas.length)));
    return gamma(alphas[k]!, random);
  };
}

export const RandomGamma = defineOp({
  name: 'RandomGamma',
  inputs: { shape: 'S', alpha: 'T' },
  outputs: { output: 'T' },
  attrs: { ...seedAttrs, S: shapeTypes, T: attr('type', { allowed: [d.float16, d.float32, d.float64] }) },
  stateful: true,
  effects: 'draws',
  hostInputs: ['shape'],
  shape({ alpha }, _, context) {
    const dims = dimsFrom(context.partial('shape'));
    return { output: dims === null || alpha === null ? null : [...dims, ...alpha] };
  },
  grad: ({ inputs: { shape, alpha }, outputs: { output } }, dy) => ({
    alpha: randomGammaGradient(shape, alpha, output, denseGradient(dy.output)),
  }),
  lower(p, { shape, alpha }, { T, seed, seed2 }) {
    const dims = concreteShape(p, shape, 'shape');
    const count = sizeOf(dims);
    const all = [...dims, ...alpha.shape];
    const state = hostGenerator(p, () => initialState({ seed, seed2 }), blocksPerNumber * sizeOf(all));
    const [output] = p.host([alpha, state], [{ dtype: T, shape: all }], async ([a, s]) => [
      await makeNumbers(T, all, sampler(a!.numbers(), count, s!)),
    ]);
    return { output: output! };
  },
  cases: () => [
    { shape: '[1], [2] -> [3, 2]', given: { shape: { dtype: 'int32', value: [3] } } },
    { shape: '?, [2] -> ?' },
    {
      given: { shape: { dtype: 'int32', value: [2] }, alpha: [0.5, 1, 4.5] },
      attrs: { seed: 1, seed2: 2 },
      expect: {
        output: [
          [0.014439557678997517, 0.25191307067871094, 4.572410583496094],
          [0.19106529653072357, 0.3340418338775635, 2.2034051418304443],
        ],
      },
      differentiable: false,
    },
  ],
});

export interface GammaOptions {
  /** The inverse scale, 1 unless given. */
  readonly beta?: TensorLike | undefined;
  readonly dtype?: DType | undefined;
  readonly seed?: number | null | undefined;
  readonly name?: string | undefined;
}

/**
 * Numbers of the gamma distribution, `shape` of them for each entry of `alpha`. Adds nodes under `random_gamma/`.
 *
 * @example tf.randomGamma([10], [0.5, 1.5], { seed: 1 })
 */
export function randomGamma(shape: TensorLike, alpha: TensorLike, options: GammaOptions = {}): Tensor {
  onlyOptions('tf.randomGamma', options, 'beta', 'dtype', 'seed', 'name');
  const dtype = options.dtype ?? float32;
  return nameScope(options.name ?? 'random_gamma', () => {
    const dims = convertToTensor(shape, { dtype: int32, name: 'shape' });
    const a = convertToTensor(alpha, { dtype, name: 'alpha' });
    const b = convertToTensor(options.beta ?? 1, { dtype, name: 'beta' });
    const spread = broadcastTo(a, broadcastDynamicShape(shapeOf(a), shapeOf(b)));
    const drawn = RandomGamma.build({ shape: dims, alpha: spread }, { attrs: getSeed(options.seed) }).output;
    return maximum(fromElements(dtype, [], [smallest(dtype)]), over(drawn, b));
  });
}

/** The smallest positive normal number. */
function smallest(dtype: DType): number {
  if (dtype === d.float64) return 2 ** -1022;
  return dtype === d.float32 ? 2 ** -126 : 2 ** -14;
}

/** @file Multinomial: samples of class numbers, drawn with the probabilities that logits give. */

import * as d from '../../core/dtypes.ts';
import { type DType, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { makeNumbers } from '../../core/makeArray.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { showRuntime, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr, realNumbers } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { blocksPerNumber, seedAttrs } from './distributions.ts';
import { getSeed, initialState } from './seed.ts';
import { unitDouble } from './uniform.ts';

/** Running totals of exp(logit - largest); what is not finite has no weight. */
function weights(logits: NDArray, row: number, classes: number): Float64Array {
  const values = Array.from({ length: classes }, (_, k) => logits.numberAt(row * classes + k));
  const largest = values.reduce((m, x) => (Number.isFinite(x) ? Math.max(m, x) : m), -Number.MAX_VALUE);
  let total = 0;
  return Float64Array.from(values, (x) => (total += Number.isFinite(x) ? Math.exp(x - largest) : 0));
}

/** The first class whose running total lies above the mark. */
function classAt(totals: Float64Array, mark: number): number {
  let [low, high] = [0, totals.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (totals[middle]! > mark) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Samples for each row, two random words each. */
export function sampleClasses(logits: NDArray, words: NDArray, samples: number, dtype: DType): Promise<NDArray> {
  const [rows, classes] = logits.shape as [number, number]; // checked to be a matrix
  let totals: Float64Array = new Float64Array(0);
  return makeNumbers(dtype, [rows, samples], (i) => {
    if (i % samples === 0) totals = weights(logits, i / samples, classes);
    const unit = unitDouble(Number(words.data[2 * i]), Number(words.data[2 * i + 1]));
    return classAt(totals, unit * (totals.at(-1) ?? 0));
  });
}

export const Multinomial = defineOp({
  name: 'Multinomial',
  inputs: { logits: 'T', num_samples: 'int32' },
  outputs: { output: 'output_dtype' },
  attrs: {
    ...seedAttrs,
    T: realNumbers,
    output_dtype: attr('type', { allowed: [d.int32, d.int64], default: d.int64 }),
  },
  stateful: true,
  effects: 'draws',
  hostInputs: ['num_samples'],
  shape({ logits, num_samples }, _, context) {
    if (logits !== null && logits.length !== 2)
      throw new InvalidArgumentError(`logits is ${showShape(logits)}, but must have rank 2: [batch, classes].`);
    if (num_samples !== null && num_samples.length !== 0)
      throw new InvalidArgumentError(`num_samples is ${showShape(num_samples)}, but must be a scalar.`);
    return { output: [logits?.[0] ?? null, context.partial('num_samples')?.[0] ?? null] };
  },
  grad: notDifferentiable,
  lower(p, { logits, num_samples }, { output_dtype, seed, seed2 }) {
    if (logits.shape.length !== 2)
      throw new InvalidArgumentError(`logits should be a matrix, got shape ${showRuntime(logits.shape)}`);
    if (num_samples.shape.length !== 0)
      throw new InvalidArgumentError(`num_samples should be a scalar, got shape ${showRuntime(num_samples.shape)}`);
    const [samples] = p.demandInts(num_samples) as [number]; // a scalar
    if (samples < 0) throw new InvalidArgumentError(`num_samples should be nonnegative, got ${samples}`);
    const [rows, classes] = logits.shape as [number, number]; // rank checked
    if (classes <= 0) throw new InvalidArgumentError(`num_classes should be positive, got ${classes}`);
    const words = p.random('bits', d.uint32, [2 * rows * samples], {
      state: () => initialState({ seed, seed2 }),
      // TensorFlow rounds the samples of a row up to whole blocks, and sets aside blocks for twice as many.
      reserve: blocksPerNumber * rows * Math.ceil(samples / 4) * 4 * 2,
    });
    const [output] = p.host([logits, words], [{ dtype: output_dtype, shape: [rows, samples] }], async ([x, w]) => [
      await sampleClasses(x!, w!, samples, output_dtype),
    ]);
    return { output: output! };
  },
  cases: () => [
    { shape: '[2, ?], [] -> [2, 4]', given: { num_samples: { dtype: 'int32', value: 4 } } },
    { shape: '?, [] -> [?, ?]' },
    { shape: '[3], []', rejects: /must have rank 2/ },
    {
      given: {
        logits: [
          [0, 0, 0],
          [-5, 5, 4],
        ],
        num_samples: { dtype: 'int32', value: 6 },
      },
      attrs: { seed: 1, seed2: 2 },
      expect: {
        output: {
          dtype: 'int64',
          value: [
            [0, 1, 0, 0, 2, 2],
            [1, 1, 2, 1, 1, 1],
          ],
        },
      },
    },
  ],
});

export interface MultinomialOptions {
  readonly seed?: number | null | undefined;
  readonly name?: string | undefined;
  /** int64 unless said otherwise. */
  readonly outputDtype?: DType | undefined;
}

function samplesOf(logits: TensorLike, num_samples: TensorLike, seed: number | null | undefined, dtype: DType): Tensor {
  const x = convertToTensor(logits, { name: 'logits' });
  if (dtype !== d.int32 && dtype !== d.int64)
    throw userError(`class numbers are int32 or int64, but ${dtype} was asked for.`);
  return Multinomial.build({ logits: x, num_samples }, { attrs: { ...getSeed(seed), output_dtype: dtype } }).output;
}

/**
 * Class numbers drawn with probabilities `softmax(logits)`, a row of them for each row of logits. Adds one `Multinomial`
 * node under `multinomial/`.
 *
 * @example tf.multinomial(tf.log([[0.5, 0.5]]), 4, { seed: 1 })
 */
export function multinomial(logits: TensorLike, numSamples: TensorLike, options: MultinomialOptions = {}): Tensor {
  onlyOptions('tf.multinomial', options, 'seed', 'name', 'outputDtype');
  return nameScope(options.name ?? 'multinomial', () =>
    samplesOf(logits, numSamples, options.seed, options.outputDtype ?? int64),
  );
}

/**
 * The same as `multinomial`, under TensorFlow's newer name. Adds one `Multinomial` node under `categorical/`.
 *
 * @example tf.random.categorical(tf.log([[0.5, 0.5]]), 4, { seed: 1 })
 */
export function categorical(
  logits: TensorLike,
  numSamples: TensorLike,
  options: { dtype?: DType; seed?: number | null; name?: string } = {},
): Tensor {
  onlyOptions('tf.random.categorical', options, 'dtype', 'seed', 'name');
  return nameScope(options.name ?? 'categorical', () =>
    samplesOf(logits, numSamples, options.seed, options.dtype ?? int64),
  );
}

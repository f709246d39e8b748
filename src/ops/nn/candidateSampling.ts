/** @file The functions of tf.nn and tf.random that draw classes, and find those that were true ones. */
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import type { Named } from '../array/common.ts';
import { getSeed } from '../random/seed.ts';
import {
  AllCandidateSampler,
  ComputeAccidentalHits,
  FixedUnigramCandidateSampler,
  LearnedUnigramCandidateSampler,
  LogUniformCandidateSampler,
  UniformCandidateSampler,
} from './candidateSamplers.ts';

/** What samplers give: the sampled classes, and how often the true and the sampled ones are expected among them. */
export type SampledCandidates = readonly [
  sampledCandidates: Tensor,
  trueExpectedCount: Tensor,
  sampledExpectedCount: Tensor,
];

export interface SamplerOptions extends Named {
  readonly seed?: number | null | undefined;
}

type Sampled = ReturnType<(typeof UniformCandidateSampler)['build']>;
const inOrder = (given: Sampled): SampledCandidates => [
  given.sampled_candidates,
  given.true_expected_count,
  given.sampled_expected_count,
];

const attrsOf = (numTrue: number, numSampled: number, unique: boolean, seed: number | null | undefined) => ({
  num_true: numTrue,
  num_sampled: numSampled,
  unique,
  ...getSeed(seed),
});

type RangeSampler = (
  trueClasses: TensorLike,
  numTrue: number,
  numSampled: number,
  unique: boolean,
  rangeMax: number,
  options?: SamplerOptions,
) => SampledCandidates;

/** A function that draws from [0, rangeMax) by one of the ops that need no more than that. */
const rangeSampler =
  (op: typeof UniformCandidateSampler, functionName: string): RangeSampler =>
  (trueClasses, numTrue, numSampled, unique, rangeMax, options = {}) => {
    const { seed, name } = onlyOptions(functionName, options, 'seed', 'name');
    const attrs = { ...attrsOf(numTrue, numSampled, unique, seed), range_max: rangeMax };
    return inOrder(op.build({ true_classes: trueClasses }, { name, attrs }));
  };

/**
 * Classes drawn from [0, rangeMax), all equally likely. Adds one `UniformCandidateSampler` node.
 *
 * @example const [sampled] = tf.nn.uniformCandidateSampler(labels, 1, 64, true, 10000)
 */
export const uniformCandidateSampler: RangeSampler = rangeSampler(
  UniformCandidateSampler,
  'tf.nn.uniformCandidateSampler',
);

/**
 * Classes drawn from [0, rangeMax), small numbers more likely, as in a vocabulary sorted by frequency. Adds one
 * `LogUniformCandidateSampler` node.
 *
 * @example const [sampled] = tf.nn.logUniformCandidateSampler(labels, 1, 64, true, 10000)
 */
export const logUniformCandidateSampler: RangeSampler = rangeSampler(
  LogUniformCandidateSampler,
  'tf.nn.logUniformCandidateSampler',
);

const learnedUnigramSampler = rangeSampler(LearnedUnigramCandidateSampler, 'tf.nn.learnedUnigramCandidateSampler');

/**
 * Classes drawn as often as they were seen among the true ones so far. Adds one `LearnedUnigramCandidateSampler` node.
 *
 * @example const [sampled] = tf.nn.learnedUnigramCandidateSampler(labels, 1, 64, true, 10000)
 */
export const learnedUnigramCandidateSampler: RangeSampler = (
  trueClasses,
  numTrue,
  numSampled,
  unique,
  rangeMax,
  options,
) => {
  if (rangeMax > 2 ** 31 - 1) throw userError(`Value of rangeMax:${rangeMax} is too large to handle`);
  return learnedUnigramSampler(trueClasses, numTrue, numSampled, unique, rangeMax, options);
};

export interface FixedUnigramOptions extends SamplerOptions {
  /** A file with a line per class, its weight after the last comma. */
  readonly vocabFile?: string | undefined;
  /** The power that weights are taken to. */
  readonly distortion?: number | undefined;
  readonly numReservedIds?: number | undefined;
  readonly numShards?: number | undefined;
  readonly shard?: number | undefined;
  /** The weights, where there is no file. */
  readonly unigrams?: readonly number[] | undefined;
}

/**
 * Classes drawn by given weights. Adds one `FixedUnigramCandidateSampler` node.
 *
 * @example const [sampled] = tf.nn.fixedUnigramCandidateSampler(labels, 1, 2, true, 3, { unigrams: [1, 2, 3] })
 */
export function fixedUnigramCandidateSampler(
  trueClasses: TensorLike,
  numTrue: number,
  numSampled: number,
  unique: boolean,
  rangeMax: number,
  options: FixedUnigramOptions = {},
): SampledCandidates {
  const names = [
    'vocabFile',
    'distortion',
    'numReservedIds',
    'numShards',
    'shard',
    'unigrams',
    'seed',
    'name',
  ] as const;
  const given = onlyOptions('tf.nn.fixedUnigramCandidateSampler', options, ...names);
  const {
    vocabFile = '',
    distortion = 1,
    numReservedIds = 0,
    numShards = 1,
    shard = 0,
    unigrams = [],
    seed,
    name,
  } = given;
  const attrs = {
    ...attrsOf(numTrue, numSampled, unique, seed),
    range_max: rangeMax,
    vocab_file: vocabFile,
    distortion,
    num_reserved_ids: numReservedIds,
    num_shards: numShards,
    shard,
    unigrams,
  };
  return inOrder(FixedUnigramCandidateSampler.build({ true_classes: trueClasses }, { name, attrs }));
}

/**
 * All classes, for trying things out. Adds one `AllCandidateSampler` node.
 *
 * @example tf.nn.allCandidateSampler(tf.constant([[1]], tf.int64), 1, 3, true)[0] // runs to [0 1 2]
 */
export function allCandidateSampler(
  trueClasses: TensorLike,
  numTrue: number,
  numSampled: number,
  unique: boolean,
  options: SamplerOptions = {},
): SampledCandidates {
  const { seed, name } = onlyOptions('tf.nn.allCandidateSampler', options, 'seed', 'name');
  const attrs = attrsOf(numTrue, numSampled, unique, seed);
  return inOrder(AllCandidateSampler.build({ true_classes: trueClasses }, { name, attrs }));
}

/** Rows, places among the samples, and weights of the lowest float, of the samples that are true classes of a row. */
export type AccidentalHits = readonly [indices: Tensor, ids: Tensor, weights: Tensor];

/**
 * Where sampled classes happen to be true ones. Adds one `ComputeAccidentalHits` node.
 *
 * @example tf.nn.computeAccidentalHits(tf.constant([[1], [4]], tf.int64), tf.constant([4, 5], tf.int64), 1)[0] // runs to [1]
 */
export function computeAccidentalHits(
  trueClasses: TensorLike,
  sampledCandidates: TensorLike,
  numTrue: number,
  options: SamplerOptions = {},
): AccidentalHits {
  const { seed, name } = onlyOptions('tf.nn.computeAccidentalHits', options, 'seed', 'name');
  const ports = { true_classes: trueClasses, sampled_candidates: sampledCandidates };
  const { indices, ids, weights } = ComputeAccidentalHits.build(ports, {
    name,
    attrs: { num_true: numTrue, ...getSeed(seed) },
  });
  return [indices, ids, weights];
}

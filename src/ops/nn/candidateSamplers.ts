/** @file Candidate samplers: classes drawn to stand for all classes in the loss of a classifier with very many. */
import { readFileSync } from 'node:fs';
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError, NotFoundError, ResourceExhaustedError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { Philox } from '../../program/philox.ts';
import type { Value } from '../../program/value.ts';
import { ofRank } from '../array/common.ts';
import { seedAttrs } from '../random/distributions.ts';
import { hostGenerator } from '../random/hostGenerator.ts';
import { initialState, type Seeds } from '../random/seed.ts';
import {
  aliasSampler,
  drawClasses,
  logUniformSampler,
  type RangeSampler,
  shardWeights,
  uniformSampler,
  vocabularyWeights,
  weightedSampler,
} from './rangeSamplers.ts';

const inputs = { true_classes: 'int64' } as const;
const outputs = {
  sampled_candidates: 'int64',
  true_expected_count: 'float32',
  sampled_expected_count: 'float32',
} as const;
const common = {
  num_true: attr('int', { minimum: 1 }),
  num_sampled: attr('int', { minimum: 1 }),
  unique: attr('bool'),
};
const rangeMax = attr('int', { minimum: 1 });

interface Form extends Seeds {
  readonly num_true: number;
  readonly num_sampled: number;
  readonly unique: boolean;
}

/** As many candidates as can be drawn one after the other. */
const mostSampled = 2 ** 27;
function checkCount(count: number): void {
  if (count > mostSampled) throw new ResourceExhaustedError(`OOM when allocating ${count} candidates`);
}

function candidateShape(trueClasses: readonly (number | null)[] | null, { num_true, num_sampled }: Form) {
  const [batch] = ofRank(trueClasses, 2, 'true_classes');
  return {
    sampled_candidates: [num_sampled],
    true_expected_count: [batch!, num_true],
    sampled_expected_count: [num_sampled],
  };
}

/** Checks true classes and gives them as numbers. */
function classesOf(array: NDArray, range: number): number[] {
  const values = array.numbers();
  const bad = values.find((value) => value < 0 || value >= range);
  if (bad !== undefined)
    throw new InvalidArgumentError(`\`true_candidate\` out of range [0, ${range}), received ${bad}`);
  return values;
}

/** Draws with a sampler made for each run; `weights`, where there are any, are an input of it and change with the draw. */
function lowerSampler(
  p: ProgramBuilder,
  trueClasses: Value,
  range: number,
  form: Form,
  make: (weights: Int32Array | undefined) => RangeSampler,
  weights?: Value,
) {
  const { num_true, num_sampled, unique } = form;
  const { shape } = trueClasses;
  if (shape.length !== 2) throw new InvalidArgumentError('true_classes must be a matrix');
  if (shape[1] !== num_true)
    throw new InvalidArgumentError(`true_classes must have num_true columns, expected: ${shape[1]} was: ${num_true}`);
  if (unique && num_sampled > range) throw new InvalidArgumentError("Sampler's range is too small.");
  checkCount(num_sampled);
  // TensorFlow sets 2048 words of the generator aside for every sample.
  const state = hostGenerator(p, () => initialState(form), 512 * num_sampled);
  const results = [
    { dtype: d.int64, shape: [num_sampled] },
    { dtype: d.float32, shape },
    { dtype: d.float32, shape: [num_sampled] },
  ];
  const counted = weights ? [{ dtype: d.int32, shape: weights.shape }] : [];
  const given = [state, trueClasses, ...(weights ? [weights] : [])];
  const [sampled, trueCounts, sampledCounts, changed] = p.host(given, [...results, ...counted], (arrays) => {
    const [generator, classes, old] = arrays as [NDArray, NDArray, NDArray?]; // one for each of `given`
    const trueOnes = classesOf(classes, range);
    const { bytes } = generator;
    const random = new Philox(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0);
    const now = old && Int32Array.from(old.numbers());
    const draw = drawClasses(make(now), random, { count: num_sampled, unique, trueClasses: trueOnes });
    const drawn = [
      new NDArray(d.int64, [num_sampled], draw.sampled),
      new NDArray(d.float32, shape, draw.trueCounts),
      new NDArray(d.float32, [num_sampled], draw.sampledCounts),
    ];
    if (!now) return drawn;
    for (const value of trueOnes) now[value]!++;
    return [...drawn, new NDArray(d.int32, [now.length], now)];
  });
  if (weights) p.copyInto(changed!, weights);
  return { sampled_candidates: sampled!, true_expected_count: trueCounts!, sampled_expected_count: sampledCounts! };
}

/** An op that only its distribution tells from the others. */
function simpleSampler(name: string, make: (range: number) => RangeSampler) {
  return defineOp({
    name,
    inputs,
    outputs,
    attrs: { ...common, range_max: rangeMax, ...seedAttrs },
    stateful: true,
    effects: 'draws',
    shape: ({ true_classes }, form) => candidateShape(true_classes, form),
    grad: notDifferentiable,
    lower: (p, { true_classes }, form) =>
      lowerSampler(p, true_classes, form.range_max, form, () => make(form.range_max)),
    cases: () => samplerCases(),
  });
}

/** An op that learns how frequent the true classes are: each begins with weight 1 and gains 1 every time it is seen. */
function learnedSampler(name: string) {
  return defineOp({
    name,
    inputs,
    outputs,
    attrs: { ...common, range_max: rangeMax, ...seedAttrs },
    stateful: true,
    shape: ({ true_classes }, form) => candidateShape(true_classes, form),
    grad: notDifferentiable,
    lower(p, { true_classes }, form) {
      const { range_max } = form;
      if (range_max >= 2 ** 31 - 1)
        throw new InvalidArgumentError(`range_max is ${range_max}, but must be below ${2 ** 31 - 1}`);
      const ones = () => new Uint8Array(new Int32Array(range_max).fill(1).buffer);
      const buffer = p.state.nodeState(`${p.node}/weights`, ones);
      const weights = { buffer, dtype: d.int32, shape: [range_max], strides: [1], offset: 0 };
      return lowerSampler(p, true_classes, range_max, form, (now) => weightedSampler(now!), weights);
    },
    cases: () => samplerCases(),
  });
}

function samplerCases() {
  const form = { num_true: 2, num_sampled: 4, unique: true, range_max: 7, seed: 3, seed2: 8 };
  const classes = {
    dtype: 'int64' as const,
    value: [
      [1, 2],
      [6, 0],
      [3, 3],
    ],
  };
  return [
    { shape: '[?, 2] -> [4], [?, 2], [4]', attrs: form },
    { shape: '? -> [4], [?, 2], [4]', attrs: form },
    { shape: '[2]', attrs: form, rejects: /rank 2/ },
    { given: { true_classes: classes }, attrs: form },
    { given: { true_classes: classes }, attrs: { ...form, unique: false, num_sampled: 20, range_max: 8 } },
    { given: { true_classes: classes }, attrs: { ...form, range_max: 1000, num_sampled: 50, seed: 17 } },
    { given: { true_classes: classes }, attrs: { ...form, num_sampled: 8 }, fails: /Sampler's range is too small/ },
    {
      given: { true_classes: classes },
      attrs: { ...form, range_max: 6 },
      fails: /`true_candidate` out of range \[0, 6\), received 6/,
    },
    { given: { true_classes: classes }, attrs: { ...form, num_true: 3 }, fails: /num_true columns/ },
  ];
}

export const UniformCandidateSampler = simpleSampler('UniformCandidateSampler', uniformSampler);
export const LogUniformCandidateSampler = simpleSampler('LogUniformCandidateSampler', logUniformSampler);
export const LearnedUnigramCandidateSampler = learnedSampler('LearnedUnigramCandidateSampler');
export const ThreadUnsafeUnigramCandidateSampler = learnedSampler('ThreadUnsafeUnigramCandidateSampler');

/** Every class, once. */
const everyClass: RangeSampler = { sample: () => 0, probability: () => 1 };

export const AllCandidateSampler = defineOp({
  name: 'AllCandidateSampler',
  inputs,
  outputs,
  attrs: { ...common, ...seedAttrs },
  stateful: true,
  effects: 'draws',
  shape: ({ true_classes }, form) => candidateShape(true_classes, form),
  grad: notDifferentiable,
  lower(p, { true_classes }, form) {
    const count = form.num_sampled;
    checkCount(count);
    let next = 0;
    const each = { ...everyClass, sample: () => next++ % count };
    const drawn = lowerSampler(p, true_classes, count, { ...form, unique: false }, () => {
      next = 0;
      return each;
    });
    return {
      sampled_candidates: drawn.sampled_candidates,
      true_expected_count: p.fill(d.float32, true_classes.shape, 1),
      sampled_expected_count: p.fill(d.float32, [count], 1),
    };
  },
  cases: () => [
    { shape: '[?, 1] -> [3], [?, 1], [3]', attrs: { num_true: 1, num_sampled: 3, unique: true } },
    {
      given: { true_classes: { dtype: 'int64', value: [[1], [2]] } },
      attrs: { num_true: 1, num_sampled: 3, unique: true },
      expect: {
        sampled_candidates: { dtype: 'int64', value: [0, 1, 2] },
        true_expected_count: [[1], [1]],
        sampled_expected_count: [1, 1, 1],
      },
    },
    {
      given: { true_classes: { dtype: 'int64', value: [[3]] } },
      attrs: { num_true: 1, num_sampled: 3, unique: false },
      fails: /`true_candidate` out of range \[0, 3\), received 3/,
    },
  ],
});

function readVocabulary(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new NotFoundError(`${file}; No such file or directory`, { cause });
  }
}

export const FixedUnigramCandidateSampler = defineOp({
  name: 'FixedUnigramCandidateSampler',
  inputs,
  outputs,
  attrs: {
    ...common,
    range_max: rangeMax,
    vocab_file: attr('string', { default: '' }),
    distortion: attr('float', { default: 1 }),
    num_reserved_ids: attr('int', { default: 0 }),
    num_shards: attr('int', { default: 1, minimum: 1 }),
    shard: attr('int', { default: 0, minimum: 0 }),
    unigrams: attr('list(float)', { default: [] }),
    ...seedAttrs,
  },
  stateful: true,
  effects: 'draws',
  shape: ({ true_classes }, form) => candidateShape(true_classes, form),
  grad: notDifferentiable,
  lower(p, { true_classes }, form) {
    const { vocab_file, unigrams, range_max, distortion, num_reserved_ids, num_shards, shard } = form;
    if (vocab_file === '' && unigrams.length === 0)
      throw new InvalidArgumentError('Must provide either vocab_file or unigrams.');
    if (vocab_file !== '' && unigrams.length > 0)
      throw new InvalidArgumentError('Must only provide one of vocab_file and unigrams.');
    const given = vocab_file === '' ? unigrams : vocabularyWeights(readVocabulary(vocab_file));
    if (num_reserved_ids > range_max)
      throw new InvalidArgumentError(
        `num_reserved_ids must be at most range_max: ${num_reserved_ids} vs. ${range_max}`,
      );
    const shards = { distortion, reserved: num_reserved_ids, shards: num_shards, shard };
    const weights = shardWeights(given, shards);
    if (weights.length !== range_max)
      throw new InvalidArgumentError(`range is ${range_max} must be equal to weights size  ${weights.length}`);
    const sampler = aliasSampler(weights);
    return lowerSampler(p, true_classes, range_max, form, () => sampler);
  },
  cases: () => {
    const form = { num_true: 1, num_sampled: 6, unique: false, seed: 3, seed2: 8 };
    const classes = { dtype: 'int64' as const, value: [[0], [2], [3]] };
    return [
      { shape: '[?, 1] -> [6], [?, 1], [6]', attrs: { ...form, range_max: 4 } },
      { given: { true_classes: classes }, attrs: { ...form, range_max: 4, unigrams: [1, 2, 3, 4] } },
      {
        given: { true_classes: classes },
        attrs: { ...form, range_max: 5, unigrams: [1, 2.5, 3, 4], num_reserved_ids: 1, distortion: 0.75 },
      },
      {
        given: { true_classes: classes },
        attrs: {
          ...form,
          range_max: 4,
          num_sampled: 2,
          unique: true,
          unigrams: [9, 1, 1, 3, 5, 7, 2, 4],
          num_shards: 2,
          shard: 1,
        },
      },
      { given: { true_classes: classes }, attrs: { ...form, range_max: 4 }, fails: /either vocab_file or unigrams/ },
      {
        given: { true_classes: classes },
        attrs: { ...form, range_max: 4, unigrams: [1] },
        fails: /range is 4 must be equal to weights size {2}1/,
      },
      {
        given: { true_classes: classes },
        attrs: { ...form, range_max: 4, vocab_file: '/no/such/vocabulary' },
        fails: /No such file or directory/,
      },
    ];
  },
});

export const ComputeAccidentalHits = defineOp({
  name: 'ComputeAccidentalHits',
  inputs: { true_classes: 'int64', sampled_candidates: 'int64' },
  outputs: { indices: 'int32', ids: 'int64', weights: 'float32' },
  attrs: { num_true: attr('int'), ...seedAttrs },
  shape({ true_classes, sampled_candidates }, { num_true }) {
    const [, columns] = ofRank(true_classes, 2, 'true_classes');
    if (columns != null && columns !== num_true)
      throw new InvalidArgumentError(`true_classes has ${columns} columns, but num_true is ${num_true}.`);
    ofRank(sampled_candidates, 1, 'sampled_candidates');
    return { indices: [null], ids: [null], weights: [null] };
  },
  grad: notDifferentiable,
  lower(p, { true_classes, sampled_candidates }, { num_true }) {
    const results = [{ dtype: d.int32 }, { dtype: d.int64 }, { dtype: d.float32 }];
    const [indices, ids, weights] = p.host([true_classes, sampled_candidates], results, ([truth, sampled]) => {
      if (truth!.rank !== 2 || truth!.shape[1] !== num_true)
        throw new InvalidArgumentError('true_candidates must be a batch_size * num_true matrix');
      if (sampled!.rank !== 1)
        throw new InvalidArgumentError(
          'sampled_candidates must be a vector, which is typically an output from CandidateSampler',
        );
      // Of equal samples the last one counts.
      const places = new Map(sampled!.numbers().map((value, i) => [value, i]));
      const hits = truth!.numbers().flatMap((value, i) => {
        const place = places.get(value);
        return place === undefined ? [] : [[Math.floor(i / num_true), place] as const];
      });
      const count = [hits.length];
      return [
        new NDArray(
          d.int32,
          count,
          Int32Array.from(hits, ([row]) => row),
        ),
        new NDArray(
          d.int64,
          count,
          BigInt64Array.from(hits, ([, place]) => BigInt(place)),
        ),
        new NDArray(d.float32, count, new Float32Array(hits.length).fill(d.float32.min)),
      ];
    });
    return { indices: indices!, ids: ids!, weights: weights! };
  },
  cases: () => [
    { shape: '[?, 2], [?] -> [?], [?], [?]', attrs: { num_true: 2 } },
    { shape: '[?, 3], [?]', attrs: { num_true: 2 }, rejects: /3 columns, but num_true is 2/ },
    {
      given: {
        true_classes: {
          dtype: 'int64',
          value: [
            [1, 2],
            [0, 4],
            [3, 3],
          ],
        },
        sampled_candidates: { dtype: 'int64', value: [0, 1, 3, 3] },
      },
      attrs: { num_true: 2 },
      expect: {
        indices: { dtype: 'int32', value: [0, 1, 2, 2] },
        ids: { dtype: 'int64', value: [1, 0, 3, 3] },
        weights: [d.float32.min, d.float32.min, d.float32.min, d.float32.min],
      },
    },
    {
      given: {
        true_classes: { dtype: 'int64', value: [[1]] },
        sampled_candidates: { dtype: 'int64', value: [0] },
      },
      attrs: { num_true: 1 },
      expect: {
        indices: { dtype: 'int32', value: [], shape: [0] },
        ids: { dtype: 'int64', value: [], shape: [0] },
        weights: { dtype: 'float32', value: [], shape: [0] },
      },
    },
  ],
});

/** @file Metrics: nodes, local variables and values after several batches as real TensorFlow's. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { type Built, expectAsInTensorFlow, readGolden } from './golden.ts';

const chances = [0.1, 0.8, 0.4, 0.6, 0.35, 0.9];
const decisions = chances.map((p) => Number(p > 0.5));
const truths = [0, 1, 1, 0, 0, 1];
const weightValues = [1, 0.5, 2, 1, 0, 1];
const classes = { labels: [0, 1, 2, 1, 2, 0], predictions: [0, 2, 2, 1, 1, 0] };
const collected = { metricsCollections: ['m'], updatesCollections: 'u' };

type Result = readonly [value: tf.Fetch, update: tf.Fetch];
interface Setting {
  readonly shape?: readonly (number | null)[];
  readonly dtype?: tf.DType;
  readonly predictionType?: tf.DType;
  readonly labels?: readonly unknown[];
  readonly predictions?: readonly unknown[];
  readonly weighted?: boolean;
}
type Make = (labels: tf.Tensor, predictions: tf.Tensor, weights: { weights?: tf.Tensor }) => Result;

const inRows = (values: readonly unknown[], shape: readonly (number | null)[]) =>
  shape.length === 2 ? [values.slice(0, 3), values.slice(3)] : values;

function withPair(make: Make, setting: Setting = {}): () => Built {
  const { shape = [6], dtype = tf.float32, predictionType = tf.float32 } = setting;
  return () => {
    const labels = tf.placeholder(dtype, shape, { name: 'labels' });
    const predictions = tf.placeholder(predictionType, shape, { name: 'predictions' });
    const feeds: [tf.Tensor, unknown][] = [
      [labels, inRows(setting.labels ?? truths, shape)],
      [predictions, inRows(setting.predictions ?? chances, shape)],
    ];
    return result(feeds, setting.weighted, [6], weightValues, (w) => make(labels, predictions, w));
  };
}

function result(
  feeds: [tf.Tensor, unknown][],
  weighted: boolean | undefined,
  shape: number[],
  values: number[],
  make: (weights: { weights?: tf.Tensor }) => Result,
): Built {
  if (weighted) {
    const weights = tf.placeholder(tf.float32, shape, { name: 'weights' });
    const [value, update] = make({ weights });
    return { fetches: [update, value], feeds: [...feeds, [weights, values]] };
  }
  const [value, update] = make({});
  return { fetches: [update, value], feeds };
}

function withValues(make: (values: tf.Tensor, weights: { weights?: tf.Tensor }) => Result, weighted = false) {
  return (): Built => {
    const values = tf.placeholder(tf.float32, [6], { name: 'values' });
    return result([[values, chances]], weighted, [6], weightValues, (w) => make(values, w));
  };
}

const scores = [[0.1, 0.7, 0.2, 0], [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]; // biome-ignore format: a matrix
const wanted = [[1, 2], [3, 1], [0, 9]]; // biome-ignore format: a matrix

function withScores(make: Make, { labels = wanted as readonly unknown[], weighted = false } = {}) {
  return (): Built => {
    const shape = Array.isArray(labels[0]) ? [3, 2] : [3];
    const target = tf.placeholder(tf.int64, shape, { name: 'labels' });
    const predictions = tf.placeholder(tf.float32, [3, 4], { name: 'predictions' });
    const feeds: [tf.Tensor, unknown][] = [
      [target, labels],
      [predictions, scores],
    ];
    return result(feeds, weighted, [3], [1, 0.5, 2], (w) => make(target, predictions, w));
  };
}

function withUnknown(make: Make) {
  return (): Built => {
    const labels = tf.placeholder(tf.int64, null, { name: 'labels' });
    const predictions = tf.placeholder(tf.int64, null, { name: 'predictions' });
    const weights = tf.placeholder(tf.float32, null, { name: 'weights' });
    const [value, update] = make(labels, predictions, { weights });
    const feeds: [tf.Tensor, unknown][] = [
      [labels, [1, 2, 2]],
      [predictions, [[1], [3], [2]]],
      [weights, [[1], [3], [2]]],
    ];
    return { fetches: [update, value], feeds };
  };
}

function withSparse(
  make: (labels: tf.SparseTensor, predictions: tf.Tensor, weights: { weights?: tf.Tensor }) => Result,
  weighted = false,
) {
  return (): Built => {
    const places = [[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]]; // biome-ignore format: a matrix
    const classIds = tf.constant([1, 2, 3, 0, 9], tf.int64);
    const target = new tf.SparseTensor(places, classIds, [3, 2]);
    const predictions = tf.placeholder(tf.float32, [3, 4], { name: 'predictions' });
    return result([[predictions, scores]], weighted, [3], [1, 0.5, 2], (w) => make(target, predictions, w));
  };
}

function withIndices(make: (labels: tf.Tensor, found: tf.Tensor) => Result) {
  return (): Built => {
    const labels = tf.placeholder(tf.int64, [2, 3], { name: 'labels' });
    const found = tf.placeholder(tf.int32, [2, 2], { name: 'found' });
    const feeds: [tf.Tensor, unknown][] = [
      [labels, [[1, 1, 2], [0, 3, 0]]], // biome-ignore format: a matrix
      [found, [[1, 1], [4, 0]]], // biome-ignore format: a matrix
    ];
    return result(feeds, false, [], [], () => make(labels, found));
  };
}

const m = tf.metrics;
const integers: Setting = { dtype: tf.int64, predictionType: tf.int64, ...classes };
const decided: Setting = { predictions: decisions };
const thresholds = [0.3, 0.5, 0.7];

const cases: Record<string, () => Built> = {
  mean: withValues((x) => m.mean(x, collected)),
  meanWeighted: withValues((x, w) => m.mean(x, w), true),
  meanTensor: withValues((x, w) => m.meanTensor(x, w), true),
  percentageBelow: withValues((x) => m.percentageBelow(x, 0.5)),
  accuracy: withPair((l, p) => m.accuracy(l, p, collected), integers),
  accuracyWeighted: withPair((l, p, w) => m.accuracy(l, p, { ...w, name: 'mine' }), { ...integers, weighted: true }),
  accuracyOfUnknownBatch: withPair((l, p) => m.accuracy(l, p), { ...integers, shape: [null] }),
  meanAbsoluteError: withPair((l, p) => m.meanAbsoluteError(l, p)),
  meanSquaredError: withPair((l, p, w) => m.meanSquaredError(l, p, w), { weighted: true }),
  rootMeanSquaredError: withPair((l, p) => m.rootMeanSquaredError(l, p, collected)),
  meanRelativeError() {
    const labels = tf.placeholder(tf.float32, [6], { name: 'labels' });
    const predictions = tf.placeholder(tf.float32, [6], { name: 'predictions' });
    const normalizer = tf.placeholder(tf.float32, [6], { name: 'normalizer' });
    const [value, update] = m.meanRelativeError(labels, predictions, normalizer);
    const feeds: [tf.Tensor, unknown][] = [
      [labels, [1, 2, 3, 4, 5, 6]],
      [predictions, [2, 2, 1, 4, 4, 9]],
      [normalizer, [1, 2, 0, 4, 5, 6]],
    ];
    return { fetches: [update, value], feeds };
  },
  meanCosineDistance: withPair((l, p) => m.meanCosineDistance(l, p, 0, collected), { shape: [2, 3] }),
  precision: withPair((l, p) => m.precision(l, p, collected), {
    dtype: tf.bool,
    predictionType: tf.bool,
    labels: truths.map((x) => x > 0),
    predictions: decisions.map((x) => x > 0),
  }),
  recall: withPair((l, p, w) => m.recall(l, p, w), { ...decided, weighted: true }),
  truePositives: withPair((l, p) => m.truePositives(l, p, collected), decided),
  falsePositives: withPair((l, p) => m.falsePositives(l, p, collected), decided),
  trueNegatives: withPair((l, p) => m.trueNegatives(l, p, collected), decided),
  falseNegatives: withPair((l, p) => m.falseNegatives(l, p, collected), decided),
  truePositivesWeighted: withPair((l, p, w) => m.truePositives(l, p, w), { ...decided, weighted: true }),
  truePositivesAtThresholds: withPair((l, p) => m.truePositivesAtThresholds(l, p, thresholds)),
  falsePositivesAtThresholds: withPair((l, p) => m.falsePositivesAtThresholds(l, p, thresholds)),
  trueNegativesAtThresholds: withPair((l, p) => m.trueNegativesAtThresholds(l, p, thresholds)),
  falseNegativesAtThresholds: withPair((l, p) => m.falseNegativesAtThresholds(l, p, thresholds)),
  precisionAtThresholds: withPair((l, p, w) => m.precisionAtThresholds(l, p, thresholds, w), { weighted: true }),
  recallAtThresholds: withPair((l, p) => m.recallAtThresholds(l, p, thresholds)),
  auc: withPair((l, p) => m.auc(l, p, collected)),
  aucWeighted: withPair((l, p, w) => m.auc(l, p, { ...w, numThresholds: 10 }), { weighted: true }),
  aucPrecisionRecall: withPair((l, p) => m.auc(l, p, { curve: 'PR', numThresholds: 10 })),
  aucCareful: withPair((l, p) =>
    m.auc(l, p, { curve: 'PR', numThresholds: 10, summationMethod: 'careful_interpolation' }),
  ),
  aucMinoring: withPair((l, p) => m.auc(l, p, { numThresholds: 10, summationMethod: 'minoring' })),
  aucMajoring: withPair((l, p) => m.auc(l, p, { thresholds: [0.7, 0.2], summationMethod: 'majoring' })),
  sensitivityAtSpecificity: withPair((l, p) => m.sensitivityAtSpecificity(l, p, 0.6, { numThresholds: 20 })),
  specificityAtSensitivity: withPair((l, p) => m.specificityAtSensitivity(l, p, 0.6, { numThresholds: 20 })),
  meanIou: withPair((l, p) => m.meanIou(l, p, 3), integers),
  meanIouWeighted: withPair((l, p, w) => m.meanIou(l, p, 3, w), { ...integers, weighted: true }),
  meanPerClassAccuracy: withPair((l, p) => m.meanPerClassAccuracy(l, p, 3), integers),
  meanPerClassAccuracyWeighted: withPair((l, p, w) => m.meanPerClassAccuracy(l, p, 3, w), {
    ...integers,
    weighted: true,
  }),
  recallAtK: withScores((l, p) => m.recallAtK(l, p, 2, collected)),
  recallAtKOfVector: withScores((l, p) => m.recallAtK(l, p, 2), { labels: [1, 3, 0] }),
  recallAtKOfClass: withScores((l, p) => m.recallAtK(l, p, 2, { classId: 1 })),
  precisionAtK: withScores((l, p, w) => m.precisionAtK(l, p, 2, { ...w, name: 'mine' }), { weighted: true }),
  precisionAtKOfClass: withScores((l, p) => m.precisionAtK(l, p, 2, { classId: 1 })),
  averagePrecisionAtK: withScores((l, p) => m.averagePrecisionAtK(l, p, 3)),
  averagePrecisionAtKWeighted: withScores((l, p, w) => m.averagePrecisionAtK(l, p, 2, { ...w, ...collected }), {
    weighted: true,
  }),
  accuracyOfUnknownRank: withUnknown((l, p, w) => m.accuracy(l, p, w)),
  precisionOfUnknownRank: withUnknown((l, p, w) => m.precision(l, p, w)),
  recallAtKOfSparse: withSparse((l, p) => m.recallAtK(l, p, 2)),
  recallAtKOfSparseClass: withSparse((l, p) => m.recallAtK(l, p, 2, { classId: 2 })),
  precisionAtKOfSparse: withSparse((l, p, w) => m.precisionAtK(l, p, 3, w), true),
  averagePrecisionAtKOfSparse: withSparse((l, p) => m.averagePrecisionAtK(l, p, 3)),
  averagePrecisionAtOneOfSparse: withSparse((l, p, w) => m.averagePrecisionAtK(l, p, 1, w), true),
  atKOfUnknownRank() {
    const target = tf.placeholder(tf.int64, null, { name: 'labels' });
    const predictions = tf.placeholder(tf.float32, [null, 4], { name: 'predictions' });
    const [value, update] = m.recallAtK(target, predictions, 2, { classId: 1 });
    const [average, averageUpdate] = m.averagePrecisionAtK(target, predictions, 2);
    const feeds: [tf.Tensor, unknown][] = [
      [target, [1, 3, 0]],
      [predictions, scores],
    ];
    return { fetches: [update, value, averageUpdate, average], feeds };
  },
  recallAtTopK: withIndices((l, found) => m.recallAtTopK(l, found)),
  precisionAtTopK: withIndices((l, found) => m.precisionAtTopK(l, found, { k: 2 })),
};

describe('metrics', () => {
  const golden = readGolden('metrics');
  it('cover what TensorFlow recorded', () => expect(Object.keys(cases).sort()).toEqual(Object.keys(golden).sort()));
  for (const [name, make] of Object.entries(cases)) it(name, () => expectAsInTensorFlow(golden[name]!, make));

  it('start again when the local variables are initialized', async () => {
    const graph = new tf.Graph();
    const { values, value, update } = graph.asDefault(() => {
      const values = tf.placeholder(tf.float32, [null]);
      const [value, update] = tf.metrics.mean(values);
      return { values, value, update };
    });
    const reset = graph.asDefault(() => tf.localVariablesInitializer());
    const sess = new tf.Session({ graph });
    await sess.run(reset);
    expect((await sess.run(update, [[values, [1, 2, 3]]])).item()).toBe(2);
    expect((await sess.run(update, [[values, [6]]])).item()).toBe(3);
    expect((await sess.run(value)).item()).toBe(3);
    await sess.run(reset);
    expect((await sess.run(value)).item()).toBe(0);
  });

  it('fit ranks that are not known while building', async () => {
    const labels = tf.placeholder(tf.int64, null);
    const predictions = tf.placeholder(tf.int64, null);
    const weights = tf.placeholder(tf.float32, null);
    const [, update] = tf.metrics.accuracy(labels, predictions, { weights, name: 'of_unknown_rank' });
    const reset = tf.localVariablesInitializer();
    const sess = new tf.Session();
    const run = async (l: unknown, p: unknown, w: unknown) => {
      await sess.run(reset);
      return (
        await sess.run(update, [
          [labels, l as never],
          [predictions, p as never],
          [weights, w as never],
        ])
      ).item();
    };
    expect(await run([1, 2], [[1], [3]], [[1], [3]])).toBe(0.25);
    expect(await run([[1], [2]], [1, 3], 2)).toBe(0.5);
    expect(await run([[1, 2]], [[1, 3]], [3])).toBe(0.5);
  });

  it('refuse predictions outside [0, 1] where they are chances', async () => {
    const predictions = tf.placeholder(tf.float32, [2]);
    const [, update] = tf.metrics.auc([1, 0], predictions, { name: 'checked' });
    const sess = new tf.Session();
    await sess.run(tf.localVariablesInitializer());
    await expect(sess.run(update, [[predictions, [0.5, 1.5]]])).rejects.toThrow(/predictions must be in \[0, 1\]/);
  });
});

describe('confusionMatrix', () => {
  it('counts, weighs, and refuses classes it does not have', async () => {
    const sess = new tf.Session();
    const matrix = await sess.run(tf.confusionMatrix([1, 2, 4], [2, 2, 4]));
    expect(matrix.toArray()).toEqual([
      [0, 0, 0, 0, 0],
      [0, 0, 1, 0, 0],
      [0, 0, 1, 0, 0],
      [0, 0, 0, 0, 0],
      [0, 0, 0, 0, 1],
    ]);
    const weighed = tf.confusionMatrix([0, 1], [1, 1], { numClasses: 2, weights: [0.5, 2], dtype: tf.float32 });
    expect((await sess.run(weighed)).toArray()).toEqual([
      [0, 0.5],
      [0, 2],
    ]);
    const labels = tf.placeholder(tf.int32, [2]);
    const outside = tf.confusionMatrix(labels, [0, 1], { numClasses: 2 });
    await expect(sess.run(outside, [[labels, [0, 2]]])).rejects.toThrow(/`labels` out of bound/);
    await expect(sess.run(outside, [[labels, [0, -1]]])).rejects.toThrow(/`labels` contains negative values/);
  });
});

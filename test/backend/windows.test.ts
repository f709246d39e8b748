/** @file Pooling, sampled losses and CTC build TensorFlow's nodes, gradients included, and give its values. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { type Build, describeCalls, Inputs } from './goldenCalls.ts';

/** Cases whose gradient is differentiated as well. */
const twice = new Set([
  ...['maxPool', 'maxPool lists', 'maxPool unknown', 'maxPool1d', 'maxPool3d'],
  ...['avgPool', 'avgPool2d', 'avgPool1d', 'avgPool3d'],
]);

const { nn } = tf;
const classes = () => tf.constant([[1, 4], [0, 7], [3, 3]], tf.int64); // biome-ignore format: a matrix

const pools: Record<string, Build> = {
  maxPool: (x) => nn.maxPool(x.of([2, 5, 6, 3]), 2, 2, 'SAME'),
  'maxPool lists': (x) => nn.maxPool(x.of([1, 5, 6, 2]), [1, 3, 2, 1], [1, 2, 1, 1], 'VALID', { name: 'mine' }),
  'maxPool unknown': (x) =>
    nn.maxPool(x.of([1, 4, 4, 2], 'x', { static: [null, null, 4, 2] }), [2, 2], [1, 2], 'VALID'),
  'maxPool explicit': (x) => nn.maxPool(x.of([1, 5, 6, 2]), 3, 2, [[0, 0], [1, 2], [0, 1], [0, 0]]), // biome-ignore format: pairs
  maxPool1d: (x) => nn.maxPool1d(x.of([2, 7, 3]), 3, 2, 'SAME'),
  maxPool2d: (x) => nn.maxPool2d(x.of([1, 4, 4, 2]), 2, 1, 'VALID'),
  maxPool3d: (x) => nn.maxPool3d(x.of([1, 3, 4, 4, 2]), 2, [1, 2, 1], 'SAME'),
  maxPoolV2: (x) => nn.maxPoolV2(x.of([1, 3, 4, 4, 2]), 2, 2, 'VALID'),
  avgPool: (x) => nn.avgPool(x.of([2, 5, 6, 3]), 2, 2, 'SAME'),
  avgPool2d: (x) => nn.avgPool2d(x.of([1, 5, 6, 2], 'x', { static: [null, 5, 6, 2] }), [3, 2], [2, 1], 'VALID'),
  avgPool1d: (x) => nn.avgPool1d(x.of([2, 7, 3]), 3, 2, 'VALID'),
  avgPool3d: (x) => nn.avgPool3d(x.of([1, 3, 4, 4, 2]), [2, 2, 3], 2, 'SAME'),
  avgPoolV2: (x) => nn.avgPoolV2(x.of([1, 4, 4, 2]), 2, 2, 'VALID'),
  maxPoolWithArgmax(x) {
    const { output, argmax } = nn.maxPoolWithArgmax(x.of([2, 5, 6, 3]), [1, 2, 2, 1], [1, 2, 2, 1], 'SAME');
    return [output, argmax];
  },
  'pool max': (x) => nn.pool(x.of([1, 6, 5, 2]), [2, 3], 'MAX', 'SAME', { strides: [2, 1] }),
  'pool avg': (x) => nn.pool(x.of([1, 6, 2]), [2], 'AVG', 'VALID'),
  'pool volume': (x) => nn.pool(x.of([1, 3, 3, 3, 1]), [2, 2, 2], 'MAX', 'VALID', { name: 'mine' }),
  'pool dilated': (x) => nn.pool(x.of([1, 7, 6, 2]), [2, 2], 'MAX', 'VALID', { dilationRate: [2, 3] }),
  lrn: (x) => nn.localResponseNormalization(x.of([2, 2, 3, 7]), { depthRadius: 2, bias: 1.5, alpha: 0.3, beta: 0.7 }),
  'lrn default': (x) => nn.lrn(x.of([1, 2, 2, 12])),
  fractionalMaxPool: (x) =>
    fractional(
      nn.fractionalMaxPool(x.of([2, 9, 11, 2]), [1, 1.44, 1.73, 1], {
        ...fixed,
        pseudoRandom: true,
        overlapping: true,
      }),
    ),
  fractionalAvgPool: (x) => fractional(nn.fractionalAvgPool(x.of([1, 9, 11, 2]), [1, 1.5, 1.7, 1], fixed)),
};

const fixed = { deterministic: true, seed: 5, seed2: 9 };
const fractional = ({ output, rowPoolingSequence, colPoolingSequence }: ReturnType<typeof nn.fractionalMaxPool>) => [
  output,
  rowPoolingSequence,
  colPoolingSequence,
];

function sampled(loss: typeof nn.sampledSoftmaxLoss | typeof nn.nceLoss, options: object = {}): Build {
  return (x) => {
    const labels = classes();
    const [w, b, h] = [x.of([8, 4], 'w'), x.of([8], 'b', { seed: 2 }), x.of([3, 4], 'h', { seed: 3 })];
    return loss(w, b, labels, h, 5, 8, { numTrue: 2, ...options });
  };
}

type Sampler = (...args: [tf.Tensor, number, number, boolean, number, { seed: number }]) => readonly tf.Tensor[];

function drawn(sampler: Sampler, options: object = {}): Build {
  return (x) => {
    const labels = classes();
    const values = sampler(labels, 2, 4, true, 8, { seed: 3, ...options }) as [tf.Tensor, tf.Tensor, tf.Tensor]; // three
    const [w, b, h] = [x.of([8, 4], 'w'), x.of([8], 'b'), x.of([3, 4], 'h')];
    return [...values, nn.nceLoss(w, b, labels, h, 4, 8, { numTrue: 2, sampledValues: values })];
  };
}

const seeded =
  (build: Build): Build =>
  (x) => {
    tf.setRandomSeed(11);
    return build(x);
  };

const losses: Record<string, Build> = {
  nceLoss: seeded(sampled(nn.nceLoss)),
  'nceLoss without hits': seeded(sampled(nn.nceLoss, { removeAccidentalHits: true, name: 'mine' })),
  sampledSoftmaxLoss: sampled(nn.sampledSoftmaxLoss, { seed: 4 }),
  'sampledSoftmaxLoss div'(x) {
    const tables = [x.of([4, 3], 'w0'), x.of([4, 3], 'w1', { seed: 2 })];
    const b = x.of([8], 'b');
    const labels = tf.constant([[1], [5]]);
    return nn.sampledSoftmaxLoss(tables, b, labels, x.of([2, 3], 'h'), 3, 8, { partitionStrategy: 'div', seed: 7 });
  },
  uniformCandidateSampler: drawn(nn.uniformCandidateSampler),
  logUniformCandidateSampler: drawn(nn.logUniformCandidateSampler),
  learnedUnigramCandidateSampler: drawn(nn.learnedUnigramCandidateSampler),
  fixedUnigramCandidateSampler: drawn(nn.fixedUnigramCandidateSampler, { unigrams: [1, 2, 3, 4, 1, 1, 5, 2] }),
  allCandidateSampler: () => nn.allCandidateSampler(classes(), 2, 8, true),
};

const labels = () => {
  const places = [[0, 0], [0, 1], [1, 0]]; // biome-ignore format: a matrix
  const values = tf.constant([0, 2, 1], tf.int32);
  return new tf.SparseTensor(places, values, [2, 2]);
};
const parts = ([paths, scores]: ReturnType<typeof nn.ctcGreedyDecoder>) => [
  ...paths.flatMap((path) => [path.indices, path.values, path.denseShape]),
  scores,
];

const ctc: Record<string, Build> = {
  ctcLoss: (x) => nn.ctcLoss(labels(), x.of([5, 2, 4]), [5, 4]),
  'ctcLoss batch major': (x) =>
    nn.ctcLoss(labels(), x.of([2, 5, 4]), [5, 3], { ctcMergeRepeated: false, timeMajor: false }),
  ctcGreedyDecoder: (x) => parts(nn.ctcGreedyDecoder(x.of([6, 2, 4]), [6, 3])),
  ctcBeamSearchDecoder: (x) => parts(nn.ctcBeamSearchDecoder(x.of([6, 2, 4]), [6, 3], { beamWidth: 5, topPaths: 2 })),
  ctcBeamSearchDecoderV2: (x) => parts(nn.ctcBeamSearchDecoderV2(x.of([6, 2, 4]), [6, 3])),
};

const cases: Record<string, Build> = { ...pools, ...losses, ...ctc };

const newInputs = () => new Inputs(tf.float32);
describeCalls('windows.json', cases, {
  inputs: newInputs,
  tolerance: 3e-6,
  order: (name) => (twice.has(name) ? 2 : 1),
});

describe('learned unigrams', () => {
  it('make classes likelier the more often they were seen', async () => {
    const graph = new tf.Graph();
    const counts = graph.asDefault(() => {
      const [, trueCounts] = nn.learnedUnigramCandidateSampler(classes(), 2, 4, false, 8, { seed: 3 });
      return trueCounts;
    });
    const sess = new tf.Session({ graph });
    const seen = [];
    for (let i = 0; i < 3; i++) seen.push((await sess.run(counts)).numbers());
    // Every class begins with weight 1 of 8; each run adds six classes, one of them twice.
    expect(seen[0]).toEqual([0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);
    for (const [k, expected] of [[1, [2, 2, 2, 2, 3, 3]] as const, [2, [3, 3, 3, 3, 5, 5]] as const])
      for (const [i, weight] of expected.entries()) expect(seen[k]![i]).toBeCloseTo((4 * weight) / (8 + 6 * k), 6);
  });
});

describe('sampledSparseSoftmaxLoss', () => {
  it('is sampledSoftmaxLoss for one true class', async () => {
    const graph = new tf.Graph();
    const inputs = newInputs();
    const fetches = graph.asDefault(() => {
      const truth = tf.constant([[1], [5]], tf.int64);
      const sampledValues = nn.uniformCandidateSampler(truth, 1, 4, true, 8, { seed: 3 });
      const [w, b, h] = [inputs.of([8, 3], 'w'), inputs.of([8], 'b'), inputs.of([2, 3], 'h')];
      return [
        nn.sampledSoftmaxLoss(w, b, truth, h, 4, 8, { sampledValues }),
        tf.contrib.nn.sampledSparseSoftmaxLoss(w, b, truth, h, 4, 8, { sampledValues }),
      ];
    });
    const [dense, sparse] = (await new tf.Session({ graph }).run(fetches, inputs.feeds)) as tf.NDArray[]; // two tensors
    for (const [i, x] of dense!.numbers().entries()) expect(sparse!.numberAt(i)).toBeCloseTo(x, 5);
    expect(sparse!.shape).toEqual([2]);
  });
});

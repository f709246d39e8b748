/** @file Losses: nodes, collections and values as real TensorFlow's. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { type Built, expectAsInTensorFlow, readGolden } from './golden.ts';

const labelValues = [[1, 0, 0], [0, 1, 0]]; // biome-ignore format: a matrix
const scoreValues = [[0.9, 0.2, 0.4], [0.3, 0.6, 0.7]]; // biome-ignore format: a matrix

type Loss = (labels: tf.Tensor, scores: tf.Tensor, weights: { weights?: tf.Tensor }) => tf.Tensor;
interface Setting {
  readonly shape?: readonly (number | null)[] | null;
  readonly dtype?: tf.DType;
  readonly weights?: readonly (readonly number[])[] | number;
  readonly weightsShape?: readonly number[] | null;
}

function withPair(loss: Loss, setting: Setting = {}): () => Built {
  const { shape = [2, 3], dtype = tf.float32, weights, weightsShape = [2, 1] } = setting;
  return () => {
    const labels = tf.placeholder(dtype, shape, { name: 'labels' });
    const scores = tf.placeholder(tf.float32, shape, { name: 'scores' });
    const feeds: [tf.Tensor, unknown][] = [
      [labels, labelValues],
      [scores, scoreValues],
    ];
    if (weights === undefined) return { fetches: [loss(labels, scores, {})], feeds };
    const w = tf.placeholder(tf.float32, weightsShape, { name: 'weights' });
    return { fetches: [loss(labels, scores, { weights: w })], feeds: [...feeds, [w, weights]] };
  };
}

const { losses } = tf;
const cases: Record<string, () => Built> = {
  absoluteDifference: withPair((l, p) => losses.absoluteDifference(l, p)),
  cosineDistance: withPair((l, p) => losses.cosineDistance(l, p, 1)),
  hingeLoss: withPair((l, p) => losses.hingeLoss(l, p)),
  huberLoss: withPair((l, p) => losses.huberLoss(l, p, { delta: 0.5 })),
  logLoss: withPair((l, p) => losses.logLoss(l, p)),
  meanPairwiseSquaredError: withPair((l, p) => losses.meanPairwiseSquaredError(l, p)),
  meanSquaredError: withPair((l, p) => losses.meanSquaredError(l, p)),
  sigmoidCrossEntropy: withPair((l, p) => losses.sigmoidCrossEntropy(l, p)),
  softmaxCrossEntropy: withPair((l, p) => losses.softmaxCrossEntropy(l, p)),
  sigmoidCrossEntropySmooth: withPair((l, p) => losses.sigmoidCrossEntropy(l, p, { labelSmoothing: 0.1 })),
  softmaxCrossEntropySmooth: withPair((l, p) => losses.softmaxCrossEntropy(l, p, { labelSmoothing: 0.1 })),
  meanSquaredErrorOfUnknownBatch: withPair((l, p) => losses.meanSquaredError(l, p), { shape: [null, 3] }),
  meanSquaredErrorOfIntegers: withPair((l, p) => losses.meanSquaredError(l, p), { dtype: tf.int32 }),
  absoluteDifferenceScope: withPair((l, p) => losses.absoluteDifference(l, p, { scope: 'mine', weights: 0.5 })),
  weightsPerRow: withPair((l, p, w) => losses.meanSquaredError(l, p, w), { weights: [[0], [2]] }),
  weightsPerElement: withPair((l, p, w) => losses.meanPairwiseSquaredError(l, p, w), { weights: [[1], [2]] }),
  weightsLiteral: withPair((l, p) => losses.absoluteDifference(l, p, { weights: [[1.5, 0, 1]] })),
  ...Object.fromEntries(
    (['NONE', 'SUM', 'MEAN', 'SUM_OVER_BATCH_SIZE', 'SUM_BY_NONZERO_WEIGHTS'] as const).map((key) => [
      `reduction ${key}`,
      withPair((l, p, w) => losses.meanSquaredError(l, p, { ...w, reduction: losses.Reduction[key] }), {
        weights: [[0.5], [0]],
      }),
    ]),
  ),
  sparseSoftmaxCrossEntropy() {
    const labels = tf.placeholder(tf.int64, [null], { name: 'labels' });
    const scores = tf.placeholder(tf.float32, [null, 3], { name: 'scores' });
    return {
      fetches: [losses.sparseSoftmaxCrossEntropy(labels, scores)],
      feeds: [
        [labels, [0, 2]],
        [scores, scoreValues],
      ],
    };
  },
  sparseSoftmaxCrossEntropyOfColumns() {
    const labels = tf.placeholder(tf.int32, [2, 1], { name: 'labels' });
    const weights = tf.placeholder(tf.float32, [2, 1], { name: 'weights' });
    const scores = tf.placeholder(tf.float32, [2, 3], { name: 'scores' });
    return {
      fetches: [losses.sparseSoftmaxCrossEntropy(labels, scores, { weights })],
      feeds: [
        [labels, [[0], [2]]],
        [weights, [[1], [0.5]]],
        [scores, scoreValues],
      ],
    };
  },
  weightsOfUnknownShape: withPair((l, p, w) => losses.meanSquaredError(l, p, w), {
    shape: [null, 3],
    weights: [[0.5], [0]],
    weightsShape: null,
  }),
  lossOfUnknownRank: withPair((l, p, w) => losses.absoluteDifference(l, p, w), {
    shape: null,
    weights: 2,
    weightsShape: [],
  }),
  sparseSoftmaxCrossEntropyOfUnknownWeights() {
    const labels = tf.placeholder(tf.int32, null, { name: 'labels' });
    const weights = tf.placeholder(tf.float32, null, { name: 'weights' });
    const scores = tf.placeholder(tf.float32, [null, 3], { name: 'scores' });
    labels.setShape([null, null]);
    return {
      fetches: [losses.sparseSoftmaxCrossEntropy(labels, scores, { weights })],
      feeds: [
        [labels, [[0], [2]]],
        [weights, [[1], [0.5]]],
        [scores, scoreValues],
      ],
    };
  },
  totals() {
    const labels = tf.placeholder(tf.float32, [2, 3], { name: 'labels' });
    const scores = tf.placeholder(tf.float32, [2, 3], { name: 'scores' });
    losses.meanSquaredError(labels, scores);
    losses.hingeLoss(labels, scores);
    losses.addLoss(tf.constant(2.5));
    tf.addToCollection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(0.25));
    return {
      fetches: [
        losses.getTotalLoss(),
        losses.getTotalLoss({ addRegularizationLosses: false, name: 'bare' }),
        losses.getRegularizationLoss(),
        losses.getTotalLoss({ scope: 'hinge_loss', name: 'of_scope', addRegularizationLosses: false }),
      ],
      feeds: [
        [labels, labelValues],
        [scores, scoreValues],
      ],
    };
  },
  noRegularization: () => ({ fetches: [losses.getRegularizationLoss()], feeds: [] }),
};

describe('losses', () => {
  const golden = readGolden('losses');
  it('cover what TensorFlow recorded', () => expect(Object.keys(cases).sort()).toEqual(Object.keys(golden).sort()));
  for (const [name, make] of Object.entries(cases)) it(name, () => expectAsInTensorFlow(golden[name]!, make));
});

describe('weights of losses', () => {
  const build = (weightsShape: readonly (number | null)[] | null) => {
    const values = tf.placeholder(tf.float32, null);
    const weights = tf.placeholder(tf.float32, weightsShape);
    return { values, weights, loss: losses.computeWeightedLoss(values, { weights }) };
  };

  it('of known shapes are checked while building', () => {
    expect(() => losses.meanSquaredError([[1, 2]], [[2, 4]], { weights: [1, 2] })).toThrow(
      /weights can not be broadcast to values. values.rank=2. weights.rank=1/,
    );
    expect(() => losses.meanSquaredError([[1, 2]], [[2, 4]], { weights: [[1, 2, 3]] })).toThrow(/Mismatch at dim 1/);
    // @ts-expect-error the editor says so too
    expect(() => losses.meanSquaredError([1, 2], [[2, 4]])).toThrow(/Shapes \(1, 2\) and \(2,\) are incompatible/);
  });

  it('of unknown shapes are checked when the graph runs', async () => {
    const { values, weights, loss } = build(null);
    const sess = new tf.Session();
    const run = (v: tf.TensorLike, w: tf.TensorLike) =>
      sess.run(loss, [
        [values, v as never],
        [weights, w as never],
      ]); // plain arrays
    expect(
      (
        await run(
          [
            [1, 2],
            [3, 4],
          ],
          2,
        )
      ).item(),
    ).toBe(5);
    expect(
      (
        await run(
          [
            [1, 2],
            [3, 4],
          ],
          [[1], [0]],
        )
      ).item(),
    ).toBe(1.5);
    expect(
      (
        await run(
          [
            [1, 2],
            [3, 4],
          ],
          [
            [1, 0],
            [0, 0],
          ],
        )
      ).item(),
    ).toBe(1);
    await expect(
      run(
        [
          [1, 2],
          [3, 4],
        ],
        [1, 2],
      ),
    ).rejects.toThrow(/weights can not be broadcast to values/);
    // The sizes of a product are checked before anything runs, so that check may come first.
    await expect(
      run(
        [
          [1, 2],
          [3, 4],
        ],
        [[1, 2, 3]],
      ),
    ).rejects.toThrow(/can not be broadcast|Incompatible shapes/);
  });

  it('and the axis of a cosine may be given either way', () => {
    const graph = new tf.Graph();
    graph.asDefault(() => {
      const shapes = [
        losses.cosineDistance([[1, 0]], [[0, 1]], { axis: 1 }),
        losses.cosineDistance([[1, 0]], [[0, 1]], 1),
      ];
      expect(shapes.map((t) => t.shape)).toEqual([[], []]);
      expect(() => losses.cosineDistance([[1, 0]], [[0, 1]], {} as never)).toThrow(/You must specify argument `axis`/);
    });
  });

  it('name a reduction that there is', () => {
    expect(() => losses.meanSquaredError([1], [2], { reduction: 'median' as never })).toThrow(
      /Invalid Reduction Key median/,
    );
  });
});

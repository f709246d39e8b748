/** @file Layers: nodes, variables and collections as real TensorFlow's; reuse, dropout in training and in test, errors. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { Mul } from '../../../src/ops/math/multiply.ts';
import { type Built, expectAsInTensorFlow, readGolden } from './golden.ts';

const { layers } = tf;
/** Half the l2 loss, with the nodes that Python's `0.5 * tf.nn.l2_loss(w)` makes. */
const half = (w: tf.TensorLike) => Mul.build({ x: 0.5, y: tf.nn.l2Loss(w) }, { name: 'mul' }).z;

function withInput(
  apply: (x: tf.Tensor) => void,
  shape: readonly (number | null)[] | null = [null, 4],
  dtype: tf.DType = tf.float32,
): () => Built {
  return () => {
    apply(tf.placeholder(dtype, shape, { name: 'x' }));
    return { fetches: [], feeds: [] };
  };
}

const cases: Record<string, () => Built> = {
  denseShared: withInput((x) => {
    tf.variableScope('test', () => layers.dense(x, 3));
    tf.variableScope('test', { reuse: true }, () => layers.dense(x, 3));
  }),
  denseNamed: withInput((x) => {
    layers.dense(x, 3, { name: 'fc', activation: tf.nn.relu });
    layers.dense(x, 3, { name: 'fc', reuse: true, activation: tf.nn.relu });
    layers.dense(x, 3);
    layers.dense(x, 2);
  }),
  denseApplied: withInput((x) => {
    const layer = new layers.Dense(3, { name: 'fc', activityRegularizer: (a) => tf.reduceSum(a) });
    layer.apply(x);
    layer.apply(x);
    new layers.Dense(4, { name: 'fc', trainable: false }).apply(x);
    tf.variableScope('outer', { initializer: tf.zerosInitializer() }, () => new layers.Dense(4).apply(x));
  }),
  denseOptions: withInput((x) =>
    layers.dense(x, 3, {
      useBias: true,
      kernelInitializer: tf.onesInitializer(),
      biasInitializer: tf.constantInitializer(0.5),
      kernelRegularizer: half,
      biasRegularizer: half,
    }),
  ),
  denseOfSequences: withInput((x) => layers.dense(x, 3, { useBias: false }), [null, 5, 4]),
  denseOfKnownSequences: withInput((x) => layers.dense(x, 3), [2, 5, 4]),
  denseOfDoubles: withInput((x) => layers.dense(x, 3), [null, 4], tf.float64),
  dropoutTraining: withInput((x) => layers.dropout(x, 0.4, { training: true, seed: 3 })),
  dropoutIdle: withInput((x) => layers.dropout(x)),
  dropoutNoise: withInput((x) => layers.dropout(x, { rate: 0.5, noiseShape: [null, 1], training: true })),
  flatten: withInput((x) => layers.flatten(x), [null, 2, 3]),
  flattenKnownBatch: withInput((x) => layers.flatten(x), [5, null, 3]),
  flattenUnknown: withInput((x) => layers.flatten(x), [null, null, 3]),
  flattenVector: withInput((x) => layers.flatten(x), [null]),
  flattenUnknownRank: withInput((x) => layers.flatten(x), null),
  flattenChannelsFirst: withInput((x) => layers.flatten(x, { dataFormat: 'channels_first' }), [null, 2, 3]),
};

describe('layers', () => {
  const golden = readGolden('layers');
  it('cover what TensorFlow recorded', () => expect(Object.keys(cases).sort()).toEqual(Object.keys(golden).sort()));
  for (const [name, make] of Object.entries(cases)) it(name, () => expectAsInTensorFlow(golden[name]!, make));
});

/** A test in a graph of its own. */
function inGraph(name: string, body: () => unknown): void {
  it(name, () => new tf.Graph().asDefault(async () => void (await body())));
}

describe('dense', () => {
  inGraph('computes activation(x * kernel + bias)', async () => {
    const x = tf.placeholder(tf.float32, [null, 2]);
    const y = layers.dense(x, 2, {
      activation: tf.nn.relu,
      kernelInitializer: tf.constantInitializer([[1, 2], [3, -4]]), // biome-ignore format: a matrix
      biasInitializer: tf.constantInitializer(0.5),
    });
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    expect((await sess.run(y, [[x, [[1, 1], [2, 0]]]])).toArray()).toEqual([[4.5, 0], [2.5, 4.5]]); // biome-ignore format: matrices
  });

  inGraph('applies to sequences as to their elements', async () => {
    const layer = new layers.Dense(3, { biasInitializer: tf.randomNormalInitializer() });
    const x = tf.placeholder(tf.float32, [null, null, 4]);
    const y = layer.apply(x);
    expect(y.shape).toEqual([null, null, 3]);
    const rows = tf.reshape(layer.apply(tf.reshape(x, [-1, 4])), tf.shape(y));
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const value = [[[1, 2, 3, 4], [5, 6, 7, 8]], [[0, 1, 0, 1], [-1, 2, -3, 4]]]; // biome-ignore format: a cube
    const [whole, single] = await sess.run([y, rows], [[x, value]]);
    expect(whole.toArray()).toEqual(single.toArray());
  });

  inGraph('names itself, lists its variables, and knows its scope once used', () => {
    const layer = new layers.Dense(3);
    expect([layer.name, new layers.Dense(3).name, new layers.Dense(3, { name: 'fc' }).name]).toEqual([
      'dense_1',
      'dense_2',
      'fc',
    ]);
    expect(() => layer.scopeName).toThrow(/has not been used yet/);
    layer.apply(tf.zeros([1, 2]));
    expect(layer.scopeName).toBe('dense');
    expect(layer.trainableVariables.map(String)).toEqual([
      "<tf.Variable 'dense/kernel:0' shape=(2, 3) dtype=float32>",
      "<tf.Variable 'dense/bias:0' shape=(3,) dtype=float32>",
    ]);
  });

  inGraph('says what is wrong', () => {
    const x = tf.placeholder(tf.float32, [null, 4]);
    const layer = new layers.Dense(3, { name: 'fc' });
    layer.apply(x);
    expect(() => layer.apply(tf.zeros([2, 5]))).toThrow(
      'Input 0 of layer fc is incompatible with the layer: expected axis -1 of input shape to have value 4 but received input with shape (2, 5)',
    );
    expect(() => layers.dense(tf.zeros([4]), 3)).toThrow(
      /expected min_ndim=2, found ndim=1. Full shape received: \(4,\)/,
    );
    expect(() => layers.dense(tf.placeholder(tf.float32, [4, null]), 3)).toThrow(/last dimension .* should be defined/);
    expect(() => layers.dense(tf.placeholder(tf.int32, [4, 2]), 3)).toThrow(/non-floating point dtype int32/);
    expect(() => layers.dense(x, -1)).toThrow(/expected a positive integer, got -1/);
    layers.dense(x, 3, { name: 'twice' });
    expect(() => layers.dense(x, 3, { name: 'twice' })).toThrow(/Variable twice\/kernel already exists/);
    expect(() => layers.dropout(x, 1.5)).toThrow(/expected a value between 0 and 1/);
  });
});

describe('countParams', () => {
  inGraph('counts the numbers of a layer that has been applied', () => {
    const layer = new tf.layers.Dense(3);
    expect(() => layer.countParams()).toThrow(/isn't built/);
    layer.apply(tf.zeros([2, 4]));
    expect(layer.countParams()).toBe(4 * 3 + 3);
  });
});

describe('dropout', () => {
  inGraph('follows a boolean placeholder', async () => {
    const x = tf.ones([1000]);
    const training = tf.placeholder(tf.bool, []);
    const y = layers.dropout(x, 0.4, { training });
    expect(y.name).toBe('dropout/cond/Identity:0');
    const sess = new tf.Session();
    expect((await sess.run(y, [[training, false]])).toArray()).toEqual(new Array(1000).fill(1));
    const dropped = (await sess.run(y, [[training, true]])).toArray() as number[];
    expect(new Set(dropped.map((v) => v.toFixed(4)))).toEqual(new Set(['0.0000', '1.6667']));
    expect(dropped.filter((v) => v === 0).length).toBeGreaterThan(300);
    expect(dropped.filter((v) => v === 0).length).toBeLessThan(500);
  });

  inGraph('passes gradients only through what was kept', async () => {
    const x = tf.ones([100]);
    const y = layers.dropout(x, 0.5, { training: true, seed: 1 });
    const [dx] = tf.gradients(y, [x]);
    const [value, gradient] = await new tf.Session().run([y, tf.convertToTensor(dx!)]);
    expect(gradient.toArray()).toEqual(value.toArray());
  });
});

describe('contrib.layers', () => {
  const { contrib } = tf;
  inGraph('fullyConnected names and collects its variables as 1.x did', async () => {
    const x = tf.placeholder(tf.float32, [null, 4], { name: 'x' });
    const y = contrib.layers.fullyConnected(x, 3, {
      weightsRegularizer: contrib.layers.l2Regularizer(0.1),
      variablesCollections: { weights: ['w'] },
      outputsCollections: 'outputs',
    });
    expect(y.name).toBe('fully_connected/Relu:0');
    expect(contrib.layers.fullyConnected(x, 3, { activationFn: null }).name).toBe('fully_connected_1/BiasAdd:0');
    expect(
      contrib.layers.fullyConnected(x, 3, { scope: 'fully_connected', reuse: true, activationFn: null }).name,
    ).toBe('fully_connected_2/BiasAdd:0');
    const variables = [
      'fully_connected/weights:0',
      'fully_connected/biases:0',
      'fully_connected_1/weights:0',
      'fully_connected_1/biases:0',
    ];
    expect(tf.globalVariables().map((v) => v.name)).toEqual(variables);
    expect(tf.modelVariables().map((v) => v.name)).toEqual(variables);
    expect(tf.trainableVariables().map((v) => v.name)).toEqual(variables);
    expect(tf.getCollection<tf.Variable>('w').map((v) => v.name)).toEqual(['fully_connected/weights:0']);
    expect(tf.getCollection('outputs')).toEqual([y]);
    expect(tf.losses.getRegularizationLosses().map((t) => t.name)).toEqual([
      'fully_connected/kernel/Regularizer/l2_regularizer:0',
    ]);
  });

  inGraph('flatten and dropout open their scopes', () => {
    expect(contrib.layers.flatten(tf.zeros([2, 3, 4])).name).toBe('Flatten/flatten/Reshape:0');
    expect(contrib.layers.dropout(tf.zeros([2]), { isTraining: false }).name).toBe('Dropout/Identity:0');
    expect(contrib.layers.dropout(tf.zeros([2]), { keepProb: 0.9 }).name).toBe('Dropout_1/dropout/SelectV2:0');
  });

  inGraph('regularizers', async () => {
    const sess = new tf.Session();
    const w = tf.constant([1, -2, 3], { dtype: tf.float32 });
    const value = async (t: tf.Tensor | null) => (await sess.run(t!)).item();
    expect(await value(contrib.layers.l1Regularizer(0.5)(w))).toBe(3);
    expect(await value(contrib.layers.l2Regularizer(0.5)(w))).toBe(3.5);
    expect(await value(contrib.layers.l1L2Regularizer({ scaleL1: 0.5, scaleL2: 0.5 })(w))).toBe(6.5);
    expect(contrib.layers.l1Regularizer(0)(w)).toBeNull();
    expect(() => contrib.layers.l1Regularizer(-1)).toThrow(/less than 0/);
    const sum = contrib.layers.applyRegularization(contrib.layers.l1Regularizer(1), [w, tf.constant([4.5])]);
    expect(sum.name).toBe('get_regularization_penalty:0');
    expect(await value(sum)).toBe(10.5);
    expect(tf.losses.getRegularizationLosses()).toEqual([sum]);
    expect(() => contrib.layers.applyRegularization(contrib.layers.l1Regularizer(1))).toThrow(
      /No weights to regularize/,
    );
  });

  inGraph('initializers keep to their bounds', async () => {
    tf.setRandomSeed(1);
    const uniform = contrib.layers.xavierInitializer()([200, 100]);
    const normal = contrib.layers.varianceScalingInitializer()([200, 100]);
    const [u, n] = await new tf.Session().run([tf.convertToTensor(uniform), tf.convertToTensor(normal)]);
    const limit = Math.sqrt(3 / 150);
    const deviation = Math.sqrt((1.3 * 2) / 200);
    expect(Math.max(...u.numbers().map(Math.abs))).toBeLessThanOrEqual(Math.fround(limit));
    expect(Math.max(...u.numbers())).toBeGreaterThan(0.99 * limit);
    expect(Math.max(...n.numbers().map(Math.abs))).toBeLessThanOrEqual(2 * deviation);
  });
});

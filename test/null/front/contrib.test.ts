/** @file tf.contrib.layers and tf.contrib.framework: names, variables and values as TensorFlow 1.x defines them. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

const { layers, framework } = tf.contrib;

/** A test in a graph of its own. */
function inGraph(name: string, body: () => unknown): void {
  it(name, () => new tf.Graph().asDefault(async () => void (await body())));
}
async function started(): Promise<tf.Session> {
  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  return sess;
}
const names = (variables: readonly tf.Variable[]) => variables.map((v) => v.name);
const opNames = (key: string) => tf.getCollection<{ name: string }>(key).map((op) => op.name);
function expectClose(actual: ArrayLike<number>, wanted: ArrayLike<number>, digits = 5): void {
  expect(actual.length).toBe(wanted.length);
  for (let i = 0; i < wanted.length; i++) expect(actual[i]).toBeCloseTo(wanted[i]!, digits);
}

describe('argScope', () => {
  const { argScope, addArgScope } = framework;
  const shown = addArgScope((x: number, options: { a?: number; b?: number | undefined } = {}) => ({ x, ...options }));

  it('gives defaults to calls inside; what a call gives comes first, undefined does not count', () => {
    expect(shown(1, { b: 2 })).toEqual({ x: 1, b: 2 });
    argScope([shown], { a: 5 }, () => {
      expect(shown(1)).toEqual({ x: 1, a: 5 });
      expect(shown(1, { a: 7, b: undefined })).toEqual({ x: 1, a: 7 });
      argScope([shown], { b: 6 }, () => expect(shown(1)).toEqual({ x: 1, a: 5, b: 6 }));
      expect(shown(1)).toEqual({ x: 1, a: 5 });
    });
    expect(shown(1)).toEqual({ x: 1 });
  });

  it('can be entered again', () => {
    const scope = argScope([shown], { a: 5 }, (s) => s);
    argScope([shown], { b: 6 }, () => argScope(scope, () => expect(shown(1)).toEqual({ x: 1, a: 5 })));
  });

  it('follows async functions and keeps to its own', async () => {
    const later = argScope([shown], { a: 5 }, async () => {
      await Promise.resolve();
      return shown(1);
    });
    expect(shown(1)).toEqual({ x: 1 });
    expect(await later).toEqual({ x: 1, a: 5 });
  });

  it('refuses functions that are not made for it', () => {
    const other = (options: object = {}) => options;
    expect(() => argScope([other], {}, () => 0)).toThrow(/other takes no default options.*addArgScope/);
    expect([framework.hasArgScope(other), framework.hasArgScope(layers.conv2d)]).toEqual([false, true]);
  });

  inGraph('serves a network', () => {
    const images = tf.placeholder(tf.float32, [null, 8, 8, 3]);
    const weightsRegularizer = layers.l2Regularizer(0.1);
    const shapes = argScope(
      [layers.conv2d, layers.fullyConnected],
      { weightsRegularizer, activationFn: tf.nn.elu },
      () =>
        argScope([layers.conv2d], { padding: 'VALID' }, () => {
          const a = layers.conv2d(images, 4, [3, 3]);
          const b = layers.conv2d(a, 4, 3, { padding: 'SAME', scope: 'second' });
          return [a, b, layers.fullyConnected(layers.flatten(b), 2)];
        }),
    );
    expect(shapes.map((t) => [t.name, t.shape])).toEqual([
      ['Conv/Elu:0', [null, 6, 6, 4]],
      ['second/Elu:0', [null, 6, 6, 4]],
      ['fully_connected/Elu:0', [null, 2]],
    ]);
    expect(tf.losses.getRegularizationLosses()).toHaveLength(3);
    expect(() => argScope([layers.conv2d], { paddding: 'SAME' } as object, () => layers.conv2d(images, 4, 3))).toThrow(
      /no option 'paddding'. Did you mean 'padding'/,
    );
  });
});

describe('contrib.layers: images', () => {
  inGraph('conv2d makes and collects variables, normalizes in place of biases', () => {
    const images = tf.placeholder(tf.float32, [null, 8, 8, 3]);
    const y = layers.conv2d(images, 4, [3, 3], {
      stride: 2,
      variablesCollections: { weights: ['w'] },
      outputsCollections: 'outputs',
    });
    expect([y.name, y.shape]).toEqual(['Conv/Relu:0', [null, 4, 4, 4]]);
    const z = layers.conv2d(y, 5, 1, {
      normalizerFn: layers.batchNorm,
      normalizerParams: { scale: true, isTraining: true },
      activationFn: null,
    });
    expect(z.name).toBe('Conv_1/BatchNorm/FusedBatchNormV3:0');
    expect(names(tf.modelVariables())).toEqual([
      'Conv/weights:0',
      'Conv/biases:0',
      'Conv_1/weights:0',
      'Conv_1/BatchNorm/gamma:0',
      'Conv_1/BatchNorm/beta:0',
      'Conv_1/BatchNorm/moving_mean:0',
      'Conv_1/BatchNorm/moving_variance:0',
    ]);
    expect(opNames('w')).toEqual(['Conv/weights:0']);
    expect(opNames('outputs')).toEqual(['Conv/Relu:0']);
    expect(opNames(tf.GraphKeys.UPDATE_OPS)).toHaveLength(2);
    expect(() => layers.conv2d(tf.zeros([2, 3, 4]), 1, 1)).toThrow(/expects input with rank 4, got 3/);
    expect(layers.convolution(tf.zeros([2, 3, 4]), 1, 1).shape).toEqual([2, 3, 1]);
    expect(layers.conv2dTranspose(tf.zeros([2, 3, 4, 1]), 2, 3, { stride: 2 }).shape).toEqual([2, 6, 8, 2]);
  });

  inGraph('pooling', async () => {
    const x = tf.reshape(tf.range(16, { dtype: tf.float32 }), [1, 4, 4, 1]);
    const max = layers.maxPool2d(x, [2, 2]);
    const mean = layers.avgPool2d(x, 2, { stride: 1, padding: 'SAME', scope: 'mine' });
    expect([max.name, mean.name]).toEqual(['MaxPool2D/MaxPool:0', 'mine/AvgPool:0']);
    const [a, b] = await new tf.Session().run([max, mean]);
    expect(a.numbers()).toEqual([5, 7, 13, 15]);
    expect(b.shape).toEqual([1, 4, 4, 1]);
    const first = layers.maxPool2d(tf.transpose(x, [0, 3, 1, 2]), 2, { dataFormat: 'NCHW' });
    expect((await new tf.Session().run(first)).numbers()).toEqual([5, 7, 13, 15]);
    expect(() => layers.maxPool2d(x, 2, { dataFormat: 'NHCW' as 'NHWC' })).toThrow(/NCHW or NHWC/);
  });
});

describe('contrib.layers: normalization', () => {
  const value = [[1, 2], [3, 6], [5, 4], [7, 0]]; // biome-ignore format: a matrix
  const column = (i: number) => value.map((row) => row[i]!);
  const mean = (list: readonly number[]) => list.reduce((a, b) => a + b) / list.length;
  const variance = (list: readonly number[]) => mean(list.map((v) => (v - mean(list)) ** 2));
  const normal = (scale = 1, shift = 0) =>
    value.flatMap((row) =>
      row.map((v, i) => ((v - mean(column(i))) / Math.sqrt(variance(column(i)) + 0.001)) * scale + shift),
    );

  inGraph('batchNorm of vectors: one node, updates in their collection', async () => {
    const x = tf.placeholder(tf.float32, [null, 2]);
    const training = tf.placeholder(tf.bool, []);
    const y = layers.batchNorm(x, { isTraining: training, decay: 0.5, scale: true });
    expect(names(tf.trainableVariables())).toEqual(['BatchNorm/beta:0', 'BatchNorm/gamma:0']);
    const sess = await started();
    const feeds = (flag: boolean) => [[x, value], [training, flag]] as const; // biome-ignore format: pairs
    expectClose((await sess.run(y, feeds(true))).numbers(), normal());
    expectClose(
      (await sess.run(y, feeds(false))).numbers(),
      value.flat().map((v) => v / Math.sqrt(1.001)),
    );
    await sess.run(tf.group(tf.getCollection<tf.Operation>(tf.GraphKeys.UPDATE_OPS)), feeds(true));
    const [, , movingMean, movingVariance] = tf.globalVariables();
    expectClose((await sess.run(movingMean!)).numbers(), [2, 1.5]);
    // One node counts freedoms (n - 1), not examples.
    const wanted = [0, 1].map((i) => 0.5 + (0.5 * variance(column(i)) * 4) / 3);
    expectClose((await sess.run(movingVariance!)).numbers(), wanted);
  });

  inGraph('batchNorm with updates at once', async () => {
    const y = layers.batchNorm(tf.constant(value, { dtype: tf.float32 }), { updatesCollections: null, decay: 0.5 });
    expect(opNames(tf.GraphKeys.UPDATE_OPS)).toEqual([]);
    const sess = await started();
    expectClose((await sess.run(y)).numbers(), normal());
    expectClose((await sess.run(tf.globalVariables()[1]!)).numbers(), [2, 1.5]);
  });

  inGraph('batchNorm with weights counts examples as often as they say', async () => {
    const twice = tf.constant([...value, value[0]!], { dtype: tf.float32 });
    const x = tf.constant(value, { dtype: tf.float32 });
    const weighted = layers.batchNorm(x, { batchWeights: tf.constant([2, 1, 1, 1], { dtype: tf.float32 }) });
    const repeated = layers.batchNorm(twice, { fused: false });
    const sess = await started();
    const [a, b] = await sess.run([weighted, repeated]);
    expectClose(a.numbers(), b.numbers().slice(0, 8));
  });

  inGraph('batchNorm of images with channels first equals channels last', async () => {
    const x = tf.randomNormal([2, 3, 4, 2], { seed: 1 });
    const last = layers.batchNorm(x);
    const turned = layers.batchNorm(tf.transpose(x, [0, 3, 1, 2]), { dataFormat: 'NCHW', updatesCollections: 'mine' });
    const sess = await started();
    const [a, b] = await sess.run([last, tf.transpose(turned, [0, 2, 3, 1])]);
    expectClose(a.numbers(), b.numbers());
    expect(opNames('mine')).toHaveLength(2);
  });

  inGraph('layerNorm normalizes each example', async () => {
    const x = tf.constant(value, { dtype: tf.float32 });
    const y = layers.layerNorm(x, { activationFn: tf.nn.relu });
    expect([y.name, names(tf.modelVariables())]).toEqual([
      'LayerNorm/Relu:0',
      ['LayerNorm/beta:0', 'LayerNorm/gamma:0'],
    ]);
    const sess = await started();
    expectClose((await sess.run(y)).numbers(), [0, 1, 0, 1, 1, 0, 1, 0]);
    const cube = layers.layerNorm(tf.randomNormal([2, 3, 4], { seed: 1 }), {
      beginNormAxis: 2,
      beginParamsAxis: 1,
      center: false,
    });
    expect(names(tf.modelVariables()).at(-1)).toBe('LayerNorm_1/gamma:0');
    expect(tf.modelVariables().at(-1)!.shape).toEqual([3, 4]);
    await sess.run(tf.globalVariablesInitializer());
    const rows = (await sess.run(tf.nn.moments(cube, [2]))).map((t) => t.numbers());
    expectClose(rows[0]!, new Array(6).fill(0));
    expectClose(rows[1]!, new Array(6).fill(1), 4);
    expect(() => layers.layerNorm(x, { beginNormAxis: 2 })).toThrow(/must be < rank\(inputs\) \(2\)/);
  });
});

describe('contrib.layers: others', () => {
  inGraph('stack and repeat number their scopes', () => {
    const x = tf.placeholder(tf.float32, [null, 3]);
    expect(layers.stack(x, layers.fullyConnected, [[4], [5]], { activationFn: null }).name).toBe(
      'Stack/fully_connected_2/BiasAdd:0',
    );
    expect(layers.repeat(x, 2, layers.fullyConnected, [3], { scope: 'fc' }).name).toBe('fc/fc_2/Relu:0');
    expect(names(tf.globalVariables()).filter((n) => n.includes('weights'))).toEqual([
      'Stack/fully_connected_1/weights:0',
      'Stack/fully_connected_2/weights:0',
      'fc/fc_1/weights:0',
      'fc/fc_2/weights:0',
    ]);
    const images = tf.placeholder(tf.float32, [null, 8, 8, 3]);
    expect(layers.repeat(images, 2, layers.conv2d, [4, [3, 3]]).name).toBe('Repeat/convolution2d_2/Relu:0');
  });

  inGraph('oneHotEncoding, unitNorm, embedSequence', async () => {
    const oneHot = layers.oneHotEncoding([2, 0], 3);
    const unit = layers.unitNorm(tf.constant([[3, 4], [0, 2]], { dtype: tf.float32 }), 1); // biome-ignore format: a matrix
    const ids = tf.constant([[1, 0], [1, 2]]); // biome-ignore format: a matrix
    const embedded = layers.embedSequence(ids, { vocabSize: 3, embedDim: 2, scope: 'e' });
    const again = layers.embedSequence(ids, { scope: 'e', reuse: true, unique: true });
    expect(names(tf.modelVariables())).toEqual(['e/embeddings:0']);
    const sess = await started();
    expect((await sess.run(oneHot)).toArray()).toEqual([[0, 0, 1], [1, 0, 0]]); // biome-ignore format: a matrix
    expectClose((await sess.run(unit)).numbers(), [0.6, 0.8, 0, 1]);
    const [a, b] = await sess.run([embedded, again]);
    expect(a.shape).toEqual([2, 2, 2]);
    expect(b.numbers()).toEqual(a.numbers());
    expect(() => layers.embedSequence(ids)).toThrow(/Must specify vocabSize and embedDim/);
    expect(() => layers.unitNorm(tf.zeros([2]), 1)).toThrow(/smaller than the input rank/);
  });
});

describe('optimizeLoss', () => {
  inGraph('trains, counts steps, clips, decays the rate', async () => {
    const x = tf.getVariable('x', [], { initializer: tf.constantInitializer(10) });
    const step = tf.train.getOrCreateGlobalStep();
    const seen: tf.Variable[] = [];
    const train = layers.optimizeLoss(tf.square(x), step, 0.5, 'SGD', {
      clipGradients: 4,
      learningRateDecayFn: (rate, at) => {
        seen.push(at);
        return tf.train.exponentialDecay(rate, at, 1, 0.5);
      },
      summaries: ['loss'],
    });
    expect(seen).toEqual([step]);
    expect(names(tf.globalVariables())).toContain('OptimizeLoss/learning_rate:0');
    const sess = await started();
    expect((await sess.run(train)).item()).toBe(100);
    expect((await sess.run(x)).item()).toBe(8);
    await sess.run(train);
    expect((await sess.run(x)).item()).toBe(7);
    expect(Number((await sess.run(step)).item())).toBe(2);
  });

  inGraph('takes optimizers and functions, multiplies gradients, runs updates first', async () => {
    const x = tf.getVariable('x', [], { initializer: tf.constantInitializer(1) });
    const y = tf.getVariable('y', [], { initializer: tf.constantInitializer(1) });
    const calls = tf.getVariable('calls', [], { trainable: false, initializer: tf.zerosInitializer() });
    tf.addToCollection(tf.GraphKeys.UPDATE_OPS, calls.assignAdd(1).op);
    const loss = x.add(y);
    const train = layers.optimizeLoss(loss, null, null, new tf.train.GradientDescentOptimizer(0.5), {
      gradientMultipliers: new Map<tf.Variable | string, number>([['x', 2], [y, -1]]), // biome-ignore format: pairs
    });
    const own = layers.optimizeLoss(loss, null, 0.25, (rate) => new tf.train.GradientDescentOptimizer(rate), {
      variables: [x],
      updateOps: [],
    });
    const sess = await started();
    await sess.run(train);
    expect((await sess.run([x, y, calls])).map((t) => t.item())).toEqual([0, 1.5, 1]);
    await sess.run(own);
    expect((await sess.run([x, y, calls])).map((t) => t.item())).toEqual([-0.25, 1.5, 1]);
    expect(() => layers.optimizeLoss(loss, null, -1, 'SGD')).toThrow(/Invalid learningRate -1/);
    expect(() => layers.optimizeLoss(loss, null, 1, 'Sgd' as 'SGD')).toThrow(/should be one of \[Adagrad, Adam/);
    expect(() => layers.optimizeLoss(loss, null, null, 'SGD')).toThrow(/learningRate must be given/);
    expect(() => layers.optimizeLoss(tf.zeros([2]), null, 1, 'SGD')).toThrow(/scalar loss/);
  });
});

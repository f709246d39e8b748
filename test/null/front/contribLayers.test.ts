/** @file The layers of tf.contrib.layers against TensorFlow 1.15's own code, and what they refuse. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { compareAll, data, withUpdates } from './contribCases.ts';

const { layers, framework } = tf.contrib;
const { l2Regularizer: l2 } = layers;
const first = { dataFormat: 'NCHW' } as const;

/** Batch normalization whose mode is known only when it runs. */
function switched(training: boolean, shape: number[], options: tf.contrib.layers.BatchNormOptions): tf.Tensor {
  const isTraining = tf.placeholderWithDefault(training, []);
  return layers.batchNorm(data(2, ...shape), { decay: 0.8, isTraining, ...options });
}

function scoped(): tf.Tensor {
  const { conv2d, fullyConnected } = layers;
  const shared = { activationFn: tf.nn.tanh, weightsRegularizer: l2(0.1) };
  let inner: tf.contrib.framework.ArgScope | undefined;
  const y = framework.argScope([conv2d, fullyConnected], shared, () => {
    const h = framework.argScope([conv2d], { padding: 'VALID', stride: 2 }, (scope) => {
      inner = scope;
      return conv2d(data(2, 1, 6, 6, 2), 3, 3);
    });
    return fullyConnected(layers.flatten(conv2d(h, 2, [2, 2], { activationFn: null })), 2);
  });
  return framework.argScope(inner!, () => {
    return y.add(tf.reduceSum(conv2d(data(3, 1, 5, 5, 1), 1, 3, { scope: 'again' })));
  });
}

const ids = (rows: number[][]) => tf.constant(rows, { dtype: tf.int32 });
const images = () => data(2, 1, 5, 5, 2);
const volumes = () => data(2, 1, 4, 5, 4, 2);
const nets: Record<string, () => tf.Tensor> = {
  maxPool3d: () => layers.maxPool3d(volumes(), 2),
  maxPool3dFirst: () => layers.maxPool3d(data(2, 1, 2, 4, 5, 4), [2, 3, 2], { stride: 1, dataFormat: 'NCDHW' }),
  avgPool3d: () => layers.avgPool3d(volumes(), [1, 2, 3], { stride: [1, 2, 1], padding: 'SAME' }),
  avgPool3dFirst: () => layers.avgPool3d(data(2, 1, 2, 4, 5, 4), 2, { dataFormat: 'NCDHW', padding: 'SAME' }),
  maxPool2dFirst: () => layers.maxPool2d(data(2, 1, 2, 5, 5), [3, 2], { ...first, stride: [2, 1] }),
  avgPool2dFirst: () => layers.avgPool2d(data(2, 1, 2, 5, 5), 3, { ...first, padding: 'SAME' }),
  pool1: () => layers.pool(data(2, 2, 7, 3), 3, 'MAX', { stride: 2 }),
  pool2: () => layers.pool(data(2, 1, 6, 7, 2), [2, 3], 'AVG', { padding: 'SAME', stride: [1, 2] }),
  pool2Dilated: () => layers.pool(data(2, 1, 6, 7, 2), 2, 'MAX', { dilationRate: [2, 1] }),
  conv1d: () => layers.conv1d(data(2, 2, 6, 3), 4, 3, { rate: 2 }),
  conv2dFirst: () => layers.conv2d(data(2, 1, 2, 5, 6), 3, [3, 2], { ...first, stride: [1, 2] }),
  conv3d: () => layers.conv3d(volumes(), 2, [2, 3, 2], { stride: [1, 2, 1], padding: 'VALID' }),
  conv3dFirst: () => layers.conv3d(data(2, 1, 2, 4, 4, 4), 2, 2, { stride: 2, dataFormat: 'NCDHW' }),
  conv2dTranspose: () => layers.conv2dTranspose(data(2, 1, 3, 4, 2), 3, 3, { stride: [2, 1] }),
  conv2dTransposeFirst: () =>
    layers.conv2dTranspose(data(2, 1, 2, 3, 4), 3, 3, { ...first, stride: 2, padding: 'VALID' }),
  conv3dTranspose: () => layers.conv3dTranspose(data(2, 1, 2, 3, 2, 2), 2, 3, { stride: 2, biasesInitializer: null }),
  separableConv2d: () => layers.separableConv2d(images(), 3, 3, { depthMultiplier: 2, stride: 2 }),
  separableConv2dRate: () =>
    layers.separableConv2d(data(2, 1, 6, 6, 2), 2, [3, 2], {
      rate: 2,
      weightsRegularizer: l2(0.1),
      activationFn: null,
    }),
  separableConv2dOnly: () => layers.separableConv2d(images(), null, 3, { depthMultiplier: 2 }),
  separableConv2dNormalized: () =>
    layers.separableConv2d(data(2, 2, 4, 4, 2), null, 3, { normalizerFn: layers.layerNorm, padding: 'VALID' }),
  separableConv2dFirst: () => layers.separableConv2d(data(2, 1, 2, 5, 5), 3, 3, first),
  conv2dInPlane: () => layers.conv2dInPlane(data(2, 1, 4, 5, 3), [1, 2], { stride: [1, 1] }),
  biasAdd: () => layers.biasAdd(data(2, 3, 4), { activationFn: tf.nn.relu, regularizer: l2(0.3) }),
  biasAddFirst: () => layers.biasAdd(data(2, 2, 3, 2, 2), { ...first, scope: 'mine' }),
  softmax: () => layers.softmax(data(2, 2, 3, 4)),
  spatialSoftmax: () => layers.spatialSoftmax(data(2, 2, 3, 4, 2), { temperature: 0.5 }),
  spatialSoftmaxFirst: () => layers.spatialSoftmax(data(2, 2, 3, 4, 2), { ...first, trainable: false }),
  maxout: () => layers.maxout(data(2, 3, 8), 4),
  maxoutAxis: () => layers.maxout(data(2, 3, 6, 2), 2, { axis: 1 }),
  unitNorm: () => layers.unitNorm(data(2, 3, 4), 1),
  poincareNormalize: () => layers.poincareNormalize(data(2, 3, 4)),
  oneHotEncoding: () => layers.oneHotEncoding([2, 0, 1], 4, { onValue: 2, offValue: -1 }),
  imagesToSequence: () => layers.imagesToSequence(data(2, 2, 3, 4, 2)),
  imagesToSequenceFirst: () => layers.imagesToSequence(data(2, 2, 3, 4, 2), first),
  sequenceToImages: () => layers.sequenceToImages(data(2, 4, 6, 3), 3),
  sequenceToImagesFirst: () => layers.sequenceToImages(data(2, 4, 6, 3), 2, { outputDataFormat: 'channels_first' }),
  elu: () => layers.elu(data(2, 3, 4), 2),
  repeat: () => layers.repeat(data(2, 3, 4), 2, layers.fullyConnected, [3]),
  stack: () =>
    layers.stack(
      data(2, 1, 6, 6, 2),
      layers.conv2d,
      [
        [3, [3, 3]],
        [2, [1, 1]],
      ],
      { scope: 'deep' },
    ),
  instanceNorm: () => layers.instanceNorm(data(2, 2, 3, 4, 3), { activationFn: tf.nn.tanh }),
  instanceNormFirst: () => layers.instanceNorm(data(2, 2, 3, 4, 2), { ...first, epsilon: 0.1 }),
  groupNorm: () => layers.groupNorm(data(2, 2, 3, 2, 4), { groups: 2 }),
  groupNormFirst: () =>
    layers.groupNorm(data(2, 2, 6, 3, 2), {
      groups: 3,
      channelsAxis: 1,
      reductionAxes: [2, 3],
      scale: false,
      meanCloseToZero: true,
    }),
  embedSequence: () => layers.embedSequence(ids([[1, 3], [0, 1]]), { vocabSize: 5, embedDim: 2, regularizer: l2(0.2) }), // biome-ignore format: a matrix
  bowEncoder: () => layers.bowEncoder(ids([[1, 3, 0], [0, 0, 0], [2, 2, 4]]), 5, 2), // biome-ignore format: a matrix
  bowEncoderDense: () => layers.bowEncoder(ids([[1, 3, 0], [2, 2, 4]]), 5, 2, { sparseLookup: false }), // biome-ignore format: a matrix
  argScope: scoped,
  trainingRows: () => switched(true, [6, 3], { scale: true }),
  servingRows: () => switched(false, [6, 3], { scale: true }),
  trainingImages: () => switched(true, [2, 2, 3, 2], {}),
  servingImages: () => switched(false, [2, 2, 3, 2], {}),
  trainingAtOnce: () => switched(true, [2, 2, 3, 2], { updatesCollections: null }),
  servingAtOnce: () => switched(false, [2, 2, 3, 2], { updatesCollections: null }),
  trainingComposed: () => switched(true, [6, 3], { fused: false, updatesCollections: null }),
  servingComposed: () => switched(false, [6, 3], { fused: false, updatesCollections: null }),
  trainingFirst: () => switched(true, [2, 2, 3, 2], { ...first, scale: true }),
  trainingFirstComposed: () => switched(true, [2, 2, 3, 2], { ...first, scale: true, fused: false }),
  servingFirst: () => switched(false, [2, 2, 3, 2], first),
};
const cases: Record<string, () => tf.Tensor[]> = {};
for (const [name, make] of Object.entries(nets))
  cases[name] = () => [...withUpdates(make()), ...tf.getCollection<tf.Tensor>(tf.GraphKeys.REGULARIZATION_LOSSES)];

cases.summaries = () => {
  const x = data(2, 2, 3);
  for (const y of [tf.nn.relu(x, { name: 'cut' }), tf.nn.relu6(x), tf.tanh(x)])
    tf.addToCollection(tf.GraphKeys.ACTIVATIONS, y);
  layers.summarizeActivations();
  layers.summarizeTensor(tf.reduceSum(x), { tag: 'total' });
  layers.summarizeTensors([x, tf.reduceMax(x)]);
  tf.addToCollection(tf.GraphKeys.WEIGHTS, x);
  layers.summarizeWeights({ nameFilter: 'other' });
  layers.summarizeWeights({ nameFilter: 'Con' });
  expect(layers.summarizeTensor(tf.constant('text'))).toBeNull();
  return [x];
};

type Options = tf.contrib.layers.OptimizeLossOptions;
const losses: Record<string, (w: tf.Variable, b: tf.Variable) => Options> = {
  multiplied: (w) => ({
    gradientMultipliers: new Map<tf.Variable | string, tf.TensorLike>([
      [w, tf.constant([1, 0.5, 0])],
      ['b:0', 3],
    ]),
  }),
  clippedTogether: () => ({ clipGradients: 0.2, gradientMultipliers: new Map([['w:0', 0.5]]) }),
  clippedByFunction: () => ({
    clipGradients: (pairs) => pairs.map(([g, v]) => [tf.clipByValue(tf.convertToTensor(g!), -0.1, 0.1), v]),
  }),
  onlySome: (_w, b) => ({ variables: [b] }),
  noNoise: () => ({ gradientNoiseScale: 0 }),
};
for (const [name, options] of Object.entries(losses))
  cases[`optimizeLoss.${name}`] = () => {
    const step = tf.train.getOrCreateGlobalStep();
    const [w, b] = [tf.getVariable('w', [3]), tf.getVariable('b', [])];
    const loss = tf.reduceSum(tf.square(w.mul(data(2, 3)).add(b).sub(1)));
    const optimizer = new tf.train.GradientDescentOptimizer(0.1);
    const train = layers.optimizeLoss(loss, step, null, optimizer, { summaries: [], ...options(w, b) });
    return tf.controlDependencies([train], () => [train, w.readValue(), b.readValue(), step.readValue()]);
  };

compareAll('contribLayers.json', cases);

describe('What tf.contrib.layers refuses', () => {
  const refused = (name: string, make: () => unknown, why: RegExp) =>
    it(name, () => new tf.Graph().asDefault(() => expect(make).toThrow(why)));
  const unknown = () => tf.placeholder(tf.float32, null);
  refused('formats it does not know', () => layers.maxPool3d(volumes(), 2, first as never), /either NCDHW or NDHWC/);
  refused(
    'images where volumes belong',
    () => layers.avgPool3d(images(), 2),
    /inputs of rank 5, but these have rank 4/,
  );
  refused('pooling of vectors', () => layers.pool(data(2, 3, 4), 2, 'MAX'), /Rank of inputs must be >= 3/);
  refused('biases of unknown inputs', () => layers.biasAdd(unknown()), /Dims of shape must be known/);
  refused('vectors with channels first', () => layers.biasAdd(data(2, 3, 4), first), /NCHW only supports 4D/);
  refused('units that do not divide', () => layers.maxout(data(2, 3, 8), 3), /8\) is not a multiple of numUnits\(3\)/);
  refused('groups that do not divide', () => layers.groupNorm(images(), { groups: 3 }), /Invalid groups 3 for 2/);
  refused('groups of images too few', () => layers.groupNorm(data(2, 1, 2, 2, 5), { groups: 2 }), /not commensurate/);
  refused('an axis twice', () => layers.groupNorm(images(), { groups: 2, reductionAxes: [-1] }), /mutually exclusive/);
  refused('words without a number', () => layers.embedSequence([[1]], {}), /vocabSize and embedDim/);
  refused('options it does not know', () => layers.softmax(images(), { axis: 1 } as never), /axis/);
  refused(
    'an argScope of any function',
    () => {
      framework.argScope([tf.nn.relu], {}, () => 0);
    },
    /takes no default options/,
  );
});

it('scaleGradient changes only the gradient', () =>
  new tf.Graph().asDefault(async () => {
    const x = tf.constant([1.5, -2]);
    const y = layers.scaleGradient(x, 0.1);
    const [dx] = tf.gradients(tf.reduceSum(tf.square(y)), [x]);
    const [value, gradient] = await new tf.Session().run([y, tf.convertToTensor(dx!)]);
    expect(value.numbers()).toEqual([1.5, -2]);
    expect(gradient.numbers().map((n) => Math.round(Number(n) * 1e6) / 1e6)).toEqual([0.3, -0.4]);
  }));

it('optimizeLoss adds noise to gradients', () =>
  new tf.Graph().asDefault(async () => {
    tf.setRandomSeed(5);
    const w = tf.getVariable('w', [64], { initializer: tf.zerosInitializer() });
    const sgd = new tf.train.GradientDescentOptimizer(1);
    const train = layers.optimizeLoss(tf.reduceSum(w), null, null, sgd, { summaries: [], gradientNoiseScale: 0.25 });
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    await sess.run(train);
    // The gradient is 1 everywhere; what is added is a truncated normal, so never more than two deviations.
    const noise = (await sess.run(w.readValue())).numbers().map((n) => -Number(n) - 1);
    expect(Math.max(...noise.map(Math.abs))).toBeLessThanOrEqual(0.5 + 1e-6);
    const deviation = Math.sqrt(noise.reduce((sum, n) => sum + n * n, 0) / noise.length);
    expect(deviation).toBeGreaterThan(0.1);
    expect(deviation).toBeLessThan(0.4);
  }));

/** @file Layers for images: nodes, variables, values and gradients as real TensorFlow's; channels first as channels last; errors. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { Mul } from '../../../src/ops/math/multiply.ts';
import { type Built, expectAsInTensorFlow, readGolden } from './golden.ts';

const { layers } = tf;
type Sizes = readonly (number | null)[];

/** Half the l2 loss, with the nodes that Python's `0.5 * tf.nn.l2_loss(w)` makes. */
const half = (w: tf.TensorLike) => Mul.build({ x: 0.5, y: tf.nn.l2Loss(w) }, { name: 'mul' }).z;

/** Numbers that are exact in every float type, as in tools/golden/imageLayers.py. */
function pattern(shape: readonly number[]): tf.NDArray {
  const n = shape.reduce((a, b) => a * b, 1);
  const values = Float32Array.from({ length: n }, (_, i) => (((i * 7) % 11) - 5) / 4);
  return new tf.NDArray(tf.float32, shape, values);
}

/** A layer applied to `x`, and the gradients of the sum of squares of what it gives. */
function of(apply: (x: tf.Tensor) => tf.Tensor, shape: Sizes, fed?: readonly number[]): () => Built {
  return () => {
    tf.setRandomSeed(1);
    const x = tf.placeholder(tf.float32, shape, { name: 'x' });
    const y = apply(x);
    const loss = tf.reduceSum(tf.square(y));
    const gradients = tf.gradients(loss, [x, ...tf.trainableVariables()]);
    return {
      fetches: [y, ...gradients.map((g) => tf.convertToTensor(g!))],
      feeds: [[x, pattern(fed ?? shape.map((d) => d ?? 2))]],
    };
  };
}

const line = [null, 6, 2];
const image = [null, 5, 6, 2];
const volume = [null, 3, 4, 3, 2];
const first = { dataFormat: 'channels_first' } as const;

const cases: Record<string, () => Built> = {
  conv1d: of((x) => layers.conv1d(x, 3, 2), line),
  conv1dStrides: of(
    (x) => layers.conv1d(x, 3, 3, { strides: 2, padding: 'same', activation: tf.nn.relu, name: 'steps' }),
    line,
  ),
  conv1dDilation: of((x) => layers.conv1d(x, 2, [2], { dilationRate: 2, useBias: false }), line),
  conv1dChannelsFirst: of((x) => layers.conv1d(x, 3, 2, first), [null, 2, 6]),
  conv2d: of((x) => layers.conv2d(x, 3, 3), image),
  conv2dUnknownSizes: of((x) => layers.conv2d(x, 2, [2, 3], { padding: 'SAME' }), [null, null, null, 2], [2, 3, 4, 2]),
  conv2dStrides: of(
    (x) =>
      layers.conv2d(x, 3, [3, 2], {
        strides: [2, 1],
        padding: 'same',
        activation: tf.nn.relu,
        biasInitializer: tf.constantInitializer(0.25),
        kernelRegularizer: half,
        biasRegularizer: half,
      }),
    image,
  ),
  conv2dDilation: of((x) => layers.conv2d(x, 2, 2, { dilationRate: [2, 3], padding: 'same' }), image),
  conv2dChannelsFirst: of((x) => layers.conv2d(x, 3, 3, { ...first, name: 'first' }), [null, 2, 5, 6]),
  conv3d: of((x) => layers.conv3d(x, 2, 2), volume),
  conv3dStrides: of((x) => layers.conv3d(x, 2, [2, 3, 1], { strides: [1, 2, 2], padding: 'same' }), volume),
  conv3dChannelsFirst: of((x) => layers.conv3d(x, 2, 2, first), [null, 2, 3, 4, 3]),

  conv2dTranspose: of((x) => layers.conv2dTranspose(x, 3, 3), [null, 3, 4, 2]),
  conv2dTransposeStrides: of(
    (x) => layers.conv2dTranspose(x, 2, [3, 2], { strides: 2, padding: 'same', activation: tf.nn.relu }),
    [2, 3, 4, 2],
  ),
  conv2dTransposeUnknownSizes: of(
    (x) => layers.conv2dTranspose(x, 2, 3, { strides: [2, 1] }),
    [null, null, null, 2],
    [1, 2, 3, 2],
  ),
  conv2dTransposeChannelsFirst: of((x) => layers.conv2dTranspose(x, 3, 3, first), [null, 2, 3, 4]),
  conv3dTranspose: of((x) => layers.conv3dTranspose(x, 2, 2, { strides: 2 }), [null, 2, 2, 3, 2]),
  conv3dTransposeSame: of(
    (x) => layers.conv3dTranspose(x, 2, 3, { strides: [1, 2, 1], padding: 'same', useBias: false }),
    [null, 2, 2, 3, 2],
  ),
  conv3dTransposeChannelsFirst: of((x) => layers.conv3dTranspose(x, 2, 2, first), [null, 2, 2, 2, 3]),

  separableConv1d: of((x) => layers.separableConv1d(x, 3, 2, { depthMultiplier: 2 }), line),
  separableConv1dStrides: of(
    (x) => layers.separableConv1d(x, 3, 3, { strides: 2, padding: 'same', activation: tf.nn.relu }),
    line,
  ),
  separableConv1dDilation: of((x) => layers.separableConv1d(x, 3, 2, { dilationRate: 2 }), line),
  separableConv2d: of((x) => layers.separableConv2d(x, 3, 3), image),
  separableConv2dStrides: of(
    (x) =>
      layers.separableConv2d(x, 3, 3, {
        strides: [2, 2],
        padding: 'same',
        depthMultiplier: 2,
        depthwiseRegularizer: half,
        pointwiseRegularizer: half,
      }),
    image,
  ),
  separableConv2dDilation: of(
    (x) => layers.separableConv2d(x, 2, 2, { dilationRate: [2, 2], padding: 'same', useBias: false }),
    image,
  ),
  separableConv2dChannelsFirst: of((x) => layers.separableConv2d(x, 3, 2, first), [null, 2, 5, 6]),

  conv2dTwice: of((x) => {
    const layer = new layers.Conv2D(2, 2, { name: 'shared', padding: 'same' });
    return layer.apply(layer.apply(x)).add(layers.conv2d(layers.conv2d(x, 3, 1), 2, 1));
  }, image),

  dropoutChosen: () => {
    const training = tf.placeholder(tf.bool, [], { name: 'training' });
    const x = tf.placeholder(tf.float32, [null, 3], { name: 'x' });
    const y = layers.dropout(x, 0.4, { training, seed: 3 });
    const [dx] = tf.gradients(y, [x]);
    return { fetches: [tf.convertToTensor(dx!), y], feeds: [[training, false], [x, pattern([4, 3])]] }; // biome-ignore format: pairs
  },
};

const poolings = {
  maxPooling1d: layers.maxPooling1d,
  maxPooling2d: layers.maxPooling2d,
  maxPooling3d: layers.maxPooling3d,
  averagePooling1d: layers.averagePooling1d,
  averagePooling2d: layers.averagePooling2d,
  averagePooling3d: layers.averagePooling3d,
};
for (const [name, pool] of Object.entries(poolings)) {
  const shape = [line, image, volume][Number(name.at(-2)) - 1]!;
  const [batch, ...rest] = shape;
  cases[name] = of((x) => pool(x, 2, 2), shape);
  cases[`${name}Same`] = of((x) => pool(x, 3, 2, { padding: 'same', name: 'smaller' }), shape);
  cases[`${name}ChannelsFirst`] = of((x) => pool(x, 2, 1, first), [batch!, rest.at(-1)!, ...rest.slice(0, -1)]);
}

describe('layers for images', () => {
  const golden = readGolden('imageLayers');
  it('cover what TensorFlow recorded', () => expect(Object.keys(cases).sort()).toEqual(Object.keys(golden).sort()));
  for (const [name, make] of Object.entries(cases)) it(name, () => expectAsInTensorFlow(golden[name]!, make));
});

/** A test in a graph of its own. */
function inGraph(name: string, body: () => unknown): void {
  it(name, () => new tf.Graph().asDefault(async () => void (await body())));
}

describe('channels first', () => {
  const options = { kernelInitializer: tf.randomNormalInitializer({ seed: 1 }), padding: 'same' } as const;
  const separable = { depthwiseInitializer: options.kernelInitializer, padding: 'same' } as const;
  type Apply = (x: tf.Tensor, given: { dataFormat: 'channels_first' | 'channels_last' }) => tf.Tensor;
  const all: Record<string, [spatial: number, apply: Apply]> = {
    conv1d: [1, (x, given) => layers.conv1d(x, 3, 2, { ...options, ...given })],
    conv2d: [2, (x, given) => layers.conv2d(x, 3, 2, { ...options, ...given, strides: 2 })],
    conv3d: [3, (x, given) => layers.conv3d(x, 3, 2, { ...options, ...given })],
    conv2dTranspose: [2, (x, given) => layers.conv2dTranspose(x, 3, 2, { ...options, ...given, strides: [2, 1] })],
    conv3dTranspose: [3, (x, given) => layers.conv3dTranspose(x, 3, 2, { ...options, ...given })],
    separableConv1d: [1, (x, given) => layers.separableConv1d(x, 3, 2, { ...separable, ...given })],
    separableConv2d: [2, (x, given) => layers.separableConv2d(x, 3, 2, { ...separable, ...given })],
    ...Object.fromEntries(
      Object.entries(poolings).map(([name, pool]): [string, [number, Apply]] => [
        name,
        [Number(name.at(-2)), (x, given) => pool(x, 2, 1, given)],
      ]),
    ),
  };
  for (const [name, [spatial, apply]] of Object.entries(all))
    inGraph(`${name} gives what it gives with channels last`, async () => {
      tf.setRandomSeed(1);
      const x = tf.constant(pattern([2, ...[4, 5, 3].slice(0, spatial), 2]));
      const axes = Array.from({ length: spatial }, (_, i) => i + 1);
      const toFirst = [0, spatial + 1, ...axes];
      const toLast = [0, ...axes.map((i) => i + 1), 1];
      const last = tf.variableScope('m', () => apply(x, { dataFormat: 'channels_last' }));
      const first = tf.variableScope('m', { reuse: true }, () =>
        apply(tf.transpose(x, toFirst), { dataFormat: 'channels_first' }),
      );
      const turned = tf.transpose(first, toLast);
      expect(turned.shape).toEqual(last.shape);
      const sess = new tf.Session();
      await sess.run(tf.globalVariablesInitializer());
      const [a, b] = await sess.run([last, turned]);
      for (const [i, value] of a.numbers().entries()) expect(b.numbers()[i]).toBeCloseTo(value, 5);
    });
});

describe('mistakes', () => {
  const x = () => tf.placeholder(tf.float32, [null, 5, 6, 2]);
  inGraph('say what is wrong', () => {
    expect(() => layers.conv2d(tf.zeros([5, 6, 2]), 3, 3)).toThrow(/expected ndim=4, found ndim=3/);
    expect(() => layers.conv2d(tf.placeholder(tf.float32, [null, 5, 6, null]), 3, 3)).toThrow(/channel dimension/);
    expect(() => layers.conv2d(x(), 0, 3)).toThrow(/`filters`, expected a positive integer, got 0/);
    expect(() => layers.conv2d(x(), 3, [3])).toThrow(/`kernelSize` .* 2 of them. Received: \[3\]/);
    expect(() => layers.conv2d(x(), 3, 3, { padding: 'full' as 'same' })).toThrow(/"valid", "same". Received: full/);
    expect(() => layers.conv2d(x(), 3, 3, { dataFormat: 'NHWC' as 'channels_last' })).toThrow(/Received: NHWC/);
    expect(() => layers.conv2d(x(), 3, 3, { strides: 2, dilationRate: 2 })).toThrow(/strides > 1 not supported/);
    expect(() => layers.conv2d(x(), 3, 3, { stride: 2 } as object)).toThrow(/stride/);
    expect(() => layers.conv2d(x(), 3, 9)).toThrow(/Negative dimension size|larger than/i);
    expect(() => layers.maxPooling2d(x(), 0, 1)).toThrow(/`poolSize` argument must be a positive integer/);
    expect(() => layers.averagePooling3d(x(), 2, 1)).toThrow(/expected ndim=5, found ndim=4/);
    const layer = new layers.Conv2D(3, 2, { name: 'c' });
    layer.apply(x());
    expect(() => layer.apply(tf.zeros([1, 5, 6, 3]))).toThrow(/expected axis 3 of input shape to have value 2/);
  });
});

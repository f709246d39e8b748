/** @file Convolution functions build TensorFlow's nodes, gradients included, and give its values. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { fromElements } from '../../src/core/ndarray.ts';
import { type Dims, type Shape, sizeOf } from '../../src/core/shape.ts';
import { type Build, describeCalls, Inputs } from './goldenCalls.ts';

class ConvInputs extends Inputs {
  image(shape: Shape, name = 'x', dims: Dims = shape, seed = 1): tf.Tensor {
    return this.of(shape, name, { static: dims, seed });
  }
  filter(shape: Shape, dims: Dims = shape): tf.Tensor {
    return this.image(shape, 'f', dims, 2);
  }
}

const onesOf = (shape: Shape) => fromElements(tf.float64, shape, new Array<number>(sizeOf(shape)).fill(1));
const strides = [1, 1, 1, 1];
const [same, valid] = [
  { strides, padding: 'SAME' },
  { strides, padding: 'VALID' },
] as const;

/** The gradients of the squares of `of`'s result. */
function twice(of: (x: tf.Tensor, f: tf.Tensor) => tf.Tensor, image: tf.Tensor, filter: tf.Tensor): tf.Tensor[] {
  return tf.gradients(tf.square(of(image, filter)), [image, filter]).map((g) => tf.convertToTensor(g!));
}

const cases: Record<string, Build<ConvInputs>> = {
  conv2d: (x) => tf.nn.conv2d(x.image([2, 4, 5, 2]), x.filter([3, 2, 2, 3]), same),
  'conv2d valid': (x) => tf.nn.conv2d(x.image([1, 6, 5, 2]), x.filter([3, 2, 2, 2]), { strides: 2, padding: 'VALID' }),
  'conv2d explicit': (x) =>
    tf.nn.conv2d(x.image([1, 4, 3, 1]), x.filter([2, 2, 1, 2]), {
      strides: [1, 2],
      padding: [
        [0, 0],
        [1, 0],
        [2, 1],
        [0, 0],
      ],
    }),
  'conv2d unknown': (x) => tf.nn.conv2d(x.image([1, 4, 3, 2], 'x', [null, null, 3, 2]), x.filter([2, 2, 2, 2]), same),
  'conv2d unknown rank': (x) => tf.nn.conv2d(x.image([1, 4, 3, 2], 'x', null), x.filter([2, 2, 2, 2]), same),
  'conv2d first': (x) =>
    tf.nn.conv2d(x.image([1, 2, 4, 3]), x.filter([2, 2, 2, 2]), {
      strides: [1, 2],
      padding: 'SAME',
      dataFormat: 'NCHW',
    }),
  'conv2d batches': (x) => tf.nn.conv2d(x.image([2, 1, 3, 3, 1]), x.filter([2, 2, 1, 2]), valid),
  'conv2d unknown batches': (x) =>
    tf.nn.conv2d(x.image([2, 1, 3, 3, 1], 'x', [null, 1, null, 3, 1]), x.filter([2, 2, 1, 2]), valid),
  'conv2d literals': () => tf.nn.conv2d(onesOf([1, 2, 2, 1]), onesOf([2, 2, 1, 1]), valid),
  'conv2d twice': (x) => twice((i, f) => tf.nn.conv2d(i, f, same), x.image([1, 4, 3, 2]), x.filter([2, 3, 2, 2])),
  'conv2d input': (x) => {
    const filter = x.filter([2, 2, 2, 3]);
    return tf.nn.conv2dBackpropInput([1, 4, 3, 2], filter, x.image([1, 2, 3, 3]), {
      strides: [1, 2, 1, 1],
      padding: 'SAME',
    });
  },
  'conv2d filter': (x) =>
    tf.nn.conv2dBackpropFilter(x.image([1, 4, 3, 2]), [2, 2, 2, 3], x.image([1, 2, 3, 3], 'y'), {
      strides: [1, 2, 1, 1],
      padding: 'SAME',
    }),

  conv1d: (x) => tf.nn.conv1d(x.image([2, 5, 2]), x.filter([3, 2, 2]), { stride: 2, padding: 'SAME' }),
  'conv1d named': (x) =>
    tf.nn.conv1d(x.image([2, 5, 2]), x.filter([3, 2, 2]), { stride: [1], padding: 'VALID', name: 'c' }),
  'conv1d first': (x) =>
    tf.nn.conv1d(x.image([2, 2, 5]), x.filter([3, 2, 2]), { stride: 2, padding: 'SAME', dataFormat: 'NCW' }),
  'conv1d batches': (x) => tf.nn.conv1d(x.image([2, 1, 5, 2]), x.filter([3, 2, 2]), { stride: 1, padding: 'SAME' }),
  conv1dTranspose: (x) => tf.nn.conv1dTranspose(x.image([2, 3, 2]), x.filter([3, 1, 2]), [2, 6, 1], { strides: 2 }),
  'conv1dTranspose tensor': (x) => {
    const [image, filter] = [x.image([2, 3, 2]), x.filter([3, 1, 2])];
    return tf.nn.conv1dTranspose(image, filter, tf.constant([2, 5, 1]), { strides: [1], padding: 'VALID' });
  },
  'conv1dTranspose first': (x) =>
    tf.nn.conv1dTranspose(x.image([2, 2, 3]), x.filter([3, 1, 2]), [2, 1, 6], { strides: 2, dataFormat: 'NCW' }),

  conv3d: (x) =>
    tf.nn.conv3d(x.image([1, 3, 2, 3, 2]), x.filter([2, 1, 2, 2, 2]), { strides: [1, 2, 1, 1, 1], padding: 'SAME' }),
  'conv3d first': (x) =>
    tf.nn.conv3d(x.image([1, 2, 3, 2, 3]), x.filter([2, 1, 2, 2, 2]), {
      strides: [1, 1, 2, 1, 1],
      padding: 'SAME',
      dataFormat: 'NCDHW',
    }),
  'conv3d twice': (x) =>
    twice(
      (i, f) => tf.nn.conv3d(i, f, { strides: [1, 1, 1, 1, 1], padding: 'SAME' }),
      x.image([1, 2, 2, 3, 1]),
      x.filter([2, 1, 2, 1, 2]),
    ),
  conv3dTranspose: (x) =>
    tf.nn.conv3dTranspose(x.image([1, 2, 2, 2, 2]), x.filter([2, 1, 2, 1, 2]), [1, 4, 2, 4, 1], {
      strides: [1, 2, 1, 2, 1],
    }),
  conv2dTranspose: (x) =>
    tf.nn.conv2dTranspose(x.image([1, 2, 3, 2]), x.filter([3, 2, 1, 2]), [1, 4, 6, 1], { strides: 2 }),
  'conv2dTranspose valid': (x) => {
    const [image, filter] = [x.image([1, 2, 3, 2]), x.filter([3, 2, 1, 2])];
    return tf.nn.conv2dTranspose(image, filter, tf.stack([1, 4, 4, 1]), { ...valid, name: 'up' });
  },
  convTranspose: (x) =>
    tf.nn.convTranspose(x.image([1, 2, 3, 2]), x.filter([3, 2, 1, 2]), [1, 4, 6, 1], { strides: 2 }),
  'convTranspose 1': (x) => tf.nn.convTranspose(x.image([2, 3, 2]), x.filter([3, 1, 2]), [2, 6, 1], { strides: 2 }),

  'convolution strides': (x) =>
    tf.nn.convolution(x.image([1, 4, 5, 2]), x.filter([2, 2, 2, 1]), { padding: 'VALID', strides: [2, 1] }),
  'convolution batches': (x) => tf.nn.convolution(x.image([2, 1, 3, 3, 1]), x.filter([2, 2, 1, 1])),
  'convolution literals': () => tf.nn.convolution(onesOf([1, 3, 1]), onesOf([2, 1, 1])),
  'convolution first dilated': (x) =>
    tf.nn.convolution(x.image([1, 2, 4, 5]), x.filter([2, 2, 2, 2]), {
      padding: 'SAME',
      dilationRate: [2, 1],
      dataFormat: 'NCHW',
    }),
  'convolution valid dilated': (x) =>
    tf.nn.convolution(x.image([1, 5, 5, 1]), x.filter([2, 2, 1, 1]), { dilationRate: [3, 2], name: 'c' }),
  'convolution unknown dilated': (x) =>
    tf.nn.convolution(x.image([1, 5, 5, 1], 'x', [null, null, 5, 1]), x.filter([3, 2, 1, 1]), {
      padding: 'SAME',
      dilationRate: [2, 2],
    }),
  atrousConv2d: (x) => tf.nn.atrousConv2d(x.image([1, 5, 4, 2]), x.filter([3, 2, 2, 1]), { rate: 2, padding: 'SAME' }),
  'atrousConv2d 1': (x) =>
    tf.nn.atrousConv2d(x.image([1, 5, 4, 2]), x.filter([3, 2, 2, 1]), { rate: 1, padding: 'SAME' }),
  'atrousConv2dTranspose SAME': (x) =>
    tf.nn.atrousConv2dTranspose(x.image([1, 5, 4, 2]), x.filter([3, 2, 1, 2]), [1, 5, 4, 1], {
      rate: 2,
      padding: 'SAME',
    }),
  'atrousConv2dTranspose VALID': (x) =>
    tf.nn.atrousConv2dTranspose(x.image([1, 3, 3, 2]), x.filter([3, 2, 1, 2]), [1, 7, 5, 1], {
      rate: 2,
      padding: 'VALID',
    }),
  'atrousConv2dTranspose tensor': (x) => {
    const [image, filter] = [x.image([1, 5, 4, 2]), x.filter([3, 2, 1, 2], [null, null, 1, 2])];
    return tf.nn.atrousConv2dTranspose(image, filter, tf.constant([1, 5, 4, 1]), { rate: 2, padding: 'SAME' });
  },
  'atrousConv2dTranspose 1': (x) =>
    tf.nn.atrousConv2dTranspose(x.image([1, 5, 4, 2]), x.filter([3, 2, 1, 2]), [1, 5, 4, 1], {
      rate: 1,
      padding: 'SAME',
    }),
  withSpaceToBatch: (x) =>
    tf.nn.withSpaceToBatch(x.image([1, 5, 4, 2]), [2, 1], 'VALID', (t, _, padding) =>
      tf.nn.conv2d(t, onesOf([2, 2, 2, 1]), { strides, padding }),
    ),
  'withSpaceToBatch spatial': (x) =>
    tf.nn.withSpaceToBatch(
      x.image([1, 2, 6, 1]),
      [2],
      'VALID',
      (t, _, padding) => tf.nn.conv2d(t, onesOf([1, 2, 1, 1]), { strides, padding }),
      { spatialDims: [2] },
    ),

  depthwise: (x) =>
    tf.nn.depthwiseConv2d(x.image([1, 4, 5, 2]), x.filter([3, 2, 2, 2]), { strides: [1, 2, 2, 1], padding: 'SAME' }),
  'depthwise rate': (x) =>
    tf.nn.depthwiseConv2d(x.image([1, 4, 5, 2]), x.filter([3, 2, 2, 2]), { ...same, rate: [2, 1] }),
  'depthwise explicit': (x) =>
    tf.nn.depthwiseConv2d(x.image([1, 4, 5, 2]), x.filter([3, 2, 2, 1]), {
      strides,
      padding: [
        [0, 0],
        [1, 1],
        [2, 0],
        [0, 0],
      ],
      rate: [2, 2],
    }),
  'depthwise first': (x) =>
    tf.nn.depthwiseConv2d(x.image([1, 2, 4, 5]), x.filter([3, 2, 2, 2]), { ...same, dataFormat: 'NCHW' }),
  'depthwise native': (x) => tf.nn.depthwiseConv2dNative(x.image([1, 4, 5, 2]), x.filter([3, 2, 2, 2]), valid),
  'depthwise twice': (x) =>
    twice((i, f) => tf.nn.depthwiseConv2dNative(i, f, same), x.image([1, 3, 3, 2]), x.filter([2, 2, 2, 1])),
  'depthwise input': (x) => {
    const filter = x.filter([2, 2, 2, 2]);
    return tf.nn.depthwiseConv2dNativeBackpropInput([1, 4, 3, 2], filter, x.image([1, 2, 2, 4]), {
      strides: [1, 2, 2, 1],
      padding: 'SAME',
    });
  },
  'depthwise filter': (x) =>
    tf.nn.depthwiseConv2dNativeBackpropFilter(x.image([1, 4, 3, 2]), [2, 2, 2, 2], x.image([1, 2, 2, 4], 'y'), {
      strides: [1, 2, 2, 1],
      padding: 'SAME',
    }),
  separable: (x) =>
    tf.nn.separableConv2d(x.image([1, 4, 5, 2]), x.filter([3, 2, 2, 2]), x.image([1, 1, 4, 3], 'p', [1, 1, 4, 3], 3), {
      strides: [1, 2, 2, 1],
      padding: 'SAME',
    }),
  'separable rate': (x) =>
    tf.nn.separableConv2d(x.image([1, 4, 5, 2]), x.filter([3, 2, 2, 2]), x.image([1, 1, 4, 3], 'p', [1, 1, 4, 3], 3), {
      ...valid,
      rate: [1, 2],
    }),
  dilation2d: (x) =>
    tf.nn.dilation2d(x.image([1, 4, 5, 2]), x.filter([3, 2, 2]), {
      strides: [1, 2, 1, 1],
      rates: [1, 1, 2, 1],
      padding: 'SAME',
    }),
  erosion2d: (x) => tf.nn.erosion2d(x.image([1, 4, 5, 2]), x.filter([3, 2, 2]), { ...valid, rates: strides }),
};
for (const shape of [
  [2, 5, 2],
  [1, 4, 5, 2],
  [1, 3, 3, 4, 1],
]) {
  const axes = shape.length - 2;
  const taps = [...new Array<number>(axes).fill(2), shape.at(-1)!, 2];
  const dilationRate = new Array<number>(axes).fill(2);
  cases[`convolution ${axes}`] = (x) => tf.nn.convolution(x.image(shape), x.filter(taps), { padding: 'SAME' });
  cases[`convolution ${axes} dilated`] = (x) =>
    tf.nn.convolution(x.image(shape), x.filter(taps), { padding: 'SAME', dilationRate });
}

describeCalls('convolution.json', cases, { inputs: () => new ConvInputs(), tolerance: 1e-6 });

describe('channels first is channels last, transposed', () => {
  const options = { strides: [1, 2, 1, 1], padding: 'SAME' } as const;
  const turned = { strides: [1, 1, 2, 1], padding: 'SAME', dataFormat: 'NCHW' } as const;
  const images: Record<string, [last: typeof tf.nn.depthwiseConv2dNative, filter: Shape]> = {
    conv2d: [tf.nn.conv2d, [3, 2, 2, 3]],
    depthwiseConv2dNative: [tf.nn.depthwiseConv2dNative, [3, 2, 2, 2]],
    groups: [tf.nn.conv2d, [3, 2, 1, 4]],
  };
  /** The value of `y` and its gradients by `sources`, as numbers. */
  const evaluate = async (graph: tf.Graph, inputs: ConvInputs, ys: readonly tf.Tensor[]) => {
    const fetches = graph.asDefault(() =>
      ys.flatMap((y) => [y, ...tf.gradients(tf.square(y), inputs.sources).map((g) => tf.convertToTensor(g!))]),
    );
    const arrays = (await new tf.Session({ graph }).run(fetches, inputs.feeds)) as tf.NDArray[]; // of a list
    return arrays.map((array) => array.numbers().map((n) => Math.fround(n)));
  };

  for (const [name, [convolve, taps]] of Object.entries(images))
    it(name, async () => {
      const graph = new tf.Graph();
      const inputs = new ConvInputs();
      const ys = graph.asDefault(() => {
        const [x, filter] = [inputs.image([2, 5, 4, 2]), inputs.filter(taps)];
        const first = convolve(tf.transpose(x, [0, 3, 1, 2]), filter, turned);
        return [convolve(x, filter, options), tf.transpose(first, [0, 2, 3, 1])];
      });
      const found = await evaluate(graph, inputs, ys);
      expect(found.slice(3)).toEqual(found.slice(0, 3));
    });

  it('conv3d', async () => {
    const graph = new tf.Graph();
    const inputs = new ConvInputs();
    const ys = graph.asDefault(() => {
      const [x, filter] = [inputs.image([1, 3, 4, 3, 2]), inputs.filter([2, 2, 3, 2, 2])];
      const first = tf.nn.conv3d(tf.transpose(x, [0, 4, 1, 2, 3]), filter, {
        strides: [1, 1, 2, 1, 1],
        padding: 'VALID',
        dataFormat: 'NCDHW',
      });
      const last = tf.nn.conv3d(x, filter, { strides: [1, 2, 1, 1, 1], padding: 'VALID' });
      return [last, tf.transpose(first, [0, 2, 3, 4, 1])];
    });
    const found = await evaluate(graph, inputs, ys);
    expect(found.slice(3)).toEqual(found.slice(0, 3));
  });
});

it('input gradients of strides far beyond the image', async () => {
  // Fed, since what is constant is computed before it gets to a device.
  const x = tf.placeholder(tf.float32, [1, 4, 4, 1]);
  const filter = tf.placeholder(tf.float32, [2, 2, 1, 1]);
  const y = tf.nn.conv2d(x, filter, {
    strides: [1, 65536, 65536, 1],
    padding: 'VALID',
  });
  const sess = new tf.Session();
  const [gradient] = tf.gradients(y, [x]);
  const threes = fromElements(tf.float32, [2, 2, 1, 1], [3, 3, 3, 3]);
  const image = fromElements(tf.float32, [1, 4, 4, 1], new Array<number>(16).fill(1));
  const found = await sess.run(
    tf.reshape(gradient!, [-1]),
    new Map<tf.Tensor, tf.NDArray>([
      [x, image],
      [filter, threes],
    ]),
  );
  expect(found.numbers()).toEqual([3, 3, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  await sess.close();
});

describe('sums of very large windows keep what is small beside them', () => {
  // As float32, 2^24 + 1 is 2^24.
  const [large, count] = [2 ** 24, 2 ** 21];
  const ones = (length: number) => new Float32Array(length).fill(1);
  /** Many ones, and first a number that they would be lost beside. */
  const image = (length: number) => ones(length).fill(large, 0, 1);

  it.each([
    ['one row', [1, count]],
    ['a thousand rows', [1024, count / 1024]],
    ['one column', [count, 1]],
    ['two columns', [count / 2, 2]],
  ] as const)('of %s', async (_, [height, width]) => {
    using sess = new tf.Session();
    const x = tf.placeholder(tf.float32, [1, height, width, 1]);
    const filter = tf.placeholder(tf.float32, [height, width, 1, 1]);
    const feeds = [
      [x, new tf.NDArray(tf.float32, [1, height, width, 1], image(count))],
      [filter, new tf.NDArray(tf.float32, [height, width, 1, 1], ones(count))],
    ] as const;
    const found = await sess.run(tf.nn.conv2d(x, filter, valid), feeds);
    expect(Math.abs(found.numbers()[0]! - large - count)).toBeLessThan(3);
  });

  it.each([
    ['rows', [2 * count, 1]],
    ['columns', [1, 2 * count]],
  ] as const)('in the gradient of a filter whose taps are many %s apart', async (_, [height, width]) => {
    using sess = new tf.Session();
    const apart = (size: number) => (size > 1 ? count : 1);
    const x = tf.placeholder(tf.float32, [1, height, width, 1]);
    const dy = tf.placeholder(tf.float32, [1, apart(height), apart(width), 1]);
    const options = { ...valid, dilations: [1, apart(height), apart(width), 1] };
    const filter = [Math.min(height, 2), Math.min(width, 2), 1, 1];
    const feeds = [
      [x, new tf.NDArray(tf.float32, [1, height, width, 1], image(2 * count))],
      [dy, new tf.NDArray(tf.float32, [1, apart(height), apart(width), 1], ones(count))],
    ] as const;
    const [first, second] = (await sess.run(tf.nn.conv2dBackpropFilter(x, filter, dy, options), feeds)).numbers();
    expect(Math.abs(first! - large - count)).toBeLessThan(3);
    expect(second).toBe(count);
  });
});

/** @file MaxPool and its gradients: the largest element of each window of an image, windows given as attributes or values. */
import * as d from '../../core/dtypes.ts';
import { UnimplementedError } from '../../core/errors.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { attr, realNumbers, realNumberTypes } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { complete } from '../array/common.ts';
import { zerosLike } from '../math/zerosLike.ts';
import { explicitPaddings, imageAxes, imageFormat, paddingOrExplicit, ranked } from './convSizes.ts';
import { channelsFirst, depthWindows, image, ints, pooled, ties, windows } from './poolCases.ts';
import {
  checkImagePool,
  checkPositive,
  expectRank,
  expectShape,
  mergedWith,
  type PoolAttrs,
  pooledDims,
  pooledDimsOf,
  poolGeometry,
  poolPadding,
  windowSizes,
} from './poolSizes.ts';

const poolable = attr('type', {
  allowed: [
    ...[d.float16, d.bfloat16, d.float32, d.float64, d.int32, d.int64],
    ...[d.uint8, d.int16, d.int8, d.uint16, d.qint8],
  ],
  default: d.float32,
});
const anyFormat = attr('string', { choices: ['NHWC', 'NCHW', 'NCHW_VECT_C'], default: 'NHWC' });
const realOrFloat = attr('type', { allowed: realNumberTypes, default: d.float32 });

/** Windows that are inputs, as far as they are known while building. */
function windowOf(context: { partial(port: 'ksize' | 'strides'): readonly (number | null)[] | undefined }) {
  const [ksize, strides] = [complete(context.partial('ksize')), complete(context.partial('strides'))];
  return { ...(ksize && { ksize }), ...(strides && { strides }) };
}

const positiveWindow = (ksize: readonly number[]) =>
  checkPositive(ksize, () => `Sliding window ksize must be positive. The specified or inferred ksize is: ${ksize}`);

function lowerMaxPool(p: ProgramBuilder, input: Value, attrs: PoolAttrs): Value {
  checkImagePool(input.shape, attrs);
  positiveWindow(attrs.ksize);
  const { channel } = imageAxes(4, attrs.data_format ?? 'NHWC');
  const depth = attrs.ksize[channel]!;
  if (depth > 1) return poolDepth(p, input, depth, attrs, channel);
  const { apply } = poolGeometry(p, input.shape, attrs);
  return apply('max', [input], 'pooled');
}

/** Windows along the channels must lie side by side. */
function poolDepth(p: ProgramBuilder, input: Value, window: number, attrs: PoolAttrs, channel: number): Value {
  const depth = input.shape[channel]!;
  if (depth % window !== 0)
    throw new UnimplementedError('Depthwise max pooling requires the depth window to evenly divide the input depth');
  if (attrs.strides[channel] !== window)
    throw new UnimplementedError('Depthwise max pooling requires the depth window to equal the depth stride');
  if (attrs.padding === 'EXPLICIT')
    throw new UnimplementedError('Depthwise max pooling does not support explicit padding.');
  const split = [...input.shape.slice(0, channel), depth / window, window, ...input.shape.slice(channel + 1)];
  return p.reduce('max', p.reshape(input, split), [channel + 1]);
}

interface MaxPoolGradient {
  readonly orig_input: Value;
  readonly orig_output: Value;
  readonly grad: Value;
}

const noDepth = 'MaxPoolingGrad is not yet supported on the depth dimension.';

function lowerGrad(p: ProgramBuilder, { orig_input, orig_output, grad }: MaxPoolGradient, attrs: PoolAttrs): Value {
  const shape = orig_input.shape;
  expectRank(4, { tensor_in: shape, tensor_out: orig_output.shape, out_backprop: grad.shape });
  checkImagePool(shape, attrs, { depth: noDepth });
  positiveWindow(attrs.ksize);
  const { output, apply } = poolGeometry(p, shape, attrs);
  expectShape('orig_output', orig_output.shape, output);
  expectShape('grad', grad.shape, output);
  return apply('maxGradient', [orig_input, grad], 'image');
}

function lowerGradGrad(p: ProgramBuilder, { orig_input, orig_output, grad }: MaxPoolGradient, attrs: PoolAttrs): Value {
  const shape = orig_input.shape;
  expectRank(4, { tensor_in: shape, tensor_out: orig_output.shape, out_grad_backprop: grad.shape });
  checkImagePool(shape, attrs, { depth: noDepth });
  positiveWindow(attrs.ksize);
  const { output, apply } = poolGeometry(p, shape, attrs);
  expectShape('orig_output', orig_output.shape, output);
  expectShape('grad', grad.shape, shape);
  return apply('pick', [orig_input, orig_output, grad], 'pooled');
}

/** The three tensors that gradients are made of. */
interface GradientInputs {
  readonly orig_input: Tensor;
  readonly orig_output: Tensor;
  readonly grad: Gradient;
}

function maxPoolGrad(inputs: GradientInputs, attrs: PoolAttrs): Tensor {
  return MaxPoolGrad.build(inputs, { attrs }).output;
}

function maxPoolGradGrad(inputs: GradientInputs, attrs: PoolAttrs): Tensor {
  return MaxPoolGradGrad.build(inputs, { attrs }).output;
}

/** Cases of the gradients, whose `grad` is of the pooled image's shape or of the image's. */
function gradientCases(like: 'pooled' | 'image') {
  const shapes = [
    { shape: [1, 4, 4, 2], size: 2, step: 2 },
    { shape: [2, 4, 3, 1], size: 2, step: 1 },
  ];
  const cases = shapes.flatMap(({ shape, size, step }) => {
    const distinct = pooled(shape, size, step);
    const tied = pooled(shape, size, step, ties);
    const attrs = windows(size, step, 'VALID');
    const grad = image(like === 'pooled' ? distinct.shape : shape);
    // The gradient by the maxima is not asked for: moved ever so little, they equal nothing in their windows.
    const differentiable = like === 'pooled' ? ('once' as const) : (false as const);
    return [
      { given: { orig_input: distinct.input, orig_output: distinct.output, grad }, attrs, differentiable },
      { given: { orig_input: tied.input, orig_output: tied.output, grad }, attrs, differentiable: false as const },
    ];
  });
  const input = [
    [
      [[1], [5], [3]],
      [[4], [2], [0]],
    ],
  ];
  const maxima = [
    [
      [[5], [5]],
      [[4], [2]],
    ],
  ];
  const same = { given: { orig_input: input, orig_output: maxima, grad: image([1, 2, like === 'pooled' ? 2 : 3, 1]) } };
  return [...cases, { ...same, attrs: windows(2, [1, 2], 'SAME'), differentiable: false as const }];
}

/** A case whose windows are inputs. */
function asInputs({
  given,
  attrs: { ksize, strides, ...attrs },
  differentiable,
}: ReturnType<typeof gradientCases>[number]) {
  return { given: { ...given, ksize: ints(ksize), strides: ints(strides) }, attrs, differentiable };
}

export const MaxPool = defineOp({
  name: 'MaxPool',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: {
    T: poolable,
    ksize: windowSizes(4),
    strides: windowSizes(4),
    padding: paddingOrExplicit,
    explicit_paddings: explicitPaddings,
    data_format: anyFormat,
  },
  shape: ({ input }, attrs) => ({ output: pooledDims(input, attrs, 4, { depth: true }) }),
  grad: ({ inputs: { input }, outputs: { output }, attrs: { T: _, ...attrs } }, dy) => ({
    input: maxPoolGrad({ orig_input: input, orig_output: output, grad: dy.output }, attrs),
  }),
  lower: (p, { input }, attrs) => ({ output: lowerMaxPool(p, input, attrs) }),
  cases: () => [
    { shape: '[?, 5, 7, 3] -> [?, 3, 4, 3]', attrs: windows(2, 2, 'SAME') },
    { shape: '[2, 5, 7, ?] -> [2, 2, 3, ?]', attrs: windows(2, 2, 'VALID') },
    { shape: '? -> [?, ?, ?, ?]', attrs: windows(2, 2, 'VALID') },
    { shape: '[1, 3, 5, 7] -> [1, 3, 3, 4]', attrs: channelsFirst(2, 2, 'SAME') },
    { shape: '[1, 2, 2, 6] -> [1, 2, 2, 2]', attrs: depthWindows(3) },
    { shape: '[1, 2, 2, 1]', attrs: windows(3, 1, 'VALID'), rejects: /subtracting 3 from 2/ },
    { shape: '[2, 2, 1]', attrs: windows(2, 1, 'VALID'), rejects: /rank 4/ },
    { shape: '[1, 2, 2, 1]', attrs: windows(2, 0, 'VALID'), rejects: /Stride must be > 0/ },
    {
      given: { input: image([1, 3, 3, 1]) },
      attrs: windows(2, 1, 'VALID'),
      expect: {
        output: [
          [
            [[6.2], [2.5]],
            [[6.2], [0.9]],
          ],
        ],
      },
    },
    { given: { input: image([2, 4, 5, 3]) }, attrs: windows([3, 2], [2, 1], 'SAME') },
    { given: { input: image([2, 3, 4, 5]) }, attrs: channelsFirst(2, [1, 2], 'SAME') },
    {
      given: { input: image([1, 3, 4, 2]) },
      attrs: { ...windows([3, 2], 2, 'EXPLICIT'), explicit_paddings: [0, 0, 1, 2, 1, 0, 0, 0] },
      // The gradient of the gradient does not take explicit padding, here and in TensorFlow.
      differentiable: 'once',
    },
    { given: { input: image([1, 2, 1, 6]) }, attrs: depthWindows(2), differentiable: false },
    { given: { input: { dtype: 'float32', value: [], shape: [0, 4, 4, 2] } }, attrs: windows(2, 2, 'VALID') },
    // NaN is passed over.
    {
      given: {
        input: [
          [
            [[Number.NaN], [1]],
            [[3], [Number.NaN]],
          ],
        ],
      },
      attrs: windows(2, 2, 'VALID'),
      expect: { output: [[[[3]]]] },
      differentiable: false,
    },
    { given: { input: image([1, 2, 2, 1]) }, attrs: windows(0, 1, 'SAME'), fails: /ksize must be positive/ },
    {
      given: { input: image([2, 2, 2, 1]) },
      attrs: { ...windows(1, 1, 'SAME'), ksize: [2, 1, 1, 1] },
      fails: /Pooling is not yet supported on the batch dimension/,
    },
    {
      given: { input: image([1, 2, 2, 2]) },
      attrs: { ...windows(2, 1, 'SAME'), ksize: [1, 2, 2, 2] },
      fails: /exactly one of pooling across depth or pooling across width/,
    },
    {
      given: { input: image([1, 2, 2, 5]) },
      attrs: depthWindows(2),
      fails: /requires the depth window to evenly divide/,
    },
    {
      given: { input: image([1, 2, 2, 1]) },
      attrs: { ...windows(2, 1, 'EXPLICIT'), explicit_paddings: [0, 0, 2, 0, 0, 0, 0, 0] },
      fails: /Top padding 2 needs to be smaller than the window size 2/,
    },
    {
      given: { input: image([1, 2, 2, 1]) },
      attrs: { ...windows(2e9, 1, 'EXPLICIT'), explicit_paddings: [0, 0, 1999999999, 1999999999, 1999999999, 5, 0, 0] },
      fails: /do not fit into memory/,
    },
  ],
});

export const MaxPoolV2 = defineOp({
  name: 'MaxPoolV2',
  inputs: { input: 'T', ksize: 'int32', strides: 'int32' },
  outputs: { output: 'T' },
  attrs: { T: poolable, padding: poolPadding, data_format: anyFormat },
  hostInputs: ['ksize', 'strides'],
  shape: ({ input }, attrs, context) => ({ output: pooledDimsOf(input, windowOf(context), attrs) }),
  grad: ({ inputs: { input, ksize, strides }, outputs: { output }, attrs: { T: _, ...attrs } }, dy) => ({
    input: MaxPoolGradV2.build({ orig_input: input, orig_output: output, grad: dy.output, ksize, strides }, { attrs })
      .output,
  }),
  lower: (p, { input, ksize, strides }, attrs) => ({
    output: lowerMaxPool(p, input, { ...attrs, ksize: p.demandInts(ksize), strides: p.demandInts(strides) }),
  }),
  cases: () => [
    { shape: '[?, 5, 7, 3], [4], [4] -> [?, ?, ?, ?]', attrs: { padding: 'SAME' } },
    {
      shape: '[?, 5, 7, 3], [4], [4] -> [?, 3, 4, 3]',
      attrs: { padding: 'SAME' },
      given: { ksize: ints([1, 2, 2, 1]), strides: ints([1, 2, 2, 1]) },
    },
    {
      given: { input: image([1, 3, 3, 2]), ksize: ints([1, 2, 2, 1]), strides: ints([1, 1, 1, 1]) },
      attrs: { padding: 'VALID' },
    },
    {
      given: { input: image([1, 3, 3, 2]), ksize: ints([1, 2, 1]), strides: ints([1, 1, 1, 1]) },
      attrs: { padding: 'VALID' },
      fails: /Sliding window ksize field must specify 4 dimensions/,
    },
  ],
});

export const MaxPoolGrad = defineOp({
  name: 'MaxPoolGrad',
  inputs: { orig_input: 'T', orig_output: 'T', grad: 'T' },
  outputs: { output: 'T' },
  attrs: {
    ksize: windowSizes(4),
    strides: windowSizes(4),
    padding: paddingOrExplicit,
    explicit_paddings: explicitPaddings,
    data_format: imageFormat,
    T: realOrFloat,
  },
  shape: ({ orig_input }) => ({ output: ranked('orig_input', orig_input, 4) }),
  grad({ inputs: { orig_input, orig_output }, attrs: { ksize, strides, padding, data_format } }, dy) {
    const attrs = { ksize, strides, padding, data_format };
    return {
      orig_input: zerosLike(orig_input),
      orig_output: zerosLike(orig_output),
      grad: maxPoolGradGrad({ orig_input, orig_output, grad: dy.output }, attrs),
    };
  },
  lower: (p, inputs, attrs) => ({ output: lowerGrad(p, inputs, attrs) }),
  cases: () => [
    { shape: '[?, 4, 4, 1], ?, ? -> [?, 4, 4, 1]', attrs: windows(2, 2, 'VALID') },
    ...gradientCases('pooled'),
    {
      given: {
        orig_input: image([1, 3, 4, 2]),
        orig_output: image([1, 2, 2, 2]),
        grad: image([1, 2, 2, 2]),
      },
      attrs: { ...windows([3, 2], 2, 'EXPLICIT'), explicit_paddings: [0, 0, 1, 1, 1, 0, 0, 0] },
      // The gradient of the gradient does not take explicit padding, here and in TensorFlow.
      differentiable: false,
    },
    {
      given: { orig_input: image([1, 1, 1, 1]), orig_output: image([1, 1, 1, 2]), grad: image([1, 1, 1, 1]) },
      attrs: windows(1, 1, 'VALID'),
      fails: /Expected orig_output shape to be \[1,1,1,1\], but got \[1,1,1,2\]/,
    },
    {
      given: { orig_input: image([1, 1, 1, 1]), orig_output: image([1, 1, 1, 1]), grad: image([1, 1, 1, 2]) },
      attrs: windows(1, 1, 'VALID'),
      fails: /Expected grad shape to be \[1,1,1,1\], but got \[1,1,1,2\]/,
    },
    {
      given: { orig_input: image([1, 1, 1, 2]), orig_output: image([1, 1, 1, 1]), grad: image([1, 1, 1, 1]) },
      attrs: depthWindows(2),
      fails: /MaxPoolingGrad is not yet supported on the depth dimension/,
    },
  ],
});

export const MaxPoolGradV2 = defineOp({
  name: 'MaxPoolGradV2',
  inputs: { orig_input: 'T', orig_output: 'T', grad: 'T', ksize: 'int32', strides: 'int32' },
  outputs: { output: 'T' },
  attrs: { padding: poolPadding, data_format: imageFormat, T: realOrFloat },
  hostInputs: ['ksize', 'strides'],
  shape: ({ orig_input }) => ({ output: ranked('orig_input', orig_input, 4) }),
  grad({ inputs: { orig_input, orig_output, ksize, strides }, attrs: { T: _, ...attrs } }, dy) {
    return {
      orig_input: zerosLike(orig_input),
      orig_output: zerosLike(orig_output),
      grad: MaxPoolGradGradV2.build({ orig_input, orig_output, grad: dy.output, ksize, strides }, { attrs }).output,
    };
  },
  lower: (p, { ksize, strides, ...inputs }, attrs) => ({
    output: lowerGrad(p, inputs, { ...attrs, ksize: p.demandInts(ksize), strides: p.demandInts(strides) }),
  }),
  cases: () => [
    { shape: '[?, 4, 4, 1], ?, ?, [4], [4] -> [?, 4, 4, 1]', attrs: { padding: 'SAME' } },
    ...gradientCases('pooled').map(asInputs),
  ],
});

export const MaxPoolGradGrad = defineOp({
  name: 'MaxPoolGradGrad',
  inputs: { orig_input: 'T', orig_output: 'T', grad: 'T' },
  outputs: { output: 'T' },
  attrs: {
    ksize: windowSizes(4),
    strides: windowSizes(4),
    padding: poolPadding,
    data_format: imageFormat,
    T: realNumbers,
  },
  shape: ({ orig_input, orig_output, grad }, attrs) => ({
    output: mergedWith(pooledDims(orig_input, attrs, 4, { depth: true }), orig_output, orig_input, grad),
  }),
  grad({ inputs: { orig_input, orig_output }, attrs: { T: _, ...attrs } }, dy) {
    return {
      orig_input: zerosLike(orig_input),
      orig_output: zerosLike(orig_output),
      grad: maxPoolGrad({ orig_input, orig_output, grad: dy.output }, attrs),
    };
  },
  lower: (p, inputs, attrs) => ({ output: lowerGradGrad(p, inputs, attrs) }),
  cases: () => [
    { shape: '[?, 4, 5, 1], [3, ?, ?, ?], ? -> [3, 2, 3, 1]', attrs: windows(2, 2, 'SAME') },
    { shape: '[1, 4, 4, 1], [1, 3, 3, 1], ?', attrs: windows(2, 2, 'SAME'), rejects: /not compatible/ },
    ...gradientCases('image'),
    {
      given: { orig_input: image([1, 2, 2, 1]), orig_output: image([1, 1, 1, 1]), grad: image([1, 2, 2, 1]) },
      attrs: windows(2, 2, 'VALID'),
      // No element equals what is said to be the maximum.
      differentiable: false,
    },
  ],
});

export const MaxPoolGradGradV2 = defineOp({
  name: 'MaxPoolGradGradV2',
  inputs: { orig_input: 'T', orig_output: 'T', grad: 'T', ksize: 'int32', strides: 'int32' },
  outputs: { output: 'T' },
  attrs: { padding: poolPadding, data_format: imageFormat, T: realNumbers },
  hostInputs: ['ksize', 'strides'],
  shape: ({ orig_input, orig_output, grad }, attrs, context) => ({
    output: mergedWith(pooledDimsOf(orig_input, windowOf(context), attrs), orig_output, orig_input, grad),
  }),
  grad: gradientPending('TensorFlow has none either; MaxPoolGradGrad has one'),
  lower: (p, { ksize, strides, ...inputs }, attrs) => ({
    output: lowerGradGrad(p, inputs, { ...attrs, ksize: p.demandInts(ksize), strides: p.demandInts(strides) }),
  }),
  cases: () => [
    { shape: '[?, 4, 4, 1], ?, ?, [4], [4] -> [?, ?, ?, ?]', attrs: { padding: 'SAME' } },
    ...gradientCases('image').map(asInputs),
  ],
});

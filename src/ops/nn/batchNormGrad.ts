/** @file The gradients of FusedBatchNorm in its three forms, and their own gradients. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { zeros } from '../../core/ndarray.ts';
import { type Dims, sameShape, showRuntime, sizeOf } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import {
  allFormats,
  alongChannels,
  checkChannels,
  epsilon,
  halfOrFloat,
  normalizedShape,
  onlyFloat,
  pixelAxes,
  planarFormats,
  training,
  wide,
} from './batchNormChannels.ts';
import { normalizationGradient } from './batchNormGraph.ts';
import { gradientsOf } from './tape.ts';

interface Ports<X> {
  readonly y_backprop: X;
  readonly x: X;
  readonly scale: X;
  readonly reserve_space_1: X;
  readonly reserve_space_2: X;
}
interface Attrs {
  readonly epsilon: number;
  readonly data_format: string;
  readonly is_training: boolean;
}

function gradShape({ y_backprop, x, ...vectors }: Ports<Dims>, format: string) {
  const channels = normalizedShape(['x', x], Object.entries(vectors), format).channels;
  const { image } = normalizedShape(['y_backprop', y_backprop], [['x', [channels]]], format);
  return { x_backprop: image, scale_backprop: [image.at(format.endsWith('C') ? -1 : 1)!] };
}

/** The shapes of all five outputs; the last two are placeholders that nobody reads. */
function outputShapes(ports: Ports<Dims>, format: string) {
  const { x_backprop, scale_backprop } = gradShape(ports, format);
  return { x_backprop, scale_backprop, offset_backprop: scale_backprop };
}

function lowerGrad(p: ProgramBuilder, inputs: Ports<Value>, { data_format: format, ...attrs }: Attrs) {
  const { y_backprop: dy, x, scale, reserve_space_1: mean, reserve_space_2: variance } = inputs;
  const { y_backprop: _, x: __, ...vectors } = inputs;
  checkChannels(x.shape, Object.entries(vectors), format);
  if (!sameShape(x.shape, dy.shape))
    throw new InvalidArgumentError(
      `x and y_backprop must have same shape, but x has shape ${showRuntime(x.shape)} and y_backprop has shape ${showRuntime(dy.shape)}`,
    );
  const axes = pixelAxes(format);
  const count = sizeOf(x.shape) / Math.max(scale.shape[0]!, 1);
  const spread = (v: Value) => alongChannels(p, v, format);
  const grad = wide(p, dy);
  const centered = p.map([x, spread(wide(p, mean))], (v, m) => e.sub(e.cast(v!, d.float32), m!));
  const offset_backprop = p.reduce('sum', grad, axes);
  const products = p.reduce(
    'sum',
    p.map([grad, centered], (g, v) => e.mul(g!, v!)),
    axes,
  );
  const root = p.map([wide(p, variance)], (s) => e.rsqrt(e.add(s!, Math.fround(attrs.epsilon))));
  const scale_backprop = p.map([products, root], (s, r) => e.mul(s!, r!));
  const slope = p.map([scale, root], (s, r) => e.mul(e.cast(s!, d.float32), r!));
  const x_backprop = attrs.is_training
    ? p.map([grad, centered, ...[offset_backprop, products, root, slope].map(spread)], (g, v, total, product, r, k) => {
        const drift = e.mul(v!, e.mul(e.div(product!, count), e.mul(r!, r!)));
        return e.cast(e.mul(e.sub(e.sub(g!, e.div(total!, count)), drift), k!), x.dtype);
      })
    : p.map([grad, spread(slope)], (g, k) => e.cast(e.mul(g!, k!), x.dtype));
  const unit = mean.dtype;
  return {
    x_backprop,
    scale_backprop: p.cast(scale_backprop, unit),
    offset_backprop: p.cast(offset_backprop, unit),
  };
}

/** TensorFlow differentiates the formula of the gradient, written in simpler ops, instead of having an op for it. */
function secondGradient(
  { inputs, attrs }: { readonly inputs: Ports<Tensor>; readonly attrs: Attrs },
  dy: { readonly x_backprop: Gradient; readonly scale_backprop: Gradient; readonly offset_backprop: Gradient },
) {
  const { y_backprop, x, scale } = inputs;
  const [dyBackprop, dx, dscale] = gradientsOf(
    () => normalizationGradient(inputs, attrs),
    [y_backprop, x, scale],
    [dy.x_backprop, dy.scale_backprop, dy.offset_backprop].map(denseGradient),
  );
  return { y_backprop: dyBackprop!, x: dx!, scale: dscale! };
}

const image = [[[[1, 5]], [[2, 2]]], [[[3, 8]], [[4, 1]]]]; // biome-ignore format: two pixels of two channels, twice
const arriving = [[[[0.5, -1]], [[2, 0.25]]], [[[-0.5, 1]], [[1, 3]]]]; // biome-ignore format: as above
const given = {
  y_backprop: arriving,
  x: image,
  scale: [1, 2],
  reserve_space_1: [2.5, 4],
  reserve_space_2: [1.25, 7.5],
};
const planar = {
  y_backprop: [
    [
      [[0.5], [-1]],
      [[2], [3]],
    ],
  ],
  x: [
    [
      [[1], [5]],
      [[2], [2]],
    ],
  ],
};
const empty = { dtype: 'float32' as const, value: [], shape: [0, 2, 1, 2] };

const gradientOf = ['x_backprop', 'scale_backprop', 'offset_backprop'] as const;

function sharedCases() {
  // In training the moments count as functions of x, which these cases hold fixed; the gradient of the gradient is
  // checked through FusedBatchNorm instead.
  const differentiable = false as const;
  return [
    { given, differentiable, expect: { scale_backprop: [-0.4471957, -2.3734486], offset_backprop: [3, 3.25] } },
    { given, attrs: { is_training: false, epsilon: 0.01 }, gradientOf, expect: { offset_backprop: [3, 3.25] } },
    {
      given: { ...given, ...planar },
      attrs: { data_format: 'NCHW' },
      differentiable,
      expect: { offset_backprop: [-0.5, 5] },
    },
    { given: { ...given, y_backprop: empty, x: empty }, differentiable, expect: { offset_backprop: [0, 0] } },
    {
      given: { ...given, reserve_space_1: [1] },
      fails: /reserve_space_1 has 1 entries|reserve_space_1 must have the same number/,
    },
  ];
}

/** An output that only keeps the place of one; nobody reads it. */
const placeholder = (p: ProgramBuilder) => p.constant(zeros(d.float32, [0]));

export const FusedBatchNormGrad = defineOp({
  name: 'FusedBatchNormGrad',
  inputs: { y_backprop: 'T', x: 'T', scale: 'T', reserve_space_1: 'T', reserve_space_2: 'T' },
  outputs: {
    x_backprop: 'T',
    scale_backprop: 'T',
    offset_backprop: 'T',
    reserve_space_3: 'T',
    reserve_space_4: 'T',
  },
  attrs: { T: onlyFloat, epsilon, data_format: planarFormats, is_training: training },
  shape: (ports, { data_format }) => ({
    ...outputShapes(ports, data_format),
    reserve_space_3: [0],
    reserve_space_4: [0],
  }),
  grad: secondGradient,
  lower: (p, inputs, attrs) => ({
    ...lowerGrad(p, inputs, attrs),
    reserve_space_3: placeholder(p),
    reserve_space_4: placeholder(p),
  }),
  cases: () => [{ shape: '[?, 4, 4, 3], ?, [3], [3], [?] -> [?, 4, 4, 3], [3], [3], [0], [0]' }, ...sharedCases()],
});

export const FusedBatchNormGradV2 = defineOp({
  name: 'FusedBatchNormGradV2',
  inputs: { y_backprop: 'T', x: 'T', scale: 'float32', reserve_space_1: 'U', reserve_space_2: 'U' },
  outputs: {
    x_backprop: 'T',
    scale_backprop: 'U',
    offset_backprop: 'U',
    reserve_space_3: 'U',
    reserve_space_4: 'U',
  },
  attrs: { T: halfOrFloat, U: onlyFloat, epsilon, data_format: planarFormats, is_training: training },
  shape: (ports, { data_format }) => ({
    ...outputShapes(ports, data_format),
    reserve_space_3: [0],
    reserve_space_4: [0],
  }),
  grad: secondGradient,
  lower: (p, inputs, attrs) => ({
    ...lowerGrad(p, inputs, attrs),
    reserve_space_3: placeholder(p),
    reserve_space_4: placeholder(p),
  }),
  cases: () => [{ shape: '?, [2, 4, 4, ?], [3], [3], [3] -> [?, ?, ?, 3], [3], [3], [0], [0]' }, ...sharedCases()],
});

export const FusedBatchNormGradV3 = defineOp({
  name: 'FusedBatchNormGradV3',
  inputs: {
    y_backprop: 'T',
    x: 'T',
    scale: 'float32',
    reserve_space_1: 'U',
    reserve_space_2: 'U',
    reserve_space_3: 'U',
  },
  outputs: {
    x_backprop: 'T',
    scale_backprop: 'U',
    offset_backprop: 'U',
    reserve_space_4: 'U',
    reserve_space_5: 'U',
  },
  attrs: { T: halfOrFloat, U: onlyFloat, epsilon, data_format: allFormats, is_training: training },
  shape: ({ reserve_space_3: _, ...ports }, { data_format }) => ({
    ...outputShapes(ports, data_format),
    reserve_space_4: [0],
    reserve_space_5: [0],
  }),
  grad: secondGradient,
  lower: (p, { reserve_space_3: _, ...inputs }, attrs) => ({
    ...lowerGrad(p, inputs, attrs),
    reserve_space_4: placeholder(p),
    reserve_space_5: placeholder(p),
  }),
  cases: () => {
    const more = { reserve_space_3: [] };
    return [
      {
        shape: '[2, 3, 4, 4], [2, 3, 4, 4], [3], [3], [3], [0] -> [2, 3, 4, 4], [3], [3], [0], [0]',
        attrs: { data_format: 'NCHW' },
      },
      { shape: '[2, 4, 4, 3], [2, 4, 4, 3], [5], [3], [3], [0]', rejects: /scale has 5 entries/ },
      ...sharedCases().map((c) => ({ ...c, given: { ...c.given, ...more } })),
      ...['NDHWC', 'NCDHW'].map((data_format) => ({
        given: { ...given, x: [image], y_backprop: [arriving], ...more },
        attrs: { data_format },
        differentiable: false as const,
      })),
    ];
  },
});

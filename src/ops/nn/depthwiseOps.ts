/** @file DepthwiseConv2dNative and the ops of its gradient: every channel is convolved by itself. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Shape, showRuntime } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { ConvGeometry } from '../../program/instructions.ts';
import type { Value } from '../../program/value.ts';
import { shape } from '../array/shape.ts';
import { type BackpropShapes, shapeFromSizes } from './convBackprop.ts';
import { ramp } from './convCases.ts';
import { lowerConv } from './convLowering.ts';
import {
  type ConvAttrs,
  checkConvAttrs,
  defaultDilations,
  explicitPaddings,
  type ImageAxes,
  imageAxes,
  imageFormat,
  imageShape,
  paddingOrExplicit,
  ranked,
  runtimeSizes,
  type Size,
  staticSizes,
} from './convSizes.ts';

const rank = 4;
const attrs = {
  T: attr('type', { allowed: [d.float16, d.bfloat16, d.float32, d.float64] }),
  strides: attr('list(int)'),
  padding: paddingOrExplicit,
  explicit_paddings: explicitPaddings,
  data_format: imageFormat,
  dilations: defaultDilations(rank),
} as const;

interface DepthwiseAttrs extends ConvAttrs {
  readonly explicit_paddings: readonly number[];
}

/** The attributes without the type, which the inputs decide. */
function shared({ strides, padding, explicit_paddings, data_format, dilations }: DepthwiseAttrs) {
  return { strides, padding, explicit_paddings, data_format, dilations };
}

// The gradients of these ops are made of one another.
const convolved = (input: TensorLike, filter: TensorLike, a: DepthwiseAttrs): Tensor =>
  DepthwiseConv2dNative.build({ input, filter }, { attrs: shared(a) }).output;
const inputGradient = (sizes: TensorLike, filter: TensorLike, dy: TensorLike, a: DepthwiseAttrs): Tensor =>
  DepthwiseConv2dNativeBackpropInput.build({ input_sizes: sizes, filter, out_backprop: dy }, { attrs: shared(a) })
    .output;
const filterGradient = (input: TensorLike, sizes: TensorLike, dy: TensorLike, a: DepthwiseAttrs): Tensor =>
  DepthwiseConv2dNativeBackpropFilter.build({ input, filter_sizes: sizes, out_backprop: dy }, { attrs: shared(a) })
    .output;

function mergeChannels(image: Size, filter: Size): Size {
  if (image !== null && filter !== null && image !== filter)
    throw new InvalidArgumentError(`input has ${image} channels, but filter has ${filter}; they must be equal.`);
  return image ?? filter;
}

export const DepthwiseConv2dNative = defineOp({
  name: 'DepthwiseConv2dNative',
  inputs: { input: 'T', filter: 'T' },
  outputs: { output: 'T' },
  attrs,

  shape({ input, filter }, a) {
    checkConvAttrs(a, rank);
    const axes = imageAxes(rank, a.data_format);
    const image = ranked('input', input, rank);
    const taps = ranked('filter', filter, rank);
    const channels = mergeChannels(image[axes.channel]!, taps[2]!);
    const multiplier = taps[3]!;
    const features = channels === null || multiplier === null ? null : channels * multiplier;
    return { output: imageShape(image[0]!, staticSizes(image, taps, a, axes), features, axes) };
  },

  grad: ({ inputs: { input, filter }, attrs: a }, { output: dy }) => ({
    input: inputGradient(shape(input), filter, dy, a),
    filter: filterGradient(input, shape(filter), dy, a),
  }),

  lower(p, { input, filter }, a) {
    checkConvAttrs(a, rank);
    if (input.shape.length !== rank)
      throw new InvalidArgumentError(`input must be 4-dimensional${showRuntime(input.shape)}`);
    if (filter.shape.length !== rank)
      throw new InvalidArgumentError(`filter must be 4-dimensional: ${showRuntime(filter.shape)}`);
    const axes = imageAxes(rank, a.data_format);
    const groups = input.shape[axes.channel]!;
    if (groups !== filter.shape[2])
      throw new InvalidArgumentError(`input and filter must have the same depth: ${groups} vs ${filter.shape[2]}`);
    const { output: sizes, geometry } = runtimeSizes(input.shape, filter.shape, a, axes);
    const output = imageShape(input.shape[0]!, sizes, groups * filter.shape[3]!, axes);
    const arrays = { result: 'output', input, filter, output } as const;
    return { output: lowerConv(p, arrays, axes, geometry, { groups, depthwise: true }) };
  },

  cases: () => [
    { shape: '[?, 4, 5, 3], [2, 2, 3, 2] -> [?, 4, 5, 6]', attrs: { strides: [1, 1, 1, 1], padding: 'SAME' } },
    { shape: '[?, 4, 5, ?], [2, 2, 3, 2] -> [?, 3, 4, 6]', attrs: { strides: [1, 1, 1, 1], padding: 'VALID' } },
    {
      shape: '[8, 3, 4, 5], [2, 2, 3, 2] -> [8, 6, 2, 3]',
      attrs: { strides: [1, 1, 2, 2], padding: 'SAME', data_format: 'NCHW' },
    },
    {
      shape: '[8, 4, 5, 3], [2, 2, 4, 2]',
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
      rejects: /input has 3 channels, but filter has 4/,
    },
    {
      given: {
        input: [
          [
            [
              [1, 10],
              [2, 20],
            ],
          ],
        ],
        filter: [
          [
            [
              [1, 2],
              [3, 4],
            ],
            [
              [5, 6],
              [7, 8],
            ],
          ],
        ],
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      expect: { output: [[[[11, 14, 170, 200]]]] },
    },
    {
      given: { input: ramp([2, 4, 5, 3]), filter: ramp([3, 2, 3, 2], 1) },
      attrs: { strides: [1, 2, 2, 1], padding: 'SAME' },
    },
    {
      given: { input: ramp([1, 5, 5, 4]), filter: ramp([3, 3, 4, 1], 1) },
      attrs: { strides: [1, 1, 1, 1], padding: 'EXPLICIT', explicit_paddings: [0, 0, 1, 0, 2, 1, 0, 0] },
    },
    {
      given: { input: ramp([1, 3, 4, 4]), filter: ramp([3, 2, 3, 2], 1) },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME', data_format: 'NCHW' },
    },
    {
      given: { input: ramp([1, 6, 6, 2]), filter: ramp([2, 2, 2, 1], 1) },
      attrs: { strides: [1, 1, 2, 1], padding: 'VALID', dilations: [1, 2, 3, 1] },
    },
    {
      given: { input: ramp([1, 3, 3, 4]), filter: ramp([5, 1, 4, 2]) },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      fails: /Negative dimension|Computed output size would be negative: -1/,
    },
  ],
});

/** What the gradient ops of depthwise convolutions check alike; `label` begins their messages. */
function checkDepthwise(
  label: string,
  shapes: BackpropShapes,
  a: ConvAttrs,
): { axes: ImageAxes; geometry: ConvGeometry; groups: number } {
  const fail = (text: string) => new InvalidArgumentError(`${label}: ${text}`);
  for (const port of ['input', 'filter', 'out_backprop'] as const)
    if (shapes[port].length !== rank) throw fail(`${port} must be 4-dimensional`);
  const { input, filter, out_backprop } = shapes;
  const axes = imageAxes(rank, a.data_format);
  if (input[0] !== out_backprop[0]) throw fail('input and out_backprop must have the same batch size');
  const groups = input[axes.channel]!;
  if (groups !== filter[2]) throw fail('input and filter must have the same in_depth');
  if (groups * filter[3]! !== out_backprop[axes.channel])
    throw fail('depth_multiplier * in_depth not equal to out_depth');
  const { output, geometry } = runtimeSizes(input, filter, a, axes);
  for (const [i, axis] of axes.spatial.entries())
    if (output[i] !== out_backprop[axis])
      throw fail(
        `Number of ${i === 0 ? 'rows' : 'cols'} of out_backprop doesn't match computed: actual = ${out_backprop[axis]}, computed = ${output[i]}`,
      );
  return { axes, geometry, groups };
}

/** Sizes given as a vector; these ops have words of their own for bad ones. */
function demandSizes(p: ProgramBuilder, sizes: Value, op: string, port: string): Shape {
  if (sizes.shape.length !== 1)
    throw new InvalidArgumentError(`${op}: ${port} input must be 1-dim, not ${sizes.shape.length}`);
  const found = p.demandInts(sizes);
  for (const [i, n] of found.entries())
    if (n < 0) throw new InvalidArgumentError(`Dimension ${i} of ${port} must be >= 0`);
  return found;
}

export const DepthwiseConv2dNativeBackpropInput = defineOp({
  name: 'DepthwiseConv2dNativeBackpropInput',
  inputs: { input_sizes: 'int32', filter: 'T', out_backprop: 'T' },
  outputs: { output: 'T' },
  attrs,
  hostInputs: ['input_sizes'],
  shape: shapeFromSizes('input_sizes', rank),
  grad: ({ inputs: { filter, out_backprop }, attrs: a }, { output: dy }) => ({
    filter: filterGradient(dy, shape(filter), out_backprop, a),
    out_backprop: convolved(dy, filter, a),
  }),
  lower(p, { input_sizes, filter, out_backprop: output }, a) {
    checkConvAttrs(a, rank);
    const input = demandSizes(p, input_sizes, 'Conv2DBackpropInput', 'input_sizes');
    const shapes = { input, filter: filter.shape, out_backprop: output.shape };
    const { axes, geometry, groups } = checkDepthwise('DepthwiseConv2DBackpropInput', shapes, a);
    const arrays = { result: 'input', input, filter, output } as const;
    return { output: lowerConv(p, arrays, axes, geometry, { groups, depthwise: true }) };
  },
  cases: () => [
    {
      shape: '[4], ?, ? -> [2, 4, 5, 3]',
      given: { input_sizes: { dtype: 'int32', value: [2, 4, 5, 3] } },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [1, 1, 2, 2] },
        filter: [
          [
            [
              [1, 2],
              [3, 4],
            ],
            [
              [5, 6],
              [7, 8],
            ],
          ],
        ],
        out_backprop: [[[[1, 10, 100, 1000]]]],
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      expect: {
        output: [
          [
            [
              [21, 4300],
              [65, 8700],
            ],
          ],
        ],
      },
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [2, 4, 5, 3] },
        filter: ramp([3, 2, 3, 2]),
        out_backprop: ramp([2, 2, 3, 6], 1),
      },
      attrs: { strides: [1, 2, 2, 1], padding: 'SAME' },
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [1, 3, 4, 4] },
        filter: ramp([3, 2, 3, 2]),
        out_backprop: ramp([1, 6, 4, 4], 1),
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME', data_format: 'NCHW' },
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [1, 3, 3, 2] },
        filter: ramp([1, 1, 2, 2]),
        out_backprop: ramp([1, 2, 3, 4]),
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      fails: /Number of rows of out_backprop doesn't match computed: actual = 2, computed = 3/,
    },
  ],
});

export const DepthwiseConv2dNativeBackpropFilter = defineOp({
  name: 'DepthwiseConv2dNativeBackpropFilter',
  inputs: { input: 'T', filter_sizes: 'int32', out_backprop: 'T' },
  outputs: { output: 'T' },
  attrs,
  hostInputs: ['filter_sizes'],
  shape: shapeFromSizes('filter_sizes', rank),
  grad: ({ inputs: { input, out_backprop }, attrs: a }, { output: dy }) => ({
    input: inputGradient(shape(input), dy, out_backprop, a),
    out_backprop: convolved(input, dy, a),
  }),
  lower(p, { input, filter_sizes, out_backprop: output }, a) {
    checkConvAttrs(a, rank);
    const filter = demandSizes(p, filter_sizes, 'Conv2DBackpropFilter', 'filter_sizes');
    const shapes = { input: input.shape, filter, out_backprop: output.shape };
    const { axes, geometry, groups } = checkDepthwise('DepthwiseConv2DBackpropFilter', shapes, a);
    const arrays = { result: 'filter', input, filter, output } as const;
    return { output: lowerConv(p, arrays, axes, geometry, { groups, depthwise: true }) };
  },
  cases: () => [
    {
      shape: '?, [4], ? -> [2, 4, 5, 3]',
      given: { filter_sizes: { dtype: 'int32', value: [2, 4, 5, 3] } },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
    },
    {
      given: {
        input: [
          [
            [
              [1, 10],
              [2, 20],
            ],
          ],
        ],
        filter_sizes: { dtype: 'int32', value: [1, 2, 2, 2] },
        out_backprop: [[[[1, 2, 3, 4]]]],
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      expect: {
        output: [
          [
            [
              [1, 2],
              [30, 40],
            ],
            [
              [2, 4],
              [60, 80],
            ],
          ],
        ],
      },
    },
    {
      given: {
        input: ramp([2, 4, 5, 3]),
        filter_sizes: { dtype: 'int32', value: [3, 2, 3, 2] },
        out_backprop: ramp([2, 2, 3, 6], 1),
      },
      attrs: { strides: [1, 2, 2, 1], padding: 'SAME' },
    },
    {
      given: {
        input: ramp([1, 3, 4, 4]),
        filter_sizes: { dtype: 'int32', value: [3, 2, 3, 2] },
        out_backprop: ramp([1, 6, 4, 4], 1),
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME', data_format: 'NCHW' },
    },
    {
      given: {
        input: ramp([1, 3, 3, 2]),
        filter_sizes: { dtype: 'int32', value: [1, 1, 2, 2] },
        out_backprop: ramp([1, 3, 2, 4]),
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      fails: /Number of cols of out_backprop doesn't match computed: actual = 2, computed = 3/,
    },
  ],
});

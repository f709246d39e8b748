/** @file The gradients of Conv2D by its input and by its filter. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, mergeShapes, type Shape } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { dimsFrom, type Known } from '../array/common.ts';
import { shape } from '../array/shape.ts';
import { attrs, type Conv2DAttrs, floating, floatOrInt, rank, shared } from './conv2dAttrs.ts';
import { convolved } from './conv2dOps.ts';
import { checkBackprop, demandShape, shapeFromSizes } from './convBackprop.ts';
import { ramp } from './convCases.ts';
import { lowerConv } from './convLowering.ts';
import { type ConvAttrs, checkConvAttrs, imageAxes, imageShape, ranked } from './convSizes.ts';

/** What the `input_sizes` of Conv2DBackpropInput may be: all four sizes, or height and width alone. */
function staticInput(sizes: Known | undefined, filter: Dims, dy: readonly (number | null)[], format: string): Dims {
  const axes = imageAxes(rank, format);
  if (!sizes) return [dy[0]!, null, null, null];
  if (sizes.length === 2) return imageShape(dy[0]!, dimsFrom(sizes)!, filter?.[2] ?? null, axes);
  if (sizes.length !== 4)
    throw new InvalidArgumentError(
      `Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but got: ${sizes.length}`,
    );
  return mergeShapes(dimsFrom(sizes), [dy[0]!, null, null, null]);
}

function runtimeInput(p: ProgramBuilder, sizes: Value, filter: Shape, dy: Shape, format: string): Shape {
  if (sizes.shape.length !== 1)
    throw new InvalidArgumentError(`Conv2DBackpropInput: input_sizes input must be 1-dim, not ${sizes.shape.length}`);
  const count = sizes.shape[0]!;
  if (count === 4) return demandShape(p, sizes);
  if (count !== 2)
    throw new InvalidArgumentError(
      `Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but got: ${count}`,
    );
  const [height, width] = p.demandInts(sizes) as [number, number]; // two, as counted
  if (height < 0 || width < 0)
    throw new InvalidArgumentError(`Conv2DBackpropInput: elements of input_sizes must be >= 0, not ${height}x${width}`);
  return imageShape(dy[0]!, [height, width], filter[2]!, imageAxes(rank, format));
}

function lowerInputGradient(p: ProgramBuilder, input: Shape, filter: Value, output: Value, a: ConvAttrs): Value {
  checkConvAttrs(a, rank, { unimplemented: true });
  const shapes = { input, filter: filter.shape, out_backprop: output.shape };
  const { axes, geometry, groups } = checkBackprop('Conv2DCustomBackpropInput', shapes, rank, a);
  return lowerConv(p, { result: 'input', input, filter, output }, axes, geometry, { groups, depthwise: false });
}

function lowerFilterGradient(p: ProgramBuilder, input: Value, filter: Shape, output: Value, a: ConvAttrs): Value {
  checkConvAttrs(a, rank);
  const shapes = { input: input.shape, filter, out_backprop: output.shape };
  const { axes, geometry, groups } = checkBackprop('Conv2DCustomBackpropFilter', shapes, rank, a);
  return lowerConv(p, { result: 'filter', input, filter, output }, axes, geometry, { groups, depthwise: false });
}

export const Conv2DBackpropInput = defineOp({
  name: 'Conv2DBackpropInput',
  inputs: { input_sizes: 'int32', filter: 'T', out_backprop: 'T' },
  outputs: { output: 'T' },
  attrs: { T: floatOrInt, ...attrs },
  hostInputs: ['input_sizes'],

  shape({ filter, out_backprop }, a, context) {
    checkConvAttrs(a, rank, { unimplemented: true });
    const dy = ranked('out_backprop', out_backprop, rank);
    const taps = ranked('filter', filter, rank);
    const features = dy[imageAxes(rank, a.data_format).channel];
    if (features !== null && taps[3] !== null && features !== taps[3])
      throw new InvalidArgumentError(
        `out_backprop has ${features} channels, but filter makes ${taps[3]}; they must be equal.`,
      );
    return { output: staticInput(context.partial('input_sizes'), taps, dy, a.data_format) };
  },

  grad: ({ inputs: { filter, out_backprop }, attrs: a }, { output: dy }) => ({
    filter: filterGradient(dy, shape(filter), out_backprop, a),
    out_backprop: convolved(dy, filter, a),
  }),

  lower(p, { input_sizes, filter, out_backprop: dy }, a) {
    if (dy.shape.length !== rank)
      throw new InvalidArgumentError(`input_sizes must be 4-dimensional, got: ${dy.shape.length}`);
    const input = runtimeInput(p, input_sizes, filter.shape, dy.shape, a.data_format);
    return { output: lowerInputGradient(p, input, filter, dy, a) };
  },

  cases: () => [
    {
      shape: '[4], [3, 3, 2, 5], [?, 4, 4, 5] -> [7, 4, 4, 2]',
      given: { input_sizes: { dtype: 'int32', value: [7, 4, 4, 2] } },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
    },
    {
      shape: '[4], ?, [8, 4, 4, 5] -> [8, ?, ?, ?]',
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
    },
    {
      shape: '[2], [3, 3, 2, 5], [8, 4, 4, 5] -> [8, 4, 6, 2]',
      given: { input_sizes: { dtype: 'int32', value: [4, 6] } },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
    },
    {
      shape: '[4], [3, 3, 2, 5], [8, 4, 4, 4]',
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
      rejects: /out_backprop has 4 channels, but filter makes 5/,
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [1, 3, 3, 1] },
        filter: [
          [[[1]], [[2]]],
          [[[3]], [[4]]],
        ],
        out_backprop: [
          [
            [[1], [10]],
            [[100], [1000]],
          ],
        ],
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      expect: {
        output: [
          [
            [[1], [12], [20]],
            [[103], [1234], [2040]],
            [[300], [3400], [4000]],
          ],
        ],
      },
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [2, 5, 6, 2] },
        filter: ramp([3, 2, 2, 3]),
        out_backprop: ramp([2, 3, 2, 3], 1),
      },
      attrs: { strides: [1, 2, 3, 1], padding: 'SAME' },
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [4, 3] },
        filter: ramp([2, 2, 3, 2]),
        out_backprop: ramp([1, 4, 3, 2], 1),
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [1, 2, 5, 4] },
        filter: ramp([3, 2, 2, 3]),
        out_backprop: ramp([1, 3, 3, 4], 1),
      },
      attrs: { strides: [1, 1, 2, 1], padding: 'SAME', data_format: 'NCHW' },
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [1, 3, 4, 2] },
        filter: ramp([3, 2, 2, 2]),
        out_backprop: ramp([1, 2, 6, 2], 1),
      },
      attrs: { strides: [1, 2, 1, 1], padding: 'EXPLICIT', explicit_paddings: [0, 0, 2, 1, 0, 3, 0, 0] },
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [1, 3, 3, 1] },
        filter: ramp([2, 2, 1, 1]),
        out_backprop: ramp([1, 3, 2, 1]),
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      fails: /Size of out_backprop doesn't match computed: actual = 3, computed = 2 spatial_dim: 1/,
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [1, -3, 3, 1] },
        filter: ramp([2, 2, 1, 1]),
        out_backprop: ramp([1, 2, 2, 1]),
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      fails: /Dimension (must be non-negative but is -3|-3 must be >= 0)/,
    },
  ],
});

export const Conv2DBackpropFilter = defineOp({
  name: 'Conv2DBackpropFilter',
  inputs: { input: 'T', filter_sizes: 'int32', out_backprop: 'T' },
  outputs: { output: 'T' },
  attrs: { T: floating, ...attrs },
  hostInputs: ['filter_sizes'],

  shape: shapeFromSizes('filter_sizes', rank),

  grad: ({ inputs: { input, out_backprop }, attrs: a }, { output: dy }) => ({
    input: inputGradient(shape(input), dy, out_backprop, a),
    out_backprop: convolved(input, dy, a),
  }),

  lower(p, { input, filter_sizes, out_backprop }, a) {
    if (filter_sizes.shape.length !== 1)
      throw new InvalidArgumentError(
        `Conv2DCustomBackpropFilter: filter_sizes input must be 1-dim, not ${filter_sizes.shape.length}`,
      );
    return { output: lowerFilterGradient(p, input, demandShape(p, filter_sizes), out_backprop, a) };
  },

  cases: () => [
    {
      shape: '?, [4], ? -> [3, 3, 2, 5]',
      given: { filter_sizes: { dtype: 'int32', value: [3, 3, 2, 5] } },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
    },
    { shape: '?, [4], ? -> [?, ?, ?, ?]', attrs: { strides: [1, 1, 1, 1], padding: 'SAME' } },
    {
      given: {
        input: [
          [
            [[1], [2]],
            [[3], [4]],
          ],
        ],
        filter_sizes: { dtype: 'int32', value: [2, 2, 1, 1] },
        out_backprop: [
          [
            [[1], [10]],
            [[100], [1000]],
          ],
        ],
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
      expect: {
        output: [
          [[[4321]], [[402]]],
          [[[43]], [[4]]],
        ],
      },
    },
    {
      given: {
        input: ramp([2, 5, 6, 2]),
        filter_sizes: { dtype: 'int32', value: [3, 2, 2, 3] },
        out_backprop: ramp([2, 3, 2, 3], 1),
      },
      attrs: { strides: [1, 2, 3, 1], padding: 'SAME' },
    },
    {
      given: {
        input: ramp([1, 2, 5, 4]),
        filter_sizes: { dtype: 'int32', value: [3, 2, 2, 3] },
        out_backprop: ramp([1, 3, 3, 4], 1),
      },
      attrs: { strides: [1, 1, 2, 1], padding: 'SAME', data_format: 'NCHW' },
    },
    {
      given: {
        input: ramp([1, 3, 4, 2]),
        filter_sizes: { dtype: 'int32', value: [3, 2, 2, 2] },
        out_backprop: ramp([1, 2, 6, 2], 1),
      },
      attrs: { strides: [1, 2, 1, 1], padding: 'EXPLICIT', explicit_paddings: [0, 0, 2, 1, 0, 3, 0, 0] },
    },
    {
      given: {
        input: { dtype: 'float32', value: [], shape: [0, 3, 3, 1] },
        filter_sizes: { dtype: 'int32', value: [2, 2, 1, 1] },
        out_backprop: { dtype: 'float32', value: [], shape: [0, 2, 2, 1] },
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      expect: {
        output: [
          [[[0]], [[0]]],
          [[[0]], [[0]]],
        ],
      },
    },
    {
      given: {
        input: ramp([1, 3, 3, 1]),
        filter_sizes: { dtype: 'int32', value: [2, 2, 1, 1] },
        out_backprop: ramp([2, 2, 2, 1]),
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      fails: /input and out_backprop must have the same batch size. Input batch: 1, outbackprop batch: 2/,
    },
  ],
});

// The newer forms take an array of the wanted shape instead of its sizes. No function of TensorFlow makes them.
const unregistered = gradientPending('TensorFlow registers no gradient for it');

export const Conv2DBackpropInputV2 = defineOp({
  name: 'Conv2DBackpropInputV2',
  inputs: { input: 'T', filter: 'T', out_backprop: 'T' },
  outputs: { output: 'T' },
  attrs: { T: floatOrInt, ...attrs },
  shape: ({ input }) => ({ output: ranked('input', input, rank) }),
  grad: unregistered,
  lower: (p, { input, filter, out_backprop }, a) => ({
    output: lowerInputGradient(p, input.shape, filter, out_backprop, a),
  }),
  cases: () => [
    { shape: '[1, ?, 3, 1], ?, ? -> [1, ?, 3, 1]', attrs: { strides: [1, 1, 1, 1], padding: 'SAME' } },
    {
      given: {
        input: ramp([1, 3, 3, 1]),
        filter: [
          [[[1]], [[2]]],
          [[[3]], [[4]]],
        ],
        out_backprop: [
          [
            [[1], [10]],
            [[100], [1000]],
          ],
        ],
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      expect: {
        output: [
          [
            [[1], [12], [20]],
            [[103], [1234], [2040]],
            [[300], [3400], [4000]],
          ],
        ],
      },
    },
  ],
});

export const Conv2DBackpropFilterV2 = defineOp({
  name: 'Conv2DBackpropFilterV2',
  inputs: { input: 'T', filter: 'T', out_backprop: 'T' },
  outputs: { output: 'T' },
  attrs: { T: floating, ...attrs },
  shape: ({ filter }) => ({ output: ranked('filter', filter, rank) }),
  grad: unregistered,
  lower: (p, { input, filter, out_backprop }, a) => ({
    output: lowerFilterGradient(p, input, filter.shape, out_backprop, a),
  }),
  cases: () => [
    { shape: '?, [2, 2, ?, 1], ? -> [2, 2, ?, 1]', attrs: { strides: [1, 1, 1, 1], padding: 'SAME' } },
    {
      given: {
        input: [
          [
            [[1], [2]],
            [[3], [4]],
          ],
        ],
        filter: ramp([2, 2, 1, 1]),
        out_backprop: [
          [
            [[1], [10]],
            [[100], [1000]],
          ],
        ],
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
      expect: {
        output: [
          [[[4321]], [[402]]],
          [[[43]], [[4]]],
        ],
      },
    },
  ],
});

/** The gradient of a convolution by its input. */
export function inputGradient(
  input_sizes: TensorLike,
  filter: TensorLike,
  out_backprop: TensorLike,
  a: Conv2DAttrs,
): Tensor {
  return Conv2DBackpropInput.build({ input_sizes, filter, out_backprop }, { attrs: shared(a) }).output;
}

/** The gradient of a convolution by its filter. */
export function filterGradient(
  input: TensorLike,
  filter_sizes: TensorLike,
  out_backprop: TensorLike,
  a: Conv2DAttrs,
): Tensor {
  return Conv2DBackpropFilter.build({ input, filter_sizes, out_backprop }, { attrs: shared(a) }).output;
}

/** @file Conv3D and the ops of its gradient. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Shape, showRuntime, sizeOf } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr, indexTypes } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { shape, shapeN } from '../array/shape.ts';
import { type BackpropShapes, checkBackprop, demandShape, shapeFromSizes } from './convBackprop.ts';
import { ramp } from './convCases.ts';
import { lowerConv } from './convLowering.ts';
import {
  type ConvAttrs,
  checkConvAttrs,
  defaultDilations,
  groupsOf,
  imageAxes,
  imageShape,
  ranked,
  runtimeSizes,
  staticSizes,
  volumeFormat,
} from './convSizes.ts';

const rank = 5;
const floating = attr('type', { allowed: [d.float16, d.bfloat16, d.float32, d.float64] });
const window = {
  strides: attr('list(int)', { minimum: 5 }),
  padding: attr('string', { choices: ['SAME', 'VALID'] }),
} as const;
const attrs = { ...window, data_format: volumeFormat, dilations: defaultDilations(rank) } as const;

/** The attributes without the type, which the inputs decide. */
function shared({ strides, padding, data_format, dilations }: ConvAttrs) {
  return { strides, padding, data_format, dilations };
}

// The gradients of these ops are made of one another.
const convolved = (input: TensorLike, filter: TensorLike, a: ConvAttrs): Tensor =>
  Conv3D.build({ input, filter }, { attrs: shared(a) }).output;
const inputGradient = (input_sizes: TensorLike, filter: TensorLike, out_backprop: TensorLike, a: ConvAttrs): Tensor =>
  Conv3DBackpropInputV2.build({ input_sizes, filter, out_backprop }, { attrs: shared(a) }).output;
const filterGradient = (input: TensorLike, filter_sizes: TensorLike, out_backprop: TensorLike, a: ConvAttrs): Tensor =>
  Conv3DBackpropFilterV2.build({ input, filter_sizes, out_backprop }, { attrs: shared(a) }).output;

export const Conv3D = defineOp({
  name: 'Conv3D',
  inputs: { input: 'T', filter: 'T' },
  outputs: { output: 'T' },
  attrs: { T: floating, ...attrs },

  shape({ input, filter }, a) {
    checkConvAttrs(a, rank);
    const axes = imageAxes(rank, a.data_format);
    const volume = ranked('input', input, rank);
    const taps = ranked('filter', filter, rank);
    groupsOf(volume[axes.channel]!, taps[3]!, taps[4]!);
    return { output: imageShape(volume[0]!, staticSizes(volume, taps, a, axes), taps[4]!, axes) };
  },

  grad({ inputs: { input, filter }, attrs: a }, { output: dy }) {
    const [inputSizes, filterSizes] = shapeN([input, filter]);
    return { input: inputGradient(inputSizes!, filter, dy, a), filter: filterGradient(input, filterSizes!, dy, a) };
  },

  lower(p, { input, filter }, a) {
    checkConvAttrs(a, rank);
    if (input.shape.length !== rank) throw new InvalidArgumentError('input must be 5-dimensional');
    if (filter.shape.length !== rank) throw new InvalidArgumentError('filter must be 5-dimensional');
    const axes = imageAxes(rank, a.data_format);
    const channels = input.shape[axes.channel]!;
    const [perGroup, features] = filter.shape.slice(3) as [number, number]; // rank checked
    if (perGroup === 0) throw new InvalidArgumentError('filter_depth must be non-zero');
    if (channels % perGroup !== 0)
      throw new InvalidArgumentError(
        `Input depth must be evenly divisible by filter depth: ${channels} vs ${perGroup}`,
      );
    if (sizeOf(filter.shape) === 0)
      throw new InvalidArgumentError('filter must not have zero elements (i.e. all dimensions must be non-zero)');
    const groups = channels / perGroup;
    if (groups > 0 && features % groups !== 0)
      throw new InvalidArgumentError(
        `output depth must be evenly divisible by number of groups: ${features} vs ${groups}`,
      );
    const { output: sizes, geometry } = runtimeSizes(input.shape, filter.shape, a, axes);
    const output = imageShape(input.shape[0]!, sizes, features, axes);
    if (sizeOf(input.shape) === 0) return { output: p.fill(input.dtype, output, 0) };
    return {
      output: lowerConv(p, { result: 'output', input, filter, output }, axes, geometry, { groups, depthwise: false }),
    };
  },

  cases: () => [
    {
      shape: '[?, 4, 5, ?, 2], [3, 2, 2, 2, 7] -> [?, 2, 4, ?, 7]',
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'VALID' },
    },
    {
      shape: '[3, 2, 4, 5, 6], [3, 2, 2, 2, 7] -> [3, 7, 2, 5, 2]',
      attrs: { strides: [1, 1, 2, 1, 3], padding: 'SAME', data_format: 'NCDHW' },
    },
    { shape: '?, ? -> [?, ?, ?, ?, ?]', attrs: { strides: [1, 1, 1, 1, 1], padding: 'SAME' } },
    {
      shape: '[3, 4, 5, 6, 2], [3, 2, 2, 3, 7]',
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'SAME' },
      rejects: /input has 2 channels, but filter takes 3/,
    },
    {
      given: { input: [[[[[1], [2]]], [[[3], [4]]]]], filter: [[[[[1]], [[10]]]], [[[[100]], [[1000]]]]] },
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'VALID' },
      expect: { output: [[[[[4321]]]]] },
    },
    {
      given: { input: ramp([2, 3, 4, 3, 2]), filter: ramp([2, 3, 2, 2, 3], 1) },
      attrs: { strides: [1, 1, 2, 1, 1], padding: 'SAME' },
    },
    {
      given: { input: ramp([1, 4, 3, 5, 2]), filter: ramp([2, 2, 3, 2, 2], 1) },
      attrs: { strides: [1, 2, 1, 2, 1], padding: 'VALID' },
    },
    {
      given: { input: ramp([1, 2, 3, 4, 3]), filter: ramp([2, 3, 2, 2, 3], 1) },
      attrs: { strides: [1, 1, 1, 2, 1], padding: 'SAME', data_format: 'NCDHW' },
    },
    {
      given: { input: ramp([1, 5, 4, 5, 2]), filter: ramp([2, 2, 2, 2, 2], 1) },
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'VALID', dilations: [1, 3, 2, 2, 1] },
    },
    {
      given: { input: ramp([1, 2, 2, 2, 1]), filter: ramp([1, 1, 1, 1, 1]) },
      attrs: { strides: [1, 1, 1, 1, 2], padding: 'VALID' },
      fails: /does not yet support strides in the batch and depth dimensions/,
    },
    {
      given: { input: ramp([1, 3, 2, 2, 1]), filter: ramp([5, 1, 1, 1, 1]) },
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'VALID' },
      fails: /Negative dimension|Computed output size would be negative: -1/,
    },
  ],
});

/** The checks that both gradient ops make before those of all convolutions. */
function checkVolumes({ input, filter, out_backprop }: BackpropShapes, format: string): void {
  if (input.length !== rank) throw new InvalidArgumentError('input tensor must have 5 dimensions');
  if (filter.length !== rank) throw new InvalidArgumentError('filter_sizes tensor must have 5 dimensions');
  if (out_backprop.length !== rank) throw new InvalidArgumentError('out_backprop tensor must have 5 dimensions');
  const { channel } = imageAxes(rank, format);
  // TensorFlow knows no groups in three dimensions; where they divide, we do.
  if (filter[3] === 0 || input[channel]! % filter[3]! !== 0)
    throw new InvalidArgumentError(
      `input and filter_sizes must have the same number of channels. Got ${input[channel]} for input and ${filter[3]} for filter_sizes`,
    );
  if (out_backprop[channel] !== filter[4])
    throw new InvalidArgumentError(
      `out_backprop and filter_sizes must have the same number of channels. Got ${out_backprop[channel]} for out_backprop and ${filter[4]} for filter_sizes`,
    );
}

function lowerInputGradient(p: ProgramBuilder, input: Shape, filter: Value, output: Value, a: ConvAttrs): Value {
  checkConvAttrs(a, rank);
  const shapes = { input, filter: filter.shape, out_backprop: output.shape };
  checkVolumes(shapes, a.data_format);
  const { axes, geometry, groups } = checkBackprop('Conv3DBackpropInputOp', shapes, rank, a);
  return lowerConv(p, { result: 'input', input, filter, output }, axes, geometry, { groups, depthwise: false });
}

function lowerFilterGradient(p: ProgramBuilder, input: Value, filter: Shape, output: Value, a: ConvAttrs): Value {
  checkConvAttrs(a, rank);
  const shapes = { input: input.shape, filter, out_backprop: output.shape };
  checkVolumes(shapes, a.data_format);
  const { axes, geometry, groups } = checkBackprop('Conv3DBackpropFilterOp', shapes, rank, a);
  return lowerConv(p, { result: 'filter', input, filter, output }, axes, geometry, { groups, depthwise: false });
}

export const Conv3DBackpropInputV2 = defineOp({
  name: 'Conv3DBackpropInputV2',
  inputs: { input_sizes: 'Tshape', filter: 'T', out_backprop: 'T' },
  outputs: { output: 'T' },
  attrs: { T: floating, ...attrs, Tshape: indexTypes },
  hostInputs: ['input_sizes'],
  shape: shapeFromSizes('input_sizes', rank),
  grad: ({ inputs: { filter, out_backprop }, attrs: a }, { output: dy }) => ({
    filter: filterGradient(dy, shape(filter), out_backprop, a),
    out_backprop: convolved(dy, filter, a),
  }),
  lower(p, { input_sizes, filter, out_backprop }, a) {
    if (input_sizes.shape.length !== 1)
      throw new InvalidArgumentError(
        `shape must be a vector of {int32,int64}, got shape ${showRuntime(input_sizes.shape)}`,
      );
    return { output: lowerInputGradient(p, demandShape(p, input_sizes), filter, out_backprop, a) };
  },
  cases: () => [
    {
      shape: '[5], ?, ? -> [2, 3, 4, 3, 2]',
      given: { input_sizes: { dtype: 'int32', value: [2, 3, 4, 3, 2] } },
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'SAME' },
    },
    { shape: '?, ?, ? -> [?, ?, ?, ?, ?]', attrs: { strides: [1, 1, 1, 1, 1], padding: 'SAME' } },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [1, 2, 1, 2, 1] },
        filter: [[[[[1]], [[10]]]], [[[[100]], [[1000]]]]],
        out_backprop: [[[[[3]]]]],
      },
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'VALID' },
      expect: { output: [[[[[3], [30]]], [[[300], [3000]]]]] },
    },
    {
      given: {
        input_sizes: { dtype: 'int64', value: [2, 3, 4, 3, 2] },
        filter: ramp([2, 3, 2, 2, 3]),
        out_backprop: ramp([2, 3, 2, 3, 3], 1),
      },
      attrs: { strides: [1, 1, 2, 1, 1], padding: 'SAME' },
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [1, 2, 3, 4, 3] },
        filter: ramp([2, 3, 2, 2, 3]),
        out_backprop: ramp([1, 3, 3, 2, 3], 1),
      },
      attrs: { strides: [1, 1, 1, 2, 1], padding: 'SAME', data_format: 'NCDHW' },
    },
    {
      given: {
        input_sizes: { dtype: 'int32', value: [1, 3, 3, 3, 2] },
        filter: ramp([1, 1, 1, 3, 2]),
        out_backprop: ramp([1, 3, 3, 3, 2]),
      },
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'VALID' },
      fails: /input and filter_sizes must have the same number of channels. Got 2 for input and 3/,
    },
  ],
});

export const Conv3DBackpropFilterV2 = defineOp({
  name: 'Conv3DBackpropFilterV2',
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
      throw new InvalidArgumentError(`filter_sizes shape must be rank 1 but is rank ${filter_sizes.shape.length}`);
    return { output: lowerFilterGradient(p, input, demandShape(p, filter_sizes), out_backprop, a) };
  },
  cases: () => [
    {
      shape: '?, [5], ? -> [2, 1, 1, 2, 3]',
      given: { filter_sizes: { dtype: 'int32', value: [2, 1, 1, 2, 3] } },
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'SAME' },
    },
    {
      given: {
        input: [[[[[1], [2]]], [[[3], [4]]]]],
        filter_sizes: { dtype: 'int32', value: [2, 1, 2, 1, 1] },
        out_backprop: [[[[[10]]]]],
      },
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'VALID' },
      expect: { output: [[[[[10]], [[20]]]], [[[[30]], [[40]]]]] },
    },
    {
      given: {
        input: ramp([2, 3, 4, 3, 2]),
        filter_sizes: { dtype: 'int32', value: [2, 3, 2, 2, 3] },
        out_backprop: ramp([2, 3, 2, 3, 3], 1),
      },
      attrs: { strides: [1, 1, 2, 1, 1], padding: 'SAME' },
    },
    {
      given: {
        input: ramp([1, 2, 3, 4, 3]),
        filter_sizes: { dtype: 'int32', value: [2, 3, 2, 2, 3] },
        out_backprop: ramp([1, 3, 3, 2, 3], 1),
      },
      attrs: { strides: [1, 1, 1, 2, 1], padding: 'SAME', data_format: 'NCDHW' },
    },
    {
      given: {
        input: ramp([1, 3, 3, 3, 2]),
        filter_sizes: { dtype: 'int32', value: [1, 1, 1, 2, 2] },
        out_backprop: ramp([1, 3, 3, 4, 2]),
      },
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'VALID' },
      fails: /Conv3DBackpropFilterOp: Size of out_backprop doesn't match computed: actual = 4, computed = 3/,
    },
  ],
});

// The first forms of the gradients, in graphs of before version 10: an array of the wanted shape instead of sizes.
const oldTypes = attr('type', { allowed: [d.float16, d.float32, d.float64] });
const oldAttrs = { T: oldTypes, ...window, dilations: defaultDilations(rank) } as const;
const channelsLast = { data_format: 'NDHWC' };
const unregistered = gradientPending('TensorFlow registers no gradient for it; use Conv3D');

export const Conv3DBackpropInput = defineOp({
  name: 'Conv3DBackpropInput',
  inputs: { input: 'T', filter: 'T', out_backprop: 'T' },
  outputs: { output: 'T' },
  attrs: oldAttrs,
  deprecatedSince: 10,
  shape: ({ input }) => ({ output: ranked('input', input, rank) }),
  grad: unregistered,
  lower: (p, { input, filter, out_backprop }, a) => ({
    output: lowerInputGradient(p, input.shape, filter, out_backprop, { ...a, ...channelsLast }),
  }),
  cases: () => [
    { shape: '[1, ?, 2, 2, 1], ?, ? -> [1, ?, 2, 2, 1]', attrs: { strides: [1, 1, 1, 1, 1], padding: 'SAME' } },
    {
      given: {
        input: ramp([1, 2, 1, 2, 1]),
        filter: [[[[[1]], [[10]]]], [[[[100]], [[1000]]]]],
        out_backprop: [[[[[3]]]]],
      },
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'VALID' },
      expect: { output: [[[[[3], [30]]], [[[300], [3000]]]]] },
    },
  ],
});

export const Conv3DBackpropFilter = defineOp({
  name: 'Conv3DBackpropFilter',
  inputs: { input: 'T', filter: 'T', out_backprop: 'T' },
  outputs: { output: 'T' },
  attrs: oldAttrs,
  deprecatedSince: 10,
  shape: ({ filter }) => ({ output: ranked('filter', filter, rank) }),
  grad: unregistered,
  lower: (p, { input, filter, out_backprop }, a) => ({
    output: lowerFilterGradient(p, input, filter.shape, out_backprop, { ...a, ...channelsLast }),
  }),
  cases: () => [
    { shape: '?, [1, ?, 2, 2, 1], ? -> [1, ?, 2, 2, 1]', attrs: { strides: [1, 1, 1, 1, 1], padding: 'SAME' } },
    {
      given: {
        input: [[[[[1], [2]]], [[[3], [4]]]]],
        filter: ramp([2, 1, 2, 1, 1]),
        out_backprop: [[[[[10]]]]],
      },
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'VALID' },
      expect: { output: [[[[[10]], [[20]]]], [[[[30]], [[40]]]]] },
    },
  ],
});

/** @file Conv2D: images convolved with filters. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { showRuntime, sizeOf } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { defineOp } from '../../op/defineOp.ts';
import { shapeN } from '../array/shape.ts';
import { attrs, type Conv2DAttrs, floatOrInt, rank, shared } from './conv2dAttrs.ts';
import { filterGradient, inputGradient } from './conv2dGradients.ts';
import { ramp } from './convCases.ts';
import { lowerConv } from './convLowering.ts';
import { checkConvAttrs, groupsOf, imageAxes, imageShape, ranked, runtimeSizes, staticSizes } from './convSizes.ts';

export const Conv2D = defineOp({
  name: 'Conv2D',
  inputs: { input: 'T', filter: 'T' },
  outputs: { output: 'T' },
  attrs: { T: floatOrInt, ...attrs },

  shape({ input, filter }, a) {
    checkConvAttrs(a, rank, { unimplemented: true });
    const axes = imageAxes(rank, a.data_format);
    const image = ranked('input', input, rank);
    const taps = ranked('filter', filter, rank);
    groupsOf(image[axes.channel]!, taps[2]!, taps[3]!);
    return { output: imageShape(image[0]!, staticSizes(image, taps, a, axes), taps[3]!, axes) };
  },

  grad({ inputs: { input, filter }, attrs: a }, { output: dy }) {
    const [inputSizes, filterSizes] = shapeN([input, filter]);
    return { input: inputGradient(inputSizes!, filter, dy, a), filter: filterGradient(input, filterSizes!, dy, a) };
  },

  lower(p, { input, filter }, a) {
    checkConvAttrs(a, rank, { unimplemented: true });
    for (const [port, value] of Object.entries({ input, filter }))
      if (value.shape.length !== rank)
        throw new InvalidArgumentError(`convolution ${port} must be ${rank}-dimensional: ${showRuntime(value.shape)}`);
    const axes = imageAxes(rank, a.data_format);
    const [batch, channels] = [input.shape[0]!, input.shape[axes.channel]!];
    const [perGroup, features] = filter.shape.slice(2) as [number, number]; // rank checked
    if (perGroup <= 0) throw new InvalidArgumentError(`filter depth must be stricly positive, got ${perGroup}`);
    if (channels % perGroup !== 0)
      throw new InvalidArgumentError(
        `input depth must be evenly divisible by filter depth: ${channels} vs ${perGroup}`,
      );
    const { output: sizes, geometry } = runtimeSizes(input.shape, filter.shape, a, axes);
    const output = imageShape(batch, sizes, features, axes);
    const groups = channels / perGroup;
    // TensorFlow looks at the filter only when there is something to compute.
    if (sizeOf(output) > 0 && sizeOf(input.shape) > 0) {
      if (sizeOf(filter.shape) === 0)
        throw new InvalidArgumentError('filter must not have zero elements (i.e. all dimensions must be non-zero)');
      if (features % groups !== 0)
        throw new InvalidArgumentError(
          `output depth must be evenly divisible by number of groups: ${features} vs ${groups}`,
        );
    } else return { output: p.fill(input.dtype, output, 0) };
    return {
      output: lowerConv(p, { result: 'output', input, filter, output }, axes, geometry, { groups, depthwise: false }),
    };
  },

  cases: () => [
    { shape: '[?, 28, 28, 1], [5, 5, 1, 32] -> [?, 28, 28, 32]', attrs: { strides: [1, 1, 1, 1], padding: 'SAME' } },
    { shape: '[8, ?, 28, 3], [5, ?, 3, 32] -> [8, ?, ?, 32]', attrs: { strides: [1, 1, 1, 1], padding: 'VALID' } },
    { shape: '[8, 7, 9, 3], [3, 2, 3, 4] -> [8, 3, 4, 4]', attrs: { strides: [1, 2, 2, 1], padding: 'VALID' } },
    { shape: '?, [3, 3, 2, 4] -> [?, ?, ?, 4]', attrs: { strides: [1, 1, 1, 1], padding: 'SAME' } },
    { shape: '[8, 7, 9, 3], ? -> [8, 7, 9, ?]', attrs: { strides: [1, 1, 1, 1], padding: 'SAME' } },
    {
      shape: '[8, 3, 7, 9], [3, 2, 3, 4] -> [8, 4, 4, 3]',
      attrs: {
        strides: [1, 1, 2, 3],
        padding: 'EXPLICIT',
        explicit_paddings: [0, 0, 0, 0, 1, 2, 0, 0],
        data_format: 'NCHW',
        dilations: [1, 1, 1, 2],
      },
    },
    { shape: '[8, 7, 9, 4], [3, 2, 2, 6] -> [8, 7, 9, 6]', attrs: { strides: [1, 1, 1, 1], padding: 'SAME' } },
    {
      shape: '[8, 7, 9, 4], [3, 2, 3, 4]',
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
      rejects: /input has 4 channels, but filter takes 3/,
    },
    {
      shape: '[8, 2, 9, 4], [3, 2, 4, 4]',
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      rejects: /Negative dimension size caused by subtracting 3 from 2/,
    },
    { shape: '[7, 9, 4], ?', attrs: { strides: [1, 1, 1, 1], padding: 'SAME' }, rejects: /rank 4 is needed/ },
    {
      shape: '?, ?',
      attrs: { strides: [1, 1, 1], padding: 'SAME' },
      rejects: /strides field must specify 4 dimensions/,
    },
    {
      given: {
        input: [
          [
            [[1], [2]],
            [[3], [4]],
          ],
        ],
        filter: [
          [[[1]], [[10]]],
          [[[100]], [[1000]]],
        ],
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      expect: { output: [[[[4321]]]] },
    },
    {
      given: {
        input: [
          [
            [[1], [2]],
            [[3], [4]],
          ],
        ],
        filter: [
          [[[1]], [[10]]],
          [[[100]], [[1000]]],
        ],
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
      expect: {
        output: [
          [
            [[4321], [402]],
            [[43], [4]],
          ],
        ],
      },
    },
    {
      given: { input: ramp([2, 4, 5, 3]), filter: ramp([3, 2, 3, 2], 1) },
      attrs: { strides: [1, 2, 1, 1], padding: 'SAME' },
    },
    {
      given: { input: ramp([1, 6, 7, 2]), filter: ramp([2, 3, 2, 3], 1) },
      attrs: { strides: [1, 1, 2, 1], padding: 'VALID' },
    },
    // TensorFlow's CPU kernels differentiate neither dilated nor grouped convolutions; ours do.
    {
      given: { input: ramp([1, 6, 7, 2]), filter: ramp([2, 3, 2, 3], 1) },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME', dilations: [1, 2, 2, 1] },
    },
    {
      given: { input: ramp([1, 3, 4, 4]), filter: ramp([2, 2, 2, 6], 1) },
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
    },
    {
      given: { input: ramp([1, 3, 4, 2]), filter: ramp([3, 2, 2, 2], 1) },
      attrs: { strides: [1, 2, 1, 1], padding: 'EXPLICIT', explicit_paddings: [0, 0, 2, 1, 0, 3, 0, 0] },
    },
    {
      given: { input: ramp([1, 2, 4, 3]), filter: ramp([3, 2, 2, 2], 1) },
      attrs: { strides: [1, 1, 2, 1], padding: 'SAME', data_format: 'NCHW' },
    },
    {
      given: {
        input: { dtype: 'int32', value: [[[[100000], [3]]]] },
        filter: { dtype: 'int32', value: [[[[30000]], [[1]]]] },
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      expect: { output: { dtype: 'int32', value: [[[[3000000003 - 2 ** 32]]]] } },
    },
    {
      given: {
        input: { dtype: 'float32', value: [], shape: [0, 3, 3, 1] },
        filter: { dtype: 'float32', value: [[[[1]]]] },
      },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      expect: { output: { dtype: 'float32', value: [], shape: [0, 3, 3, 1] } },
    },
    {
      given: { input: ramp([1, 2, 2, 1]), filter: ramp([1, 2, 2]) },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      fails: /rank 4 is needed|convolution filter must be 4-dimensional: \[1,2,2\]/,
    },
    {
      given: { input: ramp([1, 2, 2, 1]), filter: ramp([5, 5, 1, 1]) },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      fails: /Negative dimension|Computed output size would be negative: -2 \[input_size: 2, effective_filter_size: 5/,
    },
    {
      given: { input: ramp([1, 2, 2, 1]), filter: ramp([1, 1, 1, 1]) },
      attrs: { strides: [2, 1, 1, 1], padding: 'VALID' },
      fails: /does not yet support strides in the batch and depth dimensions/,
    },
  ],
});

/** A convolution inside a gradient. */
export function convolved(input: TensorLike, filter: TensorLike, a: Conv2DAttrs): Tensor {
  return Conv2D.build({ input, filter }, { attrs: shared(a) }).output;
}

/** @file Conv: a convolution over two or three axes, with any number of batch axes in front. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showShape, sizeOf } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { ramp } from './convCases.ts';
import { lowerConv } from './convLowering.ts';
import {
  type ConvAttrs,
  checkConvAttrs,
  explicitPaddings,
  groupsOf,
  imageAxes,
  imageShape,
  paddingOrExplicit,
  runtimeSizes,
  staticSizes,
} from './convSizes.ts';

interface GivenAttrs extends ConvAttrs {
  readonly batch_dims: number;
  readonly groups: number;
}

/** The attributes for an image with one batch axis; no dilations are all ones. */
function completed(a: GivenAttrs, rank: number): ConvAttrs {
  if (a.batch_dims < 0) throw new InvalidArgumentError('Batch dims must be non-negative.');
  if (a.groups < 1) throw new InvalidArgumentError('Groups attribute should be a positive integer');
  const dilations = a.dilations.length === 0 ? new Array<number>(rank).fill(1) : a.dilations;
  const complete = { ...a, dilations };
  checkConvAttrs(complete, rank);
  return complete;
}

function checkRanks(input: Exclude<Dims, null>, filter: Exclude<Dims, null>, batchDims: number): void {
  const spatial = input.length - 1 - batchDims;
  if (spatial !== 2 && spatial !== 3)
    throw new InvalidArgumentError(
      `The input must have 2 or 3 spatial dimensions but got ${spatial}: input is ${showShape(input)} with ${batchDims} batch dims.`,
    );
  if (filter.length !== spatial + 2)
    throw new InvalidArgumentError(
      `Input tensor rank must be the same as filter rank: input is ${showShape(input)} with ${batchDims} batch dims, filter is ${showShape(filter)}.`,
    );
}

function checkGroups(found: number | null, groups: number): void {
  if (found !== null && found !== groups)
    throw new InvalidArgumentError(
      `Input depth divided by filter input depth does not match with groups parameter (${groups})`,
    );
}

export const Conv = defineOp({
  name: 'Conv',
  inputs: { input: 'T', filter: 'T' },
  outputs: { output: 'T' },
  attrs: {
    T: attr('type', { allowed: [d.float16, d.bfloat16, d.float32, d.float64, d.int32] }),
    strides: attr('list(int)'),
    padding: paddingOrExplicit,
    explicit_paddings: explicitPaddings,
    data_format: attr('string', { choices: ['CHANNELS_FIRST', 'CHANNELS_LAST'], default: 'CHANNELS_LAST' }),
    dilations: attr('list(int)', { default: [] }),
    batch_dims: attr('int', { default: 1 }),
    groups: attr('int', { default: 1 }),
  },

  shape({ input, filter }, a) {
    if (input === null || filter === null) return { output: null };
    checkRanks(input, filter, a.batch_dims);
    const rank = filter.length;
    const complete = completed(a, rank);
    const axes = imageAxes(rank, a.data_format);
    const image = [null, ...input.slice(a.batch_dims)];
    const features = filter[rank - 1]!;
    checkGroups(groupsOf(image[axes.channel]!, filter[rank - 2]!, features), a.groups);
    const [, ...rest] = imageShape(null, staticSizes(image, filter, complete, axes), features, axes);
    return { output: [...input.slice(0, a.batch_dims), ...rest] };
  },

  grad: gradientPending('TensorFlow registers no gradient for it; tf.nn.conv2d and tf.nn.conv3d have one'),

  lower(p, { input, filter }, a) {
    checkRanks(input.shape, filter.shape, a.batch_dims);
    const rank = filter.shape.length;
    const complete = completed(a, rank);
    if (sizeOf(filter.shape) === 0)
      throw new InvalidArgumentError('filter must not have zero elements (i.e. all dimensions must be non-zero)');
    const axes = imageAxes(rank, a.data_format);
    const batch = input.shape.slice(0, a.batch_dims);
    const images = p.reshape(input, [sizeOf(batch), ...input.shape.slice(a.batch_dims)]);
    const [perGroup, features] = filter.shape.slice(-2) as [number, number]; // rank checked
    checkGroups(groupsOf(images.shape[axes.channel]!, perGroup, features), a.groups);
    const { output: sizes, geometry } = runtimeSizes(images.shape, filter.shape, complete, axes);
    const shape = imageShape(images.shape[0]!, sizes, features, axes);
    const arrays = { result: 'output', input: images, filter, output: shape } as const;
    const output = lowerConv(p, arrays, axes, geometry, { groups: a.groups, depthwise: false });
    return { output: p.reshape(output, [...batch, ...shape.slice(1)]) };
  },

  cases: () => [
    { shape: '[?, 4, 5, 2], [3, 3, 2, 7] -> [?, 4, 5, 7]', attrs: { strides: [1, 1, 1, 1], padding: 'SAME' } },
    {
      shape: '[6, ?, 2, 4, 5, 6], [3, 2, 2, 2, 7] -> [6, ?, 7, 2, 4, 5]',
      attrs: { strides: [1, 1, 1, 1, 1], padding: 'VALID', batch_dims: 2, data_format: 'CHANNELS_FIRST' },
    },
    { shape: '?, [3, 3, 2, 7] -> ?', attrs: { strides: [1, 1, 1, 1], padding: 'SAME' } },
    {
      shape: '[1, 4, 5, 4], [3, 3, 2, 6]',
      attrs: { strides: [1, 1, 1, 1], padding: 'SAME' },
      rejects: /does not match with groups parameter \(1\)/,
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
      given: { input: ramp([2, 2, 4, 5, 2]), filter: ramp([3, 2, 2, 3], 1) },
      attrs: { strides: [1, 2, 1, 1], padding: 'SAME', batch_dims: 2 },
    },
    {
      given: { input: ramp([1, 3, 4, 3, 2]), filter: ramp([2, 3, 2, 2, 3], 1) },
      attrs: { strides: [1, 1, 2, 1, 1], padding: 'SAME' },
    },
    {
      given: { input: ramp([1, 4, 3, 4]), filter: ramp([2, 2, 2, 6], 1) },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID', groups: 2, data_format: 'CHANNELS_FIRST' },
    },
    {
      given: { input: ramp([4, 3, 1]), filter: ramp([1, 1, 1, 1]) },
      attrs: { strides: [1, 1, 1, 1], padding: 'VALID' },
      fails: /must have 2 or 3 spatial dimensions but got 1/,
    },
  ],
});

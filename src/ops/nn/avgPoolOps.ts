/** @file AvgPool and its gradient: the mean of each window of an image. */
import { InvalidArgumentError } from '../../core/errors.ts';
import type { Dims } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { floats } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import { concreteShape, dimsFrom } from '../array/common.ts';
import { stopGradient } from '../array/identity.ts';
import { shape as shapeOf } from '../array/shape.ts';
import { imageFormat, ranked } from './convSizes.ts';
import { channelsFirst, image, ints, windows } from './poolCases.ts';
import {
  checkImagePool,
  checkPositive,
  expectRank,
  expectShape,
  type PoolAttrs,
  pooledDims,
  poolGeometry,
  poolPadding,
  windowSizes,
} from './poolSizes.ts';

const attrs = {
  ksize: windowSizes(4),
  strides: windowSizes(4),
  padding: poolPadding,
  data_format: imageFormat,
  T: floats,
};
/** Strides along channels are not looked at. */
const noDepth = { depth: 'Non-spatial pooling is not yet supported. Volunteers? :)', anyDepthStride: true };

function avgPoolOf(value: Gradient, given: PoolAttrs): Tensor {
  return AvgPool.build({ value }, { attrs: given }).output;
}

export const AvgPool = defineOp({
  name: 'AvgPool',
  inputs: { value: 'T' },
  outputs: { output: 'T' },
  attrs,
  shape: ({ value }, given) => ({ output: pooledDims(value, given, 4) }),
  grad: ({ inputs: { value }, attrs: { T: _, ...given } }, dy) => ({
    value: AvgPoolGrad.build({ orig_input_shape: shapeOf(value), grad: dy.output }, { attrs: given }).output,
  }),
  lower(p, { value }, given) {
    checkImagePool(value.shape, given, noDepth);
    checkPositive(given.ksize, (k) => `ksize must be a positive int32 value, got:${k}`);
    const { apply } = poolGeometry(p, value.shape, given);
    return { output: apply('mean', [value], 'pooled') };
  },
  cases: () => [
    { shape: '[?, 5, 7, 3] -> [?, 3, 4, 3]', attrs: windows(2, 2, 'SAME') },
    { shape: '[1, 3, 5, 7] -> [1, 3, 2, 3]', attrs: channelsFirst(2, 2, 'VALID') },
    { shape: '? -> [?, ?, ?, ?]', attrs: windows(2, 2, 'VALID') },
    {
      given: {
        value: [
          [
            [[1], [2], [3]],
            [[4], [5], [6]],
          ],
        ],
      },
      attrs: windows(2, 1, 'SAME'),
      expect: {
        output: [
          [
            [[3], [4], [4.5]],
            [[4.5], [5.5], [6]],
          ],
        ],
      },
    },
    { given: { value: image([2, 4, 5, 3]) }, attrs: windows([3, 2], [2, 1], 'SAME') },
    { given: { value: image([1, 5, 4, 2]) }, attrs: windows(2, 3, 'VALID') },
    { given: { value: image([2, 3, 4, 5]) }, attrs: channelsFirst(2, [1, 2], 'SAME') },
    { given: { value: { dtype: 'float32', value: [], shape: [1, 4, 4, 0] } }, attrs: windows(2, 2, 'VALID') },
    { given: { value: image([1, 2, 2, 1]) }, attrs: windows(0, 1, 'SAME'), fails: /ksize must be a positive int32/ },
    {
      given: { value: image([1, 2, 2, 2]) },
      attrs: { ...windows(1, 1, 'SAME'), ksize: [1, 1, 1, 2] },
      fails: /Non-spatial pooling is not yet supported/,
    },
  ],
});

/** The static shape that a vector of sizes stands for. */
export function imageFromSizes(known: readonly (number | null)[] | undefined, rank: number): Dims {
  return ranked('orig_input_shape', dimsFrom(known), rank);
}

export const AvgPoolGrad = defineOp({
  name: 'AvgPoolGrad',
  inputs: { orig_input_shape: 'int32', grad: 'T' },
  outputs: { output: 'T' },
  attrs,
  hostInputs: ['orig_input_shape'],
  shape: (_, __, context) => ({ output: imageFromSizes(context.partial('orig_input_shape'), 4) }),
  grad: ({ inputs: { orig_input_shape }, attrs: { T: _, ...given } }, dy) => ({
    orig_input_shape: stopGradient(orig_input_shape),
    grad: avgPoolOf(dy.output, given),
  }),
  lower(p, { orig_input_shape, grad }, given) {
    if (orig_input_shape.shape.length !== 1 || orig_input_shape.shape[0] !== 4)
      throw new InvalidArgumentError('out_backprop must be 1-dimensional and 4 elements');
    expectRank(4, { out_backprop: grad.shape });
    const shape = concreteShape(p, orig_input_shape, 'orig_input_shape');
    checkImagePool(shape, given, noDepth);
    checkPositive(given.ksize, (k) => `ksize must be a positive int32 value, got:${k}`);
    const { output, apply } = poolGeometry(p, shape, given);
    expectShape('grad', grad.shape, output);
    return { output: apply('meanGradient', [grad], 'image') };
  },
  cases: () => [
    {
      shape: '[4], ? -> [2, 4, 4, 1]',
      given: { orig_input_shape: ints([2, 4, 4, 1]) },
      attrs: windows(2, 2, 'SAME'),
    },
    { shape: '[4], ? -> [?, ?, ?, ?]', attrs: windows(2, 2, 'SAME') },
    { given: { orig_input_shape: ints([1, 3, 4, 2]), grad: image([1, 3, 2, 2]) }, attrs: windows(2, [1, 2], 'SAME') },
    { given: { orig_input_shape: ints([2, 5, 4, 1]), grad: image([2, 2, 1, 1]) }, attrs: windows(2, 3, 'VALID') },
    {
      given: { orig_input_shape: ints([1, 3]), grad: image([1, 3, 2, 2]) },
      attrs: windows(2, 1, 'SAME'),
      fails: /rank 4 is needed|must be 1-dimensional and 4 elements/,
    },
    {
      given: { orig_input_shape: ints([1, 2, 2, 1]), grad: image([1, 7, 2, 1]) },
      attrs: windows(2, 1, 'SAME'),
      fails: /Expected grad shape to be \[1,2,2,1\], but got \[1,7,2,1\]/,
    },
  ],
});

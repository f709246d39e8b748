/** @file Pooling of volumes: MaxPool3D, AvgPool3D and their gradients. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { showRuntime, sizeOf } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { attr, floats, realNumbers } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import { concreteShape } from '../array/common.ts';
import { stopGradient } from '../array/identity.ts';
import { shape as shapeOf } from '../array/shape.ts';
import { zerosLike } from '../math/zerosLike.ts';
import { imageFromSizes } from './avgPoolOps.ts';
import { ranked, volumeFormat } from './convSizes.ts';
import { image, ints, pooled, ties, windows } from './poolCases.ts';
import {
  checkVolumePool,
  expectRank,
  expectShape,
  mergedWith,
  type PoolAttrs,
  pooledDims,
  poolGeometry,
  poolPadding,
  windowSizes,
} from './poolSizes.ts';

const shortFloats = [d.float16, d.bfloat16, d.float32];
const attrs = { ksize: windowSizes(5), strides: windowSizes(5), padding: poolPadding, data_format: volumeFormat };

interface GradientInputs {
  readonly orig_input: Tensor;
  readonly orig_output: Tensor;
  readonly grad: Gradient;
}

function maxPool3dGrad(inputs: GradientInputs, given: PoolAttrs): Tensor {
  return MaxPool3DGrad.build(inputs, { attrs: given }).output;
}

function maxPool3dGradGrad(inputs: GradientInputs, given: PoolAttrs): Tensor {
  return MaxPool3DGradGrad.build(inputs, { attrs: given }).output;
}

function avgPool3dOf(input: Gradient, given: PoolAttrs): Tensor {
  return AvgPool3D.build({ input }, { attrs: given }).output;
}

const volumes = (size: number | readonly number[], step: number | readonly number[], padding: string) =>
  windows(size, step, padding, 3);

export const MaxPool3D = defineOp({
  name: 'MaxPool3D',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { ...attrs, T: attr('type', { allowed: shortFloats }) },
  shape: ({ input }, given) => ({ output: pooledDims(input, given, 5) }),
  grad: ({ inputs: { input }, outputs: { output }, attrs: { T: _, ...given } }, dy) => ({
    input: maxPool3dGrad({ orig_input: input, orig_output: output, grad: dy.output }, given),
  }),
  lower(p, { input }, given) {
    expectRank(5, { tensor_in: input.shape });
    checkVolumePool(given);
    const { apply } = poolGeometry(p, input.shape, given);
    return { output: apply('max', [input], 'pooled') };
  },
  cases: () => [
    { shape: '[?, 5, 7, 4, 3] -> [?, 3, 4, 2, 3]', attrs: volumes(2, 2, 'SAME') },
    { shape: '? -> [?, ?, ?, ?, ?]', attrs: volumes(2, 2, 'VALID') },
    { given: { input: image([1, 3, 3, 4, 2]) }, attrs: volumes(2, [1, 2, 1], 'VALID') },
    { given: { input: image([2, 2, 3, 3, 1]) }, attrs: volumes([2, 3, 2], 2, 'SAME') },
    {
      given: { input: image([1, 1, 1, 1, 1]) },
      attrs: volumes(0, 1, 'SAME'),
      fails: /ksize field must have non-negative dimensions/,
    },
    {
      given: { input: image([1, 1, 1, 1, 2]) },
      attrs: { ...volumes(1, 1, 'SAME'), ksize: [1, 1, 1, 1, 2] },
      fails: /Pooling is not yet supported on the depth dimension/,
    },
  ],
});

/** Cases of the gradients, whose `grad` is of the pooled volume's shape or of the volume's. */
function gradientCases(like: 'pooled' | 'image') {
  return [
    { shape: [1, 2, 4, 4, 2], size: 2, step: 2 },
    { shape: [2, 2, 3, 3, 1], size: 2, step: 1 },
  ].flatMap(({ shape, size, step }) => {
    const distinct = pooled(shape, size, step);
    const tied = pooled(shape, size, step, ties);
    const grad = image(like === 'pooled' ? distinct.shape : shape);
    // The gradient by volume and maxima is not asked for: moved apart ever so little, they are no longer the same.
    const rest = { attrs: volumes(size, step, 'VALID'), differentiable: false as const };
    return [
      { given: { orig_input: distinct.input, orig_output: distinct.output, grad }, ...rest },
      { given: { orig_input: tied.input, orig_output: tied.output, grad }, ...rest },
    ];
  });
}

export const MaxPool3DGrad = defineOp({
  name: 'MaxPool3DGrad',
  inputs: { orig_input: 'TInput', orig_output: 'TInput', grad: 'T' },
  outputs: { output: 'T' },
  attrs: {
    ...attrs,
    T: attr('type', { allowed: shortFloats, default: d.float32 }),
    TInput: attr('type', { allowed: shortFloats, default: d.float32 }),
  },
  shape: ({ orig_input }) => ({ output: ranked('orig_input', orig_input, 5) }),
  grad({ inputs: { orig_input, orig_output }, attrs: { T: _, TInput: __, ...given } }, dy) {
    return {
      orig_input: zerosLike(orig_input),
      orig_output: zerosLike(orig_output),
      grad: maxPool3dGradGrad({ orig_input, orig_output, grad: dy.output }, given),
    };
  },
  // Unlike in two dimensions, everything close to the maximum gets the gradient, and all of it.
  lower(p, { orig_input, orig_output, grad }, { T, ...given }) {
    const { shape } = orig_input;
    expectRank(5, { tensor_in: shape, tensor_out: orig_output.shape, out_backprop: grad.shape });
    checkVolumePool(given);
    const { output, apply } = poolGeometry(p, shape, given);
    expectShape('orig_output', orig_output.shape, output);
    expectShape('grad', grad.shape, output);
    const operands = [orig_input, orig_output, grad].map((value) => p.cast(value, T));
    return { output: apply('nearGradient', operands, 'image') };
  },
  cases: () => [
    { shape: '[?, 4, 4, 4, 1], ?, ? -> [?, 4, 4, 4, 1]', attrs: volumes(2, 2, 'VALID') },
    ...gradientCases('pooled'),
    {
      given: { orig_input: image([1, 1, 1, 1, 1]), orig_output: image([1, 1, 1, 1, 2]), grad: image([1, 1, 1, 1, 1]) },
      attrs: volumes(1, 1, 'VALID'),
      fails: /Expected orig_output shape to be \[1,1,1,1,1\], but got \[1,1,1,1,2\]/,
    },
    {
      given: { orig_input: image([1, 1, 1, 1, 1]), orig_output: image([1, 1, 1, 1, 1]), grad: image([1, 1, 1, 1, 2]) },
      attrs: volumes(1, 1, 'VALID'),
      fails: /Expected grad shape to be \[1,1,1,1,1\], but got \[1,1,1,1,2\]/,
    },
  ],
});

export const MaxPool3DGradGrad = defineOp({
  name: 'MaxPool3DGradGrad',
  inputs: { orig_input: 'T', orig_output: 'T', grad: 'T' },
  outputs: { output: 'T' },
  attrs: { ...attrs, T: realNumbers },
  shape: ({ orig_input, orig_output, grad }, given) => ({
    output: mergedWith(pooledDims(orig_input, given, 5), orig_output, orig_input, grad),
  }),
  grad({ inputs: { orig_input, orig_output }, attrs: { T: _, ...given } }, dy) {
    return {
      orig_input: zerosLike(orig_input),
      orig_output: zerosLike(orig_output),
      grad: maxPool3dGrad({ orig_input, orig_output, grad: dy.output }, given),
    };
  },
  lower(p, { orig_input, orig_output, grad }, given) {
    const { shape } = orig_input;
    expectRank(5, { tensor_in: shape, tensor_out: orig_output.shape, out_grad_backprop: grad.shape });
    checkVolumePool(given);
    const { output, apply } = poolGeometry(p, shape, given);
    expectShape('orig_output', orig_output.shape, output);
    expectShape('grad', grad.shape, shape);
    if (sizeOf(shape) === 0)
      throw new InvalidArgumentError(`received empty tensor tensor_in: of shape ${showRuntime(shape)}`);
    return { output: apply('pick', [orig_input, orig_output, grad], 'pooled') };
  },
  cases: () => [
    { shape: '[?, 4, 4, 4, 1], ?, [3, ?, ?, ?, ?] -> [?, 2, 2, 2, 1]', attrs: volumes(2, 2, 'VALID') },
    ...gradientCases('image'),
  ],
});

export const AvgPool3D = defineOp({
  name: 'AvgPool3D',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { ...attrs, T: floats },
  shape: ({ input }, given) => ({ output: pooledDims(input, given, 5) }),
  grad: ({ inputs: { input }, attrs: { T: _, ...given } }, dy) => ({
    input: AvgPool3DGrad.build({ orig_input_shape: shapeOf(input), grad: dy.output }, { attrs: given }).output,
  }),
  lower(p, { input }, given) {
    expectRank(5, { tensor_in: input.shape });
    checkVolumePool(given);
    const { apply } = poolGeometry(p, input.shape, given);
    return { output: apply('mean', [input], 'pooled') };
  },
  cases: () => [
    { shape: '[?, 5, 7, 4, 3] -> [?, 3, 4, 2, 3]', attrs: volumes(2, 2, 'SAME') },
    { given: { input: image([1, 3, 3, 4, 2]) }, attrs: volumes(2, [1, 2, 1], 'VALID') },
    { given: { input: image([2, 2, 3, 3, 1]) }, attrs: volumes([2, 3, 2], 2, 'SAME') },
  ],
});

export const AvgPool3DGrad = defineOp({
  name: 'AvgPool3DGrad',
  inputs: { orig_input_shape: 'int32', grad: 'T' },
  outputs: { output: 'T' },
  attrs: { ...attrs, T: floats },
  hostInputs: ['orig_input_shape'],
  shape: (_, __, context) => ({ output: imageFromSizes(context.partial('orig_input_shape'), 5) }),
  grad: ({ inputs: { orig_input_shape }, attrs: { T: _, ...given } }, dy) => ({
    orig_input_shape: stopGradient(orig_input_shape),
    grad: avgPool3dOf(dy.output, given),
  }),
  lower(p, { orig_input_shape, grad }, given) {
    if (orig_input_shape.shape.length !== 1 || orig_input_shape.shape[0] !== 5)
      throw new InvalidArgumentError('tensor_in must be 1-dimensional and 5 elements');
    expectRank(5, { out_backprop: grad.shape });
    const shape = concreteShape(p, orig_input_shape, 'orig_input_shape');
    checkVolumePool(given);
    const { output, apply } = poolGeometry(p, shape, given);
    expectShape('grad', grad.shape, output);
    return { output: apply('meanGradient', [grad], 'image') };
  },
  cases: () => [
    {
      shape: '[5], ? -> [2, 4, 4, 4, 1]',
      given: { orig_input_shape: ints([2, 4, 4, 4, 1]) },
      attrs: volumes(2, 2, 'SAME'),
    },
    {
      given: { orig_input_shape: ints([1, 3, 2, 4, 2]), grad: image([1, 3, 1, 2, 2]) },
      attrs: volumes(2, [1, 2, 2], 'SAME'),
    },
    {
      given: { orig_input_shape: ints([1, 3]), grad: image([1, 3, 2, 2, 2]) },
      attrs: volumes(2, 1, 'SAME'),
      fails: /rank 5 is needed|must be 1-dimensional and 5 elements/,
    },
    {
      given: { orig_input_shape: ints([1, 1e9, 1e9, 1e9, 1]), grad: image([1, 1, 1, 1, 1]) },
      attrs: volumes(1, 1, 'SAME'),
      fails: /Expected grad shape to be \[1,1000000000,1000000000,1000000000,1\]/,
    },
  ],
});

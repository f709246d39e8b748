/** @file Maximum pooling that also tells where the maxima are, and the gradients that use those positions. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { sizeOf } from '../../core/shape.ts';
import { attr, realNumbers } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { int32or64 } from '../array/common.ts';
import { ranked } from './convSizes.ts';
import { image, windows } from './poolCases.ts';
import {
  checkImagePool,
  checkPositive,
  expectShape,
  mergedWith,
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
  include_batch_in_index: attr('bool', { default: false }),
  T: realNumbers,
};

const { T, ...form } = attrs;
/** The same, in the order of the gradients' registrations. */
const gradAttrs = { ...form, Targmax: int32or64, T };

const positiveWindow = (ksize: readonly number[]) =>
  checkPositive(ksize, () => `Sliding window ksize must be positive. The specified or inferred ksize is: ${ksize}`);

export const MaxPoolWithArgmax = defineOp({
  name: 'MaxPoolWithArgmax',
  inputs: { input: 'T' },
  outputs: { output: 'T', argmax: 'Targmax' },
  attrs: {
    ksize: attrs.ksize,
    strides: attrs.strides,
    Targmax: attr('type', { allowed: [d.int32, d.int64], default: d.int64 }),
    padding: attrs.padding,
    include_batch_in_index: attrs.include_batch_in_index,
    T: attrs.T,
  },
  shape({ input }, given) {
    const dims = pooledDims(input, given, 4);
    return { output: dims, argmax: dims };
  },
  grad: ({ inputs: { input }, outputs: { argmax }, attrs: given }, dy) => {
    const { ksize, strides, padding, include_batch_in_index } = given;
    const own = { ksize, strides, padding, include_batch_in_index };
    return { input: MaxPoolGradWithArgmax.build({ input, grad: dy.output, argmax }, { attrs: own }).output };
  },
  lower(p, { input }, given) {
    const { shape } = input;
    if (shape.length !== 4) throw new InvalidArgumentError('tensor_in must be 4-dimensional (2)');
    if (sizeOf(shape) === 0) throw new InvalidArgumentError('tensor_in must not be empty (2)');
    checkImagePool(shape, given);
    checkPositive(given.ksize, (k) => `ksize must be a positive int32 value, got:${k}`);
    const { output, apply } = poolGeometry(p, shape, given);
    const [, height, width, channels] = shape as [number, number, number, number]; // rank checked
    const position = apply('argmax', [input], 'pooled');
    const image = given.include_batch_in_index ? height * width : 0;
    const flat = p.map([position], (at) => e.add(e.mul(e.add(at!, e.mul(e.index(0), image)), channels), e.index(3)));
    const rows = p.reshape(p.contiguous(input), [1, 1, sizeOf(shape), 1]);
    const whole = given.include_batch_in_index
      ? flat
      : p.map([flat], (at) => e.add(at!, e.mul(e.index(0), height * width * channels)));
    const values = p.gather(rows, p.reshape(whole, [1, sizeOf(output), 1]));
    return { output: p.reshape(values, output), argmax: p.cast(flat, given.Targmax) };
  },
  cases: () => [
    { shape: '[?, 5, 7, 3] -> [?, 3, 4, 3], [?, 3, 4, 3]', attrs: windows(2, 2, 'SAME') },
    {
      given: { input: image([2, 3, 3, 1]) },
      attrs: windows(2, 1, 'VALID'),
    },
    { given: { input: image([2, 3, 4, 2]) }, attrs: { ...windows([3, 2], 2, 'SAME'), include_batch_in_index: true } },
    {
      given: {
        input: [
          [
            [[Number.NaN], [1]],
            [[3], [3]],
            [[3], [Number.NaN]],
          ],
        ],
      },
      attrs: { ...windows(2, 1, 'VALID'), Targmax: d.int32 },
      // A NaN in front stays the maximum; the first of equal ones is taken.
      expect: { output: [[[[Number.NaN]], [[3]]]], argmax: { dtype: 'int32', value: [[[[0]], [[2]]]] } },
      differentiable: false,
    },
    {
      given: { input: { dtype: 'float32', value: [], shape: [0, 2, 2, 1] } },
      attrs: windows(2, 1, 'VALID'),
      fails: /must not be empty/,
    },
    { given: { input: image([1, 2, 2, 1]) }, attrs: windows(0, 1, 'SAME'), fails: /ksize must be a positive int32/ },
  ],
});

/** Positions in the whole array, for positions that may be counted within each image. */
function wholePositions(p: ProgramBuilder, argmax: Value, perImage: number, withBatch: boolean): Value {
  const count = sizeOf(argmax.shape);
  const batch = argmax.shape[0]!;
  const rows = p.reshape(p.cast(argmax, d.int64), [batch, batch === 0 ? 0 : count / batch]);
  const whole = withBatch ? rows : p.map([rows], (at) => e.add(at!, e.mul(e.index(0), perImage)));
  return p.reshape(whole, [count, 1]);
}

/** Positions count as wrong where they leave their own image, as in TensorFlow. */
const outside = ({ value }: { value: number }) => new InvalidArgumentError(`Invalid output gradient index: ${value}`);

export const MaxPoolGradWithArgmax = defineOp({
  name: 'MaxPoolGradWithArgmax',
  inputs: { input: 'T', grad: 'T', argmax: 'Targmax' },
  outputs: { output: 'T' },
  attrs: gradAttrs,
  shape: ({ input }) => ({ output: ranked('input', input, 4) }),
  grad: gradientPending('TensorFlow has none either; the gradient of tf.nn.maxPool can be differentiated again'),
  lower(p, { input, grad, argmax }, given) {
    const { shape } = input;
    checkForm(given, shape);
    const { output } = poolGeometry(p, shape, given);
    expectShape('grad', grad.shape, output);
    expectShape('argmax', argmax.shape, output);
    const total = sizeOf(shape);
    const target = p.fill(grad.dtype, [total, 1], 0);
    const positions = wholePositions(p, argmax, total / Math.max(shape[0]!, 1), given.include_batch_in_index);
    if (sizeOf(output) > 0)
      p.scatter('add', target, positions, p.reshape(grad, [sizeOf(output), 1]), { explain: outside });
    return { output: p.reshape(target, shape) };
  },
  cases: () => [
    { shape: '[?, 4, 4, 1], ?, ? -> [?, 4, 4, 1]', attrs: windows(2, 2, 'SAME') },
    {
      given: {
        input: image([2, 2, 3, 1]),
        grad: image([2, 1, 2, 1]),
        argmax: { dtype: 'int64', value: [[[[1], [1]]], [[[3], [5]]]] },
      },
      attrs: windows(2, 1, 'VALID'),
    },
    {
      given: {
        input: image([2, 2, 2, 2]),
        grad: image([2, 1, 1, 2]),
        argmax: { dtype: 'int64', value: [[[[2, 5]]], [[[10, 15]]]] },
      },
      attrs: { ...windows(2, 1, 'VALID'), include_batch_in_index: true },
    },
    {
      given: {
        input: image([1, 1, 1, 1]),
        grad: image([1, 1, 1, 2]),
        argmax: { dtype: 'int64', value: [[[[0]]]] },
      },
      attrs: windows(1, 1, 'VALID'),
      fails: /Expected grad shape to be \[1,1,1,1\], but got \[1,1,1,2\]/,
    },
    {
      given: {
        input: image([1, 1, 1, 1]),
        grad: image([1, 1, 1, 1]),
        argmax: { dtype: 'int64', value: [[[[0, 0]]]] },
      },
      attrs: windows(1, 1, 'VALID'),
      fails: /Expected argmax shape to be \[1,1,1,1\], but got \[1,1,1,2\]/,
    },
  ],
});

export const MaxPoolGradGradWithArgmax = defineOp({
  name: 'MaxPoolGradGradWithArgmax',
  inputs: { input: 'T', grad: 'T', argmax: 'Targmax' },
  outputs: { output: 'T' },
  attrs: gradAttrs,
  shape: ({ input, grad, argmax }, given) => ({
    output: mergedWith(pooledDims(input, given, 4), argmax, input, grad),
  }),
  grad: gradientPending('TensorFlow has none either; the gradient of tf.nn.maxPool can be differentiated again'),
  lower(p, { input, grad, argmax }, given) {
    const { shape } = input;
    checkForm(given, shape);
    const { output } = poolGeometry(p, shape, given);
    expectShape('grad', grad.shape, shape);
    expectShape('argmax', argmax.shape, output);
    const total = sizeOf(shape);
    const positions = wholePositions(p, argmax, total / Math.max(shape[0]!, 1), given.include_batch_in_index);
    const rows = p.reshape(p.contiguous(grad), [1, 1, total, 1]);
    const values = p.gather(rows, p.reshape(positions, [1, sizeOf(output), 1]), { explain: outside });
    return { output: p.reshape(values, output) };
  },
  cases: () => [
    { shape: '[?, 4, 4, 1], ?, [?, ?, ?, 1] -> [?, 2, 2, 1]', attrs: windows(2, 2, 'SAME') },
    {
      given: {
        input: image([2, 2, 3, 1]),
        grad: image([2, 2, 3, 1]),
        argmax: { dtype: 'int64', value: [[[[1], [1]]], [[[3], [5]]]] },
      },
      attrs: windows(2, 1, 'VALID'),
      expect: { output: [[[[-1.2], [-1.2]]], [[[3], [-2.3]]]] },
    },
    {
      given: {
        input: image([1, 2, 2, 1]),
        grad: image([1, 2, 2, 1]),
        argmax: { dtype: 'int64', value: [[[[7]]]] },
      },
      attrs: windows(2, 1, 'VALID'),
      fails: /Invalid output gradient index: 7/,
    },
  ],
});

function checkForm(given: PoolAttrs, shape: readonly number[]): void {
  checkImagePool(shape, given);
  positiveWindow(given.ksize);
}

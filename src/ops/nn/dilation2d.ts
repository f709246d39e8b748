/** @file Grey-scale morphology: dilation2d and erosion2d. */
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { type Named, scoped } from '../array/common.ts';
import { reverse } from '../array/reverse.ts';
import { minusOf } from '../math/operators.ts';
import { Dilation2D } from './dilation2dOps.ts';

export interface MorphologyOptions extends Named {
  /** A stride for every axis of the images: `[1, rows, columns, 1]`. */
  readonly strides: readonly number[];
  /** How far apart the filter's elements are, for every axis of the images. */
  readonly rates: readonly number[];
  readonly padding: 'SAME' | 'VALID';
}

/**
 * The largest of image plus filter in every window; images [batch, height, width, channels], filter [height, width,
 * channels]. Adds one `Dilation2D` node.
 *
 * @example tf.nn.dilation2d([[[[1], [5], [2]]]], [[[0], [1]]], { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'VALID' }) // runs to [[[[6] [5]]]]
 */
export function dilation2d(input: TensorLike, filter: TensorLike, options: MorphologyOptions): Tensor {
  const { strides, rates, padding, name } = onlyOptions(
    'tf.nn.dilation2d',
    options,
    'strides',
    'rates',
    'padding',
    'name',
  );
  return Dilation2D.build({ input, filter }, { name, attrs: { strides, rates, padding } }).output;
}

/**
 * The smallest of image minus filter in every window, the filter turned by half a turn. Adds `Neg`, `ReverseV2`, a
 * `Dilation2D` named `erosion2d` and another `Neg`.
 *
 * @example tf.nn.erosion2d([[[[1], [5], [2]]]], [[[0], [1]]], { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'VALID' }) // runs to [[[[0] [2]]]]
 */
export function erosion2d(value: TensorLike, kernel: TensorLike, options: MorphologyOptions): Tensor {
  const { strides, rates, padding, name } = onlyOptions(
    'tf.nn.erosion2d',
    options,
    'strides',
    'rates',
    'padding',
    'name',
  );
  return scoped(name ?? 'erosion2d', [value, kernel], (scope) => {
    const inputs = { input: minusOf(value), filter: reverse(kernel, [0, 1]) };
    return minusOf(Dilation2D.build(inputs, { name: scope, attrs: { strides, rates, padding } }).output);
  });
}

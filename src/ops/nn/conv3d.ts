/** @file conv3d and its transpose. */
import { byName, onlyOptions, type Placed } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { type Named, scoped } from '../array/common.ts';
import { Conv3D, Conv3DBackpropFilterV2, Conv3DBackpropInputV2 } from './conv3dOps.ts';
import { isChannelsFirst, type PerAxis, perAxis } from './convArgs.ts';

export interface Conv3DOptions extends Named {
  /** A stride for every axis of the input. */
  readonly strides: readonly number[];
  readonly padding: 'SAME' | 'VALID';
  readonly dilations?: readonly number[] | undefined;
  /** `'NDHWC'` (the default) or `'NCDHW'`. */
  readonly dataFormat?: string | undefined;
}

/**
 * Convolves volumes [batch, depth, height, width, channels] with filters [depth, height, width, channels, features]. Adds
 * one `Conv3D` node.
 *
 * @example tf.nn.conv3d([[[[[1], [2], [3]]]]], [[[[[1]], [[10]]]]], { strides: [1, 1, 1, 1, 1], padding: 'VALID' }) // runs to [[[[[21.] [32.]]]]]
 */
export function conv3d(
  input: TensorLike,
  filter: TensorLike,
  ...given: Placed<Conv3DOptions, ['strides', 'padding']>
): Tensor {
  const options = byName<Conv3DOptions>('tf.nn.conv3d', given, 'strides', 'padding');
  const names = ['strides', 'padding', 'dilations', 'dataFormat', 'name'] as const;
  const {
    strides,
    padding,
    dilations = [1, 1, 1, 1, 1],
    dataFormat = 'NDHWC',
    name,
  } = onlyOptions('tf.nn.conv3d', options, ...names);
  const attrs = { strides, padding, dilations, data_format: dataFormat };
  return Conv3D.build({ input, filter }, { name, attrs }).output;
}

/**
 * The gradient of `conv3d` by its filter, whose shape is `filterSizes`. Adds one `Conv3DBackpropFilterV2` node.
 *
 * @example tf.nn.conv3dBackpropFilter([[[[[1], [2], [3]]]]], [1, 1, 2, 1, 1], [[[[[1], [10]]]]], { strides: [1, 1, 1, 1, 1], padding: 'VALID' }) // runs to [[[[[21.]] [[32.]]]]]
 */
export function conv3dBackpropFilter(
  input: TensorLike,
  filterSizes: TensorLike,
  outBackprop: TensorLike,
  options: Conv3DOptions,
): Tensor {
  const names = ['strides', 'padding', 'dilations', 'dataFormat', 'name'] as const;
  const { name, ...rest } = onlyOptions('tf.nn.conv3dBackpropFilter', options, ...names);
  const { strides, padding, dilations = [1, 1, 1, 1, 1], dataFormat = 'NDHWC' } = rest;
  const attrs = { strides, padding, dilations, data_format: dataFormat };
  const inputs = { input, filter_sizes: filterSizes, out_backprop: outBackprop };
  return Conv3DBackpropFilterV2.build(inputs, { name, attrs }).output;
}

export interface Conv3DTransposeOptions extends Named {
  readonly strides?: PerAxis | undefined;
  readonly padding?: 'SAME' | 'VALID' | undefined;
  readonly dilations?: PerAxis | undefined;
  /** `'NDHWC'` (the default) or `'NCDHW'`. */
  readonly dataFormat?: string | undefined;
}

/**
 * The transpose of `conv3d`: a volume of shape `outputShape`; filters are [depth, height, width, output channels, input
 * channels]. Adds one `Conv3DBackpropInputV2` node named `conv3d_transpose`.
 *
 * @example tf.nn.conv3dTranspose([[[[[1], [2]]]]], [[[[[1]], [[10]]]]], [1, 1, 1, 4, 1], { strides: 2 }) // runs to [[[[[ 1.] [10.] [ 2.] [20.]]]]]
 */
export function conv3dTranspose(
  value: TensorLike,
  filter: TensorLike,
  outputShape: TensorLike,
  options: Conv3DTransposeOptions = {},
): Tensor {
  const names = ['strides', 'padding', 'dilations', 'dataFormat', 'name'] as const;
  const {
    strides,
    padding = 'SAME',
    dilations,
    dataFormat = 'NDHWC',
    name,
  } = onlyOptions('tf.nn.conv3dTranspose', options, ...names);
  return scoped(name ?? 'conv3d_transpose', [value, filter, outputShape], (scope) => {
    const isFirst = isChannelsFirst(dataFormat);
    const attrs = {
      strides: perAxis(strides, 3, isFirst, 'strides'),
      padding,
      data_format: dataFormat,
      dilations: perAxis(dilations, 3, isFirst, 'dilations'),
    };
    const inputs = { input_sizes: outputShape, filter, out_backprop: value };
    return Conv3DBackpropInputV2.build(inputs, { name: scope, attrs }).output;
  });
}

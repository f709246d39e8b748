/** @file Depthwise convolution, which takes each channel by itself, and separable convolution, which then mixes them. */
import { float32 } from '../../core/dtypes.ts';
import { showShape } from '../../core/shape.ts';
import { byName, onlyOptions, type Placed } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { type Named, scoped } from '../array/common.ts';
import { shape } from '../array/shape.ts';
import { conv2d } from './conv2d.ts';
import { type ConvPadding, paddingAttrs } from './convArgs.ts';
import {
  DepthwiseConv2dNative,
  DepthwiseConv2dNativeBackpropFilter,
  DepthwiseConv2dNativeBackpropInput,
} from './depthwiseOps.ts';
import { withSpaceToBatch } from './withSpaceToBatch.ts';

export interface DepthwiseNativeOptions extends Named {
  /** A stride for every axis of the images. */
  readonly strides: readonly number[];
  readonly padding: ConvPadding;
  readonly dilations?: readonly number[] | undefined;
  /** `'NHWC'` (the default) or `'NCHW'`. */
  readonly dataFormat?: string | undefined;
}

const nativeNames = ['strides', 'padding', 'dilations', 'dataFormat', 'name'] as const;

function attrsOf({ strides, padding, dilations = [1, 1, 1, 1], dataFormat = 'NHWC' }: DepthwiseNativeOptions) {
  return { strides, ...paddingAttrs(padding), data_format: dataFormat, dilations };
}

/**
 * Convolves every channel by itself with filters [height, width, channels, multiplier]; the result has channels times
 * multiplier channels. Adds one `DepthwiseConv2dNative` node.
 *
 * @example tf.nn.depthwiseConv2dNative([[[[1, 10], [2, 20]]]], [[[[1], [1]], [[3], [3]]]], { strides: [1, 1, 1, 1], padding: 'VALID' }) // runs to [[[[ 7. 70.]]]]
 */
export function depthwiseConv2dNative(input: TensorLike, filter: TensorLike, options: DepthwiseNativeOptions): Tensor {
  const { name } = onlyOptions('tf.nn.depthwiseConv2dNative', options, ...nativeNames);
  return DepthwiseConv2dNative.build({ input, filter }, { name, attrs: attrsOf(options) }).output;
}

/**
 * The gradient of `depthwiseConv2dNative` by its input, whose shape is `inputSizes`. Adds one
 * `DepthwiseConv2dNativeBackpropInput` node.
 *
 * @example tf.nn.depthwiseConv2dNativeBackpropInput([1, 1, 2, 1], [[[[1]], [[3]]]], [[[[5]]]], { strides: [1, 1, 1, 1], padding: 'VALID' }) // runs to [[[[ 5.] [15.]]]]
 */
export function depthwiseConv2dNativeBackpropInput(
  inputSizes: TensorLike,
  filter: TensorLike,
  outBackprop: TensorLike,
  options: DepthwiseNativeOptions,
): Tensor {
  const { name } = onlyOptions('tf.nn.depthwiseConv2dNativeBackpropInput', options, ...nativeNames);
  const inputs = { input_sizes: inputSizes, filter, out_backprop: outBackprop };
  return DepthwiseConv2dNativeBackpropInput.build(inputs, { name, attrs: attrsOf(options) }).output;
}

/**
 * The gradient of `depthwiseConv2dNative` by its filter, whose shape is `filterSizes`. Adds one
 * `DepthwiseConv2dNativeBackpropFilter` node.
 *
 * @example tf.nn.depthwiseConv2dNativeBackpropFilter([[[[1], [2]]]], [1, 2, 1, 1], [[[[5]]]], { strides: [1, 1, 1, 1], padding: 'VALID' }) // runs to [[[[ 5.]] [[10.]]]]
 */
export function depthwiseConv2dNativeBackpropFilter(
  input: TensorLike,
  filterSizes: TensorLike,
  outBackprop: TensorLike,
  options: DepthwiseNativeOptions,
): Tensor {
  const { name } = onlyOptions('tf.nn.depthwiseConv2dNativeBackpropFilter', options, ...nativeNames);
  const inputs = { input, filter_sizes: filterSizes, out_backprop: outBackprop };
  return DepthwiseConv2dNativeBackpropFilter.build(inputs, { name, attrs: attrsOf(options) }).output;
}

export interface DepthwiseOptions extends Omit<DepthwiseNativeOptions, 'dilations'> {
  /** How far apart the filter's elements are along height and width. */
  readonly rate?: readonly number[] | undefined;
}

const names = ['strides', 'padding', 'rate', 'dataFormat', 'name'] as const;

/**
 * Convolves every channel by itself, with dilation. Adds a `DepthwiseConv2dNative` node named `depthwise`; with a rate,
 * between `SpaceToBatchND` and `BatchToSpaceND` nodes.
 *
 * @example tf.nn.depthwiseConv2d([[[[1], [2], [3]]]], [[[[1]], [[10]]]], { strides: [1, 1, 1, 1], padding: 'VALID', rate: [1, 2] }) // runs to [[[[31.]]]]
 */
export function depthwiseConv2d(
  input: TensorLike,
  filter: TensorLike,
  ...given: Placed<DepthwiseOptions, ['strides', 'padding']>
): Tensor {
  const options = byName<DepthwiseOptions>('tf.nn.depthwiseConv2d', given, 'strides', 'padding');
  const { strides, padding, rate = [1, 1], dataFormat, name } = onlyOptions('tf.nn.depthwiseConv2d', options, ...names);
  return scoped(name ?? 'depthwise', [input, filter], (scope) => {
    const x = convertToTensor(input, { name: 'tensor_in', hint: float32 });
    const taps = convertToTensor(filter, { name: 'filter_in', hint: x.dtype });
    return withSpaceToBatch(
      x,
      rate,
      padding,
      (images, _, kind) => depthwiseConv2dNative(images, taps, { strides, padding: kind, dataFormat, name: scope }),
      { filterShape: shape(taps), dataFormat },
    );
  });
}

/**
 * A depthwise convolution, then a convolution with a one by one filter [1, 1, channels, features] that mixes the channels.
 * Adds a `DepthwiseConv2dNative` and a `Conv2D` node under `separable_conv2d`.
 *
 * @example tf.nn.separableConv2d([[[[1], [2]]]], [[[[1, 10]], [[1, 10]]]], [[[[1], [1]]]], { strides: [1, 1, 1, 1], padding: 'VALID' }) // runs to [[[[33.]]]]
 */
export function separableConv2d(
  input: TensorLike,
  depthwiseFilter: TensorLike,
  pointwiseFilter: TensorLike,
  ...given: Placed<DepthwiseOptions, ['strides', 'padding']>
): Tensor {
  const options = byName<DepthwiseOptions>('tf.nn.separableConv2d', given, 'strides', 'padding');
  const { strides, padding, rate = [1, 1], dataFormat, name } = onlyOptions('tf.nn.separableConv2d', options, ...names);
  return scoped(name ?? 'separable_conv2d', [input, depthwiseFilter, pointwiseFilter], (scope) => {
    const x = convertToTensor(input, { name: 'tensor_in', hint: float32 });
    const taps = convertToTensor(depthwiseFilter, { name: 'depthwise_filter', hint: x.dtype });
    const mix = convertToTensor(pointwiseFilter, { name: 'pointwise_filter', hint: x.dtype });
    const dims = mix.shape;
    if (dims && (dims.length !== 4 || (dims[0] ?? 1) !== 1 || (dims[1] ?? 1) !== 1))
      throw userError(`pointwiseFilter must be [1, 1, channels, features], but it is ${showShape(dims)}`);
    const depthwise = withSpaceToBatch(
      x,
      rate,
      padding,
      (images, _, kind) =>
        depthwiseConv2dNative(images, taps, { strides, padding: kind, dataFormat, name: 'depthwise' }),
      { filterShape: shape(taps), dataFormat },
    );
    return conv2d(depthwise, mix, { strides: [1, 1, 1, 1], padding: 'VALID', dataFormat, name: scope });
  });
}

/** @file conv2d, its transpose, and its gradients as functions. */
import { byName, onlyOptions, type Placed } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { scoped } from '../array/common.ts';
import { Conv2DBackpropFilter, Conv2DBackpropInput } from './conv2dGradients.ts';
import { Conv2D } from './conv2dOps.ts';
import { type ConvOptions, isChannelsFirst, paddingAttrs, perAxis, rankOf } from './convArgs.ts';
import { squeezeBatchDims } from './squeezeBatch.ts';

const optionNames = ['strides', 'padding', 'dilations', 'dataFormat', 'useCudnnOnGpu', 'name'] as const;

/** The attributes of a convolution of images. */
function attrsOf({ strides, padding, dilations, dataFormat = 'NHWC', useCudnnOnGpu = true }: ConvOptions) {
  const isFirst = isChannelsFirst(dataFormat);
  return {
    strides: perAxis(strides, 2, isFirst, 'strides'),
    use_cudnn_on_gpu: useCudnnOnGpu,
    ...paddingAttrs(padding),
    data_format: dataFormat,
    dilations: perAxis(dilations, 2, isFirst, 'dilations'),
  };
}

/**
 * Convolves images [batch, height, width, channels] with filters [height, width, channels, features]. Adds one `Conv2D`
 * node; more than one batch axis is made one first, under `squeeze_batch_dims`.
 *
 * @example tf.nn.conv2d([[[[1], [2], [3]]]], [[[[1]], [[10]]]], { strides: 1, padding: 'VALID' }) // runs to [[[[21] [32]]]]
 */
export function conv2d(
  input: TensorLike,
  filter: TensorLike,
  ...given: Placed<ConvOptions, ['strides', 'padding']>
): Tensor {
  const options = byName<ConvOptions>('tf.nn.conv2d', given, 'strides', 'padding');
  const { name } = onlyOptions('tf.nn.conv2d', options, ...optionNames);
  const attrs = attrsOf(options);
  if ((rankOf(input) ?? 0) <= 4) return Conv2D.build({ input, filter }, { name, attrs }).output;
  return squeezeBatchDims(input, (x) => Conv2D.build({ input: x, filter }, { attrs }).output, 3, name);
}

/**
 * The gradient of `conv2d` by its input, whose shape is `inputSizes`. Adds one `Conv2DBackpropInput` node.
 *
 * @example tf.nn.conv2dBackpropInput([1, 1, 3, 1], [[[[1]], [[10]]]], [[[[1], [2]]]], { padding: 'VALID' }) // runs to [[[[1] [12] [20]]]]
 */
export function conv2dBackpropInput(
  inputSizes: TensorLike,
  filter: TensorLike,
  outBackprop: TensorLike,
  options: ConvOptions,
): Tensor {
  const { name } = onlyOptions('tf.nn.conv2dBackpropInput', options, ...optionNames);
  const inputs = { input_sizes: inputSizes, filter, out_backprop: outBackprop };
  return Conv2DBackpropInput.build(inputs, { name, attrs: attrsOf(options) }).output;
}

/**
 * The gradient of `conv2d` by its filter, whose shape is `filterSizes`. Adds one `Conv2DBackpropFilter` node.
 *
 * @example tf.nn.conv2dBackpropFilter([[[[1], [2], [3]]]], [1, 2, 1, 1], [[[[1], [10]]]], { padding: 'VALID' }) // runs to [[[[21.]] [[32.]]]]
 */
export function conv2dBackpropFilter(
  input: TensorLike,
  filterSizes: TensorLike,
  outBackprop: TensorLike,
  options: ConvOptions,
): Tensor {
  const { name } = onlyOptions('tf.nn.conv2dBackpropFilter', options, ...optionNames);
  const inputs = { input, filter_sizes: filterSizes, out_backprop: outBackprop };
  return Conv2DBackpropFilter.build(inputs, { name, attrs: attrsOf(options) }).output;
}

/** What transposed convolutions take. */
export interface ConvTransposeOptions extends Omit<ConvOptions, 'padding' | 'useCudnnOnGpu'> {
  readonly padding?: ConvOptions['padding'] | undefined;
}

/**
 * The transpose of `conv2d`: an image of shape `outputShape` whose convolution has the shape of `value`; filters are
 * [height, width, output channels, input channels]. Adds one `Conv2DBackpropInput` node named `conv2d_transpose`.
 *
 * @example tf.nn.conv2dTranspose([[[[1], [2]]]], [[[[1]], [[10]]]], [1, 1, 4, 1], { strides: 2 }) // runs to [[[[1] [10] [2] [20]]]]
 */
export function conv2dTranspose(
  value: TensorLike,
  filter: TensorLike,
  outputShape: TensorLike,
  ...given: Placed<ConvTransposeOptions, ['strides', 'padding']>
): Tensor {
  const options = byName<ConvTransposeOptions>('tf.nn.conv2dTranspose', given, 'strides', 'padding');
  const names = ['strides', 'padding', 'dilations', 'dataFormat', 'name'] as const;
  const { padding = 'SAME', name } = onlyOptions('tf.nn.conv2dTranspose', options, ...names);
  return scoped(name ?? 'conv2d_transpose', [value, filter, outputShape], (scope) => {
    const attrs = attrsOf({ ...options, padding });
    const inputs = { input_sizes: outputShape, filter, out_backprop: value };
    return Conv2DBackpropInput.build(inputs, { name: scope, attrs }).output;
  });
}

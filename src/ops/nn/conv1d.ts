/** @file conv1d and its transpose: convolutions of images that are one row high. */
import { byName, onlyOptions, type Placed } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { type Named, scoped } from '../array/common.ts';
import { concat } from '../array/concat.ts';
import { expandDims } from '../array/expandDims.ts';
import { getItem } from '../array/getItem.ts';
import { squeeze } from '../array/squeeze.ts';
import { Conv2DBackpropInput } from './conv2dGradients.ts';
import { Conv2D } from './conv2dOps.ts';
import { type PerAxis, perAxis } from './convArgs.ts';
import { squeezeBatchDims } from './squeezeBatch.ts';

export interface Conv1DOptions extends Named {
  readonly stride?: PerAxis | undefined;
  readonly padding: 'SAME' | 'VALID';
  readonly dilations?: PerAxis | undefined;
  /** `'NWC'` (the default) or `'NCW'`. */
  readonly dataFormat?: string | undefined;
  readonly useCudnnOnGpu?: boolean | undefined;
}

/** Whether the channels come first. */
function isFirst(format: string, others: readonly string[] = []): boolean {
  if (format === 'NCW' || (others.includes(format) && format === 'NCHW')) return true;
  if (format === 'NWC' || others.includes(format)) return false;
  throw userError(`dataFormat must be 'NWC' or 'NCW', but is '${format}'.`);
}

/**
 * Convolves signals [batch, width, channels] with filters [width, channels, features]. Adds two `ExpandDims`, a `Conv2D`
 * and a `Squeeze` node under `conv1d`.
 *
 * @example tf.nn.conv1d([[[1], [2], [3]]], [[[1]], [[10]]], { stride: 1, padding: 'VALID' }) // runs to [[[21] [32]]]
 */
export function conv1d(
  value: TensorLike,
  filters: TensorLike,
  ...given: Placed<Conv1DOptions, ['stride', 'padding']>
): Tensor {
  const options = byName<Conv1DOptions>('tf.nn.conv1d', given, 'stride', 'padding');
  const names = ['stride', 'padding', 'dilations', 'dataFormat', 'useCudnnOnGpu', 'name'] as const;
  const {
    stride,
    padding,
    dilations,
    dataFormat = 'NWC',
    useCudnnOnGpu = true,
    name,
  } = onlyOptions('tf.nn.conv1d', options, ...names);
  return scoped(name ?? 'conv1d', [value, filters], (scope) => {
    const channelsFirst = isFirst(dataFormat, ['NHWC', 'NCHW']);
    const attrs = {
      strides: [1, ...perAxis(stride, 1, channelsFirst, 'stride')],
      padding,
      use_cudnn_on_gpu: useCudnnOnGpu,
      data_format: channelsFirst ? 'NCHW' : 'NHWC',
      dilations: [1, ...perAxis(dilations, 1, channelsFirst, 'dilations')],
    };
    const row = channelsFirst ? -2 : -3;
    const images: Tensor = expandDims(value, row);
    const filter: Tensor = expandDims(filters, 0);
    const result =
      (images.rank ?? 0) <= 4
        ? Conv2D.build({ input: images, filter }, { name: scope, attrs }).output
        : squeezeBatchDims(images, (input) => Conv2D.build({ input, filter }, { attrs }).output, 3, scope);
    return squeeze(result, { axis: [row] });
  });
}

export interface Conv1DTransposeOptions extends Named {
  readonly strides?: PerAxis | undefined;
  readonly padding?: 'SAME' | 'VALID' | undefined;
  readonly dilations?: PerAxis | undefined;
  /** `'NWC'` (the default) or `'NCW'`. */
  readonly dataFormat?: string | undefined;
}

/**
 * The transpose of `conv1d`: a signal of shape `outputShape`; filters are [width, output channels, input channels]. Adds a
 * `Conv2DBackpropInput` between `ExpandDims` and `Squeeze` nodes under `conv1d_transpose`.
 *
 * @example tf.nn.conv1dTranspose([[[1], [2]]], [[[1]], [[10]]], [1, 4, 1], { strides: 2 }) // runs to [[[1] [10] [2] [20]]]
 */
export function conv1dTranspose(
  input: TensorLike,
  filters: TensorLike,
  outputShape: Tensor | readonly TensorLike[],
  options: Conv1DTransposeOptions = {},
): Tensor {
  const names = ['strides', 'padding', 'dilations', 'dataFormat', 'name'] as const;
  const {
    strides,
    padding = 'SAME',
    dilations,
    dataFormat = 'NWC',
    name,
  } = onlyOptions('tf.nn.conv1dTranspose', options, ...names);
  return scoped(name ?? 'conv1d_transpose', [input, filters, outputShape], (scope) => {
    const channelsFirst = isFirst(dataFormat);
    const row = channelsFirst ? 2 : 1;
    const attrs = {
      strides: [1, ...perAxis(strides, 1, channelsFirst, 'stride')],
      padding,
      data_format: channelsFirst ? 'NCHW' : 'NHWC',
      dilations: [1, ...perAxis(dilations, 1, channelsFirst, 'dilations')],
    };
    const images = expandDims(input, row);
    const filter = expandDims(filters, 0);
    const parts: readonly TensorLike[] =
      outputShape instanceof Tensor
        ? [getItem(outputShape, `:${row}`), [1], getItem(outputShape, `${row}:`)]
        : [outputShape.slice(0, row), [1], outputShape.slice(row)];
    const inputs = { input_sizes: concat(parts, 0), filter, out_backprop: images };
    return squeeze(Conv2DBackpropInput.build(inputs, { name: scope, attrs }).output, { axis: row });
  });
}

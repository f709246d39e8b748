/** @file convolution over one, two or three axes, and atrous (dilated) convolution. */
import { type Dims, showShape } from '../../core/shape.ts';
import { byName, onlyOptions, type Placed } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor, isSymbolic } from '../../op/convert.ts';
import { type Named, scoped } from '../array/common.ts';
import { conv1d } from './conv1d.ts';
import { conv2d } from './conv2d.ts';
import { Conv2D } from './conv2dOps.ts';
import { Conv3D } from './conv3dOps.ts';
import { type ConvPadding, isChannelsFirst, type PerAxis, perAxis } from './convArgs.ts';
import { squeezeBatchDims } from './squeezeBatch.ts';
import { dilated, type Filter, type SlidingOp } from './withSpaceToBatch.ts';

export interface ConvolutionOptions extends Named {
  /** A pair per axis only together with a dilation. */
  readonly padding?: ConvPadding | undefined;
  readonly strides?: PerAxis | undefined;
  readonly dilationRate?: PerAxis | undefined;
  /** Channels last (the default) or first: `'NWC'`, `'NCW'`, `'NHWC'`, `'NCHW'`, `'NDHWC'`, `'NCDHW'`. */
  readonly dataFormat?: string | undefined;
}

/**
 * Convolves over as many axes as the filter has besides channels and features. Adds a `Conv2D` or `Conv3D` node named
 * `convolution` (with reshapes around it for one axis or several batch axes); with a dilation, between `SpaceToBatchND` and
 * `BatchToSpaceND` nodes.
 *
 * @example tf.nn.convolution([[[1], [2], [3]]], [[[1]], [[10]]], { dilationRate: 2 }) // runs to [[[31]]]
 */
export function convolution(input: TensorLike, filter: TensorLike, options: ConvolutionOptions = {}): Tensor {
  const names = ['padding', 'strides', 'dilationRate', 'dataFormat', 'name'] as const;
  const { padding = 'VALID', dataFormat, name } = onlyOptions('tf.nn.convolution', options, ...names);
  const filters = symbolic(filter, 'filters');
  const x = convertToTensor(symbolic(input, 'input'));
  const axes = spatialAxes(x, filters);
  const isFirst = isChannelsFirst(dataFormat);
  const dilations = perAxis(options.dilationRate, axes, isFirst, 'dilations');
  const strides = perAxis(options.strides, axes, isFirst, 'strides');
  return scoped(name ?? 'convolution', [x, filters], (scope) => {
    if (dilations.every((n) => n === 1)) {
      const shared = { strides, padding, dilations, dataFormat, scope };
      return axes === 1
        ? conv1d(x, filters, { ...textPadding(shared), stride: strides, name: scope })
        : plain(x, filters, axes, shared);
    }
    const spatial = (list: readonly number[]) => (isFirst ? list.slice(2) : list.slice(1, -1));
    return dilatedConvolution(x, filters, {
      axes,
      padding,
      strides: spatial(strides),
      rate: spatial(dilations),
      dataFormat,
      scope,
    });
  });
}

/** Literals become tensors in a scope of their own, as in Python. */
function symbolic(value: TensorLike, name: string): Filter {
  if (isSymbolic(value)) return value;
  return scoped('convolution_internal', [], () => convertToTensor(value, { name }));
}

function spatialAxes(input: Tensor, filter: Filter): number {
  const rank = filter.shape?.length ?? input.rank;
  if (rank === null) throw userError('the rank of the input or of the filter must be known');
  const axes = rank - 2;
  if (axes < 1 || axes > 3)
    throw userError(
      `a convolution has 1, 2 or 3 spatial axes, but input is ${showShape(input.shape)} and filter is ${showShape(filter.shape)}, so it would have ${axes}.`,
    );
  return axes;
}

interface Plain {
  readonly strides: readonly number[];
  readonly padding: ConvPadding;
  readonly dilations: readonly number[];
  readonly dataFormat: string | undefined;
  readonly scope: string;
}

function textPadding({ padding, dataFormat, dilations }: Plain) {
  if (typeof padding !== 'string')
    throw userError("padding must be 'SAME' or 'VALID' here; tf.nn.conv2d takes a padding for each axis.");
  return { padding, dataFormat, dilations };
}

/** Two or three axes, no dilation; several batch axes are made one. */
function plain(input: Tensor, filter: Filter, axes: number, options: Plain): Tensor {
  const { padding } = textPadding(options);
  const { strides, dilations, scope } = options;
  const op = (x: TensorLike, name?: string): Tensor =>
    axes === 2
      ? Conv2D.build(
          { input: x, filter },
          { name, attrs: { strides, padding, dilations, data_format: options.dataFormat ?? 'NHWC' } },
        ).output
      : Conv3D.build(
          { input: x, filter },
          { name, attrs: { strides, padding, dilations, data_format: options.dataFormat ?? 'NDHWC' } },
        ).output;
  if ((input.rank ?? 0) <= axes + 2) return op(input, scope);
  return squeezeBatchDims(input, (x) => op(x), axes + 1, scope);
}

interface Dilated {
  readonly axes: number;
  readonly padding: ConvPadding;
  readonly strides: readonly number[];
  readonly rate: readonly number[];
  readonly dataFormat: string | undefined;
  readonly scope: string;
}

function dilatedConvolution(input: Tensor, filter: Filter, options: Dilated): Tensor {
  const { axes, padding, strides, rate, dataFormat, scope } = options;
  if ([...rate, ...strides].some((n) => n < 1))
    throw userError(`strides and dilationRate must be positive, but they are [${strides}] and [${rate}]`);
  if (strides.some((n) => n > 1))
    throw userError(
      `strides > 1 not supported in conjunction with dilationRate > 1: strides are [${strides}] and dilationRate is [${rate}]. tf.nn.conv2d takes both.`,
    );
  const batchDims = input.rank === null ? 1 : input.rank - axes - 1;
  checkChannels(input.shape, filter.shape, axes, batchDims, isChannelsFirst(dataFormat));
  const op: SlidingOp = (_, kind) => (x, taps) => {
    const valid = kind as 'SAME' | 'VALID'; // after the dilation only these are left
    if (axes === 1) return conv1d(x, taps!, { stride: strides, padding: valid, dataFormat, name: scope });
    const steps = perAxis(strides, axes, isChannelsFirst(dataFormat), 'strides');
    if (axes === 2) return conv2d(x, taps!, { strides: steps, padding: valid, dataFormat, name: scope });
    return plain(x, taps!, 3, { strides: steps, padding: valid, dilations: [1, 1, 1, 1, 1], dataFormat, scope });
  };
  return dilated(op, {
    inputShape: input.shape,
    dilationRate: rate,
    padding,
    filterShape: filter.shape as readonly number[], // refused where a size is not known
    dataFormat,
    batchDims,
  })(input, filter);
}

function checkChannels(input: Dims, filter: Dims, axes: number, batchDims: number, isFirst: boolean): void {
  const channels = input?.[isFirst ? batchDims : batchDims + axes] ?? null;
  const taken = filter?.[axes] ?? null;
  if (channels !== null && taken !== null && channels % taken !== 0)
    throw userError(
      `The number of input channels is not divisible by the corresponding number of output filters: input is ${showShape(input)} with ${channels} channels and filter is ${showShape(filter)} and takes ${taken}.`,
    );
}

export interface AtrousOptions extends Named {
  /** How far apart the filter's elements are. */
  readonly rate: PerAxis;
  readonly padding: 'SAME' | 'VALID';
}

/**
 * A convolution with holes: the filter's elements are `rate` apart. Adds what `convolution` adds.
 *
 * @example tf.nn.atrousConv2d([[[[1], [2], [3]]]], [[[[1]], [[10]]]], { rate: 2, padding: 'VALID' }) // runs to [[[[31]]]]
 */
export function atrousConv2d(
  value: TensorLike,
  filters: TensorLike,
  ...given: Placed<AtrousOptions, ['rate', 'padding']>
): Tensor {
  const options = byName<AtrousOptions>('tf.nn.atrousConv2d', given, 'rate', 'padding');
  const { rate, padding, name } = onlyOptions('tf.nn.atrousConv2d', options, 'rate', 'padding', 'name');
  const dilationRate = typeof rate === 'number' ? [rate, rate] : rate;
  return convolution(value, filters, { padding, dilationRate, name });
}

/** @file Convolution of `tf.contrib.layers`. */
import { checkOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { relu } from '../../ops/nn/index.ts';
import { Conv1D, Conv2D, Conv3D } from '../layers/conv.ts';
import { Conv2DTranspose, Conv3DTranspose, type ConvTransposeLayerOptions } from '../layers/convTranspose.ts';
import type { ConvLayerOptions } from '../layers/imageLayer.ts';
import type { VariableScope } from '../variableScope.ts';
import { addArgScope } from './argScope.ts';
import {
  collect,
  finished,
  kernelOptions,
  modelVariables,
  scopeOf,
  type WeightedOptions,
  weightedNames,
} from './model.ts';

type Sizes = number | readonly number[];
type Padding = 'SAME' | 'VALID';

export interface ConvolutionLayerOptions extends WeightedOptions {
  /** 1 unless given. */
  readonly stride?: Sizes | undefined;
  /** `'SAME'` unless given. */
  readonly padding?: Padding | undefined;
  /** Channels last unless it begins with `NC`. */
  readonly dataFormat?: string | undefined;
  /** How far apart the kernel's elements are; 1 unless given. */
  readonly rate?: Sizes | undefined;
}
const convolutionNames = { ...weightedNames, stride: true, padding: true, dataFormat: true, rate: true } as const;

export const inPlaces = (dataFormat: string | undefined) =>
  dataFormat?.startsWith('NC') ? ('channels_first' as const) : ('channels_last' as const);

/** What the layers of `tf.layers` are told. */
function layerOptions(options: ConvolutionLayerOptions, scope: VariableScope, x: Tensor): ConvTransposeLayerOptions {
  return {
    ...kernelOptions(options, scope, x),
    strides: options.stride ?? 1,
    padding: options.padding ?? 'SAME',
    dataFormat: inPlaces(options.dataFormat),
  };
}

type KernelLayer = Conv1D | Conv2D | Conv3D | Conv2DTranspose | Conv3DTranspose;

/** What a layer makes of its input, with its variables in their collections. */
function applied(layer: KernelLayer, x: Tensor, options: ConvolutionLayerOptions): Tensor {
  const outputs = layer.apply(x);
  collect(layer.kernel, options.variablesCollections, 'weights');
  collect(layer.bias, options.variablesCollections, 'biases');
  return finished(outputs, options, relu);
}

const kinds = { 1: Conv1D, 2: Conv2D, 3: Conv3D } as const;

function convolved(
  name: string,
  axes: 1 | 2 | 3 | undefined,
  inputs: TensorLike,
  numOutputs: number,
  kernelSize: Sizes,
  options: ConvolutionLayerOptions,
): Tensor {
  checkOptions(`tf.contrib.layers.${name}`, options, convolutionNames);
  return scopeOf(options, 'Conv', modelVariables({ kernel: 'weights', bias: 'biases' }), (scope) => {
    const x = convertToTensor(inputs);
    const spatial = (x.rank ?? 0) - 2;
    if (spatial < 1 || spatial > 3 || (axes !== undefined && spatial !== axes))
      throw userError(
        `Convolution expects input with rank ${axes === undefined ? '3, 4 or 5' : axes + 2}, got ${x.rank ?? 'an unknown one'}`,
      );
    const given: ConvLayerOptions = { ...layerOptions(options, scope, x), dilationRate: options.rate ?? 1 };
    const layer = new kinds[spatial as 1 | 2 | 3](numOutputs, kernelSize, given); // checked above
    return applied(layer, x, options);
  });
}

/**
 * A convolution over one, two or three axes, with relu. Adds the variables `Conv/weights` and `Conv/biases`.
 *
 * @example const h = tf.contrib.layers.convolution(images, 32, [3, 3]);
 */
export const convolution = addArgScope(function convolution(
  inputs: TensorLike,
  numOutputs: number,
  kernelSize: Sizes,
  options: ConvolutionLayerOptions = {},
): Tensor {
  return convolved('convolution', undefined, inputs, numOutputs, kernelSize, options);
});

/**
 * A convolution over rows, with relu. Adds the variables `Conv/weights` and `Conv/biases`.
 *
 * @example const h = tf.contrib.layers.convolution1d(x, 32, 3);
 */
export const convolution1d = addArgScope(function convolution1d(
  inputs: TensorLike,
  numOutputs: number,
  kernelSize: Sizes,
  options: ConvolutionLayerOptions = {},
): Tensor {
  return convolved('convolution1d', 1, inputs, numOutputs, kernelSize, options);
});

/**
 * A convolution over images, with relu. Adds the variables `Conv/weights` and `Conv/biases`.
 *
 * @example const h = tf.contrib.layers.conv2d(images, 32, [3, 3], { normalizerFn: tf.contrib.layers.batchNorm });
 */
export const convolution2d = addArgScope(function convolution2d(
  inputs: TensorLike,
  numOutputs: number,
  kernelSize: Sizes,
  options: ConvolutionLayerOptions = {},
): Tensor {
  return convolved('convolution2d', 2, inputs, numOutputs, kernelSize, options);
});

/**
 * A convolution over volumes, with relu. Adds the variables `Conv/weights` and `Conv/biases`.
 *
 * @example const h = tf.contrib.layers.convolution3d(volumes, 8, 3);
 */
export const convolution3d = addArgScope(function convolution3d(
  inputs: TensorLike,
  numOutputs: number,
  kernelSize: Sizes,
  options: ConvolutionLayerOptions = {},
): Tensor {
  return convolved('convolution3d', 3, inputs, numOutputs, kernelSize, options);
});
/** The same as `convolution1d`. */
export const conv1d = convolution1d;
/** The same as `convolution2d`. */
export const conv2d = convolution2d;
/** The same as `convolution3d`. */
export const conv3d = convolution3d;

export type ConvolutionTransposeLayerOptions = Omit<ConvolutionLayerOptions, 'rate'>;

function transposed(
  name: string,
  Kind: typeof Conv2DTranspose | typeof Conv3DTranspose,
  defaultScope: string,
  inputs: TensorLike,
  numOutputs: number,
  kernelSize: Sizes,
  options: ConvolutionTransposeLayerOptions,
): Tensor {
  const { rate: _, ...names } = convolutionNames;
  checkOptions(`tf.contrib.layers.${name}`, options, names);
  const getter = modelVariables({ kernel: 'weights', bias: 'biases' });
  return scopeOf(options, defaultScope, getter, (scope) => {
    const x = convertToTensor(inputs);
    const layer = new Kind(numOutputs, kernelSize, layerOptions(options, scope, x));
    return applied(layer, x, options);
  });
}

/**
 * The transpose of a convolution over images, with relu. Adds the variables `Conv2d_transpose/weights` and `…/biases`.
 *
 * @example const larger = tf.contrib.layers.conv2dTranspose(images, 16, 3, { stride: 2 });
 */
export const convolution2dTranspose = addArgScope(function convolution2dTranspose(
  inputs: TensorLike,
  numOutputs: number,
  kernelSize: Sizes,
  options: ConvolutionTransposeLayerOptions = {},
): Tensor {
  const name = 'convolution2dTranspose';
  return transposed(name, Conv2DTranspose, 'Conv2d_transpose', inputs, numOutputs, kernelSize, options);
});

/**
 * The transpose of a convolution over volumes, with relu. Adds the variables `Conv3d_transpose/weights` and `…/biases`.
 *
 * @example const larger = tf.contrib.layers.conv3dTranspose(volumes, 16, 3, { stride: 2 });
 */
export const convolution3dTranspose = addArgScope(function convolution3dTranspose(
  inputs: TensorLike,
  numOutputs: number,
  kernelSize: Sizes,
  options: ConvolutionTransposeLayerOptions = {},
): Tensor {
  const name = 'convolution3dTranspose';
  return transposed(name, Conv3DTranspose, 'Conv3d_transpose', inputs, numOutputs, kernelSize, options);
});
/** The same as `convolution2dTranspose`. */
export const conv2dTranspose = convolution2dTranspose;
/** The same as `convolution3dTranspose`. */
export const conv3dTranspose = convolution3dTranspose;

/** @file Convolutions of `tf.contrib.layers` that keep channels apart: separable ones, and those within the plane of each channel. */
import { checkOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { tile } from '../../ops/array/index.ts';
import { biasAdd, depthwiseConv2d, relu } from '../../ops/nn/index.ts';
import { zerosInitializer } from '../initializers.ts';
import { ImageFormat, perSpatialAxis } from '../layers/imageFormat.ts';
import { SeparableConv2D } from '../layers/separableConv.ts';
import type { Variable } from '../variable.ts';
import { getVariable, type VariableScope } from '../variableScope.ts';
import type { VariableInitializer } from '../variableStore.ts';
import { addArgScope } from './argScope.ts';
import { inPlaces } from './convolution.ts';
import { xavierInitializer } from './initializers.ts';
import { collect, finished, modelVariables, scopeOf, type WeightedOptions, weightedNames } from './model.ts';

type Sizes = number | readonly number[];
type Padding = 'SAME' | 'VALID';

export interface InPlaneOptions extends WeightedOptions {
  /** 1 unless given. */
  readonly stride?: Sizes | undefined;
  /** `'SAME'` unless given. */
  readonly padding?: Padding | undefined;
}
const inPlaneNames = { ...weightedNames, stride: true, padding: true } as const;

export interface SeparableConvolutionOptions extends InPlaneOptions {
  /** How many features each channel gives before they are mixed; 1 unless given. */
  readonly depthMultiplier?: number | undefined;
  readonly dataFormat?: 'NHWC' | 'NCHW' | undefined;
  /** How far apart the kernel's elements are; 1 unless given. */
  readonly rate?: Sizes | undefined;
  /** That of the weights which mix the channels; `weightsInitializer` unless given. */
  readonly pointwiseInitializer?: VariableInitializer | undefined;
}
const separableNames = {
  ...inPlaneNames,
  depthMultiplier: true,
  dataFormat: true,
  rate: true,
  pointwiseInitializer: true,
} as const;

/** Weights made here rather than by a layer. */
function weights(name: string, dims: readonly number[], x: Tensor, options: WeightedOptions): Variable {
  const variable = getVariable(name, dims, {
    dtype: x.dtype,
    initializer: options.weightsInitializer ?? xavierInitializer(),
    regularizer: options.weightsRegularizer,
    trainable: options.trainable,
  });
  collect(variable, options.variablesCollections, 'weights');
  return variable;
}

/** Biases, unless a normalizer takes their place or there are to be none. */
function biased(x: Tensor, channels: number, options: WeightedOptions, dataFormat: 'NHWC' | 'NCHW'): Tensor {
  const { normalizerFn, biasesInitializer = zerosInitializer() } = options;
  if (normalizerFn || biasesInitializer === null) return x;
  const biases = getVariable('biases', [channels], {
    dtype: x.dtype,
    initializer: biasesInitializer,
    regularizer: options.biasesRegularizer,
    trainable: options.trainable,
  });
  collect(biases, options.variablesCollections, 'biases');
  return biasAdd(x, biases, { dataFormat });
}

/**
 * Every channel by itself, then a mix of the channels, with relu; with `null` outputs there is no mix. Adds the variables
 * `SeparableConv2d/depthwise_weights`, `…/pointwise_weights` and `…/biases`.
 *
 * @example const h = tf.contrib.layers.separableConv2d(images, 32, [3, 3], { depthMultiplier: 2 });
 */
export const separableConvolution2d = addArgScope(function separableConvolution2d(
  inputs: TensorLike,
  numOutputs: number | null,
  kernelSize: Sizes,
  options: SeparableConvolutionOptions = {},
): Tensor {
  checkOptions('tf.contrib.layers.separableConvolution2d', options, separableNames);
  const { dataFormat = 'NHWC' } = options;
  if (dataFormat !== 'NHWC' && dataFormat !== 'NCHW') throw userError('dataFormat has to be either NCHW or NHWC.');
  const names = { depthwise_kernel: 'depthwise_weights', pointwise_kernel: 'pointwise_weights', bias: 'biases' };
  return scopeOf(options, 'SeparableConv2d', modelVariables(names), (scope) => {
    const x = convertToTensor(inputs);
    const outputs =
      numOutputs === null ? eachChannel(x, kernelSize, options) : mixed(x, numOutputs, kernelSize, options, scope);
    return finished(outputs, options, relu);
  });
});

function mixed(
  x: Tensor,
  numOutputs: number,
  kernelSize: Sizes,
  options: SeparableConvolutionOptions,
  scope: VariableScope,
): Tensor {
  const { weightsInitializer = xavierInitializer(), biasesInitializer = zerosInitializer() } = options;
  const layer = new SeparableConv2D(numOutputs, kernelSize, {
    strides: options.stride ?? 1,
    padding: options.padding ?? 'SAME',
    dataFormat: inPlaces(options.dataFormat),
    dilationRate: options.rate ?? 1,
    depthMultiplier: options.depthMultiplier,
    useBias: !options.normalizerFn && biasesInitializer !== null,
    depthwiseInitializer: weightsInitializer,
    pointwiseInitializer: options.pointwiseInitializer ?? weightsInitializer,
    biasInitializer: biasesInitializer ?? undefined,
    depthwiseRegularizer: options.weightsRegularizer,
    pointwiseRegularizer: options.weightsRegularizer,
    biasRegularizer: options.biasesRegularizer,
    trainable: options.trainable,
    name: scope.name,
    dtype: x.dtype,
    scope,
    reuse: options.reuse,
  });
  const outputs = layer.apply(x);
  collect(layer.depthwiseKernel, options.variablesCollections, 'weights');
  collect(layer.pointwiseKernel, options.variablesCollections, 'weights');
  collect(layer.bias, options.variablesCollections, 'biases');
  return outputs;
}

/** A separable convolution without the mix. */
function eachChannel(x: Tensor, kernelSize: Sizes, options: SeparableConvolutionOptions): Tensor {
  const { dataFormat = 'NHWC', depthMultiplier = 1, padding = 'SAME' } = options;
  const format = new ImageFormat(2, inPlaces(dataFormat));
  const channels = format.channelsOf(x);
  const size = perSpatialAxis(kernelSize, 2, 'kernelSize');
  const kernel = weights('depthwise_weights', [...size, channels, depthMultiplier], x, options);
  const outputs = depthwiseConv2d(x, kernel, {
    strides: format.everyAxis(perSpatialAxis(options.stride ?? 1, 2, 'stride')),
    padding,
    rate: perSpatialAxis(options.rate ?? 1, 2, 'rate'),
    dataFormat,
  });
  return biased(outputs, depthMultiplier * channels, options, dataFormat);
}

/**
 * The same convolution in every channel, [batch, height, width, channels], with relu. Adds the variables
 * `ConvInPlane/weights`, one plane for all channels, and `ConvInPlane/biases`.
 *
 * @example const h = tf.contrib.layers.conv2dInPlane(images, [1, 3]);
 */
export const convolution2dInPlane = addArgScope(function convolution2dInPlane(
  inputs: TensorLike,
  kernelSize: Sizes,
  options: InPlaneOptions = {},
): Tensor {
  checkOptions('tf.contrib.layers.convolution2dInPlane', options, inPlaneNames);
  return scopeOf(options, 'ConvInPlane', modelVariables(), () => {
    const x = convertToTensor(inputs);
    const format = new ImageFormat(2);
    const channels = format.channelsOf(x);
    const plane = weights('weights', [...perSpatialAxis(kernelSize, 2, 'kernelSize'), 1, 1], x, options);
    const outputs = depthwiseConv2d(x, tile(plane, [1, 1, channels, 1]), {
      strides: format.everyAxis(perSpatialAxis(options.stride ?? 1, 2, 'stride')),
      padding: options.padding ?? 'SAME',
    });
    return finished(biased(outputs, channels, options, 'NHWC'), options, relu);
  });
});
/** The same as `separableConvolution2d`. */
export const separableConv2d = separableConvolution2d;
/** The same as `convolution2dInPlane`. */
export const conv2dInPlane = convolution2dInPlane;

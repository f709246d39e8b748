/** @file Separable convolution layers: every channel by itself, then a mix of the channels. */
import type { Dims } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { expandDims, squeeze } from '../../ops/array/index.ts';
import { biasAdd, separableConv2d as separable } from '../../ops/nn/index.ts';
import { zerosInitializer } from '../initializers.ts';
import type { Constraint, Variable } from '../variable.ts';
import type { Regularizer, VariableInitializer } from '../variableStore.ts';
import { type ConvLayerOptions, checkPadding, ImageFormat, perSpatialAxis } from './kernelOptions.ts';
import { Layer, layerOptionNames } from './layer.ts';

type Base = Omit<ConvLayerOptions, 'kernelInitializer' | 'kernelRegularizer' | 'kernelConstraint'>;

export interface SeparableConvOptions extends Base {
  /** How many features each channel gives before they are mixed; 1 unless given. */
  readonly depthMultiplier?: number | undefined;
  readonly depthwiseInitializer?: VariableInitializer | undefined;
  readonly pointwiseInitializer?: VariableInitializer | undefined;
  readonly depthwiseRegularizer?: Regularizer | undefined;
  readonly pointwiseRegularizer?: Regularizer | undefined;
  readonly depthwiseConstraint?: Constraint | undefined;
  readonly pointwiseConstraint?: Constraint | undefined;
}
const optionNames = [
  'strides',
  'padding',
  'dataFormat',
  'dilationRate',
  'activation',
  'useBias',
  'biasInitializer',
  'biasRegularizer',
  'biasConstraint',
  'depthMultiplier',
  'depthwiseInitializer',
  'pointwiseInitializer',
  'depthwiseRegularizer',
  'pointwiseRegularizer',
  'depthwiseConstraint',
  'pointwiseConstraint',
] as const;

abstract class SeparableConv extends Layer {
  depthwiseKernel: Variable | undefined;
  pointwiseKernel: Variable | undefined;
  bias: Variable | undefined;
  private readonly size: readonly number[];
  private readonly steps: readonly number[];
  private readonly rate: readonly number[];
  private readonly format: ImageFormat;

  constructor(
    private readonly rank: 1 | 2,
    readonly filters: number,
    kernelSize: number | readonly number[],
    private readonly options: SeparableConvOptions,
  ) {
    super(options);
    onlyOptions(`tf.layers.SeparableConv${rank}D`, options, ...layerOptionNames, ...optionNames);
    this.size = perSpatialAxis(kernelSize, rank, 'kernelSize');
    this.steps = perSpatialAxis(options.strides ?? 1, rank, 'strides');
    this.rate = perSpatialAxis(options.dilationRate ?? 1, rank, 'dilationRate');
    this.format = new ImageFormat(rank, options.dataFormat);
    checkPadding(options.padding);
    this.inputSpec = { rank: rank + 2 };
  }

  override build(inputShape: Dims): void {
    const { options } = this;
    const channels = this.format.channelsOf({ shape: inputShape });
    const multiplier = options.depthMultiplier ?? 1;
    this.depthwiseKernel = this.addWeight('depthwise_kernel', [...this.size, channels, multiplier], {
      initializer: options.depthwiseInitializer,
      regularizer: options.depthwiseRegularizer,
      constraint: options.depthwiseConstraint,
    });
    const ones = this.size.map(() => 1);
    this.pointwiseKernel = this.addWeight('pointwise_kernel', [...ones, multiplier * channels, this.filters], {
      initializer: options.pointwiseInitializer,
      regularizer: options.pointwiseRegularizer,
      constraint: options.pointwiseConstraint,
    });
    if (options.useBias ?? true)
      this.bias = this.addWeight('bias', [this.filters], {
        initializer: options.biasInitializer ?? zerosInitializer(),
        regularizer: options.biasRegularizer,
        constraint: options.biasConstraint,
      });
    this.inputSpec = { rank: this.rank + 2, axes: { [this.format.channelAxis]: channels } };
    super.build(inputShape);
  }

  override call(inputs: Tensor): Tensor {
    const { options } = this;
    const image = new ImageFormat(2, options.dataFormat);
    // A row of pixels is an image of height 1.
    const axis = image.channelsFirst ? 2 : 1;
    const wide = (x: TensorLike, at: number) => (this.rank === 1 ? expandDims(x, at) : x);
    const both = (list: readonly number[], first: number) => (this.rank === 1 ? [first, ...list] : list);
    const steps = both(this.steps, this.steps[0]!);
    let outputs = separable(wide(inputs, axis), wide(this.depthwiseKernel!, 0), wide(this.pointwiseKernel!, 0), {
      strides: image.everyAxis(steps),
      padding: checkPadding(options.padding),
      rate: both(this.rate, 1),
      dataFormat: image.letters,
    });
    if (this.bias) outputs = biasAdd(outputs, this.bias, { dataFormat: image.letters });
    if (this.rank === 1) outputs = squeeze(outputs, { axis: [axis] });
    return options.activation ? options.activation(outputs) : outputs;
  }
}

/**
 * A separable convolution over a single axis.
 *
 * @example new tf.layers.SeparableConv1D(32, 5).apply(x)
 */
export class SeparableConv1D extends SeparableConv {
  constructor(filters: number, kernelSize: number | readonly number[], options: SeparableConvOptions = {}) {
    super(1, filters, kernelSize, options);
  }
}

/**
 * A separable convolution over images.
 *
 * @example new tf.layers.SeparableConv2D(32, 3, { depthMultiplier: 2 }).apply(images)
 */
export class SeparableConv2D extends SeparableConv {
  constructor(filters: number, kernelSize: number | readonly number[], options: SeparableConvOptions = {}) {
    super(2, filters, kernelSize, options);
  }
}

type FunctionOptions = Omit<SeparableConvOptions, 'dtype' | 'scope'>;

/**
 * A separable convolution layer over a single axis, applied to `inputs`.
 *
 * @example const y = tf.layers.separableConv1d(x, 32, 5);
 */
export function separableConv1d(
  inputs: TensorLike,
  filters: number,
  kernelSize: number | readonly number[],
  options: FunctionOptions = {},
): Tensor {
  return new SeparableConv1D(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

/**
 * A separable convolution layer over images, applied to `inputs`.
 *
 * @example const y = tf.layers.separableConv2d(images, 32, 3, { depthMultiplier: 2 });
 */
export function separableConv2d(
  inputs: TensorLike,
  filters: number,
  kernelSize: number | readonly number[],
  options: FunctionOptions = {},
): Tensor {
  return new SeparableConv2D(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

/** @file Separable convolution layers: every channel by itself, then a mix of the channels. */
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { expandDims, squeeze } from '../../ops/array/index.ts';
import { separableConv2d as separable } from '../../ops/nn/index.ts';
import type { Constraint, Variable } from '../variable.ts';
import type { Regularizer, VariableInitializer } from '../variableStore.ts';
import { ImageFormat, perSpatialAxis } from './imageFormat.ts';
import {
  type DilationOption,
  ImageLayer,
  type ImageOptions,
  imageOptionNames,
  kernelArguments,
  type PlacedKernel,
} from './imageLayer.ts';

export interface SeparableConvOptions extends ImageOptions, DilationOption {
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
  ...imageOptionNames,
  'dilationRate',
  'depthMultiplier',
  'depthwiseInitializer',
  'pointwiseInitializer',
  'depthwiseRegularizer',
  'pointwiseRegularizer',
  'depthwiseConstraint',
  'pointwiseConstraint',
] as const;

/** What separable convolution layers share: a kernel for each channel, and one that mixes the channels. */
abstract class SeparableConv extends ImageLayer<SeparableConvOptions> {
  depthwiseKernel!: Variable;
  pointwiseKernel!: Variable;
  private readonly rate: readonly number[];

  constructor(rank: 1 | 2, filters: number, kernelSize: number | readonly number[], options: SeparableConvOptions) {
    super(rank, filters, kernelSize, options);
    onlyOptions(`tf.layers.SeparableConv${rank}D`, options, ...optionNames);
    this.rate = perSpatialAxis(options.dilationRate ?? 1, rank, 'dilationRate');
  }

  protected override dilationAlong(axis: number): number {
    return this.rate[axis]!;
  }

  protected override addKernels(channels: number): void {
    const { options, kernelSize } = this;
    const multiplier = options.depthMultiplier ?? 1;
    this.depthwiseKernel = this.addWeight('depthwise_kernel', [...kernelSize, channels, multiplier], {
      initializer: options.depthwiseInitializer,
      regularizer: options.depthwiseRegularizer,
      constraint: options.depthwiseConstraint,
    });
    const ones = kernelSize.map(() => 1);
    this.pointwiseKernel = this.addWeight('pointwise_kernel', [...ones, multiplier * channels, this.filters], {
      initializer: options.pointwiseInitializer,
      regularizer: options.pointwiseRegularizer,
      constraint: options.pointwiseConstraint,
    });
  }

  override call(inputs: Tensor): Tensor {
    const image = new ImageFormat(2, this.options.dataFormat);
    // A row of pixels is an image of height 1.
    const axis = image.channelsFirst ? 2 : 1;
    const wide = (x: TensorLike, at: number) => (this.rank === 1 ? expandDims(x, at) : x);
    const both = (list: readonly number[], first: number) => (this.rank === 1 ? [first, ...list] : list);
    const steps = both(this.strides, this.strides[0]!);
    const mixed = separable(wide(inputs, axis), wide(this.depthwiseKernel, 0), wide(this.pointwiseKernel, 0), {
      strides: image.everyAxis(steps),
      padding: this.padding,
      rate: both(this.rate, 1),
      dataFormat: image.letters,
    });
    const outputs = this.biased(mixed, image.channelsFirst);
    return this.activated(this.rank === 1 ? squeeze(outputs, { axis: [axis] }) : outputs);
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
export function separableConv1d(inputs: TensorLike, ...given: PlacedKernel<FunctionOptions>): Tensor {
  const { filters, kernelSize, ...options } = kernelArguments<FunctionOptions>('separableConv1d', given);
  return new SeparableConv1D(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

/**
 * A separable convolution layer over images, applied to `inputs`.
 *
 * @example const y = tf.layers.separableConv2d(images, 32, 3, { depthMultiplier: 2 });
 */
export function separableConv2d(inputs: TensorLike, ...given: PlacedKernel<FunctionOptions>): Tensor {
  const { filters, kernelSize, ...options } = kernelArguments<FunctionOptions>('separableConv2d', given);
  return new SeparableConv2D(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

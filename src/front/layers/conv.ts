/** @file Convolution layers over one, two and three axes. */
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { reshape } from '../../ops/array/index.ts';
import { convolution } from '../../ops/nn/index.ts';
import type { Variable } from '../variable.ts';
import { kernelWeight } from './biasedLayer.ts';
import { perSpatialAxis } from './imageFormat.ts';
import {
  type ConvLayerOptions,
  convOptionNames,
  ImageLayer,
  kernelArguments,
  type PlacedKernel,
} from './imageLayer.ts';

/** What convolution layers share: a kernel [size…, channels, filters]. */
abstract class Conv extends ImageLayer<ConvLayerOptions> {
  /** Made when the layer is first applied. */
  kernel!: Variable;
  private readonly dilation: readonly number[];

  constructor(rank: number, filters: number, kernelSize: number | readonly number[], options: ConvLayerOptions) {
    super(rank, filters, kernelSize, options);
    onlyOptions(`tf.layers.Conv${rank}D`, options, ...convOptionNames, 'dilationRate');
    this.dilation = perSpatialAxis(options.dilationRate ?? 1, rank, 'dilationRate');
  }

  protected override dilationAlong(axis: number): number {
    return this.dilation[axis]!;
  }

  protected override addKernels(channels: number): void {
    this.kernel = this.addWeight('kernel', [...this.kernelSize, channels, this.filters], kernelWeight(this.options));
  }

  override call(inputs: Tensor): Tensor {
    const { format, padding, strides, rank } = this;
    const outputs = convolution(inputs, this.kernel, {
      padding,
      strides,
      dilationRate: this.dilation,
      dataFormat: format.letters,
      name: rank === 1 ? 'conv1d' : `Conv${rank}D`,
    });
    return this.activated(rank === 1 ? this.biasedRows(outputs) : this.biased(outputs, format.channelsFirst));
  }

  /** `BiasAdd` takes no rows with channels first. */
  private biasedRows(outputs: Tensor): Tensor {
    if (!this.bias || !this.format.channelsFirst) return this.biased(outputs);
    return outputs.add(reshape(this.bias, [1, this.filters, 1]));
  }
}

/**
 * Convolution over time or another single axis: [batch, steps, channels] to [batch, steps, filters].
 *
 * @example new tf.layers.Conv1D(32, 5).apply(x)
 */
export class Conv1D extends Conv {
  constructor(filters: number, kernelSize: number | readonly number[], options: ConvLayerOptions = {}) {
    super(1, filters, kernelSize, options);
  }
}

/**
 * Convolution over images: [batch, height, width, channels] to [batch, height, width, filters].
 *
 * @example new tf.layers.Conv2D(32, 5, { padding: 'same', activation: tf.nn.relu }).apply(images)
 */
export class Conv2D extends Conv {
  constructor(filters: number, kernelSize: number | readonly number[], options: ConvLayerOptions = {}) {
    super(2, filters, kernelSize, options);
  }
}

/**
 * Convolution over volumes: [batch, depth, height, width, channels] to [batch, depth, height, width, filters].
 *
 * @example new tf.layers.Conv3D(8, 3).apply(volumes)
 */
export class Conv3D extends Conv {
  constructor(filters: number, kernelSize: number | readonly number[], options: ConvLayerOptions = {}) {
    super(3, filters, kernelSize, options);
  }
}

type FunctionOptions = Omit<ConvLayerOptions, 'dtype' | 'scope'>;

/**
 * A convolution layer over one axis, applied to `inputs`. Adds the variables `conv1d/kernel` and `conv1d/bias`.
 *
 * @example const y = tf.layers.conv1d(x, 32, 5, { activation: tf.nn.relu });
 */
export function conv1d(inputs: TensorLike, ...given: PlacedKernel<FunctionOptions>): Tensor {
  const { filters, kernelSize, ...options } = kernelArguments<FunctionOptions>('conv1d', given);
  return new Conv1D(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

/**
 * A convolution layer over images, applied to `inputs`. Adds the variables `conv2d/kernel` and `conv2d/bias`, and `Conv2D`
 * and `BiasAdd` nodes.
 *
 * @example const y = tf.layers.conv2d(images, 32, 5, { padding: 'same', activation: tf.nn.relu });
 */
export function conv2d(inputs: TensorLike, ...given: PlacedKernel<FunctionOptions>): Tensor {
  const { filters, kernelSize, ...options } = kernelArguments<FunctionOptions>('conv2d', given);
  return new Conv2D(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

/**
 * A convolution layer over volumes, applied to `inputs`. Adds the variables `conv3d/kernel` and `conv3d/bias`.
 *
 * @example const y = tf.layers.conv3d(volumes, 8, 3);
 */
export function conv3d(inputs: TensorLike, ...given: PlacedKernel<FunctionOptions>): Tensor {
  const { filters, kernelSize, ...options } = kernelArguments<FunctionOptions>('conv3d', given);
  return new Conv3D(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

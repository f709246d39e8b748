/** @file Convolution layers over one, two and three axes. */
import type { Dims } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { biasAdd, convolution } from '../../ops/nn/index.ts';
import { zerosInitializer } from '../initializers.ts';
import type { Variable } from '../variable.ts';
import { type ConvLayerOptions, checkPadding, convOptionNames, ImageFormat, perSpatialAxis } from './kernelOptions.ts';
import { Layer, layerOptionNames } from './layer.ts';

/** What convolution layers share: a kernel [size…, channels, filters] and a bias. */
abstract class Conv extends Layer {
  kernel: Variable | undefined;
  bias: Variable | undefined;
  readonly kernelSize: readonly number[];
  protected readonly format: ImageFormat;
  private readonly dilation: readonly number[];
  private readonly strides: readonly number[];

  constructor(
    rank: number,
    readonly filters: number,
    kernelSize: number | readonly number[],
    protected readonly options: ConvLayerOptions,
  ) {
    super(options);
    onlyOptions(`tf.layers.Conv${rank}D`, options, ...layerOptionNames, ...convOptionNames);
    if (!Number.isInteger(filters) || filters <= 0)
      throw userError(`Received an invalid value for \`filters\`, expected a positive integer, got ${filters}.`);
    this.kernelSize = perSpatialAxis(kernelSize, rank, 'kernelSize');
    this.strides = perSpatialAxis(options.strides ?? 1, rank, 'strides');
    this.dilation = perSpatialAxis(options.dilationRate ?? 1, rank, 'dilationRate');
    this.format = new ImageFormat(rank, options.dataFormat);
    checkPadding(options.padding);
    this.inputSpec = { rank: rank + 2 };
  }

  override build(inputShape: Dims): void {
    const { options } = this;
    const channels = this.format.channelsOf({ shape: inputShape });
    this.kernel = this.addWeight('kernel', [...this.kernelSize, channels, this.filters], {
      initializer: options.kernelInitializer,
      regularizer: options.kernelRegularizer,
      constraint: options.kernelConstraint,
    });
    if (options.useBias ?? true)
      this.bias = this.addWeight('bias', [this.filters], {
        initializer: options.biasInitializer ?? zerosInitializer(),
        regularizer: options.biasRegularizer,
        constraint: options.biasConstraint,
      });
    this.inputSpec = { rank: this.format.rank + 2, axes: { [this.format.channelAxis]: channels } };
    super.build(inputShape);
  }

  override call(inputs: Tensor): Tensor {
    const { format, options } = this;
    let outputs = convolution(inputs, this.kernel!, {
      padding: checkPadding(options.padding),
      strides: this.strides,
      dilationRate: this.dilation,
      dataFormat: format.letters,
      name: format.rank === 1 ? 'conv1d' : `Conv${format.rank}D`,
    });
    if (this.bias) outputs = biasAdd(outputs, this.bias, { dataFormat: format.channelsFirst ? 'NCHW' : 'NHWC' });
    return options.activation ? options.activation(outputs) : outputs;
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
export function conv1d(
  inputs: TensorLike,
  filters: number,
  kernelSize: number | readonly number[],
  options: FunctionOptions = {},
): Tensor {
  return new Conv1D(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

/**
 * A convolution layer over images, applied to `inputs`. Adds the variables `conv2d/kernel` and `conv2d/bias`, and `Conv2D`
 * and `BiasAdd` nodes.
 *
 * @example const y = tf.layers.conv2d(images, 32, 5, { padding: 'same', activation: tf.nn.relu });
 */
export function conv2d(
  inputs: TensorLike,
  filters: number,
  kernelSize: number | readonly number[],
  options: FunctionOptions = {},
): Tensor {
  return new Conv2D(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

/**
 * A convolution layer over volumes, applied to `inputs`. Adds the variables `conv3d/kernel` and `conv3d/bias`.
 *
 * @example const y = tf.layers.conv3d(volumes, 8, 3);
 */
export function conv3d(
  inputs: TensorLike,
  filters: number,
  kernelSize: number | readonly number[],
  options: FunctionOptions = {},
): Tensor {
  return new Conv3D(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

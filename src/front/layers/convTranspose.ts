/** @file Transposed convolution layers: from small images to large ones. */
import type { Dims } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { shape, stack } from '../../ops/array/index.ts';
import { biasAdd, conv2dTranspose as transpose2d, conv3dTranspose as transpose3d } from '../../ops/nn/index.ts';
import { zerosInitializer } from '../initializers.ts';
import type { Variable } from '../variable.ts';
import { type ConvLayerOptions, checkPadding, convOptionNames, ImageFormat, perSpatialAxis } from './kernelOptions.ts';
import { Layer, layerOptionNames } from './layer.ts';

export type ConvTransposeLayerOptions = Omit<ConvLayerOptions, 'dilationRate'>;

/** What transposed convolution layers share: a kernel [size…, filters, channels] and a bias. */
abstract class ConvTranspose extends Layer {
  kernel: Variable | undefined;
  bias: Variable | undefined;
  private readonly size: readonly number[];
  private readonly steps: readonly number[];
  private readonly format: ImageFormat;

  constructor(
    private readonly rank: 2 | 3,
    readonly filters: number,
    kernelSize: number | readonly number[],
    private readonly options: ConvTransposeLayerOptions,
  ) {
    super(options);
    const names = convOptionNames.filter((name) => name !== 'dilationRate');
    onlyOptions(`tf.layers.Conv${rank}DTranspose`, options, ...layerOptionNames, ...names);
    this.size = perSpatialAxis(kernelSize, rank, 'kernelSize');
    this.steps = perSpatialAxis(options.strides ?? 1, rank, 'strides');
    this.format = new ImageFormat(rank, options.dataFormat);
    checkPadding(options.padding);
    this.inputSpec = { rank: rank + 2 };
  }

  override build(inputShape: Dims): void {
    const { options } = this;
    const channels = this.format.channelsOf({ shape: inputShape });
    this.kernel = this.addWeight('kernel', [...this.size, this.filters, channels], {
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
    this.inputSpec = { rank: this.rank + 2, axes: { [this.format.channelAxis]: channels } };
    super.build(inputShape);
  }

  override call(inputs: Tensor): Tensor {
    const { format, options } = this;
    const padding = checkPadding(options.padding);
    const actual = shape(inputs);
    const batch = actual.slice('0');
    const sizes = format.spatialAxes.map((axis, i) => {
      const [size, step] = [this.size[i]!, this.steps[i]!];
      const more = padding === 'VALID' ? Math.max(size - step, 0) : 0;
      const known = inputs.shape![axis] ?? null;
      return known === null ? actual.slice([axis]).mul(step).add(more) : known * step + more;
    });
    const whole = format.channelsFirst ? [batch, this.filters, ...sizes] : [batch, ...sizes, this.filters];
    const given = { strides: this.steps, padding, dataFormat: format.letters };
    const transposed = this.rank === 2 ? transpose2d : transpose3d;
    let outputs = transposed(inputs, this.kernel!, stack(whole), given);
    const known = sizes.map((n) => (typeof n === 'number' ? n : null));
    const rows = inputs.shape![0] ?? null;
    outputs.setShape(format.channelsFirst ? [rows, this.filters, ...known] : [rows, ...known, this.filters]);
    if (this.bias) outputs = biasAdd(outputs, this.bias, { dataFormat: format.channelsFirst ? 'NCHW' : 'NHWC' });
    return options.activation ? options.activation(outputs) : outputs;
  }
}

/**
 * The transpose of a convolution over images.
 *
 * @example new tf.layers.Conv2DTranspose(16, 3, { strides: 2, padding: 'same' }).apply(images)
 */
export class Conv2DTranspose extends ConvTranspose {
  constructor(filters: number, kernelSize: number | readonly number[], options: ConvTransposeLayerOptions = {}) {
    super(2, filters, kernelSize, options);
  }
}

/**
 * The transpose of a convolution over volumes.
 *
 * @example new tf.layers.Conv3DTranspose(16, 3, { strides: 2 }).apply(volumes)
 */
export class Conv3DTranspose extends ConvTranspose {
  constructor(filters: number, kernelSize: number | readonly number[], options: ConvTransposeLayerOptions = {}) {
    super(3, filters, kernelSize, options);
  }
}

type FunctionOptions = Omit<ConvTransposeLayerOptions, 'dtype' | 'scope'>;

/**
 * A transposed convolution layer over images, applied to `inputs`.
 *
 * @example const y = tf.layers.conv2dTranspose(images, 16, 3, { strides: 2, padding: 'same' });
 */
export function conv2dTranspose(
  inputs: TensorLike,
  filters: number,
  kernelSize: number | readonly number[],
  options: FunctionOptions = {},
): Tensor {
  return new Conv2DTranspose(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

/**
 * A transposed convolution layer over volumes, applied to `inputs`.
 *
 * @example const y = tf.layers.conv3dTranspose(volumes, 16, 3, { strides: 2 });
 */
export function conv3dTranspose(
  inputs: TensorLike,
  filters: number,
  kernelSize: number | readonly number[],
  options: FunctionOptions = {},
): Tensor {
  return new Conv3DTranspose(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

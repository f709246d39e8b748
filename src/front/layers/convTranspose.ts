/** @file Transposed convolution layers: from small images to large ones. */
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { shape, stack } from '../../ops/array/index.ts';
import { conv2dTranspose as transpose2d, conv3dTranspose as transpose3d } from '../../ops/nn/index.ts';
import type { Variable } from '../variable.ts';
import { kernelWeight } from './biasedLayer.ts';
import { type ConvLayerOptions, convOptionNames, ImageLayer } from './imageLayer.ts';

export type ConvTransposeLayerOptions = Omit<ConvLayerOptions, 'dilationRate'>;

/** What transposed convolution layers share: a kernel [size…, filters, channels]. */
abstract class ConvTranspose extends ImageLayer<ConvTransposeLayerOptions> {
  kernel: Variable | undefined;

  constructor(
    rank: 2 | 3,
    filters: number,
    kernelSize: number | readonly number[],
    options: ConvTransposeLayerOptions,
  ) {
    super(rank, filters, kernelSize, options);
    onlyOptions(`tf.layers.Conv${rank}DTranspose`, options, ...convOptionNames);
  }

  protected override addKernels(channels: number): void {
    this.kernel = this.addWeight('kernel', [...this.kernelSize, this.filters, channels], kernelWeight(this.options));
  }

  override call(inputs: Tensor): Tensor {
    const { format, padding, strides } = this;
    const actual = shape(inputs);
    const batch = actual.slice('0');
    const sizes = format.spatialAxes.map((axis, i) => {
      const [size, step] = [this.kernelSize[i]!, strides[i]!];
      const more = padding === 'VALID' ? Math.max(size - step, 0) : 0;
      const known = inputs.shape![axis] ?? null;
      return known === null ? actual.slice([axis]).mul(step).add(more) : known * step + more;
    });
    const whole = format.channelsFirst ? [batch, this.filters, ...sizes] : [batch, ...sizes, this.filters];
    const given = { strides, padding, dataFormat: format.letters };
    const transposed = this.rank === 2 ? transpose2d : transpose3d;
    const outputs = transposed(inputs, this.kernel!, stack(whole), given);
    const known = sizes.map((n) => (typeof n === 'number' ? n : null));
    const rows = inputs.shape![0] ?? null;
    outputs.setShape(format.channelsFirst ? [rows, this.filters, ...known] : [rows, ...known, this.filters]);
    return this.activated(this.biased(outputs, format.channelsFirst));
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

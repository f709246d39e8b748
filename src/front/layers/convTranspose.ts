/** @file Transposed convolution layers: from small images to large ones. */
import type { Dims } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { shape, stack, transpose } from '../../ops/array/index.ts';
import { conv2dTranspose as transpose2d, conv3dTranspose as transpose3d } from '../../ops/nn/index.ts';
import type { Variable } from '../variable.ts';
import { kernelWeight } from './biasedLayer.ts';
import {
  type ConvLayerOptions,
  convOptionNames,
  ImageLayer,
  kernelArguments,
  type PlacedKernel,
} from './imageLayer.ts';

export type ConvTransposeLayerOptions = Omit<ConvLayerOptions, 'dilationRate'>;

/** What transposed convolution layers share: a kernel [size…, filters, channels]. */
abstract class ConvTranspose extends ImageLayer<ConvTransposeLayerOptions> {
  /** Made when the layer is first applied. */
  kernel!: Variable;

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

  override computeOutputShape(inputShape: Dims): Dims {
    const along = (size: number | null, axis: number) => (size === null ? null : this.sizeOf(size, axis));
    return this.format.changed(inputShape, along, this.filters);
  }

  override call(inputs: Tensor): Tensor {
    const { format, padding, strides, rank } = this;
    const actual = shape(inputs);
    const batch = actual.slice('0');
    const given = format.spatialAxes.map((axis) => inputs.shape?.[axis] ?? null);
    // Like Python, images use the sizes that are known while building, volumes never do.
    const from = given.map((n, i) => (rank === 2 && n !== null ? n : actual.slice([format.spatialAxes[i]!])));
    const sizes = from.map((n, i) => this.sizeOf(n, i));
    const whole = stack(format.channelsFirst ? [batch, this.filters, ...sizes] : [batch, ...sizes, this.filters]);
    const outputs =
      rank === 2
        ? this.transposed2d(inputs, whole)
        : transpose3d(inputs, this.kernel, whole, { strides, padding, dataFormat: format.letters });
    const known = given.map((n, i) => (n === null ? null : this.sizeOf(n, i)));
    const rows = inputs.shape?.[0] ?? null;
    outputs.setShape(format.channelsFirst ? [rows, this.filters, ...known] : [rows, ...known, this.filters]);
    return this.activated(this.biased(outputs, format.channelsFirst));
  }

  /** The size that a spatial axis of a given size grows to. */
  private sizeOf<N extends number | Tensor>(size: N, axis: number): N {
    const [taps, step] = [this.kernelSize[axis]!, this.strides[axis]!];
    const more = this.padding === 'VALID' ? Math.max(taps - step, 0) : 0;
    if (typeof size === 'number') return (size * step + more) as N; // a number stays one
    const grown = size.mul(step);
    return (this.padding === 'VALID' ? grown.add(more) : grown) as N; // and a tensor stays one
  }

  /** With channels first, images are turned round before and after, and the sizes with them. */
  private transposed2d(inputs: Tensor, whole: Tensor): Tensor {
    const { padding, strides } = this;
    const options = { strides, padding, dataFormat: 'NHWC' } as const;
    if (!this.format.channelsFirst) {
      whole.slice('0'); // a node that Python makes too
      return transpose2d(inputs, this.kernel, whole, options);
    }
    const turned = transpose(inputs, [0, 2, 3, 1]);
    const sizes = [whole.slice('0'), whole.slice('2'), whole.slice('3'), whole.slice('1')];
    return transpose(transpose2d(turned, this.kernel, stack(sizes), options), [0, 3, 1, 2]);
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
export function conv2dTranspose(inputs: TensorLike, ...given: PlacedKernel<FunctionOptions>): Tensor {
  const { filters, kernelSize, ...options } = kernelArguments<FunctionOptions>('conv2dTranspose', given);
  return new Conv2DTranspose(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

/**
 * A transposed convolution layer over volumes, applied to `inputs`.
 *
 * @example const y = tf.layers.conv3dTranspose(volumes, 16, 3, { strides: 2 });
 */
export function conv3dTranspose(inputs: TensorLike, ...given: PlacedKernel<FunctionOptions>): Tensor {
  const { filters, kernelSize, ...options } = kernelArguments<FunctionOptions>('conv3dTranspose', given);
  return new Conv3DTranspose(filters, kernelSize, { ...options, scope: options.name }).apply(inputs);
}

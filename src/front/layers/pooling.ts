/** @file Pooling layers: the largest or the mean element of windows, over one, two and three axes. */
import type { Dims } from '../../core/shape.ts';
import { byName, onlyOptions, type Placed } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { expandDims, squeeze, transpose } from '../../ops/array/index.ts';
import { avgPool, avgPool3d, maxPool, maxPool3d } from '../../ops/nn/index.ts';
import { checkPadding, ImageFormat, perSpatialAxis, windowsAlong } from './imageFormat.ts';
import { Layer, type LayerOptions, layerOptionNames } from './layer.ts';

export interface PoolingOptions extends LayerOptions {
  readonly padding?: 'valid' | 'same' | 'VALID' | 'SAME' | undefined;
  readonly dataFormat?: 'channels_last' | 'channels_first' | undefined;
}

type Sizes = number | readonly number[];
type Kind = 'max' | 'average';

/** What pooling layers share. They have no variables. */
abstract class Pooling extends Layer {
  private readonly size: readonly number[];
  private readonly steps: readonly number[];
  private readonly format: ImageFormat;

  constructor(
    private readonly kind: Kind,
    private readonly rank: number,
    poolSize: Sizes,
    strides: Sizes,
    private readonly options: PoolingOptions,
  ) {
    super(options);
    onlyOptions(`tf.layers.${new.target.name}`, options, ...layerOptionNames, 'padding', 'dataFormat');
    this.size = perSpatialAxis(poolSize, rank, 'poolSize');
    this.steps = perSpatialAxis(strides, rank, 'strides');
    this.format = new ImageFormat(rank, options.dataFormat);
    checkPadding(options.padding);
    this.inputSpec = { rank: rank + 2 };
  }

  override computeOutputShape(inputShape: Dims): Dims {
    const padding = checkPadding(this.options.padding);
    const along = (size: number | null, axis: number) =>
      windowsAlong(size, this.size[axis]!, this.steps[axis]!, padding);
    return this.format.changed(inputShape, along);
  }

  override call(inputs: Tensor): Tensor {
    const padding = checkPadding(this.options.padding);
    const { format, rank } = this;
    if (rank === 2) {
      const pool = this.kind === 'max' ? maxPool : avgPool;
      const [size, steps] = [format.everyAxis(this.size), format.everyAxis(this.steps)];
      return pool(inputs, size, steps, padding, { dataFormat: format.letters });
    }
    if (rank === 3) {
      const pool = this.kind === 'max' ? maxPool3d : avgPool3d;
      const name = this.kind === 'max' ? 'MaxPool3D' : 'AvgPool3D';
      const [size, steps] = [channelsLast.volume.everyAxis(this.size), channelsLast.volume.everyAxis(this.steps)];
      return this.withChannelsLast(inputs, (x) => pool(x, size, steps, padding, { name }));
    }
    // A row of pixels is pooled as an image with one more axis.
    const pool = this.kind === 'max' ? maxPool : avgPool;
    const [size, steps] = [
      [...this.size, 1],
      [...this.steps, 1],
    ].map((list) => channelsLast.image.everyAxis(list));
    const axis = format.channelsFirst ? 3 : 2;
    const pooled = this.withChannelsLast(expandDims(inputs, axis), (x) => pool(x, size!, steps!, padding));
    return squeeze(pooled, { axis: [axis] });
  }

  /** Rows and volumes with channels first are turned round before and after, as in Python. */
  private withChannelsLast(x: Tensor, pool: (x: Tensor) => Tensor): Tensor {
    if (!this.format.channelsFirst) return pool(x);
    // Rows have become images.
    const spatial = Array.from({ length: Math.max(this.rank, 2) }, (_, i) => i);
    const last = spatial.length + 1;
    return transpose(pool(transpose(x, [0, ...spatial.map((i) => i + 2), 1])), [0, last, ...spatial.map((i) => i + 1)]);
  }
}

const channelsLast = { image: new ImageFormat(2), volume: new ImageFormat(3) };

/**
 * The largest element of each window, over a single axis: [batch, steps, channels].
 *
 * @example new tf.layers.MaxPooling1D(2, 2).apply(x)
 */
export class MaxPooling1D extends Pooling {
  constructor(poolSize: Sizes, strides: Sizes, options: PoolingOptions = {}) {
    super('max', 1, poolSize, strides, options);
  }
}

/**
 * The largest element of each window, over images: [batch, height, width, channels].
 *
 * @example new tf.layers.MaxPooling2D(2, 2).apply(images)
 */
export class MaxPooling2D extends Pooling {
  constructor(poolSize: Sizes, strides: Sizes, options: PoolingOptions = {}) {
    super('max', 2, poolSize, strides, options);
  }
}

/**
 * The largest element of each window, over volumes: [batch, depth, height, width, channels].
 *
 * @example new tf.layers.MaxPooling3D(2, 2).apply(volumes)
 */
export class MaxPooling3D extends Pooling {
  constructor(poolSize: Sizes, strides: Sizes, options: PoolingOptions = {}) {
    super('max', 3, poolSize, strides, options);
  }
}

/**
 * The mean of each window, over a single axis: [batch, steps, channels].
 *
 * @example new tf.layers.AveragePooling1D(2, 2).apply(x)
 */
export class AveragePooling1D extends Pooling {
  constructor(poolSize: Sizes, strides: Sizes, options: PoolingOptions = {}) {
    super('average', 1, poolSize, strides, options);
  }
}

/**
 * The mean of each window, over images: [batch, height, width, channels].
 *
 * @example new tf.layers.AveragePooling2D(2, 2).apply(images)
 */
export class AveragePooling2D extends Pooling {
  constructor(poolSize: Sizes, strides: Sizes, options: PoolingOptions = {}) {
    super('average', 2, poolSize, strides, options);
  }
}

/**
 * The mean of each window, over volumes: [batch, depth, height, width, channels].
 *
 * @example new tf.layers.AveragePooling3D(2, 2).apply(volumes)
 */
export class AveragePooling3D extends Pooling {
  constructor(poolSize: Sizes, strides: Sizes, options: PoolingOptions = {}) {
    super('average', 3, poolSize, strides, options);
  }
}

interface PoolArguments extends PoolingOptions {
  readonly poolSize: Sizes;
  readonly strides: Sizes;
}
type PlacedPool = Placed<PoolArguments, ['poolSize', 'strides']>;

function poolArguments(fn: string, given: readonly unknown[]): PoolArguments {
  return byName<PoolArguments>(`tf.layers.${fn}`, given, 'poolSize', 'strides');
}

/**
 * The largest element of each window of `inputs`, [batch, steps, channels].
 *
 * @example const y = tf.layers.maxPooling1d(x, 2, 2);
 */
export function maxPooling1d(inputs: TensorLike, ...given: PlacedPool): Tensor {
  const { poolSize, strides, ...options } = poolArguments('maxPooling1d', given);
  return new MaxPooling1D(poolSize, strides, options).apply(inputs);
}

/**
 * The largest element of each window of `inputs`, [batch, height, width, channels].
 *
 * @example const y = tf.layers.maxPooling2d(images, 2, 2);
 */
export function maxPooling2d(inputs: TensorLike, ...given: PlacedPool): Tensor {
  const { poolSize, strides, ...options } = poolArguments('maxPooling2d', given);
  return new MaxPooling2D(poolSize, strides, options).apply(inputs);
}

/**
 * The largest element of each window of `inputs`, [batch, depth, height, width, channels].
 *
 * @example const y = tf.layers.maxPooling3d(volumes, 2, 2);
 */
export function maxPooling3d(inputs: TensorLike, ...given: PlacedPool): Tensor {
  const { poolSize, strides, ...options } = poolArguments('maxPooling3d', given);
  return new MaxPooling3D(poolSize, strides, options).apply(inputs);
}

/**
 * The mean of each window of `inputs`, [batch, steps, channels].
 *
 * @example const y = tf.layers.averagePooling1d(x, 2, 2);
 */
export function averagePooling1d(inputs: TensorLike, ...given: PlacedPool): Tensor {
  const { poolSize, strides, ...options } = poolArguments('averagePooling1d', given);
  return new AveragePooling1D(poolSize, strides, options).apply(inputs);
}

/**
 * The mean of each window of `inputs`, [batch, height, width, channels].
 *
 * @example const y = tf.layers.averagePooling2d(images, 2, 2);
 */
export function averagePooling2d(inputs: TensorLike, ...given: PlacedPool): Tensor {
  const { poolSize, strides, ...options } = poolArguments('averagePooling2d', given);
  return new AveragePooling2D(poolSize, strides, options).apply(inputs);
}

/**
 * The mean of each window of `inputs`, [batch, depth, height, width, channels].
 *
 * @example const y = tf.layers.averagePooling3d(volumes, 2, 2);
 */
export function averagePooling3d(inputs: TensorLike, ...given: PlacedPool): Tensor {
  const { poolSize, strides, ...options } = poolArguments('averagePooling3d', given);
  return new AveragePooling3D(poolSize, strides, options).apply(inputs);
}

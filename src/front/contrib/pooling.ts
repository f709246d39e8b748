/** @file Pooling of `tf.contrib.layers`. */

import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { pool as poolOf } from '../../ops/nn/index.ts';
import { perSpatialAxis } from '../layers/imageFormat.ts';
import { AveragePooling2D, AveragePooling3D, MaxPooling2D, MaxPooling3D } from '../layers/pooling.ts';
import { addArgScope } from './argScope.ts';
import { type Collections, output } from './model.ts';

type Sizes = number | readonly number[];
type Padding = 'SAME' | 'VALID';

export interface PoolLayerOptions<F extends string = 'NHWC' | 'NCHW'> {
  /** 2 unless given. */
  readonly stride?: Sizes | undefined;
  /** `'VALID'` unless given. */
  readonly padding?: Padding | undefined;
  /** Channels last unless given. */
  readonly dataFormat?: F | undefined;
  readonly outputsCollections?: Collections | undefined;
  readonly scope?: string | undefined;
}
export type Pool3dLayerOptions = PoolLayerOptions<'NDHWC' | 'NCDHW'>;

/** What is pooled how, in a scope of which name, and the ways in which images or volumes can lie. */
const kinds = {
  maxPool2d: { layer: MaxPooling2D, scope: 'MaxPool2D', formats: ['NHWC', 'NCHW'] },
  avgPool2d: { layer: AveragePooling2D, scope: 'AvgPool2D', formats: ['NHWC', 'NCHW'] },
  maxPool3d: { layer: MaxPooling3D, scope: 'MaxPool3D', formats: ['NDHWC', 'NCDHW'] },
  avgPool3d: { layer: AveragePooling3D, scope: 'AvgPool3D', formats: ['NDHWC', 'NCDHW'] },
} as const;

function pooled(
  name: keyof typeof kinds,
  inputs: TensorLike,
  kernelSize: Sizes,
  options: PoolLayerOptions | Pool3dLayerOptions,
): Tensor {
  const names = ['stride', 'padding', 'dataFormat', 'outputsCollections', 'scope'] as const;
  const given = onlyOptions(`tf.contrib.layers.${name}`, options, ...names);
  const { layer: Kind, scope, formats } = kinds[name];
  const { stride = 2, padding = 'VALID', dataFormat = formats[0] } = given;
  if (!formats.some((format) => format === dataFormat))
    throw userError(`dataFormat has to be either ${formats[1]} or ${formats[0]}.`);
  return nameScope(given.scope ?? scope, () => {
    const x = convertToTensor(inputs);
    const rank = formats[0].length;
    if (x.rank !== null && x.rank !== rank)
      throw userError(`${name} takes inputs of rank ${rank}, but these have rank ${x.rank}.`);
    const places = dataFormat === formats[1] ? 'channels_first' : 'channels_last';
    const layer = new Kind(kernelSize, stride, { padding, dataFormat: places });
    // Without the layer's own scope: the nodes belong to this one.
    return output(layer.call(x), given.outputsCollections);
  });
}

/**
 * The largest element of each window of images. Adds a `MaxPool` node under `MaxPool2D/`.
 *
 * @example const h = tf.contrib.layers.maxPool2d(images, [2, 2]);
 */
export const maxPool2d = addArgScope(function maxPool2d(
  inputs: TensorLike,
  kernelSize: Sizes,
  options: PoolLayerOptions = {},
): Tensor {
  return pooled('maxPool2d', inputs, kernelSize, options);
});

/**
 * The mean of each window of images. Adds an `AvgPool` node under `AvgPool2D/`.
 *
 * @example const h = tf.contrib.layers.avgPool2d(images, [2, 2]);
 */
export const avgPool2d = addArgScope(function avgPool2d(
  inputs: TensorLike,
  kernelSize: Sizes,
  options: PoolLayerOptions = {},
): Tensor {
  return pooled('avgPool2d', inputs, kernelSize, options);
});

/**
 * The largest element of each window of volumes. Adds a `MaxPool3D` node under `MaxPool3D/`.
 *
 * @example const h = tf.contrib.layers.maxPool3d(volumes, 2);
 */
export const maxPool3d = addArgScope(function maxPool3d(
  inputs: TensorLike,
  kernelSize: Sizes,
  options: Pool3dLayerOptions = {},
): Tensor {
  return pooled('maxPool3d', inputs, kernelSize, options);
});

/**
 * The mean of each window of volumes. Adds an `AvgPool3D` node under `AvgPool3D/`.
 *
 * @example const h = tf.contrib.layers.avgPool3d(volumes, 2);
 */
export const avgPool3d = addArgScope(function avgPool3d(
  inputs: TensorLike,
  kernelSize: Sizes,
  options: Pool3dLayerOptions = {},
): Tensor {
  return pooled('avgPool3d', inputs, kernelSize, options);
});

export interface PoolOptions {
  /** `'VALID'` unless given. */
  readonly padding?: Padding | undefined;
  /** Channels last unless it begins with `NC`. */
  readonly dataFormat?: string | undefined;
  /** How far apart the elements of a window are; 1 unless given. */
  readonly dilationRate?: Sizes | undefined;
  /** 1 unless given. */
  readonly stride?: Sizes | undefined;
  readonly outputsCollections?: Collections | undefined;
  readonly scope?: string | undefined;
}

/**
 * The largest element or the mean of each window, over one, two or three axes. Adds nodes under `max_pool/` or `avg_pool/`.
 *
 * @example const h = tf.contrib.layers.pool(images, [3, 3], 'AVG', { stride: 2 });
 */
export const pool = addArgScope(function pool(
  inputs: TensorLike,
  kernelSize: Sizes,
  poolingType: 'MAX' | 'AVG',
  options: PoolOptions = {},
): Tensor {
  const names = ['padding', 'dataFormat', 'dilationRate', 'stride', 'outputsCollections', 'scope'] as const;
  const given = onlyOptions('tf.contrib.layers.pool', options, ...names);
  const { padding = 'VALID', dataFormat, dilationRate = 1, stride = 1 } = given;
  return nameScope(given.scope ?? `${poolingType.toLowerCase()}_pool`, (name) => {
    const x = convertToTensor(inputs);
    if (x.rank === null) throw userError('Rank of inputs must be known');
    if (x.rank < 3) throw userError('Rank of inputs must be >= 3');
    const each = (value: Sizes, what: string) => perSpatialAxis(value, x.rank! - 2, what);
    const windows = poolOf(x, each(kernelSize, 'kernelSize'), poolingType, padding, {
      dataFormat,
      dilationRate: each(dilationRate, 'dilationRate'),
      strides: each(stride, 'stride'),
      name,
    });
    return output(windows, given.outputsCollections);
  });
});

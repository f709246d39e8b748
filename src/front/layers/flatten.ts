/** @file Flatten: all axes but the first become one. */

import { type Dims, isFullyDefined, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constant, expandDims, reshape, shape, transpose } from '../../ops/array/index.ts';
import { Layer, type LayerOptions, layerOptionNames } from './layer.ts';

export interface FlattenOptions extends LayerOptions {
  /** With `'channels_first'`, channels are moved to the end before flattening. */
  readonly dataFormat?: 'channels_last' | 'channels_first' | undefined;
}

/**
 * `[batch, a, b, …]` as `[batch, a * b * …]`.
 *
 * @example new tf.layers.Flatten().apply(images)
 */
export class Flatten extends Layer {
  private readonly channelsFirst: boolean;

  constructor(options: FlattenOptions = {}) {
    super(options);
    onlyOptions('tf.layers.Flatten', options, ...layerOptionNames, 'dataFormat');
    const { dataFormat = 'channels_last' } = options;
    if (dataFormat !== 'channels_last' && dataFormat !== 'channels_first')
      throw userError(
        `The \`dataFormat\` argument must be one of 'channels_first', 'channels_last'. Received: ${dataFormat}`,
      );
    this.channelsFirst = dataFormat === 'channels_first';
    this.inputSpec = { minRank: 1 };
  }

  override computeOutputShape(inputShape: Dims): Dims {
    if (inputShape === null) return null;
    const [batch = null, ...rest] = inputShape;
    return [batch, isFullyDefined(rest) ? sizeOf(rest) : null];
  }

  override call(inputs: Tensor): Tensor {
    let x = inputs;
    if (this.channelsFirst && x.rank !== null && x.rank > 1) {
      const spatial = Array.from({ length: x.rank - 2 }, (_, i) => i + 2);
      x = transpose(x, [0, ...spatial, 1]);
    }
    if (x.rank === 1) return expandDims(x, 1);
    const [batch, ...rest] = x.shape ?? [null, null];
    if (isFullyDefined(rest)) return reshape(x, constant([-1, sizeOf(rest)]));
    if (batch != null) return reshape(x, constant([batch, -1]));
    return reshape(x, [shape(x).slice('0'), -1]);
  }
}

/**
 * All axes but the first made one. Adds a `Reshape` node under `flatten/`.
 *
 * @example tf.layers.flatten(tf.zeros([2, 3, 4])).shape // [2, 12]
 */
export function flatten(inputs: TensorLike, options: FlattenOptions = {}): Tensor {
  return new Flatten(options).apply(inputs);
}

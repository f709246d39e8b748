/** @file Dropout as a layer: active in training, the identity otherwise. */

import type { Dims } from '../../core/shape.ts';
import { onlyOptions, withArgument } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { identity, shape } from '../../ops/array/index.ts';
import { dropout as dropElements } from '../../ops/nn/index.ts';
import { smartCond } from '../controlFlow/cond.ts';
import { Layer, type LayerOptions, layerOptionNames } from './layer.ts';

export interface DropoutOptions extends LayerOptions {
  /** Shape of the random choices; they repeat along sizes of 1. `null` sizes are those of the input. */
  readonly noiseShape?: readonly (number | null)[] | undefined;
  readonly seed?: number | undefined;
}

interface RateOption {
  /** May stand here, or alone as the first argument. */
  readonly rate?: TensorLike | undefined;
}

export interface DropoutCall {
  /** Whether elements are dropped: a boolean, or a boolean tensor that is looked at in each run. False unless given. */
  readonly training?: boolean | Tensor | undefined;
}

/**
 * Sets elements to zero with probability `rate` and scales the others up; does nothing outside training.
 *
 * @example new tf.layers.Dropout(0.4).apply(x, { training: isTraining })
 */
export class Dropout extends Layer<DropoutCall> {
  readonly rate: TensorLike;
  private readonly options: DropoutOptions;
  constructor(given?: TensorLike | (DropoutOptions & RateOption), last: DropoutOptions & RateOption = {}) {
    const { rate = 0.5, ...options } = withArgument('rate', given, last);
    super(options);
    onlyOptions('tf.layers.Dropout', options, ...layerOptionNames, 'noiseShape', 'seed');
    this.rate = rate;
    this.options = options;
    if (typeof rate === 'number' && !(rate >= 0 && rate <= 1))
      throw userError(`Invalid value ${rate} received for \`rate\`, expected a value between 0 and 1.`);
  }

  override computeOutputShape(inputShape: Dims): Dims {
    return inputShape;
  }

  override call(inputs: Tensor, { training = false }: DropoutCall): Tensor {
    return smartCond(
      training,
      () => this.dropped(inputs),
      () => identity(inputs),
    );
  }

  private dropped(inputs: Tensor): Tensor {
    const { noiseShape, seed } = this.options;
    return dropElements(inputs, { noiseShape: noiseShape && sizes(inputs, noiseShape), seed, rate: this.rate });
  }
}

function sizes(inputs: Tensor, noiseShape: readonly (number | null)[]): Tensor {
  const actual = shape(inputs);
  return convertToTensor(noiseShape.map((n, i) => n ?? actual.slice([i])));
}

/**
 * Dropout applied to `inputs` while `training` is true. Adds nodes under `dropout/`.
 *
 * @example const h2 = tf.layers.dropout(h1, 0.4, { training: isTraining });
 */
export function dropout(
  inputs: TensorLike,
  rate?: TensorLike,
  options?: Omit<DropoutOptions & DropoutCall, 'scope' | 'reuse'>,
): Tensor;
export function dropout(
  inputs: TensorLike,
  options: Omit<DropoutOptions & DropoutCall, 'scope' | 'reuse'> & RateOption,
): Tensor;
export function dropout(
  inputs: TensorLike,
  given?: TensorLike | (DropoutOptions & DropoutCall & RateOption),
  last: DropoutOptions & DropoutCall & RateOption = {},
): Tensor {
  const { training, ...options } = withArgument('rate', given, last);
  return new Dropout(options).apply(inputs, { training });
}

/** @file Penalties on weights: l1, l2, and sums of penalties. */
import { float32 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor, isSymbolic } from '../../op/convert.ts';
import { constant } from '../../ops/array/index.ts';
import { abs, addN, multiply, reduceSum } from '../../ops/math/index.ts';
import { l2Loss } from '../../ops/nn/index.ts';
import { addToCollection, GraphKeys, getCollection } from '../collections.ts';

/** A penalty on weights, or `null` for none. */
export type WeightsRegularizer = (weights: TensorLike) => Tensor | null;

const none: WeightsRegularizer = () => null;

interface Scoped {
  readonly scope?: string | undefined;
}

function scaled(
  scope: string,
  scale: number,
  measure: (weights: TensorLike) => Tensor,
  options: Scoped,
): WeightsRegularizer {
  if (!Number.isFinite(scale) || scale < 0)
    throw userError(`Setting a scale less than 0 on a regularizer: ${scale}. It must be a number >= 0.`);
  if (scale === 0) return none;
  return (weights) =>
    nameScope(options.scope ?? scope, (name) => {
      const dtype = isSymbolic(weights) ? weights.dtype : undefined;
      const factor = convertToTensor(scale, { dtype, name: 'scale' });
      return multiply(factor, measure(weights), { name });
    });
}

/**
 * `scale` times the sum of the absolute values. Adds nodes under `l1_regularizer/`.
 *
 * @example tf.contrib.layers.l1Regularizer(0.5)([1, -2.5]) // runs to 1.75
 */
export function l1Regularizer(scale: number, options: Scoped = {}): WeightsRegularizer {
  return scaled('l1_regularizer', scale, (weights) => reduceSum(abs(weights)), options);
}

/**
 * `scale` times half the sum of the squares. Adds nodes under `l2_regularizer/`.
 *
 * @example tf.contrib.layers.l2Regularizer(0.5)([1.5, 2]) // runs to 1.5625
 */
export function l2Regularizer(scale: number, options: Scoped = {}): WeightsRegularizer {
  return scaled('l2_regularizer', scale, (weights) => l2Loss(weights), options);
}

/** The sum of an l1 and an l2 penalty; the scales are 1 unless given. */
export function l1L2Regularizer(
  options: Scoped & { readonly scaleL1?: number | undefined; readonly scaleL2?: number | undefined } = {},
): WeightsRegularizer {
  onlyOptions('tf.contrib.layers.l1L2Regularizer', options, 'scope', 'scaleL1', 'scaleL2');
  const { scaleL1 = 1, scaleL2 = 1, scope = 'l1_l2_regularizer' } = options;
  if (scaleL1 === 0) return l2Regularizer(scaleL2, { scope });
  if (scaleL2 === 0) return l1Regularizer(scaleL1, { scope });
  return sumRegularizer([l1Regularizer(scaleL1), l2Regularizer(scaleL2)], { scope });
}

/** The sum of several penalties. Adds one `AddN` node. */
export function sumRegularizer(
  regularizers: readonly (WeightsRegularizer | null)[],
  options: Scoped = {},
): WeightsRegularizer {
  onlyOptions('tf.contrib.layers.sumRegularizer', options, 'scope');
  const given = regularizers.filter((r) => r !== null);
  if (given.length === 0) return none;
  return (weights) =>
    nameScope(options.scope ?? 'sum_regularizer', (name) => {
      const penalties = given.map((r) => r(weights)).filter((p) => p !== null);
      return penalties.length === 0 ? null : addN(penalties, { name });
    });
}

/**
 * The sum of a penalty over a list of weights (those of the collection `weights` unless given), added to the collection of
 * regularization losses.
 */
export function applyRegularization(regularizer: WeightsRegularizer, weightsList?: readonly TensorLike[]): Tensor {
  const weights = weightsList?.length ? weightsList : getCollection<TensorLike>(GraphKeys.WEIGHTS);
  if (weights.length === 0) throw userError('No weights to regularize.');
  return nameScope('get_regularization_penalty', (name) => {
    const penalties = weights.map((w) => regularizer(w)).map((p) => p ?? constant(0, { dtype: float32 }));
    for (const p of penalties)
      if (p.rank !== 0) throw userError(`regularizer must return a scalar Tensor, but gave ${p}.`);
    const sum = addN(penalties, { name });
    addToCollection(GraphKeys.REGULARIZATION_LOSSES, sum);
    return sum;
  });
}

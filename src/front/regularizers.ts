/** @file Regularizers: penalties on the values of variables, to be added to the loss. */
import { float32 } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import { nameScope } from '../graph/graph.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import { convertToTensor, isSymbolic } from '../op/convert.ts';
import { outputOf } from '../op/node.ts';
import { constant } from '../ops/array/constant.ts';
import { addN } from '../ops/math/addN.ts';
import { multiply } from '../ops/math/multiply.ts';
import { abs } from '../ops/math/neg.ts';
import { reduceSum } from '../ops/math/reductions.ts';
import { addToCollection, GraphKeys, getCollection } from './collections.ts';

/** Gives a scalar penalty, or `null` for none. */
export type WeightRegularizer = (weights: TensorLike) => Tensor | null;

interface Scoped {
  readonly scope?: string | undefined;
}

/** `scale * penalty(weights)`; a scale of 0 makes no nodes at all. */
function scaled(
  name: string,
  scale: number,
  scope: string | undefined,
  penalty: (weights: TensorLike) => Tensor,
): WeightRegularizer {
  if (!(scale >= 0))
    throw new InvalidArgumentError(
      `Setting a scale less than 0 on a regularizer: ${scale}. Give 0 or a positive number.`,
    );
  if (scale === 0) return () => null;
  return (weights) =>
    nameScope(scope ?? name, (own) => {
      const dtype = isSymbolic(weights) ? weights.dtype : undefined;
      const factor = convertToTensor(scale, { dtype, name: 'scale' });
      return multiply(factor, penalty(weights), { name: own });
    });
}

/**
 * `scale * sum(|weights|)`, which drives weights to zero.
 *
 * @example tf.getVariable('w', [2, 2], { regularizer: tf.contrib.layers.l1Regularizer(0.1) })
 */
export function l1Regularizer(scale: number, options: Scoped = {}): WeightRegularizer {
  return scaled('l1_regularizer', scale, options.scope, (weights) => reduceSum(abs(weights)));
}

/** `scale * sum(weights²) / 2`, which keeps weights small. */
export function l2Regularizer(scale: number, options: Scoped = {}): WeightRegularizer {
  return scaled('l2_regularizer', scale, options.scope, (weights) => outputOf('L2Loss', { t: weights }));
}

/** Both of them. */
export function l1L2Regularizer(scaleL1 = 1, scaleL2 = 1, options: Scoped = {}): WeightRegularizer {
  const scope = options.scope ?? 'l1_l2_regularizer';
  return sumRegularizer([l1Regularizer(scaleL1, { scope }), l2Regularizer(scaleL2, { scope })], { scope });
}

/** The sum of several penalties; those that are `null` are left out. */
export function sumRegularizer(
  regularizers: readonly (WeightRegularizer | null)[],
  options: Scoped = {},
): WeightRegularizer {
  const all = regularizers.filter((r) => r !== null);
  return (weights) =>
    nameScope(options.scope ?? 'sum_regularizer', (name) => {
      const penalties = all.map((r) => r(weights)).filter((p) => p !== null);
      return penalties.length === 0 ? null : addN(penalties, { name });
    });
}

/** The penalty summed over weights (those of the collection `weights` unless given); also put among the losses. */
export function applyRegularization(regularizer: WeightRegularizer, weights?: readonly TensorLike[]): Tensor {
  const list = weights ?? getCollection<TensorLike>(GraphKeys.WEIGHTS);
  if (list.length === 0) throw new InvalidArgumentError('No weights to regularize.');
  return nameScope('get_regularization_penalty', (name) => {
    const penalties = list.map((w) => regularizer(w) ?? constant(0, { dtype: float32 }));
    for (const p of penalties)
      if (p.rank !== 0)
        throw new InvalidArgumentError(
          `regularizer must return a scalar Tensor instead of a Tensor with rank ${p.rank}.`,
        );
    const sum = addN(penalties, { name });
    addToCollection(GraphKeys.REGULARIZATION_LOSSES, sum);
    return sum;
  });
}

/** @file sequenceLoss: the mean cross entropy of sequences of scores. */

import { onlyOptions } from '../../../graph/options.ts';
import { nameScope } from '../../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { userError } from '../../../graph/userError.ts';
import { convertToTensor } from '../../../op/convert.ts';
import { reshape, shape } from '../../../ops/array/index.ts';
import { cast, countNonzero, divNoNan, reduceSum } from '../../../ops/math/index.ts';
import { sparseSoftmaxCrossEntropyWithLogits } from '../../../ops/nn/index.ts';

export interface SequenceLossOptions {
  /** Divides the sum over time by the sum of the weights; true unless given. */
  readonly averageAcrossTimesteps?: boolean | undefined;
  /** Divides the sum over the batch by the sum of the weights; true unless given. */
  readonly averageAcrossBatch?: boolean | undefined;
  /** Divides the sum over time by the number of weights that are not 0. */
  readonly sumOverTimesteps?: boolean | undefined;
  /** Divides the sum over the batch by the number of weights that are not 0. */
  readonly sumOverBatch?: boolean | undefined;
  /** In place of cross entropy with softmax. */
  readonly softmaxLossFunction?: ((labels: Tensor, logits: Tensor) => Tensor) | undefined;
  readonly name?: string | undefined;
}
const optionNames = [
  'averageAcrossTimesteps',
  'averageAcrossBatch',
  'sumOverTimesteps',
  'sumOverBatch',
  'softmaxLossFunction',
  'name',
] as const;

/**
 * The cross entropy of `logits`, [batch, time, symbols], and `targets`, [batch, time], weighted by `weights`, [batch, time].
 * It keeps the axes over which it is neither averaged nor summed.
 *
 * @example const loss = tf.contrib.seq2seq.sequenceLoss(logits, targets, tf.sequenceMask(lengths, { dtype: tf.float32 }));
 */
export function sequenceLoss(
  logits: TensorLike,
  targets: TensorLike,
  weights: TensorLike,
  options: SequenceLossOptions = {},
): Tensor {
  onlyOptions('tf.contrib.seq2seq.sequenceLoss', options, ...optionNames);
  const { averageAcrossTimesteps = true, averageAcrossBatch = true, sumOverTimesteps, sumOverBatch } = options;
  if (averageAcrossTimesteps && sumOverTimesteps)
    throw userError('averageAcrossTimesteps and sumOverTimesteps cannot be set to true at the same time.');
  if (averageAcrossBatch && sumOverBatch)
    throw userError('averageAcrossBatch and sumOverBatch cannot be set to true at the same time.');
  return nameScope(options.name ?? 'sequence_loss', () => {
    const scores = convertToTensor(logits);
    const labels = convertToTensor(targets);
    const given = convertToTensor(weights, { hint: scores.dtype });
    checkRank('Logits', scores, 3, '[batch_size x sequence_length x logits]');
    checkRank('Targets', labels, 2, '[batch_size x sequence_length]');
    checkRank('Weights', given, 2, '[batch_size x sequence_length]');
    const flatScores = reshape(scores, [-1, scores.shape?.at(-1) ?? shape(scores).slice('2')]);
    const flatLabels = reshape(labels, [-1]);
    const losses = options.softmaxLossFunction
      ? options.softmaxLossFunction(flatLabels, flatScores)
      : sparseSoftmaxCrossEntropyWithLogits({ labels: flatLabels, logits: flatScores });
    const weighted = losses.mul(reshape(given, [-1]));
    if (averageAcrossTimesteps && averageAcrossBatch) return divNoNan(reduceSum(weighted), reduceSum(given));
    if (sumOverTimesteps && sumOverBatch)
      return divNoNan(reduceSum(weighted), cast(countNonzero(given), weighted.dtype));
    const each = reshape(weighted, shape(scores).slice(':2'));
    // As in Python, one axis at most is left out here: an average goes before a sum, the batch before time.
    if (averageAcrossTimesteps || averageAcrossBatch) {
      const axis = averageAcrossBatch ? [0] : [1];
      return divNoNan(reduceSum(each, axis), reduceSum(given, axis));
    }
    if (!sumOverTimesteps && !sumOverBatch) return each;
    const axis = sumOverBatch ? [0] : [1];
    return divNoNan(reduceSum(each, axis), cast(countNonzero(given, axis), each.dtype));
  });
}

function checkRank(what: string, t: Tensor, rank: number, wanted: string): void {
  if (t.rank !== rank) throw userError(`${what} must be a ${wanted} tensor`);
}

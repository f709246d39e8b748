/** @file sequenceLoss: the mean cross entropy of sequences of scores. */

import { nameScope } from '../../../graph/graph.ts';
import { onlyOptions } from '../../../graph/options.ts';
import type { Tensor, TensorLike } from '../../../graph/tensor.ts';
import { convertToTensor } from '../../../op/convert.ts';
import { reshape, shape } from '../../../ops/array/index.ts';
import { reduceSum } from '../../../ops/math/index.ts';
import { sparseSoftmaxCrossEntropyWithLogits } from '../../../ops/nn/index.ts';

export interface SequenceLossOptions {
  /** Divides the sum over time by the sum of the weights; true unless given. */
  readonly averageAcrossTimesteps?: boolean | undefined;
  readonly averageAcrossBatch?: boolean | undefined;
  /** In place of cross entropy with softmax. */
  readonly softmaxLossFunction?: ((labels: Tensor, logits: Tensor) => Tensor) | undefined;
  readonly name?: string | undefined;
}

/**
 * The cross entropy of `logits`, [batch, time, symbols], and `targets`, [batch, time], weighted by `weights`, [batch, time].
 *
 * @example const loss = tf.contrib.seq2seq.sequenceLoss(logits, targets, tf.sequenceMask(lengths, { dtype: tf.float32 }));
 */
export function sequenceLoss(
  logits: TensorLike,
  targets: TensorLike,
  weights: TensorLike,
  options: SequenceLossOptions = {},
): Tensor {
  const names = ['averageAcrossTimesteps', 'averageAcrossBatch', 'softmaxLossFunction', 'name'] as const;
  const { averageAcrossTimesteps: overTime = true, averageAcrossBatch: overBatch = true } = onlyOptions(
    'tf.contrib.seq2seq.sequenceLoss',
    options,
    ...names,
  );
  return nameScope(options.name ?? 'sequence_loss', () => {
    const scores = convertToTensor(logits);
    const symbols = scores.shape?.at(-1) ?? shape(scores).slice('2');
    const flatScores = reshape(scores, [-1, symbols]);
    const labels = convertToTensor(targets);
    const flatLabels = reshape(labels, [-1]);
    const given = convertToTensor(weights);
    const losses = options.softmaxLossFunction
      ? options.softmaxLossFunction(flatLabels, flatScores)
      : sparseSoftmaxCrossEntropyWithLogits({ labels: flatLabels, logits: flatScores });
    const weighted = losses.mul(reshape(given, [-1]));
    const tiny = 1e-12;
    if (overTime && overBatch) return reduceSum(weighted).div(reduceSum(given).add(tiny));
    const each = reshape(weighted, shape(scores).slice(':2'));
    if (overTime) return reduceSum(each, [1]).div(reduceSum(given, [1]).add(tiny));
    if (overBatch) return reduceSum(each, [0]).div(reduceSum(given, [0]).add(tiny));
    return each;
  });
}

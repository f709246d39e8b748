/** @file Metrics of the k best predictions: recall, precision and average precision at k. */
import { float64, int64 } from '../../core/dtypes.ts';
import { showTuple } from '../../core/shape.ts';
import { controlDependencies, nameScope } from '../../graph/graph.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { expandDims, onesLike, range, rank, shape, size, zerosLike } from '../../ops/array/index.ts';
import {
  add,
  argmax,
  cast,
  cumsum,
  divide,
  divNoNan,
  equal,
  greaterEqual,
  logicalAnd,
  logicalNot,
  minimum,
  multiply,
  reduceAny,
  reduceMax,
  reduceSum,
  whereV2,
} from '../../ops/math/index.ts';
import { topK } from '../../ops/nn/index.ts';
import { asType, expandLastIf } from '../squeezing.ts';
import { assertBroadcastable, broadcastWeights } from '../weightsBroadcast.ts';
import { type Counted, collected, type Metric, type MetricOptions, metricVariable, type Updated } from './common.ts';

export interface TopKOptions extends MetricOptions {
  /** Look at this class only. */
  readonly classId?: number | undefined;
}

function atK(name: string, k: number | undefined, classId: number | undefined): string {
  return `${name}_at_${k ?? 'k'}${classId === undefined ? '' : `_class${classId}`}`;
}

/** Labels with an axis of classes: `[batch]` becomes `[batch, 1]`. Where the ranks are not known, without a branch. */
function expandedLabels(labels: TensorLike, predictions: Tensor): Tensor {
  return nameScope('expand_labels', (name) => {
    const l = cast(convertToTensor(labels, { hint: int64 }), int64);
    if (l.rank === null || predictions.rank === null) return expandLastIf(l, equal(rank(predictions), rank(l).add(1)));
    if (predictions.rank === l.rank) return l;
    if (predictions.rank === l.rank + 1) return expandDims(l, -1, { name });
    throw userError(
      `Unexpected labels shape ${showTuple(l.shape)} for predictions shape ${showTuple(predictions.shape)}. Predictions rank should be the same rank as labels rank or labels rank plus one.`,
    );
  });
}

/**
 * Python compares the classes of a row as sparse sets. Here every entry is compared with every other: which entries of `ids`
 * are in `others`, as a mask with the shape of `ids`.
 */
function isAmong(ids: Tensor, others: Tensor): Tensor {
  return reduceAny(equal(expandDims(ids, -1), expandDims(others, -2)), -1);
}

/** Which entries are the first of their value in their row: a set counts a value once. */
function isFirst(ids: Tensor): Tensor {
  const same = equal(expandDims(ids, -1), expandDims(ids, -2));
  const width = shape(ids, { outType: int64 }).slice('-1');
  return equal(argmax(cast(same, int64), -1), range(0, width, { dtype: int64 }));
}

/** Per row, how many values of `ids` lie inside (or outside) `others`. */
function countOf(ids: Tensor, others: Tensor, inside: boolean, { classId, weights }: TopKOptions): Tensor {
  const found = isAmong(ids, others);
  let chosen: Tensor = logicalAnd(isFirst(ids), inside ? found : logicalNot(found));
  if (classId !== undefined) chosen = logicalAnd(chosen, equal(ids, classId));
  const counts: Tensor = cast(reduceSum(cast(chosen, int64), -1), float64);
  if (weights === undefined) return counts;
  return controlDependencies([assertBroadcastable(weights, counts)], () => multiply(counts, asType(weights, float64)));
}

/** A running total of a count per row; the variable has the name of the scope. */
function streaming(name: string, scope: string, count: () => Tensor): { value: Counted; update: Updated } {
  return nameScope(name, (own) => {
    const total = cast(reduceSum(nameScope(scope, count)), float64);
    const value = metricVariable([], float64, own);
    return { value, update: value.assignAdd(total, { name: 'update' }) };
  });
}

function shareAtTopK(kind: 'recall' | 'precision') {
  const miss = kind === 'recall' ? 'false_negative' : 'false_positive';
  return (
    labels: TensorLike,
    predictionsIdx: TensorLike,
    options: TopKOptions & { readonly k?: number | undefined } = {},
  ): Metric => {
    const { k, classId } = options;
    return nameScope(options.name ?? atK(kind, k, classId), (name) => {
      const found = convertToTensor(predictionsIdx, { hint: int64 });
      const wanted = expandedLabels(labels, found);
      const best = cast(found, int64);
      const tp = streaming(atK('true_positive', k, classId), 'true_positives', () =>
        countOf(best, wanted, true, options),
      );
      const [ids, others] = kind === 'recall' ? [wanted, best] : [best, wanted];
      const missed = streaming(atK(miss, k, classId), `${miss}s`, () => countOf(ids, others, false, options));
      const value = divide(tp.value, add(tp.value, missed.value), { name });
      return collected(value, divide(tp.update, add(tp.update, missed.update), { name: 'update' }), options);
    });
  };
}

type ShareAtTopK = (
  labels: TensorLike,
  predictionsIdx: TensorLike,
  options?: TopKOptions & { readonly k?: number | undefined },
) => Metric;
type ShareAtK = (labels: TensorLike, predictions: TensorLike, k: number, options?: TopKOptions) => Metric;

/** As `recallAtK`, from the classes predicted rather than from their scores. */
export const recallAtTopK: ShareAtTopK = shareAtTopK('recall');
/** As `precisionAtK`, from the classes predicted rather than from their scores. */
export const precisionAtTopK: ShareAtTopK = shareAtTopK('precision');

function shareAtK(kind: 'recall' | 'precision', share: ShareAtTopK): ShareAtK {
  return (labels, predictions, k, options = {}) =>
    nameScope(options.name ?? atK(kind, k, options.classId), (name) => {
      const { indices } = topK(predictions, k);
      return share(labels, indices, { ...options, k, name });
    });
}

/**
 * The share of the right classes that are among the `k` with the highest scores.
 *
 * @example const [recall, update] = tf.metrics.recallAtK(labels, logits, 5);
 */
export const recallAtK: ShareAtK = shareAtK('recall', recallAtTopK);

/**
 * The share of the `k` classes with the highest scores that are right.
 *
 * @example const [precision, update] = tf.metrics.precisionAtK(labels, logits, 5);
 */
export const precisionAtK: ShareAtK = shareAtK('precision', precisionAtTopK);
/** The older name of `precisionAtK`. */
export const sparsePrecisionAtK: ShareAtK = precisionAtK;

/** Precision at each position that holds a right class, averaged over the right classes. */
function averagePrecision(labels: Tensor, predictionsIdx: Tensor, k: number): Tensor {
  return nameScope('average_precision', (name) => {
    const best = cast(predictionsIdx, int64, { name: 'predictions_idx' });
    const wanted = expandedLabels(labels, best);
    const relevant = cast(isAmong(best, wanted), float64);
    const hits = cumsum(relevant, -1, { name: 'tp_per_k' });
    const retrieved = cumsum(onesLike(relevant), -1, { name: 'retrieved_per_k' });
    const precisions = divide(hits, retrieved, { name: 'precision_per_k' });
    const atHits = multiply(precisions, relevant, { name: 'relevant_precision_per_k' });
    const sum = reduceSum(atHits, [-1], { name: 'precision_sum' });
    return divide(sum, cast(numRelevant(wanted, k), float64), { name });
  });
}

function numRelevant(labels: Tensor, k: number): Tensor {
  return nameScope('num_relevant', (name) => {
    const isClass = greaterEqual(labels, 0);
    const one = onesLike(labels);
    const count = reduceSum(whereV2(isClass, one, zerosLike(labels)), -1);
    return minimum(count, k, { name });
  });
}

/** A class that is not there is no class: it becomes -1. Python branches with `tf.cond`, on the largest label. */
function cleaned(labels: TensorLike, numClasses: Tensor): Tensor {
  const l = cast(convertToTensor(labels, { hint: int64 }), int64);
  const isAny = greaterEqual(reduceMax(l), numClasses);
  return nameScope('cond', () => whereV2(logicalAnd(isAny, greaterEqual(l, numClasses)), -1, l));
}

/**
 * The average precision of the `k` best predictions, averaged over examples. Adds the local variables `max` and `total`.
 *
 * @example const [map, update] = tf.metrics.averagePrecisionAtK(labels, logits, 5);
 */
export function averagePrecisionAtK(
  labels: TensorLike,
  predictions: TensorLike,
  k: number,
  options: MetricOptions = {},
): Metric {
  if (k < 1) throw userError(`Invalid k=${k}. \`k\` should be >= 1.`);
  return nameScope(options.name ?? atK('average_precision', k, undefined), (name) => {
    const scores = convertToTensor(predictions);
    const { indices } = topK(scores, k);
    const wanted = cleaned(labels, cast(shape(scores).slice('-1'), int64));
    let average = averagePrecision(wanted, indices, k);
    let weights: Tensor | undefined;
    if (options.weights !== undefined) {
      weights = broadcastWeights(asType(options.weights, float64), average);
      average = multiply(average, weights);
    }
    const max = nameScope('max', (own) => {
      const value = metricVariable([], float64, own);
      const batch = weights
        ? reduceSum(weights, null, { name: 'batch_max' })
        : cast(size(average, { name: 'batch_max' }), float64);
      return { value, update: value.assignAdd(batch, { name: 'update' }) };
    });
    const total = nameScope('total', (own) => {
      const value = metricVariable([], float64, own);
      const batch = reduceSum(average, null, { name: 'batch_total' });
      return { value, update: value.assignAdd(batch, { name: 'update' }) };
    });
    const value = divNoNan(total.value, max.value, { name: 'mean' });
    return collected(value, divNoNan(total.update, max.update, { name }), options);
  });
}

/** The older name of `averagePrecisionAtK`. */
export const sparseAveragePrecisionAtK = averagePrecisionAtK;

/** @file Metrics of the k best predictions: recall, precision and average precision at k. Labels may be sparse. */
import { float64, int64 } from '../../core/dtypes.ts';
import { showTuple } from '../../core/shape.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import {
  concat,
  expandDims,
  fill,
  onesLike,
  rank,
  reshape,
  shape,
  size,
  slice,
  tile,
  zerosLike,
} from '../../ops/array/index.ts';
import {
  add,
  cast,
  cumsum,
  divide,
  divNoNan,
  equal,
  greaterEqual,
  minimum,
  multiply,
  reduceMax,
  reduceSum,
  whereV2,
} from '../../ops/math/index.ts';
import { minus, plus, times } from '../../ops/math/operators.ts';
import { reducedShape } from '../../ops/math/reductionGradients.ts';
import { topK } from '../../ops/nn/index.ts';
import { sparseConcat, sparseReshape, sparseRetain } from '../../ops/sparse/index.ts';
import { setDifference, setIntersection, setSize } from '../../ops/sparse/sets.ts';
import { cond } from '../controlFlow/cond.ts';
import { asType } from '../squeezing.ts';
import { assertBroadcastable, broadcastWeights } from '../weightsBroadcast.ts';
import { type Counted, collected, type Metric, type MetricOptions, metricVariable, type Updated } from './common.ts';

export interface TopKOptions extends MetricOptions {
  /** Look at this class only. */
  readonly classId?: number | undefined;
}

/** Class numbers per example: a row of each, or a sparse tensor where their number differs. */
export type Labels = TensorLike | SparseTensor;
type Classes = Tensor | SparseTensor;

function atK(name: string, k: number | undefined, classId: number | undefined): string {
  return `${name}_at_${k ?? 'k'}${classId === undefined ? '' : `_class${classId}`}`;
}

const asClasses = (labels: Labels): Classes =>
  labels instanceof SparseTensor ? labels : convertToTensor(labels, { hint: int64 });

/** Labels with an axis of classes: `[batch]` becomes `[batch, 1]`. */
function expandedLabels(labels: Labels, predictions: Tensor): Classes {
  return nameScope('expand_labels', (name): Classes => {
    const l = asClasses(labels);
    if (l instanceof SparseTensor)
      return cond(
        equal(rank(predictions), plus(size(l.denseShape), 1)),
        () => sparseReshape(l, concat([l.denseShape, [1]], 0), { name }),
        () => l,
      );
    if (l.rank === null || predictions.rank === null)
      return cond(
        equal(rank(predictions), plus(rank(l), 1)),
        () => expandDims(l, -1, { name }),
        () => l,
      );
    if (predictions.rank === l.rank) return l;
    if (predictions.rank === l.rank + 1) return expandDims(l, -1, { name });
    throw userError(
      `Unexpected labels shape ${showTuple(l.shape)} for predictions shape ${showTuple(predictions.shape)}. Predictions rank should be the same rank as labels rank or labels rank plus one.`,
    );
  });
}

/** The classes of each row that are `classId`: one or none. */
function selected(ids: Classes, classId: number): SparseTensor {
  if (ids instanceof SparseTensor) return sparseRetain(ids, equal(ids.values, classId));
  const whole = shape(ids, { outType: int64 });
  const last = minus(size(whole), 1);
  const rows = reducedShape(whole, reshape(last, [1]));
  const found = setIntersection(fill(rows, cast(classId, int64)), ids);
  return new SparseTensor(found.indices, found.values, whole);
}

type Compare = (predictions: Classes, labels: Classes) => SparseTensor;

/** Per row, how many classes a comparison of predictions and labels leaves. */
function countOf(compare: Compare, labels: Classes, predictions: Classes, { classId, weights }: TopKOptions): Tensor {
  const l = classId === undefined ? labels : selected(labels, classId);
  const p = classId === undefined ? predictions : selected(predictions, classId);
  const counts: Tensor = cast(setSize(compare(p, l)), float64);
  if (weights === undefined) return counts;
  return controlDependencies([assertBroadcastable(weights, counts)], () => multiply(counts, asType(weights, float64)));
}

const hits: Compare = (predictions, labels) => setIntersection(predictions, labels);
const misses = {
  recall: ((predictions, labels) => setDifference(predictions, labels, { aminusb: false })) satisfies Compare,
  precision: ((predictions, labels) => setDifference(predictions, labels, { aminusb: true })) satisfies Compare,
};

/** A running total of a count per row; the variable has the name of the scope. */
function streaming(name: string, scope: string, count: () => Tensor): { value: Counted; update: Updated } {
  return nameScope(name, (own) => {
    const total = cast(reduceSum(nameScope(scope, count)), float64);
    const value = metricVariable([], float64, own);
    return { value, update: value.assignAdd(total) };
  });
}

function shareAtTopK(kind: 'recall' | 'precision') {
  const miss = kind === 'recall' ? 'false_negative' : 'false_positive';
  return (
    labels: Labels,
    predictionsIdx: TensorLike,
    options: TopKOptions & { readonly k?: number | undefined } = {},
  ): Metric => {
    const { k, classId } = options;
    return nameScope(options.name ?? atK(kind, k, classId), (name) => {
      const found = convertToTensor(predictionsIdx, { hint: int64 });
      const wanted = expandedLabels(labels, found);
      const best = cast(found, int64);
      const tp = streaming(atK('true_positive', k, classId), 'true_positives', () =>
        countOf(hits, wanted, best, options),
      );
      const missed = streaming(atK(miss, k, classId), `${miss}s`, () => countOf(misses[kind], wanted, best, options));
      const value = divide(tp.value, add(tp.value, missed.value), { name });
      return collected(value, divide(tp.update, add(tp.update, missed.update), { name: 'update' }), options);
    });
  };
}

type ShareAtTopK = (
  labels: Labels,
  predictionsIdx: TensorLike,
  options?: TopKOptions & { readonly k?: number | undefined },
) => Metric;
type ShareAtK = (labels: Labels, predictions: TensorLike, k: number, options?: TopKOptions) => Metric;

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

/** Labels once for each of the `k` predictions, along a new axis before the last. */
function repeated(labels: Classes, k: number): Classes {
  return nameScope('labels_per_k', (name): Classes => {
    if (!(labels instanceof SparseTensor)) {
      const expanded = expandDims(labels, -2, { name: 'expand' });
      if (k === 1) return expanded;
      const ones = onesLike(shape(labels));
      return tile(expanded, concat([ones.slice(':-1'), [k], ones.slice('-1:')], 0, { name: 'multiples' }), { name });
    }
    const last = reshape(plus(size(labels.denseShape), -1), [1]);
    const sizes = concat([slice(labels.denseShape, [0], last), [1], slice(labels.denseShape, last, [-1])], 0, {
      name: 'expanded_shape',
    });
    const expanded = sparseReshape(labels, sizes, { name: 'expand' });
    return k === 1 ? expanded : sparseConcat(-2, new Array<SparseTensor>(k).fill(expanded), { name });
  });
}

/** Precision at each position that holds a right class, averaged over the right classes. */
function averagePrecision(labels: Labels, predictionsIdx: Tensor): Tensor {
  return nameScope('average_precision', (name) => {
    const best = cast(predictionsIdx, int64, { name: 'predictions_idx' });
    const k = best.shape?.at(-1);
    if (k == null) throw userError('The last dimension of predictionsIdx must be known while building.');
    const wanted = expandedLabels(labels, best);
    const single = expandDims(best, -1, { name: 'predictions_idx_per_k' });
    const labelsPerK = repeated(wanted, k);
    const relevant = nameScope('relevant_per_k', () => countOf(hits, labelsPerK, single, {}));
    const found = cumsum(relevant, -1, { name: 'tp_per_k' });
    const retrieved = cumsum(onesLike(relevant), -1, { name: 'retrieved_per_k' });
    const precisions = divide(cast(found, float64), cast(retrieved, float64), { name: 'precision_per_k' });
    const atHits = multiply(precisions, cast(relevant, float64), { name: 'relevant_precision_per_k' });
    const sum = reduceSum(atHits, [-1], { name: 'precision_sum' });
    return divide(sum, cast(numRelevant(wanted, k), float64), { name });
  });
}

function numRelevant(labels: Classes, k: number): Tensor {
  return nameScope('num_relevant', (name) => {
    if (labels instanceof SparseTensor) return minimum(setSize(labels), k, { name });
    const isClass = greaterEqual(labels, 0);
    const one = onesLike(labels);
    const count = reduceSum(whereV2(isClass, one, zerosLike(labels)), -1);
    return minimum(count, k, { name });
  });
}

/** A class that is not there is no class: it becomes -1. */
function cleaned(labels: Labels, numClasses: Tensor): Classes {
  const l = asClasses(labels);
  const values = l instanceof SparseTensor ? l.values : l;
  const clean = (): Tensor => {
    const isOutside = greaterEqual(values, numClasses);
    return whereV2(isOutside, times(-1, onesLike(values)), values);
  };
  const isAny = greaterEqual(reduceMax(values), numClasses);
  if (l instanceof SparseTensor)
    return cond(
      isAny,
      () => l.withValues(clean()),
      () => l,
    );
  return cond(isAny, clean, () => l);
}

/**
 * The average precision of the `k` best predictions, averaged over examples. Adds the local variables `max` and `total`.
 *
 * @example const [map, update] = tf.metrics.averagePrecisionAtK(labels, logits, 5);
 */
export function averagePrecisionAtK(
  labels: Labels,
  predictions: TensorLike,
  k: number,
  options: MetricOptions = {},
): Metric {
  if (k < 1) throw userError(`Invalid k=${k}. \`k\` should be >= 1.`);
  return nameScope(options.name ?? atK('average_precision', k, undefined), (name) => {
    const scores = convertToTensor(predictions);
    const { indices } = topK(scores, k);
    const wanted = cleaned(labels, cast(shape(scores).slice('-1'), int64));
    let average = averagePrecision(wanted, indices);
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
      return { value, update: value.assignAdd(batch) };
    });
    const total = nameScope('total', (own) => {
      const value = metricVariable([], float64, own);
      const batch = reduceSum(average, null, { name: 'batch_total' });
      return { value, update: value.assignAdd(batch) };
    });
    const value = divNoNan(total.value, max.value, { name: 'mean' });
    return collected(value, divNoNan(total.update, max.update, { name }), options);
  });
}

/** The older name of `averagePrecisionAtK`. */
export const sparseAveragePrecisionAtK = averagePrecisionAtK;

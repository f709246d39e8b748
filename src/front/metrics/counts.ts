/** @file Metrics that count right and wrong answers to yes-or-no questions: positives, negatives, precision, recall. */
import { bool, float32 } from '../../core/dtypes.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { identity, rank } from '../../ops/array/index.ts';
import { assertRankIn, assertType } from '../../ops/flow/index.ts';
import { cast, divide, equal, greater, logicalAnd, multiply, reduceSum, where } from '../../ops/math/index.ts';
import { asType } from '../squeezing.ts';
import {
  type Arguments,
  byFormula,
  type Counted,
  collected,
  type Metric,
  type MetricOptions,
  metricScope,
  metricVariable,
  read,
  squeezed,
  type Updated,
} from './common.ts';

/** Counts the true elements; the variable is `count`. */
function countCondition(
  condition: Tensor,
  weights: Tensor | undefined,
  options: MetricOptions,
): Metric<Tensor, Updated> {
  assertType(condition, bool);
  const count = metricVariable([], float32, 'count');
  let values: Tensor = cast(condition, float32);
  if (weights !== undefined) {
    const fits = assertRankIn(weights, [0, rank(values)]);
    values = controlDependencies([fits], () => multiply(values, asType(weights, float32)));
  }
  const value = identity(count);
  return collected(value, count.assignAdd(reduceSum(values)), options);
}

function asBooleans(labels: TensorLike, predictions: TensorLike, weights: TensorLike | undefined): Arguments {
  const p = asType(predictions, bool);
  return squeezed(p, asType(labels, bool), weights);
}

/** A counter of the examples with this label and this prediction. */
function counter(defaultName: string, label: boolean, prediction: boolean) {
  return (labels: TensorLike, predictions: TensorLike, options: MetricOptions = {}): Metric<Tensor, Updated> =>
    metricScope(options.name, defaultName, () => {
      const { predictions: p, labels: l, weights } = asBooleans(labels, predictions, options.weights);
      return countCondition(logicalAnd(equal(l, label), equal(p, prediction)), weights, options);
    });
}

type Counter = (labels: TensorLike, predictions: TensorLike, options?: MetricOptions) => Metric<Tensor, Updated>;

/** How many examples labelled true were predicted true. Adds the local variable `count`. */
export const truePositives: Counter = counter('true_positives', true, true);
/** How many examples labelled false were predicted true. Adds the local variable `count`. */
export const falsePositives: Counter = counter('false_positives', false, true);
/** How many examples labelled false were predicted false. Adds the local variable `count`. */
export const trueNegatives: Counter = counter('true_negatives', false, false);
/** How many examples labelled true were predicted false. Adds the local variable `count`. */
export const falseNegatives: Counter = counter('false_negatives', true, false);

/** `hits / (hits + misses)`, or 0 when there are none. */
function share({ hits, misses }: { hits: Counted; misses: Counted }, name: string): Tensor {
  const some = greater(hits.add(misses), 0);
  const all = hits.add(misses);
  return where(some, divide(read(hits), all), 0, { name });
}

function shareOf(name: string, second: Counter) {
  return (labels: TensorLike, predictions: TensorLike, options: MetricOptions = {}): Metric =>
    metricScope(options.name, name, () => {
      const { predictions: p, labels: l, weights } = asBooleans(labels, predictions, options.weights);
      const [hits, newHits] = truePositives(l, p, { weights });
      const [misses, newMisses] = second(l, p, { weights });
      return byFormula(share, { hits, misses }, { hits: newHits, misses: newMisses }, options);
    });
}

/**
 * The share of examples predicted true that are labelled true.
 *
 * @example const [precision, update] = tf.metrics.precision(labels, tf.greater(p, 0.5));
 */
export const precision: (labels: TensorLike, predictions: TensorLike, options?: MetricOptions) => Metric = shareOf(
  'precision',
  falsePositives,
);

/**
 * The share of examples labelled true that are predicted true.
 *
 * @example const [recall, update] = tf.metrics.recall(labels, tf.greater(p, 0.5));
 */
export const recall: (labels: TensorLike, predictions: TensorLike, options?: MetricOptions) => Metric = shareOf(
  'recall',
  falseNegatives,
);

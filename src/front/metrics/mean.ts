/** @file Metrics that are a running mean: accuracy, errors, shares. */
import { float32 } from '../../core/dtypes.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { onesLike, size, zerosLike } from '../../ops/array/index.ts';
import {
  abs,
  cast,
  divide,
  divNoNan,
  equal,
  less,
  maximum,
  multiply,
  reduceSum,
  sqrt,
  squaredDifference,
  subtract,
  where,
} from '../../ops/math/index.ts';
import { asType, checkSameShape, removeSqueezableDimensions } from '../squeezing.ts';
import type { Variable } from '../variable.ts';
import { broadcastWeights } from '../weightsBroadcast.ts';
import {
  byFormula,
  type Counted,
  collected,
  type Metric,
  type MetricOptions,
  metricScope,
  metricVariable,
  squeezed,
  squeezedWeights,
} from './common.ts';

/** Adds to the sum of what was seen and to its number; the number waits for `values`. */
function runningMean(
  { total, count }: { total: Variable; count: Variable },
  added: { sum: Tensor; number: Tensor; values: Tensor },
  options: MetricOptions,
): Metric {
  const ratio = (state: { total: Counted; count: Counted }, name: string) =>
    divNoNan(state.total, maximum(state.count, 0), { name });
  const newTotal = total.assignAdd(added.sum);
  const newCount = controlDependencies([added.values], () => count.assignAdd(added.number));
  return byFormula(ratio, { total, count }, { total: newTotal, count: newCount }, options);
}

function weighted(values: Tensor, weights: TensorLike): { values: Tensor; weights: Tensor } {
  const fitting = broadcastWeights(asType(squeezedWeights(weights, values), float32), values);
  return { values: multiply(values, fitting), weights: fitting };
}

/**
 * The mean of all values seen so far. Adds the local variables `total` and `count`.
 *
 * @example const [mean, update] = tf.metrics.mean(losses);
 */
export function mean(values: TensorLike, options: MetricOptions = {}): Metric {
  return metricScope(options.name, 'mean', () => {
    let x = asType(values, float32);
    const total = metricVariable([], float32, 'total');
    const count = metricVariable([], float32, 'count');
    let number: Tensor;
    if (options.weights === undefined) number = cast(size(x), float32);
    else {
      const product = weighted(x, options.weights);
      x = product.values;
      number = reduceSum(product.weights);
    }
    return runningMean({ total, count }, { sum: reduceSum(x), number, values: x }, options);
  });
}

/**
 * The mean of all tensors seen so far, element by element. Adds the local variables `total_tensor` and `count_tensor`.
 *
 * @example const [mean, update] = tf.metrics.meanTensor(activations);
 */
export function meanTensor(values: TensorLike, options: MetricOptions = {}): Metric {
  return metricScope(options.name, 'mean', () => {
    let x = asType(values, float32);
    const total = metricVariable(x.shape, float32, 'total_tensor');
    const count = metricVariable(x.shape, float32, 'count_tensor');
    let number: Tensor = onesLike(x);
    if (options.weights !== undefined) {
      const product = weighted(x, options.weights);
      x = product.values;
      number = multiply(number, product.weights);
    }
    return runningMean({ total, count }, { sum: x, number, values: x }, options);
  });
}

/** The mean of `values` under a metric's own name. */
function meanNamed(values: Tensor, weights: Tensor | undefined, options: MetricOptions, name: string): Metric {
  return mean(values, { ...options, weights, name: options.name ?? name });
}

/**
 * The share of predictions that equal their labels.
 *
 * @example const [accuracy, update] = tf.metrics.accuracy(labels, tf.argmax(logits, 1));
 */
export function accuracy(labels: TensorLike, predictions: TensorLike, options: MetricOptions = {}): Metric {
  const { predictions: p, labels: l, weights } = squeezed(predictions, labels, options.weights);
  const guess = p.dtype === l.dtype ? p : cast(p, l.dtype);
  return meanNamed(cast(equal(guess, l), float32), weights, options, 'accuracy');
}

/** The mean of `|predictions - labels|`. */
export function meanAbsoluteError(labels: TensorLike, predictions: TensorLike, options: MetricOptions = {}): Metric {
  const { predictions: p, labels: l, weights } = squeezed(predictions, labels, options.weights);
  return meanNamed(abs(p.sub(l)), weights, options, 'mean_absolute_error');
}

/** The mean of `(predictions - labels)^2`. */
export function meanSquaredError(labels: TensorLike, predictions: TensorLike, options: MetricOptions = {}): Metric {
  const { predictions: p, labels: l, weights } = squeezed(predictions, labels, options.weights);
  return meanNamed(squaredDifference(l, p), weights, options, 'mean_squared_error');
}

/** The square root of the mean of `(predictions - labels)^2`. */
export function rootMeanSquaredError(labels: TensorLike, predictions: TensorLike, options: MetricOptions = {}): Metric {
  const { predictions: p, labels: l, weights } = squeezed(predictions, labels, options.weights);
  const [value, update] = meanSquaredError(l, p, { weights, name: options.name ?? 'root_mean_squared_error' });
  const root = sqrt(value);
  return collected(root, sqrt(update), options);
}

/** The mean of `|labels - predictions| / normalizer`; where the normalizer is 0, of 0. */
export function meanRelativeError(
  labels: TensorLike,
  predictions: TensorLike,
  normalizer: TensorLike,
  options: MetricOptions = {},
): Metric {
  const { predictions: p, labels: l, weights } = squeezed(predictions, labels, options.weights);
  // The two are named the other way round in Python, too: the normalizer is what may lose an axis first.
  const pair = removeSqueezableDimensions(p, normalizer);
  const [guess, scale] = [pair.labels, pair.predictions];
  checkSameShape({ predictions: guess, normalizer: scale });
  const isZero = equal(scale, 0);
  const none = zerosLike(l);
  const errors = where(isZero, none, divide(abs(l.sub(guess)), scale));
  return meanNamed(errors, weights, options, 'mean_relative_error');
}

/** The mean of `1 - cos` of the angle between labels and predictions along axis `dim`; both have length 1 already. */
export function meanCosineDistance(
  labels: TensorLike,
  predictions: TensorLike,
  dim: number,
  options: MetricOptions = {},
): Metric {
  const { predictions: p, labels: l, weights } = squeezed(predictions, labels, options.weights);
  const products = reduceSum(multiply(p, l), [dim], { keepdims: true });
  const [value, update] = mean(products, { weights, name: options.name ?? 'mean_cosine_distance' });
  const distance = subtract(1, value);
  return collected(distance, subtract(1, update), options);
}

/** The share of values below `threshold`. */
export function percentageBelow(values: TensorLike, threshold: TensorLike, options: MetricOptions = {}): Metric {
  const below = cast(less(values, threshold), float32);
  return mean(below, { ...options, name: options.name ?? 'percentage_below_threshold' });
}

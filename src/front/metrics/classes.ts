/** @file Metrics over classes: mean intersection over union, mean accuracy per class. */
import { float32, float64, int64 } from '../../core/dtypes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { diagPart, ones, onesLike, reshape, size } from '../../ops/array/index.ts';
import {
  cast,
  divide,
  divNoNan,
  equal,
  greater,
  maximum,
  notEqual,
  reduceMean,
  reduceSum,
  where,
} from '../../ops/math/index.ts';
import { confusionMatrix } from '../confusionMatrix.ts';
import { asType, checkSameShape } from '../squeezing.ts';
import {
  type Counted,
  collected,
  type Metric,
  type MetricOptions,
  metricScope,
  metricVariable,
  type Updated,
} from './common.ts';

const flat = (x: Tensor) => ((x.rank ?? 0) > 1 ? reshape(x, [-1]) : x);

function meanIntersection(total: Counted): Tensor {
  const rows = cast(reduceSum(total, 0), float32);
  const columns = cast(reduceSum(total, 1), float32);
  const hits = cast(diagPart(total), float32);
  const union = rows.add(columns).sub(hits);
  const seen = reduceSum(cast(notEqual(union, 0), float32));
  const someUnion = greater(union, 0);
  const shares = divide(hits, where(someUnion, union, onesLike(union)));
  const any = greater(seen, 0);
  return where(any, reduceSum(shares, null, { name: 'mean_iou' }).div(seen), 0);
}

/**
 * Intersection over union, averaged over the classes seen. Adds the local variable `total_confusion_matrix`; the update gives
 * the matrix.
 *
 * @example const [iou, update] = tf.metrics.meanIou(labels, predictions, 21);
 */
export function meanIou(
  labels: TensorLike,
  predictions: TensorLike,
  numClasses: number,
  options: MetricOptions = {},
): Metric<Tensor, Updated> {
  return metricScope(options.name, 'mean_iou', () => {
    const p = convertToTensor(predictions);
    const l = convertToTensor(labels);
    checkSameShape({ predictions: p, labels: l });
    const total = metricVariable([numClasses, numClasses], float64, 'total_confusion_matrix');
    const guesses = cast(p, int64);
    const truths = cast(l, int64);
    const classes = cast(numClasses, int64);
    const [flatGuesses, flatTruths] = [flat(guesses), flat(truths)];
    const weights =
      options.weights === undefined ? undefined : flat(convertToTensor(options.weights, { hint: float32 }));
    const matrix = confusionMatrix(flatTruths, flatGuesses, { numClasses: classes, weights, dtype: float64 });
    const update = total.assignAdd(matrix);
    return collected(meanIntersection(total), update, options);
  });
}

/** The accuracy of each class, averaged. Adds the local variables `total` and `count`; the update gives it per class. */
export function meanPerClassAccuracy(
  labels: TensorLike,
  predictions: TensorLike,
  numClasses: number,
  options: MetricOptions = {},
): Metric {
  return metricScope(options.name, 'mean_accuracy', () => {
    const given = convertToTensor(predictions);
    const truths = flat(asType(labels, int64));
    let guesses = flat(given);
    checkSameShape({ predictions: guesses, labels: truths });
    const total = metricVariable([numClasses], float32, 'total');
    const count = metricVariable([numClasses], float32, 'count');
    let each = ones([size(truths)], { dtype: float32 });
    if (guesses.dtype !== truths.dtype) guesses = cast(guesses, truths.dtype);
    let right: Tensor = cast(equal(guesses, truths), float32);
    if (options.weights !== undefined) {
      const weights = asType(flat(convertToTensor(options.weights, { hint: float32 })), float32);
      right = right.mul(weights);
      each = each.mul(weights);
    }
    const newTotal = total.scatter('ScatterAdd', truths, each);
    const newCount = count.scatter('ScatterAdd', truths, right);
    const perClass = divNoNan(count, maximum(total, 0));
    const value = reduceMean(perClass, null, { name: 'mean_accuracy' });
    return collected(value, divNoNan(newCount, maximum(newTotal, 0), { name: 'update_op' }), options);
  });
}

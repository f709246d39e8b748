/** @file confusionMatrix: how often each class was taken for each other one. */
import { type DType, int32, int64 } from '../core/dtypes.ts';
import { compatible, showTuple } from '../core/shape.ts';
import { onlyOptions } from '../graph/options.ts';
import { nameScope } from '../graph/scopes.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { onesLike, scatterNd, stack } from '../ops/array/index.ts';
import { assertLess, assertNonNegative, withDependencies } from '../ops/flow/index.ts';
import { cast, maximum, reduceMax } from '../ops/math/index.ts';
import { removeSqueezableDimensions } from './squeezing.ts';

export interface ConfusionOptions {
  /** One more than the largest class seen, unless given. */
  readonly numClasses?: TensorLike | undefined;
  /** The type of the counts; int32 unless given. */
  readonly dtype?: DType | undefined;
  /** What each example counts for. */
  readonly weights?: TensorLike | undefined;
  readonly name?: string | undefined;
}

/**
 * A matrix that holds, at row i and column j, how many examples of class i were predicted to be of class j.
 *
 * @example tf.confusionMatrix([1, 2, 1], [1, 2, 2]) // runs to [[0 0 0] [0 1 1] [0 0 1]]
 */
export function confusionMatrix(labels: TensorLike, predictions: TensorLike, options: ConfusionOptions = {}): Tensor {
  onlyOptions('tf.confusionMatrix', options, 'numClasses', 'dtype', 'weights', 'name');
  const { dtype = int32, numClasses } = options;
  return nameScope(options.name ?? 'confusion_matrix', () => {
    const truths = convertToTensor(labels, { name: 'labels' });
    const pair = removeSqueezableDimensions(truths, convertToTensor(predictions, { name: 'predictions' }));
    let p: Tensor = cast(pair.predictions, int64);
    let l: Tensor = cast(pair.labels, int64);
    l = withDependencies([assertNonNegative(l, { message: '`labels` contains negative values' })], l);
    p = withDependencies([assertNonNegative(p, { message: '`predictions` contains negative values' })], p);
    let classes: Tensor;
    if (numClasses === undefined) classes = maximum(reduceMax(p), reduceMax(l)).add(1);
    else {
      classes = cast(numClasses, int64);
      l = withDependencies([assertLess(l, classes, { message: '`labels` out of bound' })], l);
      p = withDependencies([assertLess(p, classes, { message: '`predictions` out of bound' })], p);
    }
    const weights = options.weights === undefined ? undefined : checkedWeights(options.weights, p, dtype);
    const size = stack([classes, classes]);
    const indices = stack([l, p], { axis: 1 });
    const values = weights ?? onesLike(p, { dtype });
    return scatterNd(indices, values, cast(size, int64));
  });
}

function checkedWeights(given: TensorLike, predictions: Tensor, dtype: DType): Tensor {
  const weights = convertToTensor(given, { name: 'weights', hint: dtype });
  if (!compatible(predictions.shape, weights.shape))
    throw userError(
      `Shapes ${showTuple(predictions.shape)} and ${showTuple(weights.shape)} are incompatible: every example needs one weight.`,
    );
  return cast(weights, dtype);
}

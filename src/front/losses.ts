/** @file `tf.losses`: the loss functions of TensorFlow 1.x, which also add their result to the collection of losses. */

import { type DType, float32 } from '../core/dtypes.ts';
import { fromOnePlace, getDefaultGraph } from '../graph/graph.ts';
import { onlyOptions } from '../graph/options.ts';
import { controlDependencies, nameScope } from '../graph/scopes.ts';
import type { Fits, SameShape, ShapeOf } from '../graph/staticShapes.ts';
import { Tensor, type TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { checkGiven, convertToTensor } from '../op/convert.ts';
import { constant, onesLike, range, rank, shape, size, squeeze, stopGradient, zerosLike } from '../ops/array/index.ts';
import {
  abs,
  add,
  addN,
  cast,
  divNoNan,
  equal,
  greater,
  log,
  maximum,
  minimum,
  multiply,
  reduceSum,
  square,
  squaredDifference,
  subtract,
  where,
} from '../ops/math/index.ts';
import { minus, minusOf, over, plus, times } from '../ops/math/operators.ts';
import {
  relu,
  sigmoidCrossEntropyWithLogits,
  softmaxCrossEntropyWithLogitsV2,
  sparseSoftmaxCrossEntropyWithLogits,
} from '../ops/nn/index.ts';
import { GraphKeys } from './collections.ts';
import { asType, checkSameShape, removeSqueezableDimensions, squeezeLastIf } from './squeezing.ts';
import { assertBroadcastable, broadcastWeights } from './weightsBroadcast.ts';

/** How the weighted losses of a batch become one number. */
export const Reduction = {
  /** They do not: the result has the shape of the input. */
  NONE: 'none',
  SUM: 'weighted_sum',
  /** The sum, divided by the number of elements. */
  SUM_OVER_BATCH_SIZE: 'weighted_sum_over_batch_size',
  /** The sum, divided by the sum of the weights. */
  MEAN: 'weighted_mean',
  /** The sum, divided by the number of elements whose weight is not 0. The usual one. */
  SUM_BY_NONZERO_WEIGHTS: 'weighted_sum_by_nonzero_weights',
  SUM_OVER_NONZERO_WEIGHTS: 'weighted_sum_by_nonzero_weights',
} as const;
export type Reduction = (typeof Reduction)[keyof typeof Reduction];

export interface LossOptions {
  /** A scalar, or a tensor of the losses' rank whose sizes are the losses' or 1. */
  readonly weights?: TensorLike | undefined;
  readonly scope?: string | undefined;
  /** Where the loss is added; `null` for nowhere. */
  readonly lossCollection?: string | null | undefined;
  readonly reduction?: Reduction | undefined;
}
const optionNames = ['weights', 'scope', 'lossCollection', 'reduction'] as const;

function numPresent(losses: Tensor, weights: Tensor, perBatch: boolean): Tensor {
  return nameScope('num_present', (name) => {
    const isZero = equal(weights, 0);
    const present = broadcastWeights(where(isZero, zerosLike(weights), onesLike(weights)), losses);
    return perBatch
      ? reduceSum(present, range(1, rank(present)), { keepdims: true, name })
      : reduceSum(present, null, { name });
  });
}

function numElements(losses: Tensor): Tensor {
  return nameScope('num_elements', (name) => cast(size(losses, { name }), losses.dtype));
}

function safeMean(total: Tensor, count: Tensor): Tensor {
  return divNoNan(reduceSum(total), count, { name: 'value' });
}

function reduced(losses: Tensor, weights: Tensor, reduction: Reduction): Tensor {
  const weighted = multiply(losses, weights);
  if (reduction === Reduction.NONE) return weighted;
  const total = reduceSum(weighted);
  if (reduction === Reduction.MEAN) return safeMean(total, reduceSum(times(onesLike(losses), weights)));
  if (reduction === Reduction.SUM_BY_NONZERO_WEIGHTS) return safeMean(total, numPresent(losses, weights, false));
  return reduction === Reduction.SUM_OVER_BATCH_SIZE ? safeMean(total, numElements(losses)) : total;
}

/**
 * `losses * weights`, reduced to one number, and added to the collection of losses.
 *
 * @example tf.losses.computeWeightedLoss([1.5, 2.5], { weights: [1, 3] }) // runs to 4.5
 */
export function computeWeightedLoss(losses: TensorLike, options: LossOptions = {}): Tensor {
  onlyOptions('tf.losses.computeWeightedLoss', options, ...optionNames);
  const { weights = 1, scope, reduction = Reduction.SUM_BY_NONZERO_WEIGHTS } = options;
  if (!Object.values(Reduction).includes(reduction))
    throw userError(`Invalid Reduction Key ${reduction}. Key should be one of ${Object.values(Reduction).join(', ')}.`);
  return lossScope(scope ?? 'weighted_loss', () =>
    controlDependencies([assertBroadcastable(weights, losses)], () => {
      const values = convertToTensor(losses, { hint: float32 });
      const loss = reduced(cast(values, float32), asType(weights, float32), reduction);
      return added(cast(loss, values.dtype), options);
    }),
  );
}

const lossScope = (scope: string, body: (name: string) => Tensor) => fromOnePlace(() => nameScope(scope, body));

function added(loss: Tensor, { lossCollection = GraphKeys.LOSSES }: LossOptions): Tensor {
  if (lossCollection !== null) addLoss(loss, { lossCollection });
  return loss;
}

/** Predictions for labels: types are converted, but shapes must agree. */
type Paired<L, P> = P & Fits<SameShape<ShapeOf<L>, ShapeOf<P>, 'labels and predictions'>>;

/** Both arguments of a loss as tensors of one type, in the order predictions, labels; their shapes must agree. */
function prepared(predictions: TensorLike, labels: TensorLike, dtype: DType): [Tensor, Tensor] {
  checkGiven('labels', labels);
  checkGiven('predictions', predictions);
  const p = asType(predictions, dtype);
  const l = asType(labels, dtype);
  checkSameShape({ predictions: p, labels: l });
  return [p, l];
}

/** The scope of a loss: its own function makes the losses, `computeWeightedLoss` goes on in the same scope. */
function lossIn(scope: string, options: LossOptions, losses: () => Tensor): Tensor {
  return lossScope(options.scope ?? scope, (name) => {
    const { weights, lossCollection, reduction } = options;
    return computeWeightedLoss(losses(), { weights, lossCollection, reduction, scope: name });
  });
}

/**
 * `|predictions - labels|`.
 *
 * @example tf.losses.absoluteDifference([1.5, 2], [2, 4]) // runs to 1.25
 */
export function absoluteDifference<L extends TensorLike, P extends TensorLike>(
  labels: L,
  predictions: Paired<L, P>,
  options: LossOptions = {},
): Tensor {
  onlyOptions('tf.losses.absoluteDifference', options, ...optionNames);
  return lossIn('absolute_difference', options, () => {
    const [p, l] = prepared(predictions, labels, float32);
    return abs(subtract(p, l));
  });
}

/**
 * `1 - cos` of the angle between labels and predictions along `axis`, both of length 1 already.
 *
 * @example tf.losses.cosineDistance([[1, 0]], [[0.6, 0.8]], 1) // runs to 0.39999998
 */
export function cosineDistance<L extends TensorLike, P extends TensorLike>(
  labels: L,
  predictions: Paired<L, P>,
  axis: number,
  options?: LossOptions,
): Tensor;
export function cosineDistance<L extends TensorLike, P extends TensorLike>(
  labels: L,
  predictions: Paired<L, P>,
  options: LossOptions & { readonly axis: number },
): Tensor;
export function cosineDistance(
  labels: TensorLike,
  predictions: TensorLike,
  axisOrOptions: number | (LossOptions & { readonly axis: number }),
  last: LossOptions = {},
): Tensor {
  const { axis, ...options } = typeof axisOrOptions === 'number' ? { ...last, axis: axisOrOptions } : axisOrOptions;
  onlyOptions('tf.losses.cosineDistance', options, ...optionNames);
  if (axis === undefined) throw userError('You must specify argument `axis`.');
  return lossIn('cosine_distance_loss', options, () => {
    const [p, l] = prepared(predictions, labels, float32);
    return minus(1, reduceSum(multiply(p, l), [axis], { keepdims: true }));
  });
}

/**
 * `max(0, 1 - y * logits)`, where labels of 0 and 1 mean `y` of -1 and 1.
 *
 * @example tf.losses.hingeLoss([1, 0], [0.5, -2]) // runs to 0.25
 */
export function hingeLoss<L extends TensorLike, P extends TensorLike>(
  labels: L,
  logits: Paired<L, P>,
  options: LossOptions = {},
): Tensor {
  onlyOptions('tf.losses.hingeLoss', options, ...optionNames);
  return lossIn('hinge_loss', options, () => {
    const [z, l] = prepared(logits, labels, float32);
    const ones = onesLike(l);
    const signs = subtract(times(2, l), ones);
    return relu(subtract(ones, multiply(signs, z)));
  });
}

/**
 * `0.5 * e^2` of errors up to `delta`, linear beyond: `delta * (|e| - delta / 2)`.
 *
 * @example tf.losses.huberLoss([0, 0], [0.5, 3]) // runs to 1.3125
 */
export function huberLoss<L extends TensorLike, P extends TensorLike>(
  labels: L,
  predictions: Paired<L, P>,
  options: LossOptions & { readonly delta?: number | undefined } = {},
): Tensor {
  onlyOptions('tf.losses.huberLoss', options, ...optionNames, 'delta');
  const { delta = 1 } = options;
  return lossIn('huber_loss', options, () => {
    const [p, l] = prepared(predictions, labels, float32);
    const error = abs(subtract(p, l));
    const quadratic = minimum(error, delta);
    const linear = subtract(error, quadratic);
    const half = constant(0.5, { dtype: quadratic.dtype });
    const bowl = multiply(half, multiply(quadratic, quadratic));
    return add(bowl, multiply(scalarLike(delta, linear), linear));
  });
}

/**
 * `-labels * log(predictions) - (1 - labels) * log(1 - predictions)`; `epsilon` keeps the logarithms finite.
 *
 * @example tf.losses.logLoss([1, 0], [0.5, 0.5]) // runs to 0.69314694
 */
export function logLoss<L extends TensorLike, P extends TensorLike>(
  labels: L,
  predictions: Paired<L, P>,
  options: LossOptions & { readonly epsilon?: number | undefined } = {},
): Tensor {
  onlyOptions('tf.losses.logLoss', options, ...optionNames, 'epsilon');
  const { epsilon = 1e-7 } = options;
  return lossIn('log_loss', options, () => {
    const [p, l] = prepared(predictions, labels, float32);
    const positive = minusOf(multiply(l, log(plus(p, epsilon))));
    return minus(positive, multiply(minus(1, l), log(plus(minus(1, p), epsilon))));
  });
}

/**
 * The mean, over pairs of elements of one row, of the squared difference between what labels and predictions say about the
 * pair.
 *
 * @example tf.losses.meanPairwiseSquaredError([[1, 2]], [[1, 4]]) // runs to 4.0
 */
export function meanPairwiseSquaredError<L extends TensorLike, P extends TensorLike>(
  labels: L,
  predictions: Paired<L, P>,
  options: Omit<LossOptions, 'reduction'> = {},
): Tensor {
  onlyOptions('tf.losses.meanPairwiseSquaredError', options, 'weights', 'scope', 'lossCollection');
  return nameScope(options.scope ?? 'mean_pairwise_squared_error', () => {
    const weights = asType(options.weights ?? 1, float32);
    const l = asType(labels, float32);
    return controlDependencies([assertBroadcastable(weights, l)], () => {
      const p = asType(predictions, float32);
      checkSameShape({ predictions: p, labels: l });
      const diffs = subtract(p, l);
      const axis = range(1, rank(diffs));
      const squares = reduceSum(square(diffs), axis, { keepdims: true });
      const count = numPresent(diffs, weights, true);
      const atLeastZero = (x: Tensor) => maximum(x, 0);
      const term1 = times(2, divNoNan(squares, atLeastZero(minus(count, 1)), { name: 'value' }));
      const sum = reduceSum(diffs, axis, { keepdims: true });
      const term2 = times(2, divNoNan(square(sum), atLeastZero(multiply(count, minus(count, 1))), { name: 'value' }));
      const loss = reduceSum(multiply(minus(term1, term2), weights));
      const anyPresent = greater(reduceSum(count), 0);
      return added(where(anyPresent, loss, zerosLike(loss), { name: 'value' }), options);
    });
  });
}

/**
 * `(predictions - labels)^2`.
 *
 * @example tf.losses.meanSquaredError([1.5, 2], [2, 4]) // runs to 2.125
 */
export function meanSquaredError<L extends TensorLike, P extends TensorLike>(
  labels: L,
  predictions: Paired<L, P>,
  options: LossOptions = {},
): Tensor {
  onlyOptions('tf.losses.meanSquaredError', options, ...optionNames);
  return lossIn('mean_squared_error', options, () => {
    const [p, l] = prepared(predictions, labels, float32);
    return squaredDifference(p, l);
  });
}

export interface CrossEntropyOptions extends LossOptions {
  /** Moves the labels this far towards equal chances. */
  readonly labelSmoothing?: number | undefined;
}

/** The logits as a tensor, and the labels in the same type. */
function logitsAndLabels(logits: TensorLike, labels: TensorLike): [Tensor, Tensor] {
  checkGiven('labels', labels);
  checkGiven('logits', logits);
  const z = convertToTensor(logits, { hint: float32 });
  const l = asType(labels, z.dtype);
  checkSameShape({ logits: z, labels: l });
  return [z, l];
}

/**
 * Cross entropy of independent yes-or-no questions; smoothing moves labels towards 1/2.
 *
 * @example tf.losses.sigmoidCrossEntropy([[1, 0]], [[2.5, -1.5]]) // runs to 0.14015128
 */
export function sigmoidCrossEntropy<L extends TensorLike, P extends TensorLike>(
  multiClassLabels: L,
  logits: Paired<L, P>,
  options: CrossEntropyOptions = {},
): Tensor {
  onlyOptions('tf.losses.sigmoidCrossEntropy', options, ...optionNames, 'labelSmoothing');
  const { labelSmoothing = 0 } = options;
  return lossIn('sigmoid_cross_entropy_loss', options, () => {
    const [z, l] = logitsAndLabels(logits, multiClassLabels);
    const labels = labelSmoothing > 0 ? plus(times(l, 1 - labelSmoothing), 0.5 * labelSmoothing) : l;
    return sigmoidCrossEntropyWithLogits({ labels, logits: z, name: 'xentropy' });
  });
}

/**
 * Cross entropy of one choice among classes, from probabilities per class; smoothing moves them towards 1/classes.
 *
 * @example tf.losses.softmaxCrossEntropy([[1, 0]], [[2.5, 0.5]]) // runs to 0.126928
 */
export function softmaxCrossEntropy<L extends TensorLike, P extends TensorLike>(
  onehotLabels: L,
  logits: Paired<L, P>,
  options: CrossEntropyOptions = {},
): Tensor {
  onlyOptions('tf.losses.softmaxCrossEntropy', options, ...optionNames, 'labelSmoothing');
  const { labelSmoothing = 0 } = options;
  return lossIn('softmax_cross_entropy_loss', options, () => {
    const [z, l] = logitsAndLabels(logits, onehotLabels);
    const smoothed = labelSmoothing > 0 ? towardsUniform(l, labelSmoothing) : l;
    const labels = stopGradient(smoothed, { name: 'labels_stop_gradient' });
    return softmaxCrossEntropyWithLogitsV2({ labels, logits: z, name: 'xentropy' });
  });
}

function towardsUniform(labels: Tensor, smoothing: number): Tensor {
  const classes = cast(shape(labels).slice('-1'), labels.dtype);
  const share = over(smoothing, classes);
  return plus(times(labels, 1 - smoothing), share);
}

/**
 * Cross entropy of one choice among classes, from the number of the right class.
 *
 * @example tf.losses.sparseSoftmaxCrossEntropy([0], [[2.5, 0.5]]) // runs to 0.126928
 */
export function sparseSoftmaxCrossEntropy(labels: TensorLike, logits: TensorLike, options: LossOptions = {}): Tensor {
  onlyOptions('tf.losses.sparseSoftmaxCrossEntropy', options, ...optionNames);
  checkGiven('labels', labels);
  checkGiven('logits', logits);
  return nameScope(options.scope ?? 'sparse_softmax_cross_entropy_loss', (scope) => {
    const pair = removeSqueezableDimensions(labels, logits, { expectedRankDiff: 1, hint: float32 });
    const weights = squeezedWeights(options.weights ?? 1, pair.labels);
    const losses = sparseSoftmaxCrossEntropyWithLogits({
      labels: pair.labels,
      logits: pair.predictions,
      name: 'xentropy',
    });
    return computeWeightedLoss(losses, { ...options, weights, scope });
  });
}

/** Weights of one more axis than the labels, of size 1, lose it. Where the ranks are not known, a branch decides. */
function squeezedWeights(given: TensorLike, labels: Tensor): Tensor {
  const weights = convertToTensor(given, { hint: float32 });
  if (labels.rank !== null && weights.rank !== null)
    return weights.rank - labels.rank === 1 ? squeeze(weights, { axis: [-1] }) : weights;
  const rankDiff = minus(rank(weights), rank(labels));
  const last = weights.shape?.at(-1);
  const mayLose = weights.rank === null || (weights.rank > 0 && (last == null || last === 1));
  return mayLose ? squeezeLastIf(weights, equal(1, rankDiff)) : weights;
}

/** A scalar constant of the type of `x`. */
function scalarLike(value: number, x: Tensor): TensorLike {
  return x.dtype.isFloating ? value : Math.trunc(value);
}

/** Adds a loss that was computed elsewhere to the collection of losses. */
export function addLoss(loss: Tensor, options: { readonly lossCollection?: string | undefined } = {}): void {
  onlyOptions('tf.losses.addLoss', options, 'lossCollection');
  getDefaultGraph().addToCollection(options.lossCollection ?? GraphKeys.LOSSES, loss);
}

/** The losses collected so far; with `scope`, those whose name begins with it. */
export function getLosses(
  options: { readonly scope?: string | undefined; readonly lossCollection?: string | undefined } = {},
): Tensor[] {
  onlyOptions('tf.losses.getLosses', options, 'scope', 'lossCollection');
  return tensorsIn(options.lossCollection ?? GraphKeys.LOSSES, options.scope);
}

/** The penalties that regularizers added; with `scope`, those whose name begins with it. */
export function getRegularizationLosses(options: { readonly scope?: string | undefined } = {}): Tensor[] {
  onlyOptions('tf.losses.getRegularizationLosses', options, 'scope');
  return tensorsIn(GraphKeys.REGULARIZATION_LOSSES, options.scope);
}

function tensorsIn(collection: string, scope: string | undefined): Tensor[] {
  const items = getDefaultGraph().getCollection(collection, scope);
  return items.filter((x): x is Tensor => x instanceof Tensor);
}

/**
 * The sum of the penalties that regularizers added. Adds one `AddN` node, or a constant 0 when there are none.
 *
 * @example tf.losses.getRegularizationLoss() // runs to 0.0
 */
export function getRegularizationLoss(
  options: { readonly scope?: string | undefined; readonly name?: string | undefined } = {},
): Tensor {
  const losses = getRegularizationLosses(options);
  return losses.length > 0
    ? addN(losses, { name: options.name ?? 'total_regularization_loss' })
    : constant(0, { dtype: float32 });
}

/** The sum of all losses collected so far, with the penalties of regularizers. Adds one `AddN` node. */
export function getTotalLoss(
  options: {
    readonly addRegularizationLosses?: boolean | undefined;
    readonly scope?: string | undefined;
    readonly name?: string | undefined;
  } = {},
): Tensor {
  onlyOptions('tf.losses.getTotalLoss', options, 'addRegularizationLosses', 'scope', 'name');
  const { addRegularizationLosses = true, scope, name = 'total_loss' } = options;
  const losses = [...getLosses({ scope }), ...(addRegularizationLosses ? getRegularizationLosses({ scope }) : [])];
  return addN(losses, { name });
}

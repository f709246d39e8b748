/** @file The cross entropies as functions: softmax, sparse softmax, sigmoid and weighted, and the Poisson loss. */
import * as d from '../../core/dtypes.ts';
import { scalar } from '../../core/ndarray.ts';
import { compatible, type Dims, isFullyDefined, showTuple } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Alike, Fits, FitsClasses, HasDType, SameShape, ShapeOf } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { concat } from '../array/concat.ts';
import { getItem } from '../array/getItem.ts';
import { stopGradient } from '../array/identity.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { rank, shape } from '../array/shape.ts';
import { slice } from '../array/slice.ts';
import { transpose } from '../array/transpose.ts';
import { assertEqual } from '../flow/checkOps.ts';
import { add } from '../math/add.ts';
import { cast } from '../math/cast.ts';
import { greaterEqual, lessEqual } from '../math/compare.ts';
import { exp, log, log1p } from '../math/exp.ts';
import { logicalAnd } from '../math/logical.ts';
import { abs } from '../math/neg.ts';
import { minus, minusOf, plus, times } from '../math/operators.ts';
import { where } from '../math/select.ts';
import { subtract } from '../math/subtract.ts';
import { onesLike, zerosLike } from '../math/zerosLike.ts';
import { relu } from './activations.ts';
import { SoftmaxCrossEntropyWithLogits, SparseSoftmaxCrossEntropyWithLogits } from './crossEntropyOps.ts';

export interface SoftmaxCrossEntropy {
  /** Class probabilities: each row a distribution. */
  readonly labels: TensorLike;
  /** Unscaled log probabilities. */
  readonly logits: TensorLike;
  /** The axis of the classes, the last unless given. */
  readonly axis?: number | undefined;
  /** The older name of `axis`. */
  readonly dim?: number | undefined;
  readonly name?: string | undefined;
}

function classAxis({ axis, dim }: SoftmaxCrossEntropy): number {
  if (axis !== undefined && dim !== undefined) throw userError("Cannot specify both 'axis' and 'dim'");
  return axis ?? dim ?? -1;
}

interface LabelsAndLogits {
  readonly labels?: TensorLike | undefined;
  readonly logits?: TensorLike | undefined;
  readonly name?: string | undefined;
}

/** Throws unless `args` has labels and logits, and nothing that the function does not know. */
function checkArgs<T extends LabelsAndLogits>(name: string, args: T, ...others: readonly (keyof T & string)[]): void {
  if (args.labels === undefined || args.logits === undefined)
    throw userError(`Both labels and logits must be provided: write tf.nn.${name}({ labels, logits }).`);
  onlyOptions(`tf.nn.${name}`, args, 'labels', 'logits', 'name', ...others);
}

/** A matrix of all the rows, with the static shape where it is known. */
function flattenRows(x: Tensor): Tensor {
  const count = rank(x);
  const last = slice(shape(x), [subtract(count, 1)], [1]);
  const flat = reshape(x, concat([[-1], last], 0));
  const rows = x.shape?.slice(0, -1);
  if (rows?.every((n) => n !== null)) flat.setShape([rows.reduce<number>((a, n) => a * n!, 1), x.shape!.at(-1)!]);
  return flat;
}

/** The class axis last, for the op. */
function moveToEnd(x: Tensor, axis: number, count: Tensor): Tensor {
  return transpose(x, concat([range(axis), range(axis + 1, count), [axis]], 0));
}

/**
 * The cross entropy of `softmax(logits)` against the labels, one number per row; gradients reach both. Adds nodes under
 * `softmax_cross_entropy_with_logits`.
 *
 * @example tf.nn.softmaxCrossEntropyWithLogitsV2({ labels: [[0.5, 0.5]], logits: [[1.5, 1.5]] }) // runs to [0.6931472]
 */
export function softmaxCrossEntropyWithLogitsV2(args: SoftmaxCrossEntropy): Tensor {
  checkArgs('softmaxCrossEntropyWithLogitsV2', args, 'axis', 'dim');
  const axis = classAxis(args);
  return nameScope(args.name ?? 'softmax_cross_entropy_with_logits', (name) => {
    const logits = convertToTensor(args.logits, { name: 'logits', hint: d.float32 });
    const labels = convertToTensor(args.labels, { name: 'labels', hint: logits.dtype });
    const half = logits.dtype === d.float16 || logits.dtype === d.bfloat16;
    const precise = half ? cast(logits, d.float32) : logits;
    const probabilities = cast(labels, precise.dtype);
    const count = rank(precise);
    const [x, y] =
      axis === -1 ? [precise, probabilities] : [precise, probabilities].map((t) => moveToEnd(t, axis, count));
    const inputShape = shape(x!);
    const features = flattenRows(x!);
    const targets = flattenRows(y!);
    const { loss } = SoftmaxCrossEntropyWithLogits.build({ features, labels: targets }, { name });
    const cost = reshape(loss, slice(inputShape, [0], [subtract(count, 1)]));
    if (logits.shape) cost.setShape(logits.shape.filter((_, i) => i !== (axis < 0 ? axis + logits.rank! : axis)));
    return half ? cast(cost, logits.dtype) : cost;
  });
}

/**
 * Like `softmaxCrossEntropyWithLogitsV2`, but no gradient reaches the labels. Adds nodes under
 * `softmax_cross_entropy_with_logits_sg`.
 *
 * @example tf.nn.softmaxCrossEntropyWithLogits({ labels: [[0.5, 0.5]], logits: [[1.5, 1.5]] }) // runs to [0.6931472]
 */
export function softmaxCrossEntropyWithLogits(args: SoftmaxCrossEntropy): Tensor {
  checkArgs('softmaxCrossEntropyWithLogits', args, 'axis', 'dim');
  const { name, labels } = nameScope(args.name ?? 'softmax_cross_entropy_with_logits_sg', (name) => ({
    name,
    labels: stopGradient(args.labels, { name: 'labels_stop_gradient' }),
  }));
  return softmaxCrossEntropyWithLogitsV2({ labels, logits: args.logits, axis: classAxis(args), name });
}

export interface SparseSoftmaxCrossEntropy<L = TensorLike, Z = TensorLike> {
  /** Class numbers, int32 or int64: the shape of the logits without the last axis. */
  readonly labels: L & Fits<HasDType<L, 'int32' | 'int64'>>;
  readonly logits: Z & Fits<FitsClasses<ShapeOf<L>, ShapeOf<Z>>>;
  readonly name?: string | undefined;
}

function checkRanks(labels: Dims, logits: Dims): void {
  if (logits?.length === 0) throw userError('logits cannot be a scalar: the last axis holds the classes.');
  if (!logits || !labels) return;
  if (labels.length !== logits.length - 1)
    throw userError(
      `Rank mismatch: labels has rank ${labels.length} and shape ${showTuple(labels)}, but logits has rank ${logits.length} and shape ${showTuple(logits)}; labels must have one axis less. For labels with probabilities use softmaxCrossEntropyWithLogits.`,
    );
  if (isFullyDefined(labels) && isFullyDefined(logits.slice(0, -1)) && labels.some((n, i) => n !== logits[i]))
    throw userError(
      `Shape mismatch: the shape of labels, ${showTuple(labels)}, must equal the shape of logits except for the last axis, ${showTuple(logits)}.`,
    );
}

/**
 * The cross entropy of `softmax(logits)` against class numbers. Adds one `SparseSoftmaxCrossEntropyWithLogits` node, and
 * reshapes around it above rank 2.
 *
 * @example tf.nn.sparseSoftmaxCrossEntropyWithLogits({ labels: [1], logits: [[1.5, 1.5]] }) // runs to [0.6931472]
 */
export function sparseSoftmaxCrossEntropyWithLogits<L extends TensorLike, Z extends TensorLike>(
  args: SparseSoftmaxCrossEntropy<L, Z>,
): Tensor {
  checkArgs('sparseSoftmaxCrossEntropyWithLogits', args);
  return nameScope(args.name ?? 'SparseSoftmaxCrossEntropyWithLogits', () => {
    const labels = convertToTensor(args.labels);
    const logits = convertToTensor(args.logits, { hint: d.float32 });
    const half = logits.dtype === d.float16;
    const precise = half ? cast(logits, d.float32) : logits;
    const labelsShape = shape(labels);
    const known = isFullyDefined(labels.shape) && isFullyDefined(logits.shape?.slice(0, -1) ?? null);
    checkRanks(labels.shape, logits.shape);
    const entropy = (features: Tensor, classes: Tensor) =>
      SparseSoftmaxCrossEntropyWithLogits.build({ features, labels: classes }, { name: args.name }).loss;
    const asGiven = (cost: Tensor) => (half ? cast(cost, d.float16) : cost);
    if (logits.rank === 2) return asGiven(entropy(precise, labels));
    const checks = known ? [] : [assertEqual(shape(labels), getItem(shape(logits), ':-1'))];
    return controlDependencies(checks, () => {
      const classes = getItem(shape(logits), [minus(rank(logits), 1)]);
      const features = reshape(precise, [-1, classes]);
      const cost = reshape(entropy(features, reshape(labels, [-1])), labelsShape);
      cost.setShape(labels.shape);
      return asGiven(cost);
    });
  });
}

function checkSameShape(labels: Tensor, logits: Tensor): void {
  if (!compatible(labels.shape, logits.shape))
    throw userError(
      `logits and labels must have the same shape (${showTuple(logits.shape)} vs ${showTuple(labels.shape)}).`,
    );
}

/**
 * The cross entropy of independent yes-or-no classes: `max(x, 0) - x * z + log(1 + exp(-|x|))`. Adds nodes under
 * `logistic_loss`.
 *
 * @example tf.nn.sigmoidCrossEntropyWithLogits({ labels: [1.0, 0.5], logits: [0.0, 0.0] }) // runs to [0.6931472 0.6931472]
 */
export function sigmoidCrossEntropyWithLogits<L extends TensorLike, Z extends TensorLike>(args: {
  readonly labels: L;
  readonly logits: Alike<L, Z> & Fits<SameShape<ShapeOf<L>, ShapeOf<Z>, 'labels and logits'>>;
  readonly name?: string | undefined;
}): Tensor {
  checkArgs('sigmoidCrossEntropyWithLogits', args);
  return nameScope(args.name ?? 'logistic_loss', (name) => {
    const logits = convertToTensor(args.logits, { name: 'logits', hint: d.float32 });
    const labels = convertToTensor(args.labels, { name: 'labels', hint: logits.dtype });
    checkSameShape(labels, logits);
    const zeros = zerosLike(logits, { dtype: logits.dtype });
    const positive = greaterEqual(logits, zeros);
    const relued = where(positive, logits, zeros);
    const negativeAbs = where(positive, minusOf(logits), logits);
    const linear = minus(relued, times(logits, labels));
    return add(linear, log1p(exp(negativeAbs)), { name });
  });
}

/**
 * `sigmoidCrossEntropyWithLogits` with a weight on the positive labels. Adds nodes under `logistic_loss`.
 *
 * @example tf.nn.weightedCrossEntropyWithLogits({ labels: [1.0], logits: [0.0], posWeight: 2 }) // runs to [1.3862944]
 */
export function weightedCrossEntropyWithLogits(args: {
  readonly labels?: TensorLike | undefined;
  readonly logits: TensorLike;
  readonly posWeight: TensorLike;
  readonly name?: string | undefined;
  /** The older name of `labels`. */
  readonly targets?: TensorLike | undefined;
}): Tensor {
  const { targets, ...rest } = args;
  const labelsGiven = args.labels ?? targets;
  checkArgs('weightedCrossEntropyWithLogits', { ...rest, labels: labelsGiven }, 'posWeight');
  return nameScope(args.name ?? 'logistic_loss', (name) => {
    const logits = convertToTensor(args.logits, { name: 'logits', hint: d.float32 });
    const labels = convertToTensor(labelsGiven!, { name: 'labels', hint: logits.dtype }); // checked by checkArgs
    checkSameShape(labels, logits);
    const extra = typeof args.posWeight === 'number' ? args.posWeight - 1 : minus(args.posWeight, 1);
    const weight = plus(1, times(extra, labels));
    const negative = times(minus(1, labels), logits);
    const softplus = plus(log1p(exp(minusOf(abs(logits)))), relu(minusOf(logits)));
    return add(negative, times(weight, softplus), { name });
  });
}

/**
 * The log-likelihood loss of counts under a Poisson distribution whose log rate is given. Adds nodes under
 * `log_poisson_loss`.
 *
 * @example tf.nn.logPoissonLoss([2.0], [0.0]) // runs to [1.]
 */
export function logPoissonLoss(
  targets: TensorLike,
  logInput: TensorLike,
  options: { computeFullLoss?: boolean; name?: string } = {},
): Tensor {
  onlyOptions('tf.nn.logPoissonLoss', options, 'computeFullLoss', 'name');
  return nameScope(options.name ?? 'log_poisson_loss', () => {
    const x = convertToTensor(logInput, { name: 'log_input', hint: d.float32 });
    const z = convertToTensor(targets, { name: 'targets', hint: x.dtype });
    if (!compatible(z.shape, x.shape))
      throw userError(
        `logInput and targets must have the same shape (${showTuple(x.shape)} vs ${showTuple(z.shape)}).`,
      );
    const result = minus(exp(x), times(x, z));
    if (!options.computeFullLoss) return result;
    const half = constantNode(scalar(z.dtype, 0.5));
    const twoPi = constantNode(scalar(z.dtype, 2 * Math.PI));
    const linear = minus(times(z, log(z)), z);
    const stirling = plus(linear, times(half, log(times(twoPi, z))));
    const zeros = zerosLike(z, { dtype: z.dtype });
    const ones = onesLike(z, { dtype: z.dtype });
    const small = logicalAnd(greaterEqual(z, zeros), lessEqual(z, ones));
    return plus(result, where(small, zeros, stirling));
  });
}

/** @file The reductions as functions: sums, means, extremes and the like along axes. */

import { type bool, type DType, int64 } from '../../core/dtypes.ts';
import { intVector } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { isFullyDefined } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { AxisIn, DTypeOf, KnownShape, Reduce, ShapeOf } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantNode, convertToTensor, isSymbolic } from '../../op/convert.ts';
import { withAxis } from '../array/common.ts';
import { zeros } from '../array/fill.ts';
import { stopGradient } from '../array/identity.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { rank, Shape } from '../array/shape.ts';
import { add } from './add.ts';
import { cast } from './cast.ts';
import { notEqual } from './compare.ts';
import { conj, real } from './complex.ts';
import { exp, log } from './exp.ts';
import { IsFinite } from './isNan.ts';
import { Mul } from './multiply.ts';
import { minus } from './operators.ts';
import { All, Any, EuclideanNorm, Max, Mean, Min, Prod, Sum } from './reductionOps.ts';
import { SelectV2 } from './select.ts';
import { sqrt, square } from './sqrt.ts';
import { sub } from './subtract.ts';

/** Axes to reduce: one, several, or all when it is left out. */
export type Axis = TensorLike | null;

/** The shape left after folding `A`, which may be an axis or options, as the options have it. */
export type Folded<X, A, O> = A extends Axis | undefined ? FoldedAlong<X, A, O> : FoldedAlong<X, AxisIn<A, null>, A>;
type FoldedAlong<X, A, O> = O extends { reductionIndices: unknown }
  ? Dims
  : KnownShape<Reduce<ShapeOf<X>, A, O extends { keepdims: true } | { keepDims: true } ? true : false>>;

export interface ReduceOptions {
  /** May stand here, or alone as the second argument. */
  readonly axis?: Axis | undefined;
  /** Keep the reduced axes, with size 1. */
  readonly keepdims?: boolean | undefined;
  readonly name?: string | undefined;
  /** The older name of `keepdims`. */
  readonly keepDims?: boolean | undefined;
  /** The older name of the axis argument. */
  readonly reductionIndices?: Axis | undefined;
}

/** The axis of a call that may use the older option. */
function axisOf({ axis, reductionIndices }: ReduceOptions): Axis {
  if (reductionIndices == null) return axis ?? null;
  if (axis != null) throw userError("Cannot specify both 'axis' and 'reduction_indices'");
  return reductionIndices;
}

const optionNames = ['axis', 'keepdims', 'name', 'keepDims', 'reductionIndices'] as const;

function keepdimsOf({ keepdims, keepDims }: ReduceOptions): boolean {
  if (keepdims !== undefined && keepDims !== undefined)
    throw userError("Cannot specify both 'keepdims' and 'keep_dims'");
  return keepdims ?? keepDims ?? false;
}

/** All axes of a tensor: a constant when the rank is known (and not 0), else nodes that count them. */
function allAxes(input: TensorLike): Tensor {
  // Python looks at the argument as given, so a literal's rank counts as unknown and it is converted once more here.
  const known = isSymbolic(input) ? input.shape?.length : undefined;
  if (known) return constantNode(intVector(Array.from({ length: known }, (_, i) => i)));
  return range(0, rank(input));
}

type Reduction = {
  readonly name: string;
  build(
    inputs: { input: TensorLike; reduction_indices: TensorLike },
    options: { name?: string | undefined; attrs: { keep_dims: boolean } },
  ): { output: Tensor };
};

function reduce(
  op: Reduction,
  input: TensorLike,
  given: Axis | ReduceOptions | undefined,
  last: ReduceOptions,
): Tensor {
  const options = withAxis(given, last);
  onlyOptions(op.name, options, ...optionNames);
  const axis = axisOf(options);
  const keep_dims = keepdimsOf(options);
  const reduction_indices = axis ?? allAxes(input);
  const { output } = op.build({ input, reduction_indices }, { name: options.name, attrs: { keep_dims } });
  return scalarIfWhole(output, axis, keep_dims);
}

/** Reducing every axis gives a scalar, even where the rank was not known. */
function scalarIfWhole(output: Tensor, axis: Axis, keepdims: boolean): Tensor {
  if (axis === null && !keepdims && !isFullyDefined(output.shape)) output.setShape([]);
  return output;
}

/**
 * The sum of the elements along `axis`, or of all. Adds one `Sum` node.
 *
 * @example tf.reduceSum(tf.constant([[1, 2], [3, 4]]), 0) // runs to [4 6]
 */
export function reduceSum<
  X extends TensorLike,
  const A extends Axis | ReduceOptions = null,
  const O extends ReduceOptions = Record<never, never>,
>(input: X, axis?: A, options?: O): Tensor<DTypeOf<X>, Folded<X, A, O>>;
export function reduceSum(input: TensorLike, axis?: Axis | ReduceOptions, options: ReduceOptions = {}): Tensor {
  return reduce(Sum, input, axis, options);
}

/**
 * The mean of the elements along `axis`, or of all; integers are rounded toward zero. Adds one `Mean` node.
 *
 * @example tf.reduceMean(tf.constant([[1.5, 2], [3.5, 4]]), 1) // runs to [1.75 3.75]
 */
export function reduceMean<
  X extends TensorLike,
  const A extends Axis | ReduceOptions = null,
  const O extends ReduceOptions = Record<never, never>,
>(input: X, axis?: A, options?: O): Tensor<DTypeOf<X>, Folded<X, A, O>>;
export function reduceMean(input: TensorLike, axis?: Axis | ReduceOptions, options: ReduceOptions = {}): Tensor {
  return reduce(Mean, input, axis, options);
}

/**
 * The product of the elements along `axis`, or of all. Adds one `Prod` node.
 *
 * @example tf.reduceProd(tf.constant([[1, 2], [3, 4]])) // runs to 24
 */
export function reduceProd<
  X extends TensorLike,
  const A extends Axis | ReduceOptions = null,
  const O extends ReduceOptions = Record<never, never>,
>(input: X, axis?: A, options?: O): Tensor<DTypeOf<X>, Folded<X, A, O>>;
export function reduceProd(input: TensorLike, axis?: Axis | ReduceOptions, options: ReduceOptions = {}): Tensor {
  return reduce(Prod, input, axis, options);
}

/**
 * The largest element along `axis`, or of all. Adds one `Max` node.
 *
 * @example tf.reduceMax(tf.constant([[1, 2], [3, 4]]), 1) // runs to [2 4]
 */
export function reduceMax<
  X extends TensorLike,
  const A extends Axis | ReduceOptions = null,
  const O extends ReduceOptions = Record<never, never>,
>(input: X, axis?: A, options?: O): Tensor<DTypeOf<X>, Folded<X, A, O>>;
export function reduceMax(input: TensorLike, axis?: Axis | ReduceOptions, options: ReduceOptions = {}): Tensor {
  return reduce(Max, input, axis, options);
}

/**
 * The smallest element along `axis`, or of all. Adds one `Min` node.
 *
 * @example tf.reduceMin(tf.constant([[1, 2], [3, 4]]), 1) // runs to [1 3]
 */
export function reduceMin<
  X extends TensorLike,
  const A extends Axis | ReduceOptions = null,
  const O extends ReduceOptions = Record<never, never>,
>(input: X, axis?: A, options?: O): Tensor<DTypeOf<X>, Folded<X, A, O>>;
export function reduceMin(input: TensorLike, axis?: Axis | ReduceOptions, options: ReduceOptions = {}): Tensor {
  return reduce(Min, input, axis, options);
}

/**
 * Whether all elements along `axis` are true. Adds one `All` node.
 *
 * @example tf.reduceAll(tf.constant([[true, false], [true, true]]), 1) // runs to [False True]
 */
export function reduceAll<
  X extends TensorLike,
  const A extends Axis | ReduceOptions = null,
  const O extends ReduceOptions = Record<never, never>,
>(input: X, axis?: A, options?: O): Tensor<typeof bool, Folded<X, A, O>>;
export function reduceAll(
  input: TensorLike,
  axis?: Axis | ReduceOptions,
  options: ReduceOptions = {},
): Tensor<typeof bool> {
  return reduce(All, input, axis, options) as Tensor<typeof bool>; // All gives bools
}

/**
 * Whether any element along `axis` is true. Adds one `Any` node.
 *
 * @example tf.reduceAny(tf.constant([[true, false], [false, false]]), 1) // runs to [True False]
 */
export function reduceAny<
  X extends TensorLike,
  const A extends Axis | ReduceOptions = null,
  const O extends ReduceOptions = Record<never, never>,
>(input: X, axis?: A, options?: O): Tensor<typeof bool, Folded<X, A, O>>;
export function reduceAny(
  input: TensorLike,
  axis?: Axis | ReduceOptions,
  options: ReduceOptions = {},
): Tensor<typeof bool> {
  return reduce(Any, input, axis, options) as Tensor<typeof bool>; // Any gives bools
}

/**
 * The Euclidean norm of the elements along `axis`, or of all. Adds one `EuclideanNorm` node.
 *
 * @example tf.math.reduceEuclideanNorm(tf.constant([3.5, 12])) // runs to 12.5
 */
export function reduceEuclideanNorm(
  input: TensorLike,
  axis?: Axis | ReduceOptions,
  options: ReduceOptions = {},
): Tensor {
  return reduce(EuclideanNorm, input, axis, options);
}

/**
 * `log(sum(exp(x)))` along `axis`, or of all, computed without overflow. Adds nodes under `ReduceLogSumExp/`.
 *
 * @example tf.reduceLogsumexp(tf.constant([0.5, 0.5])) // runs to 1.1931472
 */
export function reduceLogsumexp<
  X extends TensorLike,
  const A extends Axis | ReduceOptions = null,
  const O extends ReduceOptions = Record<never, never>,
>(input: X, axis?: A, options?: O): Tensor<DTypeOf<X>, Folded<X, A, O>>;
export function reduceLogsumexp(input: TensorLike, given?: Axis | ReduceOptions, last: ReduceOptions = {}): Tensor {
  const options = withAxis(given, last);
  onlyOptions('tf.reduceLogsumexp', options, ...optionNames);
  const axis = axisOf(options);
  const keepdims = keepdimsOf(options);
  return nameScope(options.name ?? 'ReduceLogSumExp', (scope) => {
    const largest = reduceMax(input, axis, { keepdims: true });
    // An infinite maximum would make inf - inf; and it takes no part in the gradient.
    const finite = SelectV2.build({ condition: IsFinite.build({ x: largest }).y, t: largest, e: 0 }).output;
    let shift = stopGradient(finite);
    const result = log(reduceSum(exp(sub(input, shift)), axis, { keepdims }));
    if (!keepdims) shift = reshape(shift, Shape.build({ input: result }).output);
    return scalarIfWhole(add(result, shift, { name: scope }), axis, keepdims);
  });
}

export type SpreadOptions = Pick<ReduceOptions, 'axis' | 'keepdims' | 'name'>;

/**
 * The variance of the elements along `axis`, or of all. Adds nodes under `reduce_variance/`.
 *
 * @example tf.math.reduceVariance(tf.constant([1.5, 2.5])) // runs to 0.25
 */
export function reduceVariance(input: TensorLike, given?: Axis | SpreadOptions, last: SpreadOptions = {}): Tensor {
  const options = withAxis(given, last);
  const { axis, keepdims, name } = onlyOptions('tf.math.reduceVariance', options, 'axis', 'keepdims', 'name');
  return nameScope(name ?? 'reduce_variance', () => {
    const x = convertToTensor(input);
    const means = reduceMean(x, axis, { keepdims: true });
    if (means.dtype.isInteger)
      throw userError(`Input must be either real or complex. Received integer type ${means.dtype}.`);
    const difference = minus(x, means);
    const squares = difference.dtype.isComplex
      ? real(Mul.build({ x: conj(difference), y: difference }).z)
      : square(difference);
    return reduceMean(squares, axis, { keepdims });
  });
}

/**
 * The standard deviation of the elements along `axis`, or of all. Adds nodes under `reduce_std/`.
 *
 * @example tf.math.reduceStd(tf.constant([1.5, 2.5])) // runs to 0.5
 */
export function reduceStd(input: TensorLike, given?: Axis | SpreadOptions, last: SpreadOptions = {}): Tensor {
  const options = withAxis(given, last);
  const { axis, keepdims, name } = onlyOptions('tf.math.reduceStd', options, 'axis', 'keepdims', 'name');
  return nameScope(name ?? 'reduce_std', () => {
    const x = convertToTensor(input);
    return sqrt(reduceVariance(x, axis, { keepdims }));
  });
}

export interface CountOptions extends ReduceOptions {
  /** int64 unless said otherwise. */
  readonly dtype?: DType | undefined;
}

/**
 * How many elements along `axis` are not zero. Adds nodes under `count_nonzero/`.
 *
 * @example tf.countNonzero(tf.constant([0, 3, 0, 5])) // runs to 2
 */
export function countNonzero(input: TensorLike, axis?: Axis | CountOptions, last: CountOptions = {}): Tensor {
  const options = withAxis(axis, last);
  onlyOptions('tf.countNonzero', options, ...optionNames, 'dtype');
  const chosen = axisOf(options);
  const keepdims = keepdimsOf(options);
  return nameScope(options.name ?? 'count_nonzero', () => {
    const x = convertToTensor(input, { name: 'input' });
    const nonzero = x.dtype.isBool ? x : notEqual(x, zeros([], { dtype: x.dtype }));
    return cast(reduceSum(cast(nonzero, int64), chosen, { keepdims }), options.dtype ?? int64);
  });
}

/** @file Mean and variance, and what is built on them: moments, batch normalization, L2 normalization, share of zeros. */
import * as d from '../../core/dtypes.ts';
import { fromElements } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { type Named, withAxis } from '../array/common.ts';
import { gather } from '../array/gather.ts';
import { stopGradient } from '../array/identity.ts';
import { rank, shape } from '../array/shape.ts';
import { squeeze } from '../array/squeeze.ts';
import { add } from '../math/add.ts';
import { cast } from '../math/cast.ts';
import { complex, imag, real } from '../math/complex.ts';
import { divNoNan } from '../math/divide.ts';
import { maximum } from '../math/maximum.ts';
import { multiply } from '../math/multiply.ts';
import { minus, minusOf, plus, times } from '../math/operators.ts';
import { type Axis, reduceMean, reduceProd, reduceSum } from '../math/reductions.ts';
import { reciprocal, rsqrt, square } from '../math/sqrt.ts';
import { squaredDifference, subtract } from '../math/subtract.ts';
import { zerosLike } from '../math/zerosLike.ts';

export interface MomentsOptions {
  readonly keepdims?: boolean | undefined;
  /** The older name of `keepdims`. */
  readonly keepDims?: boolean | undefined;
  readonly name?: string | undefined;
}
/** Mean and variance, in that order. */
export type MeanAndVariance = readonly [mean: Tensor, variance: Tensor];

const keeps = ({ keepdims, keepDims }: MomentsOptions) => keepdims ?? keepDims ?? false;

/**
 * The mean and variance along axes. Adds nodes under `moments/`.
 *
 * @example const [mean, variance] = tf.nn.moments(tf.constant([1.5, 2.5]), [0]) // run to 2 and 0.25
 */
export function moments(x: TensorLike, axes: readonly number[], options: MomentsOptions = {}): MeanAndVariance {
  return nameScope(options.name ?? 'moments', () => {
    const input = convertToTensor(x);
    // float16 has too few digits for sums of squares.
    const half = input.dtype === d.float16;
    const y = half ? cast(input, d.float32) : input;
    const mean = reduceMean(y, axes, { keepdims: true, name: 'mean' });
    const variance = reduceMean(squaredDifference(y, stopGradient(mean)), axes, { keepdims: true, name: 'variance' });
    const results = keeps(options)
      ? [mean, variance]
      : [squeeze(mean, { axis: axes }), squeeze(variance, { axis: axes })];
    const [m, v] = half ? results.map((t) => cast(t, d.float16)) : results;
    return [m!, v!];
  });
}

/**
 * The mean and variance along axes, each element counted as often as its weight says. Adds nodes under
 * `weighted_moments/`.
 *
 * @example const [mean, variance] = tf.nn.weightedMoments(x, [0], weights)
 */
export function weightedMoments(
  x: TensorLike,
  axes: readonly number[],
  frequencyWeights: TensorLike,
  options: MomentsOptions = {},
): MeanAndVariance {
  return nameScope(options.name ?? 'weighted_moments', () => {
    const input = convertToTensor(x, { name: 'x' });
    const given = convertToTensor(frequencyWeights, { name: 'frequency_weights' });
    const half = input.dtype === d.float16;
    const y = half ? cast(input, d.float32) : input;
    const weights = cast(given, y.dtype);
    const sum = reduceSum(times(weights, y), axes, { name: 'weighted_input_sum', keepdims: true });
    const spread = plus(weights, zerosLike(y));
    const total = reduceSum(spread, axes, { name: 'sum_of_weights', keepdims: true });
    const mean = divNoNan(sum, total);
    const distances = times(weights, squaredDifference(y, mean));
    const variance = divNoNan(reduceSum(distances, axes, { name: 'weighted_distsq', keepdims: true }), total);
    const results = keeps(options)
      ? [mean, variance]
      : [squeeze(mean, { axis: axes }), squeeze(variance, { axis: axes })];
    const [m, v] = half ? results.map((t) => cast(t, d.float16)) : results;
    return [m!, v!];
  });
}

/** What `sufficientStatistics` gives: the count, the sum, the sum of squares, and the shift they are relative to. */
export type SufficientStatistics = readonly [count: Tensor, mean: Tensor, variance: Tensor, shift: Tensor | null];

/**
 * The count, sum and sum of squares along axes, from which `normalizeMoments` makes mean and variance. Adds nodes under
 * `sufficient_statistics/`.
 *
 * @example const [count, sum, squares, shift] = tf.nn.sufficientStatistics(x, [0])
 */
export function sufficientStatistics(
  x: TensorLike,
  axes: readonly number[],
  options: MomentsOptions & { shift?: TensorLike | null } = {},
): SufficientStatistics {
  const distinct = [...new Set(axes)];
  const keepdims = keeps(options);
  return nameScope(options.name ?? 'sufficient_statistics', () => {
    const input = convertToTensor(x, { name: 'x' });
    const dims = input.shape;
    const sizes = dims && distinct.map((a) => dims.at(a) ?? null);
    let count: Tensor;
    if (sizes?.every((n) => n !== null))
      count = constantNode(fromElements(input.dtype, [], [sizes.reduce<number>((a, n) => a * n!, 1)]));
    else {
      const inputRank = rank(input);
      const positions = distinct.map((a) => (a < 0 ? plus(a, inputRank) : a));
      count = reduceProd(gather(cast(shape(input), input.dtype), positions), null, { name: 'count' });
    }
    const shift = options.shift == null ? null : convertToTensor(options.shift, { name: 'shift' });
    const centered = shift ? subtract(input, shift) : input;
    const squares = shift ? squaredDifference(input, shift) : square(input);
    const sum = reduceSum(centered, distinct, { keepdims, name: 'mean_ss' });
    return [count, sum, reduceSum(squares, distinct, { keepdims, name: 'var_ss' }), shift] as const;
  });
}

/**
 * Mean and variance from sufficient statistics. Adds nodes under `normalize/`.
 *
 * @example const [mean, variance] = tf.nn.normalizeMoments(count, sum, squares, null)
 */
export function normalizeMoments(
  counts: TensorLike,
  meanSs: TensorLike,
  varianceSs: TensorLike,
  shift: TensorLike | null,
  options: { name?: string } = {},
): MeanAndVariance {
  onlyOptions('tf.nn.normalizeMoments', options, 'name');
  return nameScope(options.name ?? 'normalize', () => {
    const divisor = reciprocal(counts, { name: 'divisor' });
    const shifted = multiply(meanSs, divisor, { name: shift === null ? 'mean' : 'shifted_mean' });
    const mean = shift === null ? shifted : add(shifted, shift, { name: 'mean' });
    const squares = multiply(varianceSs, divisor);
    return [mean, subtract(squares, square(shifted), { name: 'variance' })] as const;
  });
}

/**
 * `(x - mean) / sqrt(variance + epsilon) * scale + offset`. Adds nodes under `batchnorm/`.
 *
 * @example tf.nn.batchNormalization(x, mean, variance, beta, gamma, 1e-3)
 */
export function batchNormalization(
  x: TensorLike,
  mean: TensorLike,
  variance: TensorLike,
  offset: TensorLike | null,
  scale: TensorLike | null,
  varianceEpsilon: TensorLike,
  options: { name?: string } = {},
): Tensor {
  onlyOptions('tf.nn.batchNormalization', options, 'name');
  return nameScope(options.name ?? 'batchnorm', () => {
    const input = convertToTensor(x);
    const root = rsqrt(plus(variance, varianceEpsilon));
    const factor = scale === null ? root : times(root, scale);
    const scaled = times(input, cast(factor, input.dtype));
    const shift = offset === null ? times(minusOf(mean), factor) : minus(offset, times(mean, factor));
    return plus(scaled, cast(shift, input.dtype));
  });
}

interface L2NormalizeOptions extends Named {
  /** May stand here, or alone as the second argument. */
  readonly axis?: Axis | undefined;
  readonly epsilon?: number | undefined;
  /** The old name of `axis`. */
  readonly dim?: Axis | undefined;
}

/**
 * x divided by its Euclidean norm along an axis. Adds nodes under `l2_normalize/`.
 *
 * @example tf.nn.l2Normalize(tf.constant([3.0, 4.5]), 0) // runs to [0.5547002  0.83205026]
 */
export function l2Normalize(x: TensorLike, given?: Axis | L2NormalizeOptions, last: L2NormalizeOptions = {}): Tensor {
  const options = withAxis(given, last);
  onlyOptions('tf.nn.l2Normalize', options, 'axis', 'epsilon', 'name', 'dim');
  if (options.axis != null && options.dim != null) throw userError("Cannot specify both 'axis' and 'dim'");
  const along = options.axis ?? options.dim ?? null;
  const epsilon = options.epsilon ?? 1e-12;
  return nameScope(options.name ?? 'l2_normalize', (name) => {
    const input = convertToTensor(x, { name: 'x' });
    if (!input.dtype.isComplex) {
      const squares = reduceSum(square(input), along, { keepdims: true });
      return multiply(input, rsqrt(maximum(squares, epsilon)), { name });
    }
    const realSquares = square(real(input));
    const imagSquares = square(imag(input));
    const squares = real(reduceSum(plus(realSquares, imagSquares), along, { keepdims: true }));
    const inverse = rsqrt(maximum(squares, epsilon));
    const re = multiply(real(input), inverse);
    const im = multiply(imag(input), inverse);
    return complex(re, im, { name });
  });
}

/** @file Keeping values or norms within bounds: ClipByValue and the tf.clipBy… functions. */
import { type DType, float32, qint16, quint16 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { compatible, sameShape, showRuntime, showShape } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { onlyOptions } from '../../graph/options.ts';
import { colocateWith, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr, numberTypes } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import { complex, type Expr, imag, lt, real, select } from '../../program/map.ts';
import { constant } from '../array/constant.ts';
import { zeros } from '../array/fill.ts';
import { identity } from '../array/identity.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { rank, shape, size } from '../array/shape.ts';
import { stack } from '../array/stack.ts';
import { l2Loss } from '../nn/index.ts';
import { BroadcastGradientArgs } from './broadcast.ts';
import { cast } from './cast.ts';
import { greater, less } from './compare.ts';
import type { NameOption } from './elementwise.ts';
import { logicalOr } from './logical.ts';
import { maximum, minimum } from './maximum.ts';
import { minus, over, plus, times } from './operators.ts';
import { reduceSum } from './reductions.ts';
import { where } from './select.ts';
import { rsqrt, sqrt } from './sqrt.ts';
import { onesLike } from './zerosLike.ts';

/** Compares so that a NaN bound does not bound, and the lower bound wins over a smaller upper one; parts of complex numbers each. */
function clipped(x: Expr, low: Expr, high: Expr): Expr {
  if (x.dtype.isComplex)
    return complex(clipped(real(x), real(low), real(high)), clipped(imag(x), imag(low), imag(high)), x.dtype);
  const below = select(lt(high, x), high, x);
  return select(lt(below, low), low, below);
}

export const ClipByValue = defineOp({
  name: 'ClipByValue',
  inputs: { t: 'T', clip_value_min: 'T', clip_value_max: 'T' },
  outputs: { output: 'T' },
  attrs: { T: attr('type', { allowed: [...numberTypes, qint16, quint16] }) },
  shape: ({ t }) => ({ output: t }),
  grad({ inputs: { t, clip_value_min: low, clip_value_max: high } }, { output: dy }) {
    const st = shape(t);
    const sl = shape(low);
    const sh = shape(high);
    const none = zeros(shape(dy), { dtype: dy.dtype });
    const below = less(t, low);
    const above = greater(t, high);
    const rl = BroadcastGradientArgs.build({ s0: st, s1: sl }).r1;
    const rh = BroadcastGradientArgs.build({ s0: st, s1: sh }).r1;
    const dt = where(logicalOr(below, above), none, dy);
    const forLow = where(below, dy, none);
    const forHigh = where(above, dy, none);
    const dLow = reshape(reduceSum(forLow, rl), sl);
    return { t: dt, clip_value_min: dLow, clip_value_max: reshape(reduceSum(forHigh, rh), sh) };
  },
  lower(p, { t, clip_value_min: low, clip_value_max: high }) {
    for (const bound of [low, high])
      if (bound.shape.length > 0 && !sameShape(bound.shape, t.shape))
        throw new InvalidArgumentError(
          `clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. input shape: ${showRuntime(t.shape)}clip_value_min shape: ${showRuntime(low.shape)}clip_value_max shape: ${showRuntime(high.shape)}`,
        );
    return { output: p.map([t, low, high], (x, a, b) => clipped(x!, a!, b!)) };
  },
  cases: () => [
    { shape: '[2, ?], [], [] -> [2, ?]' },
    { given: { t: [-2, 0.5, 9], clip_value_min: -1, clip_value_max: 1 }, expect: { output: [-1, 0.5, 1] } },
    { given: { t: [-2, 5], clip_value_min: [-3, 0], clip_value_max: [0, 3] }, expect: { output: [-2, 3] } },
    {
      given: { t: [1, 2], clip_value_min: [1, 2, 3], clip_value_max: 9 },
      fails: /must be either of the same shape as input, or a scalar/,
    },
  ],
});

/** The dense tensor of a gradient's values, named as Python names the conversion. */
function valuesOf(t: TensorLike, name: string, hint?: DType): Tensor {
  return convertToTensor(t instanceof IndexedSlices ? t.values : t, { name, hint });
}

/** `values` in the form `t` had: rows stay rows. */
function like(t: TensorLike, values: Tensor): Gradient {
  return t instanceof IndexedSlices ? new IndexedSlices(values, t.indices, t.denseShape) : values;
}

function checkKeepsShape(before: Tensor, after: Tensor): void {
  if (!compatible(before.shape, after.shape))
    throw userError(
      `clipping bounds must not broadcast the values: these are ${showShape(before.shape)}, the result would be ${showShape(after.shape)}.`,
    );
}

/**
 * Values below `min` become `min`, values above `max` become `max`. Adds a `Minimum` node, then a `Maximum` named
 * `clip_by_value`.
 *
 * @example tf.clipByValue([-2, 0.5, 9], -1, 1) // runs to [-1.   0.5  1. ]
 */
export function clipByValue<T extends TensorLike>(
  t: T | null,
  clipValueMin: TensorLike,
  clipValueMax: TensorLike,
  options: NameOption = {},
): Clipped<T> {
  onlyOptions('tf.clipByValue', options, 'name');
  if (t === null)
    throw userError(
      'clipByValue was given null. A gradient is null where the loss does not depend on the variable; leave it out.',
    );
  const clipped = nameScope(options.name ?? 'clip_by_value', (name) => {
    const values = valuesOf(t, 't');
    const below = minimum(values, clipValueMax);
    checkKeepsShape(values, below);
    const inside = maximum(below, clipValueMin, { name });
    checkKeepsShape(values, inside);
    return like(t, inside);
  });
  return clipped as Clipped<T>; // `like` keeps the form
}

/** Sparse gradients stay sparse; anything else becomes a tensor. */
export type Clipped<T> = T extends IndexedSlices ? IndexedSlices : Tensor;

/**
 * `t`, scaled down where its L2 norm (over `axes`, or all) exceeds `clipNorm`. Adds the nodes of the norm under
 * `clip_by_norm/`, then an `Identity` named `clip_by_norm`.
 *
 * @example tf.clipByNorm([3.0, 4.0], 1) // runs to [0.6 0.8]
 */
export function clipByNorm<T extends TensorLike>(
  t: T,
  clipNorm: TensorLike,
  options: NameOption & { readonly axes?: readonly number[] } = {},
): Clipped<T> {
  onlyOptions('tf.clipByNorm', options, 'name', 'axes');
  const clipped = nameScope(options.name ?? 'clip_by_norm', (name) => {
    const values = valuesOf(t, 't', float32);
    const bound = typeof clipNorm === 'number' ? Math.max(clipNorm, 0) : cast(maximum(clipNorm, 0), values.dtype);
    const squares = reduceSum(times(values, values), options.axes, { keepdims: true });
    // The square root has no derivative at 0, so it is taken of 1 there and not used.
    const positive = greater(squares, 0);
    const safe = where(positive, squares, onesLike(squares));
    const norm = where(positive, sqrt(safe), squares);
    const scaled = times(values, bound);
    checkKeepsShape(values, scaled);
    return like(t, identity(over(scaled, maximum(norm, bound)), { name }));
  });
  return clipped as Clipped<T>; // `like` keeps the form
}

/**
 * `t`, scaled down where its L2 norm per element exceeds `clipNorm`. Adds the nodes of the norm under
 * `clip_by_average_norm/`, then an `Identity` of that name.
 *
 * @example tf.clipByAverageNorm([3.0, 4.0], 1.25) // runs to [1.5 2. ]
 */
export function clipByAverageNorm(t: TensorLike, clipNorm: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.clipByAverageNorm', options, 'name');
  return nameScope(options.name ?? 'clip_by_average_norm', (name) => {
    const values = convertToTensor(t, { name: 't', hint: float32 });
    const count = cast(size(values), float32);
    const product = times(values, values);
    const inverseNorm = rsqrt(reduceSum(product, range(rank(values))));
    const scaled = times(values, clipNorm);
    const inverseAverage = times(inverseNorm, count);
    const factor = minimum(inverseAverage, over(constant(1, { dtype: float32 }), clipNorm));
    return identity(times(scaled, factor), { name });
  });
}

/**
 * The L2 norm of all tensors together, `null` ones left out. Adds an `L2Loss` for each, then the sum and its root under
 * `global_norm/`.
 *
 * @example tf.globalNorm([[3.0], [4.0]]) // runs to 5.0
 */
export function globalNorm(tList: readonly (TensorLike | null)[], options: NameOption = {}): Tensor {
  onlyOptions('tf.globalNorm', options, 'name');
  return nameScope(options.name ?? 'global_norm', () => {
    const values = tList.map((t, i) => (t === null ? null : valuesOf(t, `t_${i}`, float32)));
    const halves = values.filter((v) => v !== null).map((v) => colocateWith(v, () => l2Loss(v)));
    const half = reduceSum(stack(halves));
    return sqrt(times(half, constant(2, { dtype: half.dtype })), { name: 'global_norm' });
  });
}

/**
 * All tensors scaled by one factor so that their common L2 norm is at most `clipNorm`; gives them and the norm before.
 * Adds the nodes of `globalNorm`, the factor, and a product and an `Identity` for each tensor.
 *
 * @example tf.clipByGlobalNorm([[3.0], [4.0]], 2.5)[0][1] // runs to [2.]
 */
export function clipByGlobalNorm<T extends TensorLike | null>(
  tList: readonly T[],
  clipNorm: TensorLike,
  options: NameOption & { readonly useNorm?: TensorLike } = {},
): [clipped: (T extends null ? null : Clipped<T>)[], norm: Tensor] {
  const norm = convertToTensor(options.useNorm ?? globalNorm(tList, options));
  const clipped = nameScope(options.name ?? 'clip_by_global_norm', (name) => {
    const inverse = over(1, norm);
    const limit = over(constant(1, { dtype: norm.dtype }), clipNorm);
    const finite = times(clipNorm, minimum(inverse, limit));
    // norm - norm is 0, or NaN when the norm is not finite, which must not pass unnoticed.
    const scale = plus(finite, minus(norm, norm));
    const values = tList.map((t, i) => (t === null ? null : valuesOf(t, `t_${i}`, float32)));
    return values.map((v, i) => {
      if (v === null) return null;
      const scaled = colocateWith(v, () => identity(times(v, cast(scale, v.dtype)), { name: `${name}_${i}` }));
      return like(tList[i]!, scaled);
    });
  });
  return [clipped as (T extends null ? null : Clipped<T>)[], norm]; // `like` keeps the form
}

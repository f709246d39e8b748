/** @file The reductions and products as methods of tensors. */
import type { bool, DType } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import type { AxisIn, KnownShape, Reduce, ShapeOf, Typed } from '../../graph/staticShapes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { type ArgOptions, argmax, argmin } from './argmax.ts';
import { type CumulativeOptions, cumprod, cumsum } from './cumulative.ts';
import { type Factor, type MatmulOptions, type Multiplied, matmul } from './matmul.ts';
import { define } from './methods.ts';
import {
  type Axis,
  type CountOptions,
  countNonzero,
  type Folded,
  type ReduceOptions,
  reduceAll,
  reduceAny,
  reduceEuclideanNorm,
  reduceLogsumexp,
  reduceMax,
  reduceMean,
  reduceMin,
  reduceProd,
  reduceStd,
  reduceSum,
  reduceVariance,
  type SpreadOptions,
} from './reductions.ts';

type NoOptions = Record<never, never>;

/** A reduction as a method: the axis alone or among the options. */
type Reduction = <
  T extends Typed,
  const A extends Axis | ReduceOptions = null,
  const O extends ReduceOptions = NoOptions,
>(
  this: T,
  axis?: A,
  options?: O,
) => Tensor<T['dtype'], Folded<T, A, O>>;
/** As `Reduction`, of conditions. */
type Quantifier = <
  T extends Typed,
  const A extends Axis | ReduceOptions = null,
  const O extends ReduceOptions = NoOptions,
>(
  this: T,
  axis?: A,
  options?: O,
) => Tensor<typeof bool, Folded<T, A, O>>;
/** The position of an element along an axis, the first one unless given. */
type Position = <T extends Typed, const A extends TensorLike | null | ArgOptions = 0>(
  this: T,
  axis?: A,
  options?: ArgOptions,
) => Tensor<DType, KnownShape<Reduce<ShapeOf<T>, AxisIn<A, 0>>>>;

/** A reduction of whose result only the type is known. */
type Spread<O, D extends DType> = (axis?: Axis | O, options?: O) => Tensor<D>;

declare module '../../graph/tensor.ts' {
  interface Tensor<out D extends DType = DType, out S extends Dims = Dims> {
    /** The matrix product, Python's `@`; adds a node named `matmul`. */
    matmul<T extends Typed, B extends TensorLike, const O extends MatmulOptions = NoOptions>(
      this: T,
      b: Factor<T, B, O>,
      options?: O,
    ): Multiplied<T, B, O>;
    reduceSum: Reduction;
    reduceMean: Reduction;
    reduceProd: Reduction;
    reduceMax: Reduction;
    reduceMin: Reduction;
    reduceAll: Quantifier;
    reduceAny: Quantifier;
    reduceLogsumexp: Reduction;
    reduceVariance: Spread<SpreadOptions, D>;
    reduceStd: Spread<SpreadOptions, D>;
    reduceEuclideanNorm: Spread<ReduceOptions, D>;
    countNonzero: Spread<CountOptions, DType>;
    /** The position of the largest element along an axis. */
    argmax: Position;
    /** The position of the smallest element along an axis. */
    argmin: Position;
    cumsum(axis?: TensorLike | CumulativeOptions, options?: CumulativeOptions): Tensor<D, S>;
    cumprod(axis?: TensorLike | CumulativeOptions, options?: CumulativeOptions): Tensor<D, S>;
  }
}

const methods = {
  matmul(this: Tensor, b: TensorLike, options?: MatmulOptions): Tensor {
    return matmul(this, b, { name: 'matmul', ...options });
  },
  cumsum(this: Tensor, axis?: TensorLike | CumulativeOptions, options?: CumulativeOptions): Tensor {
    return cumsum(this, axis, options);
  },
  cumprod(this: Tensor, axis?: TensorLike | CumulativeOptions, options?: CumulativeOptions): Tensor {
    return cumprod(this, axis, options);
  },
};
Object.assign(Tensor.prototype, methods);

type AnyReduction = (input: TensorLike, axis?: Axis | ReduceOptions, options?: ReduceOptions) => Tensor;
const folds: Readonly<Record<string, AnyReduction>> = {
  reduceSum,
  reduceMean,
  reduceProd,
  reduceMax,
  reduceMin,
  reduceAll,
  reduceAny,
  reduceLogsumexp,
  reduceVariance,
  reduceStd,
  reduceEuclideanNorm,
  countNonzero,
};
for (const [name, fold] of Object.entries(folds))
  define(name, function (this: Tensor, axis?: Axis | ReduceOptions, options?: ReduceOptions) {
    return fold(this, axis, options);
  });

type AnyPosition = (input: TensorLike, axis?: TensorLike | null | ArgOptions, options?: ArgOptions) => Tensor;
const positions: Readonly<Record<string, AnyPosition>> = { argmax, argmin };
for (const [name, position] of Object.entries(positions))
  define(name, function (this: Tensor, axis?: TensorLike | null | ArgOptions, options?: ArgOptions) {
    return position(this, axis, options);
  });

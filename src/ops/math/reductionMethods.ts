/** @file The reductions and products as methods of tensors. */
import type { bool, DType } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import { Tensor } from '../../graph/tensor.ts';
import { type ArgOptions, argmax, argmin } from './argmax.ts';
import { type CumulativeOptions, cumprod, cumsum } from './cumulative.ts';
import { type MatmulOptions, matmul } from './matmul.ts';
import {
  type Axis,
  type ReduceOptions,
  reduceAll,
  reduceAny,
  reduceLogsumexp,
  reduceMax,
  reduceMean,
  reduceMin,
  reduceProd,
  reduceSum,
} from './reductions.ts';

declare module '../../graph/tensor.ts' {
  interface Tensor<out D extends DType = DType, out S extends Dims = Dims> {
    /** The matrix product, Python's `@`; adds a node named `matmul`. */
    matmul(b: TensorLike, options?: MatmulOptions): Tensor;
    reduceSum(axis?: Axis, options?: ReduceOptions): Tensor<D>;
    reduceMean(axis?: Axis, options?: ReduceOptions): Tensor<D>;
    reduceProd(axis?: Axis, options?: ReduceOptions): Tensor<D>;
    reduceMax(axis?: Axis, options?: ReduceOptions): Tensor<D>;
    reduceMin(axis?: Axis, options?: ReduceOptions): Tensor<D>;
    reduceAll(axis?: Axis, options?: ReduceOptions): Tensor<typeof bool>;
    reduceAny(axis?: Axis, options?: ReduceOptions): Tensor<typeof bool>;
    reduceLogsumexp(axis?: Axis, options?: ReduceOptions): Tensor<D>;
    /** The position of the largest element along an axis. */
    argmax(axis?: TensorLike | null, options?: ArgOptions): Tensor;
    /** The position of the smallest element along an axis. */
    argmin(axis?: TensorLike | null, options?: ArgOptions): Tensor;
    cumsum(axis?: TensorLike, options?: CumulativeOptions): Tensor<D>;
    cumprod(axis?: TensorLike, options?: CumulativeOptions): Tensor<D>;
  }
}

Tensor.prototype.matmul = function (b, options) {
  return matmul(this, b, { name: 'matmul', ...options });
};

Tensor.prototype.reduceSum = function (axis, options) {
  return reduceSum(this, axis, options);
};
Tensor.prototype.reduceMean = function (axis, options) {
  return reduceMean(this, axis, options);
};
Tensor.prototype.reduceProd = function (axis, options) {
  return reduceProd(this, axis, options);
};
Tensor.prototype.reduceMax = function (axis, options) {
  return reduceMax(this, axis, options);
};
Tensor.prototype.reduceMin = function (axis, options) {
  return reduceMin(this, axis, options);
};
Tensor.prototype.reduceLogsumexp = function (axis, options) {
  return reduceLogsumexp(this, axis, options);
};
Tensor.prototype.argmax = function (axis, options) {
  return argmax(this, axis, options);
};
Tensor.prototype.argmin = function (axis, options) {
  return argmin(this, axis, options);
};
Tensor.prototype.cumsum = function (axis, options) {
  return cumsum(this, axis, options);
};
Tensor.prototype.cumprod = function (axis, options) {
  return cumprod(this, axis, options);
};
Tensor.prototype.reduceAll = function (axis, options) {
  return reduceAll(this, axis, options);
};
Tensor.prototype.reduceAny = function (axis, options) {
  return reduceAny(this, axis, options);
};

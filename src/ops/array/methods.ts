/** @file Methods of tensors that the array ops give them: `x.reshape([2, -1])`, `x.slice('1:, ::2')`. */
import type { DType } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { booleanMask } from './booleanMask.ts';
import type { Named } from './common.ts';
import { expandDims } from './expandDims.ts';
import { type GatherOptions, gather } from './gather.ts';
import { getItem, type SliceSpec } from './getItem.ts';
import { reshape } from './reshape.ts';
import { squeeze } from './squeeze.ts';
import { tile } from './tile.ts';
import { type TransposeOptions, transpose } from './transpose.ts';

declare module '../../graph/tensor.ts' {
  interface Tensor<out D extends DType = DType, out S extends Dims = Dims> {
    /** As `tf.reshape`. */
    reshape(shape: TensorLike, options?: Named): Tensor<D>;
    /** As `tf.transpose`. */
    transpose(perm?: TensorLike | null, options?: TransposeOptions): Tensor<D>;
    /**
     * Python's `x[...]`, as text or as parts: positions, `[start, stop, step]`, `'...'`, `tf.newaxis`, scalar tensors.
     * Adds a `StridedSlice` node named `strided_slice` and its constants.
     *
     * A bool tensor picks as `tf.booleanMask` does.
     *
     * @example x.slice('1:, ::2, ..., newaxis, -1')
     * @example x.slice([[1, null], tf.newaxis, n])
     */
    slice(spec: SliceSpec | Tensor): Tensor<D>;
    /** As `tf.expandDims`. */
    expandDims(axis: TensorLike, options?: Named): Tensor<D>;
    /** As `tf.squeeze`. */
    squeeze(options?: Named & { axis?: number | readonly number[] | undefined }): Tensor<D>;
    /** As `tf.gather`. */
    gather(indices: TensorLike, options?: GatherOptions): Tensor<D>;
    /** As `tf.tile`. */
    tile(multiples: TensorLike, options?: Named): Tensor<D>;
    /** The static shape, as TensorFlow's method of that name. */
    getShape(): S;
  }
}

const methods = {
  reshape(this: Tensor, shape: TensorLike, options?: Named) {
    return reshape(this, shape, options);
  },
  transpose(this: Tensor, perm?: TensorLike | null, options?: TransposeOptions) {
    return transpose(this, perm, options);
  },
  slice(this: Tensor, spec: SliceSpec | Tensor) {
    if (!(spec instanceof Tensor)) return getItem(this, spec);
    return spec.dtype.isBool ? booleanMask(this, spec) : getItem(this, [spec]);
  },
  expandDims(this: Tensor, axis: TensorLike, options?: Named) {
    return expandDims(this, axis, options);
  },
  squeeze(this: Tensor, options?: Named & { axis?: number | readonly number[] | undefined }) {
    return squeeze(this, options);
  },
  gather(this: Tensor, indices: TensorLike, options?: GatherOptions) {
    return gather(this, indices, options);
  },
  tile(this: Tensor, multiples: TensorLike, options?: Named) {
    return tile(this, multiples, options);
  },
  getShape(this: Tensor) {
    return this.shape;
  },
};
Object.assign(Tensor.prototype, methods);

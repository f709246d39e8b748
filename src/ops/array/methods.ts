/** @file Methods of tensors that the array ops give them: `x.reshape([2, -1])`, `x.slice('1:, ::2')`. */
import type { DType } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import type {
  ArgumentIn,
  AxisIn,
  Expand,
  Gather,
  KnownShape,
  Reshape,
  ShapeOf,
  Squeeze,
  Transpose,
  Typed,
} from '../../graph/staticShapes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { booleanMask } from './booleanMask.ts';
import type { Named } from './common.ts';
import { type ExpandDimsOptions, expandDims } from './expandDims.ts';
import { type GatherOptions, gather } from './gather.ts';
import { getItem, type SliceSpec } from './getItem.ts';
import { reshape } from './reshape.ts';
import { type SqueezeAxis, type SqueezeOptions, squeeze } from './squeeze.ts';
import { tile } from './tile.ts';
import { type TransposeOptions, transpose } from './transpose.ts';

declare module '../../graph/tensor.ts' {
  interface Tensor<out D extends DType = DType, out S extends Dims = Dims> {
    /** As `tf.reshape`. */
    reshape<const T extends TensorLike>(shape: T, options?: Named): Tensor<D, KnownShape<Reshape<T>>>;
    /** As `tf.transpose`. */
    transpose<T extends Typed, const P extends TensorLike | null | TransposeOptions | undefined = undefined>(
      this: T,
      perm?: P,
      options?: TransposeOptions,
    ): Tensor<T['dtype'], KnownShape<Transpose<ShapeOf<T>, ArgumentIn<'perm', P, undefined>>>>;
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
    expandDims<T extends Typed, const A extends TensorLike | ExpandDimsOptions>(
      this: T,
      axis: A,
      options?: Named,
    ): Tensor<T['dtype'], KnownShape<Expand<ShapeOf<T>, AxisIn<A, undefined>>>>;
    /** As `tf.squeeze`. */
    squeeze<T extends Typed, const A extends SqueezeAxis | SqueezeOptions | undefined = undefined>(
      this: T,
      axis?: A,
      options?: SqueezeOptions,
    ): Tensor<T['dtype'], KnownShape<Squeeze<ShapeOf<T>, AxisIn<A, undefined>>>>;
    /** As `tf.gather`. */
    gather<T extends Typed, I extends TensorLike, const O extends GatherOptions = Record<never, never>>(
      this: T,
      indices: I,
      options?: O,
    ): Tensor<
      T['dtype'],
      O extends { axis: unknown } | { batchDims: unknown } ? Dims : KnownShape<Gather<ShapeOf<T>, ShapeOf<I>>>
    >;
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
  transpose(this: Tensor, perm?: TensorLike | null | TransposeOptions, options?: TransposeOptions) {
    return transpose(this, perm, options);
  },
  slice(this: Tensor, spec: SliceSpec | Tensor) {
    if (!(spec instanceof Tensor)) return getItem(this, spec);
    return spec.dtype.isBool ? booleanMask(this, spec) : getItem(this, [spec]);
  },
  expandDims(this: Tensor, axis: TensorLike | ExpandDimsOptions, options?: Named) {
    return expandDims(this, axis, options);
  },
  squeeze(this: Tensor, axis?: SqueezeAxis | SqueezeOptions, options?: SqueezeOptions) {
    return squeeze(this, axis, options);
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

/** @file tf.makeTensorProto: a value as the message that graphs, summaries and requests hold. */
import type { DType, TypedArray } from '../core/dtypes.ts';
import type { NDArray, Nested } from '../core/ndarray.ts';
import { type Shape, showShape, sizeOf } from '../core/shape.ts';
import { onlyOptions } from '../graph/options.ts';
import { namingCaller, userError } from '../graph/userError.ts';
import type { TensorProto } from '../proto/tensor.ts';
import { constantToProto } from '../proto/tensorProto.ts';
import { toArray } from './convert.ts';

export interface MakeTensorProtoOptions {
  readonly dtype?: DType | undefined;
  /** The shape; where it has more elements than there are values, the last of them repeats. */
  readonly shape?: Shape | undefined;
  /** Refuses values of another shape. */
  readonly verifyShape?: boolean | undefined;
}

/**
 * A value as a message; `tf.makeNdarray` turns it back.
 *
 * @example tf.makeNdarray(tf.makeTensorProto([1, 2], { shape: [4] })).toArray() // [1, 2, 2, 2]
 */
export function makeTensorProto(
  values: NDArray | TypedArray | Nested,
  options: MakeTensorProtoOptions = {},
): TensorProto {
  const { dtype, shape, verifyShape } = onlyOptions('tf.makeTensorProto', options, 'dtype', 'shape', 'verifyShape');
  return namingCaller(() => {
    const array = toArray(values, dtype);
    if (shape === undefined) return constantToProto(array);
    const isOther = array.shape.length !== shape.length || shape.some((n, i) => n !== array.shape[i]);
    if (verifyShape && isOther)
      throw userError(`Expected Tensor's shape: ${showShape(shape)}, but got ${showShape(array.shape)}.`);
    if (array.size > sizeOf(shape))
      throw userError(
        `Too many elements provided. Takes at most ${sizeOf(shape)}, but got ${array.size}: the shape is ${showShape(shape)}.`,
      );
    return constantToProto(array, shape);
  });
}

/** @file Const: a value fixed when the graph is built. */

import type { DType, TypedArray } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray, zeros } from '../../core/ndarray.ts';
import { type Shape, showShape, sizeOf } from '../../core/shape.ts';
import type { KnownDType, KnownShape, LiteralDType, Reshape, ShapeOf } from '../../graph/staticShapes.ts';
import type { Literal, Tensor } from '../../graph/tensor.ts';
import { namingCaller, userError } from '../../graph/userError.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { constantNode, toArray } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { dtypeOrOptions } from './common.ts';

export const Const = defineOp({
  name: 'Const',
  inputs: {},
  outputs: { output: 'dtype' },
  attrs: { value: attr('tensor'), dtype: anyType },
  literals: 'value',
  shape: (_, { value }) => ({ output: value.shape }),
  grad: notDifferentiable,
  lower(p, _, { value, dtype }) {
    if (value.dtype !== dtype)
      throw new InvalidArgumentError(
        `Type mismatch between value (${value.dtype.runtimeName}) and dtype (${dtype.runtimeName})`,
      );
    if (!isUniform(value)) return { output: p.constant(value) };
    const one = new NDArray(value.dtype, [], value.data.slice(0, value.dtype.entries));
    return { output: { ...p.broadcast(p.constant(one), value.shape), known: value } };
  },
  cases: () => [],
});

/** Smaller constants are not worth a look. */
const largeConstant = 2 ** 16;

/** Whether an array is large and all its elements are the same, as those of `tf.constant(0, { shape })` are. */
function isUniform(array: NDArray): boolean {
  if (array.dtype.isObject || array.bytes.length < largeConstant) return false;
  const { bytes, dtype } = array;
  return Buffer.compare(bytes.subarray(dtype.size), bytes.subarray(0, -dtype.size)) === 0;
}

export interface ConstantOptions {
  readonly dtype?: DType;
  /** Another shape; where it has more elements than there are values, the last value fills the rest. */
  readonly shape?: Shape;
  readonly name?: string;
}

/**
 * A tensor that always has this value. Adds one `Const` node.
 *
 * @example tf.constant([[1, 2.5], [3, 4]]) // runs to [[1.  2.5] [3.  4. ]], float32 because a number has a fraction
 */
export function constant<const V extends Literal | NDArray | TypedArray, const D extends DType>(
  value: V,
  dtype: D,
): Tensor<D, KnownShape<ShapeOf<V>>>;
export function constant<
  const V extends Literal | NDArray | TypedArray,
  const O extends ConstantOptions = Record<never, never>,
>(
  value: V,
  options?: O,
): Tensor<
  O extends { dtype: infer D extends DType } ? D : KnownDType<LiteralDType<V>>,
  O extends { shape: infer S extends Shape } ? KnownShape<Reshape<S>> : KnownShape<ShapeOf<V>>
>;
export function constant(value: Literal | NDArray | TypedArray, options: ConstantOptions | DType = {}): Tensor {
  const { dtype, shape, name = 'Const' } = dtypeOrOptions('tf.constant', options, 'dtype', 'shape', 'name');
  const array = namingCaller(() => toArray(value, dtype));
  return shape ? shaped(array, shape, name) : constantNode(array, name);
}

/** Where a shape has room for more values than there are, the last one fills the rest; the node holds those given. */
function shaped(array: NDArray, shape: Shape, name: string): Tensor {
  const size = sizeOf(shape);
  if (size === 0 && array.size <= 1) return constantNode(zeros(array.dtype, shape), name);
  if (array.size > 0 && array.size <= size) return constantNode(array, name, shape);
  throw userError(
    `Const: ${array.size} values cannot take the shape ${showShape(shape)}, which has ${size} elements. Give as many values or fewer; the last one fills the rest.`,
  );
}

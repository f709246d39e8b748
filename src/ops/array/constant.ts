/** @file Const: a value fixed when the graph is built. */

import type { DType } from '../../core/dtypes.ts';
import { fromElements, type NDArray } from '../../core/ndarray.ts';
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
  isConstant: true,
  shape: (_, { value }) => ({ output: value.shape }),
  grad: notDifferentiable,
  lower: (p, _, { value }) => ({ output: p.constant(value) }),
  cases: () => [],
});

export interface ConstantOptions {
  readonly dtype?: DType;
  /** Another shape of the same size; a single value fills any shape. */
  readonly shape?: Shape;
  readonly name?: string;
}

/**
 * A tensor that always has this value. Adds one `Const` node.
 *
 * @example tf.constant([[1, 2.5], [3, 4]]) // runs to [[1.  2.5] [3.  4. ]], float32 because a number has a fraction
 */
export function constant<const V extends Literal | NDArray, const D extends DType>(
  value: V,
  dtype: D,
): Tensor<D, KnownShape<ShapeOf<V>>>;
export function constant<const V extends Literal | NDArray, const O extends ConstantOptions = Record<never, never>>(
  value: V,
  options?: O,
): Tensor<
  O extends { dtype: infer D extends DType } ? D : KnownDType<LiteralDType<V>>,
  O extends { shape: infer S extends Shape } ? KnownShape<Reshape<S>> : KnownShape<ShapeOf<V>>
>;
export function constant(value: Literal | NDArray, options: ConstantOptions | DType = {}): Tensor {
  const { dtype, shape, name = 'Const' } = dtypeOrOptions('tf.constant', options, 'dtype', 'shape', 'name');
  const array = namingCaller(() => toArray(value, dtype));
  return constantNode(shape ? spread(array, shape) : array, name);
}

function spread(array: NDArray, shape: Shape): NDArray {
  const size = sizeOf(shape);
  if (array.size === size) return array.reshape(shape);
  if (array.size === 1) return fromElements(array.dtype, shape, new Array(size).fill(array.at(0)));
  throw userError(
    `Const: ${array.size} values cannot take the shape ${showShape(shape)}, which has ${size} elements. Give that many values, or one to fill it with.`,
  );
}

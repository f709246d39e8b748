/** @file Const: a value fixed when the graph is built. */
import type { DType } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, type NDArray } from '../../core/ndarray.ts';
import { type Shape, showShape, sizeOf } from '../../core/shape.ts';
import type { Literal, Tensor } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { constantNode, toArray } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';

export const Const = defineOp({
  name: 'Const',
  inputs: {},
  outputs: { output: 'dtype' },
  attrs: { value: attr('tensor'), dtype: anyType },
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
 * @example tf.constant([[1, 2], [3, 4]]) // runs to [[1. 2.] [3. 4.]] as float32 when any number has a fraction, else int32
 */
export function constant(value: Literal | NDArray, options: ConstantOptions = {}): Tensor {
  const array = toArray(value, options.dtype);
  return constantNode(options.shape ? spread(array, options.shape) : array, options.name ?? 'Const');
}

function spread(array: NDArray, shape: Shape): NDArray {
  const size = sizeOf(shape);
  if (array.size === size) return array.reshape(shape);
  if (array.size === 1) return fromElements(array.dtype, shape, new Array(size).fill(array.at(0)));
  throw new InvalidArgumentError(
    `Const: ${array.size} values cannot take the shape ${showShape(shape)}, which has ${size} elements. Give that many values, or one to fill it with.`,
  );
}

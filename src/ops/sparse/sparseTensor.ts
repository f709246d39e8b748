/** @file What sparse tensors need of the ops: conversion of literals, static shapes, placeholders. */
import { type DType, int64 } from '../../core/dtypes.ts';
import { fromElements } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { onlyOptions, withArgument } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor, setSparseTensorParts } from '../../graph/sparseTensor.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { partialValueOf } from '../../op/constantValue.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import type { Named } from '../array/common.ts';
import { type PlaceholderOptions, placeholder, placeholderWithDefault } from '../array/placeholder.ts';

function staticShape(denseShape: Tensor): Dims {
  const known = partialValueOf(denseShape);
  if (known) return known.map((size) => (size === null || size < 0 ? null : size));
  const rank = denseShape.shape?.[0];
  return rank == null ? null : new Array<null>(rank).fill(null);
}

setSparseTensorParts({
  convert: (indices, values, denseShape) =>
    nameScope('SparseTensor', () => [
      convertToTensor(indices, { name: 'indices', dtype: int64 }),
      convertToTensor(values, { name: 'values' }),
      convertToTensor(denseShape, { name: 'dense_shape', dtype: int64 }),
    ]),
  staticShape,
});

/**
 * A sparse tensor to be fed, with a `tf.SparseTensorValue` or its three parts. Adds placeholders for the shape, the values
 * and the positions.
 *
 * @example const x = tf.sparse.placeholder(tf.float32, [null, 1000]);
 */
export function sparsePlaceholder(dtype: DType, shape?: Dims, options?: Named): SparseTensor;
export function sparsePlaceholder(dtype: DType, options: PlaceholderOptions): SparseTensor;
export function sparsePlaceholder(
  dtype: DType,
  given?: Dims | PlaceholderOptions,
  last: PlaceholderOptions = {},
): SparseTensor {
  const options = withArgument('shape', given, last);
  const { shape, name } = onlyOptions('tf.sparse.placeholder', options, 'shape', 'name');
  const under = (part: string) => (name === undefined ? {} : { name: `${name}/${part}` });
  const rank = shape?.length ?? null;
  const denseShape = shape
    ? placeholderWithDefault(
        constantNode(
          fromElements(
            int64,
            [shape.length],
            shape.map((size) => size ?? -1),
          ),
          name === undefined ? 'Const' : `${name}/shape_default`,
        ),
        [rank],
        under('shape'),
      )
    : placeholder(int64, [null], under('shape'));
  const values = placeholder(dtype, [null], under('values'));
  const indices = placeholder(int64, [null, rank], under('indices'));
  const result = new SparseTensor(indices, values, denseShape);
  if (shape) result.setShape(shape);
  return result;
}

/** @file SparseToDense: a tensor from the positions and values of some of its elements. */
import { int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { Int64s } from '../../core/int64s.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Shape, showRuntime, showShape, sizeOf, stridesOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { concreteShape, dimsFrom, filled, int32or64 } from '../array/common.ts';
import { zeros } from '../array/fill.ts';
import { gatherNd } from '../array/gatherNd.ts';
import { minus } from '../math/operators.ts';
import { reduceSum } from '../math/reductions.ts';
import { zerosLike } from '../math/zerosLike.ts';

/** The place of every row of indices in the flat tensor. With `ordered`, rows must rise and none may be repeated. */
async function flatPlaces(indices: NDArray, shape: Shape, ordered: boolean): Promise<NDArray> {
  const strides = stridesOf(shape);
  const rank = shape.length;
  const count = rank === 0 ? indices.size : indices.size / rank;
  const at = indices.numberReader();
  const places = new Int64s(count);
  let before = -1;
  const shown = (i: number) => `indices[${i}] = [${shape.map((_, axis) => at(i * rank + axis)).join(',')}]`;
  await eachInTurns(count, (i) => {
    let place = 0;
    for (let axis = 0; axis < rank; axis++) {
      const index = at(i * rank + axis);
      if (index < 0 || index >= shape[axis]!)
        throw new InvalidArgumentError(`${shown(i)} is out of bounds: need 0 <= index < [${shape.join(',')}]`);
      place += index * strides[axis]!;
    }
    if (ordered && place === before) throw new InvalidArgumentError(`${shown(i)} is repeated`);
    if (ordered && place < before)
      throw new InvalidArgumentError(
        `${shown(i)} is out of order. Many sparse ops require sorted indices.\n    Use \`tf.sparse.reorder\` to create a correctly ordered copy.\n\n`,
      );
    before = place;
    places.set(i, place);
  });
  return new NDArray(int64, [count], places.data);
}

export const SparseToDense = defineOp({
  name: 'SparseToDense',
  inputs: { sparse_indices: 'Tindices', output_shape: 'Tindices', sparse_values: 'T', default_value: 'T' },
  outputs: { dense: 'T' },
  attrs: { validate_indices: attr('bool', { default: true }), T: anyType, Tindices: int32or64 },
  hostInputs: ['output_shape'],
  shape({ default_value, sparse_indices }, _, context) {
    if (default_value !== null && default_value.length > 0)
      throw new InvalidArgumentError(`default_value is ${showShape(default_value)}, but must be a scalar.`);
    if (sparse_indices !== null && sparse_indices.length > 2)
      throw new InvalidArgumentError(`sparse_indices is ${showShape(sparse_indices)}, but must have rank 2 at most.`);
    return { dense: dimsFrom(context.partial('output_shape')) };
  },
  grad({ inputs: { sparse_indices, output_shape } }, { dense: dy }) {
    const picked = gatherNd(dy, sparse_indices);
    const all = reduceSum(dy);
    const rest = minus(all, reduceSum(picked));
    const none = zerosLike(sparse_indices);
    return {
      sparse_indices: none,
      output_shape: zerosLike(output_shape),
      sparse_values: picked,
      default_value: rest,
    };
  },
  lower(p, { sparse_indices, output_shape, sparse_values, default_value }, { validate_indices }) {
    const shape = concreteShape(p, output_shape, 'output_shape');
    const given = sparse_indices.shape;
    const count = given.length === 0 ? 1 : given[0]!;
    const width = given.length < 2 ? 1 : given[1]!;
    if (given.length > 2)
      throw new InvalidArgumentError(
        `sparse_indices should be a scalar, vector, or matrix, got shape ${showRuntime(given)}`,
      );
    if (width !== shape.length)
      throw new InvalidArgumentError(
        `output_shape has incorrect number of elements: ${shape.length} should be: ${width}`,
      );
    if (sparse_values.shape.length > 1 || (sparse_values.shape.length === 1 && sparse_values.shape[0] !== count))
      throw new InvalidArgumentError(
        `sparse_values has incorrect shape ${showRuntime(sparse_values.shape)}, should be [] or [${count}]`,
      );
    if (default_value.shape.length > 0)
      throw new InvalidArgumentError(
        `default_value should be a scalar, not of shape ${showRuntime(default_value.shape)}`,
      );
    const [places] = p.host([sparse_indices], [{ dtype: int64, shape: [count] }], async ([indices]) => [
      await flatPlaces(indices!, shape, validate_indices),
    ]);
    const target = filled(p, p.reshape(default_value, [1, 1]), [sizeOf(shape), 1]);
    const updates = p.reshape(p.broadcast(p.reshape(sparse_values, [sizeOf(sparse_values.shape), 1]), [count, 1]), [
      count,
      1,
    ]);
    p.scatter('update', target, p.reshape(places!, [count, 1]), updates);
    return { dense: p.reshape(target, shape) };
  },
  cases: () => [
    {
      shape: '[?, 2], [2], [?], [] -> [3, 4]',
      given: { output_shape: { dtype: 'int32', value: [3, 4] } },
    },
    { shape: '[2], ?, [2], [] -> ?' },
    { shape: '[2], [1], [2], [1]', rejects: /default_value is \[1\], but must be a scalar/ },
    {
      given: {
        sparse_indices: {
          dtype: 'int64',
          value: [
            [0, 0],
            [1, 2],
          ],
        },
        output_shape: { dtype: 'int64', value: [2, 3] },
        sparse_values: [1.5, 2.5],
        default_value: 0.5,
      },
      expect: {
        dense: [
          [1.5, 0.5, 0.5],
          [0.5, 0.5, 2.5],
        ],
      },
    },
    {
      given: {
        sparse_indices: { dtype: 'int32', value: [1, 3] },
        output_shape: { dtype: 'int32', value: [4] },
        sparse_values: { dtype: 'string', value: 'a' },
        default_value: { dtype: 'string', value: '' },
      },
      expect: { dense: { dtype: 'string', value: ['', 'a', '', 'a'] } },
    },
    {
      given: {
        sparse_indices: { dtype: 'int32', value: [3, 1] },
        output_shape: { dtype: 'int32', value: [4] },
        sparse_values: [1, 2],
        default_value: 0,
      },
      fails: /indices\[1\] = \[1\] is out of order/,
    },
    {
      given: {
        sparse_indices: { dtype: 'int32', value: [4] },
        output_shape: { dtype: 'int32', value: [4] },
        sparse_values: [1],
        default_value: 0,
      },
      fails: /indices\[0\] = \[4\] is out of bounds: need 0 <= index < \[4\]/,
    },
  ],
});

interface ToDenseOptions {
  readonly defaultValue?: TensorLike | undefined;
  /** False allows positions that are repeated or not in order. */
  readonly validateIndices?: boolean | undefined;
  readonly name?: string | undefined;
}

/**
 * A tensor with `sparseValues` at `sparseIndices` and a default elsewhere. Adds one `SparseToDense` node.
 *
 * @example tf.sparseToDense([1, 3], [4], 1.5) // runs to [0.  1.5 0.  1.5]
 */
export function sparseToDense(
  sparseIndices: TensorLike,
  outputShape: TensorLike,
  sparseValues: TensorLike,
  options: ToDenseOptions = {},
): Tensor {
  onlyOptions('tf.sparseToDense', options, 'defaultValue', 'validateIndices', 'name');
  return SparseToDense.build(
    {
      sparse_indices: sparseIndices,
      output_shape: outputShape,
      sparse_values: sparseValues,
      default_value: options.defaultValue ?? 0,
    },
    { name: options.name, attrs: { validate_indices: options.validateIndices ?? true } },
  ).dense;
}

/**
 * A sparse tensor as a tensor. Adds one `SparseToDense` node.
 *
 * @example tf.sparse.toDense(new tf.SparseTensor([[0, 0], [1, 1]], [1, 2], [2, 2])) // runs to [[1 0] [0 2]]
 */
export function sparseTensorToDense(input: SparseTensor, options: ToDenseOptions = {}): Tensor {
  const { defaultValue, ...rest } = options;
  const given = defaultValue ?? zeros([], { dtype: input.dtype });
  return sparseToDense(input.indices, input.denseShape, input.values, { ...rest, defaultValue: given });
}

/** @file SparseReorder: the elements of a sparse tensor in row-major order; and sparseMerge, which puts ids in the positions. */
import { int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { risingOrder } from '../../core/risingOrder.ts';
import { isFullyDefined, showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { anyType } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { type Named, ofRank } from '../array/common.ts';
import { concat } from '../array/concat.ts';
import { expandDims } from '../array/expandDims.ts';
import { gather } from '../array/gather.ts';
import { getItem } from '../array/getItem.ts';
import { identity } from '../array/identity.ts';
import { range } from '../array/range.ts';
import { shape } from '../array/shape.ts';
import { invertPermutation } from '../array/transpose.ts';
import { cast } from '../math/cast.ts';

/** The order in which the rows of a matrix of positions rise; equal ones stay as they are. */
async function risingRows(indices: NDArray): Promise<Int32Array> {
  const [count, rank] = indices.shape as readonly [number, number]; // a matrix
  const at = indices.numberReader();
  let order: Int32Array | undefined;
  // By the last column first: sorting by the others leaves the order of equal rows as it is.
  for (let axis = rank - 1; axis >= 0; axis--) {
    const keys = new Float64Array(count);
    const before = order;
    await eachInTurns(count, (i) => {
      keys[i] = at((before ? before[i]! : i) * rank + axis);
    });
    const next = await risingOrder(keys);
    if (before)
      await eachInTurns(count, (i) => {
        next[i] = before[next[i]!]!;
      });
    order = next;
  }
  return order ?? new Int32Array(count).map((_, i) => i);
}

/** Rows of an array in another order. */
async function reordered(array: NDArray, order: Int32Array): Promise<NDArray> {
  const width = array.shape.slice(1).reduce((a, b) => a * b, 1) * array.dtype.entries;
  if (array.dtype.isObject) {
    const objects = new Array<object>(order.length);
    await eachInTurns(order.length, (i) => {
      objects[i] = array.objects[order[i]!]!;
    });
    return new NDArray(array.dtype, array.shape, objects);
  }
  const from = array.data;
  const result = array.dtype.allocate(array.size);
  await eachInTurns(order.length, (i) => {
    for (let k = 0; k < width; k++) result[i * width + k] = from[order[i]! * width + k]!;
  });
  return new NDArray(array.dtype, array.shape, result);
}

export const SparseReorder = defineOp({
  name: 'SparseReorder',
  inputs: { input_indices: 'int64', input_values: 'T', input_shape: 'int64' },
  outputs: { output_indices: 'int64', output_values: 'T' },
  attrs: { T: anyType },
  shape({ input_indices, input_values, input_shape }) {
    ofRank(input_indices, 2, 'input_indices');
    ofRank(input_values, 1, 'input_values');
    ofRank(input_shape, 1, 'input_shape');
    return { output_indices: input_indices ?? [null, null], output_values: input_values ?? [null] };
  },
  grad: ({ inputs }, { output_values }) => {
    const entries = getItem(shape(inputs.input_indices), [0]);
    const unordered = new SparseTensor(inputs.input_indices, range(entries), inputs.input_shape);
    const ordered = sparseReorder(unordered);
    return { input_values: gather(output_values as Tensor, invertPermutation(ordered.values)) }; // values are dense
  },
  lower(p, { input_indices, input_values, input_shape }) {
    if (input_indices.shape.length !== 2)
      throw new InvalidArgumentError(
        `Input indices should be a matrix but received shape ${showRuntime(input_indices.shape)}`,
      );
    if (input_values.shape.length !== 1)
      throw new InvalidArgumentError(
        `Input values should be a vector but received shape ${showRuntime(input_values.shape)}`,
      );
    if (input_shape.shape.length !== 1)
      throw new InvalidArgumentError(
        `Input shape should be a vector but received shape ${showRuntime(input_shape.shape)}`,
      );
    if (input_indices.shape[0] !== input_values.shape[0] || input_indices.shape[1] !== input_shape.shape[0])
      throw new InvalidArgumentError(
        `Number of elements of indices ${showRuntime(input_indices.shape)}, values ${showRuntime(input_values.shape)} and shape ${showRuntime(input_shape.shape)} do not match`,
      );
    const results = [input_indices, input_values].map(({ dtype, shape: sizes }) => ({ dtype, shape: sizes }));
    const [output_indices, output_values] = p.host(
      [input_indices, input_values],
      results,
      async ([indices, values]) => {
        const order = await risingRows(indices!);
        return [await reordered(indices!, order), await reordered(values!, order)];
      },
      { borrows: true },
    );
    return { output_indices: output_indices!, output_values: output_values! };
  },
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[?, 2], [5], [2] -> [?, 2], [5]' },
    { shape: '[?], [5], [2]', rejects: /rank/ },
    {
      given: { input_indices: { dtype: 'int64', value: [[2, 0], [0, 3], [0, 1]] }, input_values: [1, 2, 3], input_shape: { dtype: 'int64', value: [3, 4] } },
      expect: { output_indices: { dtype: 'int64', value: [[0, 1], [0, 3], [2, 0]] }, output_values: [3, 2, 1] },
    },
    {
      given: { input_indices: { dtype: 'int64', value: [[1], [0]] }, input_values: ['b', 'a'], input_shape: { dtype: 'int64', value: [2] } },
      expect: { output_values: ['a', 'b'] },
    },
    { given: { input_indices: { dtype: 'int64', value: [], shape: [0, 2] }, input_values: { dtype: 'int32', value: [], shape: [0] }, input_shape: { dtype: 'int64', value: [2, 2] } }, expect: { output_indices: { dtype: 'int64', value: [], shape: [0, 2] } } },
  ],
});

/** The elements of a sparse tensor in row-major order. Adds one `SparseReorder` node. */
export function sparseReorder(spInput: SparseTensor, options: Named = {}): SparseTensor {
  const { name } = onlyOptions('tf.sparse.reorder', options, 'name');
  const { indices, values, denseShape } = spInput;
  const { output_indices, output_values } = SparseReorder.build(
    { input_indices: indices, input_values: values, input_shape: denseShape },
    { name },
  );
  if (isFullyDefined(spInput.shape)) return new SparseTensor(output_indices, output_values, spInput.shape);
  const result = new SparseTensor(output_indices, output_values, identity(denseShape));
  result.setShape(spInput.shape);
  return result;
}

export interface SparseMergeOptions {
  readonly name?: string | undefined;
  /** The elements are in order already. */
  readonly alreadySorted?: boolean | undefined;
}

/**
 * A sparse tensor whose last positions are ids: `spIds` says where each of `spValues` stands along an axis of `vocabSize`.
 * With lists, one axis per id. Adds nodes under `SparseMerge/`.
 */
export function sparseMerge(
  spIds: SparseTensor | readonly SparseTensor[],
  spValues: SparseTensor,
  vocabSize: TensorLike | readonly TensorLike[],
  options: SparseMergeOptions = {},
): SparseTensor {
  const { name = 'SparseMerge', alreadySorted = false } = onlyOptions(
    'tf.sparseMerge',
    options,
    'name',
    'alreadySorted',
  );
  const all = spIds instanceof SparseTensor ? [spIds] : spIds;
  const sizes = spIds instanceof SparseTensor ? [vocabSize as TensorLike] : (vocabSize as readonly TensorLike[]); // as the ids are
  if (!Array.isArray(sizes) || all.length !== sizes.length)
    throw userError('sp_ids and vocab_size have to have equal lengths.');
  return nameScope(name, () => {
    const ids = all.map(({ values }) => expandDims(values.dtype === int64 ? values : cast(values, int64), 1));
    const lengths = sizes.map((size) => cast(size, int64));
    const { indices, denseShape } = all[0]!;
    const newIndices = concat([getItem(indices, ':, :-1'), ...ids], 1);
    const newShape = concat([getItem(denseShape, ':-1'), lengths as TensorLike], 0);
    const result = new SparseTensor(newIndices, spValues.values, newShape);
    if (alreadySorted) return result;
    const sorted = sparseReorder(result);
    return new SparseTensor(sorted.indices, sorted.values, newShape);
  });
}

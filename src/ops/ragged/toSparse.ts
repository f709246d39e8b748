/** @file RaggedTensorToSparse: the values of a ragged tensor with their positions. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { Int64s } from '../../core/int64s.ts';
import { intVector, NDArray } from '../../core/ndarray.ts';
import { type Shape, sizeOf, stridesOf } from '../../core/shape.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import { atLeastRank, knownSize, ofRank } from '../array/common.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { Tsplits } from './kit.ts';

function checkSplits(splits: readonly number[], count: number): void {
  if (splits.length === 0) throw new InvalidArgumentError('ragged splits may not be empty.');
  if (splits[0] !== 0) throw new InvalidArgumentError('First value of ragged splits must be 0.');
  for (let i = 1; i < splits.length; i++)
    if (splits[i]! < splits[i - 1]!)
      throw new InvalidArgumentError(
        `Ragged splits should be non decreasing, but we got ${splits[i - 1]} followed by ${splits[i]}`,
      );
  if (splits.at(-1) !== count)
    throw new InvalidArgumentError(
      'Final value of ragged splits must match the length the corresponding ragged values.',
    );
}

/** The positions of so many elements of the innermost ragged axis along the ragged axes, one element after the other. */
async function positionsOf(levels: readonly (readonly number[])[], count: number): Promise<Int32Array> {
  const axes = levels.length + 1;
  const positions = new Int32Array(count * axes);
  /** Where an element, or the row that it is in, is among all elements or rows of an axis. */
  const at = new Int32Array(count);
  for (let i = 0; i < count; i++) at[i] = i;
  for (let axis = axes - 1; axis > 0; axis--) {
    const splits = levels[axis - 1]!;
    let row = 0; // they rise
    await eachInTurns(count, (i) => {
      while (splits[row + 1]! <= at[i]!) row++;
      positions[i * axes + axis] = at[i]! - splits[row]!;
      at[i] = row;
    });
  }
  await eachInTurns(count, (i) => {
    positions[i * axes] = at[i]!;
  });
  return positions;
}

/** Positions along so many axes with those inside each value behind them. */
async function withInner(outer: Int32Array, axes: number, inner: Shape): Promise<NDArray> {
  const [size, rank, strides] = [sizeOf(inner), inner.length, stridesOf(inner)];
  const count = (outer.length / axes) * size;
  const width = axes + rank;
  const indices = new Int64s(count * width);
  await eachInTurns(count, (i) => {
    const value = Math.floor(i / size);
    for (let axis = 0; axis < axes; axis++) indices.set(i * width + axis, outer[value * axes + axis]!);
    for (let axis = 0; axis < rank; axis++)
      indices.set(i * width + axes + axis, Math.floor(i / strides[axis]!) % inner[axis]!);
  });
  return new NDArray(d.int64, [count, width], indices.data);
}

function longest(splits: readonly number[]): number {
  let most = 0;
  for (let i = 1; i < splits.length; i++) most = Math.max(most, splits[i]! - splits[i - 1]!);
  return most;
}

const ints = (value: readonly number[] | readonly (readonly number[])[]) => ({ dtype: 'int64' as const, value });

export const RaggedTensorToSparse = defineOp({
  name: 'RaggedTensorToSparse',
  inputs: { rt_nested_splits: 'RAGGED_RANK * Tsplits', rt_dense_values: 'T' },
  outputs: { sparse_indices: 'int64', sparse_values: 'T', sparse_dense_shape: 'int64' },
  attrs: { RAGGED_RANK: attr('int', { minimum: 1 }), T: anyType, Tsplits },
  shape(dims, { RAGGED_RANK }) {
    for (const splits of dims.rt_nested_splits) ofRank(splits, 1, 'rt_nested_splits');
    const values = atLeastRank(dims.rt_dense_values, 1, 'rt_dense_values');
    const [count, rank] = [knownSize(values), values && RAGGED_RANK + values.length];
    return { sparse_indices: [count, rank], sparse_values: [count], sparse_dense_shape: [rank] };
  },
  grad: ({ inputs }, dy) => ({
    rt_dense_values: reshape(convertToTensor(dy.sparse_values), shape(inputs.rt_dense_values)),
  }),
  lower(p, { rt_nested_splits, rt_dense_values }) {
    const [rows = 0, ...inner] = rt_dense_values.shape;
    const rank = rt_nested_splits.length + 1 + inner.length;
    const results = [
      { dtype: d.int64, shape: [sizeOf(rt_dense_values.shape), rank] },
      { dtype: d.int64, shape: [rank] },
    ];
    const [sparse_indices, sparse_dense_shape] = p.host(rt_nested_splits, results, async (nested) => {
      const levels = nested.map((splits) => splits.numbers());
      for (const [i, splits] of levels.entries()) {
        const next = levels[i + 1];
        checkSplits(splits, next ? next.length - 1 : rt_dense_values.shape.length === 0 ? -1 : rows);
      }
      const indices = await withInner(await positionsOf(levels, rows), levels.length + 1, inner);
      return [indices, intVector([levels[0]!.length - 1, ...levels.map(longest), ...inner], d.int64)];
    });
    const sparse_values = p.reshape(rt_dense_values, [sizeOf(rt_dense_values.shape)]);
    return { sparse_indices: sparse_indices!, sparse_values, sparse_dense_shape: sparse_dense_shape! };
  },
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[4], [?] -> [?, 2], [?], [2]', attrs: { RAGGED_RANK: 1 } },
    { shape: '[4], ?, [5, 2] -> [10, 4], [10], [4]', attrs: { RAGGED_RANK: 2 } },
    { shape: '[4], ? -> [?, ?], [?], [?]', attrs: { RAGGED_RANK: 1 } },
    { shape: '[4, 1], [2]', attrs: { RAGGED_RANK: 1 }, rejects: /rank 1/ },
    {
      given: { rt_nested_splits: [ints([0, 2, 2, 5])], rt_dense_values: [1, 2, 3, 4, 5] },
      expect: { sparse_indices: ints([[0, 0], [0, 1], [2, 0], [2, 1], [2, 2]]), sparse_values: [1, 2, 3, 4, 5], sparse_dense_shape: ints([3, 3]) },
    },
    {
      given: { rt_nested_splits: [ints([0, 1, 2])], rt_dense_values: [['a', 'b'], ['c', 'd']] },
      expect: { sparse_indices: ints([[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]]), sparse_values: ['a', 'b', 'c', 'd'], sparse_dense_shape: ints([2, 1, 2]) },
    },
    {
      given: { rt_nested_splits: [ints([0, 2, 3]), ints([0, 2, 2, 5])], rt_dense_values: [1, 2, 3, 4, 5] },
      expect: { sparse_indices: ints([[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1], [1, 0, 2]]), sparse_values: [1, 2, 3, 4, 5], sparse_dense_shape: ints([2, 2, 3]) },
    },
    {
      given: { rt_nested_splits: [ints([0])], rt_dense_values: { dtype: 'float32', value: [], shape: [0] } },
      expect: { sparse_indices: { dtype: 'int64', value: [], shape: [0, 2] }, sparse_values: { dtype: 'float32', value: [], shape: [0] }, sparse_dense_shape: ints([0, 0]) },
    },
    { given: { rt_nested_splits: [ints([1, 2])], rt_dense_values: [1, 2] }, fails: /First value of ragged splits must be 0/ },
    { given: { rt_nested_splits: [ints([0, 2, 1, 2])], rt_dense_values: [1, 2] }, fails: /non decreasing, but we got 2 followed by 1/ },
    { given: { rt_nested_splits: [ints([0, 1])], rt_dense_values: [1, 2] }, fails: /Final value of ragged splits must match/ },
  ],
});

/** @file SparseConcat, `sparseConcat` and `sparseRetain`: sparse tensors side by side, and some of the elements of one. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { intVector, type NDArray } from '../../core/ndarray.ts';
import { risingOrder } from '../../core/risingOrder.ts';
import { type Dims, isFullyDefined, normalizeAxis, showRuntime, sizeOf, stridesOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { mergeDim, type Named, ofRank } from '../array/common.ts';
import { gather } from '../array/gather.ts';
import { identity } from '../array/identity.ts';
import { where } from '../array/index.ts';
import { reshape } from '../array/reshape.ts';
import { indexMatrix, wideVector } from './parts.ts';

/** Where the elements of the parts come to lie: their positions, in order, and which element each was. */
async function merged(indices: readonly NDArray[], shapes: readonly NDArray[], concatDim: number) {
  const sizes = shapes.map((s) => s.numbers());
  const [first] = sizes as [number[]]; // at least two parts
  const rank = first.length;
  const axis = concatDim < 0 ? rank + concatDim : concatDim;
  if (axis < 0 || axis >= rank)
    throw new InvalidArgumentError(`Concat dimension must be in range [${-rank}, ${rank}), got ${concatDim}`);
  const shape = [...first];
  /** Where each part begins along the axis. */
  const starts: number[] = [];
  let start = 0;
  for (const [i, own] of sizes.entries()) {
    if (own.length !== rank)
      throw new InvalidArgumentError(
        `Ranks of all input tensors must match: expected ${rank} but got ${own.length} at position ${i}`,
      );
    for (const [j, size] of own.entries())
      if (j !== axis && size !== first[j])
        throw new InvalidArgumentError(
          `Input shapes must match: expected ${first[j]} for dimension ${j} but got ${size} at position ${i}`,
        );
    const count = indices[i]!.shape[0]!;
    if (count > 0 && sizeOf(own) === 0)
      throw new InvalidArgumentError(
        `SparseTensor cannot have non-zero indices if dense shape has zero volume: dense_shape = ${own} with nnz = ${count} at position ${i}`,
      );
    starts.push(start);
    start += own[axis]!;
  }
  shape[axis] = start;
  const strides = stridesOf(shape);
  const places = new Float64Array(indices.reduce((sum, own) => sum + own.shape[0]!, 0));
  let next = 0;
  for (const [i, own] of indices.entries()) {
    const at = own.numberReader();
    await eachInTurns(own.shape[0]!, (k) => {
      let place = starts[i]! * strides[axis]!;
      for (let j = 0; j < rank; j++) place += at(k * rank + j) * strides[j]!;
      places[next++] = place;
    });
  }
  const order = await risingOrder(places);
  return {
    shape,
    order,
    rows: await indexMatrix(
      Float64Array.from(order, (i) => places[i]!),
      shape,
    ),
  };
}

export const SparseConcat = defineOp({
  name: 'SparseConcat',
  inputs: { indices: 'N * int64', values: 'N * T', shapes: 'N * int64' },
  outputs: { output_indices: 'int64', output_values: 'T', output_shape: 'int64' },
  attrs: { concat_dim: attr('int'), N: attr('int', { minimum: 2 }), T: anyType },
  shape({ indices, values, shapes }) {
    let rank: number | null = null;
    let rows: number | null = 0;
    for (const [i, own] of indices.entries()) {
      const [count, columns] = ofRank(own, 2, 'indices');
      const [length] = ofRank(values[i] as Dims, 1, 'values');
      const part = mergeDim(count!, length!, 'rows of indices and values');
      rank = mergeDim(rank, columns!, 'ranks of the inputs');
      rank = mergeDim(rank, ofRank(shapes[i] as Dims, 1, 'shapes')[0]!, 'ranks of the inputs');
      rows = rows === null || part === null ? null : rows + part;
    }
    return { output_indices: [rows, rank], output_values: [rows], output_shape: [rank] };
  },
  grad: notDifferentiable,
  lower(p, { indices, values, shapes }, { concat_dim }) {
    const n = indices.length;
    for (const [i, own] of indices.entries()) {
      if (own.shape.length !== 2)
        throw new InvalidArgumentError(
          `Input indices should be a matrix but received shape ${showRuntime(own.shape)} at position ${i}`,
        );
      if (values[i]!.shape.length !== 1 || values[i]!.shape[0] !== own.shape[0])
        throw new InvalidArgumentError(
          `Indices and values rows (indexing dimension) must match: indices = ${own.shape[0]}, values = ${values[i]!.shape[0]} at position ${i}`,
        );
      if (shapes[i]!.shape.length !== 1 || shapes[i]!.shape[0] !== own.shape[1])
        throw new InvalidArgumentError(
          `Indices rank and shape rank must match: indices = ${own.shape[1]}, shape = ${shapes[i]!.shape[0]} at position ${i}`,
        );
    }
    const [count, rank] = [indices.reduce((sum, own) => sum + own.shape[0]!, 0), indices[0]!.shape[1]!];
    const results = [
      { dtype: d.int64, shape: [count, rank] },
      { dtype: d.int64, shape: [count] },
      { dtype: d.int64, shape: [rank] },
    ];
    const [places, order, shape] = p.host([...indices, ...shapes], results, async (arrays) => {
      const found = await merged(arrays.slice(0, n), arrays.slice(n), concat_dim);
      return [found.rows, await wideVector(found.order), intVector(found.shape, d.int64)];
    });
    const all = p.concat(values, 0);
    const sorted = p.gather(p.reshape(all, [1, 1, count, 1]), p.reshape(order!, [1, count, 1]));
    return { output_indices: places!, output_values: p.reshape(sorted, [count]), output_shape: shape! };
  },
  cases: () => {
    const ints = (value: readonly number[] | readonly (readonly number[])[]) => ({ dtype: 'int64' as const, value });
    const parts = {
      indices: [
        ints([
          [0, 0],
          [1, 1],
        ]),
        ints([
          [0, 1],
          [1, 0],
        ]),
      ],
      values: [
        [1, 2],
        [3, 4],
      ],
      shapes: [ints([2, 2]), ints([2, 3])],
    };
    return [
      { shape: '[?, 2], [3, ?], [2], ?, ?, [2] -> [5, 2], [5], [2]', attrs: { concat_dim: 1, N: 2 } },
      {
        given: parts,
        attrs: { concat_dim: 1 },
        expect: {
          output_indices: ints([
            [0, 0],
            [0, 3],
            [1, 1],
            [1, 2],
          ]),
          output_values: [1, 3, 2, 4],
          output_shape: ints([2, 5]),
        },
      },
      { given: { ...parts, shapes: [ints([2, 2]), ints([3, 2])] }, attrs: { concat_dim: -2 } },
      {
        given: parts,
        attrs: { concat_dim: 0 },
        fails: /Input shapes must match: expected 2 for dimension 1 but got 3/,
      },
      { given: parts, attrs: { concat_dim: 2 }, fails: /Concat dimension must be in range \[-2, 2\), got 2/ },
    ];
  },
});

/**
 * Sparse tensors side by side along an axis. Adds one `SparseConcat` node.
 *
 * @example tf.sparse.concat(1, [a, b])
 */
export function sparseConcat(axis: number, inputs: readonly SparseTensor[], options: Named = {}): SparseTensor {
  const { name } = onlyOptions('tf.sparse.concat', options, 'name');
  if (inputs.length === 1) return inputs[0]!;
  const { output_indices, output_values, output_shape } = SparseConcat.build(
    {
      indices: inputs.map((x) => x.indices),
      values: inputs.map((x) => x.values),
      shapes: inputs.map((x) => x.denseShape),
    },
    { name, attrs: { concat_dim: axis } },
  );
  const dims = inputs.map((x) => x.shape);
  if (!dims.every(isFullyDefined)) return new SparseTensor(output_indices, output_values, output_shape);
  const along = normalizeAxis(axis, dims[0]!.length);
  const known = dims[0]!.map((size, i) => (i === along ? dims.reduce((sum, own) => sum + own[i]!, 0) : size));
  return new SparseTensor(output_indices, output_values, constantNode(intVector(known, d.int64)));
}

/**
 * The elements of a sparse tensor for which `toRetain` is true. Adds `Where`, `Reshape` and two gathers.
 *
 * @example tf.sparse.retain(sparse, [true, false])
 */
export function sparseRetain(input: SparseTensor, toRetain: TensorLike): SparseTensor {
  const keep = convertToTensor(toRetain);
  const places = reshape(where(keep), [-1]);
  const indices = gather(input.indices, places);
  const values = gather(input.values, places);
  return new SparseTensor(indices, values, identity(input.denseShape));
}

/** @file Parts of sparse tensors: SparseSlice with its gradient, and SparseSplit. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { Int64s } from '../../core/int64s.ts';
import { NDArray } from '../../core/ndarray.ts';
import { showRuntime, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { TensorLike } from '../../graph/tensor.ts';
import { anyType, attr, numbers } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, gradientPending, notDifferentiable } from '../../op/defineOp.ts';
import { mergeDim, type Named, ofRank } from '../array/common.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { checkParts, int64Vector, partsDims, picked, placesIn, rowsAmong, sizesIn, wideVector } from './parts.ts';

/** The elements in a box: their positions seen from its corner, which they were, and how large the box really is. */
async function cut(
  indices: NDArray,
  sizes: readonly number[],
  start: readonly number[],
  size: readonly number[],
): Promise<[positions: NDArray, order: NDArray, box: NDArray]> {
  const rank = sizes.length;
  const box = sizes.map((whole, axis) => Math.max(0, Math.min(size[axis]!, whole - start[axis]!)));
  const at = indices.numberReader();
  const order = new Int32Array(indices.shape[0]!);
  let count = 0;
  await eachInTurns(order.length, (i) => {
    for (let axis = 0; axis < rank; axis++) {
      const place = at(i * rank + axis) - start[axis]!;
      if (place < 0 || place >= box[axis]!) return;
    }
    order[count++] = i;
  });
  const positions = new Int64s(count * rank);
  await eachInTurns(count, (k) => {
    for (let axis = 0; axis < rank; axis++) positions.set(k * rank + axis, at(order[k]! * rank + axis) - start[axis]!);
  });
  return [
    new NDArray(d.int64, [count, rank], positions.data),
    await wideVector(order.subarray(0, count)),
    int64Vector(box),
  ];
}

const ints = (value: readonly number[] | readonly (readonly number[])[]) => ({ dtype: 'int64' as const, value });
const axis = (value: number) => ({ dtype: 'int64' as const, value });
const some = {
  indices: ints([
    [0, 1],
    [1, 0],
    [2, 3],
  ]),
  values: [1, 2, 3],
  shape: ints([3, 4]),
};

export const SparseSlice = defineOp({
  name: 'SparseSlice',
  inputs: { indices: 'int64', values: 'T', shape: 'int64', start: 'int64', size: 'int64' },
  outputs: { output_indices: 'int64', output_values: 'T', output_shape: 'int64' },
  attrs: { T: anyType },
  shape({ indices, values, shape, start, size }) {
    let { rank } = partsDims(indices, values, shape);
    rank = mergeDim(rank, ofRank(start, 1, 'start')[0]!, 'sizes of shape and start');
    rank = mergeDim(rank, ofRank(size, 1, 'size')[0]!, 'sizes of shape and size');
    return { output_indices: [null, rank], output_values: [null], output_shape: [rank] };
  },
  grad: ({ inputs, outputs }, { output_values }) => {
    const { val_grad } = SparseSliceGrad.build({
      backprop_val_grad: denseGradient(output_values),
      input_indices: inputs.indices,
      input_start: inputs.start,
      output_indices: outputs.output_indices,
    });
    val_grad.setShape(inputs.values.shape);
    return { values: val_grad };
  },
  lower(p, { indices, values, shape, start, size }) {
    checkParts(indices, values, shape);
    const rank = shape.shape[0]!;
    for (const [name, own] of [['start', start], ['size', size]] as const) // biome-ignore format: two names
      if (own.shape.length !== 1 || own.shape[0] !== rank)
        throw new InvalidArgumentError(
          `Expected ${name} to be a vector of length ${rank} but got shape ${showRuntime(own.shape)}`,
        );
    const results = [d.int64, d.int64, d.int64].map((dtype) => ({ dtype }));
    const [output_indices, order, output_shape] = p.host([indices, shape, start, size], results, async (arrays) => {
      const [places, whole, from, count] = arrays as [NDArray, NDArray, NDArray, NDArray]; // as many as inputs
      const sizes = sizesIn(whole);
      const [starts, counts] = [from.numbers(), count.numbers()];
      const wrong = counts.findIndex((length) => length < 0);
      if (wrong >= 0) throw new InvalidArgumentError(`size[${wrong}] must not be negative: ${counts[wrong]}`);
      await placesIn(places, sizes);
      return await cut(places, sizes, starts, counts);
    });
    return { output_indices: output_indices!, output_values: picked(p, values, order!), output_shape: output_shape! };
  },
  cases: () => [
    { shape: '[?, 2], [3], ?, ?, [2] -> [?, 2], [?], [2]' },
    {
      given: { ...some, start: ints([0, 0]), size: ints([2, 2]) },
      expect: {
        output_indices: ints([
          [0, 1],
          [1, 0],
        ]),
        output_values: [1, 2],
        output_shape: ints([2, 2]),
      },
    },
    {
      given: { ...some, start: ints([1, 2]), size: ints([5, 5]) },
      expect: { output_indices: ints([[1, 1]]), output_values: [3], output_shape: ints([2, 2]) },
    },
    { given: { ...some, start: ints([-1, 2]), size: ints([5, 5]) } },
    { given: { ...some, start: ints([0, 0]), size: ints([-5, 5]) }, fails: /must not be negative/ },
  ],
});

export const SparseSliceGrad = defineOp({
  name: 'SparseSliceGrad',
  inputs: { backprop_val_grad: 'T', input_indices: 'int64', input_start: 'int64', output_indices: 'int64' },
  outputs: { val_grad: 'T' },
  attrs: { T: numbers },
  shape: ({ input_indices }) => ({ val_grad: [ofRank(input_indices, 2, 'input_indices')[0]!] }),
  grad: notDifferentiable,
  lower(p, { backprop_val_grad, input_indices, input_start, output_indices }) {
    for (const [name, { shape }] of Object.entries({ input_indices, output_indices }))
      if (shape.length !== 2)
        throw new InvalidArgumentError(`${name} should be a matrix but received shape ${showRuntime(shape)}`);
    const [count] = output_indices.shape as readonly [number]; // a matrix
    const rank = input_indices.shape[1]!;
    if (
      backprop_val_grad.shape.length !== 1 ||
      backprop_val_grad.shape[0] !== count ||
      output_indices.shape[1] !== rank
    )
      throw new InvalidArgumentError(
        `# elements of backprop_val_grad and # rows of output_indices should match (#nnz of sum): got ${sizeOf(backprop_val_grad.shape)} and ${count}`,
      );
    if (input_start.shape.length !== 1 || input_start.shape[0] !== rank)
      throw new InvalidArgumentError(
        `input_start should be a vector of ${rank}, not ${showRuntime(input_start.shape)}`,
      );
    const grads = p.concat([backprop_val_grad, p.fill(backprop_val_grad.dtype, [1], 0)], 0);
    const results = [{ dtype: d.int64, shape: [input_indices.shape[0]!] }];
    const [at] = p.host([input_indices, input_start, output_indices], results, async ([inputs, start, outputs]) => {
      const found = await rowsAmong(inputs!, outputs!, start);
      return [await wideVector(found.map((row) => (row < 0 ? count : row)))];
    });
    return { val_grad: picked(p, grads, at!) };
  },
  cases: () => [
    { shape: '[?], [3, 2], [2], [?, 2] -> [3]' },
    {
      given: {
        backprop_val_grad: [7],
        input_indices: some.indices,
        input_start: ints([1, 2]),
        output_indices: ints([[1, 1]]),
      },
      expect: { val_grad: [0, 0, 7] },
    },
  ],
});

export const SparseSplit = defineOp({
  name: 'SparseSplit',
  inputs: { split_dim: 'int64', indices: 'int64', values: 'T', shape: 'int64' },
  outputs: { output_indices: 'num_split * int64', output_values: 'num_split * T', output_shape: 'num_split * int64' },
  attrs: { num_split: attr('int', { minimum: 1 }), T: anyType },
  shape({ indices, values, shape }, { num_split }) {
    const { rank } = partsDims(indices, values, shape);
    const each = <T>(dims: T) => Array.from({ length: num_split }, () => dims);
    return { output_indices: each([null, rank]), output_values: each([null]), output_shape: each([rank]) };
  },
  grad: gradientPending('TensorFlow has none either'),
  lower(p, { split_dim, indices, values, shape }, { num_split }) {
    checkParts(indices, values, shape);
    if (split_dim.shape.length > 0)
      throw new InvalidArgumentError(
        `Input axis should be a scalar but received shape ${showRuntime(split_dim.shape)}`,
      );
    const rank = shape.shape[0]!;
    const results = Array.from({ length: 3 * num_split }, () => ({ dtype: d.int64 }));
    const parts = p.host([split_dim, indices, shape], results, async ([dim, places, whole]) => {
      const given = dim!.numberAt(0);
      const axis = given < 0 ? given + rank : given;
      const sizes = sizesIn(whole!);
      if (axis < 0 || axis >= rank)
        throw new InvalidArgumentError(`axis should be in range [${-rank}, ${rank}), got ${given}`);
      if (num_split > sizes[axis]!)
        throw new InvalidArgumentError(
          `Input num_split should be between 1 and the splitting dimension size (${sizes[axis]}), got ${num_split}`,
        );
      await placesIn(places!, sizes);
      let from = 0;
      const found: NDArray[] = [];
      for (let k = 0; k < num_split; k++) {
        const length = Math.floor(sizes[axis]! / num_split) + (k < sizes[axis]! % num_split ? 1 : 0);
        const start = sizes.map((_, i) => (i === axis ? from : 0));
        from += length;
        const size = sizes.map((whole, i) => (i === axis ? length : whole));
        found.push(...(await cut(places!, sizes, start, size)));
      }
      return found;
    });
    const every = (k: number) => Array.from({ length: num_split }, (_, i) => parts[3 * i + k]!);
    return {
      output_indices: every(0),
      output_values: every(1).map((order) => picked(p, values, order)),
      output_shape: every(2),
    };
  },
  cases: () => [
    { shape: '[], [?, 2], [3], [2] -> [?, 2], [?, 2], [?], [?], [2], [2]', attrs: { num_split: 2 } },
    {
      given: { split_dim: axis(1), ...some },
      attrs: { num_split: 3 },
      expect: {
        output_indices: [
          ints([
            [0, 1],
            [1, 0],
          ]),
          { dtype: 'int64', value: [], shape: [0, 2] },
          ints([[2, 0]]),
        ],
        output_values: [[1, 2], { dtype: 'float32', value: [], shape: [0] }, [3]],
        output_shape: [ints([3, 2]), ints([3, 1]), ints([3, 1])],
      },
    },
    {
      given: { split_dim: axis(2), ...some },
      attrs: { num_split: 1 },
      fails: /axis should be in range \[-2, 2\)/,
    },
  ],
});

/**
 * The part of a sparse tensor in a box. Adds one `SparseSlice` node.
 *
 * @example tf.sparse.slice(x, [0, 1], [2, 2])
 */
export function sparseSlice(
  input: SparseTensor,
  start: TensorLike,
  size: TensorLike,
  options: Named = {},
): SparseTensor {
  const { name } = onlyOptions('tf.sparse.slice', options, 'name');
  const box = {
    start: convertToTensor(start, { dtype: d.int64 }),
    size: convertToTensor(size, { dtype: d.int64 }),
  };
  return nameScope(name ?? 'SparseSlice', (scope) => {
    const { output_indices, output_values, output_shape } = SparseSlice.build(
      { indices: input.indices, values: input.values, shape: input.denseShape, ...box },
      { name: scope },
    );
    return new SparseTensor(output_indices, output_values, output_shape);
  });
}

/**
 * A sparse tensor cut into pieces along an axis; the first ones are longer where the length is no multiple. Adds one
 * `SparseSplit` node.
 *
 * @example const [a, b] = tf.sparse.split(x, 2, 1);
 */
export function sparseSplit(input: SparseTensor, numSplit: number, axis: number, options: Named = {}): SparseTensor[] {
  const { name } = onlyOptions('tf.sparse.split', options, 'name');
  const { output_indices, output_values, output_shape } = SparseSplit.build(
    { split_dim: axis, indices: input.indices, values: input.values, shape: input.denseShape },
    { name, attrs: { num_split: numSplit } },
  );
  return output_indices.map((indices, i) => new SparseTensor(indices, output_values[i]!, output_shape[i]!));
}

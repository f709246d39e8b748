/** @file SparseFillEmptyRows: every row of a sparse tensor gets at least one element. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { Int64s } from '../../core/int64s.ts';
import { makeNumbers } from '../../core/makeArray.ts';
import { type Element, fromElements, NDArray } from '../../core/ndarray.ts';
import { showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { type Named, ofRank } from '../array/common.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { checkParts, partsDims, picked, placesIn, plus, sizesIn, wideVector, zeroOf } from './parts.ts';

/** The elements row by row: positions, which element each was (or none, in an empty row), and where each went. */
async function filledRows(indices: NDArray, shape: NDArray) {
  const sizes = sizesIn(shape);
  const rank = sizes.length;
  const [rows] = sizes;
  if (rows === undefined) throw new InvalidArgumentError('Dense shape cannot be empty.');
  const count = indices.shape[0]!;
  const at = indices.numberReader();
  await eachInTurns(count, (i) => {
    const row = at(i * rank);
    if (row < 0 || row >= rows)
      throw new InvalidArgumentError(`indices(${i}, 0) is invalid: ${row < 0 ? `${row} < 0` : `${row} >= ${rows}`}`);
  });
  await placesIn(indices, sizes);
  if (rows > 2 ** 27) throw new InvalidArgumentError(`${rows} rows are more than can be filled`);
  const perRow = new Int32Array(rows);
  await eachInTurns(count, (i) => perRow[at(i * rank)]!++);
  /** Where the next element of each row goes. */
  const next = new Int32Array(rows);
  const isEmpty = new Uint8Array(rows);
  let total = 0;
  await eachInTurns(rows, (row) => {
    next[row] = total;
    isEmpty[row] = Number(perRow[row] === 0);
    total += Math.max(perRow[row]!, 1);
  });
  const filled = new Int64s(total * rank);
  const order = new Int32Array(total).fill(count);
  await eachInTurns(rows, (row) => filled.set(next[row]! * rank, row));
  const wentTo = new Int32Array(count);
  await eachInTurns(count, (i) => {
    const to = next[at(i * rank)]!++;
    wentTo[i] = to;
    order[to] = i;
    for (let axis = 0; axis < rank; axis++) filled.set(to * rank + axis, at(i * rank + axis));
  });
  return { filled: new NDArray(d.int64, [total, rank], filled.data), order, wentTo, isEmpty };
}

const ints = (value: readonly number[] | readonly (readonly number[])[]) => ({ dtype: 'int64' as const, value });

export const SparseFillEmptyRows = defineOp({
  name: 'SparseFillEmptyRows',
  inputs: { indices: 'int64', values: 'T', dense_shape: 'int64', default_value: 'T' },
  outputs: { output_indices: 'int64', output_values: 'T', empty_row_indicator: 'bool', reverse_index_map: 'int64' },
  attrs: { T: anyType },
  shape({ indices, values, dense_shape, default_value }, _, context) {
    const { count, rank } = partsDims(indices, values, dense_shape);
    ofRank(default_value, 0, 'default_value');
    const rows = context.partial('dense_shape')?.[0] ?? null;
    return {
      output_indices: [null, rank],
      output_values: [null],
      empty_row_indicator: [rows],
      reverse_index_map: [count],
    };
  },
  grad: ({ outputs }, { output_values }) => {
    const grads = SparseFillEmptyRowsGrad.build({
      reverse_index_map: outputs.reverse_index_map,
      grad_values: denseGradient(output_values),
    });
    return { values: grads.d_values, default_value: grads.d_default_value };
  },
  lower(p, { indices, values, dense_shape, default_value }) {
    checkParts(indices, values, dense_shape);
    if (default_value.shape.length > 0)
      throw new InvalidArgumentError(`default_value must be a scalar, saw: ${showRuntime(default_value.shape)}`);
    const results = [d.int64, d.int64, d.bool, d.int64].map((dtype) => ({ dtype }));
    const [output_indices, order, empty_row_indicator, reverse_index_map] = p.host(
      [indices, dense_shape],
      results,
      async ([places, shape]) => {
        const { filled, order, wentTo, isEmpty } = await filledRows(places!, shape!);
        return [
          filled,
          await wideVector(order),
          new NDArray(d.bool, [isEmpty.length], isEmpty),
          await wideVector(wentTo),
        ];
      },
    );
    const all = p.concat([values, p.reshape(default_value, [1])], 0);
    return {
      output_indices: output_indices!,
      output_values: picked(p, all, order!),
      empty_row_indicator: empty_row_indicator!,
      reverse_index_map: reverse_index_map!,
    };
  },
  cases: () => [
    { shape: '[?, 2], [3], [2], [] -> [?, 2], [?], [?], [3]' },
    {
      given: {
        indices: ints([
          [0, 1],
          [2, 0],
          [2, 2],
        ]),
        values: [1, 2, 3],
        dense_shape: ints([4, 3]),
        default_value: -1,
      },
      expect: {
        output_indices: ints([
          [0, 1],
          [1, 0],
          [2, 0],
          [2, 2],
          [3, 0],
        ]),
        output_values: [1, -1, 2, 3, -1],
        empty_row_indicator: [false, true, false, true],
        reverse_index_map: ints([0, 2, 3]),
      },
    },
    {
      given: { indices: ints([[5, 0]]), values: ['a'], dense_shape: ints([2, 1]), default_value: '' },
      fails: /indices\(0, 0\) is invalid: 5 >= 2/,
    },
  ],
});

export const SparseFillEmptyRowsGrad = defineOp({
  name: 'SparseFillEmptyRowsGrad',
  inputs: { reverse_index_map: 'int64', grad_values: 'T' },
  outputs: { d_values: 'T', d_default_value: 'T' },
  attrs: { T: anyType },
  shape: ({ reverse_index_map, grad_values }) => {
    const [count] = ofRank(reverse_index_map, 1, 'reverse_index_map');
    ofRank(grad_values, 1, 'grad_values');
    return { d_values: [count!], d_default_value: [] };
  },
  grad: notDifferentiable,
  lower(p, { reverse_index_map, grad_values }, { T }) {
    if (reverse_index_map.shape.length !== 1)
      throw new InvalidArgumentError(
        `reverse_index_map must be a vector, saw: ${showRuntime(reverse_index_map.shape)}`,
      );
    if (grad_values.shape.length !== 1)
      throw new InvalidArgumentError(`grad_values must be a vector, saw: ${showRuntime(grad_values.shape)}`);
    const [count, given] = [reverse_index_map.shape[0]!, grad_values.shape[0]!];
    const results = [
      { dtype: T, shape: [count] },
      { dtype: T, shape: [] },
    ];
    const [d_values, d_default_value] = p.host([reverse_index_map, grad_values], results, async ([map, grads]) => {
      const at = map!.numberReader();
      const isUsed = new Uint8Array(given);
      const take = (i: number): Element => {
        const from = at(i);
        if (from < 0 || from >= given)
          throw new InvalidArgumentError(`Elements in reverse index must be in [0, ${given}) but got ${from}`);
        isUsed[from] = 1;
        return grads!.at(from);
      };
      const taken = await makeNumbers(T, [count], take, 512);
      let rest = zeroOf(T);
      await eachInTurns(given, (i) => {
        if (isUsed[i] === 0) rest = plus(rest, grads!.at(i));
      });
      return [taken, fromElements(T, [], [rest])];
    });
    return { d_values: d_values!, d_default_value: d_default_value! };
  },
  cases: () => [
    { shape: '[3], [?] -> [3], []' },
    {
      given: { reverse_index_map: ints([2, 1]), grad_values: [0, 10, 20, 30] },
      expect: { d_values: [20, 10], d_default_value: 30 },
    },
    { given: { reverse_index_map: ints([4]), grad_values: [1] }, fails: /must be in \[0, 1\)/ },
  ],
});

/**
 * The sparse tensor with one element of `defaultValue` in each row that had none, and which rows these were. Adds one
 * `SparseFillEmptyRows` node.
 *
 * @example const [filled, wasEmpty] = tf.sparse.fillEmptyRows(sparse, 0);
 */
export function sparseFillEmptyRows(
  input: SparseTensor,
  defaultValue: TensorLike,
  options: Named = {},
): [SparseTensor, Tensor] {
  const { name } = onlyOptions('tf.sparse.fillEmptyRows', options, 'name');
  return nameScope(name ?? 'SparseFillEmptyRows', () => {
    const default_value = convertToTensor(defaultValue, { dtype: input.values.dtype });
    const filled = SparseFillEmptyRows.build({
      indices: input.indices,
      values: input.values,
      dense_shape: input.denseShape,
      default_value,
    });
    const result = new SparseTensor(filled.output_indices, filled.output_values, input.denseShape);
    return [result, filled.empty_row_indicator];
  });
}

/** @file RaggedGather: rows of a ragged tensor, picked by their positions. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { intVector } from '../../core/ndarray.ts';
import { type Shape, sizeOf } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import { atLeastRank, ofRank } from '../array/common.ts';
import { gather } from '../array/gather.ts';
import { getItem } from '../array/getItem.ts';
import { cast } from '../array/neighbours.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { gatherRows, Tsplits, uniformSplits } from './kit.ts';
import { RaggedRange } from './raggedRange.ts';

/** A stretch of elements of one axis. */
type Stretch = readonly [start: number, limit: number];

/** The position of element `i` of an array: `[1,0]`. */
function position(i: number, shape: Shape): string {
  const place = shape.map((_, axis) => Math.floor(i / sizeOf(shape.slice(axis + 1))) % shape[axis]!);
  return place.length === 0 ? '' : `[${place.join(',')}]`;
}

function checkedRows(indices: readonly number[], shape: Shape, rows: number): readonly Stretch[] {
  return indices.map((row, i) => {
    if (row < 0 || row >= rows)
      throw new InvalidArgumentError(`indices${position(i, shape)} = ${row} is not in [0, ${rows})`);
    return [row, row + 1];
  });
}

/** The splits of the rows in some stretches, and the stretches of what those rows hold. */
function nextLevel(splits: readonly number[], stretches: readonly Stretch[], count: number) {
  const lengths: number[] = [0];
  const inner = stretches.map(([start, limit]): Stretch => {
    for (let row = start; row < limit; row++) {
      const [from, to] = [splits[row]!, splits[row + 1]!];
      if (from > to) throw new InvalidArgumentError('Ragged splits must be sorted');
      if (from < 0) throw new InvalidArgumentError('Ragged splits must be non-negative');
      if (to > count) throw new InvalidArgumentError('Ragged splits must not point past values');
      lengths.push(lengths.at(-1)! + to - from);
    }
    return [splits[start]!, splits[limit]!];
  });
  return { splits: lengths, inner };
}

/** Splits for the axes of the indices but the last: all rows have the same length. */
const outerSplits = (shape: Shape): number[][] =>
  shape.slice(0, -1).map((_, axis) => uniformSplits(sizeOf(shape.slice(0, axis + 1)), shape[axis + 1]!));

const ints = (value: readonly number[] | readonly (readonly number[])[]) => ({ dtype: 'int64' as const, value });

export const RaggedGather = defineOp({
  name: 'RaggedGather',
  inputs: { params_nested_splits: 'PARAMS_RAGGED_RANK * Tsplits', params_dense_values: 'Tvalues', indices: 'Tindices' },
  outputs: { output_nested_splits: 'OUTPUT_RAGGED_RANK * Tsplits', output_dense_values: 'Tvalues' },
  attrs: {
    Tvalues: anyType,
    Tindices: attr('type', { allowed: [d.int32, d.int64] }),
    Tsplits,
    PARAMS_RAGGED_RANK: attr('int', { minimum: 1 }),
    OUTPUT_RAGGED_RANK: attr('int', { minimum: 0 }),
  },
  shape(dims, { PARAMS_RAGGED_RANK, OUTPUT_RAGGED_RANK }) {
    for (const splits of dims.params_nested_splits) ofRank(splits, 1, 'params_nested_splits');
    ofRank(dims.indices, OUTPUT_RAGGED_RANK - PARAMS_RAGGED_RANK + 1, 'indices');
    const values = atLeastRank(dims.params_dense_values, 1, 'params_dense_values');
    return {
      output_nested_splits: new Array<[null]>(OUTPUT_RAGGED_RANK).fill([null]),
      output_dense_values: values && [null, ...values.slice(1)],
    };
  },
  grad({ inputs: { params_nested_splits, params_dense_values, indices } }, dy) {
    const combined = params_nested_splits.reduce((outer: Tensor, splits) => gather(splits, outer));
    const flat = reshape(indices, [-1]);
    const starts = gather(combined, flat);
    const limits = gather(getItem(combined, [[1]]), flat);
    const { rt_dense_values } = nameScope('RaggedRange', (scope) => {
      const one = cast(convertToTensor(1, { name: 'deltas' }), limits.dtype);
      return RaggedRange.build({ starts, limits, deltas: one }, { name: scope, attrs: { Tsplits: d.int64 } });
    });
    const values = convertToTensor(dy.output_dense_values);
    return { params_dense_values: new IndexedSlices(values, rt_dense_values, shape(params_dense_values)) };
  },
  lower(p, { params_nested_splits, params_dense_values, indices }, { Tsplits: splitType, OUTPUT_RAGGED_RANK }) {
    if (params_dense_values.shape.length === 0) throw new InvalidArgumentError('params.rank must be nonzero');
    if (indices.shape.length + params_nested_splits.length - 1 !== OUTPUT_RAGGED_RANK)
      throw new InvalidArgumentError(
        `OUTPUT_RAGGED_RANK must be ${indices.shape.length + params_nested_splits.length - 1} for these params and indices, but is ${OUTPUT_RAGGED_RANK}`,
      );
    const results = [...new Array(OUTPUT_RAGGED_RANK).fill({ dtype: splitType }), { dtype: d.int32 }];
    const outputs = p.host([indices, ...params_nested_splits], results, ([picked, ...nested]) => {
      const levels = nested.map((splits) => splits.numbers());
      const found: number[][] = outerSplits(picked!.shape);
      let stretches = checkedRows(picked!.numbers(), picked!.shape, levels[0]!.length - 1);
      for (const [level, splits] of levels.entries()) {
        const count = level + 1 < levels.length ? levels[level + 1]!.length - 1 : params_dense_values.shape[0]!;
        const next = nextLevel(splits, stretches, count);
        // A single row has no splits around it.
        if (level > 0 || picked!.rank > 0) found.push(next.splits);
        stretches = next.inner;
      }
      const sources = stretches.flatMap(([start, limit]) => Array.from({ length: limit - start }, (_, i) => start + i));
      return [...found.map((splits) => intVector(splits, splitType)), intVector(sources)];
    });
    return {
      output_nested_splits: outputs.slice(0, -1),
      output_dense_values: gatherRows(p, params_dense_values, outputs.at(-1)!),
    };
  },
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[4], [5, 2], [3] -> [?], [?, 2]', attrs: { PARAMS_RAGGED_RANK: 1, OUTPUT_RAGGED_RANK: 1 } },
    { shape: '[4], [?], ?, [3, 2] -> [?], [?], [?], ?', attrs: { PARAMS_RAGGED_RANK: 2, OUTPUT_RAGGED_RANK: 3 } },
    { shape: '[4], [], [3]', attrs: { PARAMS_RAGGED_RANK: 1, OUTPUT_RAGGED_RANK: 1 }, rejects: /at least rank 1/ },
    {
      given: { params_nested_splits: [ints([0, 2, 2, 5])], params_dense_values: [1, 2, 3, 4, 5], indices: { dtype: 'int32', value: [2, 0, 0] } },
      attrs: { OUTPUT_RAGGED_RANK: 1 },
      expect: { output_nested_splits: [ints([0, 3, 5, 7])], output_dense_values: [3, 4, 5, 1, 2, 1, 2] },
    },
    {
      given: { params_nested_splits: [ints([0, 1, 3])], params_dense_values: ['a', 'b', 'c'], indices: { dtype: 'int32', value: [1, 1] } },
      attrs: { OUTPUT_RAGGED_RANK: 1 },
      expect: { output_nested_splits: [ints([0, 2, 4])], output_dense_values: ['b', 'c', 'b', 'c'] },
    },
    {
      given: { params_nested_splits: [ints([0, 2, 2, 5])], params_dense_values: [1, 2, 3, 4, 5], indices: { dtype: 'int32', value: [[2, 0], [1, 2]] } },
      attrs: { OUTPUT_RAGGED_RANK: 2 },
      expect: { output_nested_splits: [ints([0, 2, 4]), ints([0, 3, 5, 5, 8])], output_dense_values: [3, 4, 5, 1, 2, 3, 4, 5] },
    },
    {
      given: { params_nested_splits: [ints([0, 2, 3]), ints([0, 2, 2, 5])], params_dense_values: [1, 2, 3, 4, 5], indices: { dtype: 'int64', value: 1 } },
      attrs: { OUTPUT_RAGGED_RANK: 1 },
      expect: { output_nested_splits: [ints([0, 3])], output_dense_values: [3, 4, 5] },
    },
    {
      given: { params_nested_splits: [ints([0, 2, 2, 5])], params_dense_values: [1, 2, 3, 4, 5], indices: { dtype: 'int32', value: [[0], [-1]] } },
      attrs: { OUTPUT_RAGGED_RANK: 2 },
      fails: /indices\[1,0\] = -1 is not in \[0, 3\)/,
    },
    {
      given: { params_nested_splits: [ints([0, 3, 2, 5])], params_dense_values: [1, 2, 3, 4, 5], indices: { dtype: 'int32', value: [1] } },
      attrs: { OUTPUT_RAGGED_RANK: 1 },
      fails: /Ragged splits must be sorted/,
    },
    {
      given: { params_nested_splits: [ints([0, 3, 9])], params_dense_values: [1, 2, 3, 4, 5], indices: { dtype: 'int32', value: [1] } },
      attrs: { OUTPUT_RAGGED_RANK: 1 },
      fails: /Ragged splits must not point past values/,
    },
  ],
});

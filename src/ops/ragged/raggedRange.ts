/** @file RaggedRange: ranges one after the other, and where each begins; what partitions of parsed ragged features are made with. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError, ResourceExhaustedError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { numberWriter } from '../../core/makeArray.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { needRankAtMost } from '../parsing/shapes.ts';

/** More elements than memory has room for. */
const most = 2 ** 27;

/** How many numbers a range has. */
function rangeSize(start: number, limit: number, delta: number): number {
  if (delta === 0) throw new InvalidArgumentError('Requires delta != 0');
  const size = Math.max(0, Math.ceil((limit - start) / delta));
  if (!(size < 2 ** 63)) throw new InvalidArgumentError(`Requires ((limit - start) / delta) <= ${2n ** 63n - 1n}`);
  return size;
}

/** The elements of a scalar, which is every row's, or of a vector. */
function rowReader(array: NDArray): (row: number) => number {
  const at = array.numberReader();
  return array.rank === 0 ? () => at(0) : at;
}

async function ranges(
  starts: NDArray,
  limits: NDArray,
  deltas: NDArray,
  rows: number,
  T: d.DType,
  Tsplits: d.DType,
): Promise<NDArray[]> {
  const [startAt, limitAt, deltaAt] = [rowReader(starts), rowReader(limits), rowReader(deltas)];
  const splits = new Float64Array(rows + 1);
  await eachInTurns(rows, (row) => {
    splits[row + 1] = splits[row]! + rangeSize(startAt(row), limitAt(row), deltaAt(row));
  });
  const total = splits[rows]!;
  if (Tsplits === d.int32 && total > d.int32.max)
    throw new InvalidArgumentError(
      'The total range size overflowed. Consider using int64 instead of int32 for row_splits_dtype.',
    );
  if (total >= most) throw new ResourceExhaustedError(`the ranges have more than ${most} elements`);
  const ends = new NDArray(Tsplits, [rows + 1], Tsplits.allocate(rows + 1));
  const setEnd = numberWriter(Tsplits, ends.data);
  await eachInTurns(rows + 1, (row) => setEnd(row, splits[row]!));
  const values = new NDArray(T, [total], T.allocate(total));
  const setValue = numberWriter(T, values.data);
  let row = 0;
  await eachInTurns(total, (i) => {
    while (splits[row + 1]! <= i) row++;
    setValue(i, startAt(row) + (i - splits[row]!) * deltaAt(row));
  });
  return [ends, values];
}

export const RaggedRange = defineOp({
  name: 'RaggedRange',
  inputs: { starts: 'T', limits: 'T', deltas: 'T' },
  outputs: { rt_nested_splits: 'Tsplits', rt_dense_values: 'T' },
  attrs: {
    T: attr('type', { allowed: [d.bfloat16, d.float32, d.float64, d.int32, d.int64], default: d.int32 }),
    Tsplits: attr('type', { allowed: [d.int32, d.int64], default: d.int64 }),
  },
  shape(dims) {
    let rows: number | null = null;
    for (const port of ['starts', 'limits', 'deltas'] as const) {
      needRankAtMost(port, dims[port], 1);
      const size: number | null = dims[port]?.[0] ?? null;
      if (size !== null && rows !== null && size !== rows)
        throw new InvalidArgumentError(`Dimensions must be equal, but are ${rows} and ${size}`);
      rows = size ?? rows;
    }
    const isScalar = (x: Dims) => x?.length === 0;
    const areScalars = isScalar(dims.starts) && isScalar(dims.limits) && isScalar(dims.deltas);
    return { rt_nested_splits: [rows === null ? (areScalars ? 2 : null) : rows + 1], rt_dense_values: [null] };
  },
  grad: notDifferentiable,
  lower(p, { starts, limits, deltas }, { T, Tsplits }) {
    const sizes = Object.entries({ starts, limits, deltas }).flatMap(([port, { shape }]) => {
      if (shape.length > 1) throw new InvalidArgumentError(`${port} must be a scalar or vector`);
      return shape;
    });
    if (sizes.some((size) => size !== sizes[0]))
      throw new InvalidArgumentError('starts, limits, and deltas must have the same shape');
    const rows = sizes[0] ?? 1;
    const [rt_nested_splits, rt_dense_values] = p.host(
      [starts, limits, deltas],
      [{ dtype: Tsplits }, { dtype: T }],
      async ([first, last, step]) => await ranges(first!, last!, step!, rows, T, Tsplits),
    );
    return { rt_nested_splits: rt_nested_splits!, rt_dense_values: rt_dense_values! };
  },
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[3], [], [] -> [4], [?]' },
    { shape: '[], [], [] -> [2], [?]' },
    { shape: '?, [?], [] -> [?], [?]' },
    { shape: '[3], [4], []', rejects: /Dimensions must be equal, but are 3 and 4/ },
    {
      given: { starts: { dtype: 'int32', value: [0, 5, 8] }, limits: { dtype: 'int32', value: [3, 5, 2] }, deltas: { dtype: 'int32', value: [1, 1, -2] } },
      expect: { rt_nested_splits: { dtype: 'int64', value: [0, 3, 3, 6] }, rt_dense_values: { dtype: 'int32', value: [0, 1, 2, 8, 6, 4] } },
    },
    { given: { starts: 0.5, limits: [1, 2], deltas: 0.5 }, attrs: { Tsplits: d.int32 }, expect: { rt_nested_splits: { dtype: 'int32', value: [0, 1, 4] }, rt_dense_values: [0.5, 0.5, 1, 1.5] } },
    { given: { starts: { dtype: 'int32', value: 0 }, limits: { dtype: 'int32', value: 1 }, deltas: { dtype: 'int32', value: 0 } }, fails: /Requires delta != 0/ },
    { given: { starts: { dtype: 'float64', value: 0.1 }, limits: { dtype: 'float64', value: 1e10 }, deltas: { dtype: 'float64', value: 1e-10 } }, fails: /Requires \(\(limit - start\) \/ delta\) <= 9223372036854775807/ },
    { given: { starts: { dtype: 'int32', value: [0, 0] }, limits: { dtype: 'int32', value: [2 ** 31 - 1, 1] }, deltas: { dtype: 'int32', value: [1, 1] } }, attrs: { Tsplits: d.int32 }, fails: /overflowed/ },
  ],
});

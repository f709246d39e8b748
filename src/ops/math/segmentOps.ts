/** @file The segment ops: folds of the rows that share a segment number, where numbers never fall. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type NDArray, zeros } from '../../core/ndarray.ts';
import { type Dims, showShape } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { type AttrSpec, attr, numbers, realNumbers } from '../../op/attrs.ts';
import { type Case, int32s } from '../../op/cases.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import {
  segmentExtremeGradient,
  segmentMeanGradient,
  segmentProdGradient,
  segmentSumGradient,
} from './segmentGradients.ts';
import { combineRows, exampleRows, limitsOf, type SegmentNode } from './segmentRows.ts';

/** As many rows, of nothing, as there are segments, from the first and the last of the numbers. */
function segmentRows(first: number, last: number): NDArray {
  const segments = last + 1;
  if (first < 0)
    throw new InvalidArgumentError(
      `Segment id ${first} out of range [0, ${segments}), possibly because 'segment_ids' input is not sorted.`,
    );
  return zeros(d.int32, [Math.max(segments, 0), 0]);
}

/** The number of rows per segment, in an array whose length is the number of segments. Numbers that fall are refused. */
export function segmentCounts(p: ProgramBuilder, ids: Value): Value {
  if (ids.shape.length !== 1) throw new InvalidArgumentError('segment_ids should be a vector.');
  const count = ids.shape[0]!;
  if (count === 0) return p.constant(zeros(d.int32, [0]));
  const [first, last] = [p.slice(ids, [0], [1]), p.slice(ids, [count - 1], [1])];
  const rows = p.host([first, last], [{ dtype: d.int32 }], ([from, to]) => [
    segmentRows(from!.numberAt(0), to!.numberAt(0)),
  ])[0]!;
  const falls = p.map([p.slice(ids, [0], [count - 1]), p.slice(ids, [1], [count - 1])], (x, y) => e.lt(y!, x!));
  p.check(p.reduce('any', falls, [0]), () => new InvalidArgumentError('segment ids are not increasing'));
  const counts = p.fill(d.int32, [rows.shape[0]!, 1], 0);
  const ones = p.broadcast(p.fill(d.int32, [1, 1], 1), [count, 1]);
  // Nothing is out of range by now, and an instruction that cannot fail is left out where nobody looks at the counts.
  p.scatter('add', counts, p.reshape(ids, [count, 1]), ones, { bounds: 'drop' });
  return p.reshape(counts, [rows.shape[0]!]);
}

/** A column of counts that broadcasts over the rows of a result. */
function asColumn(p: ProgramBuilder, counts: Value, rank: number): Value {
  return p.reshape(counts, [counts.shape[0]!, ...new Array<number>(rank - 1).fill(1)]);
}

export type SegmentFold = 'sum' | 'mean' | 'sqrtN' | 'max' | 'min' | 'prod';

/** Folds rows by segment; segments without rows are 0, or 1 for products. */
export function foldSegments(p: ProgramBuilder, fold: SegmentFold, rows: Value, ids: Value, counts: Value): Value {
  const segments = counts.shape[0]!;
  const { dtype } = rows;
  const column = asColumn(p, counts, rows.shape.length);
  switch (fold) {
    case 'sum':
      return combineRows(p, 'add', rows, ids, segments, 0);
    case 'prod':
      return combineRows(p, 'mul', rows, ids, segments, 1);
    case 'mean':
    case 'sqrtN': {
      const total = combineRows(p, 'add', rows, ids, segments, 0);
      return p.map([total, column], (x, n) => {
        const divisor = e.cast(e.max(n!, 1), dtype);
        return e.div(x!, fold === 'mean' ? divisor : e.sqrt(divisor));
      });
    }
    default: {
      // Infinities are beyond the largest numbers.
      const { lowest, highest } = dtype.isFloating
        ? { lowest: Number.NEGATIVE_INFINITY, highest: Number.POSITIVE_INFINITY }
        : limitsOf(dtype);
      const extreme = combineRows(p, fold, rows, ids, segments, fold === 'max' ? lowest : highest);
      return p.map([extreme, column], (x, n) => e.select(e.eq(n!, 0), 0, x!));
    }
  }
}

function segmentDims(data: Dims, ids: Dims): Dims {
  if (ids !== null && ids.length !== 1)
    throw new InvalidArgumentError(
      `segment_ids is ${showShape(ids)}, but must be a vector, one number per row of data.`,
    );
  if (data === null) return null;
  if (data.length === 0) throw new InvalidArgumentError('data is a scalar, but has to have rows.');
  const count = ids?.[0] ?? null;
  if (count !== null && data[0] !== null && count !== data[0])
    throw new InvalidArgumentError(
      `data is ${showShape(data)} and segment_ids is ${showShape(ids)}; there must be one number per row.`,
    );
  return [null, ...data.slice(1)];
}

export type SegmentOp = Op<
  { readonly data: 'T'; readonly segment_ids: 'Tindices' },
  { readonly output: 'T' },
  { readonly T: AttrSpec<'type'>; readonly Tindices: AttrSpec<'type'> }
>;

function defineSegment(
  name: string,
  fold: SegmentFold,
  T: AttrSpec<'type'>,
  grad: () => (node: SegmentNode, dy: Gradient) => Tensor,
  expected: readonly (readonly number[])[],
  cases: readonly Case<'data' | 'segment_ids', 'output'>[] = [],
): SegmentOp {
  return defineOp({
    name,
    inputs: { data: 'T', segment_ids: 'Tindices' },
    outputs: { output: 'T' },
    attrs: { T, Tindices: attr('type', { allowed: [d.int32, d.int64] }) },
    shape: ({ data, segment_ids }) => ({ output: segmentDims(data, segment_ids) }),
    grad: ({ inputs, outputs }, dy) => ({
      data: grad()({ data: inputs.data, ids: inputs.segment_ids, output: outputs.output }, dy.output),
    }),
    lower(p, { data, segment_ids }) {
      const counts = segmentCounts(p, segment_ids);
      if (data.shape[0] !== segment_ids.shape[0])
        throw new InvalidArgumentError('segment_ids should be the same size as dimension 0 of input.');
      return { output: foldSegments(p, fold, data, segment_ids, counts) };
    },
    cases: () => [
      { shape: '[4, ?], [4] -> [?, ?]', attrs: { Tindices: d.int32 } },
      { shape: '?, ? -> ?', attrs: { Tindices: d.int32 } },
      { shape: '[4, 2], [3]', rejects: /one number per row/ },
      // Segment 1 has no rows.
      { given: { data: exampleRows, segment_ids: int32s([0, 0, 2, 2]) }, expect: { output: expected } },
      ...cases,
      {
        given: { data: [[1], [3]], segment_ids: int32s([1, 0]) },
        fails: /segment ids are not increasing/,
      },
      {
        given: { data: [[1], [3]], segment_ids: int32s([-1, 0]) },
        fails: /Segment id -1 out of range \[0, 1\)/,
      },
    ],
  });
}

const noRows = { dtype: 'float32', value: [], shape: [0, 2] } as const;

export const SegmentSum: SegmentOp = defineSegment(
  'SegmentSum',
  'sum',
  numbers,
  () => segmentSumGradient,
  [[4, 7], [0, 0], [12, 15]],
  [{ given: { data: noRows, segment_ids: { dtype: 'int32', value: [], shape: [0] } }, expect: { output: noRows } }],
); // biome-ignore format: tables read better in rows
export const SegmentMean: SegmentOp = defineSegment(
  'SegmentMean',
  'mean',
  numbers,
  () => segmentMeanGradient,
  [[2, 3.5], [0, 0], [6, 7.5]],
  [{ given: { data: int32s([1, 2, 3, 4]), segment_ids: int32s([0, 0, 2, 2]) }, expect: { output: int32s([1, 0, 3]) } }],
); // biome-ignore format: as above
/** Segments of one infinity, of none, and of an infinity and a number. */
const infinities = (infinity: number, extreme: number): Case<'data' | 'segment_ids', 'output'> => ({
  given: { data: [infinity, infinity, 1], segment_ids: int32s([0, 2, 2]) },
  expect: { output: [infinity, 0, extreme] },
  differentiable: false,
});
export const SegmentMax: SegmentOp = defineSegment(
  'SegmentMax',
  'max',
  realNumbers,
  () => segmentExtremeGradient,
  [[3, 5], [0, 0], [7, 9]],
  [infinities(Number.NEGATIVE_INFINITY, 1)],
); // biome-ignore format: tables read better in rows
export const SegmentMin: SegmentOp = defineSegment(
  'SegmentMin',
  'min',
  realNumbers,
  () => segmentExtremeGradient,
  [[1, 2], [0, 0], [5, 6]],
  [infinities(Number.POSITIVE_INFINITY, 1)],
); // biome-ignore format: tables read better in rows
export const SegmentProd: SegmentOp = defineSegment('SegmentProd', 'prod', numbers, () => segmentProdGradient, [
  [3, 10],
  [1, 1],
  [35, 54],
]);

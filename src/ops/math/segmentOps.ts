/** @file The segment ops: folds of the rows that share a segment number. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime, showShape, sizeOf, stridesOf } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { type AttrSpec, attr, indexTypes, numbers, realNumbers } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Combine } from '../../program/instructions.ts';
import type { Value } from '../../program/value.ts';
import {
  segmentExtremeGradient,
  segmentMeanGradient,
  segmentProdGradient,
  segmentSumGradient,
  unsortedExtremeGradient,
  unsortedProdGradient,
  unsortedSumGradient,
} from './segmentGradients.ts';

/** Segment numbers as an index type of the instructions. */
const asIndices = (p: ProgramBuilder, ids: Value) => (ids.dtype === d.int16 ? p.cast(ids, d.int32) : ids);

/** Combines rows ([count, …]) into a new array of `segments` rows that begin with `first`. */
function combineRows(
  p: ProgramBuilder,
  combine: Combine,
  rows: Value,
  ids: Value,
  segments: number,
  first: e.Scalar,
  explain?: (failure: { position: number; value: number }) => InvalidArgumentError,
): Value {
  const count = sizeOf(ids.shape);
  const rest = rows.shape.slice(ids.shape.length);
  const inner = sizeOf(rest);
  const target = p.fill(rows.dtype, [segments, inner], first);
  p.scatter(combine, target, p.reshape(asIndices(p, ids), [count, 1]), p.reshape(rows, [count, inner]), {
    bounds: 'dropNegative',
    ...(explain ? { explain } : {}),
  });
  return p.reshape(target, [segments, ...rest]);
}

/** The largest and smallest finite values, exact for 64-bit integers. */
function limitsOf(dtype: DType): { lowest: e.Scalar; highest: e.Scalar } {
  if (dtype === d.int64) return { lowest: -(2n ** 63n), highest: 2n ** 63n - 1n };
  if (dtype === d.uint64) return { lowest: 0, highest: 2n ** 64n - 1n };
  return { lowest: dtype.min, highest: dtype.max };
}

// Sorted segments.
/** How many rows each segment has; the numbers must begin at 0 or above and never fall. */
function countSegments(ids: NDArray): NDArray {
  const numbers = ids.numbers();
  const segments = (numbers.at(-1) ?? -1) + 1;
  const counts = new Int32Array(Math.max(segments, 0));
  for (const [i, id] of numbers.entries()) {
    if (i > 0 && id < numbers[i - 1]!) throw new InvalidArgumentError('segment ids are not increasing');
    if (id < 0)
      throw new InvalidArgumentError(
        `Segment id ${id} out of range [0, ${segments}), possibly because 'segment_ids' input is not sorted.`,
      );
    counts[id]!++;
  }
  return new NDArray(d.int32, [counts.length], counts);
}

/** The number of rows per segment, in an array whose length is the number of segments. */
export function segmentCounts(p: ProgramBuilder, ids: Value): Value {
  if (ids.shape.length !== 1) throw new InvalidArgumentError('segment_ids should be a vector.');
  return p.host([ids], [{ dtype: d.int32 }], ([array]) => [countSegments(array!)])[0]!;
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
      const { lowest, highest } = limitsOf(dtype);
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
type SegmentNode = { readonly data: Tensor; readonly ids: Tensor; readonly output: Tensor };

function defineSegment(
  name: string,
  fold: SegmentFold,
  T: AttrSpec<'type'>,
  grad: (node: SegmentNode, dy: Gradient) => Tensor,
  cases: () => readonly Case<'data' | 'segment_ids', 'output'>[],
): SegmentOp {
  return defineOp({
    name,
    inputs: { data: 'T', segment_ids: 'Tindices' },
    outputs: { output: 'T' },
    attrs: { T, Tindices: attr('type', { allowed: [d.int32, d.int64] }) },
    shape: ({ data, segment_ids }) => ({ output: segmentDims(data, segment_ids) }),
    grad: ({ inputs, outputs }, dy) => ({
      data: grad({ data: inputs.data, ids: inputs.segment_ids, output: outputs.output }, dy.output),
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
      ...cases(),
      {
        given: {
          data: [
            [1, 2],
            [3, 4],
          ],
          segment_ids: ids(1, 0),
        },
        fails: /segment ids are not increasing/,
      },
      {
        given: {
          data: [
            [1, 2],
            [3, 4],
          ],
          segment_ids: ids(-1, 0),
        },
        fails: /Segment id -1 out of range \[0, 1\)/,
      },
    ],
  });
}

const ids = (...value: number[]) => ({ dtype: 'int32' as const, value });
const rows = [
  [1, 2],
  [3, 5],
  [5, 6],
  [7, 9],
];

export const SegmentSum: SegmentOp = defineSegment(
  'SegmentSum',
  'sum',
  numbers,
  (node, dy) => segmentSumGradient(node, dy),
  () => [
    {
      given: { data: rows, segment_ids: ids(0, 0, 2, 2) },
      expect: {
        output: [
          [4, 7],
          [0, 0],
          [12, 15],
        ],
      },
    },
    {
      given: {
        data: { dtype: 'float32', value: [], shape: [0, 2] },
        segment_ids: { dtype: 'int32', value: [], shape: [0] },
      },
      expect: { output: { dtype: 'float32', value: [], shape: [0, 2] } },
    },
  ],
);
export const SegmentMean: SegmentOp = defineSegment(
  'SegmentMean',
  'mean',
  numbers,
  (node, dy) => segmentMeanGradient(node, dy),
  () => [
    {
      given: { data: rows, segment_ids: ids(0, 0, 2, 2) },
      expect: {
        output: [
          [2, 3.5],
          [0, 0],
          [6, 7.5],
        ],
      },
    },
    {
      given: { data: { dtype: 'int32', value: [1, 2, 3, 4] }, segment_ids: ids(0, 0, 2, 2) },
      expect: { output: { dtype: 'int32', value: [1, 0, 3] } },
    },
  ],
);
export const SegmentMax: SegmentOp = defineSegment(
  'SegmentMax',
  'max',
  realNumbers,
  (node, dy) => segmentExtremeGradient(node, dy),
  () => [
    {
      given: { data: rows, segment_ids: ids(0, 0, 2, 2) },
      expect: {
        output: [
          [3, 5],
          [0, 0],
          [7, 9],
        ],
      },
    },
  ],
);
export const SegmentMin: SegmentOp = defineSegment(
  'SegmentMin',
  'min',
  realNumbers,
  (node, dy) => segmentExtremeGradient(node, dy),
  () => [
    {
      given: { data: rows, segment_ids: ids(0, 0, 2, 2) },
      expect: {
        output: [
          [1, 2],
          [0, 0],
          [5, 6],
        ],
      },
    },
  ],
);
export const SegmentProd: SegmentOp = defineSegment(
  'SegmentProd',
  'prod',
  numbers,
  (node, dy) => segmentProdGradient(node, dy),
  () => [
    {
      given: { data: rows, segment_ids: ids(0, 0, 2, 2) },
      expect: {
        output: [
          [3, 10],
          [1, 1],
          [35, 54],
        ],
      },
    },
  ],
);

// Unsorted segments.
function unsortedDims(data: Dims, ids: Dims, segments: number | null): Dims {
  if (data === null || ids === null) return null;
  if (ids.length > data.length || ids.some((n, i) => n !== null && data[i] != null && n !== data[i]))
    throw new InvalidArgumentError(
      `data is ${showShape(data)}, which does not begin with the shape of segment_ids, ${showShape(ids)}.`,
    );
  if (segments !== null && segments < 0)
    throw new InvalidArgumentError(`num_segments is ${segments}, but must not be negative.`);
  return [segments, ...data.slice(ids.length)];
}

/** Says which segment number was too large. */
function explainSegment(ids: Shape, segments: number) {
  return ({ position, value }: { position: number; value: number }) => {
    const at = stridesOf(ids).map((s, i) => Math.floor(position / s) % ids[i]!);
    return new InvalidArgumentError(`segment_ids[${at.join(',')}] = ${value} is out of range [0, ${segments})`);
  };
}

export type UnsortedOp = Op<
  { readonly data: 'T'; readonly segment_ids: 'Tindices'; readonly num_segments: 'Tnumsegments' },
  { readonly output: 'T' },
  { readonly T: AttrSpec<'type'>; readonly Tindices: AttrSpec<'type'>; readonly Tnumsegments: AttrSpec<'type'> }
>;
export type UnsortedNode = SegmentNode & { readonly segments: Tensor };

interface Unsorted {
  readonly name: string;
  readonly combine: Combine;
  readonly first: (dtype: DType) => e.Scalar;
  readonly T: AttrSpec<'type'>;
  readonly Tindices: AttrSpec<'type'>;
  readonly grad: (node: UnsortedNode, dy: Gradient) => Tensor;
  readonly cases: () => readonly Case<'data' | 'segment_ids' | 'num_segments', 'output'>[];
}

function defineUnsorted({ name, combine, first, T, Tindices, grad, cases }: Unsorted): UnsortedOp {
  return defineOp({
    name,
    inputs: { data: 'T', segment_ids: 'Tindices', num_segments: 'Tnumsegments' },
    outputs: { output: 'T' },
    attrs: { T, Tindices, Tnumsegments: indexTypes },
    hostInputs: ['num_segments'],
    shape: ({ data, segment_ids }, _, context) => ({
      output: unsortedDims(data, segment_ids, context.partial('num_segments')?.[0] ?? null),
    }),
    grad: ({ inputs, outputs }, dy) => ({
      data: grad(
        { data: inputs.data, ids: inputs.segment_ids, segments: inputs.num_segments, output: outputs.output },
        dy.output,
      ),
    }),
    lower(p, { data, segment_ids, num_segments }) {
      const lead = segment_ids.shape;
      if (lead.length > data.shape.length || lead.some((n, i) => n !== data.shape[i]))
        throw new InvalidArgumentError(
          `data.shape = ${showRuntime(data.shape)} does not start with segment_ids.shape = ${showRuntime(lead)}`,
        );
      const [segments] = p.demandInts(num_segments) as [number]; // a scalar
      if (segments < 0) throw new InvalidArgumentError(`Input num_segments == ${segments} must not be negative.`);
      const explain = explainSegment(lead, segments);
      return { output: combineRows(p, combine, data, segment_ids, segments, first(data.dtype), explain) };
    },
    cases: () => [
      {
        shape: '[4, ?], [4], [] -> [3, ?]',
        given: { num_segments: { dtype: 'int32', value: 3 } },
        attrs: { Tindices: d.int32 },
      },
      { shape: '[4, 2, 5], [4, 2], [] -> [?, 5]', attrs: { Tindices: d.int32 } },
      { shape: '?, [4], [] -> ?', attrs: { Tindices: d.int32 } },
      ...cases(),
      {
        given: {
          data: [
            [1, 2],
            [3, 4],
          ],
          segment_ids: ids(0, 5),
          num_segments: { dtype: 'int32', value: 3 },
        },
        fails: /segment_ids\[1\] = 5 is out of range \[0, 3\)/,
      },
    ],
  });
}

const wideIndices = attr('type', { allowed: [d.int32, d.int64] });
const four = { dtype: 'int32' as const, value: 4 };
const spread = { data: rows, segment_ids: ids(0, -1, 2, 2), num_segments: four };

export const UnsortedSegmentSum: UnsortedOp = defineUnsorted({
  name: 'UnsortedSegmentSum',
  combine: 'add',
  first: () => 0,
  T: numbers,
  Tindices: attr('type', { allowed: [d.int16, d.int32, d.int64] }),
  grad: (node, dy) => unsortedSumGradient(node, dy),
  cases: () => [
    {
      given: spread,
      expect: {
        output: [
          [1, 2],
          [0, 0],
          [12, 15],
          [0, 0],
        ],
      },
    },
    {
      given: {
        data: rows,
        segment_ids: {
          dtype: 'int32',
          value: [
            [0, 1],
            [2, 1],
            [0, 0],
            [-1, 0],
          ],
        },
        num_segments: { dtype: 'int32', value: 3 },
      },
      expect: { output: [21, 7, 3] },
    },
  ],
});
export const UnsortedSegmentMax: UnsortedOp = defineUnsorted({
  name: 'UnsortedSegmentMax',
  combine: 'max',
  first: (dtype) => limitsOf(dtype).lowest,
  T: realNumbers,
  Tindices: wideIndices,
  grad: (node, dy) => unsortedExtremeGradient(node, dy),
  cases: () => [
    {
      given: { data: rows, segment_ids: ids(0, -1, 1, 1), num_segments: { dtype: 'int32', value: 2 } },
      expect: {
        output: [
          [1, 2],
          [7, 9],
        ],
      },
    },
    {
      given: {
        data: { dtype: 'int8', value: [1, 2] },
        segment_ids: ids(0, 0),
        num_segments: { dtype: 'int32', value: 2 },
      },
      expect: { output: { dtype: 'int8', value: [2, -128] } },
    },
  ],
});
export const UnsortedSegmentMin: UnsortedOp = defineUnsorted({
  name: 'UnsortedSegmentMin',
  combine: 'min',
  first: (dtype) => limitsOf(dtype).highest,
  T: realNumbers,
  Tindices: wideIndices,
  grad: (node, dy) => unsortedExtremeGradient(node, dy),
  cases: () => [
    {
      given: { data: rows, segment_ids: ids(0, -1, 1, 1), num_segments: { dtype: 'int32', value: 2 } },
      expect: {
        output: [
          [1, 2],
          [5, 6],
        ],
      },
    },
    {
      given: {
        data: { dtype: 'int64', value: [1, 2] },
        segment_ids: ids(0, 0),
        num_segments: { dtype: 'int32', value: 2 },
      },
      expect: { output: { dtype: 'int64', value: [1, 9223372036854775807n] } },
    },
  ],
});
export const UnsortedSegmentProd: UnsortedOp = defineUnsorted({
  name: 'UnsortedSegmentProd',
  combine: 'mul',
  first: () => 1,
  T: numbers,
  Tindices: wideIndices,
  grad: (node, dy) => unsortedProdGradient(node, dy),
  cases: () => [
    {
      given: spread,
      expect: {
        output: [
          [1, 2],
          [1, 1],
          [35, 54],
          [1, 1],
        ],
      },
    },
  ],
});

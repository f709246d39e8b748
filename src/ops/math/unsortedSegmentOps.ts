/** @file The unsorted segment ops: folds of the rows that share a segment number, in any order. */
import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime, showShape, stridesOf } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { type AttrSpec, attr, indexTypes, numbers, realNumbers } from '../../op/attrs.ts';
import { type Case, int32s } from '../../op/cases.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type * as e from '../../program/expr.ts';
import type { Combine } from '../../program/instructions.ts';
import { unsortedExtremeGradient, unsortedProdGradient, unsortedSumGradient } from './segmentGradients.ts';
import { combineRows, exampleRows, limitsOf, type SegmentNode } from './segmentRows.ts';

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
type UnsortedNode = SegmentNode & { readonly segments: Tensor };

interface Unsorted {
  readonly name: string;
  readonly combine: Combine;
  readonly first: (dtype: DType) => e.Scalar;
  readonly T: AttrSpec<'type'>;
  readonly Tindices: AttrSpec<'type'>;
  readonly grad: () => (node: UnsortedNode, dy: Gradient) => Tensor;
  readonly cases: readonly Case<'data' | 'segment_ids' | 'num_segments', 'output'>[];
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
      data: grad()(
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
        given: { num_segments: int32s(3) },
        attrs: { Tindices: d.int32 },
      },
      { shape: '[4, 2, 5], [4, 2], [] -> [?, 5]', attrs: { Tindices: d.int32 } },
      { shape: '?, [4], [] -> ?', attrs: { Tindices: d.int32 } },
      ...cases,
      {
        given: { data: [[1], [3]], segment_ids: int32s([0, 5]), num_segments: int32s(3) },
        fails: /segment_ids\[1\] = 5 is out of range \[0, 3\)/,
      },
    ],
  });
}

const wideIndices = attr('type', { allowed: [d.int32, d.int64] });
/** One row belongs nowhere; segments 1 and 3 have none. */
const spread = { data: exampleRows, segment_ids: int32s([0, -1, 2, 2]), num_segments: int32s(4) };
const pair = { data: exampleRows, segment_ids: int32s([0, -1, 1, 1]), num_segments: int32s(2) };
/** Two numbers for segment 0, none for segment 1. */
const emptySegment = { segment_ids: int32s([0, 0]), num_segments: int32s(2) };

export const UnsortedSegmentSum: UnsortedOp = defineUnsorted({
  name: 'UnsortedSegmentSum',
  combine: 'add',
  first: () => 0,
  T: numbers,
  Tindices: attr('type', { allowed: [d.int16, d.int32, d.int64] }),
  grad: () => unsortedSumGradient,
  cases: [
    { given: spread, expect: { output: [[1, 2], [0, 0], [12, 15], [0, 0]] } },
    {
      given: { data: exampleRows, segment_ids: int32s([[0, 1], [2, 1], [0, 0], [-1, 0]]), num_segments: int32s(3) },
      expect: { output: [21, 7, 3] },
    },
  ],
}); // biome-ignore format: tables read better in rows
export const UnsortedSegmentMax: UnsortedOp = defineUnsorted({
  name: 'UnsortedSegmentMax',
  combine: 'max',
  first: (dtype) => limitsOf(dtype).lowest,
  T: realNumbers,
  Tindices: wideIndices,
  grad: () => unsortedExtremeGradient,
  cases: [
    { given: pair, expect: { output: [[1, 2], [7, 9]] } },
    {
      given: { data: { dtype: 'int8', value: [1, 2] }, ...emptySegment },
      expect: { output: { dtype: 'int8', value: [2, -128] } },
    },
  ],
}); // biome-ignore format: as above
export const UnsortedSegmentMin: UnsortedOp = defineUnsorted({
  name: 'UnsortedSegmentMin',
  combine: 'min',
  first: (dtype) => limitsOf(dtype).highest,
  T: realNumbers,
  Tindices: wideIndices,
  grad: () => unsortedExtremeGradient,
  cases: [
    { given: pair, expect: { output: [[1, 2], [5, 6]] } },
    {
      given: { data: { dtype: 'int64', value: [1, 2] }, ...emptySegment },
      expect: { output: { dtype: 'int64', value: [1, 9223372036854775807n] } },
    },
  ],
}); // biome-ignore format: as above
export const UnsortedSegmentProd: UnsortedOp = defineUnsorted({
  name: 'UnsortedSegmentProd',
  combine: 'mul',
  first: () => 1,
  T: numbers,
  Tindices: wideIndices,
  grad: () => unsortedProdGradient,
  cases: [{ given: spread, expect: { output: [[1, 2], [1, 1], [35, 54], [1, 1]] } }],
}); // biome-ignore format: as above

/** @file The sparse segment ops: folds of picked rows, as embeddings of several words are combined; and their gradients. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { intVector } from '../../core/ndarray.ts';
import { type Dims, showShape, sizeOf } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { type AttrSpec, attr, floats, indexTypes, realNumbers } from '../../op/attrs.ts';
import { defineOp, gradientPending, type Op } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { getItem } from '../array/getItem.ts';
import { shape } from '../array/shape.ts';
import { foldSegments, segmentCounts } from './segmentOps.ts';

type Fold = 'sum' | 'mean' | 'sqrtN';

const vector = (port: string, dims: Dims): number | null => {
  if (dims !== null && dims.length !== 1)
    throw new InvalidArgumentError(`${port} is ${showShape(dims)}, but must be a vector.`);
  return dims?.[0] ?? null;
};

function checkPairs(indices: Dims, ids: Dims): void {
  const [m, n] = [vector('indices', indices), vector('segment_ids', ids)];
  if (m !== null && n !== null && m !== n)
    throw new InvalidArgumentError(
      `indices is ${showShape(indices)} and segment_ids is ${showShape(ids)}; there must be one segment number per index.`,
    );
}

function pickRows(p: ProgramBuilder, data: Value, indices: Value): Value {
  const [rows, ...rest] = data.shape as [number, ...number[]]; // data has rows
  const count = indices.shape[0]!;
  const picked = p.gather(p.reshape(data, [1, 1, rows, sizeOf(rest)]), p.reshape(indices, [1, count, 1]), {
    explain: ({ position, value }) =>
      new InvalidArgumentError(`Bad: indices[${position}] == ${value} out of range [0, ${rows})`),
  });
  return p.reshape(picked, [count, ...rest]);
}

type SparseSegmentOp = Op<
  { readonly data: 'T'; readonly indices: 'Tidx'; readonly segment_ids: 'Tsegmentids' },
  { readonly output: 'T' },
  {
    readonly T: AttrSpec<'type'>;
    readonly Tidx: AttrSpec<'type'>;
    readonly Tsegmentids: AttrSpec<'type'>;
    readonly sparse_gradient: AttrSpec<'bool'>;
  }
>;

const ids = (...value: number[]) => ({ dtype: 'int32' as const, value });

function defineSparseSegment(
  name: string,
  fold: Fold,
  T: AttrSpec<'type'>,
  back: () => { readonly dense: GradOp; readonly rowsOnly: RowsGradOp },
  expected: readonly (readonly number[])[],
): SparseSegmentOp {
  return defineOp({
    name,
    inputs: { data: 'T', indices: 'Tidx', segment_ids: 'Tsegmentids' },
    outputs: { output: 'T' },
    attrs: { T, Tidx: indexTypes, Tsegmentids: indexTypes, sparse_gradient: attr('bool', { default: false }) },
    shape({ data, indices, segment_ids }) {
      checkPairs(indices, segment_ids);
      return { output: data === null ? null : [null, ...data.slice(1)] };
    },
    grad({ inputs: { data, indices, segment_ids }, attrs: { sparse_gradient } }, { output: grad }) {
      const dims = shape(data);
      const rows = getItem(dims, [0]);
      const { dense, rowsOnly } = back();
      if (!sparse_gradient) return { data: dense.build({ grad, indices, segment_ids, output_dim0: rows }).output };
      const { output, sorted_unique_indices } = rowsOnly.build({ grad, indices, segment_ids, dense_output_dim0: rows });
      return { data: new IndexedSlices(output, sorted_unique_indices, dims) };
    },
    lower(p, { data, indices, segment_ids }) {
      const counts = segmentCounts(p, segment_ids);
      if (indices.shape.length !== 1) throw new InvalidArgumentError('indices should be a vector.');
      if (indices.shape[0] !== segment_ids.shape[0])
        throw new InvalidArgumentError('segment_ids and indices should have same size.');
      return { output: foldSegments(p, fold, pickRows(p, data, indices), segment_ids, counts) };
    },
    cases: () => [
      { shape: '[4, ?], [3], [3] -> [?, ?]' },
      { shape: '[4, 2], [3], [2]', rejects: /one segment number per index/ },
      {
        given: {
          data: [
            [0, 1],
            [2, 3],
            [4, 5],
            [6, 7],
          ],
          indices: ids(3, 1, 1),
          segment_ids: ids(0, 0, 2),
        },
        expect: { output: expected },
      },
      {
        given: {
          data: [
            [0, 1],
            [2, 3],
          ],
          indices: ids(9),
          segment_ids: ids(0),
        },
        fails: /Bad: indices\[0\] == 9 out of range \[0, 2\)/,
      },
    ],
  });
}

export const SparseSegmentSum: SparseSegmentOp = defineSparseSegment(
  'SparseSegmentSum',
  'sum',
  realNumbers,
  () => ({ dense: SparseSegmentSumGrad, rowsOnly: SparseSegmentSumGradV2 }),
  [
    [8, 10],
    [0, 0],
    [2, 3],
  ],
);
export const SparseSegmentMean: SparseSegmentOp = defineSparseSegment(
  'SparseSegmentMean',
  'mean',
  floats,
  () => ({ dense: SparseSegmentMeanGrad, rowsOnly: SparseSegmentMeanGradV2 }),
  [
    [4, 5],
    [0, 0],
    [2, 3],
  ],
);
export const SparseSegmentSqrtN: SparseSegmentOp = defineSparseSegment(
  'SparseSegmentSqrtN',
  'sqrtN',
  floats,
  () => ({ dense: SparseSegmentSqrtNGrad, rowsOnly: SparseSegmentSqrtNGradV2 }),
  [
    [5.65685425, 7.07106781],
    [0, 0],
    [2, 3],
  ],
);

type GradOp = Op<
  {
    readonly grad: 'T';
    readonly indices: 'Tidx';
    readonly segment_ids: 'Tsegmentids';
    readonly output_dim0: 'int32';
  },
  { readonly output: 'T' },
  { readonly T: AttrSpec<'type'>; readonly Tidx: AttrSpec<'type'>; readonly Tsegmentids: AttrSpec<'type'> }
>;

/** The share of its segment's gradient that each picked row gets. */
function rowScale(p: ProgramBuilder, fold: Fold, ids: Value, segments: number): Value | undefined {
  if (fold === 'sum') return undefined;
  const count = ids.shape[0]!;
  const totals = p.fill(d.float64, [segments, 1], 0);
  const column = p.reshape(ids, [count, 1]);
  p.scatter('add', totals, column, p.fill(d.float64, [count, 1], 1), { bounds: 'drop' });
  const perRow = p.gather(p.reshape(totals, [1, 1, segments, 1]), p.reshape(column, [1, count, 1]), { bounds: 'zero' });
  return p.map([p.reshape(perRow, [count, 1])], (n) => e.reciprocal(fold === 'mean' ? n! : e.sqrt(n!)));
}

/** What flows back to each picked row, `[rows, rest]`. */
function rowGradients(p: ProgramBuilder, fold: Fold, grad: Value, indices: Value, segment_ids: Value): Value {
  const [segments, ...rest] = grad.shape as [number, ...number[]]; // grad has rows
  const count = indices.shape[0]!;
  if (count !== segment_ids.shape[0]) throw new InvalidArgumentError('segment_ids and indices should have same size.');
  const inner = sizeOf(rest);
  const perRow = p.gather(p.reshape(grad, [1, 1, segments, inner]), p.reshape(segment_ids, [1, count, 1]), {
    explain: () => new InvalidArgumentError('Invalid number of segments'),
  });
  const scale = rowScale(p, fold, segment_ids, segments);
  const flat = p.reshape(perRow, [count, inner]);
  return scale ? p.map([flat, scale], (x, s) => e.mul(x!, e.cast(s!, grad.dtype))) : flat;
}

function defineSparseGrad(name: string, fold: Fold, expected: readonly (readonly number[])[]): GradOp {
  return defineOp({
    name,
    inputs: { grad: 'T', indices: 'Tidx', segment_ids: 'Tsegmentids', output_dim0: 'int32' },
    outputs: { output: 'T' },
    attrs: { T: floats, Tidx: indexTypes, Tsegmentids: indexTypes },
    hostInputs: ['output_dim0'],
    shape({ grad, indices, segment_ids }, _, context) {
      checkPairs(indices, segment_ids);
      return { output: grad === null ? null : [context.partial('output_dim0')?.[0] ?? null, ...grad.slice(1)] };
    },
    grad: gradientPending('TensorFlow has none either'),
    lower(p, { grad, indices, segment_ids, output_dim0 }, { T }) {
      const [rows] = p.demandInts(output_dim0) as [number]; // a scalar
      const updates = rowGradients(p, fold, grad, indices, segment_ids);
      const [count, inner] = updates.shape as [number, number]; // one row per index
      const target = p.fill(T, [rows, inner], 0);
      p.scatter('add', target, p.reshape(indices, [count, 1]), updates, {
        explain: ({ value }) => new InvalidArgumentError(`Index ${value} out of range [0, ${rows}).`),
      });
      return { output: p.reshape(target, [rows, ...grad.shape.slice(1)]) };
    },
    cases: () => [
      { shape: '[3, ?], [5], [5], [] -> [4, ?]', given: { output_dim0: { dtype: 'int32', value: 4 } } },
      {
        given: {
          grad: [
            [0, 1],
            [2, 3],
            [4, 5],
          ],
          indices: ids(3, 1, 1),
          segment_ids: ids(0, 0, 2),
          output_dim0: { dtype: 'int32', value: 4 },
        },
        expect: { output: expected },
      },
    ],
  });
}

export const SparseSegmentSumGrad: GradOp = defineSparseGrad('SparseSegmentSumGrad', 'sum', [
  [0, 0],
  [4, 6],
  [0, 0],
  [0, 1],
]);
export const SparseSegmentMeanGrad: GradOp = defineSparseGrad('SparseSegmentMeanGrad', 'mean', [
  [0, 0],
  [4, 5.5],
  [0, 0],
  [0, 0.5],
]);
export const SparseSegmentSqrtNGrad: GradOp = defineSparseGrad('SparseSegmentSqrtNGrad', 'sqrtN', [
  [0, 0],
  [4, 5.70710678],
  [0, 0],
  [0, Math.SQRT1_2],
]);

type RowsGradOp = Op<
  {
    readonly grad: 'T';
    readonly indices: 'Tidx';
    readonly segment_ids: 'Tsegmentids';
    readonly dense_output_dim0: 'int32';
  },
  { readonly output: 'T'; readonly sorted_unique_indices: 'Tidx' },
  { readonly T: AttrSpec<'type'>; readonly Tidx: AttrSpec<'type'>; readonly Tsegmentids: AttrSpec<'type'> }
>;

/** Gradients for the rows that were picked only, with the numbers of these rows, which rise. */
function defineRowsGrad(name: string, fold: Fold, expected: readonly (readonly number[])[]): RowsGradOp {
  return defineOp({
    name,
    inputs: { grad: 'T', indices: 'Tidx', segment_ids: 'Tsegmentids', dense_output_dim0: 'int32' },
    outputs: { output: 'T', sorted_unique_indices: 'Tidx' },
    attrs: { T: floats, Tidx: indexTypes, Tsegmentids: indexTypes },
    shape({ grad, indices, segment_ids }) {
      checkPairs(indices, segment_ids);
      return { output: grad === null ? null : [null, ...grad.slice(1)], sorted_unique_indices: [null] };
    },
    grad: gradientPending('TensorFlow has none either'),
    lower(p, { grad, indices, segment_ids }, { T, Tidx }) {
      const count = indices.shape[0]!;
      const [sorted, place] = p.host([indices], [{ dtype: Tidx }, { dtype: d.int32, shape: [count] }], ([given]) => {
        const rows = given!.numbers();
        const found = [...new Set(rows)].sort((a, b) => a - b);
        const at = new Map(found.map((row, i) => [row, i]));
        return [
          intVector(found, Tidx),
          intVector(
            rows.map((row) => at.get(row)!),
            d.int32,
          ),
        ];
      });
      const updates = rowGradients(p, fold, grad, indices, segment_ids);
      const target = p.fill(T, [sorted!.shape[0]!, updates.shape[1]!], 0);
      p.scatter('add', target, p.reshape(place!, [count, 1]), updates);
      return {
        output: p.reshape(target, [sorted!.shape[0]!, ...grad.shape.slice(1)]),
        sorted_unique_indices: sorted!,
      };
    },
    cases: () => [
      { shape: '[3, ?], [5], [5], [] -> [?, ?], [?]' },
      { shape: '[3, ?], [5], [4], []', rejects: /one segment number per index/ },
      {
        given: {
          grad: [
            [0, 1],
            [2, 3],
            [4, 5],
          ],
          indices: ids(3, 1, 1),
          segment_ids: ids(0, 0, 2),
          dense_output_dim0: { dtype: 'int32', value: 4 },
        },
        expect: { output: expected, sorted_unique_indices: ids(1, 3) },
      },
    ],
  });
}

export const SparseSegmentSumGradV2: RowsGradOp = defineRowsGrad('SparseSegmentSumGradV2', 'sum', [
  [4, 6],
  [0, 1],
]);
export const SparseSegmentMeanGradV2: RowsGradOp = defineRowsGrad('SparseSegmentMeanGradV2', 'mean', [
  [4, 5.5],
  [0, 0.5],
]);
export const SparseSegmentSqrtNGradV2: RowsGradOp = defineRowsGrad('SparseSegmentSqrtNGradV2', 'sqrtN', [
  [4, 5.70710678],
  [0, Math.SQRT1_2],
]);

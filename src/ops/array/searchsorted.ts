/** @file LowerBound, UpperBound, Bucketize and searchsorted: where values belong in sorted rows. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, intVector } from '../../core/ndarray.ts';
import { isFullyDefined, showRuntime, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { type AttrSpec, anyType, attr, indexTypes } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable, type Op } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { add, and, cast, type Expr, gt, lt, min, not, select } from '../../program/map.ts';
import type { Value } from '../../program/value.ts';
import { type Named, ofRank, scoped } from './common.ts';
import { getItem } from './getItem.ts';
import { reshape } from './reshape.ts';
import { Shape } from './shape.ts';

// NaN is smaller than nothing: what goes behind equal entries goes behind all, and what goes before them before all.

/** With fewer entries than this all of them are compared with each value, in one pass. */
const fewEntries = 32;

/** How many entries of each of the sorted rows [batch, n] come before each value of [batch, m]. */
function countBefore(
  p: ProgramBuilder,
  sorted: Value,
  values: Value,
  before: (entry: Expr, value: Expr) => Expr,
): Value {
  const [batch, n] = sorted.shape as [number, number]; // rank checked
  const m = values.shape[1]!;
  const type = n < 2 ** 30 ? d.int32 : d.int64;
  if (n < fewEntries) {
    const hits = p.map([p.reshape(sorted, [batch, 1, n]), p.reshape(values, [batch, m, 1])], (entry, value) =>
      cast(before(entry, value), type),
    );
    return p.reduce('sum', hits, [2]);
  }
  // `count` entries come before it for certain. Each step adds a power of two, if so many more do.
  const entries = p.reshape(sorted, [batch, 1, n, 1]);
  let count = p.fill(type, [batch, m], 0);
  for (let step = 2 ** Math.floor(Math.log2(n)); step >= 1; step /= 2) {
    const last = p.map([count], (count) => min(add(count, step - 1), n - 1));
    const entry = p.reshape(p.gather(entries, p.reshape(last, [batch, m, 1])), [batch, m]);
    count = p.map([count, entry, values], (count, entry, value) => {
      const more = add(count, step);
      return select(and(not(gt(more, n)), before(entry, value)), more, count);
    });
  }
  return count;
}

/** More than a few entries, three of each kind, and what is looked for in them. */
const many = Array.from({ length: 40 }, (_, i) => Math.floor(i / 3));
const asked = [-1, 0, 0.5, 6, 12, 13, 20, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

/** An op that counts the entries of sorted rows that are `before` a value. */
function defineBound(
  name: string,
  before: (entry: Expr, value: Expr) => Expr,
  expected: readonly (readonly number[])[],
  found: readonly (readonly number[])[],
): BoundOp {
  return defineOp({
    name,
    inputs: { sorted_inputs: 'T', values: 'T' },
    outputs: { output: 'out_type' },
    attrs: { T: anyType, out_type: indexTypes },
    shape({ sorted_inputs, values }) {
      ofRank(sorted_inputs, 2, 'sorted_inputs');
      return { output: ofRank(values, 2, 'values') };
    },
    grad: notDifferentiable,
    lower(p, { sorted_inputs: sorted, values }, { out_type }) {
      if (sorted.shape.length !== 2 || values.shape.length !== 2)
        throw new InvalidArgumentError(`sorted input argument must be a matrix, got ${showRuntime(sorted.shape)}`);
      if (values.shape[0] !== sorted.shape[0])
        throw new InvalidArgumentError(
          `Leading dim_size of both tensors must match: ${showRuntime(sorted.shape)} vs. ${showRuntime(values.shape)}`,
        );
      const count = countBefore(p, sorted, values, before);
      return { output: p.map([count], (n) => cast(n, out_type)) };
    },
    cases: () => [
      { shape: '[2, 5], [2, ?] -> [2, ?]' },
      {
        given: {
          sorted_inputs: [
            [0, 3, 9, 9, 10],
            [1, 2, 3, 4, 5],
          ],
          values: [
            [2, 4, 9],
            [0, 2, 6],
          ],
        },
        expect: { output: int32s(expected) },
      },
      {
        given: { sorted_inputs: [[0, 1, 2]], values: [[Number.NaN]] },
        expect: { output: int32s([[name === 'UpperBound' ? 3 : 0]]) },
      },
      {
        given: { sorted_inputs: [many, many.map((x) => 2 * x - 5)], values: [asked, asked] },
        expect: { output: int32s(found) },
      },
    ],
  });
}

type BoundOp = Op<
  { readonly sorted_inputs: 'T'; readonly values: 'T' },
  { readonly output: 'out_type' },
  { readonly T: AttrSpec<'type'>; readonly out_type: AttrSpec<'type'> }
>;

export const LowerBound: BoundOp = defineBound(
  'LowerBound',
  (entry, value) => lt(entry, value),
  [
    [1, 2, 2],
    [0, 1, 5],
  ],
  [
    [0, 0, 3, 18, 36, 39, 40, 0, 40, 0],
    [6, 9, 9, 18, 27, 27, 39, 0, 40, 0],
  ],
);
export const UpperBound: BoundOp = defineBound(
  'UpperBound',
  (entry, value) => not(lt(value, entry)),
  [
    [1, 2, 4],
    [0, 2, 5],
  ],
  [
    [0, 3, 3, 21, 39, 40, 40, 40, 40, 0],
    [9, 9, 9, 18, 27, 30, 39, 40, 40, 0],
  ],
);

export const Bucketize = defineOp({
  name: 'Bucketize',
  inputs: { input: 'T' },
  outputs: { output: 'int32' },
  attrs: {
    T: attr('type', { allowed: [d.int32, d.int64, d.float32, d.float64] }),
    boundaries: attr('list(float)'),
  },
  shape: ({ input }) => ({ output: input }),
  grad: notDifferentiable,
  lower(p, { input }, { boundaries }) {
    if (boundaries.some((b, i) => i > 0 && b < boundaries[i - 1]!))
      throw new InvalidArgumentError('Expected sorted boundaries');
    const wide = input.dtype === d.float64 ? d.float64 : d.float32;
    const edges = p.constant(fromElements(wide, [1, boundaries.length], boundaries));
    const row = p.reshape(input, [1, sizeOf(input.shape)]);
    const count = countBefore(p, edges, row, (edge, x) => not(lt(cast(x, wide), edge)));
    return { output: p.reshape(count, input.shape) };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]', attrs: { boundaries: [1] } },
    {
      given: {
        input: [
          [-5, 10000],
          [150, 10],
          [5, 100],
        ],
      },
      attrs: { boundaries: [0, 10, 100] },
      expect: {
        output: {
          dtype: 'int32',
          value: [
            [0, 3],
            [3, 2],
            [1, 3],
          ],
        },
      },
    },
    {
      given: { input: [Number.NaN, 2] },
      attrs: { boundaries: [-1, 0, 2] },
      expect: { output: { dtype: 'int32', value: [3, 3] } },
    },
    {
      given: { input: asked },
      attrs: { boundaries: many },
      expect: { output: int32s([0, 3, 3, 21, 39, 40, 40, 40, 40, 0]) },
    },
  ],
});

/** A shape as Python converts a `TensorShape`. */
function shapeTensor(value: TensorLike): Tensor {
  return scoped('Shape', [value], (scope) => {
    const x = convertToTensor(value);
    return isFullyDefined(x.shape)
      ? constantNode(intVector(x.shape), 'shape_as_tensor')
      : Shape.build({ input: x }, { name: scope }).output;
  });
}

/**
 * For each value, where it belongs in the sorted last axis of `sortedSequence`: before equal entries (`'left'`) or after.
 * Adds reshapes and one `LowerBound` or `UpperBound` node.
 *
 * @example tf.searchsorted([1, 3, 5], [3, 4]) // runs to [1 2]
 */
export function searchsorted(
  sortedSequence: TensorLike,
  values: TensorLike,
  options: Named & { side?: 'left' | 'right'; outType?: d.DType } = {},
): Tensor {
  const { side = 'left', outType = d.int32, name } = onlyOptions('tf.searchsorted', options, 'side', 'outType', 'name');
  const sequenceSize = getItem(shapeTensor(sortedSequence), [-1]);
  const valuesSize = getItem(shapeTensor(values), [-1]);
  const rows = reshape(sortedSequence, [-1, sequenceSize]);
  const valueRows = reshape(values, [-1, valuesSize]);
  const op = side === 'right' ? UpperBound : LowerBound;
  const found = op.build({ sorted_inputs: rows, values: valueRows }, { name, attrs: { out_type: outType } }).output;
  return reshape(found, shapeTensor(values));
}

/** @file What the segment ops share: rows combined by the number of their segment. */
import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import type { InvalidArgumentError } from '../../core/errors.ts';
import { sizeOf } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type * as e from '../../program/expr.ts';
import type { Combine } from '../../program/instructions.ts';
import type { Value } from '../../program/value.ts';

/** What the gradient of a segment op sees. */
export interface SegmentNode {
  readonly data: Tensor;
  readonly ids: Tensor;
  readonly output: Tensor;
}

/** Rows for the cases. */
export const exampleRows = [[1, 2], [3, 5], [5, 6], [7, 9]]; // biome-ignore format: a table reads better in rows

/** Segment numbers as an index type of the instructions. */
const asIndices = (p: ProgramBuilder, ids: Value) => (ids.dtype === d.int16 ? p.cast(ids, d.int32) : ids);

/** Combines rows ([count, …]) into a new array of `segments` rows that begin with `first`. */
export function combineRows(
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
export function limitsOf(dtype: DType): { lowest: e.Scalar; highest: e.Scalar } {
  if (dtype === d.int64) return { lowest: -(2n ** 63n), highest: 2n ** 63n - 1n };
  if (dtype === d.uint64) return { lowest: 0, highest: 2n ** 64n - 1n };
  return { lowest: dtype.min, highest: dtype.max };
}

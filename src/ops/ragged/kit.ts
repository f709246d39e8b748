/** @file What the ops of ragged tensors share: reading row splits and picking rows of values. */
import * as d from '../../core/dtypes.ts';
import { zeros } from '../../core/ndarray.ts';
import { type Shape, sizeOf } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';

/** The types that row splits can have. */
export const Tsplits = attr('type', { allowed: [d.int32, d.int64], default: d.int64 });

/** A shape as TensorFlow's messages show it: `[2,?]`. */
export const show = (dims: readonly (number | null)[]): string => `[${dims.map((n) => n ?? '?').join(',')}]`;

/** The rows of `values` at `indices` (int32, any shape), one after the other. */
export function gatherRows(p: ProgramBuilder, values: Value, indices: Value): Value {
  const [rows, ...inner] = values.shape as [number, ...Shape]; // values of ragged tensors have an axis
  const count = sizeOf(indices.shape);
  const [width, shape] = [sizeOf(inner), [count, ...inner]];
  if (count * width === 0) return p.constant(zeros(values.dtype, shape));
  const picked = p.gather(p.reshape(values, [1, 1, rows, width]), p.reshape(indices, [1, count, 1]));
  return p.reshape(picked, shape);
}

/** Splits of rows that all have the same length. */
export const uniformSplits = (rows: number, length: number): number[] =>
  Array.from({ length: rows + 1 }, (_, i) => i * length);

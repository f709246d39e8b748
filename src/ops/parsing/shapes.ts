/** @file Static shapes that the parsing ops share. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';

/** The types that features can have. */
export const featureTypes = attr('list(type)', { allowed: [d.float32, d.int64, d.string], minimum: 0 });
export const featureTypesOrNone = attr('list(type)', { ...featureTypes, default: [] });
export const splitTypes = attr('list(type)', { allowed: [d.int32, d.int64], minimum: 0 });
export const splitTypesOrNone = attr('list(type)', { ...splitTypes, default: [] });
export const shapes = attr('list(shape)', { minimum: 0 });
export const shapesOrNone = attr('list(shape)', { minimum: 0, default: [] });
export const keys = attr('list(string)', { minimum: 0 });
export const count = attr('int', { minimum: 0 });
export const countOrNone = attr('int', { minimum: 0, default: 0 });

/** Refuses a rank other than `rank`. */
export function needRank(port: string, dims: Dims, rank: number): void {
  if (dims !== null && dims.length !== rank)
    throw new InvalidArgumentError(
      `${port}: Shape must be rank ${rank} but is rank ${dims.length}, with shape ${showRuntime(dims)}`,
    );
}
/** Refuses a rank above `rank`. */
export function needRankAtMost(port: string, dims: Dims, rank: number): void {
  if (dims !== null && dims.length > rank)
    throw new InvalidArgumentError(
      `${port}: Shape must be at most rank ${rank} but is rank ${dims.length}, with shape ${showRuntime(dims)}`,
    );
}

/** The shapes of `n` sparse tensors whose rank is that of the input plus `more`. */
export function sparseShapes(n: number, input: Dims, more: number) {
  const rank = input === null ? null : input.length + more;
  const list = (dims: Dims) => new Array<Dims>(n).fill(dims);
  return { indices: list([null, rank]), values: list([null]), shapes: list([rank]) };
}

export function joined(prefix: Dims, dims: Dims): Dims {
  return prefix === null || dims === null ? null : [...prefix, ...dims];
}

/** The shapes of `n` ragged tensors of a batch: values and row splits. */
export function raggedShapes(n: number, input: Dims) {
  const examples = input?.length === 1 ? input[0]! : null;
  const list = (dims: Dims) => new Array<Dims>(n).fill(dims);
  return { values: list([null]), splits: list([examples === null ? null : examples + 1]) };
}

/** Only the first size of a dense feature may be unknown. */
export function checkDenseShapes(dense: readonly Dims[]): void {
  for (const [i, dims] of dense.entries())
    if (dims === null || dims.slice(1).includes(null))
      throw new InvalidArgumentError(
        `dense_shapes[${i}] has unknown rank or unknown inner dimensions: ${showRuntime(dims)}`,
      );
}

/** What is known before a run: the shape if it is whole. */
export const resultOf = (dtype: d.DType, dims: Dims) =>
  dims === null || dims.includes(null) ? { dtype } : { dtype, shape: dims as Shape }; // no size is unknown

/** Splits a flat list into lists of the given lengths. */
export function cut<T, const N extends readonly number[]>(flat: readonly T[], lengths: N): { [K in keyof N]: T[] } {
  let at = 0;
  return lengths.map((n) => flat.slice(at, (at += n))) as { [K in keyof N]: T[] }; // one list per length
}

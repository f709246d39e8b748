/** @file Split and SplitV: a tensor cut into pieces along an axis. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, normalizeAxis, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { complete, type Known, type Named, unknownDims, withAxis } from './common.ts';
import { concat } from './concat.ts';

/** Views of the pieces. */
function pieces(p: ProgramBuilder, value: Value, axis: number, sizes: readonly number[]): Value[] {
  let start = 0;
  return sizes.map((size) => {
    const begin = value.shape.map((_, i) => (i === axis ? start : 0));
    start += size;
    return p.slice(
      value,
      begin,
      value.shape.map((n, i) => (i === axis ? size : n)),
    );
  });
}

function runtimeAxis(axis: number, rank: number): number {
  if (axis < -rank || axis >= rank)
    throw new InvalidArgumentError(`-input rank(-${rank}) <= split_dim < input rank (${rank}), but got ${axis}`);
  return axis < 0 ? axis + rank : axis;
}

/** Known entries of piece `output` of a known vector. */
function knownPiece(
  entries: Known | undefined,
  sizes: readonly number[] | undefined,
  output: number,
): Known | undefined {
  if (!entries || !sizes) return undefined;
  const start = sizes.slice(0, output).reduce((n, s) => n + s, 0);
  return entries.slice(start, start + sizes[output]!);
}

export const Split = defineOp({
  name: 'Split',
  inputs: { split_dim: 'int32', value: 'T' },
  outputs: { output: 'num_split * T' },
  attrs: { num_split: attr('int', { minimum: 1 }), T: anyType },
  hostInputs: ['split_dim'],
  shape({ value }, { num_split }, context) {
    const axis = context.partial('split_dim')?.[0];
    let piece: Dims;
    if (value === null) piece = null;
    else if (axis == null) piece = unknownDims(value.length);
    else {
      const at = normalizeAxis(axis, value.length, 'split_dim');
      const n = value[at]!;
      if (n !== null && n % num_split !== 0)
        throw new InvalidArgumentError(
          `Dimension size must be evenly divisible by ${num_split} but is ${n}: value is ${showShape(value)}, split along axis ${at}. Use tf.split with a list of sizes for uneven pieces.`,
        );
      piece = value.map((d, i) => (i === at && d !== null ? d / num_split : d));
    }
    return { output: new Array<Dims>(num_split).fill(piece) };
  },
  grad: ({ inputs: { split_dim } }, { output: dy }) => ({ value: concat(dy, split_dim) }),
  lower(p, { split_dim, value }, { num_split }) {
    const axis = runtimeAxis(p.demandInts(split_dim)[0]!, value.shape.length);
    const n = value.shape[axis]!;
    if (n % num_split !== 0)
      throw new InvalidArgumentError(
        `Number of ways to split should evenly divide the split dimension, but got split_dim ${axis} (size = ${n}) and num_split ${num_split}`,
      );
    return { output: pieces(p, value, axis, new Array<number>(num_split).fill(n / num_split)) };
  },
  partialValue({ inputs: { value }, attrs: { num_split } }, known, output) {
    const n = value.rank === 1 ? value.shape![0]! : null;
    return n === null ? undefined : knownPiece(known(value), new Array<number>(num_split).fill(n / num_split), output);
  },
  cases: () => [
    {
      shape: '[], [4, ?] -> [2, ?], [2, ?]',
      attrs: { num_split: 2 },
      given: { split_dim: { dtype: 'int32', value: 0 } },
    },
    { shape: '[], [4, ?] -> [?, ?], [?, ?]', attrs: { num_split: 2 } },
    {
      shape: '[], [3]',
      attrs: { num_split: 2 },
      given: { split_dim: { dtype: 'int32', value: 0 } },
      rejects: /evenly divisible by 2 but is 3/,
    },
    {
      given: {
        split_dim: { dtype: 'int32', value: -1 },
        value: [
          [1, 2],
          [3, 4],
        ],
      },
      attrs: { num_split: 2 },
      expect: {
        output: [
          [[1], [3]],
          [[2], [4]],
        ],
      },
    },
  ],
});

export const SplitV = defineOp({
  name: 'SplitV',
  inputs: { value: 'T', size_splits: 'Tlen', split_dim: 'int32' },
  outputs: { output: 'num_split * T' },
  attrs: {
    num_split: attr('int', { minimum: 1 }),
    T: anyType,
    Tlen: attr('type', { allowed: [d.int8, d.int32, d.int64], default: d.int64 }),
  },
  hostInputs: ['size_splits', 'split_dim'],
  shape({ value }, { num_split }, context) {
    const axis = context.partial('split_dim')?.[0];
    if (value === null) return { output: new Array<Dims>(num_split).fill(null) };
    if (axis == null) return { output: new Array<Dims>(num_split).fill(unknownDims(value.length)) };
    const at = normalizeAxis(axis, value.length, 'split_dim');
    const sizes = complete(context.partial('size_splits'));
    const total = value[at]!;
    const exact = sizes ? resolveStatically(sizes, total) : undefined;
    return {
      output: Array.from({ length: num_split }, (_, k) => value.map((d, i) => (i === at ? (exact?.[k] ?? null) : d))),
    };
  },
  grad: ({ inputs: { split_dim } }, { output: dy }) => ({ value: concat(dy, split_dim) }),
  lower(p, { value, size_splits, split_dim }, { num_split }) {
    if (sizeOf(split_dim.shape) !== 1)
      throw new InvalidArgumentError('split_dim_tensor must have exactly one element.');
    const axis = runtimeAxis(p.demandInts(split_dim)[0]!, value.shape.length);
    const sizes = p.demandInts(size_splits);
    if (size_splits.shape.length !== 1 || sizes.length !== num_split)
      throw new InvalidArgumentError(
        `shape of size_splits must be [${num_split}] but got ${showRuntime(size_splits.shape)}`,
      );
    return { output: pieces(p, value, axis, resolveSizes(sizes, value.shape[axis]!, axis)) };
  },
  partialValue({ inputs: { value, size_splits } }, known, output) {
    const sizes = complete(known(size_splits));
    const total = value.rank === 1 ? value.shape![0]! : null;
    return total === null || !sizes ? undefined : knownPiece(known(value), resolveSizes(sizes, total, 0), output);
  },
  cases: () => [
    {
      shape: '[4, ?], [2], [] -> [1, ?], [3, ?]',
      attrs: { num_split: 2 },
      given: { size_splits: { dtype: 'int64', value: [1, -1] }, split_dim: { dtype: 'int32', value: 0 } },
    },
    {
      shape: '[?], [2], [] -> [1], [?]',
      attrs: { num_split: 2 },
      given: { size_splits: { dtype: 'int64', value: [1, -1] }, split_dim: { dtype: 'int32', value: 0 } },
    },
    {
      given: {
        value: [1, 2, 3],
        size_splits: { dtype: 'int32', value: [1, 2] },
        split_dim: { dtype: 'int32', value: 0 },
      },
      attrs: { num_split: 2 },
      expect: { output: [[1], [2, 3]] },
    },
    {
      given: {
        value: ['a', 'b', 'c'],
        size_splits: { dtype: 'int64', value: [-1, 1] },
        split_dim: { dtype: 'int32', value: 0 },
      },
      attrs: { num_split: 2 },
      expect: { output: [['a', 'b'], ['c']] },
    },
  ],
});

/** Sizes while building: -1 can be worked out only when the whole is known. */
function resolveStatically(sizes: readonly number[], total: number | null): readonly (number | null)[] {
  if (total !== null) return resolveSizes(sizes, total, 0);
  return sizes.map((s) => (s === -1 ? null : s));
}

/** One size may be -1, which means "what is left". */
function resolveSizes(sizes: readonly number[], total: number, axis: number): readonly number[] {
  const given = sizes.filter((s) => s !== -1).reduce((n, s) => n + s, 0);
  const missing = sizes.filter((s) => s === -1).length;
  if (missing > 1) throw new InvalidArgumentError('There can only be one -1 in the input.');
  for (const [i, s] of sizes.entries())
    if (s < -1) throw new InvalidArgumentError(`Split size at index ${i} must be >= 0. Got: ${s}`);
  if (missing === 0 ? given !== total : given > total)
    throw new InvalidArgumentError(
      `Determined shape must either match input shape along split_dim exactly if fully specified, or be less than the size of the input along split_dim if not fully specified.  Got: ${given} for axis ${axis} of size ${total}`,
    );
  return sizes.map((s) => (s === -1 ? total - given : s));
}

interface SplitOptions extends Named {
  /** May stand here, or alone as the third argument. */
  readonly axis?: TensorLike | undefined;
  /** How many pieces, where their sizes do not tell. */
  readonly num?: number | undefined;
}

/**
 * Cuts a tensor into `numOrSizes` equal pieces, or into pieces of these sizes. Adds one `Split` or `SplitV` node.
 *
 * @example tf.split(tf.constant([1, 2, 3]), [1, 2]) // runs to [[1], [2 3]]
 */
export function split(
  value: TensorLike,
  numOrSizes: number | TensorLike,
  given?: TensorLike | SplitOptions,
  last: SplitOptions = {},
): readonly Tensor[] {
  const options = withAxis(given, last);
  const { axis = 0, num, name = 'split' } = onlyOptions('tf.split', options, 'axis', 'num', 'name');
  if (typeof numOrSizes === 'number')
    return Split.build({ split_dim: axis, value }, { name, attrs: { num_split: numOrSizes } }).output;
  const sizes = convertToTensor(numOrSizes);
  const count = num ?? (sizes.shape?.length === 1 ? sizes.shape[0]! : null);
  if (sizes.rank === 0 || count === null)
    throw userError(
      `Cannot infer argument \`num\` from shape ${showShape(sizes.shape)}. Give the number of pieces as a plain number, or their sizes as a vector of known length.`,
    );
  return SplitV.build({ value, size_splits: sizes, split_dim: axis }, { name, attrs: { num_split: count } }).output;
}

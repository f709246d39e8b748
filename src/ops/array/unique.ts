/** @file Unique, UniqueWithCounts, their V2 forms along an axis, and ListDiff. */
import { type DType, int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { Int64s } from '../../core/int64s.ts';
import { intVector, NDArray } from '../../core/ndarray.ts';
import { type Dims, showRuntime, sizeOf } from '../../core/shape.ts';
import { type NamedTuple, namedTuple } from '../../graph/namedTuple.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr, indexTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { type Named, ofRank } from './common.ts';
import { equalSlices } from './grouping.ts';

/** Positions as a vector of either type of indices. */
async function indexVector(positions: Int32Array, dtype: DType): Promise<NDArray> {
  if (dtype === int32) return new NDArray(dtype, [positions.length], positions);
  const wide = new Int64s(positions.length);
  await eachInTurns(positions.length, (i) => wide.set(i, positions[i]!), 4096);
  return new NDArray(dtype, [positions.length], wide.data);
}

/** Rows of a value at positions computed on the host. */
function pick(p: ProgramBuilder, x: Value, axis: number, positions: Value): Value {
  const outer = sizeOf(x.shape.slice(0, axis));
  const inner = sizeOf(x.shape.slice(axis + 1));
  const count = positions.shape[0]!;
  const rows = p.gather(p.reshape(x, [1, outer, x.shape[axis]!, inner]), p.reshape(positions, [1, count, 1]));
  return p.reshape(
    rows,
    x.shape.map((d, i) => (i === axis ? count : d)),
  );
}

function lowerUnique(p: ProgramBuilder, x: Value, axis: number, out_idx: DType) {
  const [first, idx, count] = p.host(
    [x],
    [{ dtype: int32 }, { dtype: out_idx }, { dtype: out_idx }],
    async ([array]) => {
      const { first, group } = await equalSlices(array!, axis);
      const counts = new Int32Array(first.length);
      await eachInTurns(group.length, (i) => counts[group[i]!]!++, 4096);
      return [await indexVector(first, int32), await indexVector(group, out_idx), await indexVector(counts, out_idx)];
    },
    { borrows: true },
  );
  return { y: pick(p, x, axis, first!), idx: idx!, count: count! };
}

function checkVector(x: Value): void {
  if (x.shape.length !== 1)
    throw new InvalidArgumentError(`unique expects a 1D vector. x has shape ${showRuntime(x.shape)}`);
}

export const Unique = defineOp({
  name: 'Unique',
  isSizedByData: true,
  inputs: { x: 'T' },
  outputs: { y: 'T', idx: 'out_idx' },
  attrs: { T: anyType, out_idx: indexTypes },
  shape: ({ x }) => ({ y: [null], idx: ofRank(x, 1, 'x') }),
  grad: notDifferentiable,
  lower(p, { x }, { out_idx }) {
    checkVector(x);
    const { y, idx } = lowerUnique(p, x, 0, out_idx);
    return { y, idx };
  },
  cases: () => [
    { shape: '[5] -> [?], [5]' },
    {
      given: { x: [3, 1, 3, 2, 1] },
      expect: { y: [3, 1, 2], idx: { dtype: 'int32', value: [0, 1, 0, 2, 1] } },
    },
    { given: { x: ['b', 'a', 'b', '', 'ab', ''] }, expect: { y: ['b', 'a', '', 'ab'], idx: { dtype: 'int32', value: [0, 1, 0, 2, 3, 2] } } }, // biome-ignore format: short
    ...(['float32', 'float64'] as const).map((dtype) => ({
      given: { x: { dtype, value: [0, Number.NaN, -0, Number.POSITIVE_INFINITY, Number.NaN, -1, Number.POSITIVE_INFINITY, 1, -1] } },
      expect: {
        y: { dtype, value: [0, Number.NaN, Number.POSITIVE_INFINITY, Number.NaN, -1, 1] },
        idx: { dtype: 'int32' as const, value: [0, 1, 0, 2, 3, 4, 2, 5, 4] },
      },
    })), // biome-ignore format: short
    ...(['float16', 'bfloat16'] as const).map((dtype) => ({
      given: { x: { dtype, value: [0, Number.NaN, -0, Number.NaN, 0, -0] } },
      expect: { y: { dtype, value: [0, Number.NaN, -0, Number.NaN] }, idx: { dtype: 'int32' as const, value: [0, 1, 2, 3, 0, 2] } },
    })), // biome-ignore format: short
    ...(['int8', 'uint16', 'uint64'] as const).map((dtype) => ({
      given: { x: { dtype, value: [7, 0, 7, 100, 0] } },
      expect: { y: { dtype, value: [7, 0, 100] }, idx: { dtype: 'int32' as const, value: [0, 1, 0, 2, 1] } },
    })),
    {
      given: { x: { dtype: 'complex64', value: [{ re: 0, im: 1 }, { re: -0, im: 1 }, { re: 1, im: 0 }, { re: 0, im: Number.NaN }, { re: 0, im: Number.NaN }] } },
      expect: { idx: { dtype: 'int32', value: [0, 0, 1, 2, 3] } },
    }, // biome-ignore format: short
  ],
});

export const UniqueWithCounts = defineOp({
  name: 'UniqueWithCounts',
  isSizedByData: true,
  inputs: { x: 'T' },
  outputs: { y: 'T', idx: 'out_idx', count: 'out_idx' },
  attrs: { T: anyType, out_idx: indexTypes },
  shape: ({ x }) => ({ y: [null], idx: ofRank(x, 1, 'x'), count: [null] }),
  grad: notDifferentiable,
  lower(p, { x }, { out_idx }) {
    checkVector(x);
    return lowerUnique(p, x, 0, out_idx);
  },
  cases: () => [
    { shape: '[5] -> [?], [5], [?]' },
    {
      given: { x: { dtype: 'int64', value: [7, 7, 9] } },
      attrs: { out_idx: int64 },
      expect: {
        y: { dtype: 'int64', value: [7, 9] },
        idx: { dtype: 'int64', value: [0, 0, 1] },
        count: { dtype: 'int64', value: [2, 1] },
      },
    },
  ],
});

/** The shape along an axis; without one the input is a vector. */
function alongAxis(x: Dims, axis: readonly (number | null)[] | undefined): { y: Dims; idx: Dims } {
  if (axis?.length === 0) return { y: [null], idx: ofRank(x, 1, 'x') };
  const at = axis?.[0];
  if (x === null || at == null) return { y: x === null ? null : x.map(() => null), idx: [null] };
  const position = at < 0 ? at + x.length : at;
  if (position < 0 || position >= x.length)
    throw new InvalidArgumentError(`axis expects to be in the range [${-x.length}, ${x.length}) but got ${at}`);
  return { y: x.map((d, i) => (i === position ? null : d)), idx: [x[position]!] };
}

function demandAxis(p: ProgramBuilder, x: Value, axis: Value): number {
  const given = p.demandInts(axis);
  if (given.length === 0) {
    checkVector(x);
    return 0;
  }
  if (given.length > 1) throw new InvalidArgumentError(`axis does not support input tensors larger than 1 elements`);
  const rank = x.shape.length;
  const at = given[0]! < 0 ? given[0]! + rank : given[0]!;
  if (at < 0 || at >= rank)
    throw new InvalidArgumentError(`axis expects to be in the range [0, ${rank}) but got ${given[0]}`);
  return at;
}

const axisTypes = attr('type', { allowed: [int32, int64], default: int64 });

export const UniqueV2 = defineOp({
  name: 'UniqueV2',
  isSizedByData: true,
  inputs: { x: 'T', axis: 'Taxis' },
  outputs: { y: 'T', idx: 'out_idx' },
  attrs: { T: anyType, Taxis: axisTypes, out_idx: indexTypes },
  hostInputs: ['axis'],
  shape: ({ x }, _, context) => alongAxis(x, context.partial('axis')),
  grad: notDifferentiable,
  lower(p, { x, axis }, { out_idx }) {
    const { y, idx } = lowerUnique(p, x, demandAxis(p, x, axis), out_idx);
    return { y, idx };
  },
  cases: () => [
    { shape: '[3, 2], [1] -> [?, 2], [3]', given: { axis: { dtype: 'int64', value: [0] } } },
    {
      given: {
        x: [
          [1, 0, 0],
          [1, 0, 0],
          [2, 0, 0],
        ],
        axis: { dtype: 'int64', value: [1] },
      },
      expect: {
        y: [
          [1, 0],
          [1, 0],
          [2, 0],
        ],
        idx: { dtype: 'int32', value: [0, 1, 1] },
      },
    },
  ],
});

export const UniqueWithCountsV2 = defineOp({
  name: 'UniqueWithCountsV2',
  isSizedByData: true,
  inputs: { x: 'T', axis: 'Taxis' },
  outputs: { y: 'T', idx: 'out_idx', count: 'out_idx' },
  attrs: { T: anyType, Taxis: axisTypes, out_idx: indexTypes },
  hostInputs: ['axis'],
  shape: ({ x }, _, context) => ({ ...alongAxis(x, context.partial('axis')), count: [null] }),
  grad: notDifferentiable,
  lower: (p, { x, axis }, { out_idx }) => lowerUnique(p, x, demandAxis(p, x, axis), out_idx),
  cases: () => [
    { shape: '[3, 2], [1] -> [3, ?], [2], [?]', given: { axis: { dtype: 'int64', value: [1] } } },
    {
      given: {
        x: [
          [1, 0, 0],
          [1, 0, 0],
          [2, 0, 0],
        ],
        axis: { dtype: 'int64', value: [0] },
      },
      expect: {
        y: [
          [1, 0, 0],
          [2, 0, 0],
        ],
        idx: { dtype: 'int32', value: [0, 0, 1] },
        count: { dtype: 'int32', value: [2, 1] },
      },
    },
  ],
});

/** Positions of what is in a list of whole numbers and not in another one. */
function fewLeft(list: NDArray, without: NDArray, dtype: DType): NDArray {
  const gone = new Set(without.numbers());
  return intVector(
    list.numbers().flatMap((value, i) => (gone.has(value) ? [] : [i])),
    dtype,
  );
}

/** Behind the first `without` elements of an array, the positions of those that are not among these. */
async function left(array: NDArray, without: number, dtype: DType): Promise<NDArray> {
  const { first, group } = await equalSlices(array, 0);
  const positions = new Int32Array(group.length - without);
  let count = 0;
  await eachInTurns(
    positions.length,
    (i) => {
      if (first[group[without + i]!]! >= without) positions[count++] = i;
    },
    4096,
  );
  return await indexVector(positions.slice(0, count), dtype);
}

export const ListDiff = defineOp({
  name: 'ListDiff',
  isSizedByData: true,
  inputs: { x: 'T', y: 'T' },
  outputs: { out: 'T', idx: 'out_idx' },
  attrs: { T: anyType, out_idx: indexTypes },
  shape({ x, y }) {
    ofRank(x, 1, 'x');
    ofRank(y, 1, 'y');
    return { out: [null], idx: [null] };
  },
  grad: notDifferentiable,
  lower(p, { x, y }, { out_idx }) {
    for (const [port, value] of [
      ['x', x],
      ['y', y],
    ] as const)
      if (value.shape.length !== 1)
        throw new InvalidArgumentError(`${port} should be a 1D vector. Its shape is ${showRuntime(value.shape)}`);
    // Axes of a shape computation are known while tracing, and then the program need not stop for them.
    const idx =
      x.known && y.known && x.dtype.isInteger
        ? p.constant(fewLeft(x.known, y.known, out_idx))
        : p.host([p.concat([y, x], 0)], [{ dtype: out_idx }], async ([both]) => [
            await left(both!, y.shape[0]!, out_idx),
          ])[0]!;
    return { out: pick(p, x, 0, idx), idx };
  },
  partialValue({ inputs }, known, output) {
    const [list, without] = [known(inputs.x), known(inputs.y)];
    if (!list || !without || list.includes(null) || without.includes(null)) return undefined;
    const left = list.flatMap((value, i) => (without.includes(value) ? [] : [[value, i] as const]));
    return left.map((entry) => entry[output === 0 ? 0 : 1]);
  },
  cases: () => [
    { shape: '[5], [?] -> [?], [?]' },
    {
      given: { x: [1, 2, 3, 2], y: [1, 4] },
      expect: { out: [2, 3, 2], idx: { dtype: 'int32', value: [1, 2, 3] } },
    },
    { given: { x: ['a', 'b'], y: ['a'] }, expect: { out: ['b'], idx: { dtype: 'int32', value: [1] } } },
    { given: { x: [Number.NaN, -0, 1], y: [0, Number.NaN] }, expect: { out: [Number.NaN, 1], idx: { dtype: 'int32', value: [0, 2] } } }, // biome-ignore format: short
  ],
});

export interface UniqueOptions extends Named {
  readonly outIdx?: DType | undefined;
}

/**
 * The distinct elements of a vector in order of first occurrence, and for every element its place among them.
 * Adds one `Unique` node.
 *
 * @example tf.unique([3, 1, 3]).y // runs to [3 1]
 */
export function unique(x: TensorLike, options: UniqueOptions = {}): NamedTuple<{ y: Tensor; idx: Tensor }> {
  const { outIdx = int32, name } = onlyOptions('tf.unique', options, 'outIdx', 'name');
  return namedTuple(Unique.build({ x }, { name, attrs: { out_idx: outIdx } }));
}

/**
 * Like `unique`, with how often each element occurs. Adds one `UniqueWithCounts` node.
 *
 * @example tf.uniqueWithCounts([3, 1, 3]).count // runs to [2 1]
 */
export function uniqueWithCounts(
  x: TensorLike,
  options: UniqueOptions = {},
): NamedTuple<{ y: Tensor; idx: Tensor; count: Tensor }> {
  const { outIdx = int32, name } = onlyOptions('tf.uniqueWithCounts', options, 'outIdx', 'name');
  return namedTuple(UniqueWithCounts.build({ x }, { name, attrs: { out_idx: outIdx } }));
}

/**
 * The elements of `x` that are not in `y`, and their positions in `x`. Adds one `ListDiff` node.
 *
 * @example tf.setdiff1d([1, 2, 3], [2]).out // runs to [1 3]
 */
export function setdiff1d(
  x: TensorLike,
  y: TensorLike,
  options: Named & { indexDtype?: DType | undefined } = {},
): NamedTuple<{ out: Tensor; idx: Tensor }> {
  const { indexDtype = int32, name } = onlyOptions('tf.setdiff1d', options, 'indexDtype', 'name');
  return namedTuple(ListDiff.build({ x, y }, { name, attrs: { out_idx: indexDtype } }));
}

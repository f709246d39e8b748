/** @file Unique, UniqueWithCounts, their V2 forms along an axis, and ListDiff. */
import { type DType, int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { intVector, NDArray } from '../../core/ndarray.ts';
import { type Dims, showRuntime, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr, indexTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { type Named, ofRank } from './common.ts';

/** Text that is the same for equal elements; a NaN equals nothing, not even itself, as in TensorFlow. */
function keyOf(array: NDArray, i: number): string {
  if (array.dtype.isObject) return Buffer.from(array.objects[i] as Uint8Array).toString('latin1'); // strings are bytes
  const value = array.at(i);
  if (typeof value === 'object') return JSON.stringify(value);
  if (typeof value === 'number' && Number.isNaN(value)) return `nan ${i}`;
  return value === 0 ? '0' : String(value); // -0 equals 0
}

/** One key per slice along the axis. */
function sliceKeys(x: NDArray, axis: number): string[] {
  const n = x.shape[axis]!;
  const inner = sizeOf(x.shape.slice(axis + 1));
  const outer = sizeOf(x.shape.slice(0, axis));
  return Array.from({ length: n }, (_, k) => {
    const parts: string[] = [];
    for (let o = 0; o < outer; o++) for (let i = 0; i < inner; i++) parts.push(keyOf(x, (o * n + k) * inner + i));
    return parts.length === 1 ? parts[0]! : JSON.stringify(parts);
  });
}

/** What is the same for equal elements of a vector. */
function elementKeys(x: NDArray): ArrayLike<unknown> {
  if (x.dtype.isObject || x.dtype.entries > 1 || x.dtype.isFloating) return sliceKeys(x, 0);
  return x.data;
}

/** The first of each group of equal slices, the group of every slice, and the sizes of the groups. */
function group(keys: ArrayLike<unknown>): { first: Int32Array; group: Int32Array; count: Int32Array } {
  const groups = new Map<unknown, number>();
  const n = keys.length;
  const [first, member, count] = [new Int32Array(n), new Int32Array(n), new Int32Array(n)];
  for (let i = 0; i < n; i++) {
    const key = keys[i];
    let at = groups.get(key);
    if (at === undefined) {
      at = groups.size;
      groups.set(key, at);
      first[at] = i;
    }
    member[i] = at;
    count[at]!++;
  }
  return { first: first.slice(0, groups.size), group: member, count: count.slice(0, groups.size) };
}

/** Positions as a vector of either type of indices. */
const indexVector = (positions: Int32Array, dtype: DType): NDArray =>
  new NDArray(dtype, [positions.length], dtype === int32 ? positions : BigInt64Array.from(positions, BigInt));

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
  const [first, idx, count] = p.host([x], [{ dtype: int32 }, { dtype: out_idx }, { dtype: out_idx }], ([array]) => {
    const found = group(array!.shape.length === 1 ? elementKeys(array!) : sliceKeys(array!, axis));
    return [indexVector(found.first, int32), indexVector(found.group, out_idx), indexVector(found.count, out_idx)];
  });
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
    { given: { x: ['b', 'a', 'b'] }, expect: { y: ['b', 'a'], idx: { dtype: 'int32', value: [0, 1, 0] } } },
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
    const difference = (list: NDArray, without: NDArray) => {
      const gone = new Set(Array.from({ length: without.size }, (_, i) => keyOf(without, i)));
      const left = Array.from({ length: list.size }, (_, i) => i).filter((i) => !gone.has(keyOf(list, i)));
      return intVector(left, out_idx);
    };
    // Axes of a shape computation are known while tracing, and then the program need not stop for them.
    const idx =
      x.known && y.known
        ? p.constant(difference(x.known, y.known))
        : p.host([x, y], [{ dtype: out_idx }], ([list, without]) => [difference(list!, without!)])[0]!;
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
export function unique(x: TensorLike, options: UniqueOptions = {}): { y: Tensor; idx: Tensor } {
  const { outIdx = int32, name } = onlyOptions('tf.unique', options, 'outIdx', 'name');
  return Unique.build({ x }, { name, attrs: { out_idx: outIdx } });
}

/**
 * Like `unique`, with how often each element occurs. Adds one `UniqueWithCounts` node.
 *
 * @example tf.uniqueWithCounts([3, 1, 3]).count // runs to [2 1]
 */
export function uniqueWithCounts(
  x: TensorLike,
  options: UniqueOptions = {},
): { y: Tensor; idx: Tensor; count: Tensor } {
  const { outIdx = int32, name } = onlyOptions('tf.uniqueWithCounts', options, 'outIdx', 'name');
  return UniqueWithCounts.build({ x }, { name, attrs: { out_idx: outIdx } });
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
): { out: Tensor; idx: Tensor } {
  const { indexDtype = int32, name } = onlyOptions('tf.setdiff1d', options, 'indexDtype', 'name');
  return ListDiff.build({ x, y }, { name, attrs: { out_idx: indexDtype } });
}

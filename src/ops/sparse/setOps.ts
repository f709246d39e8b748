/** @file Operations on sets: the last axis of a tensor, dense or sparse, holds the elements of one set per row. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns, yieldIfLong } from '../../core/eventLoop.ts';
import { Int64s } from '../../core/int64s.ts';
import { type Element, fromElements, intVector, NDArray, zeros } from '../../core/ndarray.ts';
import { type Dims, mergeShapes, type Shape, sameShape, sizeOf, stridesOf } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { atLeastRank, mergeDim, ofRank } from '../array/common.ts';

const setTypes = attr('type', { allowed: [d.int8, d.int16, d.int32, d.int64, d.uint8, d.uint16, d.string] });
const attrs = { set_operation: attr('string'), validate_indices: attr('bool', { default: true }), T: setTypes };
const outputs = { result_indices: 'int64', result_values: 'T', result_shape: 'int64' } as const;

/** An element in a form that can be compared: strings by their bytes. */
type Key = string | number | bigint;

function keyReader(array: NDArray): (i: number) => Key {
  if (array.dtype.isObject)
    return (i) => {
      const { buffer, byteOffset, length } = array.objects[i] as Uint8Array; // strings are bytes
      return Buffer.from(buffer, byteOffset, length).toString('latin1');
    };
  return (i) => array.at(i) as number | bigint; // sets hold integers otherwise
}

const elementOf = (key: Key): Element => (typeof key === 'string' ? Buffer.from(key, 'latin1') : key);

/** Sets by the flat position of their row. */
interface Sets {
  readonly shape: Shape;
  readonly rows: ReadonlyMap<number, ReadonlySet<Key>>;
}

function groupShape(shape: Shape): Shape {
  if (shape.length < 2) throw new InvalidArgumentError(`Shape [${shape}] has rank ${shape.length} < 2`);
  return shape.slice(0, -1);
}

async function denseSets(array: NDArray): Promise<Sets> {
  const shape = groupShape(array.shape);
  const width = array.shape.at(-1)!;
  const keyAt = keyReader(array);
  const rows = new Map<number, Set<Key>>();
  const addRow = (row: number) => {
    const set = new Set<Key>();
    for (let i = row * width; i < (row + 1) * width; i++) set.add(keyAt(i));
    rows.set(row, set);
  };
  await eachInTurns(sizeOf(shape), addRow, Math.max(1, Math.floor(512 / width)));
  return { shape, rows };
}

async function sparseSets(indices: NDArray, values: NDArray, shape: NDArray, validate: boolean): Promise<Sets> {
  if (shape.rank !== 1) throw new InvalidArgumentError('Shape must be a 1D tensor.');
  const sizes = shape.numbers();
  if (sizes.length < 2) throw new InvalidArgumentError(`Invalid rank ${sizes.length}.`);
  if (indices.rank !== 2 || indices.shape[1] !== sizes.length || indices.shape[0] !== values.size)
    throw new InvalidArgumentError(
      `indices of shape [${indices.shape}], values of shape [${values.shape}] and a shape of ${sizes.length} sizes are no sparse tensor`,
    );
  const strides = stridesOf(sizes);
  const width = sizes.at(-1)!;
  const rows = new Map<number, Set<Key>>();
  const [keyAt, indexAt] = [keyReader(values), indices.numberReader()];
  const at = sizes.slice();
  let before = -1;
  await eachInTurns(values.size, (i) => {
    let [place, wrong] = [0, -1];
    for (let axis = 0; axis < at.length; axis++) {
      const index = indexAt(i * at.length + axis);
      at[axis] = index;
      place += index * strides[axis]!;
      if (wrong < 0 && (index < 0 || index >= sizes[axis]!)) wrong = axis;
    }
    if (wrong >= 0)
      throw new InvalidArgumentError(
        validate
          ? `indices[${i}] = [${at}] is out of bounds: need 0 <= index < [${sizes}]`
          : `indices[${i}, ${wrong}] expected < ${sizes[wrong]}, got ${at[wrong]}.`,
      );
    if (validate && place <= before)
      throw new InvalidArgumentError(
        `indices[${i}] = [${at}] is ${place === before ? 'repeated' : 'out of order. Many sparse ops require sorted indices.\n    Use `tf.sparse.reorder` to create a correctly ordered copy.'}`,
      );
    before = place;
    const row = Math.floor(place / width);
    let set = rows.get(row);
    if (!set) rows.set(row, (set = new Set()));
    set.add(keyAt(i));
  });
  return { shape: groupShape(sizes), rows };
}

type Combine = (a: ReadonlySet<Key>, b: ReadonlySet<Key>) => Key[];
const combinations: Readonly<Record<string, Combine>> = {
  'a-b': (a, b) => [...a].filter((key) => !b.has(key)),
  'b-a': (a, b) => [...b].filter((key) => !a.has(key)),
  intersection: (a, b) => [...a].filter((key) => b.has(key)),
  union: (a, b) => [...new Set([...a, ...b])],
};

const nothing: ReadonlySet<Key> = new Set();

/** The combined sets as the three parts of a sparse tensor, elements in rising order. */
async function combined(a: Sets, b: Sets, operation: string, dtype: d.DType): Promise<NDArray[]> {
  if (!sameShape(a.shape, b.shape)) throw new InvalidArgumentError(`Mismatched shapes [${a.shape}] vs [${b.shape}]`);
  const combine = combinations[operation.toLowerCase()];
  if (!combine) throw new InvalidArgumentError(`Invalid set_operation ${operation.toLowerCase()}.`);
  const rank = a.shape.length + 1;
  const strides = stridesOf(a.shape);
  /** The combined set of each row that has one. */
  const sets: (readonly [row: number, keys: readonly Key[]])[] = [];
  let [longest, total] = [0, 0];
  for (const row of [...new Set([...a.rows.keys(), ...b.rows.keys()])].sort((x, y) => x - y)) {
    const pause = yieldIfLong();
    if (pause) await pause;
    const set = combine(a.rows.get(row) ?? nothing, b.rows.get(row) ?? nothing);
    set.sort((x, y) => (x < y ? -1 : x > y ? 1 : 0));
    longest = Math.max(longest, set.length);
    total += set.length;
    sets.push([row, set]);
  }
  const places = new Int64s(total * rank);
  const elements = new Array<Element>(total);
  let next = 0;
  const addRow = (s: number) => {
    const [row, keys] = sets[s]!;
    for (let i = 0; i < keys.length; i++, next++) {
      for (let axis = 0; axis < rank - 1; axis++)
        places.set(next * rank + axis, Math.floor(row / strides[axis]!) % a.shape[axis]!);
      places.set(next * rank + rank - 1, i);
      elements[next] = elementOf(keys[i]!);
    }
  };
  await eachInTurns(sets.length, addRow, Math.max(1, Math.floor(512 / longest)));
  return [
    new NDArray(d.int64, [total, rank], places.data),
    fromElements(dtype, [total], elements),
    intVector([...a.shape, longest], d.int64),
  ];
}

function lowerSets(
  p: ProgramBuilder,
  inputs: readonly Value[],
  dtype: d.DType,
  call: (arrays: NDArray[]) => Promise<NDArray[]>,
) {
  const results = [{ dtype: d.int64 }, { dtype }, { dtype: d.int64 }];
  const [result_indices, result_values, result_shape] = p.host(inputs, results, call) as [Value, Value, Value]; // three results
  return { result_indices, result_values, result_shape };
}

/** The static shapes of a result of some rank. */
const resultShapes = (rank: number | null) => ({
  result_indices: [null, rank],
  result_values: [null],
  result_shape: [rank],
});

/** The rank that the three parts of a sparse tensor agree on. */
function sparseRank(indices: Dims, values: Dims, shape: Dims): number | null {
  const [rows, columns] = ofRank(indices, 2, 'indices');
  mergeDim(rows!, ofRank(values, 1, 'values')[0]!, 'rows of indices and values');
  return mergeDim(columns!, ofRank(shape, 1, 'shape')[0]!, 'columns of indices and sizes of shape');
}

const ints = (value: readonly number[] | readonly (readonly number[])[]) => ({ dtype: 'int64' as const, value });
const sparse = {
  indices: ints([
    [0, 0],
    [0, 2],
    [1, 1],
  ]),
  values: ints([9, 3, 5]),
  shape: ints([3, 4]),
};

export const SetSize = defineOp({
  name: 'SetSize',
  inputs: { set_indices: 'int64', set_values: 'T', set_shape: 'int64' },
  outputs: { size: 'int32' },
  attrs: { validate_indices: attrs.validate_indices, T: setTypes },
  shape: () => ({ size: null }),
  grad: notDifferentiable,
  lower(p, { set_indices, set_values, set_shape }, { validate_indices }) {
    const [size] = p.host(
      [set_indices, set_values, set_shape],
      [{ dtype: d.int32 }],
      async ([indices, values, sizes]) => {
        const { shape, rows } = await sparseSets(indices!, values!, sizes!, validate_indices);
        const counts = zeros(d.int32, shape);
        for (const [row, set] of rows) counts.data[row] = set.size;
        return [counts];
      },
    );
    return { size: size! };
  },
  cases: () => [
    { shape: '?, ?, ? -> ?' },
    {
      given: { set_indices: sparse.indices, set_values: ints([9, 9, 5]), set_shape: sparse.shape },
      expect: { size: { dtype: 'int32', value: [1, 1, 0] } },
    },
    {
      given: {
        set_indices: ints([
          [0, 1],
          [0, 0],
        ]),
        set_values: ints([1, 2]),
        set_shape: sparse.shape,
      },
      fails: /is out of order/,
    },
  ],
});

export const DenseToDenseSetOperation = defineOp({
  name: 'DenseToDenseSetOperation',
  inputs: { set1: 'T', set2: 'T' },
  outputs,
  attrs,
  shape({ set1, set2 }) {
    const [a, b] = [atLeastRank(set1, 2, 'set1'), atLeastRank(set2, 2, 'set2')];
    if (a && b) mergeShapes(a.slice(0, -1), ofRank(b, a.length, 'set2').slice(0, -1));
    return resultShapes(a?.length ?? b?.length ?? null);
  },
  grad: notDifferentiable,
  lower: (p, { set1, set2 }, { set_operation, T }) =>
    lowerSets(p, [set1, set2], T, async ([a, b]) =>
      combined(await denseSets(a!), await denseSets(b!), set_operation, T),
    ),
  cases: () => [
    { shape: '[2, 3], [?, 5] -> [?, 2], [?], [2]', attrs: { set_operation: 'union' } },
    { shape: '[2, 3], [3, 5]', attrs: { set_operation: 'union' }, rejects: /not compatible/ },
    ...Object.keys(combinations).map((set_operation) => ({
      given: {
        set1: ints([
          [5, 1, 5],
          [2, 3, 4],
        ]),
        set2: ints([
          [7, 5],
          [8, 9],
        ]),
      },
      attrs: { set_operation },
    })),
    {
      given: { set1: [['b', 'a']], set2: [['c', 'b']] },
      attrs: { set_operation: 'union' },
      expect: {
        result_indices: ints([
          [0, 0],
          [0, 1],
          [0, 2],
        ]),
        result_values: ['a', 'b', 'c'],
        result_shape: ints([1, 3]),
      },
    },
    {
      given: { set1: ints([[5]]), set2: ints([[7]]) },
      attrs: { set_operation: 'product' },
      fails: /Invalid set_operation product/,
    },
  ],
});

export const DenseToSparseSetOperation = defineOp({
  name: 'DenseToSparseSetOperation',
  inputs: { set1: 'T', set2_indices: 'int64', set2_values: 'T', set2_shape: 'int64' },
  outputs,
  attrs,
  shape({ set1, set2_indices, set2_values, set2_shape }) {
    const rank = sparseRank(set2_indices, set2_values, set2_shape);
    return resultShapes(mergeDim(rank, atLeastRank(set1, 2, 'set1')?.length ?? null, 'ranks of the sets'));
  },
  grad: notDifferentiable,
  lower: (p, { set1, set2_indices, set2_values, set2_shape }, { set_operation, validate_indices, T }) =>
    lowerSets(p, [set1, set2_indices, set2_values, set2_shape], T, async ([a, indices, values, shape]) => {
      const b = await sparseSets(indices!, values!, shape!, validate_indices);
      return await combined(await denseSets(a!), b, set_operation, T);
    }),
  cases: () => [
    { shape: '[2, 3], [?, 2], ?, ? -> [?, 2], [?], [2]', attrs: { set_operation: 'union' } },
    ...Object.keys(combinations).map((set_operation) => ({
      given: {
        set1: ints([
          [9, 1],
          [5, 6],
          [7, 7],
        ]),
        set2_indices: sparse.indices,
        set2_values: sparse.values,
        set2_shape: sparse.shape,
      },
      attrs: { set_operation },
    })),
    {
      given: { set1: ints([[9]]), set2_indices: sparse.indices, set2_values: sparse.values, set2_shape: sparse.shape },
      attrs: { set_operation: 'union' },
      fails: /Mismatched shapes \[1\] vs \[3\]/,
    },
  ],
});

export const SparseToSparseSetOperation = defineOp({
  name: 'SparseToSparseSetOperation',
  inputs: {
    set1_indices: 'int64',
    set1_values: 'T',
    set1_shape: 'int64',
    set2_indices: 'int64',
    set2_values: 'T',
    set2_shape: 'int64',
  },
  outputs,
  attrs,
  shape({ set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape }) {
    const first = sparseRank(set1_indices, set1_values, set1_shape);
    return resultShapes(mergeDim(first, sparseRank(set2_indices, set2_values, set2_shape), 'ranks of the sets'));
  },
  grad: notDifferentiable,
  lower(p, { set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape }, given) {
    const { set_operation, validate_indices, T } = given;
    const inputs = [set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape];
    return lowerSets(p, inputs, T, async (arrays) => {
      const [ai, av, as, bi, bv, bs] = arrays as [NDArray, NDArray, NDArray, NDArray, NDArray, NDArray]; // as many as inputs
      const a = await sparseSets(ai, av, as, validate_indices);
      return await combined(a, await sparseSets(bi, bv, bs, validate_indices), set_operation, T);
    });
  },
  cases: () => [
    { shape: '[?, 2], ?, ?, ?, ?, [?] -> [?, 2], [?], [2]', attrs: { set_operation: 'union' } },
    ...Object.keys(combinations).map((set_operation) => ({
      given: {
        set1_indices: sparse.indices,
        set1_values: sparse.values,
        set1_shape: sparse.shape,
        set2_indices: ints([
          [0, 0],
          [1, 0],
          [2, 1],
        ]),
        set2_values: ints([3, 8, 2]),
        set2_shape: ints([3, 2]),
      },
      attrs: { set_operation },
    })),
  ],
});

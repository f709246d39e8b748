/** @file SerializeSparse and its like: a sparse tensor as three strings, or as three variants, and back. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns, yieldIfLong } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { arrayFromProto, decodeTensorProto, serializeContent } from '../../io/serializedTensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { needRank } from './shapes.ts';

const none = gradientPending('TensorFlow has none');
const form = attr('type', { allowed: [d.string, d.variant], default: d.string });

/** A part in the form asked for; a variant is the array itself. */
const stored = (array: NDArray, dtype: d.DType): object => (dtype === d.string ? serializeContent(array) : array);

function checkParts(indices: Shape, values: Shape, shape: Shape): void {
  const must = (name: string, kind: string, rank: number, given: Shape) => {
    if (given.length !== rank)
      throw new InvalidArgumentError(`Input ${name} should be a ${kind} but received shape ${showRuntime(given)}`);
  };
  must('indices', 'matrix', 2, indices);
  must('values', 'vector', 1, values);
  must('shape', 'vector', 1, shape);
}

function checkDims({ sparse_indices, sparse_values, sparse_shape }: Record<string, Dims>): void {
  needRank('sparse_indices', sparse_indices!, 2);
  needRank('sparse_values', sparse_values!, 1);
  needRank('sparse_shape', sparse_shape!, 1);
}

const int64 = (value: unknown, shape?: readonly number[]) =>
  ({ dtype: 'int64', value: value as number[], ...(shape && { shape }) }) as const; // nested numbers in the cases below
const bytes = (...values: number[]) => Uint8Array.from(values);
const eight = (n: number) => [n, 0, 0, 0, 0, 0, 0, 0];

export const SerializeSparse = defineOp({
  name: 'SerializeSparse',
  inputs: { sparse_indices: 'int64', sparse_values: 'T', sparse_shape: 'int64' },
  outputs: { serialized_sparse: 'out_type' },
  attrs: { T: anyType, out_type: form },
  shape(dims) {
    checkDims(dims);
    return { serialized_sparse: [3] };
  },
  grad: none,
  lower(p, { sparse_indices, sparse_values, sparse_shape }, { out_type }) {
    checkParts(sparse_indices.shape, sparse_values.shape, sparse_shape.shape);
    const parts = [sparse_indices, sparse_values, sparse_shape];
    const [output] = p.host(parts, [{ dtype: out_type, shape: [3] }], (arrays) => [
      new NDArray(
        out_type,
        [3],
        arrays.map((array) => stored(array, out_type)),
      ),
    ]);
    return { serialized_sparse: output! };
  },
  cases: () => [
    { shape: '[?, 2], [?], [2] -> [3]' },
    { shape: '[?], [?], [2]', rejects: /must be rank 2 but is rank 1/ },
    {
      given: { sparse_indices: int64([[0, 1]]), sparse_values: [5], sparse_shape: int64([3, 4]) },
      expect: {
        serialized_sparse: [
          bytes(8, 9, 18, 8, 18, 2, 8, 1, 18, 2, 8, 2, 34, 16, ...eight(0), ...eight(1)),
          bytes(8, 1, 18, 4, 18, 2, 8, 1, 34, 4, 0, 0, 160, 64),
          bytes(8, 9, 18, 4, 18, 2, 8, 2, 34, 16, ...eight(3), ...eight(4)),
        ],
      },
    },
  ],
});

/** The rows of a sparse tensor, each as a sparse tensor of one axis less. */
function* rowsOf(indices: NDArray, values: NDArray, count: number): Generator<readonly [NDArray, NDArray]> {
  const [entries, rank] = indices.shape as readonly [number, number]; // a matrix
  const positions = indices.data as BigInt64Array; // int64
  const rowAt = indices.numberReader();
  let from = 0;
  for (let row = 0; row < count; row++) {
    let to = from;
    while (to < entries && rowAt(to * rank) === row) to++;
    const inner = new BigInt64Array((to - from) * (rank - 1));
    for (let i = from; i < to; i++)
      for (let axis = 1; axis < rank; axis++) inner[(i - from) * (rank - 1) + axis - 1] = positions[i * rank + axis]!;
    yield [new NDArray(d.int64, [to - from, rank - 1], inner), part(values, from, to)];
    from = to;
  }
}

/** Elements `from` to `to` of a vector. */
function part(values: NDArray, from: number, to: number): NDArray {
  const { entries } = values.dtype;
  const store = values.dtype.isObject
    ? values.objects.slice(from, to)
    : values.data.slice(from * entries, to * entries);
  return new NDArray(values.dtype, [to - from], store);
}

/** Positions must lie in the shape and rise, or rows could not be told apart. */
async function checkIndices(indices: NDArray, shape: readonly number[]): Promise<void> {
  const rank = shape.length;
  const indexAt = indices.numberReader();
  const text = (i: number) => `indices[${i}] = [${shape.map((_, axis) => indexAt(i * rank + axis)).join(',')}]`;
  await eachInTurns(indices.shape[0]!, (i) => {
    let step = 0;
    for (let axis = 0; axis < rank; axis++) {
      const index = indexAt(i * rank + axis);
      if (index < 0 || index >= shape[axis]!)
        throw new InvalidArgumentError(`${text(i)} is out of bounds: need 0 <= index < [${shape.join(',')}]`);
      if (i > 0 && step === 0) step = index - indexAt((i - 1) * rank + axis);
    }
    if (i === 0) return;
    if (step === 0) throw new InvalidArgumentError(`${text(i)} is repeated`);
    if (step < 0)
      throw new InvalidArgumentError(
        `${text(i)} is out of order. Many sparse ops require sorted indices.\n    Use \`tf.sparse.reorder\` to create a correctly ordered copy.`,
      );
  });
}

export const SerializeManySparse = defineOp({
  name: 'SerializeManySparse',
  inputs: { sparse_indices: 'int64', sparse_values: 'T', sparse_shape: 'int64' },
  outputs: { serialized_sparse: 'out_type' },
  attrs: { T: anyType, out_type: form },
  shape(dims) {
    checkDims(dims);
    return { serialized_sparse: [null, 3] };
  },
  grad: none,
  lower(p, { sparse_indices, sparse_values, sparse_shape }, { out_type }) {
    checkParts(sparse_indices.shape, sparse_values.shape, sparse_shape.shape);
    const rank = sparse_shape.shape[0]!;
    if (rank < 2) throw new InvalidArgumentError(`Rank of input SparseTensor should be > 1, but saw rank: ${rank}`);
    const [output] = p.host([sparse_indices, sparse_values, sparse_shape], [{ dtype: out_type }], async (arrays) => {
      const [indices, values, whole] = arrays as [NDArray, NDArray, NDArray]; // as many as were passed
      const shape = whole.numbers();
      await checkIndices(indices, shape);
      const inner = stored(part(whole, 1, rank), out_type);
      const objects: object[] = [];
      for (const [at, row] of rowsOf(indices, values, shape[0]!)) {
        objects.push(stored(at, out_type), stored(row, out_type), inner);
        const pause = yieldIfLong();
        if (pause) await pause;
      }
      return [new NDArray(out_type, [shape[0]!, 3], objects)];
    });
    return { serialized_sparse: output! };
  },
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[?, 2], [?], [2] -> [?, 3]' },
    {
      given: { sparse_indices: int64([[0, 1], [2, 0]]), sparse_values: ['x', 'yz'], sparse_shape: int64([3, 4]) },
      expect: {
        serialized_sparse: [
          [bytes(8, 9, 18, 8, 18, 2, 8, 1, 18, 2, 8, 1, 34, 8, ...eight(1)), '\b\u0007\u0012\u0004\u0012\u0002\b\u0001"\u0002\u0001x', bytes(8, 9, 18, 4, 18, 2, 8, 1, 34, 8, ...eight(4))],
          [bytes(8, 9, 18, 6, 18, 0, 18, 2, 8, 1), '\b\u0007\u0012\u0002\u0012\u0000', bytes(8, 9, 18, 4, 18, 2, 8, 1, 34, 8, ...eight(4))],
          [bytes(8, 9, 18, 8, 18, 2, 8, 1, 18, 2, 8, 1, 34, 8, ...eight(0)), '\b\u0007\u0012\u0004\u0012\u0002\b\u0001"\u0003\u0002yz', bytes(8, 9, 18, 4, 18, 2, 8, 1, 34, 8, ...eight(4))],
        ],
      },
    },
    { given: { sparse_indices: int64([[0]]), sparse_values: [1], sparse_shape: int64([3]) }, fails: /Rank of input SparseTensor should be > 1, but saw rank: 1/ },
    { given: { sparse_indices: int64([[0, 5]]), sparse_values: [1], sparse_shape: int64([3, 4]) }, fails: /indices\[0\] = \[0,5\] is out of bounds: need 0 <= index < \[3,4\]/ },
    { given: { sparse_indices: int64([[1, 0], [0, 0]]), sparse_values: [1, 2], sparse_shape: int64([3, 4]) }, fails: /indices\[1\] = \[0,0\] is out of order/ },
  ],
});

/** One stored part as an array. */
function unstored(object: object, index: number, which: number): NDArray {
  if (object instanceof NDArray) return object;
  if (!(object instanceof Uint8Array))
    throw new InvalidArgumentError(`Could not get a tensor from serialized_sparse[${index}, ${which}]`);
  const proto = decodeTensorProto(object);
  if (!proto) throw new InvalidArgumentError('Could not parse serialized proto');
  return arrayFromProto(proto);
}

/** The parts of one sparse tensor, once they are seen to fit each other. */
function partsOf(objects: readonly object[], index: number, dtype: d.DType) {
  const [indices, values, shape] = [0, 1, 2].map((which) => unstored(objects[3 * index + which]!, index, which)) as [
    NDArray,
    NDArray,
    NDArray,
  ]; // three were asked for
  const wrong = (which: number, rest: string) =>
    new InvalidArgumentError(`Expected serialized_sparse[${index}, ${which}] to ${rest}`);
  if (indices.rank !== 2) throw wrong(0, `represent an index matrix but received shape ${showRuntime(indices.shape)}`);
  if (values.rank !== 1) throw wrong(1, `represent a values vector but received shape ${showRuntime(values.shape)}`);
  if (values.dtype !== dtype)
    throw new InvalidArgumentError(
      `Requested SparseTensor of type ${dtype.runtimeName} but SparseTensor[${index}].values.dtype() == ${values.dtype.runtimeName}`,
    );
  for (const [which, array] of [
    [0, indices],
    [2, shape],
  ] as const)
    if (array.dtype !== d.int64)
      throw wrong(
        which,
        `be a ${which === 0 ? 'matrix' : 'vector'} of DT_INT64 but received dtype ${array.dtype.runtimeName}`,
      );
  const [entries, rank] = indices.shape;
  if (entries !== values.size)
    throw new InvalidArgumentError(
      `Expected row counts of SparseTensor[${index}].indices and SparseTensor[${index}].values to match but they do not: ${entries} vs. ${values.size}`,
    );
  if (shape.rank !== 1) throw wrong(1, `be a shape vector but its shape is ${showRuntime(shape.shape)}`);
  if (rank !== shape.size)
    throw new InvalidArgumentError(
      `Expected column counts of SparseTensor[${index}].indices to match size of SparseTensor[${index}].shape but they do not: ${rank} vs. ${shape.size}`,
    );
  return { indices, values, shape };
}

/** Lowers both ops: the sparse tensors put one beside the other, along the axes that the strings have. */
function deserialized(p: ProgramBuilder, serialized: Value, dtype: d.DType) {
  const { shape } = serialized;
  if (shape.length === 0)
    throw new InvalidArgumentError(`Serialized sparse should have non-zero rank ${showRuntime(shape)}`);
  if (shape.at(-1) !== 3)
    throw new InvalidArgumentError(`Serialized sparse should have 3 as the last dimension ${showRuntime(shape)}`);
  const outer = shape.slice(0, -1);
  const count = sizeOf(outer);
  if (count === 0)
    throw new InvalidArgumentError(
      `Serialized sparse should have at least 1 serialized tensor, but has a zero dimension ${showRuntime(shape)}`,
    );
  const results = [{ dtype: d.int64 }, { dtype }, { dtype: d.int64 }];
  const [sparse_indices, sparse_values, sparse_shape] = p.host([serialized], results, ([array]) => {
    const tensors = Array.from({ length: count }, (_, i) => partsOf(array!.objects, i, dtype));
    return outer.length === 0
      ? [tensors[0]!.indices, tensors[0]!.values, tensors[0]!.shape]
      : stack(tensors, outer, dtype);
  }) as [Value, Value, Value]; // one per result
  return { sparse_indices, sparse_values, sparse_shape };
}

function stack(tensors: readonly ReturnType<typeof partsOf>[], outer: Shape, dtype: d.DType): NDArray[] {
  const inner = tensors[0]!.shape.numbers();
  for (const [i, { shape }] of tensors.entries()) {
    if (shape.size !== inner.length)
      throw new InvalidArgumentError(
        `Inconsistent shape across SparseTensors: rank prior to SparseTensor[${i}] was: ${inner.length} but rank of SparseTensor[${i}] is: ${shape.size}`,
      );
    for (const [axis, size] of shape.numbers().entries()) inner[axis] = Math.max(inner[axis]!, size);
  }
  const total = tensors.reduce((n, { values }) => n + values.size, 0);
  const rank = outer.length + inner.length;
  const positions = new BigInt64Array(total * rank);
  let at = 0;
  for (const [i, { indices, values }] of tensors.entries()) {
    const place = placeOf(i, outer).map(BigInt);
    const data = indices.data as BigInt64Array; // partsOf has seen the type
    for (let row = 0; row < values.size; row++, at += rank) {
      positions.set(place, at);
      positions.set(data.subarray(row * inner.length, (row + 1) * inner.length), at + outer.length);
    }
  }
  const shape = BigInt64Array.from([...outer, ...inner], BigInt);
  return [
    new NDArray(d.int64, [total, rank], positions),
    concatenated(
      tensors.map(({ values }) => values),
      dtype,
      total,
    ),
    new NDArray(d.int64, [rank], shape),
  ];
}

/** The position along each axis of element `i` of a shape. */
function placeOf(i: number, shape: Shape): number[] {
  const place: number[] = [];
  let rest = i;
  for (const size of shape.toReversed()) {
    place.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return place;
}

function concatenated(vectors: readonly NDArray[], dtype: d.DType, total: number): NDArray {
  if (dtype.isObject)
    return new NDArray(
      dtype,
      [total],
      vectors.flatMap((v) => [...v.objects]),
    );
  const all = dtype.allocate(total);
  const bytes2 = new Uint8Array(all.buffer, all.byteOffset, all.byteLength);
  let at = 0;
  for (const vector of vectors) {
    bytes2.set(vector.bytes, at);
    at += vector.bytes.length;
  }
  return new NDArray(dtype, [total], all);
}

const unknown = () => ({ sparse_indices: [null, null], sparse_values: [null], sparse_shape: [null] });

export const DeserializeManySparse = defineOp({
  name: 'DeserializeManySparse',
  inputs: { serialized_sparse: 'string' },
  outputs: { sparse_indices: 'int64', sparse_values: 'dtype', sparse_shape: 'int64' },
  attrs: { dtype: anyType },
  shape({ serialized_sparse }) {
    needRank('serialized_sparse', serialized_sparse, 2);
    checkThree(serialized_sparse);
    return unknown();
  },
  grad: none,
  lower: (p, { serialized_sparse }, { dtype }) => deserialized(p, serialized_sparse, dtype),
  cases: () => [
    { shape: '[?, 3] -> [?, ?], [?], [?]', attrs: { dtype: d.float32 } },
    { shape: '[?, 2]', attrs: { dtype: d.float32 }, rejects: /Dimension must be 3 but is 2/ },
    { given: { serialized_sparse: [triple(1, 5, 4), triple(7, 6, 9)] }, attrs: { dtype: d.float32 }, expect: stacked },
    {
      given: { serialized_sparse: [triple(1, 5, 4)] },
      attrs: { dtype: d.int32 },
      fails: /Requested SparseTensor of type int32 but SparseTensor\[0\]\.values\.dtype\(\) == float/,
    },
    {
      given: { serialized_sparse: [['junk', '', '']] },
      attrs: { dtype: d.float32 },
      fails: /Could not parse serialized proto/,
    },
  ],
});

export const DeserializeSparse = defineOp({
  name: 'DeserializeSparse',
  inputs: { serialized_sparse: 'Tserialized' },
  outputs: { sparse_indices: 'int64', sparse_values: 'dtype', sparse_shape: 'int64' },
  attrs: { dtype: anyType, Tserialized: form },
  shape({ serialized_sparse }) {
    if (serialized_sparse?.length === 0) throw new InvalidArgumentError('Shape must be at least rank 1 but is rank 0');
    checkThree(serialized_sparse);
    return unknown();
  },
  grad: none,
  lower: (p, { serialized_sparse }, { dtype }) => deserialized(p, serialized_sparse, dtype),
  cases: () => [
    { shape: '[?, ?, 3] -> [?, ?], [?], [?]', attrs: { dtype: d.float32 } },
    { shape: '[]', attrs: { dtype: d.float32 }, rejects: /at least rank 1/ },
    {
      given: { serialized_sparse: triple(1, 5, 4) },
      attrs: { dtype: d.float32 },
      expect: { sparse_indices: int64([[1]]), sparse_values: [5], sparse_shape: int64([4]) },
    },
    { given: { serialized_sparse: [triple(1, 5, 4), triple(7, 6, 9)] }, attrs: { dtype: d.float32 }, expect: stacked },
    {
      given: { serialized_sparse: [[triple(1, 5, 4)], [triple(7, 6, 9)]] },
      attrs: { dtype: d.float32 },
      expect: {
        ...stacked,
        sparse_indices: int64([
          [0, 0, 1],
          [1, 0, 7],
        ]),
        sparse_shape: int64([2, 1, 9]),
      },
    },
    {
      given: { serialized_sparse: { dtype: 'string', value: [], shape: [0, 3] } },
      attrs: { dtype: d.float32 },
      fails: /Serialized sparse should have at least 1 serialized tensor/,
    },
  ],
});

function checkThree(dims: Dims): void {
  const last = dims?.at(-1);
  if (last !== undefined && last !== null && last !== 3)
    throw new InvalidArgumentError(`Dimension must be 3 but is ${last}`);
}

/** A sparse vector of one element, serialized. */
function triple(index: number, value: number, size: number): Uint8Array[] {
  const array = (dtype: d.DType, shape: Shape, data: d.TypedArray) => serializeContent(new NDArray(dtype, shape, data));
  return [
    array(d.int64, [1, 1], BigInt64Array.of(BigInt(index))),
    array(d.float32, [1], Float32Array.of(value)),
    array(d.int64, [1], BigInt64Array.of(BigInt(size))),
  ];
}
const stacked = {
  sparse_indices: int64([[0, 1], [1, 7]]),
  sparse_values: [5, 6],
  sparse_shape: int64([2, 9]),
}; // biome-ignore format: a table reads better in rows

export interface SerializeSparseOptions {
  readonly name?: string | undefined;
  /** `tf.string`, or `tf.variant` for a form that is cheap and never leaves the process. */
  readonly outType?: d.DType | undefined;
}

/** A sparse tensor as three strings. Adds one `SerializeSparse` node. */
export function serializeSparse(spInput: SparseTensor, options: SerializeSparseOptions = {}): Tensor {
  const { name, outType } = onlyOptions('tf.serializeSparse', options, 'name', 'outType');
  return SerializeSparse.build(partsFor(spInput), { name, attrs: outType ? { out_type: outType } : {} })
    .serialized_sparse;
}

/** Every row of a sparse tensor as three strings: `[N, 3]`. Adds one `SerializeManySparse` node. */
export function serializeManySparse(spInput: SparseTensor, options: SerializeSparseOptions = {}): Tensor {
  const { name, outType } = onlyOptions('tf.serializeManySparse', options, 'name', 'outType');
  return SerializeManySparse.build(partsFor(spInput), { name, attrs: outType ? { out_type: outType } : {} })
    .serialized_sparse;
}

const partsFor = ({ indices, values, denseShape }: SparseTensor) => ({
  sparse_indices: indices,
  sparse_values: values,
  sparse_shape: denseShape,
});

export interface DeserializeSparseOptions {
  /** The rank of each of the sparse tensors, without the axes that the strings add. */
  readonly rank?: number | undefined;
  readonly name?: string | undefined;
}

function sparseOf(
  { sparse_indices, sparse_values, sparse_shape }: Record<'sparse_indices' | 'sparse_values' | 'sparse_shape', Tensor>,
  rank: number | null,
): SparseTensor {
  sparse_indices.setShape([null, rank]);
  sparse_shape.setShape([rank]);
  return new SparseTensor(sparse_indices, sparse_values, sparse_shape);
}

/** The rows that `tf.serializeManySparse` wrote, as one sparse tensor. Adds one `DeserializeManySparse` node. */
export function deserializeManySparse(
  serializedSparse: TensorLike,
  dtype: d.DType,
  options: DeserializeSparseOptions = {},
): SparseTensor {
  const { rank = null, name } = onlyOptions('tf.deserializeManySparse', options, 'rank', 'name');
  return sparseOf(
    DeserializeManySparse.build({ serialized_sparse: serializedSparse }, { name, attrs: { dtype } }),
    rank,
  );
}

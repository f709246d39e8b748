/** @file DynamicStitch, ParallelDynamicStitch and DynamicPartition: rows spread over several tensors, and back. */
import { int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { finish, inTurns, type Work } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { compatible, type Dims, mergeShapes, type Shape, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { constantValue, partialValueOf } from '../../op/constantValue.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { HostResult } from '../../program/tracing.ts';
import type { Value } from '../../program/value.ts';
import { complete, type Named } from './common.ts';
import { gather } from './gather.ts';
import { getItem } from './getItem.ts';
import { reduceProdAll, unsortedSegmentSum } from './neighbours.ts';
import { range } from './range.ts';
import { reshape } from './reshape.ts';
import { shape } from './shape.ts';

/** What follows the index axes in the shapes of data, which must be the same everywhere. */
function elementDims(indices: readonly Dims[], data: readonly Dims[]): Dims {
  let element: Dims = null;
  for (const [k, dims] of data.entries()) {
    const index = indices[k]!;
    if (dims === null || index === null) continue;
    if (!compatible(dims.slice(0, index.length), index))
      throw new InvalidArgumentError(
        `data[${k}] is ${showShape(dims)}, which must begin with the shape of indices[${k}], ${showShape(index)}.`,
      );
    element = mergeShapes(element, dims.slice(index.length));
  }
  return element;
}

function stitchedDims(
  indices: readonly Dims[],
  data: readonly Dims[],
  values: readonly (readonly number[] | undefined)[],
): Dims {
  const element = elementDims(indices, data);
  if (element === null) return null;
  if (values.some((v) => v === undefined)) return [null, ...element];
  return [rowsOf(values.map((v) => v!)), ...element];
}

/** Indices that are known while building. */
const staticInts = (t: Tensor) => constantValue(t)?.numbers() ?? complete(partialValueOf(t));

const rowsOf = (indices: readonly (readonly number[])[]) =>
  indices.reduce((n, list) => list.reduce((most, i) => Math.max(most, i + 1), n), 0);

/** After so many rows it is asked whether the event loop has waited long enough. */
const rowsPerTurn = 16384;

/** Which row of all data each row of the result is, `[1, rows, 1]`: the last one with its index; -1 where there is none. */
function* rowsByIndex(indices: readonly NDArray[]): Work<NDArray> {
  let rows = 0;
  for (const list of indices) {
    const { size } = list;
    const at = list.numberReader();
    for (let k = 0; k < size; k++) {
      const i = at(k);
      if (i < 0) throw new InvalidArgumentError(`indices[${i}] is out of range`);
      rows = Math.max(rows, i + 1);
      if (k % rowsPerTurn === 0) yield;
    }
  }
  const source = new Int32Array(rows).fill(-1);
  let row = 0;
  for (const list of indices) {
    const { size } = list;
    const at = list.numberReader();
    for (let k = 0; k < size; k++) {
      source[at(k)] = row++;
      if (k % rowsPerTurn === 0) yield;
    }
  }
  return new NDArray(int32, [1, rows, 1], source);
}

/** The number of rows depends on the largest index, so indices come to the host; rows without an index are left as zeros. */
function lowerStitch(p: ProgramBuilder, indices: readonly Value[], data: readonly Value[]): Value {
  const element: Shape = data[0]!.shape.slice(indices[0]!.shape.length);
  for (const [k, { shape: dims }] of data.entries()) {
    const lead = indices[k]!.shape;
    if (showRuntime(dims.slice(0, lead.length)) !== showRuntime(lead))
      throw new InvalidArgumentError(
        `data[${k}].shape = ${showRuntime(dims)} does not start with indices[${k}].shape = ${showRuntime(lead)}`,
      );
    if (showRuntime(dims.slice(lead.length)) !== showRuntime(element))
      throw new InvalidArgumentError(
        `Need data[0].shape[${indices[0]!.shape.length}:] = data[${k}].shape[${lead.length}:], got data[0].shape = ${showRuntime(data[0]!.shape)}, data[${k}].shape = ${showRuntime(dims)}`,
      );
  }
  const known = indices.flatMap((v) => v.known ?? []);
  const picks =
    known.length === indices.length
      ? p.constant(finish(rowsByIndex(known)))
      : p.host(indices, [{ dtype: int32 }], async (arrays) => [await inTurns(rowsByIndex(arrays))], {
          borrows: true,
        })[0]!;
  const inner = sizeOf(element);
  const flat = data.map((v, k) => p.reshape(v, [sizeOf(indices[k]!.shape), inner]));
  const joined = flat.length === 1 ? flat[0]! : p.concat(flat, 0);
  const merged = p.gather(p.reshape(joined, [1, 1, joined.shape[0]!, inner]), picks, { bounds: 'zero' });
  return p.reshape(merged, [picks.shape[1]!, ...element]);
}

function stitchGradient(indices: readonly Tensor[], merged: Tensor, dy: Gradient): readonly Tensor[] {
  let rows: Tensor;
  if (dy instanceof IndexedSlices) {
    const count = getItem(shape(merged), [0]);
    rows = unsortedSegmentSum(dy.values, dy.indices, count);
  } else rows = dy;
  return indices.map((i) => gather(rows, i));
}

const stitchCases = () => [
  { shape: '[2], [], [2, ?], [3] -> [?, 3]', attrs: { N: 2 } },
  {
    given: {
      indices: [
        { dtype: 'int32' as const, value: [2, 0] },
        { dtype: 'int32' as const, value: 1 },
      ],
      data: [
        [
          [1, 2],
          [3, 4],
        ],
        [5, 6],
      ],
    },
    expect: {
      merged: [
        [3, 4],
        [5, 6],
        [1, 2],
      ],
    },
  },
  {
    // Rows without an index are zeros.
    given: { indices: [{ dtype: 'int32' as const, value: [3, 0] }], data: [[1, 2]] },
    expect: { merged: [2, 0, 0, 1] },
  },
  {
    given: { indices: [{ dtype: 'int32' as const, value: [0, -1] }], data: [[1, 2]] },
    fails: /indices\[-1\] is out of range/,
  },
];

const stitchOp = (name: string) =>
  defineOp({
    name,
    inputs: { indices: 'N * int32', data: 'N * T' },
    outputs: { merged: 'T' },
    attrs: { N: attr('int', { minimum: 1 }), T: anyType },
    shape: ({ indices, data }, { N }, context) => ({
      merged: stitchedDims(indices, data, context.op.inputs.slice(0, N).map(staticInts)),
    }),
    grad: ({ inputs, outputs }, { merged: dy }) => ({ data: stitchGradient(inputs.indices, outputs.merged, dy) }),
    lower: (p, { indices, data }) => ({ merged: lowerStitch(p, indices, data) }),
    partialValue({ inputs: { indices, data }, outputs }, known) {
      const count = outputs.merged.shape?.length === 1 ? outputs.merged.shape[0]! : null;
      if (count === null) return undefined;
      const result = new Array<number | null>(count).fill(null);
      for (const [k, index] of indices.entries()) {
        const at = known(index);
        const entries = known(data[k]!);
        for (const [i, position] of (at ?? []).entries())
          if (position !== null) result[position] = entries?.[i] ?? null;
      }
      return result;
    },
    cases: stitchCases,
  });
export const DynamicStitch = stitchOp('DynamicStitch');
export const ParallelDynamicStitch = stitchOp('ParallelDynamicStitch');

/** The rows that go to each of the parts, `[1, rows, 1]`. */
function* rowsOfParts(partitions: NDArray, count: number): Work<NDArray[]> {
  const { size } = partitions;
  const at = partitions.numberReader();
  const sizes = new Int32Array(count);
  for (let i = 0; i < size; i++) {
    const k = at(i);
    if (k < 0 || k >= count)
      throw new InvalidArgumentError(`partitions${place(partitions.shape, i)} = ${k} is not in [0, ${count})`);
    sizes[k]!++;
    if (i % rowsPerTurn === 0) yield;
  }
  const rows = Array.from(sizes, (n) => new Int32Array(n));
  const found = new Int32Array(count);
  for (let i = 0; i < size; i++) {
    const k = at(i);
    rows[k]![found[k]!++] = i;
    if (i % rowsPerTurn === 0) yield;
  }
  return rows.map((own) => new NDArray(int32, [1, own.length, 1], own));
}

export const DynamicPartition = defineOp({
  name: 'DynamicPartition',
  isSizedByData: true,
  inputs: { data: 'T', partitions: 'int32' },
  outputs: { outputs: 'num_partitions * T' },
  attrs: { num_partitions: attr('int', { minimum: 1 }), T: anyType },
  shape({ data, partitions }, { num_partitions }) {
    let piece: Dims = null;
    if (data !== null && partitions !== null) {
      if (!compatible(data.slice(0, partitions.length), partitions) || data.length < partitions.length)
        throw new InvalidArgumentError(
          `data is ${showShape(data)}, which must begin with the shape of partitions, ${showShape(partitions)}.`,
        );
      piece = [null, ...data.slice(partitions.length)];
    }
    return { outputs: new Array<Dims>(num_partitions).fill(piece) };
  },
  grad: ({ inputs: { data, partitions }, attrs: { num_partitions } }, { outputs: dy }) => ({
    data: partitionGradient(data, partitions, num_partitions, dy),
  }),
  lower(p, { data, partitions }, { num_partitions }) {
    const lead = partitions.shape.length;
    if (showRuntime(data.shape.slice(0, lead)) !== showRuntime(partitions.shape))
      throw new InvalidArgumentError(
        `data.shape must start with partitions.shape, got data.shape = ${showRuntime(data.shape)}, partitions.shape = ${showRuntime(partitions.shape)}`,
      );
    const picks = partitions.known
      ? finish(rowsOfParts(partitions.known, num_partitions)).map((rows) => p.constant(rows))
      : p.host(
          [partitions],
          new Array<HostResult>(num_partitions).fill({ dtype: int32 }),
          ([array]) => inTurns(rowsOfParts(array!, num_partitions)),
          { borrows: true },
        );
    const element = data.shape.slice(lead);
    const rows = p.reshape(data, [1, 1, sizeOf(partitions.shape), sizeOf(element)]);
    const outputs = picks.map((own) => p.reshape(p.gather(rows, own), [own.shape[1]!, ...element]));
    return { outputs };
  },
  partialValue({ inputs: { data, partitions } }, known, output) {
    const entries = data.rank === 1 ? known(data) : undefined;
    const groups = complete(known(partitions));
    return entries && groups && entries.filter((_, i) => groups[i] === output);
  },
  cases: () => [
    { shape: '[4, ?], [4] -> [?, ?], [?, ?]', attrs: { num_partitions: 2 } },
    {
      given: {
        data: [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
        partitions: { dtype: 'int32', value: [1, 0, 1] },
      },
      attrs: { num_partitions: 2 },
      expect: {
        outputs: [
          [[3, 4]],
          [
            [1, 2],
            [5, 6],
          ],
        ],
      },
    },
    {
      given: { data: [1, 2], partitions: { dtype: 'int32', value: [0, 2] } },
      attrs: { num_partitions: 2 },
      fails: /partitions\[1\] = 2 is not in \[0, 2\)/,
    },
    {
      given: { data: [1, 2], partitions: { dtype: 'int32', value: [0, -1] } },
      attrs: { num_partitions: 2 },
      fails: /partitions\[1\] = -1 is not in \[0, 2\)/,
    },
  ],
});

/** Coordinates of a flat position, as errors print them. */
function place(dims: Shape, flat: number): string {
  const at: number[] = [];
  for (let i = dims.length - 1; i >= 0; i--) {
    at.unshift(flat % dims[i]!);
    flat = Math.floor(flat / dims[i]!);
  }
  return dims.length === 0 ? '' : `[${at.join(',')}]`;
}

function partitionGradient(data: Tensor, partitions: Tensor, count: number, dy: readonly Gradient[]): Tensor {
  const lead = shape(partitions);
  const original = reshape(range(reduceProdAll(lead)), lead);
  const indices = dynamicPartition(original, partitions, count);
  const merged = ParallelDynamicStitch.build({ indices, data: dy }).merged;
  return reshape(merged, shape(data));
}

/**
 * Puts row i of `data[k]` at row `indices[k][i]` of the result; the last of equal indices wins. Adds one `DynamicStitch` node.
 *
 * @example tf.dynamicStitch([[0, 2], [1]], [[10, 30], [20]]) // runs to [10 20 30]
 */
export function dynamicStitch(
  indices: readonly TensorLike[],
  data: readonly TensorLike[],
  options: Named = {},
): Tensor {
  return DynamicStitch.build({ indices, data }, options).merged;
}

/**
 * Puts each row of `data` into the tensor that `partitions` names for it. Adds one `DynamicPartition` node.
 *
 * @example tf.dynamicPartition([10, 20, 30], [1, 0, 1], 2) // runs to [[20], [10 30]]
 */
export function dynamicPartition(
  data: TensorLike,
  partitions: TensorLike,
  numPartitions: number,
  options: Named = {},
): readonly Tensor[] {
  return DynamicPartition.build({ data, partitions }, { ...options, attrs: { num_partitions: numPartitions } }).outputs;
}

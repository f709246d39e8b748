/** @file Sparse tensors kept aside under a number, so that they can travel through queues of dense elements. */
import { int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, type NDArray, scalar } from '../../core/ndarray.ts';
import { joined, rowsOf } from '../../core/rows.ts';
import { type Shape, showRuntime } from '../../core/shape.ts';
import { sharedObject } from '../../core/sharedObject.ts';
import { anyType } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { HostResult } from '../../program/tracing.ts';
import { sharedAttrs } from './handles.ts';

/** Indices, values and dense shape. */
interface Sparse {
  readonly indices: NDArray;
  readonly values: NDArray;
  readonly shape: readonly number[];
}

class SparseTensorsMap {
  private readonly tensors = new Map<number, Sparse>();
  private next = 0;
  constructor(readonly name: string) {}

  add(tensor: Sparse): number {
    this.tensors.set(this.next, tensor);
    return this.next++;
  }

  take(handle: number): Sparse {
    const tensor = this.tensors.get(handle);
    if (!tensor) throw new InvalidArgumentError(`Unable to find SparseTensor: ${handle} in map: ${this.name}`);
    this.tensors.delete(handle);
    return tensor;
  }
}

const mapAttrs = { T: anyType, ...sharedAttrs } as const;

/** The map that a node names: by its shared name or, unlike a queue, by its own name for all to use. */
function mapOf(
  p: ProgramBuilder,
  { container, shared_name }: { readonly container: string; readonly shared_name: string },
  node: string,
): () => SparseTensorsMap {
  const name = shared_name || node;
  const handle = p.shared({ container, name }, () => new SparseTensorsMap(name)).known!; // p.shared gives it
  return () => sharedObject(handle, SparseTensorsMap);
}

/** The three parts of a sparse tensor, once they fit each other. */
function sparseOf([indices, values, shape]: readonly NDArray[]): Sparse {
  if (indices!.rank !== 2)
    throw new InvalidArgumentError(
      `Input indices should be a matrix but received shape ${showRuntime(indices!.shape)}`,
    );
  if (values!.rank !== 1)
    throw new InvalidArgumentError(`Input values should be a vector but received shape ${showRuntime(values!.shape)}`);
  if (shape!.rank !== 1)
    throw new InvalidArgumentError(`Input shape should be a vector but received shape ${showRuntime(shape!.shape)}`);
  if (values!.shape[0] !== indices!.shape[0])
    throw new InvalidArgumentError(
      `Number of values must match first dimension of indices. Got ${values!.shape[0]} values, indices shape: ${showRuntime(indices!.shape)}`,
    );
  if (indices!.shape[1] !== shape!.size)
    throw new InvalidArgumentError(
      `Number of dimensions must match second dimension of indices. Got ${shape!.size} dimensions, indices shape: ${showRuntime(indices!.shape)}`,
    );
  return { indices: indices!, values: values!, shape: shape!.numbers() };
}

const ports = { sparse_indices: 'int64', sparse_values: 'T', sparse_shape: 'int64' } as const;

export const AddSparseToTensorsMap = defineOp({
  name: 'AddSparseToTensorsMap',
  inputs: ports,
  outputs: { sparse_handle: 'int64' },
  attrs: mapAttrs,
  stateful: true,
  shape: () => ({ sparse_handle: [] }),
  grad: notDifferentiable,
  lower(p, { sparse_indices, sparse_values, sparse_shape }, attrs, node) {
    const map = mapOf(p, attrs, node.name);
    const results: HostResult[] = [{ dtype: int64, shape: [] }];
    const [handle] = p.host([sparse_indices, sparse_values, sparse_shape], results, (parts) => [
      scalar(int64, map().add(sparseOf(parts))),
    ]);
    return { sparse_handle: handle! };
  },
  cases: () => [{ shape: '[?, 2], [?], [2] -> []' }],
});

/** The rows of a sparse tensor, each as a sparse tensor of one rank less. */
function* rows({ indices, values, shape }: Sparse): Generator<Sparse> {
  const rank = shape.length;
  const [count, ...rest] = shape as [number, ...number[]];
  let start = 0;
  for (let row = 0; row < count; row++) {
    let end = start;
    while (end < values.size && indices.numberAt(end * rank) === row) end++;
    const coordinates: number[] = [];
    for (let i = start; i < end; i++) for (let k = 1; k < rank; k++) coordinates.push(indices.numberAt(i * rank + k));
    yield {
      indices: fromElements(int64, [end - start, rank - 1], coordinates),
      values: rowsOf(values, start, [end - start]),
      shape: rest,
    };
    start = end;
  }
  if (start < values.size) throw new InvalidArgumentError('indices are out of order, or beyond the first dimension');
}

export const AddManySparseToTensorsMap = defineOp({
  name: 'AddManySparseToTensorsMap',
  inputs: ports,
  outputs: { sparse_handles: 'int64' },
  attrs: mapAttrs,
  stateful: true,
  shape: () => ({ sparse_handles: [null] }),
  grad: notDifferentiable,
  lower(p, { sparse_indices, sparse_values, sparse_shape }, attrs, node) {
    const map = mapOf(p, attrs, node.name);
    const [handles] = p.host([sparse_indices, sparse_values, sparse_shape], [{ dtype: int64 }], (parts) => {
      const tensor = sparseOf(parts);
      if (tensor.shape.length < 2)
        throw new InvalidArgumentError(
          `Rank of input SparseTensor should be > 1, but saw rank: ${tensor.shape.length}`,
        );
      const numbers = Array.from(rows(tensor), (row) => map().add(row));
      return [fromElements(int64, [numbers.length], numbers)];
    });
    return { sparse_handles: handles! };
  },
  cases: () => [{ shape: '[?, 2], [?], [2] -> [?]' }],
});

/** Sparse tensors of one rank as the rows of one; its other sizes are the largest among them. */
function batchOf(tensors: readonly Sparse[], dtype: NDArray['dtype']): readonly NDArray[] {
  const rank = tensors[0]!.shape.length;
  const sizes = new Array<number>(rank).fill(0);
  const coordinates: number[] = [];
  for (const [row, { indices, values, shape }] of tensors.entries()) {
    if (shape.length !== rank)
      throw new InvalidArgumentError(
        `Inconsistent rank across SparseTensors: rank prior to SparseTensor[${row}] was: ${rank} but rank of SparseTensor[${row}] is: ${shape.length}`,
      );
    for (const [k, size] of shape.entries()) sizes[k] = Math.max(sizes[k]!, size);
    for (let i = 0; i < values.size; i++) {
      coordinates.push(row);
      for (let k = 0; k < rank; k++) coordinates.push(indices.numberAt(i * rank + k));
    }
  }
  const count = coordinates.length / (rank + 1);
  const shape: Shape = [tensors.length, ...sizes];
  return [
    fromElements(int64, [count, rank + 1], coordinates),
    joined(
      dtype,
      [count],
      tensors.map(({ values }) => values),
    ),
    fromElements(int64, [rank + 1], shape),
  ];
}

export const TakeManySparseFromTensorsMap = defineOp({
  name: 'TakeManySparseFromTensorsMap',
  inputs: { sparse_handles: 'int64' },
  outputs: { sparse_indices: 'int64', sparse_values: 'dtype', sparse_shape: 'int64' },
  attrs: { dtype: anyType, ...sharedAttrs },
  stateful: true,
  shape: () => ({ sparse_indices: [null, null], sparse_values: [null], sparse_shape: [null] }),
  grad: notDifferentiable,
  lower(p, { sparse_handles }, attrs, node) {
    const map = mapOf(p, attrs, node.name);
    const results: HostResult[] = [{ dtype: int64 }, { dtype: attrs.dtype }, { dtype: int64 }];
    const [indices, values, shape] = p.host([sparse_handles], results, ([handles]) => {
      if (handles!.rank !== 1 || handles!.size === 0)
        throw new InvalidArgumentError(
          `sparse_handles should be a vector, but has shape ${showRuntime(handles!.shape)}`,
        );
      return batchOf(
        handles!.numbers().map((handle) => map().take(handle)),
        attrs.dtype,
      );
    });
    return { sparse_indices: indices!, sparse_values: values!, sparse_shape: shape! };
  },
  cases: () => [{ shape: '[?] -> [?, ?], [?], [?]', attrs: { dtype: 'float32' } }],
});

/** @file Sparse tensors on their way through a queue of batches: kept aside before it, put together again behind it. */
import { int32, int64 } from '../../core/dtypes.ts';
import type { Operation } from '../../graph/operation.ts';
import { colocateWith } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constant } from '../../ops/array/constant.ts';
import { expandDims } from '../../ops/array/expandDims.ts';
import { ones } from '../../ops/array/fill.ts';
import { gather } from '../../ops/array/gather.ts';
import { identity } from '../../ops/array/identity.ts';
import { reshape } from '../../ops/array/reshape.ts';
import { squeeze } from '../../ops/array/squeeze.ts';
import { withDependencies } from '../../ops/flow/group.ts';
import { cast } from '../../ops/math/cast.ts';
import { where } from '../../ops/math/select.ts';
import {
  AddManySparseToTensorsMap,
  AddSparseToTensorsMap,
  TakeManySparseFromTensorsMap,
} from '../../ops/queue/sparseTensorsMap.ts';
import { smartCond } from '../controlFlow/cond.ts';

/** A tensor of a batch. */
export type BatchTensor = Tensor | SparseTensor;

/** How a sparse tensor was kept: by which node, and of which rank it was. Nothing for a dense one. */
export interface Kept {
  readonly mapOp: Operation;
  readonly rank: number | null;
}

/** What goes into the queue in place of the tensors. */
export interface Storage {
  readonly tensors: Tensor[];
  readonly kept: readonly (Kept | undefined)[];
}

const parts = ({ indices, values, denseShape }: SparseTensor) => ({
  sparse_indices: indices,
  sparse_values: values,
  sparse_shape: denseShape,
});
const addOne = (tensor: SparseTensor, shared_name: string) =>
  AddSparseToTensorsMap.build(parts(tensor), { attrs: { shared_name } }).sparse_handle;
const addMany = (tensor: SparseTensor, shared_name: string) =>
  AddManySparseToTensorsMap.build(parts(tensor), { attrs: { shared_name } }).sparse_handles;

/** The entries of a sparse tensor whose row is to be kept. */
function retained(tensor: SparseTensor, keepInput: Tensor): SparseTensor {
  const keep = gather(keepInput, tensor.indices.slice(':, 0'));
  const at = reshape(where(keep), [-1]);
  return new SparseTensor(gather(tensor.indices, at), gather(tensor.values, at), identity(tensor.denseShape));
}

function handleOf(tensor: SparseTensor, sharedName: string, enqueueMany: boolean, keepInput: Tensor): Tensor {
  if (keepInput.shape?.length === 1) return addMany(retained(tensor, keepInput), sharedName);
  if (!enqueueMany)
    return smartCond(
      keepInput,
      () => addOne(tensor, sharedName),
      () => constant(-1, int64),
    );
  const handles = smartCond(
    keepInput,
    () => addMany(tensor, sharedName),
    () => ones(cast(tensor.denseShape, int32).slice('0:1'), { dtype: int64 }).mul(-1),
  );
  handles.setShape([null]);
  return handles;
}

const storing = ['AddSparseToTensorsMap', 'AddManySparseToTensorsMap'];

/** The node that keeps a tensor, which may be an input of the one that gives its number. */
const storingOp = ({ op }: Tensor) => op.inputs.find((input) => storing.includes(input.op.type))?.op ?? op;

/** Keeps the sparse ones among the tensors aside, in the maps of `shared` where they are to come out of the same place. */
export function store(
  tensors: readonly BatchTensor[],
  enqueueMany: boolean,
  keepInput: Tensor,
  shared: readonly (Kept | undefined)[] = [],
): Storage {
  const kept: (Kept | undefined)[] = [];
  const stored = tensors.map((tensor, i) => {
    if (!(tensor instanceof SparseTensor)) return tensor;
    return handleOf(tensor, shared[i]?.mapOp.name ?? '', enqueueMany, keepInput);
  });
  for (const [i, tensor] of tensors.entries()) {
    if (!(tensor instanceof SparseTensor)) kept.push(undefined);
    else {
      const rank = tensor.denseShape.shape?.[0] ?? null;
      const rowRank = enqueueMany && rank !== null ? rank - 1 : rank;
      kept.push({ mapOp: shared[i]?.mapOp ?? storingOp(stored[i]!), rank: rowRank });
    }
  }
  return { tensors: stored.map((tensor, i) => (kept[i] ? expandDims(tensor, [-1]) : tensor)), kept };
}

/** `store` for several lists of tensors that go into one queue. */
export function storeAll(
  lists: readonly (readonly BatchTensor[])[],
  enqueueMany: boolean,
  keepInput: Tensor,
): { readonly lists: Tensor[][]; readonly kept: Storage['kept'] } {
  const first = store(lists[0]!, enqueueMany, keepInput);
  const others = lists.slice(1).map((list) => {
    const next = store(list, enqueueMany, keepInput, first.kept);
    if (next.kept.some((kept, i) => (kept === undefined) !== (first.kept[i] === undefined)))
      throw userError('Inconsistent SparseTensors: where one list has a sparse tensor, all must have one.');
    return next.tensors;
  });
  return { lists: [first.tensors, ...others], kept: first.kept };
}

function take({ mapOp, rank }: Kept, handles: Tensor): SparseTensor {
  const shared_name = new TextDecoder().decode(mapOp.attrs['shared_name']?.s) || mapOp.name;
  const dtype = mapOp.inputs[1]!.dtype;
  const found = colocateWith(mapOp, () =>
    TakeManySparseFromTensorsMap.build({ sparse_handles: handles }, { attrs: { dtype, shared_name } }),
  );
  const whole = rank === null ? null : rank + 1;
  found.sparse_indices.setShape([null, whole]);
  found.sparse_shape.setShape([whole]);
  return new SparseTensor(found.sparse_indices, found.sparse_values, found.sparse_shape);
}

/** The batch with its sparse tensors; no part of it can be had without all of them being taken out. */
export function restore(tensors: readonly Tensor[], kept: Storage['kept']): BatchTensor[] {
  const found = tensors.map((tensor, i) => (kept[i] ? take(kept[i], squeeze(tensor, { axis: [1] })) : tensor));
  if (!found.some((tensor) => tensor instanceof SparseTensor)) return found;
  const values = found.map((tensor) => (tensor instanceof SparseTensor ? tensor.values : tensor));
  const after = (tensor: Tensor) => withDependencies(values, tensor);
  return found.map((tensor) =>
    tensor instanceof SparseTensor
      ? new SparseTensor(after(tensor.indices), after(tensor.values), after(tensor.denseShape))
      : after(tensor),
  );
}

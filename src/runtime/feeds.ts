/** @file Feeds in their three forms, checked against the tensors they replace. */
import { string } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import { type NDArray, type Nested, scalar } from '../core/ndarray.ts';
import { packTextsInTurns } from '../core/packNested.ts';
import { compatible, showTuple } from '../core/shape.ts';
import type { Graph } from '../graph/graph.ts';
import type { Operation } from '../graph/operation.ts';
import type { FedSparse, FeedKey, Feeds, FeedValue } from '../graph/runTypes.ts';
import { SparseTensor, SparseTensorValue } from '../graph/sparseTensor.ts';
import { Tensor } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { toArray } from '../op/convert.ts';

export type { FeedKey, Feeds, FeedValue } from '../graph/runTypes.ts';

/** The pairs of any of the three forms. */
export function feedPairs(feeds: Feeds | undefined, graph: Graph): [Tensor, FeedValue][] {
  if (feeds === undefined) return [];
  const pairs = feeds instanceof Map || Array.isArray(feeds) ? feeds : Object.entries(feeds);
  const result: [Tensor, FeedValue][] = [];
  for (const [key, value] of pairs as Iterable<readonly [FeedKey | SparseTensor, FeedValue | FedSparse]>) {
    // One of the three forms; only sparse tensors are fed with the value of one.
    if (key instanceof SparseTensor) result.push(...sparsePairs(key, value));
    else result.push([feedTensor(key, graph), value as FeedValue]);
  }
  return result;
}

/** A sparse tensor is fed with a value of its kind, or with its three parts in a list. */
function sparsePairs(
  { indices, values, denseShape }: SparseTensor,
  value: FeedValue | FedSparse,
): [Tensor, FeedValue][] {
  const parts = value instanceof SparseTensorValue ? [value.indices, value.values, value.denseShape] : value;
  if (!Array.isArray(parts) || parts.length !== 3)
    throw userError(
      `A sparse tensor is fed with a tf.SparseTensorValue or with [indices, values, denseShape], but ${String(value)} was given for '${values.name}'.`,
    );
  return [indices, values, denseShape].map((tensor, i) => [tensor, parts[i] as FeedValue]); // one of three parts
}

/** The tensor that a key of a feed stands for. */
export function feedTensor(key: FeedKey, graph: Graph): Tensor {
  if (key instanceof Tensor && key.graph === graph) return key;
  const element = typeof key === 'string' ? named(key, graph) : graph.asGraphElement(key);
  if (!(element instanceof Tensor))
    throw userError(
      `${element} cannot be fed: it is an operation, not a tensor. Feed one of its outputs, as in '${element.name}:0'.`,
    );
  return element;
}

function named(key: string, graph: Graph): Tensor | Operation {
  if (!key.includes(':') && !graph.has(key))
    throw userError(
      `The name '${key}' refers to an Operation not in the graph. Feeds go by tensors, as in new Map([[${key}, value]]), or by names of tensors, as in { 'Placeholder:0': value }.`,
    );
  return graph.asGraphElement(key);
}

/** The arrays to feed for tensors; where very many texts are among them, they come after pauses for the event loop. */
export function feedArrays(
  tensors: readonly Tensor[],
  values: readonly FeedValue[],
): readonly NDArray[] | Promise<readonly NDArray[]> {
  const arrays = tensors.map((tensor, i) => manyTexts(tensor, values[i]!) ?? feedArray(tensor, values[i]!));
  return arrays.some((array) => array instanceof Promise) ? Promise.all(arrays) : (arrays as NDArray[]); // none is a promise
}

function manyTexts(tensor: Tensor, value: FeedValue): Promise<NDArray> | undefined {
  if (tensor.dtype !== string || !Array.isArray(value)) return undefined;
  const packed = packTextsInTurns(value as Nested); // a list
  return packed && compatible(tensor.shape, packed.shape) ? packed.array : undefined;
}

/** The array to feed for a tensor: of its dtype, and of a shape that fits. */
export function feedArray(tensor: Tensor, value: FeedValue): NDArray {
  const array =
    typeof value === 'number' && !tensor.dtype.isInteger && !tensor.dtype.isBool && !tensor.dtype.isObject
      ? scalar(tensor.dtype, value)
      : converted(tensor, value);
  if (!compatible(tensor.shape, array.shape)) {
    const fitted = fitFlat(tensor, value, array);
    if (fitted) return fitted;
    throw userError(
      `Cannot feed value of shape ${showTuple(array.shape)} for Tensor '${tensor.name}', which has shape ${showTuple(tensor.shape)}`,
      { node: tensor.op.name, op: tensor.op.type, createdAt: tensor.op.createdAt },
    );
  }
  return array;
}

function converted(tensor: Tensor, value: FeedValue): NDArray {
  if (isSymbol(value))
    throw userError(
      `The value of a feed cannot be a tf.Tensor object: ${String(value)} was given for '${tensor.name}'. Run it first, or connect it in the graph.`,
    );
  try {
    return toArray(value, tensor.dtype);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw userError(`Cannot feed '${tensor.name}' (${tensor.dtype}): ${error.text}`, {
      node: tensor.op.name,
      cause: error,
    });
  }
}

const isSymbol = (value: unknown) =>
  value instanceof Tensor || (typeof value === 'object' && value !== null && 'toTensor' in value);

/** A flat typed array has no shape of its own: it takes the tensor's when at most one size is open. */
function fitFlat(tensor: Tensor, value: FeedValue, array: NDArray): NDArray | undefined {
  const dims = tensor.shape;
  if (!ArrayBuffer.isView(value) || dims === null || dims.filter((d) => d === null).length > 1) return undefined;
  const known = dims.reduce<number>((n, d) => n * (d ?? 1), 1);
  const open = array.size / known;
  if (!Number.isInteger(open) || (open !== 1 && !dims.includes(null))) return undefined;
  return array.reshape(dims.map((d) => d ?? open));
}

/** @file What is known of a tensor's value while the graph is being built: constants, and parts of shape vectors. */
import { fromElements, type NDArray } from '../core/ndarray.ts';
import type { Operation } from '../graph/operation.ts';
import type { Tensor } from '../graph/tensor.ts';
import { tensorFromProto } from '../proto/tensorProto.ts';
import { opForLiterals, registry } from './registry.ts';

const constants = new WeakMap<Operation, NDArray>();

/** The value of a tensor that is a constant. */
export function constantValue(tensor: Tensor): NDArray | undefined {
  const { op } = tensor;
  const proto = op.attrs['value']?.tensor;
  if (proto === undefined || op.type !== opForLiterals('value').name) return undefined;
  let value = constants.get(op);
  if (!value) constants.set(op, (value = tensorFromProto(proto)));
  return value;
}

/** A chain of shape computations is followed no deeper than this; models nest a few levels. */
const maxDepth = 32;
let depth = 0;

/** Known entries of an integer scalar (one entry) or vector; `undefined` when nothing is known, not even the length. */
export function partialValueOf(tensor: Tensor): readonly (number | null)[] | undefined {
  const constant = constantValue(tensor);
  if (constant) return constant.rank <= 1 && constant.dtype.isInteger ? constant.numbers() : undefined;
  const rule = registry.get(tensor.op.type)?.partialValue;
  if (rule && depth < maxDepth) {
    depth++;
    try {
      const found = rule(tensor.op, tensor.index);
      if (found) return found;
    } finally {
      depth--;
    }
  }
  const length = tensor.shape?.length === 1 ? tensor.shape[0] : undefined;
  return length == null ? undefined : new Array<null>(length).fill(null);
}

/** As `partialValueOf`, where all entries are known. */
export function wholeValueOf(tensor: Tensor): readonly (number | null)[] | undefined {
  const entries = partialValueOf(tensor);
  return entries?.includes(null) ? undefined : entries;
}

/** The value of a constant, or of an integer scalar or vector all of whose entries are known. */
export function knownValue(tensor: Tensor): NDArray | undefined {
  const constant = constantValue(tensor);
  if (constant || !tensor.dtype.isInteger || tensor.shape === null || tensor.shape.length > 1) return constant;
  const entries = partialValueOf(tensor);
  if (!entries?.every((x) => x !== null)) return undefined;
  return fromElements(tensor.dtype, tensor.shape.length === 0 ? [] : [entries.length], entries);
}

/** @file Adding a node by the GraphDef name of its op, where a table decides which op it is. */
import { InternalError } from '../core/errors.ts';
import type { Operation } from '../graph/operation.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import type { NodeOptions } from './addNode.ts';
import { findOp, type OpDefinition } from './registry.ts';

/** What `defineOp` adds to a definition. */
interface Buildable extends OpDefinition {
  node(inputs: Readonly<Record<string, TensorLike>>, options?: NodeOptions): Operation;
}

function isBuildable(op: OpDefinition): op is Buildable {
  return 'node' in op && typeof op.node === 'function';
}

/** Adds a node of that op; literals become constants, as for every op function. */
export function node(type: string, inputs: Readonly<Record<string, TensorLike>>, options: NodeOptions = {}): Operation {
  const op = findOp(type);
  if (!isBuildable(op)) throw new InternalError(`the op ${type} was not made by defineOp`);
  return op.node(inputs, options);
}

/** Adds a node of that op and gives its first output. */
export function outputOf(type: string, inputs: Readonly<Record<string, TensorLike>>, options?: NodeOptions): Tensor {
  return node(type, inputs, options).outputs[0]!;
}

/** @file Editing a graph: a tensor's readers are given another one in its place. */
import { compatible, showShape } from '../core/shape.ts';
import type { Graph } from './graph.ts';
import type { Operation } from './operation.ts';
import { nameScope } from './scopes.ts';
import { Tensor } from './tensor.ts';
import { userError } from './userError.ts';

export interface Replacement {
  /** The tensor to be replaced, or its name. */
  readonly from: Tensor | string;
  /** Makes what replaces it, from the inputs of the operation that made it. */
  readonly to: (...inputs: readonly Tensor[]) => Tensor;
}

/**
 * Gives every operation that reads `from` what `to` makes of the same inputs instead. Sessions notice, also those that have
 * run already. What nobody reads any more stays in the graph; gradients that were built before keep the derivative of the
 * replaced operation, so build them afterwards.
 *
 * @example tf.graph.replace(graph, { from: 'old/Relu:0', to: (t) => tf.nn.elu(t) });
 */
export function replace(graph: Graph, { from, to }: Replacement): Tensor {
  const old = graph.asGraphElement(from);
  if (!(old instanceof Tensor)) throw userError(`${old} is an operation; name one of its outputs, '${old.name}:0'.`);
  const readers = old.consumers();
  const scope = old.op.name.slice(0, old.op.name.lastIndexOf('/') + 1);
  const made = graph.asDefault(() => nameScope(scope === '' ? null : scope, () => to(...old.op.inputs)));
  if (!(made instanceof Tensor))
    throw userError(`to must give a tensor in place of ${old}, but it gave ${String(made)}.`);
  if (made.graph !== graph) throw userError(`${made}, which was to replace ${old}, is not an element of that graph.`);
  if (made.dtype !== old.dtype || !compatible(made.shape, old.shape))
    throw userError(
      `${made} cannot replace ${old}: its readers expect ${old.dtype} of shape ${showShape(old.shape)}. Use tf.cast or tf.reshape in to.`,
    );
  const needed = ancestors(made.op);
  const stuck = readers.find((op) => needed.has(op));
  if (stuck)
    throw userError(`${made} cannot replace ${old}: it is computed from ${stuck}, which reads what is being replaced.`);
  graph.redirect(old, made, readers);
  return made;
}

/** The operation and all that it waits for. */
function ancestors(last: Operation): ReadonlySet<Operation> {
  const found = new Set([last]);
  for (const op of found) {
    for (const { op: from } of op.inputs) found.add(from);
    for (const before of op.controlInputs) found.add(before);
  }
  return found;
}

/** @file Builds the body of a function by calling the user's function once, and turns what it returns into tensors. */
import type { DType } from '../../core/dtypes.ts';
import { composite, isComposite } from '../../graph/composite.ts';
import type { FuncGraph } from '../../graph/funcGraph.ts';
import { Operation } from '../../graph/operation.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { identity } from '../../ops/array/identity.ts';
import { flatten, packSequenceAs } from '../nest.ts';

export interface TraceOptions {
  /** What an operation that is returned becomes: this value, once the operation has run. */
  readonly operationValue?: Tensor | undefined;
  /** Types that literals among the results take if they can, in the order of the results. */
  readonly hints?: readonly (DType | undefined)[] | undefined;
  /** How the function is called in messages. */
  readonly what: string;
}

/** Runs `body` inside the function and makes what it returns the function's results; gives them in their structure. */
export function trace(graph: FuncGraph, body: () => unknown, options: TraceOptions): unknown {
  return graph.asDefault(() => {
    const result = body();
    refusePromise(result, options.what);
    let next = 0;
    const values = flatten(result).map((x) => {
      const value = asTensors(x, options, options.hints?.[next]);
      next += isComposite(x) ? x[composite]().parts.length : value === null ? 0 : 1;
      return value;
    });
    const marked = graph.ordersEffects ? values.map(mark) : values;
    const structure = packSequenceAs(result, marked);
    graph.finish(tensorsOf(structure));
    return structure;
  });
}

/** The tensors in a structure whose values are all tensors, composites or `null`. */
export function tensorsOf(structure: unknown): Tensor[] {
  return flatten(structure, { expandComposites: true }).filter((x): x is Tensor => x instanceof Tensor);
}

/** The structure with other tensors in it, `null`s left where they are. */
export function withTensors(structure: unknown, tensors: readonly Tensor[]): unknown {
  let next = 0;
  const flat = flatten(structure, { expandComposites: true }).map((x) => (x instanceof Tensor ? tensors[next++]! : x));
  return packSequenceAs(structure, flat, { expandComposites: true });
}

function asTensors(value: unknown, { operationValue, what }: TraceOptions, hint: DType | undefined): unknown {
  if (value == null) return null;
  if (isComposite(value)) return value;
  if (value instanceof Operation && operationValue) return controlDependencies([value], () => identity(operationValue));
  try {
    return convertToTensor(value as TensorLike, { hint }); // anything else is refused there
  } catch (error) {
    if (value instanceof Tensor || typeof value !== 'object') throw error;
    const kind = value instanceof Operation ? 'an Operation' : `a ${value.constructor?.name ?? 'value'}`;
    throw userError(
      `${what} must return tensors, values that can become tensors, or null, but it returned ${kind}: ${String(value)}`,
    );
  }
}

/** A node of its own, which can wait for the function's effects. */
function mark(value: unknown): unknown {
  if (value instanceof Tensor) return identity(value);
  if (!isComposite(value)) return value;
  const { parts, from } = value[composite]();
  return from(parts.map((t) => identity(t)));
}

/** A function must give its result at once: the graph is built while it runs. */
function refusePromise(value: unknown, what: string): void {
  if (value instanceof Promise)
    throw userError(
      `${what} is asynchronous (it returned a Promise). It only builds a graph: make it an ordinary function, and await session.run outside.`,
    );
}

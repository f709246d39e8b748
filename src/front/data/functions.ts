/** @file The functions that users give to datasets, as functions of the graph's library. */
import type { Dims } from '../../core/shape.ts';
import { FuncGraph } from '../../graph/funcGraph.ts';
import { registerFunction } from '../../graph/functionDef.ts';
import { getDefaultGraph } from '../../graph/graph.ts';
import { Operation } from '../../graph/operation.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import type { NameAttrList } from '../../proto/attr.ts';
import { trace } from '../controlFlow/trace.ts';
import { isNested } from '../nest.ts';
import { componentsOf, type ElementSpec, fromTensors, toElement } from './spec.ts';

/** A function of elements, built. */
export interface TracedFunction {
  readonly f: NameAttrList;
  /** What it uses from outside; the op that calls it takes these. */
  readonly captured: readonly Tensor[];
  /** What it gives. */
  readonly spec: ElementSpec;
  readonly shapes: readonly Dims[];
}

const marker = { _tf_data_function: { b: true } } as const;

export interface TraceElements {
  /** The transformation that calls the function, as in `Dataset_map`. */
  readonly transformation: string;
  /** What it is called with, one spec per argument unless the only one is a tuple, whose parts become arguments. */
  readonly args: readonly ElementSpec[];
  readonly name?: string | undefined;
}

/** Calls the user's function once to build it. */
export function traceFunction(
  fn: (...args: never[]) => unknown,
  { transformation, args, name }: TraceElements,
): TracedFunction {
  if (typeof fn !== 'function') throw userError(`${readable(transformation)} wants a function, but got ${typeof fn}.`);
  const label = `__inference_${transformation}_${name ?? named(fn)}_${getDefaultGraph().uid()}`;
  const graph = new FuncGraph(label, { ordersEffects: true, ownCollections: true });
  let position = 0;
  const values = graph.asDefault(() =>
    args.map((spec) => {
      const tensors = componentsOf(spec).map(({ dtype, shape }) =>
        graph.addArgument({ dtype, shape, name: `args_${position++}` }),
      );
      return fromTensors(spec, tensors);
    }),
  );
  const given = values.length === 1 && Array.isArray(values[0]) ? values[0] : values;
  let spec: ElementSpec | undefined;
  trace(
    graph,
    () => {
      const result: unknown = fn(...(given as never[])); // its arguments are what the specs say
      refuse(result, transformation);
      const element = toElement(result, () => undefined);
      ({ spec } = element);
      return [...element.tensors];
    },
    { what: `the function given to ${readable(transformation)}` },
  );
  const { name: registered } = registerFunction(graph, marker);
  const f: NameAttrList = { name: registered, attr: marker };
  return { f, captured: graph.externalCaptures, spec: spec!, shapes: graph.outputs.map((t) => t.shape) };
}

function refuse(result: unknown, transformation: string): void {
  const what = `The function given to ${readable(transformation)}`;
  if (result instanceof Promise)
    throw userError(`${what} is asynchronous. It only builds a graph: make it an ordinary function.`);
  if (result == null || result instanceof Operation || (isNested(result) && Object.keys(result).length === 0))
    throw userError(
      `${what} must return tensors, but it returned ${result instanceof Operation ? 'an operation' : 'nothing'}.`,
    );
}

const named = (fn: object & { readonly name?: string }): string =>
  (fn.name ?? '').replace(/[^A-Za-z0-9_.]/g, '') || 'lambda';

/** `Dataset_flat_map` as users write it. */
function readable(transformation: string): string {
  return transformation
    .replace(/^Dataset_/, 'Dataset.')
    .replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

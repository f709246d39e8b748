/** @file function and Defun: pieces of graph that are built once and called often. */
import { type DType, resource } from '../../core/dtypes.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Dims, showTuple } from '../../core/shape.ts';
import { composite, isComposite } from '../../graph/composite.ts';
import { FuncGraph } from '../../graph/funcGraph.ts';
import { registerFunction } from '../../graph/functionDef.ts';
import { type Graph, getDefaultGraph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { buildCall, type CallGradient, setCallGradient } from '../../ops/flow/calls.ts';
import { flatten, packSequenceAs, type Tensors } from '../nest.ts';
import { tensorsOf, trace, withTensors } from './trace.ts';

/** What a function is called with: arrays can stand for tensors. */
export type CallArguments<A> = { [K in keyof A]: A[K] extends Tensor ? A[K] | Tensor | NDArray : A[K] };
/** What a call gives: the tensors that the function returns, or the operation itself when it returns none. */
export type CallResult<R> = R extends null ? Operation : R extends void ? Operation : Tensors<R>;

export interface FunctionOptions {
  /** The types and shapes of the arguments; one body serves all calls, and other values are converted. */
  readonly inputSignature?: readonly { readonly dtype: DType; readonly shape: Dims }[] | undefined;
  readonly name?: string | undefined;
}

interface Body {
  readonly graph: FuncGraph;
  readonly structure: unknown;
  isRegistered: boolean;
}

/**
 * Makes a function whose calls are single nodes. It is called once for each combination of types and shapes of its tensor
 * arguments, and of the other arguments; what it uses from outside is captured. Operations with effects inside it run, in
 * their order, although nothing needs them. A call adds one `PartitionedCall` node (or `StatefulPartitionedCall`).
 *
 * @example
 * const scale = tf.function((x: tf.Tensor) => tf.multiply(x, 2));
 * scale(tf.constant([1, 2])); // runs to [2 4]
 */
function function_<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  options: FunctionOptions = {},
): (...args: CallArguments<A>) => CallResult<R> {
  const { inputSignature, name = fn.name || 'f' } = onlyOptions('tf.function', options, 'inputSignature', 'name');
  if (typeof fn !== 'function') throw userError('The first argument of tf.function must be a function');
  const bodies = new WeakMap<Graph, Map<string, Body>>();
  const identities = new Map<object, number>();
  return (...args) => {
    const given = inputSignature ? converted(args, inputSignature, name) : args.map((x) => asTensors(x));
    const leaves = flatten(given);
    const key = inputSignature ? '' : leaves.map((x) => keyOf(x, identities)).join(';');
    const graph = getDefaultGraph();
    let known = bodies.get(graph);
    if (!known) bodies.set(graph, (known = new Map()));
    let body = known.get(key);
    if (!body) known.set(key, (body = build(fn as (...values: never[]) => unknown, given, name, inputSignature)));
    const tensors = tensorsOf(given);
    const op = buildCall(body.graph, [...tensors, ...body.graph.externalCaptures], !body.isRegistered);
    body.isRegistered = true;
    const result = op.outputs.length === 0 ? op : withTensors(body.structure, op.outputs);
    return result as CallResult<R>; // in the structure that fn returned
  };
}

export { function_ as function };

/** Arrays become tensors; everything else that is no tensor is the function's own business. */
function asTensors(value: unknown): unknown {
  const flat = flatten(value).map(
    (x) => (x instanceof NDArray || ArrayBuffer.isView(x) ? convertToTensor(x as NDArray) : x), // typed arrays convert alike
  );
  return packSequenceAs(value, flat);
}

function converted(
  args: readonly unknown[],
  signature: NonNullable<FunctionOptions['inputSignature']>,
  name: string,
): Tensor[] {
  if (args.length !== signature.length)
    throw userError(`the function '${name}' takes ${signature.length} arguments, but ${args.length} were given`);
  return args.map((x, i) => {
    const tensor = convertToTensor(x as TensorLike, { dtype: signature[i]!.dtype }); // refused there otherwise
    tensor.setShape(signature[i]!.shape);
    return tensor;
  });
}

function keyOf(value: unknown, identities: Map<object, number>): string {
  if (value instanceof Tensor) return `${value.dtype}${showTuple(value.shape)}`;
  if (isComposite(value))
    return value[composite]()
      .parts.map((t) => keyOf(t, identities))
      .join();
  if (typeof value !== 'object' || value === null) return `${typeof value} ${String(value)}`;
  let number = identities.get(value);
  if (number === undefined) identities.set(value, (number = identities.size));
  return `object ${number}`;
}

function build(
  fn: (...values: never[]) => unknown,
  args: readonly unknown[],
  name: string,
  signature: FunctionOptions['inputSignature'],
): Body {
  const label = `__inference_${name.replace(/[^A-Za-z0-9_.]/g, '_')}_${getDefaultGraph().uid()}`;
  const graph = new FuncGraph(label, { ordersEffects: true, ownCollections: true });
  const inner = graph.asDefault(() =>
    tensorsOf(args).map((t, i) =>
      graph.addArgument({
        dtype: t.dtype,
        shape: signature?.[i]?.shape ?? t.shape,
        name: `args_${i}`,
        standsFor: handleOf(t),
      }),
    ),
  );
  const given = withTensors(args, inner) as never[]; // what the caller gave, with the arguments in place of tensors
  const structure = trace(graph, () => fn(...given), { what: `the function '${name}'` });
  return { graph, structure, isRegistered: false };
}

/** Handles say what they lead to; of other tensors every call brings its own. */
const handleOf = (t: Tensor) => (t.dtype === resource ? t : undefined);

export interface DefunOptions {
  readonly funcName?: string | undefined;
  /** A function of the arguments and of the gradients of the results, which gives the gradients of the arguments. */
  readonly gradFunc?: DefinedFunction<unknown> | undefined;
  /** Builds the gradients of the arguments from the operation of a call and the gradients of its results. */
  readonly pythonGradFunc?: CallGradient | undefined;
}

/** A function that `tf.Defun` has made. */
export interface DefinedFunction<R> {
  (...args: readonly TensorLike[]): CallResult<R>;
  /** Adds the function to the library of a graph, if it is not there, and gives its name. */
  addTo(graph: Graph): string;
}

/**
 * Makes a function of the graph's library with arguments of fixed types. A call adds one node whose op is the function.
 *
 * @example
 * const f = tf.Defun([tf.float32, tf.float32], (x, y) => tf.add(x, tf.square(y)), { funcName: 'F' });
 * f(1, 2); // a node of op 'F', runs to 5.0
 */
export function Defun<R>(
  types: readonly DType[],
  fn: (...args: Tensor[]) => R,
  options: DefunOptions = {},
): DefinedFunction<R> {
  onlyOptions('tf.Defun', options, 'funcName', 'gradFunc', 'pythonGradFunc');
  if (options.gradFunc && options.pythonGradFunc)
    throw userError('Gradient defined twice: give tf.Defun gradFunc or pythonGradFunc, not both');
  const bodies = new WeakMap<Graph, Body>();
  const bodyIn = (graph: Graph): Body => {
    let body = bodies.get(graph);
    if (!body) {
      const name = options.funcName ?? `${fn.name || 'f'}_${graph.uid()}`;
      const inside = graph.asDefault(() => new FuncGraph(name, { ordersEffects: true, ownCollections: true }));
      const args = types.map((dtype, i) => inside.addArgument({ dtype, shape: null, name: `arg${i}` }));
      const structure = trace(inside, () => fn(...args), { what: `the function '${name}'` });
      registerFunction(inside);
      if (options.gradFunc) {
        const { outermost } = graph;
        const gradient = { function_name: name, gradient_func: options.gradFunc.addTo(graph) };
        outermost.functionGradients = [...outermost.functionGradients, gradient];
      }
      if (options.pythonGradFunc) setCallGradient(graph, name, options.pythonGradFunc);
      bodies.set(graph, (body = { graph: inside, structure, isRegistered: true }));
    }
    return body;
  };
  const call = (...args: readonly TensorLike[]): CallResult<R> => {
    const graph = getDefaultGraph();
    const { graph: inside, structure } = bodyIn(graph);
    if (args.length !== types.length)
      throw userError(`the function '${inside.name}' takes ${types.length} arguments, but ${args.length} were given`);
    const tensors = args.map((x, i) => convertToTensor(x, { dtype: types[i]! }));
    const inputs = [...tensors, ...inside.externalCaptures];
    const op = graph.createOp({ type: inside.name, inputs });
    for (const [i, t] of inside.outputs.entries()) op.outputs[i]!.setShape(t.shape);
    return (op.outputs.length === 0 ? op : withTensors(structure, op.outputs)) as CallResult<R>; // as fn returned it
  };
  return Object.assign(call, { addTo: (graph: Graph) => bodyIn(graph).graph.name });
}

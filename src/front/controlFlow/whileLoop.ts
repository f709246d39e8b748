/** @file whileLoop: a piece of graph that is run again and again, as long as a condition holds. */
import { int32 } from '../../core/dtypes.ts';
import { type Dims, showTuple } from '../../core/shape.ts';
import { TensorShape } from '../../core/tensorShape.ts';
import { composite, isComposite } from '../../graph/composite.ts';
import { FuncGraph, functionName } from '../../graph/funcGraph.ts';
import { getDefaultGraph } from '../../graph/graph.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { identity, stopGradient } from '../../ops/array/identity.ts';
import { squeeze } from '../../ops/array/squeeze.ts';
import { buildLoop } from '../../ops/flow/loops.ts';
import { less } from '../../ops/math/compare.ts';
import { logicalAnd } from '../../ops/math/logical.ts';
import { plus } from '../../ops/math/operators.ts';
import { firstDifference, flatten, isNested, type Like, packSequenceAs, show, type Tensors } from '../nest.ts';
import { tensorsOf, trace, withTensors } from './trace.ts';

export interface WhileOptions {
  /** What stays true of the shape of each variable, in the structure of the variables; as they enter, unless given. */
  readonly shapeInvariants?: readonly unknown[] | undefined;
  /**
   * How many iterations may overlap. Here they run in order, as TensorFlow's do with 1, so that a body whose assignments depend
   * on no loop variable gives the last value; the number is handed on to whoever else runs the graph.
   */
  readonly parallelIterations?: number | undefined;
  /** The loop ends after so many iterations at the latest. */
  readonly maximumIterations?: TensorLike | undefined;
  /** False makes the results constant for gradients. */
  readonly backProp?: boolean | undefined;
  /** Accepted as TensorFlow has it; memory is managed by the runtime. */
  readonly swapMemory?: boolean | undefined;
  /** True gives a list even for a single variable. */
  readonly returnSameStructure?: boolean | undefined;
  readonly name?: string | undefined;
}

/** The results of a loop: in the structure of its variables, but a single tensor comes alone. */
export type LoopResult<V> = V extends readonly [infer One]
  ? Tensors<One> extends Tensor
    ? Tensors<One>
    : Tensors<V>
  : Tensors<V>;
/** What a step returns: the variables' new values, or, for a single variable, just its value. */
export type LoopStep<V> = V extends readonly [infer One] ? Like<V> | Like<One> : Like<V>;

/**
 * Applies `body` to the variables as long as `cond` gives true for them. Both are called once, while building. Adds one
 * `While` node (`StatelessWhile` when nothing in it has effects), its counter and limit, and an `Identity` per result.
 *
 * @example tf.whileLoop((i, x) => i.less(3), (i, x) => [i.add(1), x.mul(2)], [tf.constant(0), tf.constant(1)]) // runs to [3, 8]
 */
export function whileLoop<const V extends readonly unknown[]>(
  cond: (...vars: Extract<Tensors<V>, unknown[]>) => TensorLike,
  body: (...vars: Extract<Tensors<V>, unknown[]>) => LoopStep<V>,
  loopVars: V,
  options: WhileOptions & { readonly returnSameStructure: true },
): Tensors<V>;
export function whileLoop<const V extends readonly unknown[]>(
  cond: (...vars: Extract<Tensors<V>, unknown[]>) => TensorLike,
  body: (...vars: Extract<Tensors<V>, unknown[]>) => LoopStep<V>,
  loopVars: V,
  options?: WhileOptions,
): LoopResult<V>;
export function whileLoop(cond: Test, body: Step, loopVars: readonly unknown[], options: WhileOptions = {}): unknown {
  onlyOptions(
    'tf.whileLoop',
    options,
    'shapeInvariants',
    'parallelIterations',
    'maximumIterations',
    'backProp',
    'swapMemory',
    'returnSameStructure',
    'name',
  );
  checkArguments(cond, body, loopVars, options);
  const outputs = loop(cond, body, loopVars, options);
  const flat = tensorsOf(outputs);
  return !options.returnSameStructure && flat.length === 1 ? flat[0] : outputs;
}

type Test = (...vars: never[]) => TensorLike;
type Step = (...vars: never[]) => unknown;

/** `loop` for variables that a step gives back as it was given them: they have one type, before, inside and after. */
export function uniformLoop<V extends [unknown, ...unknown[]]>(
  cond: (...vars: V) => TensorLike,
  body: (...vars: V) => V,
  loopVars: V,
  options: WhileOptions,
): V {
  // A loop keeps the structure of its variables.
  const test: Test = (...vars) => cond(...(vars as unknown[] as V));
  const step: Step = (...vars) => body(...(vars as unknown[] as V));
  return loop(test, step, loopVars, options) as V;
}

/** `whileLoop` for functions that make their own loops: always gives the structure of the variables. */
export function loop(cond: Test, body: Step, loopVars: readonly unknown[], options: WhileOptions): unknown[] {
  const { variables, structure } = enter(loopVars);
  const shapes = invariants(structure, variables, options.shapeInvariants);
  const results = nameScope(options.name ?? 'while', (scope) =>
    build({ scope, cond, body, structure, variables, shapes, options }),
  );
  const outputs = options.backProp === false ? results.map((t) => stopGradient(t)) : results;
  return withTensors(structure, outputs) as unknown[]; // an array, as the variables are
}

function checkArguments(cond: unknown, body: unknown, loopVars: unknown, options: WhileOptions): void {
  if (typeof cond !== 'function') throw userError("'cond' of tf.whileLoop must be a function");
  if (typeof body !== 'function') throw userError("'body' of tf.whileLoop must be a function");
  if (!Array.isArray(loopVars) || loopVars.length === 0)
    throw userError("'loopVars' of tf.whileLoop must be an array with at least one variable");
  const { parallelIterations = 10 } = options;
  if (!Number.isInteger(parallelIterations) || parallelIterations < 1)
    throw userError(`'parallelIterations' must be a positive integer, but it is ${parallelIterations}`);
}

/** The variables as tensors, and the structure they come in, with tensors in it. */
function enter(loopVars: readonly unknown[]): { variables: Tensor[]; structure: unknown[] } {
  const values = flatten(loopVars).map((x, i) => {
    if (x == null) throw userError(`variable ${i} of tf.whileLoop is ${x}; a loop cannot carry nothing`);
    return isComposite(x) ? x : convertToTensor(x as TensorLike); // anything else is refused there
  });
  const structure = packSequenceAs(loopVars, values) as unknown[]; // an array, as loopVars is one
  return { variables: tensorsOf(structure), structure };
}

/** What must stay true of each variable's shape. */
function invariants(
  structure: readonly unknown[],
  variables: readonly Tensor[],
  given: readonly unknown[] | undefined,
): Dims[] {
  if (given === undefined) return variables.map((t) => t.shape);
  const found: Dims[] = [];
  collectInvariants(structure, given, 'shapeInvariants', found);
  for (const [i, variable] of variables.entries())
    if (!isAtLeast(variable.shape, found[i]!))
      throw userError(
        `The shape invariant specified for ${variable.name} is not compatible with the initial shape of the loop variable. It enters the loop with shape ${showTuple(variable.shape)}, but the specified shape invariant is ${showTuple(found[i]!)}.`,
      );
  return found;
}

/** Walks both structures; where the first has a value, the second has a shape, which is an array itself. */
function collectInvariants(structure: unknown, given: unknown, path: string, into: Dims[]): void {
  if (Array.isArray(structure)) {
    if (!Array.isArray(given) || given.length !== structure.length)
      throw userError(
        `${path} must have one entry for each of ${structure.length} variables, but it is ${show(given)}`,
      );
    for (const [i, x] of structure.entries()) collectInvariants(x, given[i], `${path}[${i}]`, into);
  } else if (isNested(structure)) {
    const record = structure as Readonly<Record<string, unknown>>; // nested, and no array
    const shapes = (given ?? {}) as Readonly<Record<string, unknown>>; // a missing entry is refused as a shape below
    for (const key of Object.keys(record).sort()) collectInvariants(record[key], shapes[key], `${path}.${key}`, into);
  } else {
    const dims = asDims(given, path);
    if (structure instanceof Tensor) into.push(dims);
    else if (isComposite(structure)) {
      const { parts, shapesFor } = structure[composite]();
      into.push(...(shapesFor?.(dims) ?? parts.map((t) => t.shape)));
    }
  }
}

function asDims(given: unknown, path: string): Dims {
  if (given instanceof TensorShape) return given.dims;
  if (given === null || (Array.isArray(given) && given.every((d) => d === null || typeof d === 'number')))
    return given as Dims; // checked just now
  throw userError(`${path} must be a shape, such as [null, 3], or null for any shape, but it is ${show(given)}`);
}

/** Whether a shape says everything that another one says. */
function isAtLeast(shape: Dims, wanted: Dims): boolean {
  if (wanted === null) return true;
  return shape?.length === wanted.length && wanted.every((d, i) => d === null || shape[i] === d);
}

interface Loop {
  readonly scope: string;
  readonly cond: Test;
  readonly body: Step;
  readonly structure: readonly unknown[];
  readonly variables: readonly Tensor[];
  readonly shapes: readonly Dims[];
  readonly options: WhileOptions;
}

/** Variables come after the counter and the limit. */
const first = 2;

function build(loop: Loop): Tensor[] {
  const { scope, variables, shapes, options } = loop;
  const names = { cond: functionName(scope, 'cond'), body: functionName(scope, 'body') };
  const limit = convertToTensor(options.maximumIterations ?? -1, { dtype: int32, name: 'maximum_iterations' });
  if (limit.shape?.length !== 0)
    throw userError(`'maximumIterations' must be a scalar. Received shape: ${showTuple(limit.shape)}`);
  const counter = convertToTensor(0, { dtype: int32, name: 'loop_counter' });
  const cond = argumentsOf(new FuncGraph(names.cond), counter, limit, loop);
  trace(cond, () => condition(cond, loop), { what: "'cond' of tf.whileLoop" });
  if (cond.outputs.length !== 1) throw userError("'cond' of tf.whileLoop must return one condition");
  const body = argumentsOf(new FuncGraph(names.body, { isStep: true }), counter, limit, loop);
  trace(body, () => step(body, cond, loop), {
    what: "'body' of tf.whileLoop",
    hints: [undefined, undefined, ...variables.map((t) => t.dtype)],
  });
  const captured = body.externalCaptures;
  body.outputs.push(...body.internalCaptures);
  ignoreCaptures(cond, captured.slice(cond.externalCaptures.length));
  const loopVars = [counter, limit, ...variables, ...captured];
  checkVariables(body, loopVars, shapes);
  const outputShapes = body.outputs.map((t, i) =>
    i >= first && i < first + shapes.length ? shapes[i - first]! : t.shape,
  );
  const op = buildLoop(loopVars, cond, body, {
    shapes: outputShapes,
    parallelIterations: options.parallelIterations ?? 10,
    name: scope,
  });
  // Inside functions the loop's own outputs are used, as in Python.
  const outputs = getDefaultGraph().outer ? op.outputs : op.outputs.map((t) => identity(t));
  return outputs.slice(first, first + variables.length);
}

function argumentsOf(graph: FuncGraph, counter: Tensor, limit: Tensor, { variables, shapes }: Loop): FuncGraph {
  graph.asDefault(() => {
    for (const { dtype, shape, op } of [counter, limit]) graph.addArgument({ dtype, shape, name: op.name });
    for (const [i, t] of variables.entries()) graph.addArgument({ dtype: t.dtype, shape: shapes[i]!, standsFor: t });
  });
  return graph;
}

/** The variables as the user's functions see them. */
function seen(graph: FuncGraph, { structure, variables }: Loop): never[] {
  return withTensors(structure, graph.inputs.slice(first, first + variables.length)) as never[]; // in the users' structure
}

function condition(graph: FuncGraph, loop: Loop): Tensor {
  const result = loop.cond(...seen(graph, loop));
  if (isNested(result))
    throw userError(`'cond' of tf.whileLoop must return one condition, but it returned ${show(result)}`);
  const pred = convertToTensor(result);
  const single = pred.shape?.length === 0 ? pred : squeeze(pred);
  const [counter, limit] = graph.inputs as [Tensor, Tensor]; // they come first
  return loop.options.maximumIterations === undefined ? single : logicalAnd(less(counter, limit), single);
}

function step(graph: FuncGraph, cond: FuncGraph, loop: Loop): unknown[] {
  // What the condition captured comes first, in its order, so that both take the same arguments.
  for (const tensor of cond.externalCaptures) graph.capture(tensor);
  const result = loop.body(...seen(graph, loop));
  const outputs = isNested(result) ? result : [result];
  const difference = firstDifference(loop.structure, outputs, '', { expandComposites: true });
  if (difference !== undefined)
    throw userError(
      `'body' of tf.whileLoop must return the variables in the structure in which they enter.\n\nThey enter as: ${show(loop.structure)}\nand 'body' returned: ${show(outputs)}\n\n${difference}`,
    );
  const [counter, limit] = graph.inputs as [Tensor, Tensor]; // they come first
  return [plus(counter, 1), limit, ...(outputs as unknown[])]; // an array, as the variables are
}

/** Arguments of the condition that only the body uses. */
function ignoreCaptures(cond: FuncGraph, captures: readonly Tensor[]): void {
  cond.asDefault(() => {
    const prefix = cond.uniqueName(`${cond.name}___redundant_placeholder`);
    for (const [i, tensor] of captures.entries()) {
      const attrs = { dtype: { type: tensor.dtype.number } };
      const op = cond.createOp({ type: 'Placeholder', inputs: [], attrs, name: `${prefix}${i}` });
      cond.addCapture(tensor, op.outputs[0]!);
    }
  });
}

function checkVariables(body: FuncGraph, loopVars: readonly Tensor[], shapes: readonly Dims[]): void {
  for (const [i, variable] of loopVars.entries()) {
    const [enters, leaves] = [body.inputs[i]!, body.outputs[i]!];
    if (enters.dtype !== leaves.dtype)
      throw userError(
        `Loop var ${variable.name} enters the loop with type ${enters.dtype} but has type ${leaves.dtype} after 1 iteration. ${variable.name} type should remain constant.`,
      );
    const wanted = shapes[i - first];
    if (wanted !== undefined && !isAtLeast(leaves.shape, wanted))
      throw userError(
        `Input tensor \`${variable.name}\` enters the loop with shape ${showTuple(wanted)}, but has shape ${showTuple(leaves.shape)} after one iteration. To allow the shape to vary across iterations, use the \`shapeInvariants\` argument of tf.whileLoop to specify a less-specific shape.`,
      );
  }
}

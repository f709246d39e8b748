/** @file Calls of functions: building them from bodies, and their gradients. */
import { InvalidArgumentError } from '../../core/errors.ts';
import type { Dims } from '../../core/shape.ts';
import { readOnlyArguments, readOnlyInputs } from '../../graph/effects.ts';
import { type FuncGraph, findBody, setBody } from '../../graph/funcGraph.ts';
import { registerFunction } from '../../graph/functionDef.ts';
import type { Graph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import type { Gradient, GradientTools } from '../../op/registry.ts';
import { AttrList, type NameAttrList } from '../../proto/attr.ts';
import { bodyGradient } from './bodyGradient.ts';
import { hasEffects, readBody } from './branches.ts';
import { PartitionedCall, StatefulPartitionedCall } from './call.ts';
import { SymbolicGradient } from './symbolicGradient.ts';

/** A call of a body with these arguments. `isNew` says that the library does not have the body yet. */
export function buildCall(graph: FuncGraph, args: readonly Tensor[], isNew: boolean): Operation {
  const f: NameAttrList = isNew ? registerFunction(graph) : { name: graph.name, attr: {} };
  const form = hasEffects(graph) ? StatefulPartitionedCall : PartitionedCall;
  const attrs = { f, Tin: args.map((t) => t.dtype), Tout: graph.outputs.map((t) => t.dtype) };
  const op = controlDependencies([...graph.controlCaptures], () => form.node({ args }, { attrs }));
  op.setAttr(readOnlyInputs, { list: AttrList.create({ i: readOnlyArguments([graph]).map(BigInt) }) });
  for (const [i, t] of graph.outputs.entries()) op.outputs[i]!.setShape(t.shape);
  setBody(op, 'f', graph);
  return op;
}

/** The function that an operation calls: named by an attribute, or by the operation's type. */
function calledBy(op: Operation): NameAttrList {
  return op.attrs['f']?.func ?? { name: op.type, attr: op.attrs };
}

function bodyOf(op: Operation): FuncGraph {
  const known = findBody(op, 'f');
  if (known) return known;
  const body = readBody(
    op,
    calledBy(op),
    op.inputs.map((t) => t.shape),
  );
  body.resetCaptures(op.inputs, body.inputs);
  setBody(op, 'f', body);
  return body;
}

/** What the gradient of a call is by: code that is given the operation and the gradients of its results. */
export type CallGradient = (op: Operation, ...dy: Tensor[]) => Gradient | null | readonly (Gradient | null)[];

const written = new WeakMap<Graph, Map<string, CallGradient>>();

/** Gradients of a function of a graph's library are built by `gradient` from now on. */
export function setCallGradient(graph: Graph, name: string, gradient: CallGradient): void {
  const known = written.get(graph.outermost) ?? new Map<string, CallGradient>();
  written.set(graph.outermost, known.set(name, gradient));
}

/** Gradients of the arguments of a call. */
export function callGradient(
  op: Operation,
  dy: readonly Gradient[],
  tools: GradientTools,
): readonly (Gradient | null)[] {
  const { outermost } = op.graph;
  const func = calledBy(op);
  const code = written.get(outermost)?.get(func.name);
  if (code) return [code(op, ...dy.map((g) => convertToTensor(g)))].flat();
  const given = outermost.functionGradients.find((g) => g.function_name === func.name);
  if (given) return givenGradient(op, dy, func, given.gradient_func);
  const body = bodyOf(op);
  return bodyGradient(op, dy, tools, {
    bodies: [body],
    before: 0,
    extend: (shapes) => extendCall(op, body, shapes),
    call: ([backward], [inputs]) => buildCall(backward!, inputs!, true).outputs,
  });
}

function extendCall(op: Operation, body: FuncGraph, shapes: readonly Dims[]): void {
  const func = registerFunction(body);
  const types = { list: AttrList.create({ type: body.outputs.map((t) => t.dtype.number) }) };
  if (op.attrs['f']) op.graph.extendOp(op, { attrs: { f: { func }, Tout: types } });
  else op.graph.extendOp(op, { attrs: {}, type: func.name });
  for (const [i, dims] of shapes.entries()) op.outputs[i]!.setShape(dims);
}

/** The gradient that the library names for a function: a function of its arguments and the gradients of its results. */
function givenGradient(op: Operation, dy: readonly Gradient[], func: NameAttrList, name: string): Tensor[] {
  if (!op.graph.functions.has(name))
    throw new InvalidArgumentError(`Function ${name}, the gradient of what '${op.name}' calls, is not in the library`);
  const input = [...op.inputs, ...dy.map((g) => convertToTensor(g))];
  const Tout = op.inputs.map((t) => t.dtype);
  return [...SymbolicGradient.build({ input }, { attrs: { f: func, Tout } }).output];
}

/** @file Building If and Case nodes from the bodies of their branches, and reading the bodies back. */
import { InternalError, NotFoundError } from '../../core/errors.ts';
import type { Dims } from '../../core/shape.ts';
import { readOnlyArguments, readOnlyInputs } from '../../graph/effects.ts';
import { type FuncGraph, findBody, setBody } from '../../graph/funcGraph.ts';
import { fromFunctionDef, registerFunction } from '../../graph/functionDef.ts';
import type { Operation } from '../../graph/operation.ts';
import { schemaOf } from '../../graph/opSchema.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { AttrList, type AttrValue, type NameAttrList } from '../../proto/attr.ts';
import { shapeToProto } from '../../proto/tensorProto.ts';
import { Case, StatelessCase } from './case.ts';
import { If, StatelessIf } from './if.ts';

export const isIf = (op: Operation): boolean => op.type === 'If' || op.type === 'StatelessIf';

/** Whether an operation of the body keeps state or has effects. */
export function hasEffects(graph: FuncGraph, randomCounts = true): boolean {
  return graph.operations.some((op) => {
    const { isStateful, effects } = schemaOf(op.type, graph.functions);
    return isStateful && (randomCounts || effects !== 'draws');
  });
}

/** Marks an operation as TensorFlow's own are: its functions become part of the graph that runs. */
export function markLowered(op: Operation, bodies: readonly FuncGraph[], firstArgument: number): void {
  const positions = readOnlyArguments(bodies).map((i) => BigInt(i + firstArgument));
  op.setAttr('_lower_using_switch_merge', { b: true });
  op.setAttr(readOnlyInputs, { list: AttrList.create({ i: positions }) });
}

/** The loosest description that covers two shapes. */
function commonShape(a: Dims, b: Dims): Dims {
  if (a === null || b === null || a.length !== b.length) return null;
  return a.map((d, i) => (d === b[i] ? d : null));
}

/**
 * An If (by a pred) or Case (by a number) of these bodies, each to be called with tensors of its own. The bodies are changed
 * so that all of them take the same arguments.
 */
export function buildBranches(
  kind: 'If' | 'Case',
  selector: Tensor,
  graphs: readonly FuncGraph[],
  inputs: readonly (readonly Tensor[])[],
  name?: string,
): Operation {
  const input = matchInputs(graphs, inputs);
  const outputs = graphs[0]!.outputs;
  const shapes = outputs.map((_, i) => graphs.map((g) => g.outputs[i]!.shape).reduce(commonShape));
  const functions = graphs.map((graph) => registerFunction(graph));
  const attrs = { Tin: input.map((t) => t.dtype), Tout: outputs.map((t) => t.dtype), output_shapes: shapes };
  const waits = graphs.flatMap((graph) => [...graph.controlCaptures]);
  const op = controlDependencies(waits, () => {
    if (kind === 'If') {
      const [then_branch, else_branch] = functions as [NameAttrList, NameAttrList]; // an If has two branches
      const form = graphs.some((g) => hasEffects(g)) ? If : StatelessIf;
      return form.node({ cond: selector, input }, { name, attrs: { ...attrs, then_branch, else_branch } });
    }
    const form = graphs.some((g) => hasEffects(g, false)) ? Case : StatelessCase;
    return form.node({ branch_index: selector, input }, { name, attrs: { ...attrs, branches: functions } });
  });
  markLowered(op, graphs, 1);
  for (const [i, graph] of graphs.entries()) setBody(op, 'branch', graph, i);
  return op;
}

/** One list of arguments for all bodies; where a body does not need one of them it gets a placeholder that nobody uses. */
function matchInputs(graphs: readonly FuncGraph[], inputs: readonly (readonly Tensor[])[]): Tensor[] {
  const shared: Tensor[] = [];
  const places = inputs.map((own) => {
    const used = new Set<number>();
    return own.map((tensor) => {
      let at = shared.findIndex((t, i) => t === tensor && !used.has(i));
      if (at < 0) at = shared.push(tensor) - 1;
      used.add(at);
      return at;
    });
  });
  for (const [k, graph] of graphs.entries()) {
    const own = graph.inputs;
    const parameters = shared.map((tensor, i) => {
      const at = places[k]!.indexOf(i);
      return at >= 0 ? own[at]! : graph.addArgument({ dtype: tensor.dtype, shape: tensor.shape });
    });
    graph.resetCaptures(shared, parameters);
  }
  return shared;
}

/** The bodies of the branches of an If or Case, ready to be differentiated. */
export function branchesOf(op: Operation): FuncGraph[] {
  const functions = functionsOf(op);
  const inputs = op.inputs.slice(1);
  return functions.map((func, i) => {
    const known = findBody(op, 'branch', i);
    if (known) return known;
    const body = readBody(
      op,
      func,
      inputs.map((t) => t.shape),
    );
    body.resetCaptures(inputs, body.inputs);
    setBody(op, 'branch', body, i);
    return body;
  });
}

function functionsOf({ name, attrs }: Operation): readonly NameAttrList[] {
  const pair = [attrs['then_branch']?.func, attrs['else_branch']?.func];
  const list = attrs['branches']?.list?.func ?? pair.filter((f): f is NameAttrList => f !== undefined);
  if (list.length === 0) throw new InternalError(`'${name}' has no branches`);
  return list;
}

/** The body of a function that an operation names, from the library. */
export function readBody(op: Operation, func: NameAttrList, shapes: readonly Dims[], isStep = false): FuncGraph {
  const def = op.graph.functions.get(func.name);
  if (!def)
    throw new NotFoundError(`Function ${func.name}, which '${op.name}' calls, is not in the graph's library`, {
      node: op.name,
      op: op.type,
    });
  return fromFunctionDef(def, { outer: op.graph, attr: func.attr, shapes, isStep });
}

/** The attributes of an If or Case whose branches have got more outputs. */
export function branchAttrs(
  op: Operation,
  graphs: readonly FuncGraph[],
  shapes: readonly Dims[],
): Record<string, AttrValue> {
  const functions = graphs.map((graph) => registerFunction(graph));
  const common = {
    Tout: { list: AttrList.create({ type: graphs[0]!.outputs.map((t) => t.dtype.number) }) },
    output_shapes: { list: AttrList.create({ shape: shapes.map(shapeToProto) }) },
  };
  return isIf(op)
    ? { ...common, then_branch: { func: functions[0]! }, else_branch: { func: functions[1]! } }
    : { ...common, branches: { list: AttrList.create({ func: functions }) } };
}

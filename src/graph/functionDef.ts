/** @file FunctionDef: a function body as the message that graphs carry in their library, and back. */
import { resource } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import type { Dims } from '../core/shape.ts';
import { AttrList, type AttrValue, type NameAttrList } from '../proto/attr.ts';
import { ArgAttrs, FunctionDef, NodeDef } from '../proto/graph.ts';
import { ArgDef, OpDef } from '../proto/opDef.ts';
import { dtypeFromProto, shapeFromProto, shapeToProto } from '../proto/tensorProto.ts';
import { FuncGraph } from './funcGraph.ts';
import type { Graph } from './graph.ts';
import { parseTensorName } from './graphDefIndex.ts';
import type { Operation } from './operation.ts';
import { schemaOf } from './opSchema.ts';
import type { Tensor } from './tensor.ts';

/** Adds the function to the library of the graph around it, and gives the value of an attribute that names it. */
export function registerFunction(graph: FuncGraph, attr: Readonly<Record<string, AttrValue>> = {}): NameAttrList {
  const def = toFunctionDef(graph, attr);
  graph.functions.set(graph.name, def);
  rememberNodes(graph, def);
  graph.registeredRewrites = graph.rewrites;
  return { name: graph.name, attr: {} };
}

/** Keeps where the user made the nodes of a body: the message that a session gets does not say it. */
function rememberNodes(graph: FuncGraph, { node_def }: FunctionDef): void {
  const { bodyNodes } = graph;
  for (const [i, { type, site }] of bodyOf(graph).entries()) {
    const { name } = node_def[i]!;
    const known = bodyNodes.get(name);
    if (known === undefined) bodyNodes.set(name, { type, site });
    else if (known?.type !== type || known.site !== site) bodyNodes.set(name, null);
  }
}

/** Names inside a function: results and arguments first, in lower case, then nodes, each made unique. */
class BodyNames {
  private readonly used = new Map<string, number>();
  private readonly nodes = new Map<string, string>();

  unique(name: string): string {
    if (!this.used.has(name)) {
      this.used.set(name, 0);
      return name;
    }
    for (;;) {
      const count = this.used.get(name)!;
      this.used.set(name, count + 1);
      const candidate = `${name}_${count}`;
      if (this.used.has(candidate)) continue;
      this.used.set(candidate, 0);
      return candidate;
    }
  }

  argument(name: string): string {
    const plain = name.replace(/[^A-Za-z0-9]/g, '_').toLowerCase();
    return this.unique(plain.replace(/^[^a-z]+/, '') || 'unknown');
  }

  node(name: string): string {
    let own = this.nodes.get(name);
    if (own === undefined) this.nodes.set(name, (own = this.unique(name)));
    return own;
  }
}

const argumentsOf = (graph: FuncGraph) => new Set(graph.inputs.map((t) => t.op));

/** The operations that become nodes of the function. */
function bodyOf(graph: FuncGraph): readonly Operation[] {
  const argumentOps = argumentsOf(graph);
  return graph.operations.filter((op) => !argumentOps.has(op));
}

/** The body as a message: its operations but the arguments, in order, with inputs named as functions do. */
export function toFunctionDef(graph: FuncGraph, attr: Readonly<Record<string, AttrValue>> = {}): FunctionDef {
  const names = new BodyNames();
  const places = new Map<Tensor, string>();
  const argumentOps = argumentsOf(graph);
  const results = graph.outputs.map((t) => names.argument(t.op.name));
  for (const input of graph.inputs) places.set(input, names.argument(input.op.name));
  const input_arg = graph.inputs.map((t) => ArgDef.create({ name: places.get(t)!, type: t.dtype.number }));
  const output_arg = graph.outputs.map((t, i) => ArgDef.create({ name: results[i]!, type: t.dtype.number }));
  const body = bodyOf(graph);
  for (const op of body) {
    const own = names.node(op.name);
    const outputs = schemaOf(op.type, graph.functions).outputNames(op.attrs);
    for (const [i, t] of op.outputs.entries()) places.set(t, `${own}:${outputs[i]!}`);
  }
  const placeOf = (t: Tensor): string => {
    const place = places.get(t);
    if (place === undefined) throw new InvalidArgumentError(`${t} is not part of ${graph}`);
    return place;
  };
  const controlPlace = (op: Operation) => (argumentOps.has(op) ? placeOf(op.outputs[0]!) : names.node(op.name));
  const control_ret = Object.fromEntries(graph.controlOutputs.map((op) => [op.name, names.node(op.name)]));
  const signature = OpDef.create({
    name: graph.name,
    input_arg,
    output_arg,
    control_output: Object.keys(control_ret),
    is_stateful: body.some((op) => schemaOf(op.type, graph.functions).isStateful),
  });
  return FunctionDef.create({
    signature,
    node_def: body.map((op) =>
      NodeDef.create({
        ...op.nodeDef,
        name: names.node(op.name),
        input: [...op.inputs.map(placeOf), ...op.controlInputs.map((c) => `^${controlPlace(c)}`).sort()],
      }),
    ),
    ret: Object.fromEntries(graph.outputs.map((t, i) => [output_arg[i]!.name, placeOf(t)])),
    control_ret,
    attr: { _construction_context: { s: new TextEncoder().encode('kEagerRuntime') }, ...attr },
    arg_attr: Object.fromEntries(
      graph.inputs
        .map((t, i) => [i, ArgAttrs.create({ attr: argumentAttrs(t) })] as const)
        .filter(([, a]) => hasAny(a)),
    ),
  });
}

const hasAny = ({ attr }: ArgAttrs) => Object.keys(attr).length > 0;

/** What is told of an argument: the name it was given, and its shape unless it is a handle. */
function argumentAttrs(argument: Tensor): Record<string, AttrValue> {
  const own = Object.entries(argument.op.attrs).filter(([name]) => name.startsWith('_'));
  const attrs: Record<string, AttrValue> = Object.fromEntries(own);
  if (argument.dtype !== resource)
    attrs['_output_shapes'] = { list: AttrList.create({ shape: [shapeToProto(argument.shape)] }) };
  return attrs;
}

export interface ReadOptions {
  /** Values of the function's attributes. */
  readonly attr?: Readonly<Record<string, AttrValue>>;
  /** What is known of the shapes of the arguments, by position. */
  readonly shapes?: readonly Dims[];
  /** As for `FuncGraph`. */
  readonly isStep?: boolean;
  /** The graph that calls the function. */
  readonly outer: Graph;
}

/** The body of a function of the library as a graph, to be looked into and differentiated. */
export function fromFunctionDef(def: FunctionDef, options: ReadOptions): FuncGraph {
  const { signature } = def;
  if (!signature) throw new InvalidArgumentError('a function of the library has no signature');
  const graph = new FuncGraph(signature.name, {
    outer: options.outer,
    ordersEffects: false,
    isStep: options.isStep ?? false,
  });
  return graph.asDefault(() => new Reader(def, graph, options).read());
}

class Reader {
  private readonly places = new Map<string, Tensor>();
  private readonly made = new Map<string, Operation>();

  constructor(
    private readonly def: FunctionDef,
    private readonly graph: FuncGraph,
    private readonly options: ReadOptions,
  ) {}

  read(): FuncGraph {
    const { graph, def } = this;
    const signature = def.signature!;
    for (const arg of signature.input_arg) this.addArgument(arg);
    for (const node of this.inOrder()) this.addNode(node);
    graph.outputs = signature.output_arg.map((arg) => this.place(def.ret[arg.name] ?? '', arg.name));
    graph.controlOutputs = Object.values(def.control_ret).map((name) => this.operation(name));
    return graph;
  }

  private addArgument(arg: ArgDef): void {
    const types = this.typesOf(arg);
    const isList = arg.number_attr !== '' || arg.type_list_attr !== '';
    for (const [i, type] of types.entries()) {
      const position = this.graph.inputs.length;
      const shapes = this.def.arg_attr[position]?.attr['_output_shapes']?.list?.shape;
      const known = this.options.shapes?.[position];
      const argument = this.graph.addArgument({
        dtype: dtypeFromProto(type),
        shape: known === undefined ? (shapes?.[0] ? shapeFromProto(shapes[0]) : null) : known,
        name: isList ? `${arg.name}_${i}` : arg.name,
      });
      this.places.set(isList ? `${arg.name}:${i}` : arg.name, argument);
      this.made.set(arg.name, argument.op);
    }
  }

  private typesOf(arg: ArgDef): readonly number[] {
    const { attr = {} } = this.options;
    if (arg.type_list_attr !== '') return attr[arg.type_list_attr]?.list?.type ?? [];
    const type = arg.type_attr === '' ? arg.type : (attr[arg.type_attr]?.type ?? 0);
    return new Array<number>(arg.number_attr === '' ? 1 : Number(attr[arg.number_attr]?.i ?? 0n)).fill(type);
  }

  /** Nodes may come in any order; here those that others need come first. */
  private inOrder(): NodeDef[] {
    const byName = new Map(this.def.node_def.map((node) => [node.name, node]));
    const result: NodeDef[] = [];
    const state = new Map<NodeDef, 'open' | 'done'>();
    for (const root of this.def.node_def) {
      const stack = [root];
      while (stack.length > 0) {
        const node = stack.at(-1)!;
        if (state.get(node) === 'done') {
          stack.pop();
          continue;
        }
        const isReturning = state.get(node) === 'open';
        state.set(node, 'open');
        const before = node.input
          .map((text) => byName.get(nodeOf(text)))
          .filter((n): n is NodeDef => n !== undefined && state.get(n) !== 'done');
        if (before.length === 0) {
          state.set(node, 'done');
          result.push(node);
          stack.pop();
        } else if (isReturning)
          throw new InvalidArgumentError(`The function '${this.graph.name}' has a cycle through node '${node.name}'`);
        else stack.push(...before);
      }
    }
    return result;
  }

  private addNode(node: NodeDef): void {
    const inputs = node.input.filter((text) => !text.startsWith('^')).map((text) => this.place(text, node.name));
    const controlInputs = node.input
      .filter((text) => text.startsWith('^'))
      .map((text) => this.operation(text.slice(1)));
    const { _output_shapes: shapes, ...attrs } = Object.fromEntries(
      Object.entries(node.attr).map(([name, value]) => [name, this.filled(value)]),
    );
    const op = this.graph.createOp({ type: node.op, name: `${node.name}/`, inputs, controlInputs, attrs });
    this.graph.names.take(op.name);
    op.device = node.device;
    for (const [i, output] of op.outputs.entries()) {
      const known = shapes?.list?.shape[i];
      if (known) output.setShape(shapeFromProto(known));
    }
    const outputs = schemaOf(op.type, this.graph.functions).outputNames(op.attrs);
    for (const [i, t] of op.outputs.entries()) this.places.set(`${node.name}:${outputs[i]!}`, t);
    this.made.set(node.name, op);
  }

  /** An attribute with the function's own attributes filled in. */
  private filled(value: AttrValue): AttrValue {
    if (value.placeholder !== undefined) return this.options.attr?.[value.placeholder] ?? value;
    if (value.func === undefined) return value;
    const attr = Object.fromEntries(Object.entries(value.func.attr).map(([name, v]) => [name, this.filled(v)]));
    return { func: { name: value.func.name, attr } };
  }

  private place(text: string, user: string): Tensor {
    const { name, index } = parseTensorName(text);
    const found =
      this.places.get(text) ??
      this.places.get(`${text}:0`) ??
      (text.includes(':') ? this.made.get(name)?.outputs[index] : undefined);
    if (!found)
      throw new InvalidArgumentError(
        `The function '${this.graph.name}': '${user}' needs '${text}', which is not there`,
      );
    return found;
  }

  private operation(name: string): Operation {
    const found = this.made.get(name);
    if (!found) throw new InvalidArgumentError(`The function '${this.graph.name}' has no node '${name}'`);
    return found;
  }
}

/** The node that an input of a function's node comes from. */
function nodeOf(text: string): string {
  return (text.startsWith('^') ? text.slice(1) : text).split(':')[0]!;
}

/** @file The functions of a graph's library as pieces of graph that can be lowered in place or run by themselves. */
import { InternalError, InvalidArgumentError, NotFoundError } from '../core/errors.ts';
import { finish } from '../core/eventLoop.ts';
import { zeros } from '../core/ndarray.ts';
import { functionSchema } from '../graph/functionSchema.ts';
import { functionBehind, functionDerivative } from '../op/functionDerivative.ts';
import { findOp, type OpDefinition, type PortSpec } from '../op/registry.ts';
import type { AttrValue, NameAttrList } from '../proto/attr.ts';
import type { FunctionDef, GradientDef, NodeDef } from '../proto/graph.ts';
import type { ArgDef } from '../proto/opDef.ts';
import { dtypeFromProto } from '../proto/tensorProto.ts';
import { hasFrames } from './frames.ts';
import { functionsIn, type Port, prune, RunGraph, type RunNode } from './runGraph.ts';
import { simplify } from './simplify.ts';

/** A piece of graph: nodes in an order that can be run, what they are given and what they give. */
export class Body {
  /** The last node, by position, that uses each node; results are used to the end. */
  readonly lastUse = new Map<RunNode, number>();
  constructor(
    readonly name: string,
    readonly nodes: readonly RunNode[],
    readonly args: readonly Port[],
    readonly results: readonly Port[],
    /** Nodes that run although nothing may be taken from them. */
    readonly targets: readonly RunNode[] = [],
    /** Tells it from other pieces of the same function. */
    readonly variant = '',
  ) {
    for (const [k, node] of nodes.entries()) for (const { node: from } of node.inputs) this.lastUse.set(from, k);
    for (const { node } of results) this.lastUse.set(node, nodes.length);
  }

  /** Whether it cannot be lowered in place, because it has control flow by frames. */
  get hasFrames(): boolean {
    return hasFrames(this.nodes);
  }

  /** The outputs of a node that others use; undefined where the node itself was asked for, with all that it does. */
  usedOutputs(node: RunNode): ReadonlySet<number> | undefined {
    return this.targets.includes(node) ? undefined : (this.uses().get(node) ?? new Set());
  }

  private uses(): ReadonlyMap<RunNode, ReadonlySet<number>> {
    if (this.used) return this.used;
    const used = new Map<RunNode, Set<number>>();
    for (const { node, index } of [...this.nodes.flatMap(({ inputs }) => inputs), ...this.results]) {
      const outputs = used.get(node);
      if (outputs) outputs.add(index);
      else used.set(node, new Set([index]));
    }
    return (this.used = used);
  }
  private used: ReadonlyMap<RunNode, ReadonlySet<number>> | undefined;

  /** This piece, then another that takes the first one's results; gives the results of both. */
  followedBy(next: Body): Body {
    const copies = new Map<RunNode, RunNode>();
    const moved = ({ node, index }: Port): Port => {
      const arg = next.args.findIndex((a) => a.node === node);
      return arg >= 0 ? this.results[arg]! : { node: copies.get(node)!, index };
    };
    for (const node of next.nodes)
      copies.set(node, {
        ...node,
        inputs: node.inputs.map(moved),
        control: node.control.map((n) => copies.get(n) ?? n).filter((n) => !next.args.some((a) => a.node === n)),
      });
    return new Body(
      this.name,
      [...this.nodes, ...copies.values()],
      this.args,
      [...this.results, ...next.results.map(moved)],
      [...this.targets, ...next.targets.map((node) => copies.get(node) ?? node)],
    );
  }
}

/** The functions of one session; grows with its graph. */
export class FunctionLibrary {
  private readonly defs = new Map<string, FunctionDef>();
  /** The functions that compute derivatives of others, where the library names them. */
  private readonly gradients = new Map<string, string>();
  private readonly ops = new Map<string, OpDefinition>();
  private readonly bodies = new Map<string, Body>();
  private readonly waiting = new Map<string, boolean>();

  constructor(private readonly simplifies: boolean) {}

  add(functions: Iterable<FunctionDef>, gradients: Iterable<GradientDef> = []): void {
    for (const def of functions) this.defs.set(def.signature?.name ?? '', def);
    for (const { function_name, gradient_func } of gradients) this.gradients.set(function_name, gradient_func);
  }

  /** What an op type means; the name of a function is one, and comes first. */
  readonly findOp = (type: string): OpDefinition => {
    const def = this.defs.get(type);
    if (!def) return internalOps.get(type) ?? findOp(type);
    let op = this.ops.get(type);
    if (!op) this.ops.set(type, (op = callOf(def)));
    return op;
  };

  /** Whether a function, or one that it calls, has an op that may wait. */
  readonly mayWait = (name: string): boolean => {
    const def = this.defs.get(name);
    if (!def) return false;
    const known = this.waiting.get(name);
    if (known !== undefined) return known;
    this.waiting.set(name, false); // a function that calls itself waits only if something else in it does
    const waits = def.node_def.some(
      ({ op, attr }) => this.findOp(op).mayWait || [op, ...functionsIn(attr)].some(this.mayWait),
    );
    this.waiting.set(name, waits);
    return waits;
  };

  /** The ops of a function, and of those that it calls, that have state or effects. */
  statefulOps(name: string, seen = new Set<string>()): readonly OpDefinition[] {
    const def = this.defs.get(name);
    if (!def || seen.has(name)) return [];
    seen.add(name);
    const found = def.node_def.flatMap(({ op, attr }) => [
      ...(this.defs.has(op) || !this.findOp(op).isStateful ? [] : [this.findOp(op)]),
      ...[op, ...functionsIn(attr)].flatMap((each) => this.statefulOps(each, seen)),
    ]);
    return [...new Set(found)];
  }

  /** A function and those that it calls. */
  definitions(name: string, seen = new Set<string>()): readonly FunctionDef[] {
    const def = this.defs.get(name);
    if (!def || seen.has(name)) return [];
    seen.add(name);
    const called = def.node_def.flatMap(({ op, attr }) => [op, ...functionsIn(attr)]);
    return [def, ...called.flatMap((each) => this.definitions(each, seen))];
  }

  /**
   * The nodes of a function, for some values of its attributes: those that its results need and, unless it is pruned like
   * the rest of a graph, those that have effects.
   */
  body(func: NameAttrList, isPruned = false): Body {
    return this.cached(`${isPruned ? 'pruned ' : ''}${keyOf(func)}`, () =>
      this.instantiate(func, (linker) => linker.link(isPruned)),
    );
  }

  /** The nodes of a function that some of its results need; the others are there, but have no value. */
  bodyFor(func: NameAttrList, wanted: ReadonlySet<number>): Body {
    const variant = `[${[...wanted].sort((a, b) => a - b)}]`;
    return this.cached(`${variant} ${keyOf(func)}`, () =>
      this.instantiate(func, (linker) => linker.link(true, wanted), variant),
    );
  }

  /** The body of a loop of which some results are wanted; what neither they nor the test need is passed on as it is. */
  loopBodyFor(cond: NameAttrList, func: NameAttrList, wanted: ReadonlySet<number>): Body {
    const test = this.body(cond, true);
    const tested = test.args.flatMap(({ node }, i) => (test.lastUse.has(node) ? [i] : []));
    const variant = `[${[...new Set([...wanted, ...tested])].sort((a, b) => a - b)}] of a loop`;
    return this.cached(`${variant} ${keyOf(func)}`, () =>
      this.instantiate(func, (linker) => linker.linkLoop([...wanted, ...tested]), variant),
    );
  }

  private cached(key: string, make: () => Body): Body {
    let body = this.bodies.get(key);
    if (!body) this.bodies.set(key, (body = make()));
    return body;
  }

  private instantiate(func: NameAttrList, link: (linker: Linker) => Linked, variant = ''): Body {
    const def = this.definition(func);
    if (!def?.signature)
      throw new NotFoundError(
        `Function ${func.name} is not defined. A graph that calls it must bring it in its library.`,
      );
    const { nodes, args, results, targets } = link(new Linker(def, func, this));
    if (hasFrames(nodes)) return new Body(func.name, nodes, args, results, targets, variant);
    const simple = finish(simplify({ nodes, feeds: args, fetches: results, targets }, this.simplifies));
    return new Body(func.name, simple.nodes, args, simple.fetches, simple.targets, variant);
  }

  /** A function of the library, or the derivative of one. */
  private definition(func: NameAttrList): FunctionDef | undefined {
    const forward = functionBehind(func.name);
    if (forward === undefined) return this.defs.get(func.name);
    const given = this.gradients.get(forward);
    if (given !== undefined) return this.defs.get(given);
    const [def, ...others] = functionDerivative(this.defs, { ...func, name: forward });
    this.add(others);
    return def;
  }
}

/** The nodes of a function that are needed for some of its results. */
interface Linked {
  readonly nodes: readonly RunNode[];
  readonly args: readonly Port[];
  readonly results: readonly Port[];
  readonly targets: readonly RunNode[];
}

/** Turns the NodeDefs of a function, which name outputs by port, into linked nodes. */
class Linker {
  /** Where each value of the body is found in an ordinary graph: `node:port` to `node` and first output. */
  private readonly graph: RunGraph;
  private readonly args: readonly Port[];
  private readonly results: readonly Port[];
  private readonly argNames: string[] = [];
  /** Names of list arguments' elements. */
  private readonly elements = new Map<string, readonly string[]>();

  constructor(
    private readonly def: FunctionDef,
    private readonly func: NameAttrList,
    private readonly library: FunctionLibrary,
  ) {
    this.graph = new RunGraph(library.findOp, library.mayWait);
    const { signature, node_def, ret } = def;
    const arguments_ = signature!.input_arg.flatMap((arg) => this.argumentNodes(arg));
    const bodies = node_def.map((node) => this.substituted(node));
    const defs = new Map(bodies.map((node) => [node.name, node]));
    this.graph.extend([
      ...arguments_,
      ...bodies.map((node) => ({ ...node, input: node.input.map((text) => this.plainInput(text, defs)) })),
    ]);
    this.args = this.argNames.map((name) => this.graph.port(name, 'FeedInputs'));
    this.results = signature!.output_arg.map((arg) => {
      const text = ret[arg.name];
      if (text === undefined)
        throw new InvalidArgumentError(`Return ${arg.name} missing from function ${this.func.name}.`);
      return this.graph.port(this.plainInput(text, defs), 'FetchOutputs');
    });
  }

  /** What all results need, or the wanted ones. */
  link(isPruned: boolean, wanted?: ReadonlySet<number>): Linked {
    if (!wanted) return this.linked(this.results, isPruned);
    return this.linked(
      this.results.map((port, i) => (wanted.has(i) ? port : this.nothing(port))),
      isPruned,
    );
  }

  /** What these results of a loop's body need, and those that the next trip needs for them. */
  linkLoop(wanted: Iterable<number>): Linked {
    const live = new Set(wanted);
    for (;;) {
      const linked = this.linked(
        this.results.map((port, i) => (live.has(i) ? port : (this.args[i] ?? port))),
        true,
      );
      const ports = [...linked.nodes.flatMap((node) => node.inputs), ...[...live].map((i) => linked.results[i]!)];
      const used = new Set(ports.map((port) => port.node));
      const more = this.args.flatMap(({ node }, i) => (used.has(node) && !live.has(i) ? [i] : []));
      if (more.length === 0) return linked;
      for (const i of more) live.add(i);
    }
  }

  private linked(results: readonly Port[], isPruned: boolean): Linked {
    const effects = new Set(Object.values(this.def.control_ret));
    // A function's effects happen although nothing is returned from them, unless it was only a part of a graph.
    const targets = this.def.node_def
      .map(({ name }) => this.graph.target(name))
      .filter((node) => (node.def.isStateful && !isPruned) || effects.has(node.name));
    const given = new Set(this.args.map((p) => p.node));
    const roots = [...results.map((p) => p.node), ...targets].filter((node) => !given.has(node));
    return { nodes: prune(roots, (p) => given.has(p.node)), args: this.args, results, targets };
  }

  /** Stands for a result that nobody uses. */
  private nothing({ node, index }: Port): Port {
    const { dtype } = node.outputs[index]!;
    const name = `nothing/${dtype.name}`;
    if (!this.graph.find(name))
      this.graph.extend([{ name, op: absent.name, input: [], device: '', attr: { T: { type: dtype.number } } }]);
    return this.graph.port(name, 'FetchOutputs');
  }

  private argumentNodes(arg: ArgDef): NodeDef[] {
    const types = argTypes(arg, this.func.attr);
    const names = types.length === 1 && !isList(arg) ? [arg.name] : types.map((_, i) => `${arg.name}/element_${i}`);
    if (isList(arg)) this.elements.set(arg.name, names);
    this.argNames.push(...names);
    return names.map((name, i) => ({
      name,
      op: argument.name,
      input: [],
      device: '',
      attr: { T: { type: types[i]! } },
    }));
  }

  /** A node with the function's attributes filled in. */
  private substituted(node: NodeDef): NodeDef {
    if (!Object.values(node.attr).some((v) => v.placeholder !== undefined || v.func !== undefined)) return node;
    const fill = (value: AttrValue): AttrValue => {
      if (value.placeholder !== undefined) {
        const given = this.func.attr[value.placeholder];
        if (!given)
          throw new InvalidArgumentError(`Function ${this.func.name}: no value for the attribute ${value.placeholder}`);
        return given;
      }
      if (value.func === undefined) return value;
      const attr = Object.fromEntries(Object.entries(value.func.attr).map(([k, v]) => [k, fill(v)]));
      return { func: { name: value.func.name, attr } };
    };
    return { ...node, attr: Object.fromEntries(Object.entries(node.attr).map(([k, v]) => [k, fill(v)])) };
  }

  /** `node:port:2` as `node:5`, where the port's outputs begin at 3. */
  private plainInput(text: string, defs: ReadonlyMap<string, NodeDef>): string {
    if (text.startsWith('^')) return text;
    const [name, port, index = '0'] = text.split(':') as [string, string?, string?];
    const elements = this.elements.get(name);
    if (elements) return elements[Number(port ?? 0)] ?? text;
    const node = defs.get(name);
    if (!node || port === undefined) return name;
    if (/^\d+$/.test(port)) return `${name}:${port}`;
    let start = 0;
    for (const spec of this.library.findOp(node.op).outputPorts) {
      if (spec.name === port) return `${name}:${start + Number(index)}`;
      start += countOf(spec, node.attr);
    }
    throw new InvalidArgumentError(`Function ${this.func.name}: '${name}' has no output '${port}'`);
  }
}

/** How many outputs a port has. */
function countOf({ numberAttr, typeListAttr }: PortSpec, attrs: Readonly<Record<string, AttrValue>>): number {
  if (typeListAttr !== undefined) return attrs[typeListAttr]?.list?.type.length ?? 0;
  return numberAttr === undefined ? 1 : Number(attrs[numberAttr]?.i ?? 0n);
}

const isList = (arg: ArgDef) => arg.number_attr !== '' || arg.type_list_attr !== '';

function argTypes(arg: ArgDef, attrs: Readonly<Record<string, AttrValue>>): readonly number[] {
  if (arg.type_list_attr !== '') return attrs[arg.type_list_attr]?.list?.type ?? [];
  const type = arg.type_attr === '' ? arg.type : (attrs[arg.type_attr]?.type ?? 0);
  return new Array<number>(arg.number_attr === '' ? 1 : Number(attrs[arg.number_attr]?.i ?? 0n)).fill(type);
}

/** What ops that exist only while running have in common: nobody builds with them or differentiates them. */
const internal = {
  isStateful: false,
  deprecatedSince: undefined,
  inputPorts: [],
  attrSpecs: {},
  isCommutative: false,
  isAggregate: false,
  allowsUninitializedInput: false,
  isIdentity: false,
  handsOn: false,
  takesLists: false,
  mayWait: false,
  isSizedByData: false,
  controlFlow: undefined,
  gradient: 'none',
  hostInputs: () => [],
  refInputs: () => [],
  decodeAttrs: ({ attrs }) => ({ ...attrs }),
  inferShapes: (op) => op.outputs.map(() => null),
  outputNames: () => ['output:0'],
  cases: () => [],
} as const satisfies Partial<OpDefinition>;

/** Ops with one output and no inputs. */
const source = {
  ...internal,
  outputPorts: [{ name: 'output', typeAttr: 'T', isRef: false }],
  complete: (given) => ({ ...given }),
  outputs: (attrs) => [{ dtype: dtypeFromProto(attrs['T']?.type ?? 0), isRef: false }],
} as const satisfies Partial<OpDefinition>;

/** An argument of a function: its value is set by the caller. */
const argument: OpDefinition = {
  ...source,
  name: '_Arg',
  lower() {
    throw new InternalError('an argument was not given');
  },
};

/** A result of a function that nobody uses. */
const absent: OpDefinition = {
  ...source,
  name: '_Absent',
  lower: (p, _inputs, _attrs, { outputTypes }) => [p.constant(zeros(outputTypes[0]!, [0]))],
};

const internalOps: ReadonlyMap<string, OpDefinition> = new Map([argument, absent].map((op) => [op.name, op]));

/** A function as an op of its own. */
function callOf(def: FunctionDef): OpDefinition {
  const { name, input_arg, output_arg } = def.signature!;
  const port = (arg: ArgDef): PortSpec => ({
    name: arg.name,
    isRef: arg.is_ref,
    ...(arg.type_attr !== '' && { typeAttr: arg.type_attr }),
    ...(arg.number_attr !== '' && { numberAttr: arg.number_attr }),
    ...(arg.type_list_attr !== '' && { typeListAttr: arg.type_list_attr }),
  });
  return {
    ...internal,
    ...functionSchema(def),
    name,
    inputPorts: input_arg.map(port),
    outputPorts: output_arg.map(port),
    takesLists: true,
    lower: (p, inputs, attrs) => p.call({ name, attr: attrs as Record<string, AttrValue> }, inputs), // as `decodeAttrs` leaves them
  };
}

/** A function with the values of its attributes. */
const keyOf = ({ name, attr }: NameAttrList) =>
  Object.keys(attr).length === 0 ? name : `${name}${JSON.stringify(attr, printable)}`;

function printable(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value;
}

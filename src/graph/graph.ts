/** @file Graph: operations, names, collections and the function library; the only thing in the building half that grows. */
import { InvalidArgumentError, OpError } from '../core/errors.ts';
import type { AttrValue } from '../proto/attr.ts';
import type { FunctionDef, GradientDef, GraphDef, RegisteredGradient, VersionDef } from '../proto/graph.ts';
import { type CallSite, CallSites } from './callSite.ts';
import {
  type Context,
  currentContext,
  type DeviceFunction,
  EnteredScope,
  enterContext,
  setBaseContext,
  withContext,
} from './context.ts';
import type { DeviceSpec } from './device.ts';
import { type ExportOptions, exportGraphDef } from './export.ts';
import { checkOpName, NameTable } from './names.ts';
import { Operation } from './operation.ts';
import { schemaOf } from './opSchema.ts';
import { onlyOptions, withArgument } from './options.ts';
import {
  applyScopes,
  type ColocationOptions,
  type ControlInput,
  colocateWith,
  controlDependencies,
  controlFor,
  device,
  nameScope,
} from './scopes.ts';
import { Tensor } from './tensor.ts';
import { userError } from './userError.ts';

interface ScopeOption {
  readonly scope?: string | null | undefined;
}
/** What the items of a collection are chosen by, alone or as an option. */
export type ScopeArgument = string | null | ScopeOption;

export interface CreateOp {
  readonly type: string;
  readonly inputs: readonly Tensor[];
  readonly attrs?: Record<string, AttrValue>;
  /** Defaults to the type. A name that ends in `/` is taken as it is, without making it unique. */
  readonly name?: string | undefined;
  readonly controlInputs?: readonly Operation[];
}

/** An operation that is checked but not part of the graph yet. */
export interface DraftOp {
  readonly id: number;
  readonly type: string;
  readonly name: string;
  readonly inputs: readonly Tensor[];
  readonly control: readonly Operation[];
  readonly attrs: Record<string, AttrValue>;
  readonly site: CallSite;
  /** Functions that node types may name. */
  readonly functions: ReadonlyMap<string, FunctionDef>;
}

/** The version of TensorFlow's graph format that this library writes and understands: TensorFlow 2.21's. */
export const graphDefVersion = 2474;

/** What is known of a node inside a function, for messages about it. */
export interface BodyNode {
  readonly type: string;
  readonly site?: CallSite | undefined;
}

/** What a function body shares with the graph around it. */
export interface SharedParts {
  readonly bodyNodes: Map<string, BodyNode | null>;
  readonly functions: Map<string, FunctionDef>;
  readonly collections: Map<string, unknown[]>;
  readonly sites: CallSites;
}

/** A dataflow graph. */
export class Graph {
  readonly operations: Operation[] = [];
  /** The function library: by name, with the functions that compute gradients of others. */
  readonly functions: Map<string, FunctionDef>;
  /** The nodes inside functions made here, by name; `null` where several have the name. */
  readonly bodyNodes: Map<string, BodyNode | null>;
  functionGradients: readonly GradientDef[] = [];
  registeredGradients: readonly RegisteredGradient[] = [];
  /** The graph-level seed, as in `tf.setRandomSeed`. */
  seed: number | undefined;
  /** How many op seeds were drawn from the graph seed so far. */
  seedsDrawn = 0;
  versions: VersionDef = { producer: graphDefVersion, min_consumer: 0, bad_consumers: [] };
  readonly names = new NameTable();
  /** How many operations were given other inputs or outputs after they were made; sessions begin anew then. */
  rewrites = 0;
  /** Whether stateful operations made here run, and run in the order they were made, although nothing needs them. */
  readonly ordersEffects: boolean = false;
  private readonly byName = new Map<string, Operation>();
  private readonly collections: Map<string, unknown[]>;
  private readonly consumers = new Map<Tensor, Operation[]>();
  private readonly sites: CallSites;
  private finalized = false;
  private uids = 0;

  constructor(shared: Partial<SharedParts> = {}) {
    this.functions = shared.functions ?? new Map();
    this.collections = shared.collections ?? new Map();
    this.sites = shared.sites ?? new CallSites();
    this.bodyNodes = shared.bodyNodes ?? new Map();
  }

  /** Where in the user's program operations made now come from. */
  callSite(): CallSite {
    return currentContext().site ?? this.sites.here();
  }

  /** Grows with every operation; sessions use it to see that a graph has changed. */
  get version(): number {
    return this.operations.length;
  }

  /** The graph that a function body lies in; undefined for any other graph. */
  get outer(): Graph | undefined {
    return undefined;
  }
  /** The graph around all functions: this one, unless it is the body of a function. */
  get outermost(): Graph {
    return this.outer?.outermost ?? this;
  }

  /** For functions made inside this graph. */
  get sharedParts(): SharedParts {
    const { functions, collections, sites, bodyNodes } = this;
    return { functions, collections, sites, bodyNodes };
  }

  /** A number not given before in this graph, functions included. Tensors count, so that numbers are Python's. */
  uid(): number {
    const { outermost } = this;
    return ++outermost.uids;
  }

  /** Makes this the default graph for `body`, or until the end of a `using` block. */
  asDefault<T>(body: (graph: Graph) => T): T;
  asDefault(): EnteredScope<Graph>;
  asDefault<T>(body?: (graph: Graph) => T): T | EnteredScope<Graph> {
    const change = this.scopesFrom(currentContext());
    return body ? withContext(change, body, this) : new EnteredScope<Graph>(this, enterContext(change));
  }

  /** The scopes that apply when this becomes the default graph: those it was left with, where it is entered again. */
  protected scopesFrom(now: Context): Partial<Context> {
    if (now.graph === this) return {};
    let before = now.around;
    while (before && before.graph !== this) before = before.around;
    if (!before) return { ...emptyScopes, graph: this, around: now };
    const { scope, control, devices, colocation, container, gradientOverrides } = before;
    return { scope, control, devices, colocation, container, gradientOverrides, graph: this, around: now };
  }

  /** Whether tensors of a graph can be used here: those of this one and, in a function, of the graphs around it. */
  maySee(graph: Graph): boolean {
    return graph === this;
  }

  /** The tensor itself; a function body takes tensors of the graphs around it as extra arguments. */
  capture(tensor: Tensor): Tensor {
    this.checkOwn(tensor);
    return tensor;
  }

  /** Operations that can be waited for inside this graph; a function body waits for the others before it is called. */
  captureControl(op: Operation): Operation | undefined {
    return op;
  }

  /** Adds an operation. Throws, without adding, when its inputs do not fit. */
  createOp({ type, inputs, attrs = {}, name = type, controlInputs = [] }: CreateOp): Operation {
    this.throwIfFinalized();
    const context = currentContext();
    const inThisGraph = context.graph === this;
    const unique = name.endsWith('/') ? name.slice(0, -1) : this.uniqueName(name);
    checkOpName(unique);
    if (this.byName.has(unique)) throw userError(`Duplicate node name in graph: '${unique}'`);
    const site = context.site ?? this.sites.here();
    const control = [...controlInputs];
    if (inThisGraph) for (const op of controlFor(context.control, inputs)) if (!control.includes(op)) control.push(op);
    const id = this.operations.length;
    const op = this.draft({ id, type, name: unique, inputs, control, attrs, site, functions: this.functions });
    if (inThisGraph) applyScopes(op, context);
    this.adopt(op, context);
    return op;
  }

  /** An operation with its attributes complete and its outputs typed and shaped, not yet part of the graph. */
  draft({ id, type, name, inputs, control, attrs, site, functions }: DraftOp): Operation {
    try {
      for (const input of inputs) this.checkOwn(input);
      const schema = schemaOf(type, functions);
      const complete = schema.complete(attrs, inputs);
      const op = new Operation(this, id, name, type, inputs, control, complete, '', site);
      for (const [i, { dtype, isRef }] of schema.outputs(complete).entries())
        op.outputs.push(new Tensor(op, i, dtype, null, isRef));
      this.outermost.uids += op.outputs.length;
      for (const [i, dims] of schema.inferShapes(op).entries()) op.outputs[i]!.setShape(dims);
      return op;
    } catch (error) {
      throw located(error, type, name, site);
    }
  }

  /** Makes a draft a part of this graph. */
  adopt(op: Operation, context: Context): void {
    this.operations.push(op);
    this.byName.set(op.name, op);
    this.addConsumer(op, op.inputs);
    if (context.graph === this) for (const frame of context.control) frame.seen.add(op);
  }

  private addConsumer(op: Operation, inputs: readonly Tensor[]): void {
    for (const input of inputs) {
      const list = this.consumers.get(input);
      if (list) list.push(op);
      else this.consumers.set(input, [op]);
    }
  }

  /**
   * Gives an operation more inputs and outputs, and other attributes: what its gradient needs of the inside of a loop or
   * branch. Its first outputs stay the tensors they are.
   */
  extendOp(
    op: Operation,
    added: { inputs?: readonly Tensor[]; attrs: Record<string, AttrValue>; type?: string },
  ): void {
    this.throwIfFinalized();
    const { inputs = [] } = added;
    for (const input of inputs) this.checkOwn(input);
    const type = added.type ?? op.type;
    const schema = schemaOf(type, this.functions);
    const all = [...op.inputs, ...inputs];
    const attrs = schema.complete({ ...op.attrs, ...added.attrs }, all);
    op.rewrite(type, all, attrs);
    for (const [i, { dtype, isRef }] of schema.outputs(attrs).entries())
      op.outputs[i] ??= new Tensor(op, i, dtype, null, isRef);
    for (const [i, dims] of schema.inferShapes(op).entries()) op.outputs[i]!.setShape(dims);
    this.addConsumer(op, inputs);
    this.rewrites++;
  }

  /** Gives operations that read `from` another tensor in its place; the caller has checked that it fits. */
  redirect(from: Tensor, to: Tensor, readers: readonly Operation[]): void {
    this.throwIfFinalized();
    for (const op of readers)
      op.rewrite(
        op.type,
        op.inputs.map((t) => (t === from ? to : t)),
        op.attrs,
      );
    this.consumers.set(
      from,
      this.consumersOf(from).filter((op) => !readers.includes(op)),
    );
    for (const op of readers) this.addConsumer(op, [to]);
    this.rewrites++;
  }

  protected checkOwn(tensor: Tensor): void {
    if (tensor.graph === this) return;
    throw new InvalidArgumentError(
      tensor.graph.outer
        ? `${tensor} is out of scope and cannot be used here: it belongs to the inside of ${tensor.graph}. Return it from that function, and use what the call gives.`
        : `${tensor} must be from the same graph as the operation that uses it.`,
    );
  }

  /**
   * The graph as a message: nodes in the order they were made, versions, function library.
   *
   * @example tf.GraphDef.encode(graph.asGraphDef()) // the bytes of a .pb file
   */
  asGraphDef(options: ExportOptions = {}): GraphDef {
    return exportGraphDef(this, options);
  }

  throwIfFinalized(): void {
    if (this.finalized) throw userError('Graph is finalized and cannot be modified.');
  }

  /** Whether an operation has that name. */
  has(name: string): boolean {
    return this.byName.has(name);
  }

  consumersOf(tensor: Tensor): Operation[] {
    return [...(this.consumers.get(tensor) ?? [])];
  }

  /** A scope in this graph, for a `using` declaration. */
  private entered<V>(enter: () => EnteredScope<V>): EnteredScope<V> {
    const graph = this.asDefault();
    try {
      const { value } = enter();
      return new EnteredScope(value, () => graph[Symbol.dispose]()); // goes back to before both
    } catch (error) {
      graph[Symbol.dispose]();
      throw error;
    }
  }

  /** Operations made in `body` take the gradient registered under the name their op type maps to. */
  gradientOverrideMap<T>(map: Readonly<Record<string, string>>, body: () => T): T;
  gradientOverrideMap(map: Readonly<Record<string, string>>): EnteredScope<void>;
  gradientOverrideMap<T>(map: Readonly<Record<string, string>>, body?: () => T): T | EnteredScope<void> {
    const change = () => ({ gradientOverrides: { ...currentContext().gradientOverrides, ...map } });
    if (body) return this.asDefault(() => withContext(change(), body));
    return this.entered(() => new EnteredScope(undefined, enterContext(change())));
  }

  /** `tf.nameScope` in this graph. */
  nameScope<T>(name: string | null, body: (scope: string) => T): T;
  nameScope(name: string | null): EnteredScope<string>;
  nameScope<T>(name: string | null, body?: (scope: string) => T): T | EnteredScope<string> {
    return body ? this.asDefault(() => nameScope(name, body)) : this.entered(() => nameScope(name));
  }
  /** `tf.device` in this graph. */
  device<T>(spec: string | DeviceSpec | DeviceFunction | null, body: () => T): T;
  device(spec: string | DeviceSpec | DeviceFunction | null): EnteredScope<void>;
  device<T>(spec: string | DeviceSpec | DeviceFunction | null, body?: () => T): T | EnteredScope<void> {
    return body ? this.asDefault(() => device(spec, body)) : this.entered(() => device(spec));
  }
  /** `tf.controlDependencies` in this graph. */
  controlDependencies<T>(inputs: readonly (ControlInput | null)[] | null, body: () => T): T;
  controlDependencies(inputs: readonly (ControlInput | null)[] | null): EnteredScope<void>;
  controlDependencies<T>(inputs: readonly (ControlInput | null)[] | null, body?: () => T): T | EnteredScope<void> {
    if (body) return this.asDefault(() => controlDependencies(inputs, body));
    return this.entered(() => controlDependencies(inputs));
  }
  /** `tf.colocateWith` in this graph. */
  colocateWith<T>(target: ControlInput, body: () => T, options?: ColocationOptions): T;
  colocateWith(target: ControlInput): EnteredScope<void>;
  colocateWith<T>(target: ControlInput, body?: () => T, options?: ColocationOptions): T | EnteredScope<void> {
    if (body) return this.asDefault(() => colocateWith(target, body, options));
    return this.entered(() => colocateWith(target));
  }

  /** A name not taken yet in the current name scope. */
  uniqueName(name: string, markAsUsed = true): string {
    const context = currentContext();
    return this.names.unique(context.graph === this ? context.scope : '', name, markAsUsed);
  }

  /** No operation can be added afterwards. */
  finalize(): void {
    this.finalized = true;
  }
  get isFinalized(): boolean {
    return this.finalized;
  }
  /** Takes `finalize` back: for whoever finalized a graph of somebody else's while using it. */
  unfinalize(): void {
    this.finalized = false;
  }

  getOperations(): readonly Operation[] {
    return this.operations;
  }

  /** The operation of that name. */
  getOperationByName(name: string): Operation {
    const op = this.byName.get(name);
    if (op) return op;
    if (name.includes(':'))
      throw userError(`Name '${name}' appears to refer to a Tensor, not a Operation; use getTensorByName.`);
    throw userError(`The name '${name}' refers to an Operation not in the graph.`);
  }

  /** The tensor of a name such as `MatMul:0`. */
  getTensorByName(name: string): Tensor {
    const match = /^(.*):(\d+)$/.exec(name);
    if (!match) {
      const problem = name.includes(':')
        ? 'looks a like a Tensor name, but is not a valid one.'
        : this.byName.has(name)
          ? 'refers to an Operation, not a Tensor.'
          : 'looks like an (invalid) Operation name, not a Tensor.';
      throw userError(`The name '${name}' ${problem} Tensor names must be of the form "<op_name>:<output_index>".`);
    }
    const op = this.byName.get(match[1]!);
    if (!op)
      throw userError(
        `The name '${name}' refers to a Tensor which does not exist. The operation, '${match[1]}', does not exist in the graph.`,
      );
    const tensor = op.outputs[Number(match[2])];
    if (!tensor)
      throw userError(
        `The name '${name}' refers to a Tensor which does not exist. The operation, '${op.name}', exists but only has ${op.outputs.length} outputs.`,
      );
    return tensor;
  }

  /** The tensor or operation that a name or object stands for, which must belong to this graph. */
  asGraphElement(element: string | Tensor | Operation | { asGraphElement(): Tensor | Operation }): Tensor | Operation {
    if (typeof element === 'string')
      return element.includes(':') ? this.getTensorByName(element) : this.getOperationByName(element);
    const value = element instanceof Tensor || element instanceof Operation ? element : element.asGraphElement();
    if (value.graph !== this) throw userError(`${value} is not an element of this graph.`);
    return value;
  }

  addToCollection(name: string, value: unknown): void {
    this.getCollectionRef(name).push(value);
  }
  addToCollections(names: readonly string[], value: unknown): void {
    for (const name of new Set(names)) this.addToCollection(name, value);
  }
  /** The live list behind a collection. */
  getCollectionRef(name: string): unknown[] {
    let list = this.collections.get(name);
    if (!list) this.collections.set(name, (list = []));
    return list;
  }
  /** A copy of the collection; with `scope`, only items whose name begins with a match of that regular expression. */
  getCollection(name: string, given?: ScopeArgument): unknown[] {
    const items = [...(this.collections.get(name) ?? [])];
    const { scope } = onlyOptions('getCollection', withArgument<ScopeOption, 'scope'>('scope', given, {}), 'scope');
    if (!scope) return items;
    const pattern = new RegExp(`^(?:${scope})`);
    return items.filter((item) => {
      const itemName = (item as { name?: unknown }).name; // collections hold anything
      return typeof itemName === 'string' && pattern.test(itemName);
    });
  }
  getAllCollectionKeys(): string[] {
    return [...this.collections.keys()];
  }
  clearCollection(name: string): void {
    this.collections.delete(name);
  }

  toString(): string {
    return `<tf.Graph of ${this.operations.length} operations>`;
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/** Adds the op's name and the user's line to an error that is about a whole operation. */
function located(error: unknown, type: string, name: string, site: CallSite): unknown {
  if (!(error instanceof OpError) || error.node !== undefined) return error;
  const createdAt = site.location;
  const where = createdAt === undefined ? '' : `\n  created at ${createdAt}`;
  return error.extended(`${type} '${name}': ${error.text}${where}`, { node: name, op: type, createdAt });
}

const emptyScopes = {
  scope: '',
  control: [],
  devices: [],
  colocation: [],
  container: '',
  gradientOverrides: {},
} satisfies Partial<Context>;

let globalContext: Context = { ...emptyScopes, graph: new Graph(), extras: new Map() };
setBaseContext(() => globalContext);

/** What `body` makes counts as made at the user's line that runs now, which is looked for once and not at each operation. */
export function fromOnePlace<T>(body: () => T): T {
  return withContext({ site: getDefaultGraph().callSite() }, body);
}

/** The graph that operations are added to now. */
export function getDefaultGraph(): Graph {
  return currentContext().graph;
}

/**
 * The graph that an operation over these tensors is added to: theirs, even where another one is the default; but inside a
 * function everything belongs to the function.
 */
export function graphFor(tensors: readonly Tensor[]): Graph {
  const current = getDefaultGraph();
  const owner = tensors[0]?.graph;
  return current.outer || !owner || owner.outer ? current : owner;
}

/** Starts over with an empty default graph. */
export function resetDefaultGraph(): void {
  globalContext = { ...emptyScopes, graph: new Graph(), extras: new Map() };
}

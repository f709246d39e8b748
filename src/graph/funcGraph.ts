/** @file FuncGraph: the body of a function while it is built; what it uses of the graphs around it becomes arguments. */
import type { DType } from '../core/dtypes.ts';
import type { Dims } from '../core/shape.ts';
import type { AttrValue } from '../proto/attr.ts';
import { shapeToProto } from '../proto/tensorProto.ts';
import { type Context, currentContext, withContext } from './context.ts';
import { orderEffects } from './effects.ts';
import { type CreateOp, Graph } from './graph.ts';
import type { Operation } from './operation.ts';
import { nameScope } from './scopes.ts';
import type { Tensor } from './tensor.ts';

/** Collections of variables, which outlive the function that makes them. */
const variableCollections = ['variables', 'local_variables', 'trainable_variables'];

export interface FuncGraphOptions {
  /** The graph that the function is called from; the default graph unless given. */
  readonly outer?: Graph;
  /** Stateful operations run in the order they are made; as outside, unless said. */
  readonly ordersEffects?: boolean;
  /** The body is the step of a loop: what its gradient needs is kept once for each time it runs. */
  readonly isStep?: boolean;
  /** Keeps what the body adds to collections, other than variables, to itself. */
  readonly ownCollections?: boolean;
}

export interface Argument {
  readonly dtype: DType;
  readonly shape: Dims;
  readonly name?: string | undefined;
  /** The tensor outside that the argument is made for. */
  readonly standsFor?: Tensor | undefined;
}

/** The body of a function. Its arguments are `Placeholder`s: the declared ones, then one for each captured tensor. */
export class FuncGraph extends Graph {
  inputs: Tensor[] = [];
  outputs: Tensor[] = [];
  /** Operations that must have run when a call is done. */
  controlOutputs: Operation[] = [];
  /** Operations outside that the body waits for. */
  readonly controlCaptures = new Set<Operation>();
  override readonly ordersEffects: boolean;
  readonly isStep: boolean;
  /** The value of `rewrites` when the body was last added to the library. */
  registeredRewrites = 0;
  private captured = new Map<Tensor, Tensor>();
  private readonly around: Graph;

  constructor(
    public name: string,
    options: FuncGraphOptions = {},
  ) {
    const outer = options.outer ?? currentContext().graph;
    const shared = outer.sharedParts;
    super(options.ownCollections ? { ...shared, collections: onlyVariables(shared.collections) } : shared);
    this.around = outer;
    this.ordersEffects = options.ordersEffects ?? outer.ordersEffects;
    this.isStep = options.isStep ?? false;
    this.seed = outer.seed;
  }

  override get outer(): Graph {
    return this.around;
  }

  /** Devices are chosen where the function is called, unless a device function wants to see every operation. */
  protected override scopesFrom(now: Context): Partial<Context> {
    const scopes = super.scopesFrom(now);
    const keeps = now.graph !== this && now.devices.some((frame) => typeof frame === 'function');
    return keeps ? { ...scopes, devices: now.devices } : scopes;
  }

  /** Adds an argument, before anything is captured. */
  addArgument({ dtype, shape, name, standsFor }: Argument): Tensor {
    const argument = this.placeholder(dtype, shape, name, standsFor);
    this.inputs.push(argument);
    return argument;
  }

  private placeholder(dtype: DType, shape: Dims, name: string | undefined, standsFor: Tensor | undefined): Tensor {
    const attrs: Record<string, AttrValue> = { dtype: { type: dtype.number }, shape: { shape: shapeToProto(shape) } };
    if (name !== undefined) attrs['_user_specified_name'] = { s: new TextEncoder().encode(name) };
    const make = () => super.createOp({ type: 'Placeholder', inputs: [], attrs, name: name ?? 'Placeholder' });
    const argument = this.asDefault(() => withContext({ control: [], colocation: [] }, make)).outputs[0]!;
    argument.standsFor = standsFor;
    return argument;
  }

  /** The tensors outside that the body uses, and the arguments that stand for them, in the same order. */
  get externalCaptures(): Tensor[] {
    return [...this.captured.keys()];
  }
  get internalCaptures(): Tensor[] {
    return [...this.captured.values()];
  }

  /** The argument that stands for a tensor outside, if the body uses it. */
  argumentFor(external: Tensor): Tensor | undefined {
    return this.captured.get(external);
  }

  /** The tensor outside that an argument was captured from. */
  capturedFrom(argument: Tensor): Tensor | undefined {
    return argument.standsFor && this.captured.get(argument.standsFor) === argument ? argument.standsFor : undefined;
  }

  override capture(tensor: Tensor): Tensor {
    if (tensor.graph === this) return tensor;
    if (!this.maySee(tensor.graph)) this.checkOwn(tensor);
    return this.captureDirectly(tensor);
  }

  override maySee(graph: Graph): boolean {
    return graph === this || this.outer.maySee(graph);
  }

  /** One argument for each tensor, however often it is used. */
  protected captureDirectly(tensor: Tensor, name = tensor.op.name): Tensor {
    const known = this.captured.get(tensor);
    if (known) return known;
    const argument = this.placeholder(tensor.dtype, tensor.shape, name, tensor);
    this.addCapture(tensor, argument);
    return argument;
  }

  /** Takes an argument made elsewhere for a tensor outside. */
  addCapture(external: Tensor, argument: Tensor): void {
    argument.standsFor = external;
    this.captured.set(external, argument);
    this.inputs.push(argument);
  }

  /** Replaces all arguments by these, each captured from the tensor at its position. */
  resetCaptures(external: readonly Tensor[], inputs: readonly Tensor[]): void {
    this.inputs = [...inputs];
    this.captured = new Map(external.map((tensor, i) => [tensor, inputs[i]!]));
    for (const [tensor, argument] of this.captured) argument.standsFor = tensor;
  }

  override captureControl(op: Operation): Operation | undefined {
    if (op.graph === this) return op;
    this.controlCaptures.add(op);
    return undefined;
  }

  /** Inputs from outside are captured in the operation's own name scope, as Python names them. */
  override createOp(spec: CreateOp): Operation {
    if (spec.inputs.every((t) => t.graph === this)) return super.createOp(spec);
    return this.asDefault(() => {
      const name = spec.name ?? spec.type;
      const scope = name.endsWith('/') ? name : `${this.uniqueName(name)}/`;
      const inputs = nameScope(scope, () => spec.inputs.map((t) => (this.maySee(t.graph) ? this.capture(t) : t)));
      return super.createOp({ ...spec, inputs, name: scope });
    });
  }

  /** Ends the building: `returned` are the results, which come after every effect where effects are ordered. */
  finish(returned: readonly Tensor[]): void {
    this.outputs = returned.map((t) => this.capture(t));
    if (this.ordersEffects) this.controlOutputs = orderEffects(this, this.outputs);
  }

  override toString(): string {
    return `function '${this.name}'`;
  }
}

function onlyVariables(outer: ReadonlyMap<string, unknown[]>): Map<string, unknown[]> {
  const own = new Map<string, unknown[]>();
  for (const [name, list] of outer) own.set(name, variableCollections.includes(name) ? list : [...list]);
  return own;
}

/**
 * Runs `body` outside all functions, in the graph around them and without control dependencies: where variables are made,
 * for a function is run many times and its variables are made once.
 */
export function initScope<T>(body: () => T): T {
  const { graph, scope, devices } = currentContext();
  const free = () => withContext({ control: [] }, body);
  if (!graph.outer) return free();
  return graph.outermost.asDefault(() =>
    nameScope(scope === '' ? null : `${scope}/`, () => (devices.length > 0 ? withContext({ devices }, free) : free())),
  );
}

/** The function bodies that operations were made with, by attribute; those of imported operations are read back. */
const bodies = new WeakMap<Operation, Map<string, FuncGraph>>();

/** Remembers the body behind a function attribute, for gradients. `index` counts within a list of functions. */
export function setBody(op: Operation, attribute: string, body: FuncGraph, index = 0): void {
  let known = bodies.get(op);
  if (!known) bodies.set(op, (known = new Map()));
  known.set(`${attribute}:${index}`, body);
}

export function findBody(op: Operation, attribute: string, index = 0): FuncGraph | undefined {
  return bodies.get(op)?.get(`${attribute}:${index}`);
}

/** The name that a function of a control flow operation gets: unique, and like Python's. */
export function functionName(scope: string, part: string): string {
  return `${scope}${part}_${currentContext().graph.uid()}`.replaceAll('/', '_');
}

export function gradientName(forward: string): string {
  const { graph } = currentContext();
  for (;;) {
    const name = `${forward}_grad_${graph.uid()}`;
    if (!graph.functions.has(name)) return name;
  }
}

/** The name of a function that was made to give more results; other calls may use the function as it was. */
export function rewrittenName({ name, functions }: FuncGraph): string {
  const plain = `${name}_rewritten`;
  let free = plain;
  for (let i = 1; functions.has(free); i++) free = `${plain}_${i}`;
  return free;
}

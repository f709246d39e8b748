/** @file The engine: holds a graph and its state, prepares (feeds, fetches, targets) once, and replays what was traced. */

import type { CancelSignal } from '../core/cancelSignal.ts';
import { FailedPreconditionError, InvalidArgumentError } from '../core/errors.ts';
import { finish, inTurns, type Work, yieldIfLong } from '../core/eventLoop.ts';
import type { NDArray } from '../core/ndarray.ts';
import { sameShape } from '../core/shape.ts';
import type { Device } from '../devices/device.ts';
import type { HostCall, RunScope } from '../program/instructions.ts';
import type { GraphContent, HostFunction } from '../program/tracing.ts';
import type { FunctionDef, GradientDef, NodeDef } from '../proto/graph.ts';
import { Dataflow } from './dataflow.ts';
import { hasFrames } from './frames.ts';
import { Body, FunctionLibrary } from './functions.ts';
import { hostLoop } from './loop.ts';
import { endsInFailure, Frame, type Path, replay } from './program.ts';
import { NodeStates, Reference, type ResourceManager } from './resources.ts';
import { Run } from './run.ts';
import { functionsIn, type Port, prune, RunGraph, type RunNode } from './runGraph.ts';
import { type Changed, type Piece, type Simplified, simplify } from './simplify.ts';
import type { Guards } from './surroundings.ts';
import { Trace } from './tracer.ts';

export interface EngineRun {
  /** The caller's wish to stop. */
  readonly signal?: CancelSignal | undefined;
  /** Milliseconds the run may take. */
  readonly timeout?: number | undefined;
  /** What the steps share; a run within a run uses the outer one's. It is stopped when the session closes. */
  readonly run?: Run | undefined;
  /** Whether the results are the caller's alone, who may give them back. */
  readonly lends?: boolean;
}

/** A traced program and the conditions under which it holds. */
interface Program {
  readonly guards: Guards;
  readonly constants: readonly object[];
  readonly path: Path;
}

/** So many programs are kept for feeds of the same shapes. */
const maxPrograms = 32;
/** For so many shapes of the feeds programs are kept. */
const maxShapes = 256;
/** With so many, loops are no longer unrolled for one more value of a fed bound. */
const maxBounds = 8;

/** One (feeds, fetches, targets) combination of a graph, prepared to be run again and again. */
export interface Executable {
  /** The nodes as the graph has them. */
  readonly source: readonly RunNode[];
  /** Runs with these feeds, in the order of the prepared ones; gives the fetches in order. */
  run(feeds: readonly NDArray[], options?: EngineRun): Promise<NDArray[]>;
  /** What ran, once there was a run. */
  readonly ran: Changed;
}

/** Runs by programs, with those traced so far. */
class TracedExecutable implements Executable {
  private readonly programs = new Map<string, Program[]>();
  /** What really runs, once the first run has simplified it. */
  private simplified: Simplified | undefined;
  private body: Body | undefined;
  constructor(
    private readonly engine: Engine,
    readonly source: readonly RunNode[],
    readonly feeds: readonly Port[],
    private readonly work: Work<Simplified>,
    private readonly options: {
      readonly callPath?: string;
      readonly keepsReferences?: boolean;
      readonly own?: OwnCalls;
    } = {},
  ) {}

  async run(feeds: readonly NDArray[], options: EngineRun = {}): Promise<NDArray[]> {
    const pause = yieldIfLong();
    if (pause) await pause;
    this.engine.throwIfClosed();
    const key = this.checkFeeds(feeds);
    const run = options.run ?? new Run();
    const frame = new Frame(this.engine.device, run);
    await frame.feed(feeds);
    // From here to the first step nobody else has a turn: variables have the shapes that the program relies on.
    let program = this.find(key, feeds);
    while (!program) {
      const traced = await this.trace(key, feeds);
      if (holds(traced.guards, feeds)) program = traced;
    }
    frame.constants = program.constants;
    const end = run.stop.listen(options.signal, options.timeout);
    try {
      return await replay(program.path, frame, options.lends);
    } finally {
      end();
    }
  }

  get ran(): Changed {
    return this.simplified!; // it has run
  }

  private checkFeeds(feeds: readonly NDArray[]): string {
    let key = '';
    for (const [i, array] of feeds.entries()) {
      const { node, index } = this.feeds[i]!;
      const wanted = node.outputs[index]!.dtype;
      if (array.dtype !== wanted && !Reference.in(array))
        throw new InvalidArgumentError(
          `Tensor ${node.name}:${index}, specified in either feed_devices or fetch_devices was fed a ${array.dtype.runtimeName} value, but it is ${wanted.runtimeName}.`,
          { node: node.name },
        );
      key += `${array.shape.join()};`;
    }
    return key;
  }

  private async simplify(): Promise<Body> {
    // Another run may have done some of it, or all.
    this.simplifying ??= inTurns(this.work);
    this.simplified = await this.simplifying;
    const { nodes, fetches, targets } = this.simplified;
    return new Body('', nodes, this.feeds, fetches, targets);
  }
  private simplifying: Promise<Simplified> | undefined;

  private find(key: string, feeds: readonly NDArray[]): Program | undefined {
    const list = this.programs.get(key);
    if (list && this.programs.size >= maxShapes) this.keep(key, list);
    return list?.find(({ guards }) => holds(guards, feeds));
  }

  /** Keeps programs behind all others, of which the first have to make room. */
  private keep(key: string, list: Program[]): void {
    this.programs.delete(key);
    if (this.programs.size >= maxShapes) this.programs.delete(this.programs.keys().next().value!);
    this.programs.set(key, list);
  }

  private async trace(key: string, feeds: readonly NDArray[]): Promise<Program> {
    const { device, resources, nodeStates, container, functions } = this.engine;
    const own = this.options.own ?? this.engine.own;
    const trace = new Trace({
      body: (this.body ??= await this.simplify()),
      feedArrays: feeds,
      device,
      resources,
      nodeStates,
      generators: own.generators,
      functions,
      defaultContainer: container,
      callPath: this.options.callPath ?? '',
      keepsReferences: this.options.keepsReferences ?? false,
      looksAtBounds: (this.programs.get(key)?.length ?? 0) < maxBounds,
      atOnce: this.engine.atOnce,
      loop: (cond, body, path) => this.engine.loop(cond, body, path, own),
      runner: (body, path) => this.engine.call(body, path, own),
      graph: (content, output) => this.engine.otherGraph(content, output),
    });
    const path = await trace.start();
    const program = { guards: trace.guards, constants: trace.constants, path };
    if (endsInFailure(path)) return program;
    const list = this.programs.get(key) ?? [];
    // A value that differs at every run would otherwise pile up programs.
    if (list.length >= maxPrograms) list.shift();
    this.keep(key, [...list, program]);
    return program;
  }
}

function holds({ variables, feeds: known }: Guards, feeds: readonly NDArray[]): boolean {
  for (const [variable, shape] of variables) if (!variable.shape || !sameShape(variable.shape, shape)) return false;
  for (const [i, array] of known) if (!feeds[i]!.equals(array)) return false;
  return true;
}

/** The random generators of a session's nodes, or of one owner's, and the loops and functions that are run with them. */
class OwnCalls {
  /** By where they are called. */
  readonly loops = new Map<string, HostCall>();
  readonly calls = new Map<string, HostFunction>();
  constructor(readonly generators: NodeStates) {}
}

/** A session's running half. */
export class Engine {
  readonly functions: FunctionLibrary;
  graph: RunGraph;
  readonly nodeStates: NodeStates;
  private readonly executables = new Map<string, Executable>();
  readonly own: OwnCalls;
  private readonly byOwner = new WeakMap<object, OwnCalls>();
  private closed = false;

  constructor(
    readonly device: Device,
    readonly resources: ResourceManager,
    private readonly options: {
      readonly simplify?: boolean;
      readonly container?: string;
      /** Whether nodes between branches and loops become one program; without it they run one by one. */
      readonly joinsNodes?: boolean;
      /** How many instructions may share the device's threads; 0 leaves it to the planner, less means one. */
      readonly atOnce?: number | undefined;
    } = {},
  ) {
    this.nodeStates = new NodeStates(device, resources);
    this.own = new OwnCalls(this.nodeStates);
    this.functions = new FunctionLibrary(options.simplify ?? true);
    this.graph = new RunGraph(this.functions.findOp, this.functions.mayWait);
  }

  get container(): string {
    return this.options.container ?? 'localhost';
  }

  get atOnce(): number | undefined {
    const { atOnce = 0 } = this.options;
    return atOnce < 0 ? 1 : atOnce || undefined;
  }

  extend(defs: readonly NodeDef[], functions: Iterable<FunctionDef> = [], gradients: Iterable<GradientDef> = []): void {
    finish(this.extending(defs, functions, gradients));
  }

  /** `extend`, for graphs so large that it must be interrupted. */
  *extending(
    defs: readonly NodeDef[],
    functions: Iterable<FunctionDef> = [],
    gradients: Iterable<GradientDef> = [],
  ): Work {
    this.throwIfClosed();
    this.functions.add(functions, gradients);
    yield* this.graph.extending(defs);
  }

  /** Begins with an empty graph; variables and what was prepared before stay as they are. */
  forgetGraph(): void {
    this.graph = new RunGraph(this.functions.findOp, this.functions.mayWait);
    this.executables.clear();
  }

  /** What is needed to run these fetches and targets from these feeds; names as in `x:0` and `train_op`. */
  prepare(feeds: readonly string[], fetches: readonly string[], targets: readonly string[]): Executable {
    this.throwIfClosed();
    const key = `${feeds.join()}|${fetches.join()}|${targets.join()}`;
    let found = this.executables.get(key);
    if (!found) {
      const fed = feeds.map((name) => this.graph.port(name, 'FeedInputs'));
      const wanted = fetches.map((name) => this.graph.port(name, 'FetchOutputs'));
      const names = new Set(feeds);
      const isFed = (p: Port) => names.has(`${p.node.name}:${p.index}`);
      const fetched = wanted.filter((p) => !isFed(p)).map((p) => p.node);
      const asked = targets.map((name) => this.graph.target(name));
      // Who fetches from a branch or a loop itself, and not from a node behind it, asks for all that it does.
      const whole = [...asked, ...fetched.filter(({ rawAttrs }) => [...functionsIn(rawAttrs)].length > 0)];
      found = this.executable(prune([...fetched, ...asked], isFed), fed, wanted, whole);
      this.executables.set(key, found);
    }
    return found;
  }

  /** Like `prepare`, for exactly these nodes: what they read from elsewhere must be fed. */
  prepareNodes(nodes: readonly RunNode[], feeds: readonly string[], fetches: readonly string[]): Executable {
    const fed = feeds.map((name) => this.graph.port(name, 'FeedInputs'));
    return this.executable(
      nodes,
      fed,
      fetches.map((name) => this.graph.port(name, 'FetchOutputs')),
      nodes,
    );
  }

  private executable(
    nodes: readonly RunNode[],
    feeds: readonly Port[],
    fetches: readonly Port[],
    targets: readonly RunNode[],
  ): Executable {
    const piece = { nodes, feeds, fetches, targets };
    if (!hasFrames(nodes)) return this.traced(piece);
    const prepare = (cluster: Piece) => this.traced(cluster, { keepsReferences: true });
    return new Dataflow(piece, this.device, prepare, this.options.joinsNodes);
  }

  private traced(piece: Piece, options: { keepsReferences?: boolean } = {}): TracedExecutable {
    const work = simplify(piece, this.options.simplify ?? true);
    return new TracedExecutable(this, piece.nodes, piece.feeds, work, options);
  }

  /** A loop that runs its body once per trip. The same loop in another program is the same. */
  loop(cond: Body, body: Body, callPath: string, own: OwnCalls): HostCall {
    const key = `${callPath}|${cond.name}|${body.name}${body.variant}`;
    let found = own.loops.get(key);
    if (!found) {
      found = hostLoop(cond, body, (each, suffix) => this.ofBody(each, callPath + suffix, own));
      own.loops.set(key, found);
    }
    return found;
  }

  /** A call of a function that is run by itself. */
  call(body: Body, callPath: string, own: OwnCalls): HostFunction {
    const key = `${callPath}|${body.name}${body.variant}`;
    let found = own.calls.get(key);
    if (!found) own.calls.set(key, (found = this.hostFunction(body, callPath, own)));
    return found;
  }

  /** Another graph that is run for one of its outputs; variables are the same. */
  otherGraph({ nodes, functions }: GraphContent, output: string): () => Promise<readonly NDArray[]> {
    const engine = new Engine(this.device, this.resources, this.options);
    engine.extend(nodes as readonly NodeDef[], functions as readonly FunctionDef[]); // what such messages hold
    const executable = engine.prepare([], [output], []);
    return () => executable.run([]);
  }

  private hostFunction(body: Body, callPath: string, own: OwnCalls): HostFunction {
    const executable = this.ofBody(body, callPath, own);
    const stateful = this.functions.statefulOps(body.name);
    const draws = stateful.some(({ effects }) => effects === 'draws');
    const call = (inputs: NDArray[], run?: RunScope) => executable.run(inputs, { run: run as Run | undefined }); // the runtime's own runs are the only ones
    const made: HostFunction = Object.assign(call, {
      unsavedOps: stateful.filter(({ isRepeatable }) => !isRepeatable).map(({ name }) => name),
      definitions: () => this.functions.definitions(body.name),
      ownedBy: (owner: object) => (draws ? this.call(body, callPath, this.ownOf(owner)) : made),
    });
    return made;
  }

  /** What belongs to one owner, as long as it is there. */
  private ownOf(owner: object): OwnCalls {
    let own = this.byOwner.get(owner);
    if (!own) this.byOwner.set(owner, (own = new OwnCalls(new NodeStates(this.device, this.resources))));
    return own;
  }

  /** A function's body, which is simplified already. */
  private ofBody({ nodes, args, results, targets }: Body, callPath: string, own: OwnCalls): Executable {
    const run = (piece: Piece, keepsReferences: boolean) =>
      new TracedExecutable(this, piece.nodes, piece.feeds, simplify(piece, false), { callPath, keepsReferences, own });
    const piece = { nodes, feeds: args, fetches: results, targets };
    if (!hasFrames(nodes)) return run(piece, false);
    return new Dataflow(piece, this.device, (cluster) => run(cluster, true), this.options.joinsNodes);
  }

  close(): void {
    this.closed = true;
    this.executables.clear();
    this.nodeStates.close();
  }

  throwIfClosed(): void {
    if (this.closed) throw new FailedPreconditionError('Session has been closed.');
  }
}

/** @file Session: runs parts of a graph, with feeds and fetches in whatever structure the user likes. */
import { InvalidArgumentError, OpError, UnimplementedError } from '../core/errors.ts';
import { finish, inTurns, type Work } from '../core/eventLoop.ts';
import type { NDArray } from '../core/ndarray.ts';
import { EnteredScope, enterContext, withContext } from '../graph/context.ts';
import { type BodyNode, type Graph, getDefaultGraph } from '../graph/graph.ts';
import { checkOptions, type OptionNames } from '../graph/options.ts';
import { setRunnerFactory } from '../graph/runner.ts';
import type { Tensor } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import type { GraphDef } from '../proto/graph.ts';
import {
  checkConfig,
  type RunCallOptions,
  RunOptions,
  runCallOptionNames,
  type SessionConfig,
  TraceLevel,
  wantsSimplifying,
} from './config.ts';
import { defaultSessionChange, forgetInteractiveSession, setInteractiveSession } from './defaultSession.ts';
import { type DeviceInfo, deviceInfos, openDevice } from './devices.ts';
import { Engine, type Executable } from './engine.ts';
import { type FeedKey, type Feeds, type FeedValue, feedArray, feedArrays, feedPairs, feedTensor } from './feeds.ts';
import { type Fetch, type Fetched, type FetchPlan, planFetches } from './fetches.ts';
import { FetchPlans } from './fetchPlans.ts';
import { PartialRun } from './partialRun.ts';
import { Placement } from './placement.ts';
import { ResourceManager } from './resources.ts';
import { Run } from './run.ts';
import { describeRun, StatsCollector } from './stepStats.ts';
import { StopToken } from './stop.ts';

export interface SessionOptions {
  readonly graph?: Graph;
  readonly config?: SessionConfig;
  /** The server to run on. Only this process can be used so far, which is the empty target. */
  readonly target?: string;
}
const sessionOptionNames: OptionNames<SessionOptions> = { graph: true, config: true, target: true };

export interface CallableOptions {
  /** The tensors that the callable's arguments stand for, in order. */
  readonly feedList?: readonly FeedKey[];
}
const callableOptionNames: OptionNames<CallableOptions> = { feedList: true };

/** A fetch, and what runs it with each set of feeds. */
interface Planned {
  readonly plan: FetchPlan;
  readonly executables: Map<string, Executable>;
}

/**
 * Runs operations and evaluates tensors of one graph.
 *
 * @example
 * const sess = new tf.Session();
 * await sess.run(tf.add(1, 2)); // 3
 */
export class Session implements Disposable, AsyncDisposable {
  readonly graph: Graph;
  readonly config: SessionConfig;
  private readonly engine: Engine;
  private readonly placement: Placement;
  /** How many of the graph's operations and functions the engine has, or is being given by `sending`. */
  private sent = { operations: 0, functions: 0, rewrites: 0 };
  private sending: Work | undefined;
  private readonly plans = new FetchPlans<Planned>();
  private readonly running = new Set<StopToken>();

  constructor(options: SessionOptions = {}) {
    checkOptions('tf.Session', options, sessionOptionNames);
    if (options.config) checkConfig(options.config);
    if (options.target)
      throw new UnimplementedError(
        `A session cannot run on '${options.target}' yet: only on this process, which is the target ''. Leave target out.`,
      );
    this.graph = options.graph ?? getDefaultGraph();
    this.config = options.config ?? {};
    const resources = new ResourceManager();
    this.engine = new Engine(openDevice(this.config), resources, {
      simplify: wantsSimplifying(this.config),
      atOnce: this.config.interOpParallelismThreads,
    });
    const names = this.listDevices().map((device) => device.name);
    this.placement = new Placement(names, this.config.allowSoftPlacement ?? false);
    live.add(new WeakRef(this));
  }

  /** Evaluates `fetches`, in whatever structure they come, with some tensors replaced by `feeds`. */
  async run<const F extends Fetch>(fetches: F, feeds?: Feeds, options: RunCallOptions = {}): Promise<Fetched<F>> {
    checkOptions('run', options, runCallOptionNames);
    const { plan, executables } = this.planned(fetches);
    const pairs = feedPairs(feeds, this.graph);
    const tensors = pairs.map(([tensor]) => tensor);
    const values = pairs.map(([, value]) => value);
    const given = feedArrays(tensors, values); // now, while the caller's line is known
    const stop = new StopToken();
    const arrays = given instanceof Promise ? await this.waitFor(given, stop) : given;
    const unsent = this.unsent();
    if (unsent) await this.waitFor(inTurns(unsent), stop);
    const executable = this.executable(plan, tensors, executables);
    const results = await this.execute(executable, arrays, options, stop);
    return plan.assemble(results) as Fetched<F>; // the plan mirrors the structure that Fetched describes
  }

  /** A function that runs the same fetches again and again; its arguments are the feeds, in order. */
  makeCallable<const F extends Fetch>(
    fetches: F,
    feeds: readonly FeedKey[] | CallableOptions = [],
  ): (...values: FeedValue[]) => Promise<Fetched<F>> {
    if (!('length' in feeds)) checkOptions('makeCallable', feeds, callableOptionNames);
    const { plan, executables } = this.planned(fetches);
    const feedList = 'length' in feeds ? feeds : (feeds.feedList ?? []);
    const tensors = feedList.map((key) => feedTensor(key, this.graph));
    const executable = this.executable(plan, tensors, executables);
    return async (...values) => {
      if (values.length !== tensors.length)
        throw new InvalidArgumentError(`this callable takes ${tensors.length} feeds, but ${values.length} were given`);
      const stop = new StopToken();
      const given = feedArrays(tensors, values);
      const arrays = given instanceof Promise ? await this.waitFor(given, stop) : given;
      const results = await this.execute(executable, arrays, {}, stop);
      return plan.assemble(results) as Fetched<F>; // as in run
    };
  }

  /** Announces a run in several pieces: all feeds and fetches that its `partialRun` calls will use. */
  partialRunSetup(fetches: Fetch, feeds: readonly FeedKey[] = []): PartialRun {
    const plan = planFetches(fetches, this.graph);
    this.sendNow();
    const fed = feeds.map((key) => feedTensor(key, this.graph).name);
    const tensors = plan.tensors.map((t) => t.name);
    const targets = plan.targets.map((op) => op.name);
    this.place(this.engine.prepare(fed, tensors, targets));
    return new PartialRun(this.engine, fed, tensors, targets);
  }

  /** Continues a run in pieces: feeds more, fetches more; each once. */
  async partialRun<const F extends Fetch>(handle: PartialRun, fetches: F, feeds?: Feeds): Promise<Fetched<F>> {
    if (!(handle instanceof PartialRun))
      throw userError(
        `The handle is ${typeof handle === 'string' ? `'${handle}'` : String(handle)}, which is no partial run. Get one from sess.partialRunSetup(fetches, feeds).`,
      );
    const plan = planFetches(fetches, this.graph);
    const pairs = feedPairs(feeds, this.graph).map(([t, v]) => [t.name, feedArray(t, v)] as const);
    const results = await handle
      .run(
        new Map(pairs),
        plan.tensors.map((t) => t.name),
        plan.targets.map((op) => op.name),
      )
      .catch((error: unknown) => {
        throw this.withSite(error);
      });
    return plan.assemble(results) as Fetched<F>; // as in run
  }

  /** The graph as it is now, as a message. */
  get graphDef(): GraphDef {
    return this.graph.asGraphDef();
  }

  /** The devices this session can use. */
  listDevices(): DeviceInfo[] {
    return deviceInfos(this.engine.device, this.config);
  }

  /** Makes this the default session for `body` (and its graph the default graph), or until the end of a `using` block. */
  asDefault<T>(body: (session: this) => T): T;
  asDefault(): EnteredScope<this>;
  asDefault<T>(body?: (session: this) => T): T | EnteredScope<this> {
    if (body) return this.graph.asDefault(() => withContext(defaultSessionChange(this), () => body(this)));
    const graph = this.graph.asDefault();
    const leave = enterContext(defaultSessionChange(this));
    return new EnteredScope<this>(this, () => {
      leave();
      graph[Symbol.dispose]();
    });
  }

  /** Frees the session. Runs still going on are cancelled; later ones reject. */
  close(): void {
    for (const stop of this.running) stop.stop();
    this.engine.close();
    forgetInteractiveSession(this);
  }
  [Symbol.dispose](): void {
    this.close();
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  /** Clears variables and other resources of every open session in this process, or of some containers. */
  static reset(containers: readonly string[] = []): void {
    for (const ref of live) {
      const session = ref.deref();
      if (!session) live.delete(ref);
      else {
        session.engine.resources.clear(containers);
        session.close();
      }
    }
  }

  private planned(fetches: unknown): Planned {
    let found = this.plans.find(fetches);
    if (!found) {
      found = { plan: planFetches(fetches, this.graph), executables: new Map() };
      this.plans.remember(fetches, found);
    }
    return found;
  }

  private executable(plan: FetchPlan, fed: readonly Tensor[], cache: Map<string, Executable>): Executable {
    this.sendNow();
    const names = fed.map((t) => t.name);
    const key = names.join();
    let found = cache.get(key);
    if (!found) {
      found = this.engine.prepare(
        names,
        plan.tensors.map((t) => t.name),
        plan.targets.map((op) => op.name),
      );
      this.place(found);
      cache.set(key, found);
    }
    return found;
  }

  /** Refuses nodes whose device is not there, and tells where each node goes when the user wants to know. */
  private place({ source }: Executable): void {
    try {
      this.placement.check(source);
    } catch (error) {
      throw this.withSite(error);
    }
    if (this.config.logDevicePlacement)
      for (const { name, def, device } of source)
        process.stderr.write(`${name}: (${def.name}): ${this.placement.deviceFor(device)}\n`);
  }

  /** What the engine must still be given before a run; nothing when it has everything. */
  private unsent(): Work | undefined {
    const { operations, rewrites } = this.graph;
    // Functions go along with the operations that call them.
    if (this.sent.operations !== operations.length || this.sent.rewrites !== rewrites) {
      if (this.sending) finish(this.sending);
      this.sending = this.send();
    }
    return this.sending;
  }

  /** Waits for what a run needs; the run may be stopped meanwhile. */
  private async waitFor<T>(needed: Promise<T>, stop: StopToken): Promise<T> {
    this.running.add(stop);
    try {
      const result = await needed;
      stop.throwIfStopped();
      return result;
    } finally {
      this.running.delete(stop);
    }
  }

  private sendNow(): void {
    const unsent = this.unsent();
    if (unsent) finish(unsent);
  }

  private *send(): Work {
    const { operations, functions, rewrites } = this.graph;
    if (this.sent.rewrites !== rewrites && this.sent.operations > 0) this.forgetGraph();
    const before = this.sent;
    this.sent = { operations: operations.length, functions: functions.size, rewrites };
    try {
      yield* this.engine.extending(
        operations.slice(before.operations).map((op) => op.nodeDef),
        [...functions.values()].slice(before.functions),
        this.graph.functionGradients,
      );
    } catch (error) {
      this.sent = before;
      throw error;
    } finally {
      this.sending = undefined;
    }
  }

  /** Operations that the engine has already were changed, by a gradient or an edit: it gets all again. Variables stay. */
  private forgetGraph(): void {
    this.engine.forgetGraph();
    // A run that looked up its plan before this goes on with it, so what was prepared for it must go too.
    for (const { executables } of this.plans.values()) executables.clear();
    this.plans.clear();
    this.sent = { operations: 0, functions: 0, rewrites: this.sent.rewrites };
  }

  private async execute(
    executable: Executable,
    arrays: readonly NDArray[],
    call: RunCallOptions,
    stop = new StopToken(),
  ): Promise<NDArray[]> {
    const options = call.options instanceof RunOptions ? call.options : call.options && new RunOptions(call.options);
    const wantsTimes = (options?.traceLevel ?? 0) > TraceLevel.NO_TRACE;
    const stats = call.runMetadata && new StatsCollector(wantsTimes);
    const timeout = options?.timeoutInMs || this.config.operationTimeoutInMs;
    const run = new Run(stop, stats);
    this.running.add(stop);
    try {
      const results = await executable.run(arrays, { run, signal: call.signal, timeout, lends: true });
      if (call.runMetadata) describeRun(executable.ran, call.runMetadata, this.placement, stats);
      return results;
    } catch (error) {
      // A run that was stopped may fail for what its stop did, such as a closed engine; the stop is the reason.
      throw this.withSite(stop.reason ?? error);
    } finally {
      this.running.delete(stop);
    }
  }

  /** Adds to a run-time error the kind of its node and the user's line that made it. */
  private withSite(error: unknown): unknown {
    if (!(error instanceof OpError) || error.node === undefined || error.createdAt !== undefined) return error;
    const { node, op = 'node' } = error;
    const known = this.nodeNamed(node);
    const createdAt = known?.site?.location;
    const where = createdAt === undefined ? '' : `, created at ${createdAt}`;
    return error.extended(`${error.message}\n\t [[${known?.type ?? op} '${node}'${where}]]`, {
      op: known?.type ?? error.op,
      createdAt: createdAt ?? 'unknown',
    });
  }

  /** The node of the graph, or of one of its functions, that has this name; none where it is not clear which is meant. */
  private nodeNamed(name: string): BodyNode | undefined {
    const inside = this.graph.bodyNodes.get(name);
    if (!this.graph.has(name)) return inside ?? undefined;
    const op = this.graph.getOperationByName(name);
    return inside === undefined || (inside?.type === op.type && inside.site === op.site) ? op : undefined;
  }
}

setRunnerFactory((graph) => new Session({ graph }));

const live = new Set<WeakRef<Session>>();

/** A session that becomes the default when it is made, for scripts and notebooks. */
export class InteractiveSession extends Session {
  constructor(options: SessionOptions = {}) {
    super(options);
    setInteractiveSession(this);
  }
}

/** @file One session of a client on this server: its graph, what it has prepared, and the steps it is running. */
import {
  AbortedError,
  CancelledError,
  errorFromCode,
  FailedPreconditionError,
  InvalidArgumentError,
  OpError,
  UnimplementedError,
} from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import { checkDeprecation, checkVersions } from '../graph/import.ts';
import { schemaOf } from '../graph/opSchema.ts';
import type { CallableOptions, ConfigProto, RunMetadata, RunOptions } from '../proto/config.ts';
import type { FunctionDef, GraphDef } from '../proto/graph.ts';
import type { TensorProto } from '../proto/tensor.ts';
import { RunMetadata as RunReport } from '../runtime/config.ts';
import type { Device } from '../runtime/devices.ts';
import { Engine, type Executable } from '../runtime/engine.ts';
import { PartialRun } from '../runtime/partialRun.ts';
import { Placement } from '../runtime/placement.ts';
import type { ResourceManager } from '../runtime/resources.ts';
import { Run } from '../runtime/run.ts';
import { describeRun, StatsCollector } from '../runtime/stepStats.ts';
import { StopToken } from '../runtime/stop.ts';
import { costGraphProto, stepStatsProto } from './stepStatsProto.ts';
import { fromWire, toWire } from './tensors.ts';

const closedByClient = 'Step was cancelled by an explicit call to `Session::Close()`.';
const levelOff = -1;

/** What a step is asked to do, names as the client gives them. */
export interface Step {
  readonly feeds: ReadonlyMap<string, NDArray>;
  readonly fetches: readonly string[];
  readonly targets: readonly string[];
  readonly options: RunOptions | undefined;
  /** Fires when the client goes away or loses patience. */
  readonly signal: AbortSignal;
}

export interface StepResult {
  readonly values: readonly NDArray[];
  readonly metadata?: RunMetadata | undefined;
}

export interface SessionEnvironment {
  readonly device: Device;
  readonly resources: ResourceManager;
  readonly config: ConfigProto;
  /** `/job:local/replica:0/task:0` */
  readonly task: string;
  /** Full names of the devices of this task. */
  readonly deviceNames: readonly string[];
}

export class MasterSession {
  /** Milliseconds of the monotonic clock at the last request. */
  lastUsed = performance.now();
  private readonly engine: Engine;
  private readonly functions = new Map<string, FunctionDef>();
  private graphVersion = 0;
  private readonly callables = new Map<bigint, { executable: Executable; options: CallableOptions }>();
  private nextCallable = 1n;
  private readonly partialRuns = new Map<string, PartialRun>();
  private nextPartialRun = 0;
  private readonly running = new Set<StopToken>();
  private isClosed = false;
  /** For every device that is asked for, a node that asks. */
  private readonly placements = new Map<string, { readonly name: string; readonly device: string }>();
  private isPlaced = true;
  private readonly placement: Placement;
  /** How often each executable has run, where the client wants costs now and then. */
  private readonly steps = new WeakMap<Executable, number>();

  constructor(private readonly environment: SessionEnvironment) {
    const { device, resources, config } = environment;
    if (config.session_inter_op_thread_pool.length > 0)
      throw new InvalidArgumentError('Distributed session does not support session thread pool options.');
    this.engine = new Engine(device, resources, {
      simplify: wantsSimplifying(config),
      atOnce: config.inter_op_parallelism_threads,
    });
    this.placement = new Placement(environment.deviceNames, config.allow_soft_placement);
  }

  /** A tensor that the client sent. */
  read(tensor: TensorProto): NDArray {
    return fromWire(tensor, this.environment.resources);
  }

  /** A tensor for the client. */
  write(value: NDArray): TensorProto {
    return toWire(value, this.environment.deviceNames[0]!);
  }

  get isBusy(): boolean {
    return this.running.size > 0;
  }

  /** Adds nodes and functions; on any error nothing is added. */
  add(def: GraphDef): void {
    this.throwIfClosed();
    checkVersions(def.versions);
    const functions = new Map(this.functions);
    for (const added of def.library?.function ?? []) functions.set(added.signature?.name ?? '', added);
    const producer = def.versions?.producer ?? 0;
    for (const { op } of def.node) checkDeprecation(op, schemaOf(op, functions).deprecatedSince, producer);
    this.engine.extend(def.node, def.library?.function, def.library?.gradient);
    for (const node of def.node)
      if (node.device !== '' && !this.placements.has(node.device)) {
        this.placements.set(node.device, { name: node.name, device: node.device });
        this.isPlaced = false;
      }
    for (const [name, added] of functions) this.functions.set(name, added);
  }

  /** Adds to the graph of a client that believes it is at `version`; gives the new version. */
  extend(def: GraphDef, version: number): number {
    if (version !== this.graphVersion)
      throw new AbortedError(`Current version is ${this.graphVersion} but caller expected ${version}.`);
    this.add(def);
    return ++this.graphVersion;
  }

  async run(step: Step): Promise<StepResult> {
    const executable = this.prepare([...step.feeds.keys()], step.fetches, step.targets);
    return await this.execute(executable, [...step.feeds.values()], step.options, step.signal);
  }

  setUpPartialRun(feeds: readonly string[], fetches: readonly string[], targets: readonly string[]): string {
    this.prepare(feeds, fetches, targets);
    const handle = String(this.nextPartialRun++);
    this.partialRuns.set(handle, new PartialRun(this.engine, feeds, fetches, targets));
    return handle;
  }

  async runPartially(handle: string, step: Step): Promise<StepResult> {
    this.throwIfClosed();
    const partial = this.partialRuns.get(handle);
    if (!partial) throw new InvalidArgumentError('Must run PartialRunSetup before performing partial runs');
    let values: NDArray[];
    try {
      values = await this.whileOpen(partial.run(step.feeds, step.fetches, step.targets), step.signal);
    } catch (error) {
      throw this.located(error);
    }
    if (!partial.isFinished) return { values };
    this.partialRuns.delete(handle);
    return { values, metadata: emptyMetadata };
  }

  makeCallable(options: CallableOptions): bigint {
    if (options.tensor_connection.length > 0)
      throw new UnimplementedError('Callables with tensor connections are not supported; feed the tensors instead.');
    const executable = this.prepare(options.feed, options.fetch, options.target);
    const handle = this.nextCallable++;
    this.callables.set(handle, { executable, options });
    return handle;
  }

  async runCallable(handle: bigint, feeds: readonly NDArray[], signal: AbortSignal): Promise<StepResult> {
    const { executable, options } = this.callable(handle);
    if (feeds.length !== options.feed.length)
      throw new InvalidArgumentError(`Expected ${options.feed.length} feed tensors, but got ${feeds.length}`);
    return await this.execute(executable, feeds, options.run_options, signal);
  }

  releaseCallable(handle: bigint): void {
    this.callable(handle);
    this.callables.delete(handle);
  }

  /** Ends the session: running steps fail with CancelledError, later ones are refused. */
  close(): void {
    this.isClosed = true;
    for (const stop of this.running) stop.stop(new CancelledError(closedByClient));
    this.engine.close();
    this.callables.clear();
    this.partialRuns.clear();
  }

  private callable(handle: bigint): { executable: Executable; options: CallableOptions } {
    this.throwIfClosed();
    const found = this.callables.get(handle);
    if (!found) throw new InvalidArgumentError(`No such callable handle: ${handle}`);
    return found;
  }

  private prepare(feeds: readonly string[], fetches: readonly string[], targets: readonly string[]): Executable {
    this.throwIfClosed();
    const executable = this.engine.prepare(feeds, fetches, targets);
    const { config } = this.environment;
    // As in TensorFlow, the whole graph must be placeable, unless the client (an interactive one) says otherwise.
    const nodes = config.graph_options?.place_pruned_graph ? executable.source : [...this.placements.values()];
    if (!this.isPlaced) this.placement.check(nodes);
    this.isPlaced ||= nodes !== executable.source;
    return executable;
  }

  private async execute(
    executable: Executable,
    feeds: readonly NDArray[],
    options: RunOptions | undefined,
    signal: AbortSignal,
  ): Promise<StepResult> {
    const wantsCosts = this.wantsCosts(executable);
    const stats = (options && options.trace_level > 0) || wantsCosts ? new StatsCollector() : undefined;
    const timeout = options?.timeout_in_ms || this.environment.config.operation_timeout_in_ms || undefined;
    const run = new Run(new StopToken(), stats);
    this.running.add(run.stop);
    try {
      const values = await executable.run(feeds, { run, signal, timeout });
      return { values, metadata: this.metadata(executable, stats, options, wantsCosts) };
    } catch (error) {
      // A run that was stopped may fail for what its stop did, such as a closed engine; the stop is the reason.
      throw this.located(run.stop.reason ?? error);
    } finally {
      this.running.delete(run.stop);
    }
  }

  /** A partial run ends at the next of: its own end, the end of the session, the client's loss of interest. */
  private async whileOpen<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
    const stop = new StopToken();
    this.running.add(stop);
    const end = stop.listen(signal, undefined);
    try {
      return await stop.unlessStopped(work);
    } finally {
      end();
      this.running.delete(stop);
    }
  }

  /** Every so many steps, from a certain one on, as the session's options say. */
  private wantsCosts(executable: Executable): boolean {
    const { build_cost_model: every, build_cost_model_after: after } = this.environment.config.graph_options ?? noCosts;
    if (every <= 0) return false;
    const step = this.steps.get(executable) ?? 0;
    this.steps.set(executable, step + 1);
    return step >= after && (step + 1 - after) % every === 0;
  }

  private metadata(
    executable: Executable,
    stats: StatsCollector | undefined,
    options: RunOptions | undefined,
    wantsCosts: boolean,
  ): RunMetadata {
    const wantsGraphs = options?.output_partition_graphs ?? false;
    if (!stats && !wantsGraphs) return emptyMetadata;
    const report = new RunReport();
    describeRun(executable.ran, report, this.placement, stats);
    return {
      ...emptyMetadata,
      ...(options && options.trace_level > 0 && { step_stats: stepStatsProto(report) }),
      ...(wantsCosts && { cost_graph: costGraphProto(report) }),
      partition_graphs: wantsGraphs ? report.partitionGraphs : [],
    };
  }

  /** A step's failure in the form that clients take apart: the task, the words, the node. */
  private located(error: unknown): unknown {
    if (!(error instanceof OpError)) return error;
    const marker = error.node === undefined ? '' : `\n\t [[{{node ${error.node}}}]]`;
    const text = error.message.includes('[[{{node ') ? error.message : `${error.message}${marker}`;
    return errorFromCode(error.code, `From ${this.environment.task}:\n${text}`, { node: error.node, cause: error });
  }

  private throwIfClosed(): void {
    if (this.isClosed) throw new FailedPreconditionError('Session is closed.');
  }
}

const noCosts = { build_cost_model: 0, build_cost_model_after: 0 };
const emptyMetadata: RunMetadata = { partition_graphs: [], function_graphs: [] };

/** Clients ask for the graph as it is through either of these. */
function wantsSimplifying({ graph_options }: ConfigProto): boolean {
  return (
    graph_options?.optimizer_options?.opt_level !== levelOff && !graph_options?.rewrite_options?.disable_meta_optimizer
  );
}

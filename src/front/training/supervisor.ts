/** @file Supervisor: the older way to train, with tasks that write checkpoints and summaries by the clock. */
import * as log from '../../core/logging.ts';
import { type Graph, getDefaultGraph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { checkOptions, type OptionNames } from '../../graph/options.ts';
import type { Feeds } from '../../graph/runTypes.ts';
import type { GraphSession, RunChoices } from '../../graph/sessions.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { joinPath } from '../../io/paths.ts';
import { group } from '../../ops/flow/group.ts';
import type { MetaGraphDef } from '../../proto/metaGraph.ts';
import { GraphKeys } from '../collections.ts';
import { getGlobalStep, globalStep } from '../globalStep.ts';
import { tablesInitializer } from '../lookup/staticTables.ts';
import { Saver } from '../saver.ts';
import { exportMetaGraph } from '../saving/metaGraph.ts';
import { writeGraph } from '../saving/writeGraph.ts';
import { FileWriter, type StepLike, type SummaryLike } from '../summary/fileWriter.ts';
import { SessionLog } from '../summary/messages.ts';
import { mergeAll } from '../summary/summaries.ts';
import type { Variable } from '../variable.ts';
import {
  globalVariables,
  globalVariablesInitializer,
  localVariablesInitializer,
  reportUninitializedVariables,
} from '../variables.ts';
import { Coordinator, LooperThread } from './coordinator.ts';
import { SessionManager } from './sessionManager.ts';
import type { Task } from './task.ts';
import type { TaskStarter } from './wrappedSessions.ts';

type Runnable = Operation | Tensor;

/** Where `undefined` means the usual thing, `null` means none. */
export interface SupervisorOptions {
  readonly graph?: Graph | undefined;
  readonly readyOp?: Runnable | null | undefined;
  readonly readyForLocalInitOp?: Runnable | null | undefined;
  readonly isChief?: boolean | undefined;
  readonly initOp?: Runnable | null | undefined;
  readonly initFeedDict?: Feeds | undefined;
  readonly localInitOp?: Runnable | null | undefined;
  /** Where checkpoints and event files go. */
  readonly logdir?: string | undefined;
  readonly summaryOp?: Tensor | null | undefined;
  readonly saver?: Saver | null | undefined;
  readonly globalStep?: Variable | Tensor | null | undefined;
  /** 120 unless given; 0 for no summaries. */
  readonly saveSummariesSecs?: number | undefined;
  /** 600 unless given; 0 for no checkpoints. */
  readonly saveModelSecs?: number | undefined;
  readonly recoveryWaitSecs?: number | undefined;
  readonly stopGraceSecs?: number | undefined;
  readonly checkpointBasename?: string | undefined;
  readonly sessionManager?: SessionManager | undefined;
  readonly summaryWriter?: FileWriter | null | undefined;
  readonly initFn?: ((session: GraphSession) => unknown) | undefined;
  readonly localInitRunOptions?: RunChoices | undefined;
}
const optionNames: OptionNames<SupervisorOptions> = {
  graph: true,
  readyOp: true,
  readyForLocalInitOp: true,
  isChief: true,
  initOp: true,
  initFeedDict: true,
  localInitOp: true,
  logdir: true,
  summaryOp: true,
  saver: true,
  globalStep: true,
  saveSummariesSecs: true,
  saveModelSecs: true,
  recoveryWaitSecs: true,
  stopGraceSecs: true,
  checkpointBasename: true,
  sessionManager: true,
  summaryWriter: true,
  initFn: true,
  localInitRunOptions: true,
};

export interface ManagedSessionOptions {
  readonly config?: object | undefined;
  readonly startStandardServices?: boolean | undefined;
  readonly closeSummaryWriter?: boolean | undefined;
}
/** What a managed session is for. */
type SessionBody<T> = (session: GraphSession) => T | Promise<T>;
export interface PrepareSessionOptions {
  readonly config?: object | undefined;
  readonly waitForCheckpoint?: boolean | undefined;
  readonly maxWaitSecs?: number | undefined;
  readonly startStandardServices?: boolean | undefined;
}

/** Looks after a training: a coordinator, a saver, a summary writer, and sessions that begin at the last checkpoint. */
export class Supervisor {
  readonly coord = new Coordinator();
  readonly isChief: boolean;
  readonly initOp: Runnable | null;
  readonly readyOp: Runnable | null;
  readonly readyForLocalInitOp: Runnable | null;
  readonly localInitOp: Runnable | null;
  readonly summaryOp: Tensor | null;
  readonly saver: Saver | null;
  readonly globalStep: Variable | Tensor | null;
  readonly sessionManager: SessionManager;
  readonly summaryWriter: FileWriter | null;
  readonly saveSummariesSecs: number;
  readonly saveModelSecs: number;
  readonly savePath: string | null;
  private readonly graph: Graph;
  private readonly logdir: string | undefined;
  private readonly metaGraph: MetaGraphDef;
  private isGraphAdded = false;

  constructor(private readonly options: SupervisorOptions = {}) {
    checkOptions('tf.train.Supervisor', options, optionNames);
    const graph = options.graph ?? getDefaultGraph();
    this.graph = graph;
    this.isChief = options.isChief ?? true;
    const made = graph.asDefault(() => pieces(options, graph));
    this.readyOp = made.readyOp;
    this.readyForLocalInitOp = made.readyForLocalInitOp;
    this.initOp = made.initOp;
    this.localInitOp = made.localInitOp;
    this.saver = made.saver;
    this.summaryOp = made.summaryOp;
    this.globalStep = made.globalStep;
    this.metaGraph = exportMetaGraph({
      graph,
      graphDef: graph.asGraphDef({ addShapes: true }),
      saverDef: this.saver?.saverDef,
    });
    this.logdir = this.isChief ? options.logdir : undefined;
    this.saveSummariesSecs = this.isChief ? (options.saveSummariesSecs ?? 120) : 0;
    this.saveModelSecs = this.isChief ? (options.saveModelSecs ?? 600) : 0;
    this.savePath = this.logdir ? joinPath(this.logdir, options.checkpointBasename ?? 'model.ckpt') : null;
    this.summaryWriter = this.isChief ? this.writer(options.summaryWriter) : null;
    this.sessionManager =
      options.sessionManager ??
      new SessionManager({
        localInitOp: this.localInitOp ?? undefined,
        readyOp: this.readyOp ?? undefined,
        readyForLocalInitOp: this.readyForLocalInitOp ?? undefined,
        graph,
        recoveryWaitSecs: options.recoveryWaitSecs,
        localInitRunOptions: options.localInitRunOptions,
      });
    if (!this.isChief) checkDevices(graph);
    graph.finalize();
  }

  private writer(given: FileWriter | null | undefined): FileWriter | null {
    if (given !== undefined) return given;
    return this.logdir ? new FileWriter(this.logdir) : null;
  }

  /** A session in which the model is ready: restored or initialized by the chief, awaited by the others. */
  async prepareOrWaitForSession(master = '', options: PrepareSessionOptions = {}): Promise<GraphSession> {
    const { config, waitForCheckpoint, maxWaitSecs, startStandardServices = true } = options;
    this.coord.clearStop();
    this.summaryWriter?.reopen();
    const session = this.isChief
      ? await this.sessionManager.prepareSession(master, {
          initOp: this.initOp ?? undefined,
          saver: this.saver,
          checkpointDir: this.logdir,
          waitForCheckpoint,
          maxWaitSecs,
          config,
          initFeedDict: this.options.initFeedDict,
          initFn: this.options.initFn,
        })
      : await this.sessionManager.waitForSession(master, { config, maxWaitSecs });
    if (this.isChief) this.writeGraph();
    if (startStandardServices) {
      if (this.isChief) await this.startStandardServices(session);
      this.startQueueRunners(session);
    }
    return session;
  }

  /** Begins to write summaries, steps per second and checkpoints by the clock. */
  async startStandardServices(session: GraphSession): Promise<readonly Task[]> {
    if (!this.isChief)
      throw userError(
        'Only chief supervisor can start standard services. Because only chief supervisors can write events.',
      );
    if (!this.logdir) {
      log.warn("Standard services need a 'logdir' passed to the SessionManager");
      return [];
    }
    const { summaryWriter, globalStep: step } = this;
    if (step && summaryWriter)
      summaryWriter.addSessionLog({ status: SessionLog.START }, await globalStep(session, step));
    const tasks: LooperThread[] = [];
    if (this.saveSummariesSecs && summaryWriter) {
      if (this.summaryOp) tasks.push(this.every(this.saveSummariesSecs, () => this.recordSummary(session)));
      if (step) tasks.push(new StepCounterTask(this.coord, this.saveSummariesSecs, session, step, summaryWriter));
    }
    if (this.saver && this.saveModelSecs) tasks.push(this.every(this.saveModelSecs, () => this.saveModel(session)));
    for (const task of tasks) task.start();
    return tasks;
  }

  private every(seconds: number, target: () => unknown): LooperThread {
    return new LooperThread(this.coord, seconds, target);
  }

  private async recordSummary(session: GraphSession): Promise<void> {
    const [summary, step] = await session.run([this.summaryOp!, this.globalStep]);
    this.summaryWriter?.addSummary(summary, step ?? undefined);
  }

  private async saveModel(session: GraphSession): Promise<void> {
    const step = this.globalStep ? await globalStep(session, this.globalStep) : undefined;
    await this.saver!.save(session, this.savePath!, { globalStep: step });
    if (step !== undefined)
      this.summaryWriter?.addSessionLog({ status: SessionLog.CHECKPOINT, checkpointPath: this.savePath! }, step);
  }

  private writeGraph(): void {
    if (this.logdir) writeGraph(this.graph.asGraphDef({ addShapes: true }), this.logdir, 'graph.pbtxt');
    if (!this.summaryWriter || this.isGraphAdded) return;
    this.summaryWriter.addGraph(this.graph);
    this.summaryWriter.addMetaGraph(this.metaGraph);
    this.isGraphAdded = true;
  }

  /** Starts the tasks that fill queues: those of the graph unless given. */
  startQueueRunners(session: GraphSession, queueRunners?: readonly TaskStarter[]): Task[] {
    const runners = queueRunners ?? (this.graph.getCollection(GraphKeys.QUEUE_RUNNERS) as TaskStarter[]); // what the collection is for
    return runners.flatMap((runner) => runner.createThreads(session, { coord: this.coord, daemon: true, start: true }));
  }

  /** Calls `target` every so many seconds, or back to back, until the supervisor stops. */
  loop(timerIntervalSecs: number | null, target: () => unknown): LooperThread {
    return LooperThread.loop(this.coord, timerIntervalSecs, target);
  }

  /** Stops all tasks, and throws the error that one of them reported. */
  async stop(
    tasks: Iterable<Task | Promise<unknown>> = [],
    options: { readonly closeSummaryWriter?: boolean; readonly ignoreLiveThreads?: boolean } = {},
  ): Promise<void> {
    const { closeSummaryWriter = true, ignoreLiveThreads = false } = options;
    this.coord.requestStop();
    try {
      await this.coord.join(tasks, { stopGracePeriodSecs: this.options.stopGraceSecs ?? 120, ignoreLiveThreads });
    } finally {
      if (closeSummaryWriter && this.summaryWriter) {
        this.summaryWriter.addSessionLog({ status: SessionLog.STOP });
        await this.summaryWriter.close();
        this.isGraphAdded = false;
      }
    }
  }

  requestStop(error?: unknown): void {
    this.coord.requestStop(error);
  }
  shouldStop(): boolean {
    return this.coord.shouldStop();
  }
  stopOnException(body: () => unknown): Promise<void> {
    return this.coord.stopOnException(body);
  }
  async waitForStop(): Promise<void> {
    await this.coord.waitForStop();
  }

  /** Writes a summary that was computed elsewhere. */
  async summaryComputed(session: GraphSession, summary: SummaryLike, step?: StepLike): Promise<void> {
    if (!this.summaryWriter) throw userError('Writing a summary requires a summary writer.');
    const at = step ?? (this.globalStep ? await globalStep(session, this.globalStep) : undefined);
    this.summaryWriter.addSummary(summary, at);
  }

  /**
   * Calls `body` with a session that is ready, and stops everything when it ends; an error ends all tasks and is thrown. Gives
   * what `body` gives; undefined when the end of the data ended it.
   *
   * @example await sv.managedSession(async (sess) => { while (!sv.shouldStop()) await sess.run(trainOp); });
   */
  managedSession<T>(body: SessionBody<T>): Promise<T | undefined>;
  managedSession<T>(master: string, body: SessionBody<T>): Promise<T | undefined>;
  managedSession<T>(master: string, options: ManagedSessionOptions, body: SessionBody<T>): Promise<T | undefined>;
  async managedSession<T>(...args: readonly unknown[]): Promise<T | undefined> {
    const body = args.at(-1) as SessionBody<T>; // the last argument in each form
    const master = typeof args[0] === 'string' ? args[0] : '';
    const options = (args.length === 3 ? args[1] : {}) as ManagedSessionOptions; // the middle one of three
    const { config, startStandardServices, closeSummaryWriter = true } = options;
    let session: GraphSession | undefined;
    let result: T | undefined;
    try {
      session = await this.prepareOrWaitForSession(master, { config, startStandardServices });
      result = await body(session);
    } catch (error) {
      this.requestStop(error);
    } finally {
      try {
        await this.stop([], { closeSummaryWriter });
      } finally {
        await session?.close();
      }
    }
    return result;
  }
}

/** Writes how many steps there were in each second since it last did. */
class StepCounterTask extends LooperThread {
  private time = 0;
  private step = 0;
  constructor(
    coord: Coordinator,
    seconds: number,
    private readonly session: GraphSession,
    private readonly counter: Variable | Tensor,
    private readonly writer: FileWriter,
  ) {
    super(coord, seconds);
  }
  override async startLoop(): Promise<void> {
    this.time = performance.now();
    this.step = await globalStep(this.session, this.counter);
  }
  override async runLoop(): Promise<void> {
    const step = await globalStep(this.session, this.counter);
    const time = performance.now();
    const perSecond = ((step - this.step) * 1000) / Math.max(time - this.time, 1e-3);
    [this.time, this.step] = [time, step];
    const tag = `${this.counter.op.name}/sec`;
    this.writer.addSummary({ value: [{ tag, simpleValue: perSecond }] }, step);
    log.info(`${tag}: ${Number(perSecond.toPrecision(6))}`);
  }
}

/** What was given, or the first of a collection, or else what `make` gives, which is added to the collection. */
function pick<T>(graph: Graph, given: T | null | undefined, key: string, make: () => T | null): T | null {
  if (given !== undefined) return given;
  const known = graph.getCollection(key);
  if (known.length > 0) return known[0] as T; // what the collection is for
  const made = make();
  if (made !== null) graph.addToCollection(key, made);
  return made;
}

/** The operations and objects that a supervisor needs; those not given are made, in TensorFlow's order. */
function pieces(options: SupervisorOptions, graph: Graph) {
  const readyOp = pick<Runnable>(graph, options.readyOp, GraphKeys.READY_OP, () => reportUninitializedVariables());
  const readyForLocalInitOp = pick<Runnable>(
    graph,
    options.readyForLocalInitOp,
    GraphKeys.READY_FOR_LOCAL_INIT_OP,
    () => null,
  );
  const initOp = pick<Runnable>(graph, options.initOp, GraphKeys.INIT_OP, globalVariablesInitializer);
  const localInitOp = pick<Runnable>(graph, options.localInitOp, GraphKeys.LOCAL_INIT_OP, () =>
    group([localVariablesInitializer(), tablesInitializer()]),
  );
  const saver = pick(graph, options.saver, GraphKeys.SAVERS, () => (globalVariables().length > 0 ? new Saver() : null));
  const summaryOp = pick(graph, options.summaryOp, GraphKeys.SUMMARY_OP, mergeAll);
  const step = pick<Variable | Tensor>(graph, options.globalStep, GraphKeys.GLOBAL_STEP, () => getGlobalStep(graph));
  return { readyOp, readyForLocalInitOp, initOp, localInitOp, saver, summaryOp, globalStep: step };
}

/** Workers share the variables of others, so these must say where they are. */
function checkDevices(graph: Graph): void {
  for (const op of graph.operations)
    if (['Variable', 'VariableV2'].includes(op.type) && !op.device)
      throw userError(`When using replicas, all Variables must have their device set: ${op.name}`);
}

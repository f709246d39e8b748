/** @file The sessions inside a monitored one: with hooks, with a coordinator, and one that is made anew when it is lost. */
import { AbortedError, UnavailableError } from '../../core/errors.ts';
import * as log from '../../core/logging.ts';
import { type Graph, getDefaultGraph } from '../../graph/graph.ts';
import type { Feeds, Fetch, Fetched } from '../../graph/runTypes.ts';
import type { GraphSession, RunChoices, RunSettings } from '../../graph/sessions.ts';
import { userError } from '../../graph/userError.ts';
import type { RunRecord } from '../../proto/runMetadata.ts';
import { GraphKeys, getCollection } from '../collections.ts';
import { Coordinator } from './coordinator.ts';
import type { SessionCreator } from './sessionCreators.ts';
import { SessionRunArgs, SessionRunContext, type SessionRunHook, SessionRunValues } from './sessionRunHook.ts';
import type { Task } from './task.ts';

/** A session that knows whether it is time to end. */
export interface StoppableSession {
  shouldStop(): boolean;
  run(fetches: unknown, feeds?: Feeds, settings?: RunSettings): Promise<unknown>;
  close(): Promise<void>;
}

/** Errors that mean that a machine went away, not that something is wrong. */
const isPreemption = (error: unknown): boolean => error instanceof AbortedError || error instanceof UnavailableError;

const pairsOf = (feeds: Feeds | undefined): [unknown, unknown][] =>
  feeds === undefined ? [] : feeds instanceof Map || Array.isArray(feeds) ? [...feeds] : Object.entries(feeds);

/** The name of what a feed replaces. */
const keyOf = (key: unknown, graph: Graph): string =>
  graph.asGraphElement(key as Parameters<Graph['asGraphElement']>[0]).name; // keys of feeds are tensors or stand for them

/** Runs with hooks: what they want fetched and fed is added to each run. */
class HookedSession implements StoppableSession {
  private isStopping = false;
  constructor(
    private readonly session: GraphSession,
    private readonly hooks: readonly SessionRunHook[],
  ) {}

  shouldStop(): boolean {
    return this.isStopping;
  }
  async close(): Promise<void> {
    await this.session.close();
  }

  async run(fetches: unknown, feeds?: Feeds, settings: RunSettings = {}): Promise<unknown> {
    if (this.isStopping) throw userError('Run called even after should_stop requested.');
    const context = new SessionRunContext(new SessionRunArgs(fetches, { feedDict: feeds }), this.session);
    const wanted: Record<string, unknown> = { caller: fetches };
    const hookFeeds: [unknown, unknown][] = [];
    let options: RunChoices = settings.options ?? {};
    for (const [i, hook] of this.hooks.entries()) {
      const request = await hook.beforeRun(context);
      if (!request) continue;
      if (request.fetches !== null && request.fetches !== undefined) wanted[i] = request.fetches;
      this.addFeeds(hookFeeds, pairsOf(request.feedDict), 'Same tensor is fed by two hooks.');
      if (request.options) options = mergeOptions(options, request.options);
    }
    const all = pairsOf(feeds);
    this.addFeeds(all, hookFeeds, 'Same tensor is fed by a SessionRunHook and user.');
    const isTraced = settings.runMetadata !== undefined || (options.traceLevel ?? 0) > 0;
    const runMetadata = settings.runMetadata ?? emptyRecord();
    const results = (await this.session.run(wanted, all as Feeds, {
      options,
      // Describing a run costs time, so only those that somebody looks at are.
      ...(isTraced && { runMetadata }),
      ...(settings.signal && { signal: settings.signal }),
    })) as Record<string, unknown>; // a record of fetches gives a record of results
    for (const [i, hook] of this.hooks.entries())
      await hook.afterRun(context, new SessionRunValues(results[i] ?? null, options, runMetadata));
    this.isStopping ||= context.stopRequested;
    return results['caller'];
  }

  private addFeeds(known: [unknown, unknown][], more: readonly [unknown, unknown][], complaint: string): void {
    if (more.length === 0) return;
    const { graph } = this.session;
    const names = new Set(known.map(([key]) => keyOf(key, graph)));
    const conflicts = more.map(([key]) => keyOf(key, graph)).filter((name) => names.has(name));
    if (conflicts.length > 0) throw userError(`${complaint} Conflict(s): ${conflicts.join(', ')}`);
    known.push(...more);
  }
}

const emptyRecord = (): RunRecord => ({ stepStats: { devStats: [] }, partitionGraphs: [] });

/** Each option as the more demanding of the two wants it. */
const mergeOptions = (a: RunChoices, b: RunChoices): RunChoices => ({
  traceLevel: Math.max(a.traceLevel ?? 0, b.traceLevel ?? 0),
  timeoutInMs: Math.max(a.timeoutInMs ?? 0, b.timeoutInMs ?? 0),
  outputPartitionGraphs: (a.outputPartitionGraphs ?? false) || (b.outputPartitionGraphs ?? false),
});

/** A session with tasks beside it, such as queue runners: what goes wrong in one of them is thrown here. */
class CoordinatedSession implements StoppableSession {
  constructor(
    private readonly session: StoppableSession,
    readonly coord: Coordinator,
    private readonly stopGracePeriodSecs: number,
  ) {}

  shouldStop(): boolean {
    this.coord.raiseRequestedException();
    return this.coord.shouldStop() || this.session.shouldStop();
  }

  async run(fetches: unknown, feeds?: Feeds, settings?: RunSettings): Promise<unknown> {
    try {
      return await this.session.run(fetches, feeds, settings);
    } catch (error) {
      if (isPreemption(error)) throw error;
      // A task that lost its server may be the reason why this run failed in another way.
      try {
        this.coord.raiseRequestedException();
      } catch (reported) {
        if (isPreemption(reported)) throw reported;
      }
      throw error;
    }
  }

  async close(): Promise<void> {
    this.coord.requestStop();
    try {
      await this.coord.join([], { stopGracePeriodSecs: this.stopGracePeriodSecs, ignoreLiveThreads: true });
    } finally {
      await this.session.close();
    }
  }
}

/** What starts the tasks that fill queues. */
export interface TaskStarter {
  createThreads(
    session: GraphSession,
    options: { readonly coord: Coordinator; readonly daemon: boolean; readonly start: boolean },
  ): readonly Task[];
}

/** Makes coordinated sessions, with hooks, from those of a creator. */
export class CoordinatedSessionCreator {
  session: GraphSession | undefined;
  constructor(
    private readonly creator: SessionCreator,
    private readonly hooks: readonly SessionRunHook[],
    private readonly stopGracePeriodSecs: number,
  ) {}

  async createSession(): Promise<StoppableSession> {
    const session = await this.creator.createSession();
    this.session = session;
    // The end of the data is for the caller of `run` to see, so it is no clean stop here.
    const coord = new Coordinator({ cleanStopExceptionTypes: [] });
    for (const runner of getCollection<TaskStarter>(GraphKeys.QUEUE_RUNNERS))
      for (const task of runner.createThreads(session, { coord, daemon: true, start: true }))
        coord.registerThread(task);
    try {
      for (const hook of this.hooks) await hook.afterCreateSession(session, coord);
    } catch (error) {
      // Nobody will close what nobody gets: the tasks that fill queues would go on for ever.
      coord.requestStop();
      await session.close();
      throw error;
    }
    return new CoordinatedSession(new HookedSession(session, this.hooks), coord, this.stopGracePeriodSecs);
  }
}

const again =
  'This may be due to a preemption in a connected worker or parameter server. A new session will be created. Error:';

/** A session that is closed and made anew when a server goes away; the new one begins at the last checkpoint. */
export class RecoverableSession implements StoppableSession {
  private current: StoppableSession | undefined;
  private readonly graph = getDefaultGraph();
  constructor(private readonly creator: CoordinatedSessionCreator) {}

  /** Makes the session, if there is none. */
  async open(): Promise<StoppableSession> {
    while (!this.current) {
      try {
        this.current = await this.graph.asDefault(() => this.creator.createSession());
      } catch (error) {
        if (!isPreemption(error)) throw error;
        log.info(`An error was raised while a session was being created. ${again} ${String(error)}`);
      }
    }
    return this.current;
  }

  shouldStop(): boolean {
    try {
      return this.current?.shouldStop() ?? false;
    } catch (error) {
      // A task lost its server: the next run finds out, and makes a new session.
      return !isPreemption(error);
    }
  }

  run(fetches: unknown, feeds?: Feeds, settings?: RunSettings): Promise<unknown> {
    return this.attempt((session) => session.run(fetches, feeds, settings));
  }

  /** Calls `body` with the session, and again with a new one each time a server goes away. */
  async attempt<T>(body: (session: StoppableSession) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await body(await this.open());
      } catch (error) {
        if (!isPreemption(error)) throw error;
        log.info(`An error was raised. ${again} ${String(error)}`);
        await this.closeQuietly();
      }
    }
  }

  async close(): Promise<void> {
    const { current } = this;
    this.current = undefined;
    try {
      await current?.close();
    } catch (error) {
      if (!isPreemption(error)) throw error;
      log.error(`An error occurred when attempting to close the session. ${String(error)}`);
    }
  }

  private async closeQuietly(): Promise<void> {
    try {
      await this.close();
    } catch (error) {
      log.error(`The lost session could not be closed: ${String(error)}`);
    }
  }
}

/** As `GraphSession.run`, for the caller's own fetches. */
export type TypedRun = <const F extends Fetch>(
  fetches: F,
  feeds?: Feeds,
  settings?: RunSettings,
) => Promise<Fetched<F>>;

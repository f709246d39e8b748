/** @file MonitoredSession and its kin: sessions that initialize, restore, run hooks and recover by themselves. */
import { OutOfRangeError } from '../../core/errors.ts';
import { type Graph, getDefaultGraph } from '../../graph/graph.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Feeds, Fetch, Fetched } from '../../graph/runTypes.ts';
import type { GraphSession, RunSettings } from '../../graph/sessions.ts';
import { userError } from '../../graph/userError.ts';
import { type ChiefOptions, ChiefSessionCreator, type SessionCreator } from './sessionCreators.ts';
import { checkHooks, type SessionRunHook } from './sessionRunHook.ts';
import {
  CoordinatedSessionCreator,
  RecoverableSession,
  type StoppableSession,
  type TypedRun,
} from './wrappedSessions.ts';

/** Ends a loop from inside a step function. */
class StopIteration extends Error {
  constructor(message = 'step_fn has requested the iterations to stop.') {
    super(message);
    this.name = 'StopIteration';
  }
}

/** What a step function may use. */
export class StepContext {
  constructor(
    /** The session without hooks. */
    readonly session: GraphSession,
    /** Runs with hooks; at most once in a step. */
    readonly runWithHooks: TypedRun,
  ) {}
  /** Ends the loop: throws what the session takes as its regular end. */
  requestStop(): never {
    throw new StopIteration();
  }
}

/** Errors that mean the regular end of a loop. */
const isRegularEnd = (error: unknown): boolean => error instanceof OutOfRangeError || error instanceof StopIteration;

/** What `MonitoredSession` and `SingularMonitoredSession` share. */
abstract class BaseMonitoredSession implements AsyncDisposable {
  private readonly defaultGraph: Graph = getDefaultGraph();
  private readonly wasFinalized = this.defaultGraph.isFinalized;
  private readonly hooks: readonly SessionRunHook[];
  private readonly creator: CoordinatedSessionCreator;
  private current: StoppableSession | undefined;
  private isClosed = false;
  /** Set when the last run failed: a loop that ends now ends because of it. */
  private failure: { readonly error: unknown } | undefined;
  /** Settles when the session exists; `run` waits for it. */
  readonly ready: Promise<void>;

  constructor(
    creator: SessionCreator,
    hooks: readonly SessionRunHook[],
    stopGracePeriodSecs: number,
    shouldRecover: boolean,
  ) {
    checkHooks(hooks);
    this.hooks = hooks;
    for (const hook of hooks) hook.begin();
    this.creator = new CoordinatedSessionCreator(creator, hooks, stopGracePeriodSecs);
    this.ready = this.open(shouldRecover);
    // Who waits for the session is told; nobody has to wait.
    this.ready.catch(() => {});
  }

  private async open(shouldRecover: boolean): Promise<void> {
    try {
      if (shouldRecover) {
        const recoverable = new RecoverableSession(this.creator);
        await recoverable.open();
        this.current = recoverable;
      } else this.current = await this.defaultGraph.asDefault(() => this.creator.createSession());
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** The graph; null once the session is closed. */
  get graph(): Graph | null {
    return this.creator.session?.graph ?? null;
  }

  /** Whether a hook, a task or an error wants the loop to end. */
  shouldStop(): boolean {
    return this.current?.shouldStop() ?? this.isClosed;
  }

  /** Evaluates `fetches` with the hooks' own. */
  async run<const F extends Fetch>(fetches: F, feeds?: Feeds, settings: RunSettings = {}): Promise<Fetched<F>> {
    const session = await this.opened();
    return this.watch(() => session.run(fetches, feeds, settings) as Promise<Fetched<F>>); // the caller's own fetches
  }

  /** Calls a function with the session itself and a way to run with hooks. */
  async runStepFn<T>(stepFn: (stepContext: StepContext) => T | Promise<T>): Promise<T> {
    if (typeof stepFn !== 'function' || stepFn.length > 1)
      throw userError(`\`stepFn\` must take one argument, the step context, but takes ${stepFn.length}.`);
    const session = await this.opened();
    const step = async (inner: StoppableSession): Promise<T> => {
      const run: TypedRun = (fetches, feeds, settings) => inner.run(fetches, feeds, settings) as Promise<never>; // of the type that TypedRun says
      return stepFn(new StepContext(this.creator.session!, run));
    };
    return this.watch(() => (session instanceof RecoverableSession ? session.attempt(step) : step(session)));
  }

  /** Tells the hooks that it is over and closes the session. */
  close(): Promise<void> {
    return this.closeAfter(undefined);
  }

  /** At the end of an `await using` block: the hooks are not told of an end when the last run failed. */
  [Symbol.asyncDispose](): Promise<void> {
    if (this.isClosed) return Promise.resolve();
    return this.closeAfter(this.failure);
  }

  /** Calls `body` with this session and closes it. The end of the data, and a step that asks for it, are no errors. */
  async within<T>(body: (session: this) => T | Promise<T>): Promise<T | undefined> {
    let failure: { readonly error: unknown } | undefined;
    try {
      await this.ready;
      return await body(this);
    } catch (error) {
      failure = { error };
      if (!isRegularEnd(error)) throw error;
      return undefined;
    } finally {
      if (!this.isClosed) await this.closeAfter(failure);
    }
  }

  protected get inner(): GraphSession | null {
    return this.creator.session ?? null;
  }

  private async opened(): Promise<StoppableSession> {
    await this.ready;
    if (!this.current) throw userError('Session is already closed.');
    return this.current;
  }

  private async watch<T>(body: () => Promise<T>): Promise<T> {
    this.failure = undefined;
    try {
      return await body();
    } catch (error) {
      this.failure = { error };
      throw error;
    }
  }

  private async closeAfter(failure: { readonly error: unknown } | undefined): Promise<void> {
    const session = await this.opened();
    try {
      if (!failure || isRegularEnd(failure.error))
        for (const hook of this.hooks) await this.defaultGraph.asDefault(() => hook.end(this.creator.session!));
    } finally {
      try {
        await session.close();
      } finally {
        this.release();
      }
    }
  }

  private release(): void {
    this.isClosed = true;
    this.current = undefined;
    this.creator.session = undefined;
    if (!this.wasFinalized) this.defaultGraph.unfinalize();
  }
}

export interface MonitoredSessionOptions {
  readonly sessionCreator?: SessionCreator | undefined;
  readonly hooks?: readonly SessionRunHook[] | undefined;
  /** How long tasks may go on after the end; 120 seconds unless given. */
  readonly stopGracePeriodSecs?: number | undefined;
}

/**
 * A session that makes its model ready, calls hooks around every run, and is made anew from the last checkpoint when a server
 * goes away.
 *
 * @example
 * await using sess = new tf.train.MonitoredSession({ hooks: [new tf.train.StopAtStepHook({ lastStep: 100 })] });
 * while (!sess.shouldStop()) await sess.run(trainOp);
 */
export class MonitoredSession extends BaseMonitoredSession {
  static readonly StepContext = StepContext;
  constructor(options: MonitoredSessionOptions = {}) {
    const {
      sessionCreator = new ChiefSessionCreator(),
      hooks = [],
      stopGracePeriodSecs = 120,
    } = onlyOptions('tf.train.MonitoredSession', options, 'sessionCreator', 'hooks', 'stopGracePeriodSecs');
    super(sessionCreator, hooks, stopGracePeriodSecs, true);
  }
}

export interface SingularMonitoredSessionOptions extends ChiefOptions {
  readonly hooks?: readonly SessionRunHook[] | undefined;
  readonly stopGracePeriodSecs?: number | undefined;
}

/** A monitored session of one machine: nothing is recovered, and the session inside can be had. */
export class SingularMonitoredSession extends BaseMonitoredSession {
  constructor(options: SingularMonitoredSessionOptions = {}) {
    const { hooks = [], stopGracePeriodSecs = 120, ...chief } = options;
    super(new ChiefSessionCreator(chief), hooks, stopGracePeriodSecs, false);
  }
  /** The session inside; null once it is closed. */
  rawSession(): GraphSession | null {
    return this.inner;
  }
}

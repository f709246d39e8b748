/** @file SessionRunHook: code that takes part in every run of a monitored session. */
import { inspect } from 'node:util';
import type { Feeds } from '../../graph/runTypes.ts';
import type { GraphSession, RunChoices } from '../../graph/sessions.ts';
import { userError } from '../../graph/userError.ts';
import type { RunRecord } from '../../proto/runMetadata.ts';
import type { Coordinator } from './coordinator.ts';

/** What a hook adds to a run. */
export class SessionRunArgs {
  readonly feedDict: Feeds | undefined;
  readonly options: RunChoices | undefined;
  constructor(
    /** In any structure; the results come in the same. */
    readonly fetches: unknown = null,
    rest: { readonly feedDict?: Feeds | undefined; readonly options?: RunChoices | undefined } = {},
  ) {
    this.feedDict = rest.feedDict;
    this.options = rest.options;
  }
}

/** What a hook learns of a run, and how it asks for the end of them. */
export class SessionRunContext {
  private isStopRequested = false;
  constructor(
    /** What the caller of `run` asked for. */
    readonly originalArgs: SessionRunArgs,
    readonly session: GraphSession,
  ) {}

  get stopRequested(): boolean {
    return this.isStopRequested;
  }
  /** Makes `shouldStop()` true after this run. */
  requestStop(): void {
    this.isStopRequested = true;
  }
}

/** The results of a hook's fetches. */
export class SessionRunValues<Results = unknown> {
  constructor(
    readonly results: Results,
    readonly options: RunChoices,
    /** What was recorded, in runs that a hook or the caller wanted traced; empty in others. */
    readonly runMetadata: RunRecord,
  ) {}
}

/** What `beforeRun` may give. */
export type HookRequest = Pick<SessionRunArgs, 'fetches'> & Partial<SessionRunArgs>;

type Maybe<T> = T | Promise<T>;

/**
 * Takes part in the runs of a monitored session. Every method may be asynchronous, and none has to be written.
 *
 * @example
 * class LossHook extends tf.train.SessionRunHook {
 *   override beforeRun() { return new tf.train.SessionRunArgs(loss); }
 *   override afterRun(context, values) { if (values.results < 0.1) context.requestStop(); }
 * }
 */
export class SessionRunHook<Results = unknown> {
  /** Called once before the session is made; may still add to the graph. */
  begin(): void {}
  /** Called when a session was made, and again whenever one is made after a failure. */
  afterCreateSession(_session: GraphSession, _coord: Coordinator): Maybe<void> {}
  /** Called before each run; gives what the hook wants to be fetched or fed. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook that asks for nothing need not return anything
  beforeRun(_context: SessionRunContext): Maybe<HookRequest | null | undefined | void> {}
  /** Called after each run that succeeded. */
  afterRun(_context: SessionRunContext, _values: SessionRunValues<Results>): Maybe<void> {}
  /** Called when the session is closed without an error. */
  end(_session: GraphSession): Maybe<void> {}
}

const methods = Object.getOwnPropertyNames(SessionRunHook.prototype).filter(
  (name): name is keyof SessionRunHook => name !== 'constructor',
);

/** Refuses a list with something else in it than hooks, before the first of them is called. */
export function checkHooks(hooks: unknown): asserts hooks is readonly SessionRunHook[] {
  const way = 'Write a class that extends tf.train.SessionRunHook and give an instance of it.';
  if (!Array.isArray(hooks))
    throw userError(`hooks must be an array, but it is ${inspect(hooks, { depth: 0 })}. ${way}`);
  for (const hook of hooks as readonly (Partial<SessionRunHook> | null | undefined)[]) {
    const missing = methods.filter((name) => typeof hook?.[name] !== 'function');
    if (missing.length > 0)
      throw userError(
        `hooks has ${inspect(hook, { depth: 0 })} in it, which is not a hook: it has no ${missing.join(', ')}. ${way}`,
      );
  }
}

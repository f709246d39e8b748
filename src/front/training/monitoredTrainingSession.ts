/** @file MonitoredTrainingSession: a monitored session with checkpoints, summaries and step counts. */
import { onlyOptions } from '../../graph/options.ts';
import { CheckpointSaverHook } from './checkpointSaverHook.ts';
import { MonitoredSession } from './monitoredSession.ts';
import { Scaffold } from './scaffold.ts';
import { ChiefSessionCreator, WorkerSessionCreator } from './sessionCreators.ts';
import type { SessionRunHook } from './sessionRunHook.ts';
import { StepCounterHook, SummarySaverHook } from './summaryHooks.ts';

export interface MonitoredTrainingSessionOptions {
  /** The server to run on; this process unless given. */
  readonly master?: string | undefined;
  /** The chief initializes the model and writes checkpoints and summaries; the others wait for it. */
  readonly isChief?: boolean | undefined;
  /** Where checkpoints go, and come from when training begins again. */
  readonly checkpointDir?: string | undefined;
  readonly scaffold?: Scaffold | undefined;
  readonly hooks?: readonly SessionRunHook[] | undefined;
  readonly chiefOnlyHooks?: readonly SessionRunHook[] | undefined;
  /** 600 unless this or `saveCheckpointSteps` is given; null for no checkpoints. */
  readonly saveCheckpointSecs?: number | null | undefined;
  readonly saveCheckpointSteps?: number | null | undefined;
  /** 100 unless this or `saveSummariesSecs` is given; null for no summaries. */
  readonly saveSummariesSteps?: number | null | undefined;
  readonly saveSummariesSecs?: number | null | undefined;
  readonly config?: object | undefined;
  readonly stopGracePeriodSecs?: number | undefined;
  /** How often the steps per second are written; 100 unless given, null for never. */
  readonly logStepCountSteps?: number | null | undefined;
  /** How long a worker waits for the chief; two hours unless given. */
  readonly maxWaitSecs?: number | undefined;
  /** Where summaries go, if not to `checkpointDir`. */
  readonly summaryDir?: string | undefined;
  readonly saveGraphDef?: boolean | undefined;
}

const isSome = (n: number | null | undefined): boolean => (n ?? 0) > 0;

/**
 * A session for training: it restores the latest checkpoint or initializes the model, writes checkpoints, summaries and the
 * steps per second, and is made anew when a server goes away. With `body`, it is closed when that ends, and the end of the data
 * is no error.
 *
 * @example
 * await using sess = await tf.train.MonitoredTrainingSession({ checkpointDir: 'run1', hooks: [new tf.train.StopAtStepHook({ lastStep: 1000 })] });
 * while (!sess.shouldStop()) await sess.run(trainOp);
 */
export function MonitoredTrainingSession(options?: MonitoredTrainingSessionOptions): Promise<MonitoredSession>;
export function MonitoredTrainingSession<T>(
  options: MonitoredTrainingSessionOptions,
  body: (session: MonitoredSession) => T | Promise<T>,
): Promise<T | undefined>;
export async function MonitoredTrainingSession<T>(
  options: MonitoredTrainingSessionOptions = {},
  body?: (session: MonitoredSession) => T | Promise<T>,
): Promise<MonitoredSession | T | undefined> {
  const session = build(
    onlyOptions(
      'tf.train.MonitoredTrainingSession',
      options,
      'master',
      'isChief',
      'checkpointDir',
      'scaffold',
      'hooks',
      'chiefOnlyHooks',
      'saveCheckpointSecs',
      'saveCheckpointSteps',
      'saveSummariesSteps',
      'saveSummariesSecs',
      'config',
      'stopGracePeriodSecs',
      'logStepCountSteps',
      'maxWaitSecs',
      'summaryDir',
      'saveGraphDef',
    ),
  );
  if (body) return session.within(body);
  await session.ready;
  return session;
}

function build(options: MonitoredTrainingSessionOptions): MonitoredSession {
  const { master, config, stopGracePeriodSecs, checkpointDir, isChief = true, maxWaitSecs = 7200 } = options;
  const scaffold = options.scaffold ?? new Scaffold();
  if (!isChief) {
    const sessionCreator = new WorkerSessionCreator({ scaffold, master, config, maxWaitSecs });
    return new MonitoredSession({ sessionCreator, hooks: options.hooks, stopGracePeriodSecs });
  }
  const sessionCreator = new ChiefSessionCreator({ scaffold, checkpointDir, master, config });
  const hooks = [...(options.chiefOnlyHooks ?? []), ...usualHooks(options, scaffold), ...(options.hooks ?? [])];
  return new MonitoredSession({ sessionCreator, hooks, stopGracePeriodSecs });
}

/** The hooks that write checkpoints and event files. */
function usualHooks(options: MonitoredTrainingSessionOptions, scaffold: Scaffold): SessionRunHook[] {
  const { checkpointDir, saveGraphDef, logStepCountSteps = 100 } = options;
  const summaryDir = options.summaryDir ?? checkpointDir;
  const hooks: SessionRunHook[] = [];
  if (summaryDir && isSome(logStepCountSteps))
    hooks.push(new StepCounterHook({ outputDir: summaryDir, everyNSteps: logStepCountSteps }));
  // A default holds only where neither of the two is given.
  const { saveSummariesSecs: summarySecs } = options;
  const summarySteps = options.saveSummariesSteps ?? (isGiven(options, 'saveSummaries') ? null : 100);
  if (summaryDir && (isSome(summarySteps) || isSome(summarySecs)))
    hooks.push(
      new SummarySaverHook({ scaffold, saveSteps: summarySteps, saveSecs: summarySecs, outputDir: summaryDir }),
    );
  const { saveCheckpointSteps: saveSteps } = options;
  const saveSecs = options.saveCheckpointSecs ?? (isGiven(options, 'saveCheckpoint') ? null : 600);
  if (checkpointDir && (isSome(saveSteps) || isSome(saveSecs)))
    hooks.push(new CheckpointSaverHook(checkpointDir, { saveSteps, saveSecs, scaffold, saveGraphDef }));
  return hooks;
}

const isGiven = (options: MonitoredTrainingSessionOptions, what: 'saveSummaries' | 'saveCheckpoint'): boolean =>
  options[`${what}Steps`] !== undefined || options[`${what}Secs`] !== undefined;

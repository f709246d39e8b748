/** @file SessionManager: makes sessions in which a model is ready, from a checkpoint or from its initializers. */
import { int32 } from '../../core/dtypes.ts';
import { DeadlineExceededError, FailedPreconditionError } from '../../core/errors.ts';
import * as log from '../../core/logging.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Graph, getDefaultGraph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Feeds } from '../../graph/runTypes.ts';
import { type GraphSession, openSession, type RunChoices } from '../../graph/sessions.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { getCheckpointState } from '../../io/checkpoints.ts';
import type { Saver } from '../saver.ts';

type Runnable = Operation | Tensor;

export interface SessionManagerOptions {
  readonly localInitOp?: Runnable | undefined;
  /** Runs to the names of what has no value yet; without it a model counts as ready. */
  readonly readyOp?: Runnable | undefined;
  readonly readyForLocalInitOp?: Runnable | undefined;
  readonly graph?: Graph | undefined;
  /** Seconds between two looks whether a model is ready; 30 unless given. */
  readonly recoveryWaitSecs?: number | undefined;
  readonly localInitRunOptions?: RunChoices | undefined;
  readonly localInitFeedDict?: Feeds | undefined;
}

export interface RecoverOptions {
  readonly saver?: Saver | null | undefined;
  /** Its latest checkpoint is restored. */
  readonly checkpointDir?: string | undefined;
  /** The checkpoint to restore. */
  readonly checkpointFilenameWithPath?: string | undefined;
  readonly waitForCheckpoint?: boolean | undefined;
  readonly maxWaitSecs?: number | undefined;
  readonly config?: object | undefined;
}
export interface PrepareOptions extends RecoverOptions {
  readonly initOp?: Runnable | undefined;
  readonly initFeedDict?: Feeds | undefined;
  readonly initFn?: ((session: GraphSession) => unknown) | undefined;
}
const recoverNames = [
  'saver',
  'checkpointDir',
  'checkpointFilenameWithPath',
  'waitForCheckpoint',
  'maxWaitSecs',
  'config',
] as const;

/** Whether something is ready, or why not. */
type Readiness = { readonly isReady: true } | { readonly isReady: false; readonly why: string };
const ready: Readiness = { isReady: true };

/** Makes sessions in which a model is ready to be trained. */
export class SessionManager {
  private readonly options: SessionManagerOptions;
  private readonly graph: Graph;
  private readonly recoveryWaitSecs: number;

  constructor(options: SessionManagerOptions = {}) {
    this.options = onlyOptions(
      'tf.train.SessionManager',
      options,
      'localInitOp',
      'readyOp',
      'readyForLocalInitOp',
      'graph',
      'recoveryWaitSecs',
      'localInitRunOptions',
      'localInitFeedDict',
    );
    this.graph = options.graph ?? getDefaultGraph();
    this.recoveryWaitSecs = options.recoveryWaitSecs ?? 30;
    if (options.readyForLocalInitOp && !options.localInitOp)
      throw userError(
        `If you pass a readyForLocalInitOp you must also pass a localInitOp, readyForLocalInitOp [${String(options.readyForLocalInitOp)}]`,
      );
  }

  /** A session with the values of a checkpoint, or else of `initOp` and `initFn`. */
  async prepareSession(master: string, options: PrepareOptions = {}): Promise<GraphSession> {
    const { initOp, initFeedDict, initFn } = onlyOptions(
      'prepareSession',
      options,
      ...recoverNames,
      'initOp',
      'initFeedDict',
      'initFn',
    );
    const [session, isLoaded] = await this.restoreCheckpoint(master, options);
    try {
      if (!isLoaded) {
        if (!initOp && !initFn && !this.options.localInitOp)
          throw userError('Model is not initialized and no initOp or initFn or localInitOp was given');
        if (initOp) await session.run(initOp, initFeedDict);
        await initFn?.(session);
      }
      const local = await this.tryLocalInit(session);
      const names = `Init op: ${initOp?.name ?? 'None'}, init fn: ${initFn?.name || 'None'}`;
      if (!local.isReady)
        throw new FailedPreconditionError(
          `Init operations did not make model ready for local_init.  ${names}, error: ${local.why}`,
        );
      const model = await this.modelReady(session);
      if (!model.isReady)
        throw new FailedPreconditionError(
          `Init operations did not make model ready.  ${names}, local_init_op: ${this.options.localInitOp?.name ?? 'None'}, error: ${model.why}`,
        );
    } catch (error) {
      await session.close();
      throw error;
    }
    return session;
  }

  /** A session, and whether a checkpoint made the model ready in it. */
  async recoverSession(master: string, options: RecoverOptions = {}): Promise<[GraphSession, boolean]> {
    onlyOptions('recoverSession', options, ...recoverNames);
    const [session, isLoaded] = await this.restoreCheckpoint(master, options);
    const local = await this.tryLocalInit(session);
    if (!isLoaded) return [session, false];
    const from = options.checkpointDir ?? options.checkpointFilenameWithPath;
    const model = local.isReady ? await this.modelReady(session) : local;
    if (!model.isReady) {
      log.info(`Restoring model from ${from} did not make model ready: ${model.why}`);
      return [session, false];
    }
    return [session, true];
  }

  /** A session once somebody else has made the model ready. */
  async waitForSession(
    master: string,
    options: { readonly config?: object | undefined; readonly maxWaitSecs?: number | null | undefined } = {},
  ): Promise<GraphSession> {
    const { config, maxWaitSecs } = onlyOptions('waitForSession', options, 'config', 'maxWaitSecs');
    const limit = maxWaitSecs ?? Number.POSITIVE_INFINITY;
    const begin = Date.now();
    for (;;) {
      const session = openSession({ target: master, graph: this.graph, config });
      let state = await this.tryLocalInit(session);
      if (state.isReady) state = await this.modelReady(session);
      if (state.isReady) return session;
      await session.close();
      if (limit - (Date.now() - begin) / 1000 - this.recoveryWaitSecs < 0)
        throw new DeadlineExceededError(`Session was not ready after waiting ${limit} secs. ${state.why}`);
      log.info(`Waiting for model to be ready.  ${state.why}`);
      await this.wait();
    }
  }

  private wait(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.recoveryWaitSecs * 1000));
  }

  private async restoreCheckpoint(master: string, options: RecoverOptions): Promise<[GraphSession, boolean]> {
    const { saver, checkpointDir, checkpointFilenameWithPath: path, waitForCheckpoint = false } = options;
    if (checkpointDir && path) throw userError('Can not provide both checkpointDir and checkpointFilenameWithPath.');
    const session = openSession({ target: master, graph: this.graph, config: options.config });
    try {
      if (!saver || !(checkpointDir || path)) return [session, false];
      if (path) {
        await this.restore(saver, session, path);
        return [session, true];
      }
      const folder = checkpointDir!;
      let state = getCheckpointState(folder);
      for (let waited = 0; !state?.model_checkpoint_path; waited += this.recoveryWaitSecs) {
        if (!waitForCheckpoint || waited >= (options.maxWaitSecs ?? 7200)) return [session, false];
        log.info('Waiting for checkpoint to be available.');
        await this.wait();
        state = getCheckpointState(folder);
      }
      await this.restore(saver, session, state.model_checkpoint_path);
      saver.recoverLastCheckpoints(state.all_model_checkpoint_paths);
      return [session, true];
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  private async restore(saver: Saver, session: GraphSession, path: string): Promise<void> {
    await saver.restore(session, path);
    log.info(`Restored model from ${path}`);
    for (const op of this.graph.getCollection('saved_model_initializers')) await session.run(op as Operation); // what the collection is for
  }

  private modelReady(session: GraphSession): Promise<Readiness> {
    return readiness(this.options.readyOp, session, 'Model not ready');
  }

  private async tryLocalInit(session: GraphSession): Promise<Readiness> {
    const { localInitOp, readyForLocalInitOp, localInitFeedDict, localInitRunOptions } = this.options;
    if (!localInitOp) return ready;
    const state = await readiness(readyForLocalInitOp, session, 'Model not ready for local init');
    if (state.isReady) await session.run(localInitOp, localInitFeedDict, { options: localInitRunOptions ?? {} });
    return state;
  }
}

async function readiness(op: Runnable | undefined, session: GraphSession, what: string): Promise<Readiness> {
  if (!op) return ready;
  try {
    const value: unknown = await session.run(op);
    if (!(value instanceof NDArray) || value.dtype === int32 || value.size === 0) return ready;
    const names = Array.from({ length: value.size }, (_, i) => String(value.at(i)));
    return { isReady: false, why: `Variables not initialized: ${names.join(', ')}` };
  } catch (error) {
    if (!(error instanceof FailedPreconditionError)) throw error;
    if (!error.message.includes('uninitialized')) {
      log.warn(`${what} : error [${error.message}]`);
      throw error;
    }
    return { isReady: false, why: error.message };
  }
}

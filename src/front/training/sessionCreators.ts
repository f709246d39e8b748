/** @file Session creators: how a monitored session gets its sessions, as the chief of a training or as one of its workers. */
import { getDefaultGraph } from '../../graph/graph.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { GraphSession } from '../../graph/sessions.ts';
import { Scaffold } from './scaffold.ts';
import { SessionManager } from './sessionManager.ts';

/** Makes sessions; called again when one was lost. */
export abstract class SessionCreator {
  abstract createSession(): Promise<GraphSession> | GraphSession;
}

export interface ChiefOptions {
  readonly scaffold?: Scaffold | undefined;
  readonly master?: string | undefined;
  readonly config?: object | undefined;
  readonly checkpointDir?: string | undefined;
  readonly checkpointFilenameWithPath?: string | undefined;
}

const managerFor = (scaffold: Scaffold): SessionManager =>
  new SessionManager({
    localInitOp: scaffold.localInitOp,
    localInitFeedDict: scaffold.localInitFeedDict,
    readyOp: scaffold.readyOp,
    readyForLocalInitOp: scaffold.readyForLocalInitOp,
    graph: getDefaultGraph(),
  });

/** Restores the latest checkpoint, or initializes the model. */
export class ChiefSessionCreator extends SessionCreator {
  private readonly options: ChiefOptions;
  private readonly scaffold: Scaffold;
  private manager: SessionManager | undefined;

  constructor(options: ChiefOptions = {}) {
    super();
    this.options = onlyOptions(
      'tf.train.ChiefSessionCreator',
      options,
      'scaffold',
      'master',
      'config',
      'checkpointDir',
      'checkpointFilenameWithPath',
    );
    this.scaffold = options.scaffold ?? new Scaffold();
  }

  override createSession(): Promise<GraphSession> {
    const { scaffold } = this;
    scaffold.finalize();
    this.manager ??= managerFor(scaffold);
    const { master, config, checkpointDir, checkpointFilenameWithPath } = this.options;
    return this.manager.prepareSession(master ?? '', {
      saver: scaffold.saver,
      checkpointDir,
      checkpointFilenameWithPath,
      config,
      initOp: scaffold.initOp,
      initFeedDict: scaffold.initFeedDict,
      initFn: scaffold.initFn,
    });
  }
}

export interface WorkerOptions {
  readonly scaffold?: Scaffold | undefined;
  readonly master?: string | undefined;
  readonly config?: object | undefined;
  /** How long the chief may take; half an hour unless given. */
  readonly maxWaitSecs?: number | undefined;
}

/** Waits until the chief has made the model ready. */
export class WorkerSessionCreator extends SessionCreator {
  private readonly options: WorkerOptions;
  private readonly scaffold: Scaffold;
  private manager: SessionManager | undefined;

  constructor(options: WorkerOptions = {}) {
    super();
    this.options = onlyOptions('tf.train.WorkerSessionCreator', options, 'scaffold', 'master', 'config', 'maxWaitSecs');
    this.scaffold = options.scaffold ?? new Scaffold();
  }

  override createSession(): Promise<GraphSession> {
    this.scaffold.finalize();
    this.manager ??= managerFor(this.scaffold);
    const { master, config, maxWaitSecs = 30 * 60 } = this.options;
    return this.manager.waitForSession(master ?? '', { config, maxWaitSecs });
  }
}

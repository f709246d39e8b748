/** @file CheckpointSaverHook: writes checkpoints while training goes on. */
import * as log from '../../core/logging.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { getDefaultGraph } from '../../graph/graph.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { GraphSession } from '../../graph/sessions.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { joinPath } from '../../io/paths.ts';
import { GraphKeys, getCollection } from '../collections.ts';
import type { Saver } from '../saver.ts';
import { exportMetaGraph } from '../saving/metaGraph.ts';
import { writeGraph } from '../saving/writeGraph.ts';
import { type FileWriter, FileWriterCache } from '../summary/fileWriter.ts';
import { SessionLog } from '../summary/messages.ts';
import { globalStepRead } from './globalStepRead.ts';
import { SessionRunArgs, type SessionRunContext, SessionRunHook, type SessionRunValues } from './sessionRunHook.ts';
import { SecondOrStepTimer } from './timer.ts';

type Maybe<T> = T | Promise<T>;

/** Is told before and after each checkpoint. Every method may be asynchronous, and none has to be written. */
export class CheckpointSaverListener {
  begin(): void {}
  beforeSave(_session: GraphSession, _globalStepValue: number): Maybe<void> {}
  /** True ends the training. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a listener that lets training go on need not return anything
  afterSave(_session: GraphSession, _globalStepValue: number): Maybe<boolean | void> {}
  end(_session: GraphSession, _globalStepValue: number): Maybe<void> {}
}

/** Where a hook finds the saver. */
export interface SaverSource {
  readonly saver: Saver | null | undefined;
}

export interface CheckpointSaverOptions {
  readonly saveSecs?: number | null | undefined;
  readonly saveSteps?: number | null | undefined;
  readonly saver?: Saver | undefined;
  readonly checkpointBasename?: string | undefined;
  readonly scaffold?: SaverSource | undefined;
  readonly listeners?: readonly CheckpointSaverListener[] | undefined;
  /** Whether the graph is stored beside the values. */
  readonly saveGraphDef?: boolean | undefined;
}

/** Writes a checkpoint at the begin, every so many steps or seconds, and at the end. */
export class CheckpointSaverHook extends SessionRunHook<NDArray> {
  private readonly options: CheckpointSaverOptions;
  private readonly timer: SecondOrStepTimer;
  private readonly savePath: string;
  private readonly listeners: readonly CheckpointSaverListener[];
  private readonly saveGraphDef: boolean;
  private writer: FileWriter | undefined;
  private step: Tensor | undefined;

  constructor(
    private readonly checkpointDir: string,
    options: CheckpointSaverOptions,
  ) {
    super();
    this.options = onlyOptions(
      'tf.train.CheckpointSaverHook',
      options,
      'saveSecs',
      'saveSteps',
      'saver',
      'checkpointBasename',
      'scaffold',
      'listeners',
      'saveGraphDef',
    );
    if (options.saver && options.scaffold) throw userError('You cannot provide both saver and scaffold.');
    this.savePath = joinPath(checkpointDir, options.checkpointBasename ?? 'model.ckpt');
    this.timer = new SecondOrStepTimer({ everySecs: options.saveSecs, everySteps: options.saveSteps });
    this.listeners = options.listeners ?? [];
    this.saveGraphDef = options.saveGraphDef ?? true;
  }

  override begin(): void {
    this.writer = FileWriterCache.get(this.checkpointDir);
    this.step = globalStepRead('CheckpointSaverHook');
    for (const listener of this.listeners) listener.begin();
  }

  override async afterCreateSession(session: GraphSession): Promise<void> {
    const step = Number(await session.run(this.step!));
    const graph = getDefaultGraph();
    const graphDef = graph.asGraphDef({ addShapes: true });
    if (this.saveGraphDef) writeGraph(graphDef, this.checkpointDir, 'graph.pbtxt');
    this.writer!.addGraph(graph);
    this.writer!.addMetaGraph(exportMetaGraph({ graphDef, saverDef: this.saver().saverDef }));
    await this.save(session, step);
    this.timer.updateLastTriggeredStep(step);
  }

  override beforeRun(): SessionRunArgs {
    return new SessionRunArgs(this.step);
  }

  override async afterRun(context: SessionRunContext, { results }: SessionRunValues<NDArray>): Promise<void> {
    // The step was read in the same run that may have raised it, so it is one behind at most.
    if (!this.timer.shouldTriggerForStep(Number(results) + 1)) return;
    const step = Number(await context.session.run(this.step!));
    if (!this.timer.shouldTriggerForStep(step)) return;
    this.timer.updateLastTriggeredStep(step);
    if (await this.save(context.session, step)) context.requestStop();
  }

  override async end(session: GraphSession): Promise<void> {
    const last = Number(await session.run(this.step!));
    if (last !== this.timer.lastTriggeredStep()) await this.save(session, last);
    for (const listener of this.listeners) await listener.end(session, last);
  }

  /** Writes a checkpoint; tells whether a listener wants the training to end. */
  private async save(session: GraphSession, step: number): Promise<boolean> {
    for (const listener of this.listeners) await listener.beforeSave(session, step);
    log.info(`Saving checkpoints for ${step} into ${this.savePath}.`);
    await this.saver().save(session, this.savePath, { globalStep: step, writeMetaGraph: this.saveGraphDef });
    this.writer!.addSessionLog({ status: SessionLog.CHECKPOINT, checkpointPath: this.savePath }, step);
    let shouldStop = false;
    for (const listener of this.listeners) {
      if (!(await listener.afterSave(session, step))) continue;
      log.info('A CheckpointSaverListener requested that training be stopped.');
      shouldStop = true;
    }
    return shouldStop;
  }

  private saver(): Saver {
    const given = this.options.saver ?? this.options.scaffold?.saver;
    if (given) return given;
    const savers = getCollection<Saver>(GraphKeys.SAVERS);
    if (savers.length === 0)
      throw userError(
        `No items in collection ${GraphKeys.SAVERS}. Please add a saver to the collection or provide a saver or scaffold.`,
      );
    if (savers.length > 1)
      throw userError(
        `More than one item in collection ${GraphKeys.SAVERS}. Please indicate which one to use by passing it to the constructor.`,
      );
    return savers[0]!;
  }
}

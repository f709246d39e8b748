/** @file ProfilerHook: records how long nodes take, every so many steps or seconds. */
import * as log from '../../core/logging.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { joinPath } from '../../io/paths.ts';
import { writeWhole } from '../saving/writeGraph.ts';
import { type FileWriter, FileWriterCache } from '../summary/fileWriter.ts';
import { globalStepRead } from './globalStepRead.ts';
import { SessionRunArgs, type SessionRunContext, SessionRunHook, type SessionRunValues } from './sessionRunHook.ts';
import { chromeTrace, type TraceOptions } from './timeline.ts';
import { SecondOrStepTimer } from './timer.ts';

/** TensorFlow's RunOptions.FULL_TRACE. */
const fullTrace = 3;

export interface ProfilerOptions {
  readonly saveSteps?: number | null | undefined;
  readonly saveSecs?: number | null | undefined;
  readonly outputDir?: string | undefined;
  /** Arrows from nodes to those that use their results in other rows; true unless given. */
  readonly showDataflow?: boolean | undefined;
  /** The sizes of results, and how much memory they take together; false unless given. */
  readonly showMemory?: boolean | undefined;
}

/** Traces a run now and then; writes `timeline-<step>.json` for Chrome's viewer, and the run's metadata for TensorBoard. */
export class ProfilerHook extends SessionRunHook<{ globalStep: NDArray }> {
  private readonly outputDir: string;
  private readonly trace: TraceOptions;
  private readonly timer: SecondOrStepTimer;
  private readonly writer: FileWriter;
  private step: Tensor | undefined;
  private nextStep: number | null = null;
  private isAsked = false;

  constructor(options: ProfilerOptions) {
    super();
    const { saveSteps, saveSecs, outputDir, showDataflow, showMemory } = onlyOptions(
      'tf.train.ProfilerHook',
      options,
      'saveSteps',
      'saveSecs',
      'outputDir',
      'showDataflow',
      'showMemory',
    );
    this.trace = { showDataflow, showMemory };
    this.outputDir = outputDir ?? '.';
    this.timer = new SecondOrStepTimer({ everySteps: saveSteps, everySecs: saveSecs });
    this.writer = FileWriterCache.get(this.outputDir);
  }

  override begin(): void {
    this.nextStep = null;
    this.step = globalStepRead('ProfilerHook');
  }
  override beforeRun(): SessionRunArgs {
    this.isAsked = this.nextStep !== null && this.timer.shouldTriggerForStep(this.nextStep);
    return new SessionRunArgs({ globalStep: this.step }, this.isAsked ? { options: { traceLevel: fullTrace } } : {});
  }
  override async afterRun(
    context: SessionRunContext,
    { results, runMetadata }: SessionRunValues<{ globalStep: NDArray }>,
  ): Promise<void> {
    const stale = Number(results.globalStep);
    if (this.nextStep === null) this.timer.updateLastTriggeredStep(stale);
    let step = stale + 1;
    if (this.isAsked) {
      step = Number(await context.session.run(this.step!));
      this.timer.updateLastTriggeredStep(step);
      const path = joinPath(this.outputDir, `timeline-${step}.json`);
      log.info(`Saving timeline for ${step} into '${path}'.`);
      writeWhole(path, chromeTrace(runMetadata, this.trace));
      this.writer.addRunMetadata(runMetadata, `step_${step}`);
    }
    this.nextStep = step + 1;
  }
}

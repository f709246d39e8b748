/** @file Hooks that write event files: summaries, and how fast steps go. */

import * as log from '../../core/logging.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { getGlobalStep } from '../globalStep.ts';
import { type FileWriter, FileWriterCache } from '../summary/fileWriter.ts';
import { SessionLog } from '../summary/messages.ts';
import { globalStepRead } from './globalStepRead.ts';
import { SessionRunArgs, type SessionRunContext, SessionRunHook, type SessionRunValues } from './sessionRunHook.ts';
import { SecondOrStepTimer } from './timer.ts';

/** Where a hook finds the summary that is wanted. */
export interface SummarySource {
  readonly summaryOp: Tensor | readonly Tensor[] | null | undefined;
}

export interface SummarySaverOptions {
  readonly saveSteps?: number | null | undefined;
  readonly saveSecs?: number | null | undefined;
  readonly outputDir?: string | undefined;
  readonly summaryWriter?: FileWriter | undefined;
  readonly scaffold?: SummarySource | undefined;
  readonly summaryOp?: Tensor | readonly Tensor[] | undefined;
}

/** Writes summaries every so many steps or seconds. */
export class SummarySaverHook extends SessionRunHook<{ globalStep: NDArray; summary?: NDArray[] }> {
  private readonly options: SummarySaverOptions;
  private readonly timer: SecondOrStepTimer;
  private writer: FileWriter | undefined;
  private step: Tensor | undefined;
  private nextStep: number | null = null;
  private isAsked = false;

  constructor(options: SummarySaverOptions) {
    super();
    this.options = onlyOptions(
      'tf.train.SummarySaverHook',
      options,
      'saveSteps',
      'saveSecs',
      'outputDir',
      'summaryWriter',
      'scaffold',
      'summaryOp',
    );
    if ((options.scaffold === undefined) === (options.summaryOp === undefined))
      throw userError('Exactly one of scaffold or summaryOp must be provided.');
    this.timer = new SecondOrStepTimer({ everySecs: options.saveSecs, everySteps: options.saveSteps });
    this.writer = options.summaryWriter;
  }

  override begin(): void {
    if (!this.writer && this.options.outputDir) this.writer = FileWriterCache.get(this.options.outputDir);
    this.nextStep = null;
    this.step = globalStepRead('SummarySaverHook');
  }

  override beforeRun(): SessionRunArgs {
    this.isAsked = this.nextStep === null || this.timer.shouldTriggerForStep(this.nextStep);
    const summary = this.isAsked ? this.summaries() : [];
    return new SessionRunArgs({ globalStep: this.step, ...(summary.length > 0 && { summary }) });
  }

  override async afterRun(
    context: SessionRunContext,
    { results }: SessionRunValues<{ globalStep: NDArray; summary?: NDArray[] }>,
  ): Promise<void> {
    if (!this.writer) return;
    const isFirst = this.nextStep === null;
    const step = this.isAsked ? Number(await context.session.run(this.step!)) : Number(results.globalStep) + 1;
    if (isFirst) this.writer.addSessionLog({ status: SessionLog.START }, step);
    if (this.isAsked) {
      this.timer.updateLastTriggeredStep(step);
      for (const summary of results.summary ?? []) this.writer.addSummary(summary, step);
    }
    this.nextStep = step + 1;
  }

  override async end(): Promise<void> {
    await this.writer?.flush();
  }

  private summaries(): readonly Tensor[] {
    const given = this.options.summaryOp ?? this.options.scaffold?.summaryOp ?? [];
    return isOne(given) ? [given] : given;
  }
}

const isOne = (x: Tensor | readonly Tensor[]): x is Tensor => 'op' in x;

export interface StepCounterOptions {
  readonly everyNSteps?: number | null | undefined;
  readonly everyNSecs?: number | null | undefined;
  readonly outputDir?: string | undefined;
  readonly summaryWriter?: FileWriter | undefined;
}

/** How often the hook complains that the step stands still. */
const mostComplaints = 5;

/** Writes how many steps there are in a second. */
export class StepCounterHook extends SessionRunHook<NDArray> {
  private readonly options: StepCounterOptions;
  private readonly timer: SecondOrStepTimer;
  private writer: FileWriter | undefined;
  private step: Tensor | undefined;
  private tag = '';
  private before: number | undefined;
  private complaints = 0;

  constructor(options: StepCounterOptions = {}) {
    super();
    this.options = onlyOptions(
      'tf.train.StepCounterHook',
      options,
      'everyNSteps',
      'everyNSecs',
      'outputDir',
      'summaryWriter',
    );
    const everySteps = options.everyNSteps === undefined ? 100 : options.everyNSteps;
    if ((everySteps === null) === ((options.everyNSecs ?? null) === null))
      throw userError('exactly one of everyNSteps and everyNSecs should be provided.');
    this.timer = new SecondOrStepTimer({ everySteps, everySecs: options.everyNSecs });
    this.writer = options.summaryWriter;
  }

  override begin(): void {
    if (!this.writer && this.options.outputDir) this.writer = FileWriterCache.get(this.options.outputDir);
    this.step = globalStepRead('StepCounterHook');
    this.tag = `${getGlobalStep()!.op.name}/sec`;
  }
  override beforeRun(): SessionRunArgs {
    return new SessionRunArgs(this.step);
  }
  override async afterRun(context: SessionRunContext, { results }: SessionRunValues<NDArray>): Promise<void> {
    const stale = Number(results);
    if (this.timer.shouldTriggerForStep(stale + 1)) {
      const step = Number(await context.session.run(this.step!));
      if (this.timer.shouldTriggerForStep(step)) this.record(step);
    }
    if (stale === this.before && this.complaints++ < mostComplaints)
      log.warn(
        `It seems that global step (tf.train.getGlobalStep) has not been increased. Current value (could be stable): ${stale} vs previous value: ${this.before}. You could increase the global step by passing tf.train.getGlobalStep() to optimizer.applyGradients or optimizer.minimize.`,
      );
    this.before = stale;
  }

  private record(step: number): void {
    const [seconds, steps] = this.timer.updateLastTriggeredStep(step);
    if (seconds === null || steps === null) return;
    // A clock of milliseconds may not have moved.
    const perSecond = steps / Math.max(seconds, 0.001);
    this.writer?.addSummary({ value: [{ tag: this.tag, simpleValue: perSecond }] }, step);
    log.info(`${this.tag}: ${Number(perSecond.toPrecision(6))}`);
  }
}

/** @file Hooks that watch a training loop: when to stop, what to print, what to feed. */
import { OutOfRangeError } from '../../core/errors.ts';
import * as log from '../../core/logging.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { getDefaultGraph } from '../../graph/graph.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Feeds } from '../../graph/runTypes.ts';
import type { GraphSession } from '../../graph/sessions.ts';
import { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { BaseVariable } from '../baseVariable.ts';
import { globalStepRead } from './globalStepRead.ts';
import { SessionRunArgs, type SessionRunContext, SessionRunHook, type SessionRunValues } from './sessionRunHook.ts';
import { type HookTimer, neverTimer, SecondOrStepTimer } from './timer.ts';

/** Stops after so many steps, or at a step. */
export class StopAtStepHook extends SessionRunHook<NDArray> {
  private step: Tensor | undefined;
  private readonly numSteps: number | undefined;
  private lastStep: number | undefined;

  constructor(options: { readonly numSteps?: number | undefined; readonly lastStep?: number | undefined }) {
    super();
    const { numSteps, lastStep } = onlyOptions('tf.train.StopAtStepHook', options, 'numSteps', 'lastStep');
    if (numSteps === undefined && lastStep === undefined)
      throw userError('One of numSteps or lastStep must be specified.');
    if (numSteps !== undefined && lastStep !== undefined)
      throw userError('Only one of numSteps or lastStep can be specified.');
    this.numSteps = numSteps;
    this.lastStep = lastStep;
  }

  override begin(): void {
    this.step = globalStepRead('StopAtStepHook');
  }
  override async afterCreateSession(session: GraphSession): Promise<void> {
    this.lastStep ??= Number(await session.run(this.step!)) + this.numSteps!;
  }
  override beforeRun(): SessionRunArgs {
    return new SessionRunArgs(this.step);
  }
  override async afterRun(context: SessionRunContext, { results }: SessionRunValues<NDArray>): Promise<void> {
    // The step was read in the same run that may have raised it, so it is one behind at most.
    if (Number(results) + 1 < this.lastStep!) return;
    if (Number(await context.session.run(this.step!)) >= this.lastStep!) context.requestStop();
  }
}

/** Thrown when the loss is no number any more. */
export class NanLossDuringTrainingError extends Error {
  constructor() {
    super('NaN loss during training.');
    this.name = 'NanLossDuringTrainingError';
  }
}

/** Ends training when a loss is no number. */
export class NanTensorHook extends SessionRunHook<NDArray> {
  constructor(
    private readonly lossTensor: unknown,
    private readonly options: { readonly failOnNanLoss?: boolean | undefined } = {},
  ) {
    super();
    onlyOptions('tf.train.NanTensorHook', options, 'failOnNanLoss');
  }
  override beforeRun(): SessionRunArgs {
    return new SessionRunArgs(this.lossTensor);
  }
  override afterRun(context: SessionRunContext, { results }: SessionRunValues<NDArray>): void {
    if (!results.numbers().some(Number.isNaN)) return;
    const message = 'Model diverged with loss = NaN.';
    if (this.options.failOnNanLoss ?? true) {
      log.error(message);
      throw new NanLossDuringTrainingError();
    }
    log.warn(message);
    context.requestStop();
  }
}

export interface LoggingTensorOptions {
  readonly everyNIter?: number | null | undefined;
  readonly everyNSecs?: number | null | undefined;
  /** Once more when the session ends. */
  readonly atEnd?: boolean | undefined;
  /** Makes the text of the values by their tags. */
  readonly formatter?: ((values: Readonly<Record<string, NDArray>>) => string) | undefined;
}

/** What can be printed: a tensor, a variable, or the name of a tensor. */
type Logged = Tensor | BaseVariable | string;

/** Prints tensors every so many runs or seconds. */
export class LoggingTensorHook extends SessionRunHook<Readonly<Record<string, NDArray>> | null> {
  private readonly tensors: readonly (readonly [tag: string, tensor: Logged])[];
  private readonly timer: HookTimer;
  private readonly options: LoggingTensorOptions;
  private fetches: Record<string, Tensor> = {};
  private runs = 0;
  private isAsked = false;

  /** `tensors` is a list, or a record by the tags to print; tensors may be given by name. */
  constructor(tensors: readonly Logged[] | Readonly<Record<string, Logged>>, options: LoggingTensorOptions = {}) {
    super();
    this.options = onlyOptions('tf.train.LoggingTensorHook', options, 'everyNIter', 'everyNSecs', 'atEnd', 'formatter');
    const everySteps = options.everyNIter ?? undefined;
    const everySecs = options.everyNSecs ?? undefined;
    const isOnlyAtEnd = options.atEnd === true && everySteps === undefined && everySecs === undefined;
    if (!isOnlyAtEnd && (everySteps === undefined) === (everySecs === undefined))
      throw userError('either atEnd and/or exactly one of everyNIter and everyNSecs must be provided.');
    if (everySteps !== undefined && everySteps <= 0) throw userError(`invalid everyNIter=${everySteps}.`);
    this.tensors = isList(tensors)
      ? tensors.map((tensor) => [String(tensor), tensor] as const)
      : Object.entries(tensors).sort(([a], [b]) => (a < b ? -1 : 1));
    this.timer = isOnlyAtEnd ? neverTimer : new SecondOrStepTimer({ everySteps, everySecs });
  }

  override begin(): void {
    this.timer.reset();
    this.runs = 0;
    this.fetches = Object.fromEntries(this.tensors.map(([tag, tensor]) => [tag, graphTensor(tensor)]));
  }
  override beforeRun(): SessionRunArgs | null {
    this.isAsked = this.timer.shouldTriggerForStep(this.runs);
    return this.isAsked ? new SessionRunArgs(this.fetches) : null;
  }
  override afterRun(_context: SessionRunContext, { results }: SessionRunValues<Record<string, NDArray> | null>): void {
    if (results && this.isAsked) this.print(results);
    this.runs++;
  }
  override async end(session: GraphSession): Promise<void> {
    if (this.options.atEnd) this.print(await session.run(this.fetches));
  }

  private print(values: Readonly<Record<string, NDArray>>): void {
    const [seconds] = this.timer.updateLastTriggeredStep(this.runs);
    const { formatter } = this.options;
    if (formatter) {
      log.info(formatter(values));
      return;
    }
    const stats = this.tensors.map(([tag]) => `${tag} = ${values[tag]}`).join(', ');
    log.info(seconds === null ? stats : `${stats} (${seconds.toFixed(3)} sec)`);
  }
}

const isList = (x: readonly Logged[] | Readonly<Record<string, Logged>>): x is readonly Logged[] => Array.isArray(x);

/** The tensor meant by a name, or itself, which must be of the default graph. */
function graphTensor(given: Logged): Tensor {
  const graph = getDefaultGraph();
  if (typeof given !== 'string') {
    const tensor = given instanceof BaseVariable ? given.asGraphElement() : given;
    if (!(tensor instanceof Tensor) || tensor.graph !== graph)
      throw userError(`Passed ${String(given)} should have graph attribute that is equal to current graph.`);
    return tensor;
  }
  if (given.includes(':')) return graph.getTensorByName(given);
  const { outputs } = graph.getOperationByName(given);
  if (outputs.length > 1)
    throw userError(`Name ${given} is ambiguous, as this \`Operation\` has multiple outputs (at least 2).`);
  return graph.getTensorByName(`${given}:0`);
}

/** Runs something once, when the session ends. */
export class FinalOpsHook extends SessionRunHook {
  private values: unknown = null;
  constructor(
    private readonly finalOps: unknown,
    private readonly options: { readonly finalOpsFeedDict?: Feeds | undefined } = {},
  ) {
    super();
    onlyOptions('tf.train.FinalOpsHook', options, 'finalOpsFeedDict');
  }
  /** The results, in the structure of what was run; null before. */
  get finalOpsValues(): unknown {
    return this.values;
  }
  override async end(session: GraphSession): Promise<void> {
    if (this.finalOps === null || this.finalOps === undefined) return;
    try {
      this.values = await session.run(this.finalOps as object, this.options.finalOpsFeedDict); // fetches are objects or names
    } catch (error) {
      if (error instanceof OutOfRangeError)
        log.warn(
          'The ops of a FinalOpsHook ran out of input: they read the data themselves. Let them depend on variables only, which the loop updates.',
        );
      throw error;
    }
  }
}

/** Feeds every run with what a function gives. */
export class FeedFnHook extends SessionRunHook {
  constructor(readonly feedFn: () => Feeds | Promise<Feeds>) {
    super();
  }
  override async beforeRun(): Promise<SessionRunArgs> {
    return new SessionRunArgs(null, { feedDict: await this.feedFn() });
  }
}

/** Seconds between two looks at the global step. */
const waitSecs = 0.5;

/** Holds a worker back until the others have made so many steps. */
export class GlobalStepWaiterHook extends SessionRunHook {
  private hasStarted = false;
  private step: Tensor | undefined;
  constructor(private readonly waitUntilStep: number) {
    super();
  }
  override begin(): void {
    this.hasStarted = false;
    this.step = globalStepRead('GlobalStepWaiterHook');
  }
  override async beforeRun(context: SessionRunContext): Promise<void> {
    if (this.hasStarted) return;
    if (this.waitUntilStep > 0) log.info(`Waiting for global step ${this.waitUntilStep} before starting training.`);
    let logged = 0;
    while (this.waitUntilStep > 0) {
      const current = Number(await context.session.run(this.step!));
      if (current >= this.waitUntilStep) break;
      if (current - logged > 1000) {
        log.info(`Waiting for global step ${this.waitUntilStep}. Current step is ${current}.`);
        logged = current;
      }
      await new Promise((resolve) => setTimeout(resolve, waitSecs * 1000));
    }
    this.hasStarted = true;
  }
}

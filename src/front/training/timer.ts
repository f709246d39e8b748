/** @file SecondOrStepTimer: whether it is time again, by the clock or by steps. */
import { onlyOptions } from '../../graph/options.ts';
import { userError } from '../../graph/userError.ts';

export interface TimerOptions {
  readonly everySecs?: number | null | undefined;
  readonly everySteps?: number | null | undefined;
}

/** What passed since the last time; nulls the first time. */
export type Elapsed = readonly [secs: number | null, steps: number | null];

/** What hooks ask of a timer. */
export interface HookTimer {
  reset(): void;
  shouldTriggerForStep(step: number): boolean;
  updateLastTriggeredStep(step: number): Elapsed;
  lastTriggeredStep(): number | null;
}

/** Triggers on the first step, and then every so many seconds or steps, at most once for each step. */
export class SecondOrStepTimer implements HookTimer {
  private last: { readonly step: number; readonly time: number } | null = null;
  private readonly everySecs: number | undefined;
  private readonly everySteps: number | undefined;

  constructor(options: TimerOptions = {}) {
    const { everySecs, everySteps } = onlyOptions('tf.train.SecondOrStepTimer', options, 'everySecs', 'everySteps');
    this.everySecs = everySecs ?? undefined;
    this.everySteps = everySteps ?? undefined;
    if (this.everySecs === undefined && this.everySteps === undefined)
      throw userError('Either everySecs or everySteps should be provided.');
    if (this.everySecs !== undefined && this.everySteps !== undefined)
      throw userError('Can not provide both everySecs and everySteps.');
  }

  reset(): void {
    this.last = null;
  }

  shouldTriggerForStep(step: number): boolean {
    if (this.last === null) return true;
    if (this.last.step === step) return false;
    if (this.everySecs !== undefined) return now() >= this.last.time + this.everySecs;
    return step >= this.last.step + this.everySteps!;
  }

  /** Remembers that it triggered; gives the seconds and steps since the time before. */
  updateLastTriggeredStep(step: number): Elapsed {
    const time = now();
    const { last } = this;
    this.last = { step, time };
    return last ? [time - last.time, step - last.step] : [null, null];
  }

  lastTriggeredStep(): number | null {
    return this.last?.step ?? null;
  }
}

/** Never triggers. */
export const neverTimer: HookTimer = {
  reset: () => {},
  shouldTriggerForStep: () => false,
  updateLastTriggeredStep: () => [null, null],
  lastTriggeredStep: () => null,
};

const now = () => Date.now() / 1000;

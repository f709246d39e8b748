/** @file Coordinator: lets tasks that run beside each other stop together, and hands on the first error among them. */
import { DeadlineExceededError, OutOfRangeError } from '../../core/errors.ts';
import { onlyOptions } from '../../graph/options.ts';
import { BackgroundTask, type Task, taskOf } from './task.ts';

type ErrorClass = abstract new (...args: never[]) => Error;

export interface CoordinatorOptions {
  /** Errors that mean a clean end and are not handed on; `[tf.errors.OutOfRangeError]` unless given. */
  readonly cleanStopExceptionTypes?: readonly ErrorClass[] | undefined;
}

export interface JoinOptions {
  /** How long tasks may go on after a stop was requested; 120 seconds unless given. */
  readonly stopGracePeriodSecs?: number | undefined;
  /** Tasks that still run after that are no error. */
  readonly ignoreLiveThreads?: boolean | undefined;
}

/**
 * Tells tasks when to stop. Each looks at `shouldStop()`; any may call `requestStop`, with an error if something went wrong;
 * `join` waits for all of them and throws that error.
 *
 * @example
 * const coord = new tf.train.Coordinator();
 * const work = coord.stopOnException(async () => { while (!coord.shouldStop()) await sess.run(enqueue); });
 * coord.requestStop();
 * await coord.join([work]);
 */
export class Coordinator {
  private readonly cleanStops: readonly ErrorClass[];
  private readonly waiting = new Set<() => void>();
  private readonly registered = new Set<Task>();
  private isStopping = false;
  private isJoined = false;
  private failure: { readonly error: unknown } | undefined;

  constructor(options: CoordinatorOptions = {}) {
    const { cleanStopExceptionTypes } = onlyOptions('tf.train.Coordinator', options, 'cleanStopExceptionTypes');
    this.cleanStops = cleanStopExceptionTypes ?? [OutOfRangeError];
  }

  /** Whether the tasks should end. */
  shouldStop(): boolean {
    return this.isStopping;
  }

  /** Whether `join` has ended. */
  get joined(): boolean {
    return this.isJoined;
  }

  /** Asks all tasks to end. The first error given, unless it means a clean end, is thrown by `join`. */
  requestStop(error?: unknown): void {
    const isClean = error === undefined || this.cleanStops.some((type) => error instanceof type);
    if (this.isJoined && !isClean) throw error;
    if (this.isStopping) return;
    if (!isClean) this.failure ??= { error };
    this.isStopping = true;
    for (const wake of this.waiting) wake();
    this.waiting.clear();
  }

  /** Makes the coordinator as new, for another round of tasks. */
  clearStop(): void {
    this.isJoined = false;
    this.failure = undefined;
    this.isStopping = false;
  }

  /** Runs `body`; an error that it throws requests a stop. */
  async stopOnException(body: () => unknown): Promise<void> {
    try {
      await body();
    } catch (error) {
      this.requestStop(error);
    }
  }

  /** Calls `callback` when a stop is requested, at once if it was. Gives a function that takes the callback away. */
  onStop(callback: () => void): () => void {
    if (this.isStopping) callback();
    else this.waiting.add(callback);
    return () => this.waiting.delete(callback);
  }

  /** Waits for a stop, or until the time is over; tells whether there was one. */
  async waitForStop(timeoutSecs?: number): Promise<boolean> {
    if (this.isStopping) return true;
    let forget = () => {};
    const stopped = new Promise<void>((resolve) => {
      forget = this.onStop(resolve);
    });
    if (timeoutSecs === undefined) await stopped;
    else await within(stopped, timeoutSecs);
    forget();
    return this.isStopping;
  }

  /** Has `join` wait for this task too. */
  registerThread(task: Task | Promise<unknown>): void {
    this.registered.add(taskOf(task, 'registered task'));
  }

  /** Waits until the tasks end by themselves or a stop is requested and they have followed it; throws the error reported. */
  async join(tasks: Iterable<Task | Promise<unknown>> = [], options: JoinOptions = {}): Promise<void> {
    const { stopGracePeriodSecs = 120, ignoreLiveThreads = false } = onlyOptions(
      'coord.join',
      options,
      'stopGracePeriodSecs',
      'ignoreLiveThreads',
    );
    const all = [...this.registered, ...Array.from(tasks, (task, i) => taskOf(task, `task ${i}`))];
    const ended = Promise.all(all.map((task) => task.ended));
    let forget = () => {};
    const stopped = new Promise<void>((resolve) => {
      forget = this.onStop(resolve);
    });
    await Promise.race([ended, stopped]);
    forget();
    await within(ended, stopGracePeriodSecs);
    this.isJoined = true;
    this.registered.clear();
    if (this.failure) throw this.failure.error;
    const stragglers = all.filter((task) => task.isAlive).map((task) => task.name);
    if (stragglers.length > 0 && !ignoreLiveThreads)
      throw new DeadlineExceededError(
        `Coordinator stopped with threads still running: ${stragglers.join(' ')}. They had ${stopGracePeriodSecs} s; give them more with stopGracePeriodSecs, or have them look at coord.shouldStop().`,
      );
  }

  /** Throws the error that was reported, if any. */
  raiseRequestedException(): void {
    if (this.failure) throw this.failure.error;
  }
}

/** Waits for a promise, but no longer than so many seconds. */
async function within(promise: Promise<unknown>, seconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, seconds * 1000);
  });
  await Promise.race([promise, expired]);
  clearTimeout(timer);
}

/**
 * Runs code again and again beside the rest, back to back or every so many seconds, until its coordinator stops. What it runs
 * is `target`, or the method `runLoop` of a class derived from this one.
 */
export class LooperThread implements Task {
  private readonly task: BackgroundTask;

  constructor(
    private readonly coord: Coordinator,
    /** Seconds from one begin to the next; `null` for no pause. */
    private readonly timerIntervalSecs: number | null,
    private readonly target: () => unknown = () => {},
  ) {
    this.task = new BackgroundTask(() => this.coord.stopOnException(() => this.loop()), { name: 'LooperThread' });
    coord.registerThread(this);
  }

  /** A looper that has been started. */
  static loop(coord: Coordinator, timerIntervalSecs: number | null, target: () => unknown): LooperThread {
    const looper = new LooperThread(coord, timerIntervalSecs, target);
    looper.start();
    return looper;
  }

  get name(): string {
    return this.task.name;
  }
  get isAlive(): boolean {
    return this.task.isAlive;
  }
  get ended(): Promise<void> {
    return this.task.ended;
  }

  start(): void {
    this.task.start();
  }

  /** Called once before the loop. */
  startLoop(): unknown {
    return undefined;
  }
  /** Called once after the loop. */
  stopLoop(): unknown {
    return undefined;
  }
  /** Called in each round. */
  runLoop(): unknown {
    return this.target();
  }

  private async loop(): Promise<void> {
    await this.startLoop();
    let next = Date.now();
    while (!(await this.turn(next))) {
      next += (this.timerIntervalSecs ?? 0) * 1000;
      await this.runLoop();
    }
    await this.stopLoop();
  }

  /** Waits for the next round; tells whether there is none. */
  private async turn(begin: number): Promise<boolean> {
    if (this.timerIntervalSecs !== null && begin > Date.now())
      return this.coord.waitForStop((begin - Date.now()) / 1000);
    // A loop without a pause must not keep the rest of the process from running.
    await new Promise(setImmediate);
    return this.coord.shouldStop();
  }
}

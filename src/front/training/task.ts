/** @file BackgroundTask: what a thread is in Python's training loops, here an asynchronous function that runs beside others. */

/** Something that a coordinator can wait for. */
export interface Task {
  readonly name: string;
  readonly isAlive: boolean;
  /** Settles when the task ends; it never rejects. */
  readonly ended: Promise<void>;
}

let made = 0;

export interface TaskOptions {
  readonly name?: string | undefined;
  /** Takes the error that ended the task; without it the error ends the process, as any that nobody handles. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** An asynchronous function under a name, begun by `start`. */
export class BackgroundTask implements Task {
  readonly name: string;
  readonly ended: Promise<void>;
  private state: 'new' | 'alive' | 'ended' = 'new';
  private settle: () => void = () => {};

  constructor(
    private readonly body: () => Promise<void> | void,
    private readonly options: TaskOptions = {},
  ) {
    this.name = options.name ?? `Task-${++made}`;
    this.ended = new Promise((resolve) => {
      this.settle = resolve;
    });
  }

  get isAlive(): boolean {
    return this.state === 'alive';
  }

  /** Begins to run, once; more calls do nothing. Gives the task itself. */
  start(): this {
    if (this.state !== 'new') return this;
    this.state = 'alive';
    void this.run();
    return this;
  }

  private async run(): Promise<void> {
    try {
      // Whoever starts a task goes on first, as with a thread.
      await null;
      await this.body();
    } catch (error) {
      if (!this.options.onError) throw error;
      this.options.onError(error);
    } finally {
      this.state = 'ended';
      this.settle();
    }
  }
}

/** A promise as a task, so that coordinators wait for either. It has a name for error messages only. */
export function taskOf(given: Task | Promise<unknown>, name: string): Task {
  if (!(given instanceof Promise)) return given;
  const state = { name, isAlive: true, ended: Promise.resolve() };
  const end = () => {
    state.isAlive = false;
  };
  state.ended = given.then(end, end);
  return state;
}

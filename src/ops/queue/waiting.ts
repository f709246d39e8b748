/** @file Attempts: calls that wait until something they share can serve them, in the order in which they came. */
import { CancelledError, type OpError } from '../../core/errors.ts';
import type { RunScope } from '../../program/instructions.ts';

/** What a line knows of those who wait in it. */
interface Waiter {
  readonly isOver: boolean;
  advance(): boolean;
  fail(error: OpError): void;
}

/** One call that may have to wait. */
export class Attempt<T> implements Waiter {
  private end: { readonly value: T } | { readonly error: OpError } | undefined;
  private wake = () => {};

  constructor(
    /** Does what can be done now, and ends the attempt if that is all. Tells whether anything was done. */
    private readonly step: (attempt: Attempt<T>) => boolean,
    private readonly ends: {
      /** Ends what must not be left half done, when the attempt is cancelled. */
      readonly beforeCancelling?: () => void;
      /** Undoes what was done, when the attempt is cancelled half-way. */
      readonly giveBack?: () => void;
    } = {},
  ) {}

  get isOver(): boolean {
    return this.end !== undefined;
  }

  advance(): boolean {
    return this.step(this);
  }

  /** Ends it as its run has ended, unless it can be brought to an end at once. Tells whether it was cancelled. */
  cancel(error: OpError): boolean {
    this.ends.beforeCancelling?.();
    if (this.isOver) return false;
    this.ends.giveBack?.();
    return this.fail(error);
  }

  succeed(value: T): true {
    this.end = { value };
    this.wake();
    return true;
  }

  fail(error: OpError): true {
    this.end = { error };
    this.wake();
    return true;
  }

  /** What came of it. */
  result(): T | Promise<T> {
    if (this.end) return this.settled();
    return new Promise((resolve, reject) => {
      this.wake = () => {
        const end = this.end!; // whoever wakes has set it
        if ('error' in end) reject(end.error);
        else resolve(end.value);
      };
    });
  }

  private settled(): T {
    const end = this.end!; // looked at by the caller
    if ('error' in end) throw end.error;
    return end.value;
  }
}

/** Attempts of one kind. Unless told otherwise, the first must be served before the next. */
export class WaitingLine {
  private attempts: Waiter[] = [];

  constructor(private readonly isInOrder = true) {}

  get isEmpty(): boolean {
    return this.attempts.length === 0;
  }

  /**
   * Queues up, and waits until the attempt is over or its run is to stop. `flush` advances every line that may be able to go
   * on, this one included.
   */
  join<T>(attempt: Attempt<T>, run: RunScope, flush: () => void, cancelled: string): T | Promise<T> {
    this.attempts.push(attempt);
    flush();
    if (attempt.isOver) return attempt.result();
    const pending = attempt.result() as Promise<T>; // it is not over
    const forget = run.stop.whenStopped(() => {
      if (attempt.isOver || !attempt.cancel(new CancelledError(cancelled))) return;
      this.attempts.splice(this.attempts.indexOf(attempt), 1);
      flush();
    });
    return pending.finally(forget);
  }

  /** Serves from the front as long as anything can be done; tells whether anything was. */
  advance(): boolean {
    if (!this.isInOrder) return this.advanceAll();
    let hasMoved = false;
    for (let first = this.attempts[0]; first; first = this.attempts[0]) {
      if (first.advance()) hasMoved = true;
      if (!first.isOver) break;
      this.attempts.shift();
    }
    return hasMoved;
  }

  private advanceAll(): boolean {
    let hasMoved = false;
    for (const attempt of this.attempts) if (attempt.advance()) hasMoved = true;
    if (hasMoved) this.attempts = this.attempts.filter((attempt) => !attempt.isOver);
    return hasMoved;
  }

  /** Ends all of them. */
  cancel(words: string): void {
    for (const attempt of this.attempts.splice(0)) attempt.fail(new CancelledError(words));
  }
}

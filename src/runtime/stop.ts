/** @file StopToken: the wish to stop a run, far lighter than an AbortController, since every run has one. */
import type { CancelSignal } from '../core/cancelSignal.ts';
import { CancelledError, DeadlineExceededError, type OpError } from '../core/errors.ts';

/** Set once, by whoever wants the run to stop; the run looks at it between steps and wakes from pending ones. */
export class StopToken {
  reason: OpError | undefined;
  private waiting: Set<(reason: OpError) => void> | undefined;

  stop(reason: OpError = new CancelledError('The run was cancelled.')): void {
    if (this.reason) return;
    this.reason = reason;
    for (const wake of this.waiting ?? []) wake(reason);
  }

  throwIfStopped(): void {
    if (this.reason) throw this.reason;
  }

  /** The promise, or a rejection as soon as the run is to stop: a step may take long, or never end by itself. */
  async unlessStopped<T>(pending: Promise<T>): Promise<T> {
    this.throwIfStopped();
    let forget = nothing;
    const stopped = new Promise<never>((_, reject) => {
      forget = this.whenStopped(reject);
    });
    try {
      return await Promise.race([pending, stopped]);
    } finally {
      forget();
    }
  }

  /** Calls `then` if the run is to stop, at once if it is already; the result takes that back. */
  whenStopped(then: (reason: OpError) => void): () => void {
    if (this.reason) {
      then(this.reason);
      return nothing;
    }
    const waiting = (this.waiting ??= new Set());
    waiting.add(then);
    return () => waiting.delete(then);
  }

  /** Also stops for a caller's signal or after some milliseconds; the returned function ends that. */
  listen(signal: CancelSignal | undefined, timeout: number | undefined): () => void {
    if (!signal && !timeout) return nothing;
    const stop = () => this.stop();
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop);
    const late = () =>
      this.stop(
        new DeadlineExceededError(
          `The run took longer than ${timeout} ms. Give it more with timeoutInMs, or operationTimeoutInMs of the session.`,
        ),
      );
    const timer = timeout ? setTimeout(late, timeout) : undefined;
    return () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    };
  }
}

const nothing = (): void => {};

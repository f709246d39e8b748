/**
 * @file Who may run, and where: at once, in pieces on this thread with turns of the event loop between them, or aside on another thread.
 *
 * To hand work to another thread and to hear of its end takes tenths of a millisecond when both must be woken, and the work finds its data in
 * another core's cache. So work of some milliseconds stays here as long as nobody else wants the event loop; who does finds it free after
 * every piece, and from then on for a while as a whole.
 */
import type { DeviceBuffer, RunSegment } from '../device.ts';

/** Estimated nanoseconds up to which a segment runs at once. */
const shortWork = 4e5;
/** Estimated nanoseconds up to which an instruction may be part of a piece. */
const shortInstruction = 2e6;
/** A piece ends with the first instruction that ends after so many nanoseconds. */
const pieceTime = 1.5e6;
/** Milliseconds: a turn of the event loop that takes longer is wanted by others. */
const busyTurn = 0.5;
/** Milliseconds for which pieces may hold one turn of the event loop: if they do for longer, they are too many, or slower than estimated. */
const longestHold = 8;
/** So many segments run aside before pieces are tried again. */
const pause = 16;

/** How a segment is best run. */
export type Length = 'short' | 'medium' | 'long';

/** The length of a segment whose instructions take so many nanoseconds. */
export function lengthOf(estimates: readonly number[]): Length {
  const all = estimates.reduce((sum, nanoseconds) => sum + nanoseconds, 0);
  if (all <= shortWork) return 'short';
  return Math.max(...estimates) <= shortInstruction ? 'medium' : 'long';
}

/** A segment that is compiled. */
export interface Runnable {
  readonly length: Length;
  readonly instructions: number;
  bind(bound: readonly DeviceBuffer[], options: RunSegment | undefined): void;
  /** Runs instructions from `first` on, for about so many nanoseconds; says which is next. */
  runHere(first: number, nanoseconds: number): number;
  /** Runs the instructions from `first` on elsewhere; `done` gets undefined or the error. */
  runAside(first: number, done: (error: unknown) => void): void;
  /** After the last instruction. */
  end(options: RunSegment | undefined): void;
}

/** A run that has its turn, or waits for it. Holding the buffers keeps them alive. */
interface Turn {
  readonly segment: Runnable;
  readonly bound: readonly DeviceBuffer[];
  readonly options: RunSegment | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Runs one segment at a time, in the order of the calls, so that all can share one arena. Whatever comes while one is under way
 * waits in a queue.
 */
export class Turns {
  readonly #queue: Turn[] = [];
  #busy = false;
  /** Segments that are still to run aside before the next may run in pieces. */
  #aside = 0;
  /** Milliseconds for which pieces have held this turn of the event loop. */
  #held = 0;

  /** Whether a segment is under way. */
  get isBusy(): boolean {
    return this.#busy;
  }

  /** What needs no turn of the event loop is done on return. */
  run(segment: Runnable, bound: readonly DeviceBuffer[], options: RunSegment | undefined): void | Promise<void> {
    if (this.#busy || !this.#staysHere(segment))
      return new Promise((resolve, reject) => {
        this.#queue.push({ segment, bound, options, resolve, reject });
        if (!this.#busy) this.#next();
      });
    const next = this.#begin(segment, bound, options);
    if (next === segment.instructions) return;
    return new Promise((resolve, reject) => this.#goOn({ segment, bound, options, resolve, reject }, next));
  }

  #staysHere({ length }: Runnable): boolean {
    return length === 'short' || (length === 'medium' && this.#aside === 0);
  }

  /** A short segment, or the first piece of one; says which instruction is next. */
  #begin(segment: Runnable, bound: readonly DeviceBuffer[], options: RunSegment | undefined): number {
    segment.bind(bound, options);
    if (segment.length !== 'short') return this.#piece(segment, 0, options);
    segment.runHere(0, Number.POSITIVE_INFINITY);
    segment.end(options);
    return segment.instructions;
  }

  #piece(segment: Runnable, first: number, options: RunSegment | undefined): number {
    const start = performance.now();
    const next = segment.runHere(first, pieceTime);
    this.#hold(performance.now() - start);
    if (next === segment.instructions) segment.end(options);
    return next;
  }

  #hold(milliseconds: number): void {
    if (this.#held === 0)
      setImmediate(() => {
        this.#held = 0;
      });
    this.#held += milliseconds;
    if (this.#held > longestHold) this.#aside = pause;
  }

  /** The pieces after the first, each in a turn of the event loop of its own. */
  #goOn(turn: Turn, first: number): void {
    this.#busy = true;
    const { segment, options } = turn;
    const left = performance.now();
    setImmediate(() => {
      if (performance.now() - left > busyTurn) {
        this.#aside = pause;
        this.#runAside(turn, first);
        return;
      }
      try {
        const next = this.#piece(segment, first, options);
        if (next === segment.instructions) this.#finish(turn, undefined);
        else this.#goOn(turn, next);
      } catch (error) {
        this.#finish(turn, error);
      }
    });
  }

  #runAside(turn: Turn, first: number): void {
    this.#busy = true;
    try {
      turn.segment.runAside(first, (error) => {
        if (error === undefined) turn.segment.end(turn.options);
        this.#finish(turn, error);
      });
    } catch (error) {
      this.#finish(turn, error);
    }
  }

  #finish({ resolve, reject }: Turn, error: unknown): void {
    this.#busy = false;
    if (error === undefined) resolve();
    else reject(error);
    this.#next();
  }

  /** Works through the queue until it is empty or a segment is under way. */
  #next(): void {
    for (let turn = this.#queue.shift(); turn; turn = this.#queue.shift()) {
      const { segment, bound, options } = turn;
      try {
        if (this.#staysHere(segment)) {
          const next = this.#begin(segment, bound, options);
          if (next === segment.instructions) {
            turn.resolve();
            continue;
          }
          this.#goOn(turn, next);
          return;
        }
        segment.bind(bound, options);
      } catch (error) {
        turn.reject(error);
        continue;
      }
      if (segment.length === 'medium') this.#aside--;
      this.#runAside(turn, 0);
      return;
    }
  }
}

/**
 * @file Who may run, and where: at once, in pieces on this thread with turns of the event loop between them, or aside on another thread.
 *
 * To hand work to another thread and to hear of its end takes tenths of a millisecond when both must be woken, and the work finds its data in
 * another core's cache. So work of some milliseconds stays here as long as nobody else wants the event loop; who does finds it free after
 * every piece, and from then on for a while as a whole.
 *
 * Segments of different runs that have nothing to do with each other run side by side, as many as there are processors: two that have
 * a thread each are done sooner than one after the other with two, for nobody waits for others inside of an instruction.
 */
import type { DeviceBuffer, RunSegment } from '../device.ts';

/** Estimated nanoseconds up to which a segment runs at once. */
const shortWork = 4e5;
/** Estimated nanoseconds up to which an instruction may be part of a piece. */
const shortInstruction = 2e6;
/** A piece ends with the first instruction that ends after so many nanoseconds. */
const pieceTime = 1.5e6;
/** The same for a stretch on another thread: a process that exits waits for what is under way there, but nobody begins the next. */
const stretchTime = 1e8;
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
  /** The bound buffers that it writes. */
  readonly written: readonly number[];
  bind(bound: readonly DeviceBuffer[], options: RunSegment | undefined): void;
  /** Runs instructions from `first` on, for about so many nanoseconds; says which is next. */
  runHere(first: number, nanoseconds: number): number;
  /** The same elsewhere; `done` gets the error, or undefined and which is next. */
  runAside(first: number, nanoseconds: number, done: (error: unknown, next: number) => void): void;
  /** After the last instruction, or the one that failed. */
  end(options: RunSegment | undefined): void;
}

/** A run that is under way, or waits. Holding the buffers keeps them alive. */
class Turn {
  #memory: ReadonlySet<bigint> | undefined;
  /** Of one that has to wait for something. */
  resolve: (() => void) | undefined;
  reject: ((error: unknown) => void) | undefined;

  constructor(
    readonly segment: Runnable,
    readonly bound: readonly DeviceBuffer[],
    readonly options: RunSegment | undefined,
    private readonly addressOf: (buffer: DeviceBuffer) => bigint,
  ) {}

  /** What its caller waits for. */
  get ended(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Whether one of the two writes what the other has bound. */
  sharesWith(other: Turn): boolean {
    return this.segment === other.segment || this.#writesTo(other) || other.#writesTo(this);
  }

  #writesTo(other: Turn): boolean {
    other.#memory ??= new Set(other.bound.map(this.addressOf));
    return this.segment.written.some((i) => other.#memory!.has(this.addressOf(this.bound[i]!)));
  }
}

/** Runs segments: those that share memory in the order of the calls, others side by side. */
export class Turns {
  /** Those that wait, in the order of the calls. */
  readonly #queue: Turn[] = [];
  readonly #underWay = new Set<Turn>();
  /** Segments that are still to run aside before the next may run in pieces. */
  #aside = 0;
  /** Milliseconds for which pieces have held this turn of the event loop. */
  #held = 0;

  constructor(
    /** So many may be under way at a time. */
    readonly most: number,
    private readonly addressOf: (buffer: DeviceBuffer) => bigint,
  ) {}

  /** Whether a segment is under way. */
  get isBusy(): boolean {
    return this.#underWay.size > 0;
  }

  /** What needs no turn of the event loop is done on return. */
  run(segment: Runnable, bound: readonly DeviceBuffer[], options: RunSegment | undefined): void | Promise<void> {
    const turn = new Turn(segment, bound, options, this.addressOf);
    if (this.#staysHere(segment) && this.#sharesWithNone(turn, this.#queue.length)) return this.#here(turn);
    const { ended } = turn;
    this.#queue.push(turn);
    this.#next();
    return ended;
  }

  #staysHere({ length }: Runnable): boolean {
    return length === 'short' || (length === 'medium' && this.#aside === 0 && !this.isBusy);
  }

  /** Whether it need wait neither for what is under way nor for the first `count` that wait. */
  #sharesWithNone(turn: Turn, count: number): boolean {
    for (const other of this.#underWay) if (other.sharesWith(turn)) return false;
    for (let i = 0; i < count; i++) if (this.#queue[i]!.sharesWith(turn)) return false;
    return true;
  }

  /** Runs a short segment, or the first piece of one. */
  #here(turn: Turn): void | Promise<void> {
    const { segment, options } = turn;
    segment.bind(turn.bound, options);
    let next = segment.instructions;
    try {
      if (segment.length === 'short') segment.runHere(0, Number.POSITIVE_INFINITY);
      else next = this.#piece(segment, 0);
    } finally {
      if (next === segment.instructions) segment.end(options);
    }
    if (next === segment.instructions) return;
    this.#underWay.add(turn);
    const { ended } = turn;
    this.#goOn(turn, next);
    return ended;
  }

  #piece(segment: Runnable, first: number): number {
    const start = performance.now();
    const next = segment.runHere(first, pieceTime);
    this.#hold(performance.now() - start);
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
    const left = performance.now();
    setImmediate(() => {
      if (this.#underWay.size > 1 || performance.now() - left > busyTurn) {
        this.#aside = pause;
        this.#runAside(turn, first);
        return;
      }
      try {
        const next = this.#piece(turn.segment, first);
        if (next === turn.segment.instructions) this.#finish(turn, undefined);
        else this.#goOn(turn, next);
      } catch (error) {
        this.#finish(turn, error);
      }
    });
  }

  #runAside(turn: Turn, first: number): void {
    const { segment } = turn;
    try {
      segment.runAside(first, stretchTime, (error, next) => {
        if (error !== undefined || next === segment.instructions) this.#finish(turn, error);
        else this.#runAside(turn, next);
      });
    } catch (error) {
      this.#finish(turn, error);
    }
  }

  #finish(turn: Turn, error: unknown): void {
    turn.segment.end(turn.options);
    this.#underWay.delete(turn);
    if (error === undefined) turn.resolve?.();
    else turn.reject?.(error);
    this.#next();
  }

  /** Begins what waits and need not wait any longer. */
  #next(): void {
    for (let i = 0; i < this.#queue.length; ) {
      const turn = this.#queue[i]!;
      const hasRoom = this.#underWay.size < this.most || this.#staysHere(turn.segment);
      if (!hasRoom || !this.#sharesWithNone(turn, i)) i++;
      else {
        this.#queue.splice(i, 1);
        this.#begin(turn);
      }
    }
  }

  #begin(turn: Turn): void {
    const { segment, resolve, reject } = turn;
    try {
      if (this.#staysHere(segment)) {
        const pending = this.#here(turn);
        if (pending) pending.then(resolve, reject);
        else resolve?.();
        return;
      }
      segment.bind(turn.bound, turn.options);
    } catch (error) {
      reject?.(error);
      return;
    }
    // Who finds company runs aside from then on.
    if (this.isBusy) this.#aside = pause;
    else if (segment.length === 'medium') this.#aside--;
    this.#underWay.add(turn);
    this.#runAside(turn, 0);
  }
}

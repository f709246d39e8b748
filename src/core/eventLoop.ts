/** @file Keeps the event loop free: long synchronous work asks here whether it should step aside. */

/** How long one turn of the event loop may be held, in milliseconds. */
const share = 4;
let turnStart: number | undefined;

/** A promise to wait for when this turn has been held long enough, else nothing. */
export function yieldIfLong(): Promise<void> | undefined {
  const now = performance.now();
  if (turnStart === undefined) {
    turnStart = now;
    setImmediate(() => {
      turnStart = undefined;
    });
    return undefined;
  }
  return now - turnStart < share ? undefined : new Promise((resolve) => setImmediate(resolve));
}

/** Work that yields wherever it may be interrupted. */
export type Work<T = void> = Generator<undefined, T>;

/** Does all of it now. */
export function finish<T>(work: Work<T>): T {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/** Does it piece by piece, with pauses for the event loop. */
export async function inTurns<T>(work: Work<T>): Promise<T> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value;
    const pause = yieldIfLong();
    if (pause) await pause;
  }
}

/**
 * Calls `step` with 0, 1 … `count` - 1, with pauses for the event loop. Gives nothing where they were few enough to be done at
 * once. After `atOnce` of them it is asked whether the event loop has waited long enough: they should take a tenth of a
 * millisecond or so.
 */
export function eachInTurns(count: number, step: (i: number) => void, atOnce = 512): Promise<void> | undefined {
  const few = Math.min(count, atOnce);
  for (let i = 0; i < few; i++) step(i);
  return few < count ? othersInTurns(few, count, step, atOnce) : undefined;
}

async function othersInTurns(from: number, count: number, step: (i: number) => void, atOnce: number): Promise<void> {
  for (let i = from; i < count; ) {
    const pause = yieldIfLong();
    if (pause) await pause;
    const end = Math.min(count, i + atOnce);
    for (; i < end; i++) step(i);
  }
}

/** Lets work that may take several turns have something to itself: one after the other, in the order they came. */
export class OneAtATime {
  /** Ends when all work that came so far has ended. */
  private busy: Promise<void> | undefined;

  run<T>(work: () => T | Promise<T>): T | Promise<T> {
    const result = this.busy ? this.busy.then(work) : work();
    if (!(result instanceof Promise)) return result;
    const leave = () => {
      if (this.busy === over) this.busy = undefined;
    };
    const over: Promise<void> = result.then(leave, leave);
    this.busy = over;
    return result;
  }
}

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

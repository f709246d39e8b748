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

/** @file Counts turns of the event loop, for tests of work that is done in turns. */
import { vi } from 'vitest';

/** How often the event loop comes round meanwhile, by a clock of which every question takes a millisecond. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  await new Promise(setImmediate); // what is remembered of this turn, by the usual clock, is forgotten
  let [time, turns, isRunning] = [performance.now(), 0, true];
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => ++time);
  const come = () => {
    turns++;
    if (isRunning) setImmediate(come);
  };
  setImmediate(come);
  await work();
  isRunning = false;
  await new Promise(setImmediate);
  clock.mockRestore();
  return turns;
}

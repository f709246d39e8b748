/** @file Where memory was last touched in a list of instructions, which tells what may change places in it. */
import { readsOf, writesOf } from './access.ts';
import type { Expr } from './expr.ts';
import { canFail } from './inspect.ts';
import { type Buffer, type DeviceInstruction, storageOf } from './instructions.ts';

export class Hazards {
  readonly #reads = new Map<object, number>();
  readonly #writes = new Map<object, number>();
  #lastFailing = -1;
  /** What is known of expressions, since one is asked about more than once. */
  readonly #failures = new Map<Expr, boolean>();

  /** Takes note of an instruction at a position; positions may come in any order. */
  note(i: DeviceInstruction, position: number): void {
    for (const v of readsOf(i)) later(this.#reads, storageOf(v.buffer), position);
    for (const v of writesOf(i)) later(this.#writes, storageOf(v.buffer), position);
    if (mayFail(i, this.#failures)) this.#lastFailing = Math.max(this.#lastFailing, position);
  }

  /** Whether something after a position writes a buffer's memory. */
  #writtenAfter(buffer: Buffer, position: number): boolean {
    return (this.#writes.get(storageOf(buffer)) ?? -1) > position;
  }
  #readAfter(buffer: Buffer, position: number): boolean {
    return (this.#reads.get(storageOf(buffer)) ?? -1) > position;
  }

  /**
   * Whether an instruction at the end may run right after the one at a position instead; or the other way round, one that
   * stands at a position at the end. Both ask for the same: that nothing in between has to do with it.
   */
  mayMove(i: DeviceInstruction, position: number): boolean {
    if (readsOf(i).some((v) => this.#writtenAfter(v.buffer, position))) return false;
    const writes = writesOf(i);
    if (writes.some((v) => this.#readAfter(v.buffer, position) || this.#writtenAfter(v.buffer, position))) return false;
    // What a failed run leaves behind must not depend on the order chosen here.
    return position >= this.#lastFailing || writes.every((v) => v.buffer.kind === 'temp');
  }
}

function later(positions: Map<object, number>, storage: object, position: number): void {
  const known = positions.get(storage);
  if (known === undefined || known < position) positions.set(storage, position);
}

/** Instructions that may stop the run, depending on data. */
export function mayFail(i: DeviceInstruction, known?: Map<Expr, boolean>): boolean {
  return (
    i.kind === 'check' ||
    i.kind === 'random' ||
    ((i.kind === 'gather' || i.kind === 'scatter') && i.bounds !== 'drop' && i.bounds !== 'zero') ||
    (i.kind === 'map' && i.results.some((r) => canFail(r, known))) ||
    (i.kind === 'reduce' && canFail(i.result, known))
  );
}

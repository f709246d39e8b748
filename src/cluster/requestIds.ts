/** @file Remembers the requests of late, so that one that a client sends twice is run once. */
import { AbortedError } from '../core/errors.ts';

const remembered = 65536;

export class RequestIds {
  private readonly seen = new Set<bigint>();

  /** Throws when a non-zero id was seen before. */
  checkNew(id: bigint, method: string): void {
    if (id === 0n) return;
    if (this.seen.has(id))
      throw new AbortedError(`The same ${method} (Master) request was received twice. request_id: ${id}`);
    this.seen.add(id);
    if (this.seen.size > remembered) for (const oldest of this.seen) return void this.seen.delete(oldest);
  }
}

/** @file Scratch memory of segments: as much as those of the last seconds wanted, for others may need the rest. */
import { ResourceExhaustedError } from '../../core/errors.ts';
import type { NativeLibrary } from './library.ts';

/** Milliseconds after which memory goes back to the system that no segment has wanted. */
const patience = 3000;

/** The memory of one segment at a time. */
export class Arena {
  #address = 0;
  #bytes = 0;
  /** The most that a segment has wanted since the last look. */
  #wanted = 0;
  #isInUse = false;

  constructor(private readonly library: Pick<NativeLibrary, 'allocate' | 'release'>) {}

  get isInUse(): boolean {
    return this.#isInUse;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The address of so many bytes, until `giveBack`. Their content is undefined. */
  take(bytes: number): bigint {
    this.#wanted = Math.max(this.#wanted, bytes);
    if (this.#bytes < bytes || this.#bytes === 0) {
      this.#release();
      const address = this.library.allocate(Math.max(1, bytes));
      if (address === 0) throw new ResourceExhaustedError(`the cpu device could not get ${bytes} bytes of memory`);
      [this.#address, this.#bytes] = [address, Math.max(1, bytes)];
    }
    this.#isInUse = true;
    return BigInt(this.#address);
  }

  giveBack(): void {
    this.#isInUse = false;
  }

  /** Lets go of memory of which less than half was wanted since the last look. */
  look(): void {
    // A segment that is under way still wants what it wanted when it began.
    if (this.#isInUse) return;
    if (this.#wanted < this.#bytes / 2) this.#release();
    this.#wanted = 0;
  }

  #release(): void {
    if (this.#bytes > 0) this.library.release(this.#address, this.#bytes);
    [this.#address, this.#bytes] = [0, 0];
  }
}

/** An arena for every segment that is under way; most of the time there is one. */
export class Arenas {
  readonly #all: Arena[] = [];
  #isWatched = false;

  constructor(private readonly library: Pick<NativeLibrary, 'allocate' | 'release'>) {}

  /** A free one: the smallest that is large enough, or else the largest, which then need not grow by much. */
  free(bytes: number): Arena {
    if (!this.#isWatched) this.#watch();
    let best: Arena | undefined;
    for (const arena of this.#all) {
      if (arena.isInUse) continue;
      if (!best || (best.bytes < bytes ? arena.bytes > best.bytes : arena.bytes >= bytes && arena.bytes < best.bytes))
        best = arena;
    }
    if (!best) this.#all.push((best = new Arena(this.library)));
    return best;
  }

  #watch(): void {
    this.#isWatched = true;
    setTimeout(() => {
      this.#isWatched = false;
      for (const arena of this.#all) arena.look();
      if (this.#all.some(({ bytes }) => bytes > 0)) this.#watch();
    }, patience).unref();
  }
}

/** @file The scratch memory that segments share: as much as those of the last seconds wanted, for others may need the rest. */
import { ResourceExhaustedError } from '../../core/errors.ts';
import type { NativeLibrary } from './library.ts';

/** Milliseconds after which memory goes back to the system that no segment has wanted. */
const patience = 3000;

export class Arena {
  #address = 0;
  #bytes = 0;
  /** The most that a segment has wanted since the last look. */
  #wanted = 0;
  #isWatched = false;

  constructor(
    private readonly library: Pick<NativeLibrary, 'allocate' | 'release'>,
    /** Whether a segment works in it. */
    private readonly isInUse: () => boolean,
  ) {}

  /** The address of so many bytes, until the next call. Their content is undefined. */
  take(bytes: number): bigint {
    this.#wanted = Math.max(this.#wanted, bytes);
    if (this.#bytes < bytes || this.#bytes === 0) {
      this.#release();
      const address = this.library.allocate(Math.max(1, bytes));
      if (address === 0) throw new ResourceExhaustedError(`the cpu device could not get ${bytes} bytes of memory`);
      [this.#address, this.#bytes] = [address, Math.max(1, bytes)];
    }
    if (!this.#isWatched) this.#watch();
    return BigInt(this.#address);
  }

  #watch(): void {
    this.#isWatched = true;
    setTimeout(() => {
      this.#isWatched = false;
      // A segment that is under way still wants what it wanted when it began.
      if (!this.isInUse()) {
        if (this.#wanted < this.#bytes / 2) this.#release();
        this.#wanted = 0;
      }
      if (this.#bytes > 0) this.#watch();
    }, patience).unref();
  }

  #release(): void {
    if (this.#bytes > 0) this.library.release(this.#address);
    [this.#address, this.#bytes] = [0, 0];
  }
}

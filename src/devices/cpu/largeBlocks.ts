/**
 * @file Large blocks of memory, used again once no array lies over them any more.
 *
 * Fresh memory costs several times what writing to it costs, as the system hands out and clears every page. So the memory of
 * large results does not go back to the system with the arrays over it, but is kept for a while for the next results.
 */
import { markAsUntransferable } from 'node:worker_threads';
import { ResourceExhaustedError } from '../../core/errors.ts';
import type { NativeLibrary } from './library.ts';

/** Milliseconds for which a block waits to be used again. */
const patience = 3000;
/** How much larger than needed a block may be. */
const slack = 1.25;

interface Block {
  readonly address: number;
  readonly bytes: number;
  idleSince: number;
}

/** An array buffer that was given back, with its block. */
interface Returned {
  readonly memory: ArrayBuffer;
  readonly block: Block;
}

export class LargeBlocks {
  /** Blocks that nobody uses, the longest unused first. */
  readonly #idle: Block[] = [];
  /** Tells of array buffers that are gone. */
  readonly #gone = new FinalizationRegistry<Block>((block) => this.#take(block));
  /** The blocks under array buffers that are in use. */
  readonly #blocks = new WeakMap<ArrayBufferLike, Block>();
  /** Array buffers that were given back: a new one over the same block would be more work for the garbage collector. */
  readonly #returned: Returned[] = [];
  #trimming = false;

  constructor(private readonly library: NativeLibrary) {}

  /** Memory of undefined content. */
  allocate(bytes: number): { memory: ArrayBuffer; address: bigint } {
    const at = this.#returned.findLastIndex(({ memory }) => memory.byteLength === bytes);
    if (at >= 0) {
      const { memory, block } = this.#returned.splice(at, 1)[0]!;
      this.#blocks.set(memory, block);
      return { memory, address: BigInt(block.address) };
    }
    const block = this.#reuse(bytes) ?? this.#fresh(bytes);
    const memory = this.library.over(block.address, bytes);
    // Sent to another thread it would outlive the buffer that is watched here.
    markAsUntransferable(memory);
    this.#gone.register(memory, block);
    this.#blocks.set(memory, block);
    return { memory, address: BigInt(block.address) };
  }

  /** Memory that its only user will not use again; of other memory nothing is known and nothing happens. */
  takeBack(memory: ArrayBufferLike): void {
    const block = this.#blocks.get(memory);
    if (!block || !(memory instanceof ArrayBuffer)) return;
    this.#blocks.delete(memory);
    block.idleSince = performance.now();
    this.#returned.push({ memory, block });
    this.#trimLater();
  }

  #reuse(bytes: number): Block | undefined {
    // The block used last is the likeliest to be in a cache.
    const at = this.#idle.findLastIndex((b) => b.bytes >= bytes && b.bytes <= bytes * slack);
    return at < 0 ? undefined : this.#idle.splice(at, 1)[0];
  }

  #fresh(bytes: number): Block {
    const address = this.library.allocate(bytes);
    if (address === 0) throw new ResourceExhaustedError(`the cpu device could not get ${bytes} bytes of memory`);
    return { address, bytes, idleSince: 0 };
  }

  #take(block: Block): void {
    block.idleSince = performance.now();
    this.#idle.push(block);
    this.#trimLater();
  }

  #trimLater(): void {
    if (this.#trimming) return;
    this.#trimming = true;
    setTimeout(() => {
      this.#trimming = false;
      const limit = performance.now() - patience;
      while (this.#idle.length > 0 && this.#idle[0]!.idleSince <= limit)
        this.library.release(this.#idle.shift()!.address);
      // The garbage collector sees to these, and then they are idle.
      while (this.#returned.length > 0 && this.#returned[0]!.block.idleSince <= limit) this.#returned.shift();
      if (this.#idle.length + this.#returned.length > 0) this.#trimLater();
    }, patience).unref();
  }
}

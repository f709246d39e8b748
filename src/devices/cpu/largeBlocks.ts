/**
 * @file Large blocks of memory, used again once nobody holds them any more.
 *
 * Fresh memory costs several times what writing to it costs, as the system hands out and clears every page. So the memory of
 * large results does not go back to the system with the arrays over it, but is kept for a while for the next results.
 *
 * An array buffer costs even more: V8 counts every byte under one and collects garbage when 64 MB have come. So a block has
 * one only from when somebody wants to see it, and V8 hears of the others many at a time.
 */
import { markAsUntransferable } from 'node:worker_threads';
import { ResourceExhaustedError } from '../../core/errors.ts';
import type { NativeLibrary } from './library.ts';

/** Milliseconds for which a block waits to be used again. */
const patience = 3000;
/** How much larger than needed a block may be. */
const slack = 1.25;
/** So many bytes of blocks come into use before V8 hears of them, and looks which of them are in use no longer. */
const mostUntold = 2 ** 29;
/** Fewer bytes would not make V8 look. */
const leastTold = 2 ** 26;
/** The address of memory that is not there. */
const nowhere = 2 ** 12;

interface Block {
  readonly address: number;
  readonly bytes: number;
  idleSince: number;
}

/** A block in use, until both this and the array buffer over it are gone. */
export class LargeBlock {
  #memory: ArrayBuffer | undefined;
  constructor(
    readonly address: number,
    readonly bytes: number,
    private readonly show: (block: LargeBlock) => ArrayBuffer,
  ) {}

  get isSeen(): boolean {
    return this.#memory !== undefined;
  }
  /** How many bytes there are; none, once the array buffer was detached. */
  get byteLength(): number {
    return this.#memory ? this.#memory.byteLength : this.bytes;
  }
  /** The array buffer over it. */
  get memory(): ArrayBuffer {
    this.#memory ??= this.show(this);
    return this.#memory;
  }
}

function refuseToMove(): never {
  throw new TypeError('the memory of a large result cannot be moved; copy it with slice()');
}

/** Keeps blocks as long as the array buffers over them. */
const blocksUnder = new WeakMap<ArrayBufferLike, LargeBlock>();

export class LargeBlocks {
  /** Blocks that nobody uses, the longest unused first. */
  readonly #idle: Block[] = [];
  /** Tells of blocks that nobody has any more. */
  readonly #gone = new FinalizationRegistry<Block>((block) => this.#take(block));
  readonly #inUse = new WeakMap<LargeBlock, Block>();
  /** What was given back: a new array buffer over the same block would be more work for the garbage collector. */
  readonly #returned: { readonly given: LargeBlock; readonly block: Block }[] = [];
  /** Bytes that came into use and that V8 knows nothing of, and how many there were some time ago. */
  #untold = 0;
  #untoldBefore = 0;
  #trimming = false;

  constructor(private readonly library: NativeLibrary) {}

  /** Memory of undefined content. */
  allocate(bytes: number): LargeBlock {
    const at = this.#returned.findLastIndex(({ given }) => given.bytes === bytes);
    if (at >= 0) {
      const { given, block } = this.#returned.splice(at, 1)[0]!;
      this.#inUse.set(given, block);
      return given;
    }
    const block = this.#reuse(bytes) ?? this.#fresh(bytes);
    const given = new LargeBlock(block.address, bytes, this.#show);
    this.#gone.register(given, block);
    this.#inUse.set(given, block);
    this.#untold += bytes;
    if (this.#untold > mostUntold) this.#tell();
    if (this.#untold >= leastTold) this.#trimLater();
    return given;
  }

  /** Memory that its only user will not use again; of other memory nothing is known and nothing happens. */
  takeBack(memory: LargeBlock | ArrayBufferLike): void {
    const given = memory instanceof LargeBlock ? memory : blocksUnder.get(memory);
    const block = given && this.#inUse.get(given);
    if (!block) return;
    this.#inUse.delete(given);
    block.idleSince = performance.now();
    this.#returned.push({ given, block });
    this.#trimLater();
  }

  readonly #show = (block: LargeBlock): ArrayBuffer => {
    const memory = this.library.over(block.address, block.bytes);
    // Moved to another array buffer, or to another thread, the memory would outlive the block that is watched here.
    markAsUntransferable(memory);
    for (const name of ['transfer', 'transferToFixedLength'])
      Object.defineProperty(memory, name, { value: refuseToMove });
    blocksUnder.set(memory, block);
    this.#untold = Math.max(0, this.#untold - block.bytes);
    return memory;
  };

  /** Lets V8 believe that all these bytes have come just now, by an array buffer that nobody ever has. */
  #tell(): void {
    this.library.over(nowhere, this.#untold);
    this.#untold = 0;
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
      while (this.#idle.length > 0 && this.#idle[0]!.idleSince <= limit) {
        const { address, bytes } = this.#idle.shift()!;
        this.library.release(address, bytes);
      }
      while (this.#returned.length > 0 && this.#returned[0]!.block.idleSince <= limit) this.#drop();
      // Where no more blocks come into use, nothing else would make V8 look.
      if (this.#untold >= leastTold && this.#untold === this.#untoldBefore) this.#tell();
      this.#untoldBefore = this.#untold;
      if (this.#idle.length + this.#returned.length > 0 || this.#untold >= leastTold) this.#trimLater();
    }, patience).unref();
  }

  /** Leaves what was given back first to the garbage collector; then it is idle. */
  #drop(): void {
    const { given } = this.#returned.shift()!;
    if (!given.isSeen) this.#untold += given.bytes;
  }
}

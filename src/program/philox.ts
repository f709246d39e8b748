/** @file The generator Philox4x32-10: a counter and a key give a block of four random words. */

/** The upper 32 bits of a product of two uint32. */
function highProduct(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const carry = aLow * bHigh + (middle & 0xffff);
  return aHigh * bHigh + Math.floor(middle / 0x10000) + Math.floor(carry / 0x10000);
}

function counterOf(state: DataView, at: number): bigint {
  return state.getBigUint64(at, true) | (state.getBigUint64(at + 8, true) << 64n);
}

/** A stream of words read from a 24-byte state: the counter (16 bytes), then the key (8 bytes), little-endian. */
export class Philox {
  readonly #key: [number, number];
  readonly #start: bigint;
  #counter: bigint;
  readonly #block = new Uint32Array(4);
  #used = 4;

  constructor(state: DataView, at: number) {
    this.#start = counterOf(state, at);
    this.#counter = this.#start;
    this.#key = [state.getUint32(at + 16, true), state.getUint32(at + 20, true)];
  }

  /** Goes to the given block after the state's own, dropping what is left of the current one. */
  seek(block: number): void {
    this.#counter = this.#start + BigInt(block);
    this.#used = 4;
  }

  /** The next word. */
  next(): number {
    if (this.#used === 4) {
      this.#fill();
      this.#used = 0;
    }
    return this.#block[this.#used++]!;
  }

  /** A fresh block of four words. */
  nextBlock(): Uint32Array {
    this.#fill();
    this.#used = 4;
    return this.#block;
  }

  #fill(): void {
    let c0 = Number(this.#counter & 0xffffffffn);
    let c1 = Number((this.#counter >> 32n) & 0xffffffffn);
    let c2 = Number((this.#counter >> 64n) & 0xffffffffn);
    let c3 = Number((this.#counter >> 96n) & 0xffffffffn);
    let [k0, k1] = this.#key;
    for (let round = 0; round < 10; round++) {
      const high0 = highProduct(0xd2511f53, c0);
      const high2 = highProduct(0xcd9e8d57, c2);
      const low0 = Math.imul(0xd2511f53, c0) >>> 0;
      const low2 = Math.imul(0xcd9e8d57, c2) >>> 0;
      c0 = (high2 ^ c1 ^ k0) >>> 0;
      c1 = low2;
      c2 = (high0 ^ c3 ^ k1) >>> 0;
      c3 = low0;
      k0 = (k0 + 0x9e3779b9) >>> 0;
      k1 = (k1 + 0xbb67ae85) >>> 0;
    }
    this.#block.set([c0, c1, c2, c3]);
    this.#counter++;
  }
}

/** Adds `blocks` to the 128-bit counter of a state. */
export function advance(state: DataView, at: number, blocks: number): void {
  const moved = counterOf(state, at) + BigInt(blocks);
  state.setBigUint64(at, BigInt.asUintN(64, moved), true);
  state.setBigUint64(at + 8, BigInt.asUintN(64, moved >> 64n), true);
}

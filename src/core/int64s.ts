/** @file Whole numbers of 64 bits as plain numbers: bigints cost an object each. */

const high = 2 ** 32;

/** int64 elements that are read and written as numbers; those beyond 2^53 are rounded, as `Number` rounds a bigint. */
export class Int64s {
  private readonly words: Int32Array;
  readonly data: BigInt64Array;

  /** Zeros, or elements that are there already. */
  constructor(given: number | BigInt64Array) {
    this.data = typeof given === 'number' ? new BigInt64Array(given) : given;
    this.words = new Int32Array(this.data.buffer, this.data.byteOffset, 2 * this.data.length);
  }

  at(i: number): number {
    return (this.words[2 * i]! >>> 0) + this.words[2 * i + 1]! * high; // all processors that run Node.js have the low word first
  }

  /** Writes a whole number. */
  set(i: number, value: number): void {
    this.words[2 * i] = value; // modulo 2^32
    this.words[2 * i + 1] = Math.floor(value / high);
  }
}

/** @file The words that programs of the native library consist of. */

/** 64-bit words, written as pairs of 32-bit halves: bigints would cost more than all the rest of encoding. */
export class Words {
  #halves = new Int32Array(1024);
  #length = 0;

  push(...values: readonly number[]): void {
    for (const value of values) this.#pair(value | 0, Math.floor(value / 2 ** 32));
  }
  pushBig(value: bigint): void {
    this.#pair(Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n)));
  }
  pushDouble(value: number): void {
    double[0] = value;
    this.#pair(doubleHalves[0]!, doubleHalves[1]!);
  }
  #pair(low: number, high: number): void {
    this.#half(low);
    this.#half(high);
  }
  #half(half: number): void {
    if (this.#length === this.#halves.length) {
      const longer = new Int32Array(2 * this.#halves.length);
      longer.set(this.#halves);
      this.#halves = longer;
    }
    this.#halves[this.#length++] = half;
  }
  /** Other words, after their count. */
  pushAll(words: Words): void {
    this.push(words.#length / 2);
    for (const half of words.all) this.#half(half);
  }
  get all(): Int32Array {
    return this.#halves.subarray(0, this.#length);
  }
}
const double = new Float64Array(1);
const doubleHalves = new Int32Array(double.buffer);

/** @file Huffman tables of JPEG files and the bits of a scan. */
import { InvalidArgumentError } from '../../core/errors.ts';

/** Codes up to this long are found in one step. */
const quickBits = 9;

/** A Huffman code as a file gives it: how many codes there are of each length, and their symbols in order. */
export class HuffmanTable {
  /** For the next bits: code length and symbol, or 0 where the code is longer. */
  readonly quick = new Uint16Array(1 << quickBits);
  /** Largest code of each length, or -1; beyond the end it is larger than any code. */
  readonly maxCode = new Int32Array(18);
  /** What to add to a code of a length to get the place of its symbol. */
  readonly offset = new Int32Array(17);

  constructor(
    counts: Uint8Array,
    readonly symbols: Uint8Array,
  ) {
    let code = 0;
    let place = 0;
    this.maxCode.fill(-1);
    for (let length = 1; length <= 16; length++) {
      const count = counts[length - 1]!;
      this.offset[length] = place - code;
      for (let i = 0; i < count; i++, code++, place++) {
        if (code >= 1 << length)
          throw new InvalidArgumentError('Invalid JPEG data: a Huffman table has too many codes.');
        if (length > quickBits) continue;
        const entry = (length << 8) | symbols[place]!;
        const from = code << (quickBits - length);
        this.quick.fill(entry, from, from + (1 << (quickBits - length)));
      }
      if (count > 0) this.maxCode[length] = code - 1;
      code <<= 1;
    }
    this.maxCode[17] = 0xfffff;
  }
}

/** Thrown where the bytes end in the middle of a scan. */
export class OutOfBytes extends Error {}

/**
 * The bits of a scan. At a marker it stays there and gives zeros, as libjpeg does; at the end of the bytes it throws
 * `OutOfBytes`, or gives zeros as well where a cut-off file is to be recovered.
 */
export class BitReader {
  private buffer = 0;
  private count = 0;
  /** A marker has been met: from now on there are zeros only. */
  marker = 0;
  /** Zeros have been given instead of data. */
  starved = false;

  constructor(
    readonly bytes: Uint8Array,
    public at: number,
    private readonly recover: boolean,
  ) {}

  /** Reads ahead, and makes sure of `needed` bits. */
  private fill(needed: number): void {
    const { bytes } = this;
    while (this.count <= 24) {
      let next = 0;
      if (this.marker === 0) {
        if (this.at >= bytes.length) {
          if (!this.recover) {
            if (this.count >= needed) return;
            throw new OutOfBytes();
          }
          this.marker = 0xd9;
          continue;
        }
        next = bytes[this.at++]!;
        if (next === 0xff) {
          let after = this.at;
          while (bytes[after] === 0xff) after++;
          const code = bytes[after];
          if (code === 0) this.at = after + 1;
          else if (code === undefined) {
            this.at = bytes.length;
            continue;
          } else {
            this.marker = code;
            this.at = after + 1;
            continue;
          }
        }
      } else if (this.count >= needed) return;
      else this.starved = true;
      this.buffer = (this.buffer << 8) | next;
      this.count += 8;
    }
  }

  /** The next bits as a number; at most 16. */
  bits(count: number): number {
    if (this.count < count) this.fill(count);
    this.count -= count;
    return (this.buffer >>> this.count) & ((1 << count) - 1);
  }

  bit(): number {
    if (this.count < 1) this.fill(1);
    return (this.buffer >>> --this.count) & 1;
  }

  /** The next symbol of a code. A code that does not exist counts as symbol 0, as in libjpeg. */
  symbol(table: HuffmanTable): number {
    if (this.count < 16) this.fill(0); // looks ahead without asking for more than there is
    if (this.count >= quickBits) {
      const entry = table.quick[(this.buffer >>> (this.count - quickBits)) & ((1 << quickBits) - 1)]!;
      if (entry !== 0) {
        this.count -= entry >> 8;
        return entry & 255;
      }
    }
    let length = 1;
    let code = this.bit();
    while (length <= 16 && code > table.maxCode[length]!) {
      code = (code << 1) | this.bit();
      length++;
    }
    return length > 16 ? 0 : (table.symbols[code + table.offset[length]!] ?? 0);
  }

  /** A number whose size is known, where a leading 0 means negative. */
  signed(size: number): number {
    if (size === 0) return 0;
    const value = this.bits(size);
    return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
  }

  /** Goes on after the restart marker `number`; the rules for a wrong marker are libjpeg's. */
  restart(number: number): void {
    this.buffer = 0;
    this.count = 0;
    const { bytes } = this;
    for (;;) {
      if (this.marker === 0) {
        while (
          this.at < bytes.length &&
          !(bytes[this.at] === 0xff && (bytes[this.at + 1] ?? 0) > 0 && bytes[this.at + 1] !== 0xff)
        )
          this.at++;
        if (this.at + 1 >= bytes.length) {
          if (!this.recover) throw new OutOfBytes();
          this.marker = 0xd9;
          return;
        }
        this.marker = bytes[this.at + 1]!;
        this.at += 2;
      }
      const distance = this.marker >= 0xd0 && this.marker <= 0xd7 ? (this.marker - 0xd0 - number) & 7 : -1;
      if (distance === 0 || (distance > 2 && distance < 6)) break;
      // A marker that comes later, or none of restarting: there are zeros until it is due.
      if (distance === 1 || distance === 2 || (distance < 0 && this.marker >= 0xc0)) return;
      this.marker = 0;
    }
    this.marker = 0;
    this.starved = false;
  }
}

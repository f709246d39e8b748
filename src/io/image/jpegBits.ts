/** @file Writing the coefficients of a JPEG file as bits. */
import { zigzag } from './jpegFrame.ts';
import { type HuffmanCode, optimalCode } from './jpegTables.ts';

/** Something that takes symbols of a Huffman code and plain bits: a file, or a count of how often each symbol comes. */
export interface SymbolSink {
  symbol(table: number, symbol: number): void;
  bits(value: number, count: number): void;
}

/** Counts symbols, to make codes to measure. */
export class SymbolCounter implements SymbolSink {
  private readonly frequencies: Int32Array[];
  /** What others have counted may be given, table by table. */
  constructor(counted: readonly Int32Array[] = []) {
    this.frequencies = [...counted];
  }

  symbol(table: number, symbol: number): void {
    const counts = (this.frequencies[table] ??= new Int32Array(257));
    counts[symbol] = counts[symbol]! + 1;
  }
  bits(): void {}

  /** The best code for the symbols of a table. */
  codeOf(table: number): HuffmanCode {
    return optimalCode(this.frequencies[table] ?? new Int32Array(257));
  }
}

/** The bytes of a file. */
export class BitWriter implements SymbolSink {
  private bytes = new Uint8Array(1 << 12);
  private length = 0;
  private buffer = 0;
  private count = 0;
  private readonly codes: { codes: Uint16Array; lengths: Uint8Array }[] = [];

  /** Sets the code of a table: canonical, so that counts and symbols tell all of it. */
  setCode(table: number, { counts, symbols }: HuffmanCode): void {
    const codes = new Uint16Array(256);
    const lengths = new Uint8Array(256);
    let [code, place] = [0, 0];
    for (const [i, count] of counts.entries()) {
      for (let k = 0; k < count; k++, code++, place++)
        [codes[symbols[place]!], lengths[symbols[place]!]] = [code, i + 1];
      code <<= 1;
    }
    this.codes[table] = { codes, lengths };
  }

  /** All codes, table by table: 256 times the length times 65536 and the bits. */
  packedCodes(): Uint32Array {
    const packed = new Uint32Array(4 * 256);
    for (const [table, code] of this.codes.entries())
      for (let i = 0; i < 256; i++) packed[256 * table + i] = ((code?.lengths[i] ?? 0) << 16) | (code?.codes[i] ?? 0);
    return packed;
  }

  symbol(table: number, symbol: number): void {
    const { codes, lengths } = this.codes[table]!;
    this.bits(codes[symbol]!, lengths[symbol]!);
  }

  bits(value: number, count: number): void {
    this.buffer = (this.buffer << count) | (value & ((1 << count) - 1));
    this.count += count;
    while (this.count >= 8) {
      this.count -= 8;
      const byte = (this.buffer >>> this.count) & 255;
      this.byte(byte);
      if (byte === 0xff) this.byte(0); // so that it is not taken for a marker
    }
  }

  /** Fills the last byte with ones. */
  flush(): void {
    if (this.count > 0) this.bits(0x7f, 8 - this.count);
    this.buffer = 0;
    this.count = 0;
  }

  byte(value: number): void {
    if (this.length === this.bytes.length) {
      const larger = new Uint8Array(2 * this.length);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.length++] = value;
  }

  /** Bytes as they are, where no bits are left over. */
  append(bytes: Uint8Array): void {
    const whole = this.length + bytes.length;
    if (whole > this.bytes.length) {
      const larger = new Uint8Array(Math.max(whole, 2 * this.bytes.length));
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes.set(bytes, this.length);
    this.length = whole;
  }

  /** A marker with its content, whose length is written before it. */
  marker(code: number, content?: Iterable<number>): void {
    this.byte(0xff);
    this.byte(code);
    if (!content) return;
    const all = [...content];
    this.byte((all.length + 2) >> 8);
    this.byte((all.length + 2) & 255);
    for (const value of all) this.byte(value);
  }

  /** All bytes so far. */
  result(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }
}

const sizeOf = (value: number) => 32 - Math.clz32(Math.abs(value));

/** A number in `size` bits; negative ones are one less, so that they begin with 0. */
function putNumber(sink: SymbolSink, value: number, size: number): void {
  if (size > 0) sink.bits(value < 0 ? value - 1 : value, size);
}

/** The difference of a block's mean from the one before. */
export function putDc(sink: SymbolSink, table: number, difference: number): void {
  const size = sizeOf(difference);
  sink.symbol(table, size);
  putNumber(sink, difference, size);
}

/** Coefficients `first` to `last` of a block, in zigzag order. */
export function putAc(
  sink: SymbolSink,
  table: number,
  coefficients: Int16Array,
  at: number,
  first: number,
  last: number,
): void {
  let run = 0;
  for (let k = first; k <= last; k++) {
    const value = coefficients[at + zigzag[k]!]!;
    if (value === 0) {
      run++;
      continue;
    }
    for (; run > 15; run -= 16) sink.symbol(table, 0xf0);
    const size = sizeOf(value);
    sink.symbol(table, (run << 4) | size);
    putNumber(sink, value, size);
    run = 0;
  }
  if (run > 0) sink.symbol(table, 0);
}

/** @file The markers of a JPEG file: size, components, tables and where the scans begin. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { HuffmanTable } from './jpegHuffman.ts';

export const invalidJpeg = (why: string) => new InvalidArgumentError(`Invalid JPEG data: ${why}`);

/** One colour component of an image. */
export interface JpegComponent {
  readonly id: number;
  /** Sampling factors: how many blocks of this component a unit of the image has. */
  readonly h: number;
  readonly v: number;
  readonly quantTable: number;
  /** Blocks in a row and in a column, padded to whole units of the image. */
  readonly blocksAcross: number;
  readonly blocksDown: number;
  /** Blocks that hold pixels of the image, which is what a scan of this component alone has. */
  readonly ownAcross: number;
  readonly ownDown: number;
}

export interface JpegFrame {
  readonly width: number;
  readonly height: number;
  readonly progressive: boolean;
  readonly components: readonly JpegComponent[];
  readonly maxH: number;
  readonly maxV: number;
  /** Units across and down: the smallest parts that hold whole blocks of every component. */
  readonly unitsAcross: number;
  readonly unitsDown: number;
}

/** What a scan carries: which components, and for progressive files which coefficients and bits of them. */
export interface JpegScan {
  readonly components: readonly { readonly index: number; readonly dc: number; readonly ac: number }[];
  readonly first: number;
  readonly last: number;
  readonly highBit: number;
  readonly lowBit: number;
}

/** Positions of coefficients in the order of a file. Sixteen more catch runs that go past the end of a block. */
export const zigzag = Uint8Array.from([
  ...[0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21],
  ...[28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61],
  ...[54, 47, 55, 62, 63, ...Array<number>(16).fill(63)],
]);

/** The state that markers build up while a file is read from front to back. */
export class JpegReader {
  /** The place after what has been read. */
  at = 2;
  frame: JpegFrame | undefined;
  readonly quantTables: (Uint16Array | undefined)[] = [];
  readonly dcTables: (HuffmanTable | undefined)[] = [];
  readonly acTables: (HuffmanTable | undefined)[] = [];
  restartInterval = 0;
  hasJfif = false;
  /** What an Adobe marker says about the colours; undefined without one. */
  adobeTransform: number | undefined;

  constructor(readonly bytes: Uint8Array) {
    if (bytes.length < 2 || bytes[0] !== 0xff || bytes[1] !== 0xd8) throw invalidJpeg('it does not begin as one.');
  }

  /** Reads markers up to the next scan, or to the end of the image, for which there is no scan. */
  nextScan(): JpegScan | undefined {
    for (;;) {
      const marker = this.nextMarker();
      if (marker === 0xd9) return undefined;
      if ((marker >= 0xd0 && marker <= 0xd7) || marker === 0x01) continue;
      const body = this.segment();
      if (marker === 0xda) return this.readScan(body);
      this.readTable(marker, body);
    }
  }

  /** Reads markers up to and including the one that tells the image's size. */
  readFrame(): JpegFrame {
    while (!this.frame) {
      const marker = this.nextMarker();
      if (marker === 0xd9 || marker === 0xda) throw invalidJpeg('it has no size.');
      if ((marker >= 0xd0 && marker <= 0xd7) || marker === 0x01) continue;
      this.readTable(marker, this.segment());
    }
    return this.frame;
  }

  private nextMarker(): number {
    const { bytes } = this;
    let at = this.at;
    while (at < bytes.length && bytes[at] !== 0xff) at++;
    while (at < bytes.length && bytes[at] === 0xff) at++;
    if (at >= bytes.length) throw invalidJpeg('the file ends before its last marker.');
    this.at = at + 1;
    // A zero byte after 0xff is no marker but data that nobody has read.
    return bytes[at] === 0 ? this.nextMarker() : bytes[at]!;
  }

  private segment(): Uint8Array {
    const { bytes, at } = this;
    const length = at + 2 <= bytes.length ? (bytes[at]! << 8) | bytes[at + 1]! : 0;
    if (length < 2 || at + length > bytes.length) throw invalidJpeg('the file ends inside a marker.');
    this.at = at + length;
    return bytes.subarray(at + 2, at + length);
  }

  private readTable(marker: number, body: Uint8Array): void {
    if (marker === 0xdb) this.readQuantTables(body);
    else if (marker === 0xc4) this.readHuffmanTables(body);
    else if (marker === 0xdd) this.restartInterval = ((body[0] ?? 0) << 8) | (body[1] ?? 0);
    else if (marker === 0xe0) this.hasJfif ||= startsWith(body, 'JFIF\0') && body.length >= 14;
    else if (marker === 0xee && startsWith(body, 'Adobe') && body.length >= 12) this.adobeTransform = body[11]!;
    else if (marker === 0xc0 || marker === 0xc1 || marker === 0xc2) this.startFrame(marker === 0xc2, body);
    else if (marker >= 0xc3 && marker <= 0xcf && marker !== 0xcc) {
      throw invalidJpeg(`its coding process 0x${marker.toString(16)} is not supported.`);
    }
  }

  private readQuantTables(body: Uint8Array): void {
    for (let at = 0; at < body.length; ) {
      const kind = body[at++]!;
      const wide = kind >> 4 !== 0;
      if ((kind & 15) > 3 || at + (wide ? 128 : 64) > body.length) throw invalidJpeg('a quantization table is broken.');
      const table = new Uint16Array(64);
      for (let i = 0; i < 64; i++) {
        table[zigzag[i]!] = wide ? (body[at]! << 8) | body[at + 1]! : body[at]!;
        at += wide ? 2 : 1;
      }
      this.quantTables[kind & 15] = table;
    }
  }

  private readHuffmanTables(body: Uint8Array): void {
    for (let at = 0; at < body.length; ) {
      const kind = body[at]!;
      const counts = body.subarray(at + 1, at + 17);
      const total = counts.reduce((sum, n) => sum + n, 0);
      if (counts.length < 16 || total > 256 || at + 17 + total > body.length || (kind & 0xef) > 3) {
        throw invalidJpeg('a Huffman table is broken.');
      }
      const table = new HuffmanTable(counts, body.subarray(at + 17, at + 17 + total));
      (kind & 16 ? this.acTables : this.dcTables)[kind & 15] = table;
      at += 17 + total;
    }
  }

  private startFrame(progressive: boolean, body: Uint8Array): void {
    if (this.frame) throw invalidJpeg('it has two sizes.');
    const count = body[5] ?? 0;
    if (body.length !== 6 + 3 * count) throw invalidJpeg('its size is broken.');
    if (body[0] !== 8) throw invalidJpeg(`its samples have ${body[0]} bits; 8 are supported.`);
    const [height, width] = [(body[1]! << 8) | body[2]!, (body[3]! << 8) | body[4]!];
    if (width === 0 || height === 0 || count === 0 || count > 4) {
      throw invalidJpeg(`its size is ${width} by ${height} with ${count} components.`);
    }
    const factors = Array.from({ length: count }, (_, i) => {
      const [h, v] = [body[7 + 3 * i]! >> 4, body[7 + 3 * i]! & 15];
      if (h < 1 || h > 4 || v < 1 || v > 4) throw invalidJpeg('its sampling factors are not 1 to 4.');
      return { id: body[6 + 3 * i]!, h, v, quantTable: body[8 + 3 * i]! };
    });
    const [maxH, maxV] = [Math.max(...factors.map((c) => c.h)), Math.max(...factors.map((c) => c.v))];
    const [unitsAcross, unitsDown] = [Math.ceil(width / (8 * maxH)), Math.ceil(height / (8 * maxV))];
    const components = factors.map((c) => ({
      ...c,
      blocksAcross: unitsAcross * c.h,
      blocksDown: unitsDown * c.v,
      ownAcross: Math.ceil((width * c.h) / (8 * maxH)),
      ownDown: Math.ceil((height * c.v) / (8 * maxV)),
    }));
    this.frame = { width, height, progressive, components, maxH, maxV, unitsAcross, unitsDown };
  }

  private readScan(body: Uint8Array): JpegScan {
    const { frame } = this;
    const count = body[0] ?? 0;
    if (!frame || count < 1 || count > 4 || body.length !== 4 + 2 * count) throw invalidJpeg('a scan is broken.');
    const components = Array.from({ length: count }, (_, i) => {
      const index = frame.components.findIndex((c) => c.id === body[1 + 2 * i]);
      const tables = body[2 + 2 * i]!;
      if (index < 0) throw invalidJpeg('a scan has a component that the image does not have.');
      return { index, dc: tables >> 4, ac: tables & 15 };
    });
    if (new Set(components.map((c) => c.index)).size < count) throw invalidJpeg('a scan has a component twice.');
    const blocks = components.reduce((sum, c) => sum + frame.components[c.index]!.h * frame.components[c.index]!.v, 0);
    if (count > 1 && blocks > 10) throw invalidJpeg('a scan has too many blocks in a unit.');
    const [first, last, bits] = [body[1 + 2 * count]!, body[2 + 2 * count]!, body[3 + 2 * count]!];
    const [highBit, lowBit] = [bits >> 4, bits & 15];
    if (frame.progressive) {
      const isDc = first === 0;
      const fits = isDc ? last === 0 : count === 1 && first <= last && last <= 63;
      if (!fits || (highBit !== 0 && lowBit !== highBit - 1) || lowBit > 13) {
        throw invalidJpeg('a scan has progressive parameters that make no sense.');
      }
    }
    return { components, first, last, highBit, lowBit };
  }
}

function startsWith(body: Uint8Array, text: string): boolean {
  return body.length >= text.length && [...text].every((letter, i) => body[i] === letter.charCodeAt(0));
}

/** @file The coefficients of a JPEG file's scans, sequential and progressive. */
import {
  invalidJpeg,
  type JpegComponent,
  type JpegFrame,
  type JpegReader,
  type JpegScan,
  zigzag,
} from './jpegFrame.ts';
import { BitReader, HuffmanTable } from './jpegHuffman.ts';

/** Coefficients of a component, 64 for each block, in rows of `blocksAcross` blocks. */
export type Coefficients = Int16Array;

interface ScanPart {
  readonly component: JpegComponent;
  readonly coefficients: Coefficients;
  readonly dc: HuffmanTable;
  readonly ac: HuffmanTable;
  lastDc: number;
}

const emptyTable = new HuffmanTable(new Uint8Array(16), new Uint8Array(0));

/** Reads one scan into the coefficients and leaves the reader behind it. */
export function readScan(
  reader: JpegReader,
  frame: JpegFrame,
  scan: JpegScan,
  planes: readonly Coefficients[],
  recover: boolean,
): void {
  const needsDc = scan.first === 0 && scan.highBit === 0;
  const needsAc = !frame.progressive || scan.first > 0;
  const parts = scan.components.map(({ index, dc, ac }): ScanPart => {
    const [dcTable, acTable] = [reader.dcTables[dc], reader.acTables[ac]];
    if ((needsDc && !dcTable) || (needsAc && !acTable))
      throw invalidJpeg('a scan names a Huffman table that is missing.');
    const component = frame.components[index]!;
    return { component, coefficients: planes[index]!, dc: dcTable ?? emptyTable, ac: acTable ?? emptyTable, lastDc: 0 };
  });
  const bits = new BitReader(reader.bytes, reader.at, recover);
  const run = { blocks: 0 };
  const readBlock = blockReader(frame, scan, bits, run);
  const alone = parts.length === 1 ? parts[0]! : undefined;
  const across = alone ? alone.component.ownAcross : frame.unitsAcross;
  const down = alone ? alone.component.ownDown : frame.unitsDown;
  let untilRestart = reader.restartInterval || Infinity;
  let restarts = 0;
  for (let y = 0; y < down; y++) {
    for (let x = 0; x < across; x++) {
      if (untilRestart === 0) {
        bits.restart(restarts++ & 7);
        for (const part of parts) part.lastDc = 0;
        run.blocks = 0;
        untilRestart = reader.restartInterval;
      }
      untilRestart--;
      if (bits.starved) {
        // Nothing more comes before the next restart: what is left stays as it is.
        if (reader.restartInterval > 0) continue;
        finish(reader, bits);
        return;
      }
      if (alone) readBlock(alone, (y * alone.component.blocksAcross + x) * 64);
      else {
        for (const part of parts) {
          const { h, v, blocksAcross } = part.component;
          for (let j = 0; j < v; j++) {
            for (let i = 0; i < h; i++) readBlock(part, ((y * v + j) * blocksAcross + x * h + i) * 64);
          }
        }
      }
    }
  }
  finish(reader, bits);
}

/** The next marker is where the bits end, or the one that they ran into. */
function finish(reader: JpegReader, bits: BitReader): void {
  reader.at = bits.marker !== 0 && bits.at <= bits.bytes.length ? Math.max(bits.at - 2, reader.at) : bits.at;
}

type BlockReader = (part: ScanPart, block: number) => void;

function blockReader(frame: JpegFrame, scan: JpegScan, bits: BitReader, run: { blocks: number }): BlockReader {
  const { first, last, highBit, lowBit } = scan;
  if (!frame.progressive) return (part, block) => readSequential(part, block, bits);
  if (first === 0) {
    if (highBit === 0) {
      return (part, block) => {
        part.lastDc += bits.signed(bits.symbol(part.dc) & 15);
        part.coefficients[block] = part.lastDc << lowBit;
      };
    }
    return (part, block) => {
      if (bits.bit()) part.coefficients[block] = part.coefficients[block]! | (1 << lowBit);
    };
  }
  if (highBit === 0) return (part, block) => readAcFirst(part, block, bits, first, last, lowBit, run);
  return (part, block) => readAcRefine(part, block, bits, first, last, lowBit, run);
}

function readSequential(part: ScanPart, block: number, bits: BitReader): void {
  const { coefficients, ac } = part;
  part.lastDc += bits.signed(bits.symbol(part.dc) & 15);
  coefficients[block] = part.lastDc;
  for (let k = 1; k < 64; k++) {
    const symbol = bits.symbol(ac);
    const size = symbol & 15;
    const zeros = symbol >> 4;
    if (size === 0) {
      if (zeros !== 15) return;
      k += 15;
    } else {
      k += zeros;
      coefficients[block + zigzag[k]!] = bits.signed(size);
    }
  }
}

function readAcFirst(
  part: ScanPart,
  block: number,
  bits: BitReader,
  first: number,
  last: number,
  lowBit: number,
  run: { blocks: number },
): void {
  if (run.blocks > 0) {
    run.blocks--;
    return;
  }
  for (let k = first; k <= last; k++) {
    const symbol = bits.symbol(part.ac);
    const size = symbol & 15;
    const zeros = symbol >> 4;
    if (size === 0) {
      if (zeros !== 15) {
        run.blocks = (1 << zeros) - 1 + (zeros > 0 ? bits.bits(zeros) : 0);
        return;
      }
      k += 15;
    } else {
      k += zeros;
      part.coefficients[block + zigzag[k]!] = bits.signed(size) << lowBit;
    }
  }
}

/** Adds a bit to coefficients that are not zero, and new ones of size 1 between them. */
function readAcRefine(
  part: ScanPart,
  block: number,
  bits: BitReader,
  first: number,
  last: number,
  lowBit: number,
  run: { blocks: number },
): void {
  const { coefficients } = part;
  const one = 1 << lowBit;
  const refine = (at: number) => {
    const value = coefficients[at]!;
    if (bits.bit() && (value & one) === 0) coefficients[at] = value >= 0 ? value + one : value - one;
  };
  let k = first;
  if (run.blocks === 0) {
    for (; k <= last; k++) {
      const symbol = bits.symbol(part.ac);
      let zeros = symbol >> 4;
      let fresh = 0;
      if ((symbol & 15) !== 0) fresh = bits.bit() ? one : -one;
      else if (zeros !== 15) {
        run.blocks = (1 << zeros) + (zeros > 0 ? bits.bits(zeros) : 0);
        break;
      }
      for (; k <= last; k++) {
        const at = block + zigzag[k]!;
        if (coefficients[at] !== 0) refine(at);
        else if (--zeros < 0) {
          if (fresh !== 0) coefficients[at] = fresh;
          break;
        }
      }
    }
  }
  if (run.blocks > 0) {
    for (; k <= last; k++) {
      const at = block + zigzag[k]!;
      if (coefficients[at] !== 0) refine(at);
    }
    run.blocks--;
  }
}

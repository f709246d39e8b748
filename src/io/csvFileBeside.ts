/** @file The rows of a file of comma-separated values, cut into columns by the native library beside the event loop. */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { type DType, float32, float64, string } from '../core/dtypes.ts';
import { inTurns, type Work } from '../core/eventLoop.ts';
import { fromElements, NDArray } from '../core/ndarray.ts';
import { CsvRecordReader } from './csvRecords.ts';
import { type CsvStretch, csvNumbers, NativeCsvRecords } from './nativeCsv.ts';
import { separated } from './nativeStrings.ts';

const chunkBytes = 2 ** 18;
/** The mark with which some programs begin a text. */
const mark = Buffer.from('\ufeff');
const elementsPerTurn = 4096;

/** All rows of a file, as it is usually written: without empty lines, and all of them equally long. */
export class RowsBeside {
  private constructor(
    readonly header: readonly string[] | undefined,
    /** The values of the first row, header or not. */
    readonly first: readonly string[],
    private readonly stretches: readonly CsvStretch[],
  ) {}

  get count(): number {
    return this.stretches.reduce((sum, { count }) => sum + count, 0);
  }

  /** Reads a file; undefined where something in it, or no library, leaves it to TypeScript. */
  static async read(path: string, delimiter: string, hasHeader: boolean): Promise<RowsBeside | undefined> {
    const format = { delimiter: delimiter.charCodeAt(0), useQuotes: true, columns: [], excluded: [] };
    if (delimiter.length !== 1 || format.delimiter > 127 || /["\r\n]/.test(delimiter)) return undefined;
    const texts = { ...format, defaults: [], notAvailable: new Uint8Array(0) };
    if (!NativeCsvRecords.reader(texts)) return undefined;
    let reader: NativeCsvRecords | undefined;
    let first: readonly string[] = [];
    const stretches: CsvStretch[] = [];
    for await (const { bytes, isFirst, isLast, keep } of pieces(path)) {
      let start = isFirst && bytes.subarray(0, mark.length).equals(mark) ? mark.length : 0;
      if (bytes.includes(mark, start)) return undefined;
      if (!reader) {
        const lines = new CsvRecordReader(texts);
        const fields = start < bytes.length ? lines.texts(bytes, start, isLast) : [];
        if (!fields) {
          keep(0);
          continue;
        }
        if (!Array.isArray(fields) || fields.length === 0) return undefined;
        first = fields.map((field) => Buffer.from(field).toString());
        if (first.length === 1 && first[0] === '') return undefined;
        if (hasHeader) start = lines.end;
        const empty = new NDArray(string, [], [new Uint8Array(0)]);
        reader = NativeCsvRecords.reader({ ...texts, defaults: fields.map(() => empty) }, true);
      }
      const found = await reader?.read(bytes, start, isLast);
      if (!found || found.isBeforeOdd) return undefined;
      const end = start + (found.ends.at(-1) ?? 0);
      if (!isUtf8(bytes.subarray(0, end))) return undefined;
      if (found.count > 0) stretches.push(found);
      keep(end);
    }
    return reader && new RowsBeside(hasHeader ? first : undefined, first, stretches);
  }

  /** A column, of numbers where all its values are, unless a type is given; undefined where a value is not of it. */
  async column(i: number, type: DType | undefined, missing: number): Promise<NDArray | undefined> {
    const numbers = type === string ? undefined : await this.numbers(i, missing);
    if (numbers) return await inTurns(arrayOf(type ?? float32, numbers));
    if (type !== undefined && type !== string) return undefined;
    const strings: Uint8Array[] = [];
    for (const stretch of this.stretches) {
      const { bytes, ends } = stretch.texts(i);
      for (const text of await inTurns(separated(bytes, ends))) strings.push(text);
    }
    return new NDArray(string, [strings.length], strings);
  }

  private async numbers(i: number, missing: number): Promise<Float64Array | undefined> {
    const all = new Float64Array(this.count);
    let at = 0;
    for (const stretch of this.stretches) {
      if (!(await csvNumbers(stretch.texts(i), missing, all.subarray(at, at + stretch.count)))) return undefined;
      at += stretch.count;
    }
    return all;
  }
}

/** Numbers as an array of a type; undefined where that has no such number. */
function* arrayOf(dtype: DType, numbers: Float64Array): Work<NDArray | undefined> {
  const shape = [numbers.length];
  if (dtype === float64) return new NDArray(float64, shape, numbers);
  if (dtype === float32) return new NDArray(float32, shape, new Float32Array(numbers));
  const isWide = dtype.name === 'int64' || dtype.name === 'uint64';
  const all = dtype.allocate(numbers.length);
  for (let at = 0; at < numbers.length; at += elementsPerTurn) {
    const part = Array.from(numbers.subarray(at, at + elementsPerTurn));
    if (dtype.isInteger && !part.every(Number.isInteger)) return undefined;
    const elements = fromElements(dtype, [part.length], isWide ? part.map(BigInt) : part);
    all.set(elements.data as never, at); // both are the dtype's kind of typed array
    yield;
  }
  return new NDArray(dtype, shape, all);
}

interface Piece {
  readonly bytes: Buffer;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** Says from where on the bytes are wanted again, in front of those that follow. */
  keep(from: number): void;
}

/** The bytes of a file, piece by piece. A piece of which nothing could be used comes again with twice as many. */
async function* pieces(path: string): AsyncGenerator<Piece> {
  let rest = Buffer.alloc(0);
  let isFirst = true;
  let parts: Buffer[] = [];
  let added = 0;
  const piece = (isLast: boolean): Piece => {
    const bytes = Buffer.concat([rest, ...parts]);
    const keep = (from: number) => {
      rest = bytes.subarray(from);
      isFirst &&= from === 0;
    };
    parts = [];
    added = 0;
    return { bytes, isFirst, isLast, keep };
  };
  for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>) {
    parts.push(chunk);
    added += chunk.length;
    if (added >= rest.length) yield piece(false);
  }
  yield piece(true);
}

/** @file The records of files of comma-separated values, stretch by stretch: each is parsed beside the event loop before it is asked for. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { inTurns, type Work } from '../../core/eventLoop.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { type ByteStream, openFile } from '../../io/byteStream.ts';
import { whenClosed } from '../../io/closingFiles.ts';
import { type CsvRecordOptions, CsvRecordReader } from '../../io/csvRecords.ts';
import { type CsvStretch, NativeCsvRecords } from '../../io/nativeCsv.ts';
import type { Element, ElementIterator, Iteration, Pulled } from './dataset.ts';
import { type FileList, fileError } from './files.ts';
import { type Saved, savedNumber, savedRecord } from './saved.ts';

/** Where the next record is: in which file, and at which byte of it, without its compression. */
interface Position {
  readonly file: number;
  readonly offset: number;
}

/** Records that were found together. */
interface Found {
  readonly count: number;
  /** Where the record behind one of them is. */
  behind(i: number): Position;
  /** The values of one of them; throws what is wrong with it. */
  values(i: number): Element;
  /** The values of some of them as rows, where nothing is wrong with any. */
  rows?(start: number, end: number): Element;
}

/** So many bytes are parsed at a time, more where a record is longer. */
const stretchBytes = 2 ** 18;
/** So many records at most are read in TypeScript before the library is asked again. */
const mostByHand = 256;

/** A file that is being read. */
class CsvFile {
  private readonly chunks: AsyncIterator<Uint8Array>;
  private readonly forget: () => void;
  private readonly reader: CsvRecordReader;
  private readonly native: NativeCsvRecords | undefined;
  /** What has been read of it and from where on, and where in that the next record begins. */
  private bytes: Uint8Array = new Uint8Array(0);
  private from: number;
  private next = 0;
  /** Whether there is nothing behind these bytes. */
  private isLast = false;
  /** How many records to read without the library, and how many it were from the last odd one on. */
  private byHand = 0;
  private streak = 0;

  constructor(
    private readonly stream: ByteStream,
    /** Where the first record is, and how many bytes of the stream lie before it. */
    private readonly start: Position,
    private skip: number,
    private hasHeader: boolean,
    options: CsvRecordOptions,
    scope: Iteration,
  ) {
    this.from = start.offset;
    this.reader = new CsvRecordReader(options);
    this.native = NativeCsvRecords.reader(options);
    this.forget = scope.onStop(() => {
      stream.destroy();
    });
    this.chunks = stream[Symbol.asyncIterator]();
  }

  close(): void {
    this.forget();
    this.stream.destroy();
  }

  /** The next records; undefined at the end. */
  async more(): Promise<Found | undefined> {
    for (;;) {
      let found = this.hasHeader ? this.header() : undefined;
      if (!this.hasHeader && this.next < this.bytes.length) found ??= await this.records();
      if (found || this.isLast) return found;
      await this.fill();
    }
  }

  private positionAt(at: number): Position {
    return { file: this.start.file, offset: this.from + at };
  }

  /** Reads on. What was too little for a record is at least doubled, so that a long one is not looked at too often. */
  private async fill(): Promise<void> {
    const rest = this.bytes.subarray(this.next);
    const parts: Uint8Array[] = rest.length > 0 ? [rest] : [];
    const wanted = Math.max(stretchBytes, rest.length);
    for (let added = 0; added < wanted; ) {
      const { done, value } = await this.chunks.next();
      if (done) {
        this.isLast = true;
        break;
      }
      const skipped = Math.min(this.skip, value.length);
      this.skip -= skipped;
      if (skipped === value.length) continue;
      parts.push(new Uint8Array(value.buffer, value.byteOffset + skipped, value.length - skipped));
      added += value.length - skipped;
    }
    this.from += this.next;
    this.next = 0;
    this.bytes = parts.length === 1 ? parts[0]! : joined(parts);
  }

  /** Goes behind the header when it is there, and finds it wrong or nothing. */
  private header(): Found | undefined {
    const { bytes, isLast, reader } = this;
    const fields = bytes.length > 0 ? reader.texts(bytes, 0, isLast) : undefined;
    if (!fields && !isLast) return undefined;
    this.hasHeader = false;
    this.next = fields ? reader.end : 0;
    if (Array.isArray(fields)) return undefined;
    return failure(new InvalidArgumentError("Can't read header of file"), this.positionAt(this.next));
  }

  private async records(): Promise<Found | undefined> {
    const { native } = this;
    if (native && this.byHand === 0) {
      const found = await native.read(this.bytes, this.next, this.isLast);
      const count = found?.count ?? 0;
      // A file in which many records are odd is read by hand for longer and longer.
      if (found && !found.isBeforeOdd) this.streak = 0;
      else this.streak = count > this.streak ? 1 : Math.min(2 * this.streak, mostByHand) || 1;
      this.byHand = this.streak;
      if (found && found.count > 0) return this.stretch(found);
      if (found && !found.isBeforeOdd) return undefined;
    }
    const found = await inTurns(this.slowly(native ? this.byHand : mostByHand));
    this.byHand = Math.max(0, this.byHand - found.count);
    return found.count > 0 ? found : undefined;
  }

  private stretch(found: CsvStretch): Found {
    const start = this.next;
    this.next = start + found.ends[found.count - 1]!;
    const base = this.from + start;
    const { file } = this.start;
    return {
      count: found.count,
      behind: (i) => ({ file, offset: base + found.ends[i]! }),
      values: (i) => found.values(i),
      rows: (from, to) => found.rows(from, to),
    };
  }

  /** Records, right and wrong ones, in TypeScript. */
  private *slowly(most: number): Work<Found> {
    const { reader, bytes, isLast } = this;
    const outcomes: (readonly NDArray[] | InvalidArgumentError)[] = [];
    const positions: Position[] = [];
    while (outcomes.length < most && this.next < bytes.length) {
      const outcome = reader.read(bytes, this.next, isLast);
      if (!outcome) break;
      this.next = reader.end;
      outcomes.push(outcome);
      positions.push(this.positionAt(this.next));
      yield;
    }
    return {
      count: outcomes.length,
      behind: (i) => positions[i]!,
      values(i) {
        const outcome = outcomes[i]!;
        if (outcome instanceof InvalidArgumentError) throw outcome;
        return outcome;
      },
    };
  }
}

/** Parts one behind the other, in memory of their own. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = Buffer.concat(parts);
  return new Uint8Array(all.buffer, all.byteOffset, all.length);
}

/** One element that cannot be had. */
const failure = (error: unknown, behind: Position): Found => ({
  count: 1,
  behind: () => behind,
  values() {
    throw error;
  },
});

/** Records of one file after the other; one that cannot be parsed is an error, after which the next one comes. */
export class CsvIterator implements ElementIterator {
  /** Where whoever asks is, and where the reading is. */
  private position: Position = { file: 0, offset: 0 };
  private start = this.position;
  private open: CsvFile | undefined;
  private found: Found | undefined;
  private at = 0;
  /** What comes behind `found`. */
  private ahead: Promise<Found | undefined> | undefined;

  constructor(
    private readonly scope: Iteration,
    private readonly files: FileList,
    private readonly options: CsvRecordOptions,
    private readonly hasHeader: boolean,
  ) {}

  next(): Pulled {
    return this.found && this.at < this.found.count ? this.give(this.found) : this.more();
  }

  atHand(most: number): Element | undefined {
    const { found, at } = this;
    if (!found?.rows || at === found.count) return undefined;
    const end = Math.min(at + most, found.count);
    this.at = end;
    this.position = found.behind(end - 1);
    return found.rows(at, end);
  }

  private give(found: Found): Element {
    const i = this.at++;
    this.position = found.behind(i);
    return found.values(i);
  }

  private async more(): Promise<Element | undefined> {
    this.scope.check();
    this.found = undefined;
    this.ahead ??= this.advance();
    const found = await this.ahead;
    // Whoever has stopped waiting leaves it for the next one.
    this.scope.check();
    this.ahead = undefined;
    if (!found) return undefined;
    this.found = found;
    this.at = 0;
    this.ahead = this.advance();
    return this.give(found);
  }

  /** The next records, of the file that is open or of one behind it; what goes wrong with files among them. */
  private async advance(): Promise<Found | undefined> {
    const { paths } = this.files;
    while (this.start.file < paths.length) {
      const { file } = this.start;
      const path = paths[file]!;
      try {
        this.open ??= await this.opened(path);
        const found = await this.open.more();
        if (found) return found;
        this.leave();
      } catch (error) {
        this.leave();
        return failure(fileError(error, path), this.start);
      }
    }
    return undefined;
  }

  private async opened(path: string): Promise<CsvFile> {
    await whenClosed(path);
    const { compression, chunk } = this.files;
    const { offset } = this.start;
    // A compressed file has no byte to begin at but its first.
    const begin = compression === '' ? offset : 0;
    const stream = openFile(path, compression, Math.min(chunk, stretchBytes), { start: begin });
    const hasHeader = this.hasHeader && offset === 0;
    return new CsvFile(stream, this.start, offset - begin, hasHeader, this.options, this.scope);
  }

  /** Goes on to the next file. */
  private leave(): void {
    this.open?.close();
    this.open = undefined;
    this.start = { file: this.start.file + 1, offset: 0 };
  }

  save(): Saved {
    return { file: this.position.file, offset: this.position.offset };
  }

  restore(saved: Saved): void {
    const { file, offset } = savedRecord(saved);
    this.position = this.start = { file: savedNumber(file), offset: savedNumber(offset) };
  }
}

/** @file Datasets of what is in files: lines of text, records, stretches of equal length. */
import { stat } from 'node:fs/promises';
import { string } from '../../core/dtypes.ts';
import { DataLossError, InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Compression, openFile } from '../../io/byteStream.ts';
import { whenClosed } from '../../io/closingFiles.ts';
import { fileError as fileSystemError } from '../../io/fileErrors.ts';
import { localPath } from '../../io/paths.ts';
import { RecordSplitter } from '../../io/records.ts';

import { Dataset, type ElementIterator, type Iteration, type Pulled, unknown } from './dataset.ts';
import { datasetOp, metadata, scalarOf, textOf } from './kit.ts';
import { type Saved, savedNumber, savedRecord } from './saved.ts';

/** What cuts the bytes of one file into elements. */
export interface Splitter {
  /** Looks at the file before anything of it is read. */
  check?(): Promise<void>;
  /** The elements that are complete with this chunk. */
  push(chunk: Uint8Array): Iterable<Uint8Array>;
  /** Those that are complete because nothing follows. */
  end(): Iterable<Uint8Array>;
}

export interface FileList {
  readonly paths: readonly string[];
  readonly compression: Compression;
  /** Bytes to read at a time. */
  readonly chunk: number;
}

/** What the file system and the decompressor say, as an error with a code. */
export function fileError(error: unknown, path: string): unknown {
  if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))
    return new DataLossError(`${path}: ${String(error)}; is it compressed in another way?`);
  return fileSystemError(error, path);
}

/** Elements of one file after the other. Those of a chunk are given at once. */
class FilesIterator implements ElementIterator {
  private file = 0;
  /** How many elements of the present file have been given. */
  private given = 0;
  private ready: globalThis.Iterator<Uint8Array> | undefined;
  private chunks: AsyncIterator<Uint8Array> | undefined;
  private splitter: Splitter | undefined;
  private close = () => {};

  constructor(
    private readonly scope: Iteration,
    private readonly files: FileList,
    private readonly cut: (path: string) => Splitter,
  ) {}

  next(): Pulled {
    const step = this.ready?.next();
    if (step && !step.done) {
      this.given++;
      return [new NDArray(string, [], [step.value])];
    }
    this.ready = undefined;
    return this.file >= this.files.paths.length ? undefined : this.more();
  }

  private async more(): Promise<readonly NDArray[] | undefined> {
    const path = this.files.paths[this.file]!;
    this.scope.check();
    try {
      if (!this.chunks) {
        await whenClosed(path);
        this.open(path);
        await this.splitter!.check?.();
      }
      const { done, value } = await this.chunks!.next();
      this.scope.check();
      this.ready = (done ? this.splitter!.end() : this.splitter!.push(value))[Symbol.iterator]();
      if (!done) return this.next();
      this.leave();
      const last = this.ready.next();
      if (!last.done) return [new NDArray(string, [], [last.value])];
      return this.next();
    } catch (error) {
      this.leave();
      this.ready = undefined;
      throw fileError(error, path);
    }
  }

  private open(path: string): void {
    const stream = openFile(path, this.files.compression, this.files.chunk);
    const forget = this.scope.onStop(() => {
      stream.destroy();
    });
    this.close = () => {
      forget();
      stream.destroy();
    };
    this.chunks = stream[Symbol.asyncIterator]();
    this.splitter = this.cut(path);
  }

  /** Goes on to the next file. */
  private leave(): void {
    this.close();
    this.chunks = undefined;
    this.splitter = undefined;
    this.file++;
    this.given = 0;
  }

  save(): Saved {
    return { file: this.file, given: this.given };
  }

  async restore(saved: Saved): Promise<void> {
    const { file, given } = savedRecord(saved);
    this.file = savedNumber(file);
    for (let skipped = 0; skipped < savedNumber(given); skipped++) await this.next();
  }
}

/** The texts in a scalar or vector of file names. */
function pathsIn(array: NDArray): string[] {
  if (array.rank > 1) throw new InvalidArgumentError('`filenames` must be a scalar or a vector.');
  return textsOf(array);
}

/** Strings as text. */
export function textsOf(array: NDArray): string[] {
  return array.objects.map((bytes) => new TextDecoder().decode(bytes as Uint8Array)); // strings are bytes
}

export function checkedCompression(array: NDArray): Compression {
  const compression = textOf(array, 'compression_type');
  if (compression === '' || compression === 'ZLIB' || compression === 'GZIP') return compression;
  throw new InvalidArgumentError('Unsupported compression_type.');
}

export const defaultChunk = 1 << 18;
function chunkSize(array: NDArray): number {
  const size = scalarOf(array, 'buffer_size');
  // -1 and 0 leave the size to us.
  if (size < -1) throw new InvalidArgumentError('`buffer_size` must be >= 0 (0 == default)');
  return size <= 0 ? defaultChunk : Math.min(Math.max(size, 1024), 1 << 22);
}

/** What files to read, and how. */
export function filesOf(inputs: {
  readonly filenames: NDArray;
  readonly compression_type?: NDArray;
  readonly buffer_size: NDArray;
}): FileList {
  const { filenames, compression_type, buffer_size } = inputs;
  const compression = compression_type ? checkedCompression(compression_type) : '';
  return { paths: pathsIn(filenames), compression, chunk: chunkSize(buffer_size) };
}

export function fromFiles(kind: string, files: FileList, cut: (path: string) => Splitter): Dataset {
  return new Dataset({
    kind,
    types: [string],
    shapes: [[]],
    sharesMemory: false,
    cardinality: () => unknown,
    iterate: (scope) => new FilesIterator(scope, files, cut),
  });
}

/** Lines without their ends, which are \n or \r\n. */
class LineSplitter implements Splitter {
  private readonly held: Uint8Array[] = [];

  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(10, start);
      if (end < 0) break;
      yield this.line(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) this.held.push(chunk.slice(start));
  }

  *end(): Generator<Uint8Array> {
    if (this.held.length > 0) yield this.line(new Uint8Array(0));
  }

  /** A copy, so that a line does not keep its chunk in memory. */
  private line(rest: Uint8Array): Uint8Array {
    const whole = this.held.length === 0 ? rest.slice() : new Uint8Array(Buffer.concat([...this.held, rest]));
    this.held.length = 0;
    return whole.at(-1) === 13 ? whole.subarray(0, -1) : whole;
  }
}

export const TextLineDataset = datasetOp({
  name: 'TextLineDataset',
  inputs: { filenames: 'string', compression_type: 'string', buffer_size: 'int64' },
  attrs: { metadata },
  stateful: 'repeatable',
  make(arrays) {
    return fromFiles('TextLine', filesOf(arrays), () => new LineSplitter());
  },
});

/** Records of a TFRecord file, from a byte on. */
class RecordCutter implements Splitter {
  private readonly records = new RecordSplitter();
  constructor(private skip: number) {}

  *push(chunk: Uint8Array): Generator<Uint8Array> {
    const skipped = Math.min(this.skip, chunk.length);
    this.skip -= skipped;
    if (skipped === chunk.length) return;
    // A copy, so that a record does not keep its chunk in memory.
    for (const record of this.records.push(chunk.subarray(skipped))) yield record.slice();
  }

  end(): readonly Uint8Array[] {
    this.records.end();
    return [];
  }
}

/** Cuts files of records from their beginning. */
export const recordsOf = (): Splitter => new RecordCutter(0);

export const TFRecordDataset = datasetOp({
  name: 'TFRecordDataset',
  inputs: { filenames: 'string', compression_type: 'string', buffer_size: 'int64' },
  attrs: { metadata },
  stateful: 'repeatable',
  make(arrays) {
    return fromFiles('TFRecord', filesOf(arrays), recordsOf);
  },
});

export const TFRecordDatasetV2 = datasetOp({
  name: 'TFRecordDatasetV2',
  inputs: { filenames: 'string', compression_type: 'string', buffer_size: 'int64', byte_offsets: 'int64' },
  attrs: { metadata },
  stateful: 'repeatable',
  make(arrays) {
    const { byte_offsets } = arrays;
    const files = filesOf(arrays);
    const offset = (i: number) => (i < byte_offsets.size ? byte_offsets.numberAt(i) : 0);
    const offsets = new Map(files.paths.map((path, i) => [path, offset(i)]));
    return fromFiles('TFRecord', files, (path) => new RecordCutter(offsets.get(path)!));
  },
});

interface Layout {
  readonly header: number;
  readonly record: number;
  readonly footer: number;
}

/** Records of equal length between a header and a footer. */
class FixedCutter implements Splitter {
  private held: Uint8Array = new Uint8Array(0);
  private length = 0;
  private skip: number;
  constructor(
    private readonly path: string,
    private readonly layout: Layout,
    private readonly isCompressed: boolean,
  ) {
    this.skip = layout.header;
  }

  /** How many bytes there will be is known of files that are not compressed. */
  async check(): Promise<void> {
    if (!this.isCompressed) this.checkLength((await stat(localPath(this.path))).size);
  }

  *push(chunk: Uint8Array): Generator<Uint8Array> {
    this.length += chunk.length;
    const skipped = Math.min(this.skip, chunk.length);
    this.skip -= skipped;
    const { record, footer } = this.layout;
    const bytes = new Uint8Array(Buffer.concat([this.held, chunk.subarray(skipped)]));
    let at = 0;
    // What may be the footer is held back until more has come.
    for (; bytes.length - at >= record + footer; at += record) yield bytes.slice(at, at + record);
    this.held = bytes.subarray(at);
  }

  end(): readonly Uint8Array[] {
    this.checkLength(this.length);
    return [];
  }

  private checkLength(length: number): void {
    const { header, record, footer } = this.layout;
    const body = length - header - footer;
    if (body < 0 || body % record !== 0)
      throw new InvalidArgumentError(
        `Excluding the header (${header} bytes) and footer (${footer} bytes), input file "${this.path}" has body length ${body} bytes, which is not an exact multiple of the record length (${record} bytes).`,
      );
  }
}

function layoutOf(arrays: { readonly [K in 'header_bytes' | 'record_bytes' | 'footer_bytes']: NDArray }): Layout {
  const header = scalarOf(arrays.header_bytes, 'header_bytes');
  const record = scalarOf(arrays.record_bytes, 'record_bytes');
  const footer = scalarOf(arrays.footer_bytes, 'footer_bytes');
  if (header < 0) throw new InvalidArgumentError('`header_bytes` must be >= 0');
  if (record <= 0) throw new InvalidArgumentError('`record_bytes` must be > 0');
  if (footer < 0) throw new InvalidArgumentError('`footer_bytes` must be >= 0');
  return { header, record, footer };
}

const fixedInputs = {
  filenames: 'string',
  header_bytes: 'int64',
  record_bytes: 'int64',
  footer_bytes: 'int64',
  buffer_size: 'int64',
} as const;

export const FixedLengthRecordDataset = datasetOp({
  name: 'FixedLengthRecordDataset',
  inputs: fixedInputs,
  attrs: { metadata },
  stateful: 'repeatable',
  make(arrays) {
    const layout = layoutOf(arrays);
    return fromFiles('FixedLengthRecord', filesOf(arrays), (path) => new FixedCutter(path, layout, false));
  },
});

export const FixedLengthRecordDatasetV2 = datasetOp({
  name: 'FixedLengthRecordDatasetV2',
  inputs: { ...fixedInputs, compression_type: 'string' },
  attrs: { metadata },
  stateful: 'repeatable',
  make(arrays) {
    const layout = layoutOf(arrays);
    const files = filesOf(arrays);
    return fromFiles('FixedLengthRecord', files, (path) => new FixedCutter(path, layout, files.compression !== ''));
  },
});

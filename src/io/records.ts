/** @file TFRecord files: records with their length and checksums, plain or compressed, read and written as a stream. */

import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createDeflate, createGunzip, createGzip, createInflate } from 'node:zlib';
import { DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError } from '../core/errors.ts';
import { maskedCrc } from './crc32c.ts';

/** How a file of records is compressed; the empty text is not at all. */
export type RecordCompression = '' | 'GZIP' | 'ZLIB';

const headerLength = 12;
const footerLength = 4;

/** A record as it stands in a file. */
export function encodeRecord(data: Uint8Array): Uint8Array {
  const record = new Uint8Array(headerLength + data.length + footerLength);
  const view = new DataView(record.buffer);
  view.setBigUint64(0, BigInt(data.length), true);
  view.setUint32(8, maskedCrc(record.subarray(0, 8)), true);
  record.set(data, headerLength);
  view.setUint32(headerLength + data.length, maskedCrc(data), true);
  return record;
}

/** Cuts a stream of bytes into records. Give it chunks as they come; at the end, `end` complains about what is left over. */
export class RecordSplitter {
  private held: Uint8Array = new Uint8Array(0);
  /** Where `held` begins in the stream. */
  private position = 0;

  /** The records that are complete now. They are views of the chunks and stay valid. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    this.held = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]);
    let at = 0;
    for (;;) {
      const length = this.lengthAt(at);
      if (length === undefined || this.held.length - at < headerLength + length + footerLength) break;
      const data = this.held.subarray(at + headerLength, at + headerLength + length);
      this.check(data, at + headerLength + length, this.position + at + headerLength);
      at += headerLength + length + footerLength;
      yield data;
    }
    this.position += at;
    this.held = this.held.subarray(at);
  }

  /** The length of the record that begins here; undefined while it is not known yet. */
  private lengthAt(at: number): number | undefined {
    if (this.held.length - at < headerLength) return undefined;
    const header = this.held.subarray(at, at + 8);
    this.check(header, at + 8, this.position + at);
    const view = new DataView(header.buffer, header.byteOffset, 8);
    const length = Number(view.getBigUint64(0, true));
    if (!Number.isSafeInteger(length)) throw new DataLossError(`corrupted record at ${this.position + at}`);
    return length;
  }

  private check(data: Uint8Array, crcAt: number, place: number): void {
    const view = new DataView(this.held.buffer, this.held.byteOffset + crcAt, 4);
    if (view.getUint32(0, true) !== maskedCrc(data)) throw new DataLossError(`corrupted record at ${place}`);
  }

  end(): void {
    if (this.held.length > 0) throw new DataLossError(`truncated record at ${this.position}`);
  }
}

export interface RecordOptions {
  readonly compression?: RecordCompression | undefined;
}

function checkCompression(compression: string): asserts compression is RecordCompression {
  if (!['', 'GZIP', 'ZLIB'].includes(compression))
    throw new InvalidArgumentError(`Unsupported compression type: '${compression}'. Use '', 'GZIP' or 'ZLIB'.`);
}

/** The bytes of a file, without their compression. */
function open(path: string, compression: RecordCompression): Readable {
  const file = createReadStream(path, { highWaterMark: 1 << 20 });
  if (compression === '') return file;
  const stream = compression === 'GZIP' ? createGunzip() : createInflate();
  file.on('error', (error) => stream.destroy(error));
  return file.pipe(stream);
}

/**
 * The records of a file, one after the other, in little memory.
 *
 * @example for await (const record of tf.io.tfRecordIterator('digits.tfrecords')) console.log(record.length);
 */
export async function* tfRecordIterator(path: string, options: RecordOptions = {}): AsyncGenerator<Uint8Array> {
  const { compression = '' } = options;
  checkCompression(compression);
  const splitter = new RecordSplitter();
  const stream = open(path, compression);
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) yield* splitter.push(chunk);
  } catch (error) {
    throw inOurWords(error, path);
  } finally {
    stream.destroy();
  }
  splitter.end();
}

/** What the file system and the decompressor say, as an error with a code. */
function inOurWords(error: unknown, path: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT') return new NotFoundError(`${path}; No such file or directory`);
  if (code === 'EISDIR') return new FailedPreconditionError(`${path}; Is a directory`);
  if (code.startsWith('Z_')) return new DataLossError(`${path}: ${String(error)}; is it compressed in another way?`);
  return error;
}

/**
 * Writes records to a file.
 *
 * @example
 * const writer = new tf.io.TFRecordWriter('digits.tfrecords');
 * await writer.write(new TextEncoder().encode('one'));
 * await writer.close();
 */
export class TFRecordWriter implements AsyncDisposable {
  private readonly target: Writable;
  private readonly file: Writable;
  private isClosed = false;
  private failure: unknown;

  constructor(
    readonly path: string,
    options: RecordOptions = {},
  ) {
    const { compression = '' } = options;
    checkCompression(compression);
    this.file = createWriteStream(path, { highWaterMark: 1 << 20 });
    this.file.on('error', (error) => {
      this.failure ??= inOurWords(error, path);
    });
    this.target = this.file;
    if (compression !== '') {
      this.target = compression === 'GZIP' ? createGzip() : createDeflate();
      this.target.pipe(this.file);
    }
  }

  /** Adds a record; waits while much is still on its way to the disk. */
  async write(record: Uint8Array | string): Promise<void> {
    this.throwIfUnusable();
    const data = typeof record === 'string' ? new TextEncoder().encode(record) : record;
    if (!this.target.write(encodeRecord(data))) await once(this.target, 'drain');
    this.throwIfUnusable();
  }

  /** Waits until all records are in the file. */
  async flush(): Promise<void> {
    this.throwIfUnusable();
    await new Promise<void>((resolve, reject) =>
      this.target.write(new Uint8Array(0), (error) => (error ? reject(error) : resolve())),
    );
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.target.end();
    await finished(this.file).catch((error) => {
      throw inOurWords(error, this.path);
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private throwIfUnusable(): void {
    if (this.failure) throw this.failure;
    if (this.isClosed) throw new FailedPreconditionError('Writer is closed.');
  }
}

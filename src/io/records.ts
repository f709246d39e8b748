/** @file TFRecord files: records with their length and checksums, plain or compressed, read as a stream. */

import { constants } from 'node:buffer';
import { stat } from 'node:fs/promises';
import { constants as zlibConstants } from 'node:zlib';
import { DataLossError, InvalidArgumentError, OpError, ResourceExhaustedError } from '../core/errors.ts';
import { type ByteStream, type Compression, openFile } from './byteStream.ts';
import { whenClosed } from './closingFiles.ts';
import { maskedCrc } from './crc32c.ts';
import { fileError } from './fileErrors.ts';
import { localPath } from './paths.ts';

/** How a file of records is compressed. */
export type RecordCompression = Compression;

/** What stands in front of the content of a record: its length and the checksum of that. */
export const headerLength = 12;
/** What stands behind it: its checksum. */
export const footerLength = 4;

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

/** Before more than this is collected for one record, the size of the file is asked; shorter ones may still be being written. */
const longRecord = 2 ** 24;

const truncated = (place: number) =>
  new DataLossError(`truncated record at ${place}' failed with Read less bytes than requested`);
const corrupted = (place: number) =>
  new DataLossError(`corrupted record at ${place}${place === 0 ? ' (Is this even a TFRecord file?)' : ''}`);

const uint32At = (bytes: Uint8Array, at: number) =>
  (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;

/**
 * Cuts a stream of bytes into records. Give it chunks as they come; at the end, `end` complains about what is left over. No
 * more is held than the record that is not complete, and nothing on the word of a length alone.
 */
export class RecordSplitter {
  /** The beginning of a record that is not complete, and how many bytes of it are needed to go on. */
  private held: Uint8Array[] = [];
  private heldBytes = 0;
  private needed = headerLength;
  /** Where that record begins in the stream. */
  private position = 0;
  private failure: Error | undefined;

  /** `size` is that of the whole stream, where it is known: a long record that claims more is refused at once. */
  constructor(private readonly size = Number.POSITIVE_INFINITY) {}

  /** The records that are complete now. They are views of the chunks and stay valid. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    yield* this.split(chunk);
    if (this.failure) throw this.failure;
  }

  /** As `push`, all at once. Damage behind some records is told by the next call, or by `end`. */
  split(chunk: Uint8Array): Uint8Array[] {
    if (this.failure) throw this.failure;
    const records: Uint8Array[] = [];
    try {
      this.cut(chunk, records);
    } catch (error) {
      if (!(error instanceof OpError)) throw error;
      this.failure = error;
    }
    return records;
  }

  private cut(chunk: Uint8Array, records: Uint8Array[]): void {
    let at = 0;
    while (this.heldBytes > 0) {
      const taken = Math.min(this.needed - this.heldBytes, chunk.length - at);
      if (taken > 0) this.held.push(chunk.subarray(at, at + taken));
      at += taken;
      this.heldBytes += taken;
      if (this.heldBytes < this.needed) return;
      const begun = this.held.length === 1 ? this.held[0]! : plainConcat(this.held);
      this.held = [begun];
      const whole = headerLength + this.lengthAt(begun, 0) + footerLength;
      // What was needed was the header, or the rest.
      if (this.needed < whole) this.needed = whole;
      else {
        this.take(begun, 0, whole, records);
        this.held = [];
        this.heldBytes = 0;
        this.needed = headerLength;
      }
    }
    while (chunk.length - at >= headerLength) {
      const whole = headerLength + this.lengthAt(chunk, at) + footerLength;
      this.needed = whole;
      if (chunk.length - at < whole) break;
      this.take(chunk, at, whole, records);
      this.needed = headerLength;
      at += whole;
    }
    if (at === chunk.length) return;
    this.held = [chunk.subarray(at)];
    this.heldBytes = chunk.length - at;
  }

  /** The length of the record whose header stands there. */
  private lengthAt(bytes: Uint8Array, at: number): number {
    if (uint32At(bytes, at + 8) !== maskedCrc(bytes.subarray(at, at + 8))) throw corrupted(this.position);
    const length = uint32At(bytes, at) + 2 ** 32 * uint32At(bytes, at + 4);
    if (length > longRecord && length > this.size - this.position) throw truncated(this.position);
    if (length > constants.MAX_LENGTH)
      throw new ResourceExhaustedError(
        `the record at ${this.position} claims ${length} bytes, more than fit in memory`,
      );
    return length;
  }

  /** Adds the content of a complete record. */
  private take(bytes: Uint8Array, at: number, whole: number, records: Uint8Array[]): void {
    const data = bytes.subarray(at + headerLength, at + whole - footerLength);
    if (uint32At(bytes, at + whole - footerLength) !== maskedCrc(data)) throw corrupted(this.position + headerLength);
    this.position += whole;
    records.push(data);
  }

  end(): void {
    if (this.failure) throw this.failure;
    if (this.heldBytes > 0) throw truncated(this.position);
  }
}

function plainConcat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export interface RecordOptions {
  readonly compression?: RecordCompression | undefined;
}

/** The kinds of compression by TensorFlow's numbers. */
export const TFRecordCompressionType = { NONE: 0, ZLIB: 1, GZIP: 2 } as const;

/** How much work compression is; what each number means is in zlib's manual. */
export interface ZlibChoices {
  readonly flushMode?: number | undefined;
  readonly inputBufferSize?: number | undefined;
  readonly outputBufferSize?: number | undefined;
  readonly windowBits?: number | undefined;
  readonly compressionLevel?: number | undefined;
  readonly compressionMethod?: number | undefined;
  readonly memLevel?: number | undefined;
  readonly compressionStrategy?: number | undefined;
}

/** The same in the names that Node's zlib has for them: types of the package are there without those of Node. */
interface ZlibSettings {
  readonly flush?: number;
  readonly chunkSize?: number;
  readonly windowBits?: number;
  readonly level?: number;
  readonly memLevel?: number;
  readonly strategy?: number;
}

/** What a choice may be: its name for zlib, and the least and the most. */
const choices: Readonly<Record<keyof ZlibChoices, readonly [keyof ZlibSettings | null, number, number]>> = {
  flushMode: ['flush', 0, 5],
  inputBufferSize: [null, 1, 2 ** 31 - 1], // what comes in is in memory already
  outputBufferSize: ['chunkSize', 64, 2 ** 31 - 1],
  windowBits: ['windowBits', 8, 15],
  compressionLevel: ['level', -1, 9],
  compressionMethod: [null, 8, 8], // there is only one
  memLevel: ['memLevel', 1, 9],
  compressionStrategy: ['strategy', 0, 4],
};

/**
 * How records are written or read: `new tf.io.TFRecordOptions('GZIP')`, or with a `TFRecordCompressionType`.
 *
 * @example new tf.io.TFRecordWriter('x.tfrecords', new tf.io.TFRecordOptions('GZIP', { compressionLevel: 9 }))
 */
export class TFRecordOptions implements RecordOptions {
  readonly compression: RecordCompression;
  /** What zlib is told when it compresses. */
  readonly zlib: ZlibSettings;
  constructor(compressionType: RecordCompression | 0 | 1 | 2 | TFRecordOptions | null = '', options: ZlibChoices = {}) {
    const type = compressionType instanceof TFRecordOptions ? compressionType.compression : (compressionType ?? '');
    const compression = typeof type === 'number' ? compressions[type] : type;
    checkCompression(compression ?? String(type));
    this.compression = compression!; // checked
    this.zlib = zlibSettings(options);
  }
}

function zlibSettings(given: ZlibChoices): ZlibSettings {
  const found: { -readonly [K in keyof ZlibSettings]: number } = {};
  for (const [name, value] of Object.entries(given)) {
    const choice = choices[name as keyof ZlibChoices]; // or undefined
    if (!choice)
      throw new InvalidArgumentError(
        `TFRecordOptions has no option '${name}'. The options are: ${Object.keys(choices).join(', ')}.`,
      );
    if (value === undefined) continue;
    const [option, least, most] = choice;
    if (!Number.isInteger(value) || value < least || value > most)
      throw new InvalidArgumentError(`${name} must be a whole number from ${least} to ${most}, but it is ${value}.`);
    if (option) found[option] = value;
  }
  return found;
}

/** Options as functions take them: an object, or only the name of a compression. */
export type RecordOptionsLike = RecordOptions | RecordCompression;

export function recordOptions(given: RecordOptionsLike): TFRecordOptions {
  if (given instanceof TFRecordOptions) return given;
  return new TFRecordOptions(typeof given === 'string' ? given : given.compression);
}
const compressions = ['', 'ZLIB', 'GZIP'] as const;

function checkCompression(compression: string): asserts compression is RecordCompression {
  if (!['', 'GZIP', 'ZLIB'].includes(compression))
    throw new InvalidArgumentError(`Unsupported compression type: '${compression}'. Use '', 'GZIP' or 'ZLIB'.`);
}

/** A compressed file that ends too soon gives what it has; the splitter sees whether a record is missing something. */
const zlib = { chunkSize: 1 << 18, finishFlush: zlibConstants.Z_SYNC_FLUSH };

/** The records of a file, many at a time: as many as are complete in what was read last. */
async function* recordBatches(path: string, options: RecordOptionsLike = {}): AsyncGenerator<readonly Uint8Array[]> {
  const { compression } = recordOptions(options);
  let stream: ByteStream | undefined;
  try {
    await whenClosed(path);
    const splitter = new RecordSplitter(compression === '' ? (await stat(localPath(path))).size : undefined);
    stream = openFile(path, compression, 1 << 20, { zlib });
    for await (const chunk of stream) {
      const records = splitter.split(chunk);
      if (records.length > 0) yield records;
    }
    splitter.end();
  } catch (error) {
    throw inOurWords(error, path);
  } finally {
    stream?.destroy();
  }
}

/** One record after the other of batches; a generator would cost more than reading a short record. */
class RecordIterator implements AsyncIterableIterator<Uint8Array> {
  private records: readonly Uint8Array[] = [];
  private position = 0;
  constructor(private readonly batches: AsyncGenerator<readonly Uint8Array[]>) {}

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.position === this.records.length) {
      const { done, value } = await this.batches.next();
      if (done) return { done: true, value: undefined };
      this.records = value;
      this.position = 0;
    }
    return { done: false, value: this.records[this.position++]! };
  }
  async return(): Promise<IteratorResult<Uint8Array>> {
    await this.batches.return(undefined);
    return { done: true, value: undefined };
  }
  [Symbol.asyncIterator](): this {
    return this;
  }
}

/**
 * The records of a file, one after the other, in little memory.
 *
 * @example for await (const record of tf.io.tfRecordIterator('digits.tfrecords')) console.log(record.length);
 */
export function tfRecordIterator(path: string, options: RecordOptionsLike = {}): AsyncIterableIterator<Uint8Array> {
  return new RecordIterator(recordBatches(path, options));
}

/** What the file system and the decompressor say, as an error with a code. */
export function inOurWords(error: unknown, path: string): unknown {
  if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))
    return new DataLossError(
      `inflate() failed with error ${'errno' in error ? error.errno : error.code}: ${error.message}; is ${path} compressed in another way?`,
      { cause: error },
    );
  return fileError(error, path);
}

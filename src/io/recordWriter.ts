/** @file TFRecordWriter: writes records to a file, many at a time, while more of them come in. */
import { close, createWriteStream, open, write, writev } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createDeflate, createGzip } from 'node:zlib';
import { FailedPreconditionError } from '../core/errors.ts';
import { closeBeforeReading, whenClosed } from './closingFiles.ts';
import { maskedCrc } from './crc32c.ts';
import { nativeFamily } from './native.ts';
import { localPath } from './paths.ts';
import { footerLength, headerLength, inOurWords, type RecordOptionsLike, recordOptions } from './records.ts';

/** So many bytes travel together. */
const blockSize = 1 << 18;

const native = nativeFamily(({ later }) => ({
  seal: later('int32_t tl_records_seal(int64_t block, int64_t bytes)'),
}));

/** Records one behind the other, without their checksums until it is sealed. */
export class RecordBlock {
  readonly bytes: Uint8Array;
  private readonly view: DataView;
  used = 0;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.view = new DataView(this.bytes.buffer);
  }

  hasRoomFor(data: Uint8Array): boolean {
    return this.used + headerLength + data.length + footerLength <= this.bytes.length;
  }

  put(data: Uint8Array): void {
    this.view.setUint32(this.used, data.length, true);
    this.view.setUint32(this.used + 4, Math.floor(data.length / 2 ** 32), true);
    this.bytes.set(data, this.used + headerLength);
    this.used += headerLength + data.length + footerLength;
  }

  /** Puts the checksums in, beside the event loop where the native library can do it. */
  async seal(): Promise<void> {
    if (!(await native()?.seal(this.bytes, this.used))) this.sealHere();
  }

  sealHere(): void {
    for (let at = 0; at < this.used; ) {
      const length = this.view.getUint32(at, true) + 2 ** 32 * this.view.getUint32(at + 4, true);
      const content = at + headerLength;
      this.view.setUint32(at + 8, maskedCrc(this.bytes.subarray(at, at + 8)), true);
      this.view.setUint32(content + length, maskedCrc(this.bytes.subarray(content, content + length)), true);
      at = content + length + footerLength;
    }
  }
}

/** The file system for a writer whose file may still be another's: it is opened, and emptied, when that is done. */
const fileSystemAfter = (others: Promise<void>) => ({
  write,
  writev,
  close,
  open: (path: string, flags: string, mode: number, opened: (error: Error | null, descriptor: number) => void) =>
    void others.then(() => open(path, flags, mode, opened)),
});

const done = Promise.resolve();

/**
 * Writes records to a file. A program that writes much does well to await `write`, for then little of it waits in memory; what
 * happens is the same without. Who reads the file in this program after `close()` gets all of it, awaited or not.
 *
 * @example
 * const writer = new tf.io.TFRecordWriter('digits.tfrecords');
 * await writer.write(new TextEncoder().encode('one'));
 * await writer.close();
 */
export class TFRecordWriter implements AsyncDisposable {
  private readonly target: Writable;
  private readonly file: Writable;
  /** What comes in is put here, while the block before is on its way; then they change places. */
  private block = new RecordBlock(blockSize);
  private spare = new RecordBlock(blockSize);
  private underWay = done;
  /** Records that wait until there is room; those behind them wait too. */
  private waiting: Promise<void> | undefined;
  private closed: Promise<void> | undefined;
  private failure: unknown;

  constructor(
    readonly path: string,
    options: RecordOptionsLike = {},
  ) {
    const { compression, zlib } = recordOptions(options);
    this.file = createWriteStream(localPath(path), { highWaterMark: 1 << 20, fs: fileSystemAfter(whenClosed(path)) });
    this.target = this.file;
    this.file.on('error', (error) => {
      this.fail(error);
      this.target.destroy(); // what still waits for it is told
    });
    if (compression !== '') {
      this.target = compression === 'GZIP' ? createGzip(zlib) : createDeflate(zlib);
      this.target.pipe(this.file);
    }
  }

  /** Adds a record; waits while much is still on its way to the disk. */
  write(record: Uint8Array | string): Promise<void> {
    const data = typeof record === 'string' ? new TextEncoder().encode(record) : record;
    if (this.closed) return Promise.reject(closedAlready());
    if (this.waiting || this.failure || !this.block.hasRoomFor(data)) {
      const written = this.writeInTurn(data);
      written.catch(() => {}); // who does not wait for it hears of it from flush or close
      return written;
    }
    this.block.put(data);
    return done;
  }

  private async writeInTurn(data: Uint8Array): Promise<void> {
    this.throwFailure();
    const turn = (this.waiting ?? done).then(() => this.putInTurn(data));
    const waiting = turn
      .catch((error) => this.fail(error))
      .then(() => {
        if (this.waiting === waiting) this.waiting = undefined;
      });
    this.waiting = waiting;
    await turn;
    this.throwFailure();
  }

  private async putInTurn(data: Uint8Array): Promise<void> {
    if (!this.block.hasRoomFor(data)) await this.send();
    if (this.block.hasRoomFor(data)) {
      this.block.put(data);
      return;
    }
    const own = new RecordBlock(headerLength + data.length + footerLength);
    own.put(data);
    await this.underWay;
    this.underWay = this.deliver(own);
  }

  /** Sends what is there, as soon as what was sent before has arrived. */
  private async send(): Promise<void> {
    await this.underWay;
    if (this.block.used === 0) return;
    [this.block, this.spare] = [this.spare, this.block];
    this.underWay = this.deliver(this.spare);
  }

  /** Brings a block to the file; then it is empty. What goes wrong is told by the next call. */
  private async deliver(block: RecordBlock): Promise<void> {
    try {
      await block.seal();
      await this.pass(block.bytes.subarray(0, block.used));
    } catch (error) {
      // Of a stream that has failed, a write may hear before the failure itself is told.
      this.fail(this.file.errored ?? error);
    }
    block.used = 0;
  }

  private pass(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.failure) resolve();
      else this.target.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Waits until all records are in the file. */
  async flush(): Promise<void> {
    if (this.closed) throw closedAlready();
    await this.arrive();
    this.throwFailure();
  }

  private async arrive(): Promise<void> {
    await this.waiting;
    await this.send();
    await this.underWay;
  }

  /** Writes what is still to be written. All calls end with the same result. */
  close(): Promise<void> {
    if (!this.closed) {
      this.closed = this.finish();
      closeBeforeReading(this.path, this.closed);
    }
    return this.closed;
  }

  private async finish(): Promise<void> {
    await this.arrive();
    this.target.end();
    await finished(this.file).catch((error) => this.fail(error));
    this.throwFailure();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private fail(error: unknown): void {
    this.failure ??= inOurWords(error, this.path);
  }
  private throwFailure(): void {
    if (this.failure) throw this.failure;
  }
}

const closedAlready = () => new FailedPreconditionError('Writer is closed.');

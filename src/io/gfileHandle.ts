/** @file `tf.gfile.GFile`: a file that is read and written piece by piece. */
import { closeSync, fstatSync, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { InvalidArgumentError, OutOfRangeError, PermissionDeniedError } from '../core/errors.ts';
import { onFile } from './gfile.ts';

/** How a file is opened: reading, writing, appending; `+` for both ways, `b` for bytes instead of text. */
export type FileMode = `${'r' | 'w' | 'a'}${'' | '+' | 'b' | 'b+' | '+b'}`;

const modes: readonly string[] = ['r', 'w', 'a'].flatMap((way) => ['', '+', 'b', 'b+', '+b'].map((rest) => way + rest));
const lineFeed = 10;
const chunkSize = 1 << 16;

interface Ahead {
  readonly at: number;
  readonly bytes: Uint8Array;
}
const nothingAhead: Ahead = { at: 0, bytes: new Uint8Array(0) };

/**
 * A file; `using` closes it where its block ends. It is opened when it is first read or written, so a name that does not exist
 * is an error only then, as in TensorFlow.
 *
 * @example const text = new tf.gfile.GFile('notes.txt', 'r').read();
 */
export class GFile implements Iterable<string | Uint8Array>, Disposable {
  private descriptor: number | undefined;
  private position = 0;
  /** Bytes that were read for a line and belong to the next ones, from the position on; empty when it has moved otherwise. */
  private ahead: Ahead = nothingAhead;
  private readonly isBinary: boolean;
  private readonly mayRead: boolean;
  private readonly mayWrite: boolean;

  constructor(
    readonly name: string,
    readonly mode: FileMode = 'r',
  ) {
    if (!modes.includes(mode)) {
      throw new InvalidArgumentError(`mode is not 'r' or 'w' or 'a' with '+' or 'b': '${mode}'`);
    }
    this.isBinary = mode.includes('b');
    this.mayRead = mode.startsWith('r') || mode.includes('+');
    this.mayWrite = !mode.startsWith('r') || mode.includes('+');
  }

  private open(): number {
    this.descriptor ??= onFile(this.name, (local) => openSync(local, this.mode.replace('b', '')));
    return this.descriptor;
  }

  private opened(way: 'reading' | 'writing'): number {
    if (way === 'reading' ? !this.mayRead : !this.mayWrite) {
      throw new PermissionDeniedError(`File isn't open for ${way}`);
    }
    return this.open();
  }

  private bytes(count: number): Uint8Array {
    const descriptor = this.opened('reading');
    const buffer = new Uint8Array(count);
    let length = 0;
    while (length < count) {
      const got = onFile(this.name, () => readSync(descriptor, buffer, length, count - length, this.position + length));
      if (got === 0) break;
      length += got;
    }
    this.position += length;
    return buffer.subarray(0, length);
  }

  private asContent(bytes: Uint8Array): string | Uint8Array {
    return this.isBinary ? bytes : new TextDecoder().decode(bytes);
  }

  /** The next `count` bytes, or everything up to the end: bytes in a binary mode and text otherwise. */
  read(count = -1): string | Uint8Array {
    const descriptor = this.opened('reading');
    const left = Math.max(0, onFile(this.name, () => fstatSync(descriptor).size) - this.position);
    return this.asContent(this.bytes(count < 0 ? left : Math.min(count, left)));
  }

  /** The next line with its line feed; empty at the end of the file. */
  readline(): string | Uint8Array {
    const parts: Uint8Array[] = [];
    for (let isOver = false; !isOver; ) {
      const part = this.stretch();
      const length = part.indexOf(lineFeed) + 1 || part.length;
      parts.push(part.subarray(0, length));
      this.ahead = { at: this.position + length, bytes: part.subarray(length) };
      this.position += length;
      isOver = part.length === 0 || part[length - 1] === lineFeed;
    }
    return this.asContent(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
  }

  /** Some bytes from the position on, which stays where it is; none at the end of the file. */
  private stretch(): Uint8Array {
    const { at, bytes } = this.ahead;
    if (at === this.position && bytes.length > 0) return bytes;
    const start = this.position;
    const more = this.bytes(chunkSize);
    this.position = start;
    return more;
  }

  /** The lines that are left. */
  readlines(): (string | Uint8Array)[] {
    return [...this];
  }

  *[Symbol.iterator](): Iterator<string | Uint8Array> {
    for (let line = this.readline(); line.length > 0; line = this.readline()) yield line;
  }

  /** The next line; throws at the end of the file. */
  next(): string | Uint8Array {
    const line = this.readline();
    if (line.length === 0) throw new OutOfRangeError(`'${this.name}' has no more lines.`);
    return line;
  }

  /** Whether `seek` can be used: always. */
  seekable(): boolean {
    return true;
  }

  /** Writes text or bytes where the last call ended. */
  write(content: string | Uint8Array): void {
    const descriptor = this.opened('writing');
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    const at = this.mode.startsWith('a') ? null : this.position;
    this.ahead = nothingAhead; // what is written may be behind the position
    for (let done = 0; done < bytes.length; ) {
      const place = at === null ? null : at + done;
      done += onFile(this.name, () => writeSync(descriptor, bytes, done, bytes.length - done, place));
    }
    this.position = at === null ? this.size() : at + bytes.length;
  }

  /** Where the next call reads or writes. */
  tell(): number {
    return this.position;
  }

  /** Goes to a place counted from the beginning (0), from here (1) or from the end (2). */
  seek(offset: number, whence: 0 | 1 | 2 = 0): void {
    this.opened('reading');
    const place = offset + (whence === 0 ? 0 : whence === 1 ? this.position : this.size());
    if (whence !== 0 && whence !== 1 && whence !== 2) {
      throw new InvalidArgumentError(`Invalid whence argument: ${whence}. Valid values are 0, 1, or 2.`);
    }
    if (place < 0 || place > this.size()) {
      throw new OutOfRangeError(`Cannot go to ${place}: '${this.name}' has ${this.size()} bytes.`);
    }
    this.position = place;
  }

  /** The size of the file in bytes. */
  size(): number {
    return onFile(this.name, (local) => statSync(local).size);
  }

  /** Sees to it that what was written is on the disk. */
  flush(): void {
    const { descriptor } = this;
    if (descriptor !== undefined && this.mayWrite) onFile(this.name, () => fsyncSync(descriptor));
  }

  /** Closes the file; used again, it is opened again. */
  close(): void {
    if (this.mayWrite && this.descriptor === undefined && this.mode.startsWith('w')) this.open(); // leaves an empty file
    if (this.descriptor !== undefined) closeSync(this.descriptor);
    this.descriptor = undefined;
    this.position = 0;
    this.ahead = nothingAhead;
  }
  [Symbol.dispose](): void {
    this.close();
  }
}

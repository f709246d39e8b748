/** @file Sorted tables of keys and values in LevelDB's format: the index of a checkpoint, and V1 checkpoints as a whole. */
import { DataLossError, UnimplementedError } from '../core/errors.ts';
import { maskedCrc } from './crc32c.ts';
import { snappyUncompress } from './snappy.ts';

const magic = 0xdb4775248b80fb57n;
const footerLength = 48;
/** A block is closed when it has grown to this many bytes. */
const blockSize = 262_144;
/** Keys are stored whole at so many entries' distance; in between only what differs from the key before. */
const restartInterval = 16;

/** Bytes that grow. */
class Bytes {
  private data = new Uint8Array(1024);
  length = 0;

  add(bytes: Uint8Array): void {
    if (this.length + bytes.length > this.data.length) {
      const grown = new Uint8Array(Math.max(this.data.length * 2, this.length + bytes.length));
      grown.set(this.data.subarray(0, this.length));
      this.data = grown;
    }
    this.data.set(bytes, this.length);
    this.length += bytes.length;
  }
  varint(value: number): void {
    this.add(varint(value));
  }
  uint32(value: number): void {
    this.add(Uint8Array.of(value & 255, (value >>> 8) & 255, (value >>> 16) & 255, value >>> 24));
  }
  get bytes(): Uint8Array {
    return this.data.subarray(0, this.length);
  }
}

export function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

class Block {
  private readonly content = new Bytes();
  private readonly restarts: number[] = [];
  private sinceRestart = 0;
  private last: Uint8Array = new Uint8Array(0);
  constructor(private readonly interval: number) {}

  get size(): number {
    return this.content.length + 4 * (this.restarts.length + 1);
  }
  get isEmpty(): boolean {
    return this.content.length === 0;
  }
  get lastKey(): Uint8Array {
    return this.last;
  }

  add(key: Uint8Array, value: Uint8Array): void {
    const isRestart = this.restarts.length === 0 || this.sinceRestart === this.interval;
    if (isRestart) {
      this.restarts.push(this.content.length);
      this.sinceRestart = 0;
    }
    const shared = isRestart ? 0 : commonPrefix(this.last, key);
    this.content.varint(shared);
    this.content.varint(key.length - shared);
    this.content.varint(value.length);
    this.content.add(key.subarray(shared));
    this.content.add(value);
    this.last = key;
    this.sinceRestart++;
  }

  finish(): Uint8Array {
    const restarts = this.restarts.length === 0 ? [0] : this.restarts;
    for (const r of restarts) this.content.uint32(r);
    this.content.uint32(restarts.length);
    return this.content.bytes;
  }
}

function commonPrefix(a: Uint8Array, b: Uint8Array): number {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
}

/** A short key that is not below `a` and below `b`. */
function separator(a: Uint8Array, b: Uint8Array): Uint8Array {
  const n = commonPrefix(a, b);
  if (n < a.length && n < b.length && a[n]! < 255 && a[n]! + 1 < b[n]!) {
    const short = Uint8Array.from(a.subarray(0, n + 1));
    short[n]!++;
    return short;
  }
  return a;
}

/** A short key that is not below `a`. */
function successor(a: Uint8Array): Uint8Array {
  const n = a.findIndex((byte) => byte !== 255);
  if (n < 0) return a;
  const short = Uint8Array.from(a.subarray(0, n + 1));
  short[n]!++;
  return short;
}

/** Entries, in the order of their keys, as the bytes of a table. */
export function encodeTable(entries: Iterable<readonly [key: Uint8Array, value: Uint8Array]>): Uint8Array {
  const file = new Bytes();
  const index = new Block(1);
  const write = (block: Uint8Array): Uint8Array => {
    const handle = new Bytes();
    handle.varint(file.length);
    handle.varint(block.length);
    const typed = new Uint8Array(block.length + 1);
    typed.set(block);
    file.add(typed);
    file.uint32(maskedCrc(typed));
    return handle.bytes;
  };
  let block = new Block(restartInterval);
  let pending: { readonly key: Uint8Array; readonly handle: Uint8Array } | undefined;
  for (const [key, value] of entries) {
    if (pending) index.add(separator(pending.key, key), pending.handle);
    pending = undefined;
    block.add(key, value);
    if (block.size < blockSize) continue;
    pending = { key: block.lastKey, handle: write(block.finish()) };
    block = new Block(restartInterval);
  }
  if (!block.isEmpty) pending = { key: block.lastKey, handle: write(block.finish()) };
  if (pending) index.add(successor(pending.key), pending.handle);
  const footer = new Bytes();
  footer.add(write(new Block(restartInterval).finish()));
  footer.add(write(index.finish()));
  const padded = new Uint8Array(footerLength);
  padded.set(footer.bytes);
  new DataView(padded.buffer).setBigUint64(footerLength - 8, magic, true);
  file.add(padded);
  return file.bytes;
}

/** Reads numbers and pieces of a byte array, and complains when they are not there. */
class Cursor {
  at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++];
      if (byte === undefined || scale > 2 ** 49) throw new DataLossError('corrupted block: a number does not end');
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }
  take(length: number): Uint8Array {
    if (this.at + length > this.bytes.length) throw new DataLossError('corrupted block: an entry is cut off');
    return this.bytes.subarray(this.at, (this.at += length));
  }
  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }
}

/** The entries of a table, in order. Every block is checked before it is looked into. */
export function* decodeTable(file: Uint8Array): Generator<readonly [key: Uint8Array, value: Uint8Array]> {
  if (file.length < footerLength) throw new DataLossError('file is too short to be an sstable');
  const footer = file.subarray(file.length - footerLength);
  const view = new DataView(footer.buffer, footer.byteOffset, footerLength);
  if (view.getBigUint64(footerLength - 8, true) !== magic) throw new DataLossError('not an sstable (bad magic number)');
  const handles = new Cursor(footer);
  handles.varint();
  handles.varint();
  const index = readBlock(file, handles.varint(), handles.varint());
  for (const [, handle] of entriesOf(index)) {
    const place = new Cursor(handle);
    yield* entriesOf(readBlock(file, place.varint(), place.varint()));
  }
}

function readBlock(file: Uint8Array, offset: number, size: number): Uint8Array {
  if (offset + size + 5 > file.length) throw new DataLossError('truncated block read');
  const typed = file.subarray(offset, offset + size + 1);
  const view = new DataView(file.buffer, file.byteOffset + offset + size + 1, 4);
  if (view.getUint32(0, true) !== maskedCrc(typed)) throw new DataLossError('block checksum mismatch');
  if (typed[size] === 1) return snappyUncompress(typed.subarray(0, size));
  if (typed[size] !== 0) throw new UnimplementedError(`blocks compressed by method ${typed[size]} cannot be read`);
  return typed.subarray(0, size);
}

function* entriesOf(block: Uint8Array): Generator<readonly [Uint8Array, Uint8Array]> {
  if (block.length < 4) throw new DataLossError('corrupted block: it has no end');
  const count = new DataView(block.buffer, block.byteOffset + block.length - 4, 4).getUint32(0, true);
  const end = block.length - 4 - 4 * count;
  if (end < 0) throw new DataLossError('corrupted block: too many restarts');
  const cursor = new Cursor(block.subarray(0, end));
  let key = new Uint8Array(0);
  while (!cursor.isAtEnd) {
    const shared = cursor.varint();
    const unshared = cursor.varint();
    const length = cursor.varint();
    if (shared > key.length) throw new DataLossError('corrupted block: a key shares more than there is');
    const next = new Uint8Array(shared + unshared);
    next.set(key.subarray(0, shared));
    next.set(cursor.take(unshared), shared);
    key = next;
    yield [key, cursor.take(length)];
  }
}

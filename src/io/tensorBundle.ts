/** @file Checkpoints (V2, "tensor bundles"): `P.index`, a table of what there is, and `P.data-…`, the bytes of the tensors. */
import { readFileSync } from 'node:fs';
import { copyFile, type FileHandle, open, readFile, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DType } from '../core/dtypes.ts';
import { DataLossError, InvalidArgumentError, NotFoundError, UnimplementedError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';
import { type Shape, showRuntime, sizeOf } from '../core/shape.ts';
import { BundleEntryProto, BundleHeaderProto } from '../proto/tensorBundle.ts';
import { dtypeFromProto, shapeFromProto, shapeToProto } from '../proto/tensorProto.ts';
import { dataPath, indexPath, publish, unfinished } from './bundleFiles.ts';
import { decodeVariants, encodeVariants } from './bundleVariants.ts';
import { crc32c, maskCrc, unmaskCrc } from './crc32c.ts';
import { fileError, makeFolder, wholeFileError } from './fileErrors.ts';
import { localPath } from './paths.ts';
import { copySlice, emptyArray, sliced } from './sliceCopies.ts';
import { decodeTable, varint } from './table.ts';
import { sliceFromProto, sliceKey, sliceToProto, type TensorSlice } from './tensorSlice.ts';

const text = {
  encode: (s: string) => new TextEncoder().encode(s),
  decode: (b: Uint8Array) => new TextDecoder().decode(b),
};

/** So much is written or read at a time: files of any size pass in little memory, and other work gets its turn. */
const chunkSize = 1 << 22;

/** A tensor to be stored, whole or as a slice of a larger one. */
export interface StoredTensor {
  readonly name: string;
  readonly array: NDArray;
  readonly sliceOf?: { readonly shape: Shape; readonly slice: TensorSlice } | undefined;
}

/** Writes a checkpoint. Nobody sees it before it is complete, and a checkpoint of that name stays until then. */
export async function writeBundle(prefix: string, tensors: readonly StoredTensor[]): Promise<void> {
  const writer = await BundleWriter.open(prefix);
  try {
    for (const tensor of tensors) await writer.add(tensor);
  } catch (error) {
    await writer.abandon();
    throw error;
  }
  await writer.finish();
}

/** Writes a checkpoint tensor by tensor, each to the disk as it comes; nobody sees it before it is finished. */
export class BundleWriter {
  private readonly entries = new Map<string, [key: Uint8Array, entry: Uint8Array]>();
  private readonly slices: StoredSlice[] = [];
  private offset = 0;

  private constructor(
    private readonly prefix: string,
    private readonly data: string,
    private readonly file: FileHandle,
  ) {}

  static async open(prefix: string): Promise<BundleWriter> {
    const local = localPath(prefix);
    const data = dataPath(local, 0, 1) + unfinished();
    try {
      await makeFolder(dirname(local));
      return new BundleWriter(prefix, data, await open(data, 'w'));
    } catch (error) {
      throw wholeFileError(error, prefix);
    }
  }

  async add(tensor: StoredTensor): Promise<void> {
    const { name, array, sliceOf } = tensor;
    const key = keyOf(tensor);
    if (this.entries.has(latin1(key))) throw new InvalidArgumentError(`Adding duplicate key: ${name}`);
    try {
      const { size, crc } = await writeTensor(this.file, array);
      this.entries.set(latin1(key), [key, entryBytes(array.dtype, array.shape, { offset: this.offset, size, crc })]);
      this.offset += size;
    } catch (error) {
      throw wholeFileError(error, this.prefix);
    }
    if (sliceOf) this.slices.push({ name, dtype: array.dtype, ...sliceOf });
  }

  /** Makes a checkpoint of another name from what there is so far; more may be added here. */
  async copyTo(prefix: string): Promise<void> {
    const local = localPath(prefix);
    const data = dataPath(local, 0, 1) + unfinished();
    try {
      await copyFile(this.data, data);
      await publish(local, [data], this.allEntries());
    } catch (error) {
      await rm(data, { force: true }).catch(() => undefined);
      throw wholeFileError(error, prefix);
    }
  }

  async finish(): Promise<void> {
    try {
      try {
        await this.file.sync();
      } finally {
        await this.file.close();
      }
      await publish(localPath(this.prefix), [this.data], this.allEntries());
    } catch (error) {
      await rm(this.data, { force: true }).catch(() => undefined);
      throw wholeFileError(error, this.prefix);
    }
  }

  /** Leaves nothing behind. */
  async abandon(): Promise<void> {
    await this.file.close().catch(() => undefined);
    await rm(this.data, { force: true }).catch(() => undefined);
  }

  private allEntries(): [Uint8Array, Uint8Array][] {
    return [...this.entries.values(), ...wholeEntries(this.slices)];
  }
}

function keyOf({ name, sliceOf }: StoredTensor): Uint8Array {
  return sliceOf ? sliceKey(name, sliceOf.slice) : text.encode(name);
}

/** A slice that was written, of the tensor of that name and shape. */
interface StoredSlice {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly slice: TensorSlice;
}

/** One entry without data per tensor that is stored in slices: its shape, and which slices there are. */
function wholeEntries(stored: readonly StoredSlice[]): [Uint8Array, Uint8Array][] {
  const found = new Map<string, { dtype: DType; shape: Shape; slices: TensorSlice[] }>();
  for (const { name, dtype, shape, slice } of stored) {
    const whole = found.get(name) ?? { dtype, shape, slices: [] };
    whole.slices.push(slice);
    found.set(name, whole);
  }
  return [...found].map(([name, { dtype, shape, slices }]) => [
    text.encode(name),
    BundleEntryProto.encode({
      dtype: dtype.number,
      shape: shapeToProto(shape),
      shard_id: 0,
      offset: 0,
      size: 0,
      crc32c: 0,
      slices: slices.map(sliceToProto),
    }),
  ]);
}

interface Place {
  readonly offset: number;
  readonly size: number;
  readonly crc: number;
}

function entryBytes(dtype: DType, shape: Shape, { offset, size, crc }: Place): Uint8Array {
  return BundleEntryProto.encode({
    dtype: dtype.number,
    shape: shapeToProto(shape),
    shard_id: 0,
    offset,
    size,
    crc32c: maskCrc(crc),
    slices: [],
  });
}

async function writeTensor(file: FileHandle, array: NDArray): Promise<{ size: number; crc: number }> {
  if (!array.dtype.isObject) return { size: array.bytes.length, crc: await writeBytes(file, array.bytes, 0) };
  if (array.dtype.name === 'variant') {
    const { bytes, crc } = encodeVariants(array);
    await writeBytes(file, bytes, 0);
    return { size: bytes.length, crc };
  }
  if (array.dtype.name !== 'string')
    throw new UnimplementedError(`tensors of type ${array.dtype} cannot be stored in a checkpoint`);
  const strings = array.objects as Uint8Array[]; // what string arrays hold
  const { lengths, checksum, crc } = stringHeader(strings);
  await writeBytes(file, Buffer.concat([lengths, checksum]), 0);
  let size = lengths.length + checksum.length;
  let sum = crc;
  for (const part of inChunks(strings)) {
    sum = await writeBytes(file, part, sum);
    size += part.length;
  }
  return { size, crc: sum };
}

/** Writes bytes to the end of a file; gives their checksum, after `before`. */
async function writeBytes(file: FileHandle, bytes: Uint8Array, before: number): Promise<number> {
  let crc = before;
  for (let at = 0; at < bytes.length; at += chunkSize) {
    const chunk = bytes.subarray(at, at + chunkSize);
    // The disk takes a chunk while its checksum is computed.
    const written = writeAll(file, chunk);
    crc = crc32c(chunk, crc);
    await written;
  }
  return crc;
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at, bytes.length - at)).bytesWritten;
}

/** Short strings joined to pieces that are worth a call of the file system. */
function* inChunks(strings: readonly Uint8Array[]): Generator<Uint8Array> {
  let some: Uint8Array[] = [];
  let size = 0;
  for (const bytes of strings) {
    some.push(bytes);
    size += bytes.length;
    if (size < chunkSize) continue;
    yield some.length === 1 ? bytes : Buffer.concat(some);
    some = [];
    size = 0;
  }
  yield Buffer.concat(some);
}

/** The lengths of strings, the checksum of these, and the checksum of both so far. */
function stringHeader(strings: readonly Uint8Array[]): { lengths: Uint8Array; checksum: Uint8Array; crc: number } {
  const fixed = new Uint8Array(4 * strings.length);
  const view = new DataView(fixed.buffer);
  for (const [i, s] of strings.entries()) view.setUint32(4 * i, s.length, true);
  const crc = crc32c(fixed);
  const checksum = new Uint8Array(4);
  new DataView(checksum.buffer).setUint32(0, maskCrc(crc), true);
  return {
    lengths: Buffer.concat(strings.map((s) => varint(s.length))),
    checksum,
    crc: crc32c(checksum, crc),
  };
}

/** What is known of a tensor in a checkpoint. */
export interface BundleEntry {
  readonly dtype: DType;
  readonly shape: Shape;
}

/** Reads a checkpoint: the index at once, tensors when they are asked for. */
export class BundleReader {
  private readonly files = new Map<number, Promise<FileHandle>>();

  private constructor(
    readonly prefix: string,
    private readonly shards: number,
    private readonly entries: ReadonlyMap<string, BundleEntryProto>,
  ) {}

  static open(prefix: string): BundleReader {
    let file: Uint8Array;
    try {
      file = readFileSync(indexPath(localPath(prefix)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw fileError(error, prefix); // what fs throws has a code
      throw new NotFoundError(
        `Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ${prefix}`,
      );
    }
    const entries = new Map<string, BundleEntryProto>();
    let header: BundleHeaderProto | undefined;
    for (const [key, value] of decodeTable(file))
      if (key.length === 0) header = BundleHeaderProto.decode(value);
      else entries.set(latin1(key), BundleEntryProto.decode(value));
    if (!header) throw new DataLossError(`${indexPath(prefix)} has no header; is it a checkpoint's index?`);
    if (header.endianness !== 0) throw new UnimplementedError('this checkpoint was written on a big-endian machine');
    return new BundleReader(prefix, header.num_shards, entries);
  }

  /** The names of all tensors, in order. Slices are found through the tensor that they belong to. */
  get names(): string[] {
    return [...this.entries.keys()]
      .filter((key) => key.charCodeAt(0) !== 0)
      .map((key) => text.decode(Buffer.from(key, 'latin1')));
  }

  has(name: string): boolean {
    return this.entries.has(latin1(text.encode(name)));
  }

  entry(name: string): BundleEntry {
    const found = this.entries.get(latin1(text.encode(name)));
    if (!found) throw new NotFoundError(`Key ${name} not found in checkpoint`);
    return described(found);
  }

  /** The whole tensor, or a slice of it. `allocate` gives memory for the result, of undefined content; it need not be used. */
  async read(name: string, slice?: TensorSlice, allocate?: (bytes: number) => Uint8Array): Promise<NDArray> {
    const found = this.entries.get(latin1(text.encode(name)));
    if (!found) throw new NotFoundError(`Key ${name} not found in checkpoint`);
    const whole = found.slices.length === 0 ? await this.load(name, found, allocate) : await this.joined(name, found);
    return slice ? sliced(whole, slice) : whole;
  }

  /** A tensor that is stored in slices, put together. */
  private async joined(name: string, entry: BundleEntryProto): Promise<NDArray> {
    const { dtype, shape } = described(entry);
    const result = emptyArray(dtype, shape);
    for (const proto of entry.slices) {
      const slice = sliceFromProto(proto);
      const part = this.entries.get(latin1(sliceKey(name, slice)));
      if (!part) throw new DataLossError(`a slice of ${name} is missing in checkpoint ${this.prefix}`);
      copySlice(await this.load(name, part), result, slice);
    }
    return result;
  }

  private async load(
    name: string,
    entry: BundleEntryProto,
    allocate: (bytes: number) => Uint8Array = (bytes) => new Uint8Array(bytes),
  ): Promise<NDArray> {
    const { dtype, shape } = described(entry);
    if (!dtype.isObject && entry.size !== sizeOf(shape) * dtype.size)
      throw new DataLossError(`tensor ${name} has ${entry.size} bytes, but its shape is ${showRuntime(shape)}`);
    const file = await this.file(entry.shard_id);
    // A damaged index may claim any size; memory is taken for what is there.
    const path = dataPath(this.prefix, entry.shard_id, this.shards);
    if (entry.offset + entry.size > (await file.stat()).size)
      throw new DataLossError(`${path} ends within tensor ${name}`);
    // Objects are parts of what was read, which they may outlive.
    const bytes = dtype.isObject ? new Uint8Array(entry.size) : allocate(entry.size);
    const crc = await readBytes(file, bytes, entry.offset, !dtype.isObject);
    if (crc === undefined) throw new DataLossError(`${path} ends within tensor ${name}`);
    if (dtype.name === 'variant') {
      const array = decodeVariants(bytes, shape, unmaskCrc(entry.crc32c));
      if (!array) throw checksumError(name, this.prefix);
      return array;
    }
    if (dtype.isObject) return strings(name, this.prefix, bytes, shape, dtype, entry.crc32c);
    if (crc !== unmaskCrc(entry.crc32c)) throw checksumError(name, this.prefix);
    return new NDArray(dtype, shape, dtype.over(bytes.buffer, bytes.byteOffset, sizeOf(shape)));
  }

  /** A shard's file, opened once for all who read from it at the same time. */
  private file(shard: number): Promise<FileHandle> {
    let file = this.files.get(shard);
    if (!file) {
      const path = dataPath(this.prefix, shard, this.shards);
      file = open(localPath(path), 'r').catch((error: unknown) => {
        this.files.delete(shard);
        throw fileError(error, path);
      });
      this.files.set(shard, file);
    }
    return file;
  }

  /** Closes the files; what is read later opens them again. */
  async close(): Promise<void> {
    const files = [...this.files.values()];
    this.files.clear();
    for (const file of files) await (await file).close();
  }
}

/** Fills bytes from a place in a file; gives their checksum if it is wanted, and undefined when the file ends before. */
async function readBytes(
  file: FileHandle,
  bytes: Uint8Array,
  offset: number,
  wantsChecksum: boolean,
): Promise<number | undefined> {
  const readAll = async (from: number): Promise<boolean> => {
    const end = Math.min(from + chunkSize, bytes.length);
    for (let at = from; at < end; ) {
      const { bytesRead } = await file.read(bytes, at, end - at, offset + at);
      if (bytesRead === 0) return false;
      at += bytesRead;
    }
    return true;
  };
  let crc = 0;
  let reading = readAll(0);
  for (let at = 0; at < bytes.length; at += chunkSize) {
    if (!(await reading)) return undefined;
    // The disk fills the next chunk while the checksum of this one is computed.
    reading = readAll(at + chunkSize);
    if (wantsChecksum) crc = crc32c(bytes.subarray(at, at + chunkSize), crc);
  }
  return (await reading) ? crc : undefined;
}

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

function described({ dtype, shape }: BundleEntryProto): BundleEntry {
  return { dtype: dtypeFromProto(dtype), shape: (shapeFromProto(shape) ?? []) as Shape }; // stored shapes are known
}

const checksumError = (name: string, prefix: string) =>
  new DataLossError(`Checksum does not match: tensor ${name} in checkpoint ${prefix} is damaged`);

function strings(name: string, prefix: string, bytes: Uint8Array, shape: Shape, dtype: DType, stored: number): NDArray {
  const count = sizeOf(shape);
  // Every string takes at least the byte of its length.
  if (count > bytes.length) throw checksumError(name, prefix);
  const lengths: number[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    let length = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw checksumError(name, prefix);
      length += (byte & 127) * scale;
      if (byte < 128) break;
    }
    lengths.push(length);
  }
  at += 4;
  // Parts of what was read: the bytes are in memory once.
  const objects = lengths.map((length) => bytes.subarray(at, (at += length)));
  if (at !== bytes.length) throw checksumError(name, prefix);
  const crc = objects.reduce((sum, s) => crc32c(s, sum), stringHeader(objects).crc);
  if (crc !== unmaskCrc(stored)) throw checksumError(name, prefix);
  return new NDArray(dtype, shape, objects);
}

/** Joins bundles that were written one per shard into one: data files are renamed, one index names all tensors. */
export async function mergeBundles(
  partNames: readonly string[],
  name: string,
  options: { readonly deleteFolders: boolean; readonly allowMissing: boolean },
): Promise<void> {
  const parts = partNames.map(localPath);
  const prefix = localPath(name);
  if (parts.length === 0) throw new InvalidArgumentError('At least one checkpoint prefix is needed to merge');
  const entries = new Map<string, BundleEntryProto>();
  const data: string[] = [];
  try {
    await makeFolder(dirname(prefix));
    for (const part of parts) {
      const index = await indexOf(part, options.allowMissing);
      if (!index) continue;
      let shards = 1;
      for (const [key, value] of decodeTable(index)) {
        if (key.length === 0) {
          shards = BundleHeaderProto.decode(value).num_shards;
          continue;
        }
        const entry = BundleEntryProto.decode(value);
        const before = entries.get(latin1(key));
        if (entry.slices.length === 0) entries.set(latin1(key), { ...entry, shard_id: data.length + entry.shard_id });
        else entries.set(latin1(key), { ...entry, slices: [...(before?.slices ?? []), ...entry.slices] });
      }
      for (let shard = 0; shard < shards; shard++) data.push(dataPath(part, shard, shards));
    }
    if (data.length === 0) throw new NotFoundError(`No checkpoint to merge is there: ${parts.join(', ')}`);
    const encoded = [...entries].map(
      ([key, entry]) => [Buffer.from(key, 'latin1'), BundleEntryProto.encode(entry)] as const,
    );
    await publish(prefix, data, encoded);
  } catch (error) {
    throw wholeFileError(error, prefix);
  }
  for (const part of parts) await rm(indexPath(part), { force: true });
  if (options.deleteFolders)
    for (const folder of new Set(parts.map((p) => dirname(p)))) await rmdir(folder).catch(() => undefined);
}

async function indexOf(part: string, allowMissing: boolean): Promise<Uint8Array | undefined> {
  try {
    return await readFile(indexPath(part));
  } catch (error) {
    const failure = fileError(error, indexPath(part));
    if (allowMissing && failure instanceof NotFoundError) return undefined;
    throw failure;
  }
}

/** @file Checkpoints (V2, "tensor bundles"): `P.index`, a table of what there is, and `P.data-…`, the bytes of the tensors. */
import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DType } from '../core/dtypes.ts';
import { DataLossError, InvalidArgumentError, NotFoundError, UnimplementedError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';
import { type Shape, sameShape, showRuntime, sizeOf, stridesOf } from '../core/shape.ts';
import { BundleEntryProto, BundleHeaderProto } from '../proto/tensorBundle.ts';
import { dtypeFromProto, shapeFromProto, shapeToProto } from '../proto/tensorProto.ts';
import { crc32c, maskCrc, unmaskCrc } from './crc32c.ts';
import { decodeTable, encodeTable, varint } from './table.ts';
import { sliceFromProto, sliceKey, sliceShape, sliceToProto, type TensorSlice } from './tensorSlice.ts';

const text = {
  encode: (s: string) => new TextEncoder().encode(s),
  decode: (b: Uint8Array) => new TextDecoder().decode(b),
};

const dataPath = (prefix: string, shard: number, shards: number) =>
  `${prefix}.data-${String(shard).padStart(5, '0')}-of-${String(shards).padStart(5, '0')}`;
const indexPath = (prefix: string) => `${prefix}.index`;

/** Keys in the order in which tables keep them. */
const compareKeys = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b);

/** A tensor to be stored, whole or as a slice of a larger one. */
export interface StoredTensor {
  readonly name: string;
  readonly array: NDArray;
  readonly sliceOf?: { readonly shape: Shape; readonly slice: TensorSlice } | undefined;
}

/** Writes a checkpoint. Nobody sees it before it is complete: files are written under other names, the index last. */
export async function writeBundle(prefix: string, tensors: readonly StoredTensor[]): Promise<void> {
  await mkdir(dirname(prefix), { recursive: true });
  const items = tensors.map((t) => ({ key: keyOf(t), ...t }));
  const suffix = `.tempstate${randomBytes(8).toString('hex')}`;
  const data = dataPath(prefix, 0, 1);
  const entries: [Uint8Array, Uint8Array][] = [];
  try {
    const file = await open(data + suffix, 'w');
    try {
      let offset = 0;
      for (const { key, array } of items) {
        const { size, crc } = await writeTensor(file, array);
        entries.push([key, entryBytes(array.dtype, array.shape, { offset, size, crc })]);
        offset += size;
      }
      await file.sync();
    } finally {
      await file.close();
    }
    entries.push(...wholeEntries(items));
    await rename(data + suffix, data);
    await writeIndex(prefix, entries, 1, suffix);
  } catch (error) {
    await rm(data + suffix, { force: true });
    throw inOurWords(error, prefix);
  }
}

function keyOf({ name, sliceOf }: StoredTensor): Uint8Array {
  return sliceOf ? sliceKey(name, sliceOf.slice) : text.encode(name);
}

/** One entry without data per tensor that is stored in slices: its shape, and which slices there are. */
function wholeEntries(tensors: readonly StoredTensor[]): [Uint8Array, Uint8Array][] {
  const found = new Map<string, { dtype: DType; shape: Shape; slices: TensorSlice[] }>();
  for (const { name, array, sliceOf } of tensors) {
    if (!sliceOf) continue;
    const whole = found.get(name) ?? { dtype: array.dtype, shape: sliceOf.shape, slices: [] };
    whole.slices.push(sliceOf.slice);
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

async function writeIndex(
  prefix: string,
  entries: readonly (readonly [Uint8Array, Uint8Array])[],
  shards: number,
  suffix: string,
): Promise<void> {
  const header = BundleHeaderProto.encode({
    num_shards: shards,
    endianness: 0,
    version: { producer: 1, min_consumer: 0, bad_consumers: [] },
  });
  const sorted = [...entries].sort(([a], [b]) => compareKeys(a, b));
  const path = indexPath(prefix);
  try {
    await writeFile(path + suffix, encodeTable([[new Uint8Array(0), header], ...sorted]), { flush: true });
    await rename(path + suffix, path);
  } catch (error) {
    await rm(path + suffix, { force: true });
    throw error;
  }
}

async function writeTensor(file: FileHandle, array: NDArray): Promise<{ size: number; crc: number }> {
  if (!array.dtype.isObject) {
    await file.write(array.bytes);
    return { size: array.bytes.length, crc: crc32c(array.bytes) };
  }
  if (array.dtype.name !== 'string')
    throw new UnimplementedError(`tensors of type ${array.dtype} cannot be stored in a checkpoint`);
  const { lengths, checksum, crc } = stringHeader(array.objects as Uint8Array[]); // strings are bytes
  const bytes = Buffer.concat([lengths, checksum, ...(array.objects as Uint8Array[])]);
  await file.write(bytes);
  return { size: bytes.length, crc: (array.objects as Uint8Array[]).reduce((sum, s) => crc32c(s, sum), crc) };
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
  private readonly files = new Map<number, FileHandle>();

  private constructor(
    readonly prefix: string,
    private readonly shards: number,
    private readonly entries: ReadonlyMap<string, BundleEntryProto>,
  ) {}

  static async open(prefix: string): Promise<BundleReader> {
    let file: Uint8Array;
    try {
      file = await readFile(indexPath(prefix));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw inOurWords(error, prefix);
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

  /** The whole tensor, or a slice of it. */
  async read(name: string, slice?: TensorSlice): Promise<NDArray> {
    const found = this.entries.get(latin1(text.encode(name)));
    if (!found) throw new NotFoundError(`Key ${name} not found in checkpoint`);
    const whole = found.slices.length === 0 ? await this.load(name, found) : await this.joined(name, found);
    return slice ? sliced(whole, slice) : whole;
  }

  /** A tensor that is stored in slices, put together. */
  private async joined(name: string, entry: BundleEntryProto): Promise<NDArray> {
    const { dtype, shape } = described(entry);
    const result = new NDArray(
      dtype,
      shape,
      dtype.isObject ? new Array<object>(sizeOf(shape)) : dtype.allocate(sizeOf(shape)),
    );
    for (const proto of entry.slices) {
      const slice = sliceFromProto(proto);
      const part = this.entries.get(latin1(sliceKey(name, slice)));
      if (!part) throw new DataLossError(`a slice of ${name} is missing in checkpoint ${this.prefix}`);
      copyRows(await this.load(name, part), result, slice);
    }
    return result;
  }

  private async load(name: string, entry: BundleEntryProto): Promise<NDArray> {
    const { dtype, shape } = described(entry);
    const bytes = new Uint8Array(entry.size);
    const file = await this.file(entry.shard_id);
    const { bytesRead } = await file.read(bytes, 0, entry.size, entry.offset);
    if (bytesRead < entry.size)
      throw new DataLossError(`${dataPath(this.prefix, entry.shard_id, this.shards)} ends within tensor ${name}`);
    if (dtype.isObject) return strings(name, bytes, shape, dtype, entry.crc32c);
    if (bytes.length !== sizeOf(shape) * dtype.size)
      throw new DataLossError(`tensor ${name} has ${bytes.length} bytes, but its shape is ${showRuntime(shape)}`);
    if (crc32c(bytes) !== unmaskCrc(entry.crc32c)) throw checksumError(name, this.prefix);
    return new NDArray(dtype, shape, dtype.over(bytes.buffer, 0, sizeOf(shape)));
  }

  private async file(shard: number): Promise<FileHandle> {
    let file = this.files.get(shard);
    if (!file) {
      const path = dataPath(this.prefix, shard, this.shards);
      try {
        file = await open(path, 'r');
      } catch (error) {
        throw inOurWords(error, path);
      }
      this.files.set(shard, file);
    }
    return file;
  }

  async close(): Promise<void> {
    for (const file of this.files.values()) await file.close();
    this.files.clear();
  }
}

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

function described({ dtype, shape }: BundleEntryProto): BundleEntry {
  return { dtype: dtypeFromProto(dtype), shape: (shapeFromProto(shape) ?? []) as Shape }; // stored shapes are known
}

const checksumError = (name: string, prefix: string) =>
  new DataLossError(`Checksum does not match: tensor ${name} in checkpoint ${prefix} is damaged`);

function strings(name: string, bytes: Uint8Array, shape: Shape, dtype: DType, stored: number): NDArray {
  const lengths: number[] = [];
  let at = 0;
  for (let i = 0; i < sizeOf(shape); i++) {
    let length = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw checksumError(name, '');
      length += (byte & 127) * scale;
      if (byte < 128) break;
    }
    lengths.push(length);
  }
  at += 4;
  const objects = lengths.map((length) => bytes.slice(at, (at += length)));
  if (at !== bytes.length) throw checksumError(name, '');
  const crc = objects.reduce((sum, s) => crc32c(s, sum), stringHeader(objects).crc);
  if (crc !== unmaskCrc(stored)) throw checksumError(name, '');
  return new NDArray(dtype, shape, objects);
}

/** The part of an array that a slice names. */
function sliced(array: NDArray, slice: TensorSlice): NDArray {
  const shape = sliceShape(slice, array.shape);
  if (sameShape(shape, array.shape)) return array;
  const { dtype } = array;
  const result = new NDArray(
    dtype,
    shape,
    dtype.isObject ? new Array<object>(sizeOf(shape)) : dtype.allocate(sizeOf(shape)),
  );
  forEachRow(array.shape, slice, shape, (from, to, length) => moveElements(array, from, result, to, length));
  return result;
}

/** Puts a slice's elements where they belong in the whole. */
function copyRows(part: NDArray, whole: NDArray, slice: TensorSlice): void {
  forEachRow(whole.shape, slice, part.shape, (to, from, length) => moveElements(part, from, whole, to, length));
}

/** Calls back for every run of neighbouring elements of a slice: where it begins in the whole and in the slice. */
function forEachRow(
  whole: Shape,
  slice: TensorSlice,
  part: Shape,
  move: (inWhole: number, inPart: number, length: number) => void,
): void {
  const rank = whole.length;
  const length = rank === 0 ? 1 : part[rank - 1]!;
  const strides = stridesOf(whole);
  const rows = sizeOf(part.slice(0, -1));
  for (let row = 0; row < rows; row++) {
    let rest = row;
    let at = rank === 0 ? 0 : slice[rank - 1]!.start;
    for (let axis = rank - 2; axis >= 0; axis--) {
      at += ((rest % part[axis]!) + slice[axis]!.start) * strides[axis]!;
      rest = Math.floor(rest / part[axis]!);
    }
    move(at, row * length, length);
  }
}

function moveElements(from: NDArray, at: number, to: NDArray, target: number, length: number): void {
  if (from.dtype.isObject)
    for (let i = 0; i < length; i++) (to.objects as object[])[target + i] = from.objects[at + i]!; // made just now
  else to.bytes.set(from.bytes.subarray(at * from.dtype.size, (at + length) * from.dtype.size), target * to.dtype.size);
}

/** Joins bundles that were written one per shard into one: data files are renamed, one index names all tensors. */
export async function mergeBundles(parts: readonly string[], prefix: string, deleteFolders: boolean): Promise<void> {
  if (parts.length === 0) throw new InvalidArgumentError('At least one checkpoint prefix is needed to merge');
  const entries: [Uint8Array, Uint8Array][] = [];
  const whole = new Map<string, BundleEntryProto>();
  await mkdir(dirname(prefix), { recursive: true });
  for (const [shard, part] of parts.entries()) {
    let file: Uint8Array;
    try {
      file = await readFile(indexPath(part));
    } catch (error) {
      throw inOurWords(error, indexPath(part));
    }
    for (const [key, value] of decodeTable(file)) {
      if (key.length === 0) continue;
      const entry = BundleEntryProto.decode(value);
      if (entry.slices.length === 0) entries.push([key, BundleEntryProto.encode({ ...entry, shard_id: shard })]);
      else {
        const before = whole.get(latin1(key));
        whole.set(latin1(key), { ...entry, slices: [...(before?.slices ?? []), ...entry.slices] });
      }
    }
    await rename(dataPath(part, 0, 1), dataPath(prefix, shard, parts.length));
  }
  for (const [key, entry] of whole) entries.push([Buffer.from(key, 'latin1'), BundleEntryProto.encode(entry)]);
  await writeIndex(prefix, entries, parts.length, `.tempstate${randomBytes(8).toString('hex')}`);
  for (const part of parts) await rm(indexPath(part), { force: true });
  if (deleteFolders)
    for (const folder of new Set(parts.map((p) => dirname(p)))) await rmdir(folder).catch(() => undefined);
}

/** What the file system says, as an error with a code. */
function inOurWords(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  if (error.code === 'ENOENT') return new NotFoundError(`${path}; No such file or directory`);
  if (error.code === 'ENOSPC')
    return new DataLossError(`${path}; No space left on device. Nothing was left half-written.`);
  return error;
}

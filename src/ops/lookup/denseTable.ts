/**
 * @file DenseTable: values by keys in buckets, with one key for buckets that are empty and one for those that were emptied. Keys are in
 * the same buckets as in TensorFlow, for a checkpoint holds the buckets as they are.
 */
import { InternalError, InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { type Shape, sameShape, showRuntime, sizeOf } from '../../core/shape.ts';
import { murmurHash64 } from '../string/murmurHash.ts';
import { joinRows, LookupTable, latin1, type Row, rowOf, type TableSpec } from './table.ts';

export interface Buckets {
  readonly emptyKey: NDArray;
  readonly deletedKey: NDArray;
  readonly count: number;
  /** Which part of the buckets may be taken before there are twice as many. */
  readonly maxLoad: number;
}

/** A key as it is stored, as it is compared, and its hash. */
interface Key {
  readonly row: Row;
  readonly text: string;
  readonly hash: bigint;
}

export class DenseTable extends LookupTable {
  private readonly oneKeyShape: Shape;
  private readonly maxLoad: number;
  private readonly empty: Key;
  private readonly deleted: Key;
  private readonly nothing: Row;
  private keys: Key[] = [];
  private values: Row[] = [];
  private taken = 0;

  constructor(spec: TableSpec, { emptyKey, deletedKey, count, maxLoad }: Buckets) {
    super(spec);
    if (!(maxLoad > 0 && maxLoad < 1))
      throw new InvalidArgumentError(`max_load_factor must be between 0 and 1, got: ${maxLoad}`);
    if (!sameShape(emptyKey.shape, deletedKey.shape))
      throw new InvalidArgumentError(
        `Empty and deleted keys must have same shape, got shapes: ${showRuntime(emptyKey.shape)} and ${showRuntime(deletedKey.shape)}`,
      );
    this.oneKeyShape = emptyKey.shape;
    this.maxLoad = maxLoad;
    this.empty = this.keyAt(emptyKey, 0);
    this.deleted = this.keyAt(deletedKey, 0);
    if (this.empty.text === this.deleted.text) throw new InvalidArgumentError('Empty and deleted keys cannot be equal');
    const { valueType, valueShape } = spec;
    const length = sizeOf(valueShape);
    this.nothing = valueType.isObject
      ? new Array<object>(length).fill(new Uint8Array(0))
      : new Uint8Array(length * valueType.size);
    if (count < 4 || (count & (count - 1)) !== 0)
      throw new InvalidArgumentError(`Number of buckets must be at least 4 and a power of 2, got: ${count}`);
    this.allocate(count);
  }

  protected override get keyShape(): Shape {
    return this.oneKeyShape;
  }

  override get size(): number {
    return this.taken;
  }

  private allocate(count: number): void {
    this.keys = new Array<Key>(count).fill(this.empty);
    this.values = new Array<Row>(count).fill(this.nothing);
    this.taken = 0;
  }

  private keyAt(array: NDArray, i: number): Key {
    const length = sizeOf(this.oneKeyShape);
    const row = rowOf(array, i, length);
    const elements = Array.from({ length }, (_, j) =>
      array.dtype.isObject ? latin1(array.objects[i * length + j]!) : array.data[i * length + j]!,
    );
    const hashes = elements.map((x) =>
      typeof x === 'string' ? murmurHash64(Buffer.from(x, 'latin1')) : asUnsigned(x),
    );
    const hash = length === 1 ? hashes[0]! : hashes.reduce(combined, 0n);
    return { row, text: length === 1 ? String(elements[0]) : JSON.stringify(elements.map(String)), hash };
  }

  /** A key that may be looked for. */
  private usableKey(array: NDArray, i: number): Key {
    const key = this.keyAt(array, i);
    for (const [reserved, name] of [[this.empty, 'empty_key'], [this.deleted, 'deleted_key']] as const) // biome-ignore format: pairs
      if (key.text === reserved.text) throw new InvalidArgumentError(`Using the ${name} as a table key is not allowed`);
    return key;
  }

  /** The bucket of a key, or else the first one that `isFree` lets it have. */
  private bucketOf(key: Key, isFree: (present: Key) => boolean): number {
    const mask = this.keys.length - 1;
    let bucket = Number(key.hash & BigInt(mask));
    for (let probes = 1; probes <= this.keys.length; probes++) {
      const present = this.keys[bucket]!;
      if (present.text === key.text || isFree(present)) return bucket;
      bucket = (bucket + probes) & mask;
    }
    throw new InternalError('Internal error in MutableDenseHashTable: no bucket is empty');
  }

  private readonly isEmpty = (key: Key): boolean => key.text === this.empty.text;
  private readonly isFree = (key: Key): boolean => this.isEmpty(key) || key.text === this.deleted.text;

  /** How many keys there are; keys of one element must be a vector or a single one. */
  private countOf({ shape, size }: NDArray): number {
    const count = shape[0] ?? 1;
    if (size !== count * sizeOf(this.oneKeyShape))
      throw new InvalidArgumentError(
        `Expected key shape ${showRuntime([count, ...this.oneKeyShape])} got ${showRuntime(shape)}`,
      );
    return count;
  }

  override async find(keys: NDArray, whenMissing: NDArray): Promise<NDArray> {
    const { shape } = this.foundShape(keys, whenMissing);
    const missing = this.valueAt(whenMissing, 0); // the first of many for all keys, as TensorFlow does it
    const rows = new Array<Row>(this.countOf(keys));
    await eachInTurns(rows.length, (i) => {
      const bucket = this.bucketOf(this.usableKey(keys, i), this.isEmpty);
      rows[i] = this.isEmpty(this.keys[bucket]!) ? missing : this.values[bucket]!;
    });
    return await joinRows(this.spec.valueType, shape, rows);
  }

  override async insert(keys: NDArray, values: NDArray): Promise<void> {
    this.checkValues(keys, values);
    const count = this.countOf(keys);
    this.makeRoom(this.taken + count); // as if all keys were new
    await eachInTurns(count, (i) => this.put(this.usableKey(keys, i), this.valueAt(values, i)));
  }

  private put(key: Key, value: Row): void {
    const bucket = this.bucketOf(key, this.isFree);
    if (this.isFree(this.keys[bucket]!)) this.taken++;
    this.keys[bucket] = key;
    this.values[bucket] = value;
  }

  private makeRoom(wanted: number): void {
    let count = this.keys.length;
    while (wanted > count * this.maxLoad) count *= 2;
    if (count === this.keys.length) return;
    const { keys, values } = this;
    this.allocate(count);
    for (const [i, key] of keys.entries()) if (!this.isFree(key)) this.put(key, values[i]!);
  }

  override async remove(keys: NDArray): Promise<void> {
    this.batchShape(keys.shape);
    await eachInTurns(this.countOf(keys), (i) => {
      const bucket = this.bucketOf(this.usableKey(keys, i), this.isEmpty);
      if (this.isEmpty(this.keys[bucket]!)) return;
      this.keys[bucket] = this.deleted;
      this.taken--;
    });
  }

  /** Takes buckets as they were exported. */
  override import(keys: NDArray, values: NDArray): void {
    const { valueShape } = this.spec;
    const wanted = [...keys.shape.slice(0, -1), sizeOf(valueShape)];
    if (!sameShape(values.shape, wanted))
      throw new InvalidArgumentError(
        `Expected shape ${showRuntime(wanted)} for value, got ${showRuntime(values.shape)}`,
      );
    const count = keys.shape[0]!;
    this.keys = Array.from({ length: count }, (_, i) => this.keyAt(keys, i));
    this.values = Array.from({ length: count }, (_, i) => this.valueAt(values, i));
    this.taken = this.keys.filter((key) => !this.isFree(key)).length;
  }

  /** The buckets, those that are empty too. */
  override async export(): Promise<[keys: NDArray, values: NDArray]> {
    const { keyType, valueType, valueShape } = this.spec;
    const count = this.keys.length;
    const rows = this.keys.map((key) => key.row);
    return [
      await joinRows(keyType, [count, sizeOf(this.oneKeyShape)], rows),
      await joinRows(valueType, [count, sizeOf(valueShape)], this.values),
    ];
  }
}

const asUnsigned = (x: number | bigint): bigint => BigInt.asUintN(64, BigInt(x));

/** One hash of two. */
const combined = (a: bigint, b: bigint): bigint =>
  a ^ BigInt.asUintN(64, b + 0x9e3779b97f4a7800n + (a << 10n) + (a >> 4n));

/** @file HashTable: values by keys without a place of their own, filled once or changed at any time. */
import { FailedPreconditionError, InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { NDArray, storeElement } from '../../core/ndarray.ts';
import { showRuntime } from '../../core/shape.ts';
import { joinRows, LookupTable, latin1, type Row, type TableSpec } from './table.ts';

/** Whole numbers are bigints only where they have to be, which are found more slowly. */
type Key = string | number | bigint;

function keyReader(keys: NDArray): (i: number) => Key {
  if (keys.dtype.isObject) return (i) => latin1(keys.objects[i]!);
  const number = keys.numberReader();
  return (i) => {
    const key = number(i);
    return Number.isSafeInteger(key) ? key : keys.data[i]!;
  };
}

const sameRow = (a: Row, b: Row): boolean =>
  a instanceof Uint8Array
    ? Buffer.compare(a, b as Uint8Array) === 0 // rows of one table are of one kind
    : a.every((x, i) => latin1(x) === latin1((b as readonly object[])[i]!));

export class HashTable extends LookupTable {
  private readonly rows = new Map<Key, Row>();
  private isReady: boolean;

  constructor(spec: TableSpec) {
    super(spec);
    if (spec.kind === 'MutableHashTableOfTensors' && spec.valueShape.length !== 1)
      throw new InvalidArgumentError(`Default value must be a vector, got shape ${showRuntime(spec.valueShape)}`);
    this.isReady = spec.kind !== 'HashTable';
  }

  override get size(): number {
    return this.rows.size;
  }

  private checkReady(): void {
    if (!this.isReady) throw new FailedPreconditionError('Table not initialized.');
  }

  override async find(keys: NDArray, whenMissing: NDArray): Promise<NDArray> {
    this.checkReady();
    const { shape, isOne } = this.foundShape(keys, whenMissing);
    // A table that is filled once takes the first of many values for all keys, as TensorFlow's does.
    const isFirst = isOne || this.spec.kind === 'HashTable';
    const first = isFirst && keys.size > 0 ? this.valueAt(whenMissing, 0) : undefined;
    const keyAt = keyReader(keys);
    const rows = new Array<Row>(keys.size);
    await eachInTurns(rows.length, (i) => {
      rows[i] = this.rows.get(keyAt(i)) ?? first ?? this.valueAt(whenMissing, i);
    });
    return joinRows(this.spec.valueType, shape, rows);
  }

  /** Fills a table that is filled once. Again is well with as many keys: TensorFlow compares nothing else. */
  override async initialize(keys: NDArray, values: NDArray): Promise<void> {
    if (this.spec.kind !== 'HashTable') await super.initialize(keys, values);
    this.checkValues(keys, values);
    if (keys.size === 0) throw new InvalidArgumentError('keys and values cannot be empty tensors.');
    if (this.isReady) {
      if (keys.size === this.rows.size) return;
      throw new FailedPreconditionError('Table was already initialized with different data.');
    }
    const keyAt = keyReader(keys);
    await eachInTurns(keys.size, (i) => {
      const row = this.valueAt(values, i);
      const key = keyAt(i);
      const before = this.rows.get(key);
      if (before && !sameRow(before, row)) {
        this.rows.clear();
        const [first, second] = [before, row].map((r) => shown(r, values));
        throw new FailedPreconditionError(
          `HashTable has different value for same key. Key ${key} has ${first} and trying to add value ${second}`,
        );
      }
      this.rows.set(key, row);
    });
    this.isReady = true;
  }

  override async insert(keys: NDArray, values: NDArray): Promise<void> {
    this.checkMutable('Insert');
    this.checkValues(keys, values);
    const keyAt = keyReader(keys);
    await eachInTurns(keys.size, (i) => this.rows.set(keyAt(i), this.valueAt(values, i)));
  }

  override async remove(keys: NDArray): Promise<void> {
    this.checkMutable('Remove');
    const keyAt = keyReader(keys);
    await eachInTurns(keys.size, (i) => this.rows.delete(keyAt(i)));
  }

  override async import(keys: NDArray, values: NDArray): Promise<void> {
    if (this.spec.kind === 'HashTable') return await this.initialize(keys, values);
    this.checkValues(keys, values);
    this.rows.clear();
    await this.insert(keys, values);
  }

  override export(): [keys: NDArray, values: NDArray] {
    this.checkReady();
    const { keyType, valueType, valueShape } = this.spec;
    const count = this.rows.size;
    const keys = keyType.isObject
      ? new NDArray(
          keyType,
          [count],
          Array.from(this.rows.keys(), (key) => Buffer.from(String(key), 'latin1')),
        )
      : new NDArray(keyType, [count], keyType.allocate(count));
    if (!keyType.isObject)
      for (const [i, key] of [...this.rows.keys()].entries()) storeElement(keyType, keys.data, i, key);
    return [keys, joinRows(valueType, [count, ...valueShape], [...this.rows.values()])];
  }

  private checkMutable(what: string): void {
    if (this.spec.kind === 'HashTable')
      throw new UnimplementedError(`${what} not supported by InitializableLookupTable implementations`);
  }
}

/** A value in a message. */
function shown(row: Row, { dtype }: NDArray): string {
  return dtype.isObject ? latin1((row as readonly object[])[0]!) : String(joinRows(dtype, [], [row])); // strings are objects
}

/** @file LookupTable: values by keys that outlive runs, filled once or changed at any time. */
import type { DType } from '../../core/dtypes.ts';
import { FailedPreconditionError, InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Shape, sameShape, showRuntime, sizeOf } from '../../core/shape.ts';

export interface TableSpec {
  readonly kind: 'HashTable' | 'MutableHashTable' | 'MutableHashTableOfTensors';
  readonly keyType: DType;
  readonly valueType: DType;
  /** The shape of one value. */
  readonly valueShape: Shape;
}

type Key = string | number | bigint;
/** The elements of one value: their bytes, or strings. */
type Row = Uint8Array | readonly object[];

const latin1 = (bytes: object) => Buffer.from(bytes as Uint8Array).toString('latin1'); // elements of string arrays are bytes

function keyAt(keys: NDArray, i: number): Key {
  if (keys.dtype.isObject) return latin1(keys.objects[i]!);
  return keys.data[i]!;
}

const sameRow = (a: Row, b: Row): boolean =>
  a instanceof Uint8Array
    ? Buffer.compare(a, b as Uint8Array) === 0 // rows of one table are of one kind
    : a.every((x, i) => latin1(x) === latin1((b as readonly object[])[i]!));

export class LookupTable {
  private readonly rows = new Map<Key, Row>();
  private isReady: boolean;

  constructor(readonly spec: TableSpec) {
    this.isReady = spec.kind !== 'HashTable';
  }

  get size(): number {
    this.checkReady();
    return this.rows.size;
  }

  private checkReady(): void {
    if (!this.isReady) throw new FailedPreconditionError('Table not initialized.');
  }

  /** Refuses a node that takes the table for one of other types. */
  checkTypes(keyType: DType, valueType: DType | undefined): void {
    const { keyType: key, valueType: value } = this.spec;
    if (keyType !== key || (valueType !== undefined && valueType !== value))
      throw new InvalidArgumentError(
        `Table of ${key.runtimeName} to ${value.runtimeName} cannot be used with keys of type ${keyType.runtimeName} and values of type ${(valueType ?? value).runtimeName}`,
      );
  }

  /** The values of keys, and what stands for keys that are not there: one value, or one for each key. */
  find(keys: NDArray, whenMissing: NDArray): NDArray {
    this.checkReady();
    const { valueType, valueShape } = this.spec;
    const isOne = sameShape(whenMissing.shape, valueShape);
    if (!isOne && !sameShape(whenMissing.shape, [...keys.shape, ...valueShape]))
      throw new InvalidArgumentError(
        `Expected shape ${showRuntime(valueShape)} for default value, got ${showRuntime(whenMissing.shape)}`,
      );
    const rows = Array.from(
      { length: keys.size },
      (_, i) => this.rows.get(keyAt(keys, i)) ?? this.rowAt(whenMissing, isOne ? 0 : i),
    );
    return this.joined(valueType, [...keys.shape, ...valueShape], rows);
  }

  /** Fills a table that is filled once. Again with the same is well. */
  initialize(keys: NDArray, values: NDArray): void {
    if (this.spec.kind !== 'HashTable') {
      this.insert(keys, values);
      return;
    }
    const filled = new Map<Key, Row>();
    for (let i = 0; i < keys.size; i++) {
      const row = this.rowAt(values, i);
      const key = keyAt(keys, i);
      const before = filled.get(key);
      if (before && !sameRow(before, row))
        throw new InvalidArgumentError(`HashTable has different value for same key. Key ${key} has two values.`);
      filled.set(key, row);
    }
    if (this.isReady) {
      const isSame =
        filled.size === this.rows.size &&
        [...filled].every(([key, row]) => {
          const present = this.rows.get(key);
          return present && sameRow(present, row);
        });
      if (!isSame) throw new FailedPreconditionError('Table was already initialized with different data.');
      return;
    }
    for (const [key, row] of filled) this.rows.set(key, row);
    this.isReady = true;
  }

  insert(keys: NDArray, values: NDArray): void {
    this.checkMutable('Insert');
    const wanted = [...keys.shape, ...this.spec.valueShape];
    if (!sameShape(values.shape, wanted))
      throw new InvalidArgumentError(
        `Expected shape ${showRuntime(wanted)} for value, got ${showRuntime(values.shape)}`,
      );
    for (let i = 0; i < keys.size; i++) this.rows.set(keyAt(keys, i), this.rowAt(values, i));
  }

  remove(keys: NDArray): void {
    this.checkMutable('Remove');
    for (let i = 0; i < keys.size; i++) this.rows.delete(keyAt(keys, i));
  }

  /** Replaces everything. */
  import(keys: NDArray, values: NDArray): void {
    if (this.spec.kind === 'HashTable') {
      this.initialize(keys, values);
      return;
    }
    this.rows.clear();
    this.insert(keys, values);
  }

  /** All keys, and their values in the same order. */
  export(): [keys: NDArray, values: NDArray] {
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
    if (!keyType.isObject) for (const [i, key] of [...this.rows.keys()].entries()) Reflect.set(keys.data, i, key);
    return [keys, this.joined(valueType, [count, ...valueShape], [...this.rows.values()])];
  }

  private checkMutable(what: string): void {
    if (this.spec.kind === 'HashTable')
      throw new UnimplementedError(`${what} not supported by HashTable implementations`);
  }

  /** A copy of the ith value of an array of values. */
  private rowAt(values: NDArray, i: number): Row {
    const length = sizeOf(this.spec.valueShape);
    if (values.dtype.isObject) return values.objects.slice(i * length, (i + 1) * length);
    const bytes = length * values.dtype.size;
    return Uint8Array.from(values.bytes.subarray(i * bytes, (i + 1) * bytes));
  }

  private joined(dtype: DType, shape: Shape, rows: readonly Row[]): NDArray {
    if (dtype.isObject) return new NDArray(dtype, shape, rows.flat() as object[]); // rows of objects
    const result = new NDArray(dtype, shape, dtype.allocate(sizeOf(shape)));
    const bytes = sizeOf(this.spec.valueShape) * dtype.size;
    rows.forEach((row, i) => {
      result.bytes.set(row as Uint8Array, i * bytes); // rows of bytes
    });
    return result;
  }
}

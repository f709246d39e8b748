/** @file LookupTable: values by keys that outlive runs; what all kinds of tables have in common. */
import type { DType } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns, OneAtATime } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Shape, sameShape, showRuntime, sizeOf } from '../../core/shape.ts';

export type TableKind = 'HashTable' | 'MutableHashTable' | 'MutableHashTableOfTensors' | 'MutableDenseHashTable';

export interface TableSpec {
  readonly kind: TableKind;
  readonly keyType: DType;
  readonly valueType: DType;
  /** The shape of one value. */
  readonly valueShape: Shape;
}

/** The elements of one value or key: their bytes, or strings. */
export type Row = Uint8Array | readonly object[];

export function latin1(element: object): string {
  const { buffer, byteOffset, length } = element as Uint8Array; // elements of string arrays are bytes
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}

/** The values that TensorFlow's tables can have, by kind of table and type of key. */
const plain = ['int32', 'float32', 'float64'];
const supported: Readonly<Record<TableKind, Readonly<Record<string, readonly string[]>>>> = {
  HashTable: {
    string: [...plain, 'int64', 'string', 'bool'],
    int64: [...plain, 'int64', 'string'],
    int32: [...plain, 'string'],
  },
  MutableHashTable: {
    string: [...plain, 'int64', 'bool'],
    int64: [...plain, 'int64', 'string', 'variant'],
    int32: plain,
  },
  MutableHashTableOfTensors: {
    string: [...plain, 'int64', 'bool'],
    int64: [...plain, 'int64', 'string'],
    int32: plain,
  },
  MutableDenseHashTable: {
    string: [...plain, 'int64', 'bool'],
    int64: [...plain, 'int64', 'bool', 'variant'],
    int32: plain,
  },
};

export abstract class LookupTable {
  constructor(readonly spec: TableSpec) {
    const { kind, keyType, valueType } = spec;
    if (!supported[kind][keyType.name]?.includes(valueType.name))
      throw new InvalidArgumentError(
        `No OpKernel was registered to support Op '${kind}V2' with keys of type ${keyType.runtimeName} and values of type ${valueType.runtimeName}`,
      );
  }

  /** Nobody changes the table while somebody looks into it, which may take several turns of the event loop. */
  readonly line = new OneAtATime();

  abstract get size(): number;
  /** The values of keys, and what stands for keys that are not there: one value, or one for each key. */
  abstract find(keys: NDArray, whenMissing: NDArray): NDArray | Promise<NDArray>;
  abstract insert(keys: NDArray, values: NDArray): void | Promise<void>;
  abstract remove(keys: NDArray): void | Promise<void>;
  /** Replaces everything. */
  abstract import(keys: NDArray, values: NDArray): void | Promise<void>;
  /** All keys, and their values in the same order. */
  abstract export(): Promise<[keys: NDArray, values: NDArray]>;

  /** Fills a table that is filled once. */
  initialize(_keys: NDArray, _values: NDArray): void | Promise<void> {
    throw new InvalidArgumentError(`Table of kind ${this.spec.kind} is not initializable`);
  }

  /** Of one key. */
  protected get keyShape(): Shape {
    return [];
  }

  /** Refuses a node that takes the table for one of other types. */
  checkTypes(keyType: DType, valueType: DType | undefined): void {
    const { keyType: key, valueType: value } = this.spec;
    if (keyType === key && (valueType === undefined || valueType === value)) return;
    const signature = (k: DType, v: DType) =>
      `resource, ${k.runtimeName}${valueType === undefined ? '' : `, ${v.runtimeName}`}->`;
    throw new InvalidArgumentError(
      `Signature mismatch, have: ${signature(keyType, valueType ?? value)} expected: ${signature(key, value)}`,
    );
  }

  /** The shape of what is found for keys of a shape. */
  resultShape(keys: Shape): Shape {
    return [...this.batchShape(keys), ...this.spec.valueShape];
  }

  /** The shape of what is found for keys; refuses what cannot stand for missing values. */
  protected foundShape(keys: NDArray, whenMissing: NDArray): { shape: Shape; isOne: boolean } {
    const { valueShape } = this.spec;
    const shape = this.resultShape(keys.shape);
    const isOne = sameShape(whenMissing.shape, valueShape);
    if (!isOne && !sameShape(whenMissing.shape, shape))
      throw new InvalidArgumentError(
        `Expected shape ${showRuntime(valueShape)} or ${showRuntime(shape)} for default value, got ${showRuntime(whenMissing.shape)}`,
      );
    return { shape, isOne };
  }

  /** The shape of keys without that of one key. */
  protected batchShape(shape: Shape): Shape {
    const { keyShape } = this;
    const rank = shape.length - keyShape.length;
    if (rank < 0 || !sameShape(shape.slice(rank), keyShape))
      throw new InvalidArgumentError(
        `Input key shape ${showRuntime(shape)} must end with the table's key shape ${showRuntime(keyShape)}`,
      );
    return shape.slice(0, rank);
  }

  protected checkValues(keys: NDArray, values: NDArray): void {
    const wanted = this.resultShape(keys.shape);
    if (!sameShape(values.shape, wanted))
      throw new InvalidArgumentError(
        `Expected shape ${showRuntime(wanted)} for value, got ${showRuntime(values.shape)}`,
      );
  }

  /** A copy of the ith value of an array of values. */
  protected valueAt(values: NDArray, i: number): Row {
    return rowOf(values, i, sizeOf(this.spec.valueShape));
  }
}

/** A copy of the ith group of so many elements. */
export function rowOf(array: NDArray, i: number, length: number): Row {
  if (array.dtype.isObject) return array.objects.slice(i * length, (i + 1) * length);
  const bytes = length * array.dtype.size;
  return array.bytes.slice(i * bytes, (i + 1) * bytes);
}

/** Rows as one array. */
export async function joinRows(dtype: DType, shape: Shape, rows: readonly Row[]): Promise<NDArray> {
  if (dtype.isObject) return new NDArray(dtype, shape, rows.flat() as object[]); // rows of objects
  const result = new NDArray(dtype, shape, dtype.allocate(sizeOf(shape)));
  const { bytes } = result;
  let offset = 0;
  await eachInTurns(rows.length, (i) => {
    const row = rows[i] as Uint8Array; // of no objects
    bytes.set(row, offset);
    offset += row.length;
  });
  return result;
}

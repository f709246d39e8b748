/** @file HashTable: values by keys without a place of their own, filled once or changed at any time. */
import type { DType } from '../../core/dtypes.ts';
import { FailedPreconditionError, InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { NDArray, storeElement } from '../../core/ndarray.ts';
import { showRuntime, sizeOf } from '../../core/shape.ts';
import { LookupTable, latin1, type TableSpec } from './table.ts';
import { ValueStore } from './valueStore.ts';

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

export class HashTable extends LookupTable {
  /** Where the values of keys are. */
  private readonly slots = new Map<Key, number>();
  private readonly values: ValueStore;
  private isReady: boolean;

  constructor(spec: TableSpec) {
    super(spec);
    if (spec.kind === 'MutableHashTableOfTensors' && spec.valueShape.length !== 1)
      throw new InvalidArgumentError(`Default value must be a vector, got shape ${showRuntime(spec.valueShape)}`);
    this.values = new ValueStore(spec.valueType, sizeOf(spec.valueShape));
    this.isReady = spec.kind !== 'HashTable';
  }

  override get size(): number {
    return this.slots.size;
  }

  private checkReady(): void {
    if (!this.isReady) throw new FailedPreconditionError('Table not initialized.');
  }

  override async find(keys: NDArray, whenMissing: NDArray): Promise<NDArray> {
    this.checkReady();
    const { shape, isOne } = this.foundShape(keys, whenMissing);
    // A table that is filled once takes the first of many values for all keys, as TensorFlow's does.
    const isFirst = isOne || this.spec.kind === 'HashTable';
    const keyAt = keyReader(keys);
    const found = this.values.gathering(keys.size);
    await eachInTurns(keys.size, (i) => {
      const slot = this.slots.get(keyAt(i));
      if (slot === undefined) found.addOther(i, whenMissing, isFirst ? 0 : i);
      else found.add(i, slot);
    });
    return new NDArray(this.spec.valueType, shape, found.elements);
  }

  /** Fills a table that is filled once. Again is well with as many keys: TensorFlow compares nothing else. */
  override async initialize(keys: NDArray, values: NDArray): Promise<void> {
    if (this.spec.kind !== 'HashTable') await super.initialize(keys, values);
    this.checkValues(keys, values);
    if (keys.size === 0) throw new InvalidArgumentError('keys and values cannot be empty tensors.');
    if (this.isReady) {
      if (keys.size === this.slots.size) return;
      throw new FailedPreconditionError('Table was already initialized with different data.');
    }
    const keyAt = keyReader(keys);
    await eachInTurns(keys.size, (i) => {
      const key = keyAt(i);
      const slot = this.slots.get(key);
      if (slot === undefined) this.put(key, values, i);
      else if (!this.values.isSame(slot, values, i)) {
        const elements = [this.values.first(slot), this.values.firstOf(values, i)];
        const [first, second] = elements.map((element) => shown(element, values.dtype));
        this.clear();
        throw new FailedPreconditionError(
          `HashTable has different value for same key. Key ${key} has ${first} and trying to add value ${second}`,
        );
      }
    });
    this.isReady = true;
  }

  private put(key: Key, values: NDArray, i: number): void {
    let slot = this.slots.get(key);
    if (slot === undefined) {
      slot = this.values.take();
      this.slots.set(key, slot);
    }
    this.values.set(slot, values, i);
  }

  private clear(): void {
    this.slots.clear();
    this.values.clear();
  }

  override async insert(keys: NDArray, values: NDArray): Promise<void> {
    this.checkMutable('Insert');
    this.checkValues(keys, values);
    const keyAt = keyReader(keys);
    await eachInTurns(keys.size, (i) => this.put(keyAt(i), values, i));
  }

  override async remove(keys: NDArray): Promise<void> {
    this.checkMutable('Remove');
    const keyAt = keyReader(keys);
    await eachInTurns(keys.size, (i) => {
      const key = keyAt(i);
      const slot = this.slots.get(key);
      if (slot === undefined) return;
      this.values.leave(slot);
      this.slots.delete(key);
    });
  }

  override async import(keys: NDArray, values: NDArray): Promise<void> {
    if (this.spec.kind === 'HashTable') return await this.initialize(keys, values);
    this.checkValues(keys, values);
    this.clear();
    await this.insert(keys, values);
  }

  override async export(): Promise<[keys: NDArray, values: NDArray]> {
    this.checkReady();
    const { keyType, valueType, valueShape } = this.spec;
    const slots = [...this.slots];
    const count = slots.length;
    const keys = keyType.isObject ? new Array<object>(count) : keyType.allocate(count);
    const found = this.values.gathering(count);
    await eachInTurns(count, (i) => {
      const [key, slot] = slots[i]!;
      if (Array.isArray(keys)) keys[i] = Buffer.from(String(key), 'latin1');
      else storeElement(keyType, keys, i, key);
      found.add(i, slot);
    });
    return [new NDArray(keyType, [count], keys), new NDArray(valueType, [count, ...valueShape], found.elements)];
  }

  private checkMutable(what: string): void {
    if (this.spec.kind === 'HashTable')
      throw new UnimplementedError(`${what} not supported by InitializableLookupTable implementations`);
  }
}

/** An element in a message. */
function shown(element: unknown, dtype: DType): string {
  if (element instanceof Uint8Array) return latin1(element);
  const data = dtype.allocate(1);
  data[0] = element as number; // or what else its typed array holds
  return String(new NDArray(dtype, [], data));
}

/** @file Staging areas: tuples put aside for a later run, first in first out or by key, with a limit in number or bytes. */
import { InvalidArgumentError, ResourceExhaustedError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import type { RunScope } from '../../program/instructions.ts';
import type { Tuple } from './queue.ts';
import { Attempt, WaitingLine } from './waiting.ts';

/** 0 stands for no limit. */
export interface Limits {
  readonly capacity: number;
  readonly memory_limit: number;
}

const bytesOf = (array: NDArray): number =>
  array.dtype.isObject
    ? array.objects.reduce((sum, x) => sum + (x instanceof Uint8Array ? x.length : 0), 0)
    : array.bytes.length;
const totalBytes = (tuple: Iterable<NDArray | undefined>): number => {
  let sum = 0;
  for (const array of tuple) if (array) sum += bytesOf(array);
  return sum;
};

/** What both kinds share: who waits, and whether there is room. */
abstract class Staging {
  private readonly puts = new WaitingLine(false);
  private readonly gets = new WaitingLine(false);
  protected bytes = 0;

  constructor(private readonly limits: Limits) {}

  abstract get size(): number;

  /** Whether so many bytes fit in, and one more element where they are a whole one. */
  protected hasRoomFor(bytes: number, isElement = true): boolean {
    const { capacity, memory_limit } = this.limits;
    if (isElement && capacity > 0 && this.size >= capacity) return false;
    return memory_limit === 0 || this.bytes + bytes <= memory_limit;
  }

  protected checkBytes(bytes: number): void {
    const { memory_limit } = this.limits;
    if (memory_limit > 0 && bytes > memory_limit)
      throw new ResourceExhaustedError(
        `Attempted to insert tensors with combined size of '${bytes}' bytes into Staging Area with a memory limit of '${memory_limit}'.`,
      );
  }

  protected waitToPut(step: (attempt: Attempt<void>) => boolean, run: RunScope): void | Promise<void> {
    return this.puts.join(new Attempt(step), run, this.flush, 'Stage operation was cancelled');
  }

  protected waitToGet<T>(step: (attempt: Attempt<T>) => boolean, run: RunScope): T | Promise<T> {
    return this.gets.join(new Attempt(step), run, this.flush, 'Unstage operation was cancelled');
  }

  protected readonly flush = (): void => {
    for (let hasMoved = true; hasMoved; ) {
      hasMoved = this.puts.advance();
      hasMoved = this.gets.advance() || hasMoved;
    }
  };
}

/** First in, first out. */
export class StagingArea extends Staging {
  private tuples: Tuple[] = [];

  get size(): number {
    return this.tuples.length;
  }

  put(tuple: Tuple, run: RunScope): void | Promise<void> {
    const bytes = totalBytes(tuple);
    this.checkBytes(bytes);
    return this.waitToPut((attempt) => {
      if (!this.hasRoomFor(bytes)) return false;
      this.tuples.push(tuple);
      this.bytes += bytes;
      return attempt.succeed();
    }, run);
  }

  get(run: RunScope): Tuple | Promise<Tuple> {
    return this.waitToGet((attempt) => {
      const tuple = this.tuples.shift();
      if (!tuple) return false;
      this.bytes -= totalBytes(tuple);
      return attempt.succeed(tuple);
    }, run);
  }

  /** A copy of the element at a position, once there is one. */
  peek(index: number, run: RunScope): Tuple | Promise<Tuple> {
    return this.waitToGet((attempt) => {
      const tuple = this.tuples[index];
      return tuple !== undefined && attempt.succeed(tuple.map((array) => array.copy()));
    }, run);
  }

  clear(): void {
    this.tuples = [];
    this.bytes = 0;
    this.flush();
  }
}

type Partial = (NDArray | undefined)[];

/** Tuples by key. Components may come and go separately. */
export class MapStagingArea extends Staging {
  private readonly complete = new Map<bigint, Partial>();
  private readonly incomplete = new Map<bigint, Partial>();

  constructor(
    limits: Limits,
    /** How many components a tuple has; those who put them in know, others may ask for some only. */
    private components: number,
    private readonly isOrdered: boolean,
  ) {
    super(limits);
  }

  get size(): number {
    return this.complete.size;
  }
  get incompleteSize(): number {
    return this.incomplete.size;
  }

  put(key: bigint, indices: readonly number[], tuple: Tuple, components: number, run: RunScope): void | Promise<void> {
    this.components = components;
    if (indices.some((index, i) => i > 0 && indices[i - 1]! >= index))
      throw new InvalidArgumentError('Indices are not strictly ordered');
    const bytes = totalBytes(tuple);
    this.checkBytes(bytes);
    for (const index of indices) this.checkIndex(key, index);
    const isWhole = indices.length === this.components;
    return this.waitToPut((attempt) => {
      const present = this.incomplete.get(key)?.filter((array) => array).length ?? 0;
      if (!this.hasRoomFor(bytes, present + indices.length >= this.components)) return false;
      if (isWhole) this.complete.set(key, [...tuple]);
      else {
        const partial = this.incomplete.get(key) ?? new Array<NDArray | undefined>(this.components).fill(undefined);
        const taken = indices.find((index) => partial[index]);
        if (taken !== undefined)
          return attempt.fail(
            new InvalidArgumentError(
              `The tensor for index '${taken}' for key '${key}' was already initialized '${this.components}'.`,
            ),
          );
        for (const [i, index] of indices.entries()) partial[index] = tuple[i];
        if (partial.includes(undefined)) this.incomplete.set(key, partial);
        else {
          this.incomplete.delete(key);
          this.complete.set(key, partial);
        }
      }
      this.bytes += bytes;
      return attempt.succeed();
    }, run);
  }

  private checkIndex(key: bigint, index: number): void {
    if (index < 0 || index >= this.components)
      throw new InvalidArgumentError(`Index '${index}' for key '${key}' was out of bounds '${this.components}'.`);
  }

  /** Some components of a tuple. */
  private picked(key: bigint, tuple: Partial, indices: readonly number[]): NDArray[] {
    return indices.map((index) => {
      this.checkIndex(key, index);
      const array = tuple[index];
      if (!array)
        throw new InvalidArgumentError(`Tensor at index '${index}' for key '${key}' has already been removed.`);
      return array;
    });
  }

  /** Copies of some components, once the tuple is there. */
  peek(key: bigint, indices: readonly number[], run: RunScope): Tuple | Promise<Tuple> {
    return this.waitToGet((attempt) => {
      const tuple = this.complete.get(key);
      if (!tuple) return false;
      return trying(attempt, () => this.picked(key, tuple, indices).map((array) => array.copy()));
    }, run);
  }

  /** Takes some components out, once the tuple is there. */
  take(key: bigint, indices: readonly number[], run: RunScope): Tuple | Promise<Tuple> {
    return this.waitToGet((attempt) => {
      const tuple = this.complete.get(key);
      return tuple !== undefined && trying(attempt, () => this.remove(key, tuple, indices));
    }, run);
  }

  /** Takes some components of the next tuple out: that of the least key, or any. */
  takeNext(
    indices: readonly number[],
    run: RunScope,
  ): { readonly key: bigint; readonly tuple: Tuple } | Promise<{ readonly key: bigint; readonly tuple: Tuple }> {
    return this.waitToGet((attempt) => {
      const key = this.nextKey();
      if (key === undefined) return false;
      return trying(attempt, () => ({ key, tuple: this.remove(key, this.complete.get(key)!, indices) }));
    }, run);
  }

  private nextKey(): bigint | undefined {
    let least: bigint | undefined;
    for (const key of this.complete.keys()) {
      if (!this.isOrdered) return key;
      if (least === undefined || key < least) least = key;
    }
    return least;
  }

  private remove(key: bigint, tuple: Partial, indices: readonly number[]): Tuple {
    const taken = this.picked(key, tuple, indices);
    for (const index of indices) tuple[index] = undefined;
    if (tuple.every((array) => array === undefined)) this.complete.delete(key);
    this.bytes -= totalBytes(taken);
    return taken;
  }

  clear(): void {
    this.complete.clear();
    this.incomplete.clear();
    this.bytes = 0;
    this.flush();
  }
}

/** Ends an attempt with a result, or with the error met. */
function trying<T>(attempt: Attempt<T>, body: () => T): true {
  try {
    return attempt.succeed(body());
  } catch (error) {
    if (error instanceof InvalidArgumentError) return attempt.fail(error);
    throw error;
  }
}

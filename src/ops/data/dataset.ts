/** @file Dataset: what a dataset's variant tensor holds, and the iterators that give its elements one by one. */
import { type DType, variant } from '../../core/dtypes.ts';
import { InvalidArgumentError, type OpError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';

/** One element: an array per component. */
export type Element = readonly NDArray[];

/** A value that may be there already. Cheap sources give elements at once, so that a pipeline of them costs no promises. */
export type Soon<T> = T | Promise<T>;
/** The next element, or undefined at the end. */
export type Pulled = Soon<Element | undefined>;

/** How many elements a dataset without end has, and one of which nobody knows. */
export const infinite = -1;
export const unknown = -2;

/** What an iterator must remember to go on later: plain values and arrays. */
export type Saved = null | boolean | number | string | NDArray | readonly Saved[] | { readonly [key: string]: Saved };

/** What the iterators of one pipeline share: whether somebody still wants their elements. */
export class Iteration {
  private reason: OpError | undefined;
  private readonly whenOver = new Set<() => unknown>();

  private interruption: OpError | undefined;

  /** Thrown here, between two elements, once nobody wants any more, or nobody waits for the one being made. */
  check(): void {
    if (this.reason) throw this.reason;
    const { interruption } = this;
    this.interruption = undefined;
    if (interruption) throw interruption;
  }

  /** Gives up the element that is being made; others may still be wanted. */
  interrupt(reason: OpError): void {
    this.interruption = reason;
  }
  /** Somebody waits again. */
  resume(): void {
    this.interruption = undefined;
  }

  get isOver(): boolean {
    return this.reason !== undefined;
  }

  /** Ends all work for the pipeline and frees what it holds; the promise is for those who want to wait for that. */
  async stop(reason: OpError): Promise<void> {
    if (this.reason) return;
    this.reason = reason;
    const closing = [...this.whenOver].map(quietly);
    this.whenOver.clear();
    await Promise.all(closing);
  }

  /** Calls `close` when the pipeline is given up; the result takes that back. */
  onStop(close: () => unknown): () => void {
    if (this.reason) {
      void quietly(close);
      return () => {};
    }
    this.whenOver.add(close);
    return () => this.whenOver.delete(close);
  }
}

/** Whoever gives up a pipeline would not know what to do with an error. */
async function quietly(close: () => unknown): Promise<void> {
  try {
    await close();
  } catch {
    // Nobody is left who could be told.
  }
}

/** Gives elements one after the other. Whoever pulls waits for an element before asking for the next. */
export interface ElementIterator {
  next(): Pulled;
  /** Where it is, so that an iterator of the same dataset can go on from there. */
  save(): Soon<Saved>;
  restore(saved: Saved): Soon<void>;
}

export interface DatasetSpec {
  /** The name without `Dataset`, as TensorFlow has it: `Map`, `Batch`. */
  readonly kind: string;
  readonly types: readonly DType[];
  readonly shapes: readonly Dims[];
  /** Whether elements are memory of the dataset itself, so that whoever may change one must copy it. */
  readonly sharesMemory: boolean;
  /** How many elements there are, if that can be told without looking at them. */
  cardinality(): number;
  iterate(scope: Iteration): ElementIterator;
}

/** A description of elements that can be iterated any number of times. */
export class Dataset {
  readonly kind: string;
  readonly types: readonly DType[];
  readonly shapes: readonly Dims[];
  readonly sharesMemory: boolean;
  constructor(private readonly spec: DatasetSpec) {
    this.kind = spec.kind;
    this.types = spec.types;
    this.shapes = spec.shapes;
    this.sharesMemory = spec.sharesMemory;
  }

  get cardinality(): number {
    return this.spec.cardinality();
  }

  iterate(scope: Iteration): ElementIterator {
    return this.spec.iterate(scope);
  }

  /** The dataset as a tensor. */
  asArray(): NDArray {
    return new NDArray(variant, [], [this]);
  }
}

/** The dataset in a tensor. */
export function datasetIn(array: NDArray): Dataset {
  const [object] = array.objects;
  if (array.rank === 0 && object instanceof Dataset) return object;
  throw new InvalidArgumentError('The tensor must be a scalar variant that holds a dataset.');
}

/** Goes on with a value as soon as it is there. */
export function soon<T, R>(value: Soon<T>, then: (value: T) => Soon<R>): Soon<R> {
  return value instanceof Promise ? value.then(then) : then(value);
}

/** Ends with the state of an iterator among other things to be saved. */
export async function savedAll(parts: Readonly<Record<string, Soon<Saved>>>): Promise<Saved> {
  const saved: Record<string, Saved> = {};
  for (const [key, part] of Object.entries(parts)) saved[key] = await part;
  return saved;
}

/** The parts of a state that was saved as a record. */
export function savedRecord(saved: Saved): Readonly<Record<string, Saved>> {
  if (typeof saved === 'object' && saved !== null && !Array.isArray(saved) && !(saved instanceof NDArray))
    return saved as Readonly<Record<string, Saved>>; // the only kind left
  throw new InvalidArgumentError('The state does not belong to an iterator of this dataset.');
}

export function savedNumber(saved: Saved | undefined): number {
  if (typeof saved === 'number') return saved;
  throw new InvalidArgumentError('The state does not belong to an iterator of this dataset.');
}

/** Elements that were saved. */
export function savedElements(saved: Saved | undefined): Element[] {
  if (!Array.isArray(saved))
    throw new InvalidArgumentError('The state does not belong to an iterator of this dataset.');
  return saved as Element[]; // written by `save` of the same iterator
}

/** An iterator over another one. What it must remember itself is its state; most have none. */
export abstract class Following implements ElementIterator {
  constructor(protected readonly input: ElementIterator) {}
  abstract next(): Pulled;
  protected state(): Saved {
    return null;
  }
  protected setState(_: Saved): void {}

  save(): Soon<Saved> {
    return savedAll({ input: this.input.save(), state: this.state() });
  }
  restore(saved: Saved): Soon<void> {
    const { input, state } = savedRecord(saved);
    this.setState(state!);
    return this.input.restore(input!);
  }
}

/** A pull that failed is remembered like an element, and fails when its turn comes. */
export class Failed {
  constructor(readonly error: unknown) {}
}

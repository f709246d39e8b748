/** @file Dataset: what a dataset's variant tensor holds, and the iterators that give its elements one by one. */
import { type DType, variant } from '../../core/dtypes.ts';
import { InvalidArgumentError, type OpError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import type { Compression } from '../../io/byteStream.ts';
import type { Recipe } from './recipe.ts';
import type { Saved } from './saved.ts';

/** One element: an array per component. */
export type Element = readonly NDArray[];

/** A value that may be there already. Cheap sources give elements at once, so that a pipeline of them costs no promises. */
export type Soon<T> = T | Promise<T>;
/** The next element, or undefined at the end. */
export type Pulled = Soon<Element | undefined>;

/** How many elements a dataset without end has, and one of which nobody knows. */
export const infinite = -1;
export const unknown = -2;

/** What the iterators of one pipeline share: whether somebody still wants their elements. */
export class Iteration {
  /** Whether elements are asked for by their position, for which shuffles have an order of their own. */
  constructor(readonly picksByPosition = false) {}
  /** Whether elements that are made side by side come in their order, where transformations do not say it. */
  keepsOrder = true;
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
  /**
   * For elements of scalars that lie in columns: the next ones, not more than `most`, as vectors; undefined where `next` must be
   * asked. The memory is the caller's.
   */
  atHand?(most: number): Element | undefined;
  /** Where it is, so that an iterator of the same dataset can go on from there. */
  save(): Soon<Saved>;
  restore(saved: Saved): Soon<void>;
}

/** Files with the elements of a saved dataset. */
export interface StoredFiles {
  readonly paths: readonly string[];
  readonly compression: Compression;
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
  /** The same, where it takes some work to tell. */
  count?(): Promise<number>;
  /** Why elements cannot be had by their position, or not all be shuffled at once, where they cannot. */
  positionObstacle?(): string | undefined;
  shuffleObstacle?(): string | undefined;
  /** What is said for the whole pipeline up to here, a serialized `tf.data.Options`. */
  readonly options?: Uint8Array;
  /** For elements in files: what it takes to make the dataset again. */
  readonly files?: StoredFiles;
  /** For elements that are at hand: the one at a position. */
  at?(i: number): Element;
  iterate(scope: Iteration): ElementIterator;
}

/** A description of elements that can be iterated any number of times. */
export class Dataset {
  readonly kind: string;
  readonly types: readonly DType[];
  readonly shapes: readonly Dims[];
  readonly sharesMemory: boolean;
  private sources: readonly Dataset[] = [];
  private effects: readonly string[] = [];
  /** How it was made, unless it came as an element of another. */
  recipe: Recipe | undefined;
  constructor(private readonly spec: DatasetSpec) {
    this.kind = spec.kind;
    this.types = spec.types;
    this.shapes = spec.shapes;
    this.sharesMemory = spec.sharesMemory;
  }

  get cardinality(): number {
    return this.spec.cardinality();
  }

  /** How many elements there are, if that can be told with some work. */
  async count(): Promise<number> {
    return this.cardinality === unknown && this.spec.count ? await this.spec.count() : this.cardinality;
  }

  iterate(scope: Iteration): ElementIterator {
    return this.spec.iterate(scope);
  }

  get files(): StoredFiles | undefined {
    return this.spec.files;
  }

  /** All elements, where they are at hand. */
  get atHand(): Element[] | undefined {
    const { at } = this.spec;
    return at && this.cardinality >= 0 ? Array.from({ length: this.cardinality }, (_, i) => at(i)) : undefined;
  }

  /** Says what it was made of: other datasets, and functions in which there are ops with state. */
  madeOf(sources: readonly Dataset[], effects: readonly string[]): this {
    this.sources = sources.filter((source) => source !== this);
    this.effects = effects;
    return this;
  }

  /** Options of the pipeline: messages one after the other are one message, in which what comes later counts. */
  get options(): Uint8Array {
    return Buffer.concat([...this.sources.map(({ options }) => options), this.spec.options ?? new Uint8Array(0)]);
  }

  /** Ops in its functions, and in those of the datasets it is made of, that have state which no iterator saves. */
  get statefulOps(): readonly string[] {
    return [...this.effects, ...this.sources.flatMap((source) => source.statefulOps)];
  }

  /** Why elements cannot be had by their position, if that is so. */
  get positionObstacle(): string | undefined {
    if (this.spec.positionObstacle) return this.spec.positionObstacle();
    return this.cardinality === infinite ? `Dataset of type ${this.kind} has infinite cardinality` : undefined;
  }

  /** Why all elements cannot be shuffled at once, if that is so. */
  get shuffleObstacle(): string | undefined {
    const own = this.spec.shuffleObstacle?.();
    if (own !== undefined) return own;
    for (const { shuffleObstacle } of this.sources) if (shuffleObstacle !== undefined) return shuffleObstacle;
    return undefined;
  }

  /** The dataset as a tensor. */
  asArray(): NDArray {
    return new NDArray(variant, [], [this]);
  }
}

/** A dataset of elements of another, without changing them. */
export function someOf(
  kind: string,
  input: Dataset,
  cardinality: () => number,
  iterate: (scope: Iteration) => ElementIterator,
  more: Pick<DatasetSpec, 'shuffleObstacle' | 'options'> = {},
): Dataset {
  const { types, shapes, sharesMemory } = input;
  return new Dataset({ kind, types, shapes, sharesMemory, cardinality, iterate, ...more });
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

/** A pull that failed is remembered like an element, and fails when its turn comes. */
export class Failed {
  constructor(readonly error: unknown) {}
}

/** The next element, or the failure to make it. */
export function attempted(input: ElementIterator): Soon<Element | Failed | undefined> {
  try {
    const pulled = input.next();
    return pulled instanceof Promise ? pulled.catch((error: unknown) => new Failed(error)) : pulled;
  } catch (error) {
    return new Failed(error);
  }
}

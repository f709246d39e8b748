/** @file Shuffling: elements in the order in which a random generator picks them from a buffer. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { yieldIfLong } from '../../core/eventLoop.ts';
import type { NDArray } from '../../core/ndarray.ts';

import { repeatedCount } from './count.ts';
import {
  type Dataset,
  datasetIn,
  type Element,
  type ElementIterator,
  type Iteration,
  type Pulled,
  someOf,
  unknown,
} from './dataset.ts';
import { datasetOp, elementAttrs, flag, metadata, scalarOf } from './kit.ts';
import { generatorBehind, SeedGenerator, type Seeds, seedsOf, Words } from './random.ts';
import { type Saved, savedAll, savedElements, savedNumber, savedRecord } from './saved.ts';

/** Elements of one round through the input that are in the buffer, from `start` to `end`; positions only grow. */
interface Slice {
  start: number;
  end: number;
  isComplete: boolean;
}

/** Elements in a row, each at a position; positions only grow, and those in use have no gaps. */
class Ring {
  /** Twice as many places whenever they are too few; the position modulo their number is the place. */
  private places: (Element | undefined)[] = new Array<undefined>(16).fill(undefined);
  private first = 0;
  private end = 0;

  get length(): number {
    return this.end - this.first;
  }

  at(position: number): Element {
    return this.places[position & (this.places.length - 1)]!;
  }

  set(position: number, element: Element): void {
    this.places[position & (this.places.length - 1)] = element;
  }

  push(element: Element): void {
    if (this.length === this.places.length) this.widen();
    this.set(this.end++, element);
  }

  /** Lets go of the first element. */
  shift(): void {
    this.places[this.first++ & (this.places.length - 1)] = undefined;
  }

  private widen(): void {
    const elements = this.elements();
    this.places = new Array<undefined>(2 * this.places.length).fill(undefined);
    for (const [i, element] of elements.entries()) this.set(this.first + i, element);
  }

  get positions(): number[] {
    return Array.from({ length: this.length }, (_, i) => this.first + i);
  }
  elements(): Element[] {
    return this.positions.map((position) => this.at(position));
  }

  /** Has these elements instead of all others. */
  replace(first: number, elements: readonly Element[]): void {
    this.places = new Array<undefined>(16).fill(undefined);
    this.first = this.end = first;
    for (const element of elements) this.push(element);
  }
}

/** No more rounds than these are in the buffer at once. */
const maxRounds = 3;

interface Shuffling {
  readonly size: number;
  /** How many rounds through the input, or -1. */
  readonly rounds: number;
}

/**
 * Keeps a buffer of elements and gives one of them at random, of the oldest round first. Which one is TensorFlow's choice
 * for the same seeds: a word modulo the number of elements; the first of the buffer takes the place of the one given.
 */
class ShuffleIterator implements ElementIterator {
  private input: ElementIterator | undefined;
  private words: Words;
  private readonly buffer = new Ring();
  private slices: Slice[] = [];
  private round = 0;
  private hasGiven = false;

  constructor(
    private readonly dataset: Dataset,
    private readonly scope: Iteration,
    private readonly generator: SeedGenerator,
    private readonly shuffling: Shuffling,
  ) {
    this.words = new Words(generator.next());
  }

  next(): Pulled {
    const filling = this.fill();
    return filling ? filling.then(() => this.pick()) : this.pick();
  }

  private get wantsMore(): boolean {
    const { size, rounds } = this.shuffling;
    if (!this.input && rounds !== -1 && this.round >= rounds) return false;
    if (this.slices.length > maxRounds && this.buffer.length > 0) return false;
    return this.buffer.length < size;
  }

  /** Fills the buffer; gives a promise when it has to wait for elements. */
  private fill(): Promise<void> | undefined {
    while (this.wantsMore) {
      const pause = this.pause();
      if (pause) return pause.then(() => this.fillOn());
      this.input ??= this.begin();
      const pulled = this.input.next();
      if (pulled instanceof Promise) return this.fillLater(pulled);
      if (!this.put(pulled)) return undefined;
    }
    return undefined;
  }

  private async fillLater(first: Promise<Element | undefined>): Promise<void> {
    if (this.put(await first)) await this.fillOn();
  }

  /** A pause for the event loop, if it is time for one. */
  private pause(): Promise<void> | undefined {
    return this.buffer.length % 256 === 255 ? yieldIfLong() : undefined;
  }

  private async fillOn(): Promise<void> {
    while (this.wantsMore) {
      const pause = this.pause();
      if (pause) await pause;
      this.scope.check();
      this.input ??= this.begin();
      const pulled = this.input.next();
      if (!this.put(pulled instanceof Promise ? await pulled : pulled)) return;
    }
  }

  private begin(): ElementIterator {
    const at = this.slices.at(-1)?.end ?? 0;
    this.slices.push({ start: at, end: at, isComplete: false });
    this.round++;
    return this.dataset.iterate(this.scope);
  }

  /** Takes an element, or the end of a round; false when going on would be for ever. */
  private put(element: Element | undefined): boolean {
    const slice = this.slices.at(-1)!;
    if (element) {
      this.hasGiven = true;
      this.buffer.push(element);
      slice.end++;
      return true;
    }
    slice.isComplete = true;
    this.input = undefined;
    return this.hasGiven || this.shuffling.rounds !== -1;
  }

  private pick(): Element | undefined {
    if (this.buffer.length === 0) return undefined;
    while (this.slices[0]!.isComplete && this.slices[0]!.start === this.slices[0]!.end) {
      this.slices.shift();
      this.words = new Words(this.generator.next());
    }
    const slice = this.slices[0]!;
    const at = slice.start + (this.words.next() % (slice.end - slice.start));
    const element = this.buffer.at(at);
    this.buffer.set(at, this.buffer.at(slice.start));
    this.buffer.shift();
    slice.start++;
    return element;
  }

  save(): Promise<Saved> {
    return savedAll({
      input: this.input ? this.input.save() : null,
      hasInput: this.input !== undefined,
      words: this.words.save(),
      generator: this.generator.save(),
      slices: this.slices.map(({ start, end, isComplete }) => [start, end, isComplete]),
      positions: this.buffer.positions,
      elements: this.buffer.elements(),
      round: this.round,
      hasGiven: this.hasGiven,
    });
  }

  async restore(saved: Saved): Promise<void> {
    const { input, hasInput, words, generator, slices, positions, elements, round, hasGiven } = savedRecord(saved);
    this.words = Words.restored(words!);
    this.generator.restore(generator!);
    this.slices = (slices as readonly (readonly [number, number, boolean])[]).map(([start, end, isComplete]) => ({
      // as saved
      start,
      end,
      isComplete,
    }));
    const end = this.slices.at(-1)?.end ?? 0;
    this.buffer.replace((positions as readonly number[])[0] ?? end, savedElements(elements)); // as saved
    this.round = savedNumber(round);
    this.hasGiven = hasGiven === true;
    this.input = undefined;
    if (hasInput !== true) return;
    this.input = this.dataset.iterate(this.scope);
    await this.input.restore(input!);
  }
}

/** The order in which elements are had by their position: all of them exchanged, with the first seeds. */
class PositionsIterator implements ElementIterator {
  private elements: Element[] | undefined;
  private position = 0;
  constructor(
    private readonly input: ElementIterator,
    private readonly seeds: Seeds,
  ) {}
  async next(): Promise<Element | undefined> {
    this.elements ??= await this.exchanged();
    return this.elements[this.position++];
  }
  private async exchanged(): Promise<Element[]> {
    const elements: Element[] = [];
    for (let element = await this.input.next(); element; element = await this.input.next()) elements.push(element);
    const words = new Words(this.seeds);
    for (let first = 0; first < elements.length; first++) {
      const at = first + (words.next() % (elements.length - first));
      [elements[first], elements[at]] = [elements[at]!, elements[first]!];
    }
    return elements;
  }
  save(): Saved {
    return this.position;
  }
  restore(saved: Saved): void {
    this.position = savedNumber(saved);
  }
}

function bufferSize(array: NDArray): number {
  const size = scalarOf(array, 'buffer_size');
  if (size === unknown) return Number.MAX_SAFE_INTEGER;
  if (size <= 0) throw new InvalidArgumentError('buffer_size must be greater than zero or UNKNOWN_CARDINALITY');
  return size;
}

function shuffled(input: Dataset, generator: SeedGenerator, shuffling: Shuffling, kind = 'Shuffle'): Dataset {
  const { rounds } = shuffling;
  const iterate = (scope: Iteration) =>
    scope.picksByPosition
      ? new PositionsIterator(input.iterate(scope), generator.seeds)
      : new ShuffleIterator(input, scope, generator, shuffling);
  return someOf(kind, input, () => repeatedCount(input.cardinality, rounds), iterate, {
    shuffleObstacle: () => '`shuffle` does not support random access of tf.data datasets.',
  });
}

const reshuffle = { reshuffle_each_iteration: flag(true) } as const;

export const ShuffleDataset = datasetOp({
  name: 'ShuffleDataset',
  inputs: { input_dataset: 'variant', buffer_size: 'int64', seed: 'int64', seed2: 'int64' },
  attrs: { ...reshuffle, ...elementAttrs, metadata },
  batches: 'ofInput',
  make({ input_dataset, buffer_size, seed, seed2 }, { reshuffle_each_iteration }) {
    const generator = new SeedGenerator(seedsOf(seed, seed2), reshuffle_each_iteration);
    return shuffled(datasetIn(input_dataset), generator, { size: bufferSize(buffer_size), rounds: 1 });
  },
});

export const ShuffleDatasetV2 = datasetOp({
  name: 'ShuffleDatasetV2',
  inputs: { input_dataset: 'variant', buffer_size: 'int64', seed_generator: 'resource' },
  attrs: { ...elementAttrs, metadata },
  stateful: 'repeatable',
  batches: 'ofInput',
  emptyObject: 'DummySeedGenerator',
  make({ input_dataset, buffer_size, seed_generator }) {
    const generator = generatorBehind(seed_generator, unseeded);
    return shuffled(datasetIn(input_dataset), generator, { size: bufferSize(buffer_size), rounds: 1 });
  },
});

function unseeded(): SeedGenerator {
  const [seed, seed2] = crypto.getRandomValues(new BigUint64Array(2));
  return new SeedGenerator({ seed: seed!, seed2: seed2! }, true);
}

export const ShuffleDatasetV3 = datasetOp({
  name: 'ShuffleDatasetV3',
  inputs: {
    input_dataset: 'variant',
    buffer_size: 'int64',
    seed: 'int64',
    seed2: 'int64',
    seed_generator: 'resource',
  },
  attrs: { ...reshuffle, ...elementAttrs, metadata },
  stateful: 'repeatable',
  batches: 'ofInput',
  emptyObject: 'DummySeedGenerator',
  make({ input_dataset, buffer_size, seed, seed2, seed_generator }, { reshuffle_each_iteration }) {
    const make = () => new SeedGenerator(seedsOf(seed, seed2), reshuffle_each_iteration);
    const generator = generatorBehind(seed_generator, make);
    return shuffled(datasetIn(input_dataset), generator, { size: bufferSize(buffer_size), rounds: 1 });
  },
});

/** How many rounds: any number but 0, which is none. */
function roundsOf(array: NDArray): number {
  const count = scalarOf(array, 'count');
  if (count > 0 || count === -1) return count;
  throw new InvalidArgumentError('count must be greater than zero or equal to -1.');
}

export const ShuffleAndRepeatDataset = datasetOp({
  name: 'ShuffleAndRepeatDataset',
  inputs: { input_dataset: 'variant', buffer_size: 'int64', seed: 'int64', seed2: 'int64', count: 'int64' },
  attrs: { ...elementAttrs, ...reshuffle, metadata },
  batches: 'ofInput',
  make({ input_dataset, buffer_size, seed, seed2, count }, { reshuffle_each_iteration }) {
    const generator = new SeedGenerator(seedsOf(seed, seed2), reshuffle_each_iteration);
    const shuffling = { size: bufferSize(buffer_size), rounds: roundsOf(count) };
    return shuffled(datasetIn(input_dataset), generator, shuffling, 'ShuffleAndRepeat');
  },
});

export const ShuffleAndRepeatDatasetV2 = datasetOp({
  name: 'ShuffleAndRepeatDatasetV2',
  inputs: {
    input_dataset: 'variant',
    buffer_size: 'int64',
    seed: 'int64',
    seed2: 'int64',
    count: 'int64',
    seed_generator: 'resource',
  },
  attrs: { ...reshuffle, ...elementAttrs, metadata },
  stateful: 'repeatable',
  batches: 'ofInput',
  emptyObject: 'DummySeedGenerator',
  make({ input_dataset, buffer_size, seed, seed2, count, seed_generator }, { reshuffle_each_iteration }) {
    const make = () => new SeedGenerator(seedsOf(seed, seed2), reshuffle_each_iteration);
    const shuffling = { size: bufferSize(buffer_size), rounds: roundsOf(count) };
    return shuffled(datasetIn(input_dataset), generatorBehind(seed_generator, make), shuffling, 'ShuffleAndRepeat');
  },
});

/** @file Random numbers of datasets: one word at a time from seeds, and seeds for one iteration after the other. */
import { int64, resource } from '../../core/dtypes.ts';
import { NDArray } from '../../core/ndarray.ts';

import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { Philox } from '../../program/philox.ts';
import { philoxState } from '../../program/philoxState.ts';
import { Dataset, type ElementIterator, infinite, type Pulled } from './dataset.ts';
import {
  deleteOp,
  handleAndDeleter,
  handleTo,
  objectBehind,
  resourceHandle,
  scalarPair,
  scalarResource,
  withDeleter,
} from './handles.ts';
import { datasetOp, elementAttrs, flag, metadata } from './kit.ts';
import { type Saved, savedNumber, savedRecord } from './saved.ts';

/** Two seeds. (0, 0) stands for none. */
export interface Seeds {
  readonly seed: bigint;
  readonly seed2: bigint;
}

/** The seeds in two inputs; other ones each time where there are none. */
export function seedsOf(seed: NDArray, seed2: NDArray): Seeds {
  const given = { seed: bigintOf(seed), seed2: bigintOf(seed2) };
  if (given.seed !== 0n || given.seed2 !== 0n) return given;
  const [a, b] = crypto.getRandomValues(new BigUint64Array(2));
  return { seed: a!, seed2: b! };
}
const bigintOf = (array: NDArray) => array.data[0] as bigint; // int64 inputs

/** Random words from seeds, counted so that they can be had again. */
export class Words {
  private generator: Philox;
  private drawn = 0;
  constructor(readonly seeds: Seeds) {
    this.generator = generatorOf(seeds);
  }

  next(): number {
    this.drawn++;
    return this.generator.next();
  }

  save(): Saved {
    return { seed: String(this.seeds.seed), seed2: String(this.seeds.seed2), drawn: this.drawn };
  }
  static restored(saved: Saved): Words {
    const { seed, seed2, drawn } = savedRecord(saved);
    const words = new Words({ seed: BigInt(seed as string), seed2: BigInt(seed2 as string) }); // as they were saved
    words.drawn = savedNumber(drawn);
    words.generator.seek(Math.floor(words.drawn / 4));
    for (let k = 0; k < words.drawn % 4; k++) words.generator.next();
    return words;
  }
}

function generatorOf({ seed, seed2 }: Seeds): Philox {
  const state = philoxState(seed, seed2);
  return new Philox(new DataView(state.buffer, state.byteOffset), 0);
}

/** Gives each iteration its seeds: always the same, or new ones that follow from the first. */
export class SeedGenerator {
  private words: Words;
  constructor(
    readonly seeds: Seeds,
    readonly changes: boolean,
  ) {
    this.words = new Words(seeds);
  }

  next(): Seeds {
    if (!this.changes) return this.seeds;
    return { seed: BigInt(this.words.next()), seed2: BigInt(this.words.next()) };
  }

  save(): Saved {
    return this.words.save();
  }
  restore(saved: Saved): void {
    this.words = Words.restored(saved);
  }
}

/** The generator behind a handle, or a new one where the handle is a dummy. */
export function generatorBehind(array: NDArray, otherwise: () => SeedGenerator): SeedGenerator {
  return objectBehind(array, SeedGenerator, otherwise);
}

const handleOf = (seeds: Seeds, changes: boolean) => handleTo('SeedGenerator', new SeedGenerator(seeds, changes));

export const AnonymousSeedGenerator = defineOp({
  name: 'AnonymousSeedGenerator',
  inputs: { seed: 'int64', seed2: 'int64', reshuffle: 'bool' },
  outputs: handleAndDeleter,
  attrs: {},
  stateful: 'repeatable',
  shape: scalarPair,
  grad: notDifferentiable,
  lower: (p, { seed, seed2, reshuffle }) =>
    withDeleter(p, [seed, seed2, reshuffle], ([a, b, changes]) => handleOf(seedsOf(a!, b!), changes!.at(0) === true)),
  cases: () => [],
});

export const AnonymousRandomSeedGenerator = defineOp({
  name: 'AnonymousRandomSeedGenerator',
  inputs: { seed: 'int64', seed2: 'int64' },
  outputs: handleAndDeleter,
  attrs: {},
  stateful: 'repeatable',
  shape: scalarPair,
  grad: notDifferentiable,
  lower: (p, { seed, seed2 }) => withDeleter(p, [seed, seed2], ([a, b]) => handleOf(seedsOf(a!, b!), true)),
  cases: () => [],
});

export const DeleteSeedGenerator = deleteOp('DeleteSeedGenerator');
export const DeleteRandomSeedGenerator = deleteOp('DeleteRandomSeedGenerator');

const dummyOp = (name: string) =>
  defineOp({
    name,
    inputs: {},
    outputs: resourceHandle,
    attrs: {},
    stateful: 'repeatable',
    shape: scalarResource,
    grad: notDifferentiable,
    lower: (p) => ({ handle: p.constant(new NDArray(resource, [], [{}])) }),
    cases: () => [],
  });

export const DummySeedGenerator = dummyOp('DummySeedGenerator');
export const DummyMemoryCache = dummyOp('DummyMemoryCache');

/** Random numbers without end. */
class RandomIterator implements ElementIterator {
  private words: Words;
  constructor(private readonly generator: SeedGenerator) {
    this.words = new Words(generator.next());
  }
  next(): Pulled {
    return [new NDArray(int64, [], BigInt64Array.of(BigInt(this.words.next())))];
  }
  save(): Saved {
    return { words: this.words.save(), generator: this.generator.save() };
  }
  restore(saved: Saved): void {
    const { words, generator } = savedRecord(saved);
    this.words = Words.restored(words!);
    this.generator.restore(generator!);
  }
}

function randomNumbers(generator: SeedGenerator): Dataset {
  return new Dataset({
    kind: 'Random',
    types: [int64],
    shapes: [[]],
    sharesMemory: false,
    cardinality: () => infinite,
    iterate: () => new RandomIterator(generator),
  });
}

const randomOp = (name: string, extra: object) =>
  datasetOp({
    name,
    inputs: { seed: 'int64', seed2: 'int64' },
    attrs: { ...elementAttrs, ...extra },
    stateful: 'repeatable',
    make: ({ seed, seed2 }) => randomNumbers(new SeedGenerator(seedsOf(seed, seed2), false)),
  });

export const RandomDataset = randomOp('RandomDataset', { metadata });
export const ExperimentalRandomDataset = randomOp('ExperimentalRandomDataset', {});

export const RandomDatasetV2 = datasetOp({
  name: 'RandomDatasetV2',
  inputs: { seed: 'int64', seed2: 'int64', seed_generator: 'resource' },
  attrs: { rerandomize_each_iteration: flag(false), ...elementAttrs, metadata },
  stateful: 'repeatable',
  make: ({ seed, seed2, seed_generator }, { rerandomize_each_iteration }) =>
    randomNumbers(
      generatorBehind(seed_generator, () => new SeedGenerator(seedsOf(seed, seed2), rerandomize_each_iteration)),
    ),
});

/** @file GlobalShuffleDataset: all elements of a dataset in a random order. */
import { FailedPreconditionError, InvalidArgumentError } from '../../core/errors.ts';

import {
  type Dataset,
  datasetIn,
  type Element,
  type ElementIterator,
  type Iteration,
  someOf,
  unknown,
} from './dataset.ts';
import { datasetOp, elementAttrs, flag, metadata } from './kit.ts';
import { generatorBehind, SeedGenerator, type Seeds, seedsOf, Words } from './random.ts';
import { type Saved, savedNumber, savedRecord } from './saved.ts';

/**
 * Reads everything, then gives it in an order drawn from the seeds. TensorFlow picks elements by their position instead,
 * which not every dataset here can do, so the order is another one than TensorFlow's for the same seeds.
 */
class GlobalShuffleIterator implements ElementIterator {
  private elements: Element[] | undefined;
  private position = 0;
  private seeds: Seeds;
  constructor(
    private readonly input: ElementIterator,
    private readonly scope: Iteration,
    private readonly generator: SeedGenerator,
  ) {
    this.seeds = generator.next();
  }

  async next(): Promise<Element | undefined> {
    this.elements ??= await this.shuffled();
    return this.elements[this.position++];
  }

  private async shuffled(): Promise<Element[]> {
    const elements: Element[] = [];
    const words = new Words(this.seeds);
    for (;;) {
      this.scope.check();
      const element = await this.input.next();
      if (!element) break;
      elements.push(element);
    }
    for (let last = elements.length - 1; last > 0; last--) {
      const at = words.next() % (last + 1);
      [elements[at], elements[last]] = [elements[last]!, elements[at]!];
    }
    return elements;
  }

  /** The elements are read again when they are needed, and come in the same order. */
  save(): Saved {
    const { seed, seed2 } = this.seeds;
    return {
      seeds: [String(seed), String(seed2)],
      position: this.position,
      generator: this.generator.save(),
    };
  }
  restore(saved: Saved): void {
    const { seeds, position, generator } = savedRecord(saved);
    const [seed, seed2] = (seeds as readonly [string, string]).map(BigInt) as [bigint, bigint]; // as saved
    this.seeds = { seed, seed2 };
    this.position = savedNumber(position);
    this.generator.restore(generator!);
  }
}

function checkCount({ shuffleObstacle, cardinality }: Dataset): void {
  if (shuffleObstacle !== undefined || cardinality === unknown)
    throw new FailedPreconditionError(
      `\`global_shuffle\` requires all upstream transformations be compatible with random access. ${shuffleObstacle ?? ''}`.trim(),
    );
  if (cardinality <= 0)
    throw new InvalidArgumentError(
      `\`global_shuffle\` requires the input dataset to have a non-empty finite cardinality. Got cardinality ${cardinality}.`,
    );
}

export const GlobalShuffleDataset = datasetOp({
  name: 'GlobalShuffleDataset',
  inputs: { input_dataset: 'variant', seed: 'int64', seed2: 'int64', seed_generator: 'resource' },
  attrs: { reshuffle_each_iteration: flag(true), ...elementAttrs, metadata },
  stateful: 'repeatable',
  emptyObject: 'DummySeedGenerator',
  make({ input_dataset, seed, seed2, seed_generator }, { reshuffle_each_iteration }) {
    const input = datasetIn(input_dataset);
    checkCount(input);
    const make = () => new SeedGenerator(seedsOf(seed, seed2), reshuffle_each_iteration);
    const generator = generatorBehind(seed_generator, make);
    const iterate = (scope: Iteration) => new GlobalShuffleIterator(input.iterate(scope), scope, generator);
    return someOf('GlobalShuffle', input, () => input.cardinality, iterate);
  },
});

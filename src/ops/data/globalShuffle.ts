/** @file GlobalShuffleDataset: all elements of a dataset in a random order. */
import { FailedPreconditionError, InvalidArgumentError } from '../../core/errors.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import {
  type Dataset,
  datasetIn,
  type Element,
  type ElementIterator,
  type Iteration,
  infinite,
  type Saved,
  savedAll,
  savedElements,
  savedNumber,
  savedRecord,
  unknown,
} from './dataset.ts';
import { elementAttrs, flag, handle, madeBy, metadata, scalarHandle } from './kit.ts';
import { someOf } from './map.ts';
import { generatorBehind, SeedGenerator, seedsOf, Words } from './random.ts';

/**
 * Reads everything, then gives it in an order drawn from the seeds. TensorFlow picks elements by their position instead,
 * which not every dataset here can do, so the order is another one than TensorFlow's for the same seeds.
 */
class GlobalShuffleIterator implements ElementIterator {
  private elements: Element[] | undefined;
  private position = 0;
  private readonly words: Words;
  constructor(
    private readonly input: ElementIterator,
    private readonly scope: Iteration,
    private readonly generator: SeedGenerator,
  ) {
    this.words = new Words(generator.next());
  }

  async next(): Promise<Element | undefined> {
    this.elements ??= await this.shuffled();
    return this.elements[this.position++];
  }

  private async shuffled(): Promise<Element[]> {
    const elements: Element[] = [];
    for (;;) {
      this.scope.check();
      const element = await this.input.next();
      if (!element) break;
      elements.push(element);
    }
    for (let last = elements.length - 1; last > 0; last--) {
      const at = this.words.next() % (last + 1);
      [elements[at], elements[last]] = [elements[last]!, elements[at]!];
    }
    return elements;
  }

  async save(): Promise<Saved> {
    this.elements ??= await this.shuffled();
    return await savedAll({
      elements: this.elements,
      position: this.position,
      generator: this.generator.save(),
    });
  }
  restore(saved: Saved): void {
    const { elements, position, generator } = savedRecord(saved);
    this.elements = savedElements(elements);
    this.position = savedNumber(position);
    this.generator.restore(generator!);
  }
}

function checkCount(input: Dataset): void {
  const n = input.cardinality;
  if (n === infinite)
    throw new InvalidArgumentError(
      '`global_shuffle` requires the input dataset to have a finite cardinality: this one is infinite.',
    );
  if (n === unknown)
    throw new FailedPreconditionError(
      '`global_shuffle` requires all upstream transformations be compatible with random access.',
    );
}

export const GlobalShuffleDataset = defineOp({
  name: 'GlobalShuffleDataset',
  inputs: { input_dataset: 'variant', seed: 'int64', seed2: 'int64', seed_generator: 'resource' },
  outputs: handle,
  attrs: { reshuffle_each_iteration: flag(true), ...elementAttrs, metadata },
  stateful: true,
  shape: scalarHandle,
  grad: notDifferentiable,
  lower: (p, inputs, { reshuffle_each_iteration }) =>
    madeBy(p, inputs, ({ input_dataset, seed, seed2, seed_generator }) => {
      const input = datasetIn(input_dataset);
      checkCount(input);
      const make = () => new SeedGenerator(seedsOf(seed, seed2), reshuffle_each_iteration);
      const generator = generatorBehind(seed_generator, make);
      const iterate = (scope: Iteration) => new GlobalShuffleIterator(input.iterate(scope), scope, generator);
      return someOf('GlobalShuffle', input, () => input.cardinality, iterate);
    }),
  cases: () => [],
});

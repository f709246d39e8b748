/** @file Datasets of some elements of another: each value once, a random part, those that say so. */
import { bool, int32, int64, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { yieldIfLong } from '../../core/eventLoop.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { Dataset, datasetIn, type Element, type ElementIterator, type Iteration, someOf, unknown } from './dataset.ts';
import { datasetOp, datasetValue, elementAttrs, metadata, scalarOf } from './kit.ts';
import { seedsOf, Words } from './random.ts';
import { Following, type Saved } from './saved.ts';

/** Gives the elements that are wanted. */
abstract class PickingIterator extends Following {
  constructor(
    input: ElementIterator,
    private readonly scope: Iteration,
  ) {
    super(input);
  }
  protected abstract wants(element: Element): boolean;

  async next(): Promise<Element | undefined> {
    for (;;) {
      const pause = yieldIfLong();
      if (pause) await pause;
      this.scope.check();
      const element = await this.input.next();
      if (!element || this.wants(element)) return element;
    }
  }
}

function contentOf(array: NDArray): string {
  const content = array.dtype.isObject
    ? array.objects.map((bytes) => Buffer.from(bytes as Uint8Array).toString('latin1')) // only strings get here
    : [Buffer.from(array.bytes.buffer, array.bytes.byteOffset, array.bytes.length).toString('latin1')];
  return `${array.shape.join()}:${content.map((text) => `${text.length}:${text}`).join('')}`;
}

class UniqueIterator extends PickingIterator {
  private seen = new Set<string>();
  protected wants([array]: Element): boolean {
    const content = contentOf(array!);
    if (this.seen.has(content)) return false;
    this.seen.add(content);
    return true;
  }
  protected override state(): Saved {
    return [...this.seen];
  }
  protected override setState(saved: Saved): void {
    this.seen = new Set(saved as readonly string[]); // as `state` gave it
  }
}

const uniqueOp = (name: string, extra: object) =>
  datasetOp({
    name,
    inputs: { input_dataset: 'variant' },
    attrs: { ...elementAttrs, ...extra },
    make({ input_dataset }) {
      const input = datasetIn(input_dataset);
      const [dtype] = input.types;
      if (input.types.length !== 1)
        throw new InvalidArgumentError('UniqueDataset only supports inputs with a single component.');
      if (dtype !== int32 && dtype !== int64 && dtype !== string)
        throw new InvalidArgumentError(
          'UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` component.',
        );
      return someOf(
        'Unique',
        input,
        () => (input.cardinality === 0 ? 0 : unknown),
        (scope) => new UniqueIterator(input.iterate(scope), scope),
      );
    },
  });
export const UniqueDataset = uniqueOp('UniqueDataset', { metadata });
export const ExperimentalUniqueDataset = uniqueOp('ExperimentalUniqueDataset', {});

class SamplingIterator extends PickingIterator {
  constructor(
    input: ElementIterator,
    scope: Iteration,
    private words: Words,
    private readonly rate: number,
  ) {
    super(input, scope);
  }
  protected wants(): boolean {
    // 23 random bits behind a leading one are a float in [1, 2), as TensorFlow makes uniform numbers.
    return (this.words.next() & 0x7fffff) / 0x800000 < this.rate;
  }
  protected override state(): Saved {
    return this.words.save();
  }
  protected override setState(saved: Saved): void {
    this.words = Words.restored(saved);
  }
}

export const SamplingDataset = datasetOp({
  name: 'SamplingDataset',
  inputs: { input_dataset: 'variant', rate: 'float32', seed: 'int64', seed2: 'int64' },
  attrs: elementAttrs,
  make({ input_dataset, rate, seed, seed2 }) {
    const input = datasetIn(input_dataset);
    const seeds = seedsOf(seed, seed2);
    const share = scalarOf(rate, 'rate');
    return someOf(
      'Sampling',
      input,
      () => (input.cardinality === 0 ? 0 : unknown),
      (scope) => new SamplingIterator(input.iterate(scope), scope, new Words(seeds), share),
    );
  },
});

class LastSaysIterator extends PickingIterator {
  protected wants(element: Element): boolean {
    const last = element.at(-1)!;
    if (last.dtype !== bool || last.rank !== 0) throw new InvalidArgumentError('Last component must be a bool scalar.');
    return last.at(0) === true;
  }
  override async next(): Promise<Element | undefined> {
    return (await super.next())?.slice(0, -1);
  }
}

export const FilterByLastComponentDataset = defineOp({
  name: 'FilterByLastComponentDataset',
  inputs: { input_dataset: 'variant' },
  outputs: { output: 'variant' },
  attrs: elementAttrs,
  shape: () => ({ output: [] }),
  grad: notDifferentiable,
  lower: (p, inputs, { output_types, output_shapes }) => ({
    output: datasetValue(p, inputs, ({ input_dataset }) => {
      const input = datasetIn(input_dataset);
      return new Dataset({
        kind: 'FilterByLastComponent',
        types: output_types,
        shapes: output_shapes,
        sharesMemory: input.sharesMemory,
        cardinality: () => (input.cardinality === 0 ? 0 : unknown),
        iterate: (scope) => new LastSaysIterator(input.iterate(scope), scope),
      });
    }),
  }),
  cases: () => [],
});

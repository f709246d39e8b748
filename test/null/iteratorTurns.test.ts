/** @file An iterator that many ask at once: one pull at a time, nobody's element is lost, whoever stops waiting takes none. */
import { describe, expect, it } from 'vitest';
import { int64 } from '../../src/core/dtypes.ts';
import { CancelledError } from '../../src/core/errors.ts';
import { scalar } from '../../src/core/ndarray.ts';
import { Dataset, type Element, type ElementIterator, Iteration, unknown } from '../../src/ops/data/dataset.ts';

import { IteratorResource } from '../../src/ops/data/iterator.ts';
import { PrefetchIterator } from '../../src/ops/data/prefetch.ts';
import { StopToken } from '../../src/runtime/stop.ts';

/** Counts up; every element comes when `give` is called, and asking for the next before that is a mistake. */
class OnDemand implements ElementIterator {
  private waiting: ((element: Element) => void) | undefined;
  private position = 0;
  constructor(private readonly whenAsked: () => void) {}

  next(): Promise<Element> {
    if (this.waiting) throw new Error('asked for an element before the last one was there');
    const element = new Promise<Element>((resolve) => {
      this.waiting = resolve;
    });
    this.whenAsked();
    return element;
  }
  give(): void {
    const { waiting } = this;
    this.waiting = undefined;
    waiting!([scalar(int64, this.position++)]);
  }
  get isAsked(): boolean {
    return this.waiting !== undefined;
  }
  save(): number {
    return this.position;
  }
  restore(saved: unknown): void {
    this.position = Number(saved);
  }
}

function onDemand(): { dataset: Dataset; iterators: OnDemand[]; asked: () => Promise<OnDemand> } {
  const iterators: OnDemand[] = [];
  let asked: () => void = () => {};
  const dataset = new Dataset({
    kind: 'OnDemand',
    types: [int64],
    shapes: [[]],
    sharesMemory: false,
    cardinality: () => unknown,
    iterate() {
      const made = new OnDemand(() => asked());
      iterators.push(made);
      return made;
    },
  });
  const isAsked = () => iterators.at(-1)?.isAsked === true;
  return {
    dataset,
    iterators,
    asked: async () => {
      if (!isAsked())
        await new Promise<void>((resolve) => {
          asked = resolve;
        });
      return iterators.at(-1)!;
    },
  };
}

const numberIn = async (pulled: ReturnType<IteratorResource['next']>) => (await pulled)?.[0]?.numberAt(0);

describe('an iterator that many ask at once', () => {
  it('is asked by one after the other, also by those who come while it begins', async () => {
    const { dataset, asked } = onDemand();
    let begin: (dataset: Dataset) => void = () => {};
    const beginning = new Promise<Dataset>((resolve) => {
      begin = resolve;
    });
    const iterator = new IteratorResource([int64], [[]], () => beginning);
    const early = [iterator.next(), iterator.next()].map(numberIn);
    begin(dataset);
    await asked();
    const late = [iterator.next(), iterator.next()].map(numberIn);
    for (let i = 0; i < 4; i++) (await asked()).give();
    expect(await Promise.all([...early, ...late])).toEqual([0, 1, 2, 3]);
  });

  it('begins once, however many ask before it has begun', async () => {
    const { dataset, iterators, asked } = onDemand();
    const iterator = new IteratorResource([int64], [[]], async () => dataset);
    const all = [iterator.next(), iterator.next()].map(numberIn);
    for (let i = 0; i < 2; i++) (await asked()).give();
    expect(await Promise.all(all)).toEqual([0, 1]);
    expect(iterators).toHaveLength(1);
  });

  it('is asked by one after the other when it is initialized again meanwhile', async () => {
    const { dataset, iterators, asked } = onDemand();
    const iterator = new IteratorResource([int64], [[]]);
    iterator.initialize(dataset);
    const before = [iterator.next(), iterator.next()].map(numberIn);
    const first = await asked();
    iterator.initialize(dataset);
    const after = [iterator.next(), iterator.next()].map(numberIn);
    first.give();
    expect(await before[0]).toBe(0);
    for (let i = 0; i < 3; i++) (await asked()).give();
    // Who waited for its turn gets an element of the new one, in some order with the others.
    expect((await Promise.all([before[1], ...after])).toSorted()).toEqual([0, 1, 2]);
    expect(iterators).toHaveLength(2);
  });

  it('gives no element to a run that was stopped before its turn', async () => {
    const { dataset, asked } = onDemand();
    const iterator = new IteratorResource([int64], [[]]);
    iterator.initialize(dataset);
    const stop = new StopToken();
    const first = numberIn(iterator.next());
    const stopped = numberIn(iterator.next(stop));
    const last = numberIn(iterator.next());
    stop.stop(new CancelledError('enough'));
    (await asked()).give();
    await expect(stopped).rejects.toThrow('enough');
    (await asked()).give();
    expect(await Promise.all([first, last])).toEqual([0, 1]);
  });

  it('is saved and restored between two elements', async () => {
    const { dataset, asked } = onDemand();
    const iterator = new IteratorResource([int64], [[]]);
    iterator.initialize(dataset);
    const first = numberIn(iterator.next());
    const saved = iterator.save();
    const second = numberIn(iterator.next());
    (await asked()).give();
    expect(await saved).toBe(1);
    (await asked()).give();
    expect(await Promise.all([first, second])).toEqual([0, 1]);
    const restored = iterator.restore(await saved);
    const again = numberIn(iterator.next());
    await restored;
    (await asked()).give();
    expect(await again).toBe(1);
  });
});

describe('elements made ahead', () => {
  it('rest while the position is saved, so that none is in nobody’s state', async () => {
    let position = 0;
    const input: ElementIterator = {
      next: () => [scalar(int64, position++)],
      // Looks at its position in a later turn of the event loop, as one that waits for its own calls does.
      save: async () => {
        await new Promise(setImmediate);
        await new Promise(setImmediate);
        return position;
      },
      restore: () => {},
    };
    const ahead = new PrefetchIterator(input, new Iteration(), 10);
    const given = [await ahead.next(), await ahead.next()]; // asks for more in the next turn
    const saved = (await ahead.save()) as { input: number; elements: readonly Element[] };
    expect(saved.input).toBe(given.length + saved.elements.length);
    expect(Number((await ahead.next())![0])).toBe(2);
  });
});

/** @file Datasets that count elements: repeat, take, skip, shard. */
import { InvalidArgumentError } from '../../core/errors.ts';

import {
  type Dataset,
  datasetIn,
  type Element,
  type ElementIterator,
  type Iteration,
  infinite,
  type Pulled,
  type Soon,
  someOf,
  soon,
  unknown,
} from './dataset.ts';
import { datasetOp, elementAttrs, flag, metadata, scalarOf } from './kit.ts';
import { Following, type Saved, savedAll, savedNumber, savedRecord } from './saved.ts';

/** Begins again at the end. */
class RepeatIterator implements ElementIterator {
  private input: ElementIterator;
  private round = 0;
  private isFresh = true;
  constructor(
    private readonly dataset: Dataset,
    private readonly scope: Iteration,
    /** How often, or -1. */
    private readonly count: number,
  ) {
    this.input = dataset.iterate(scope);
  }

  next(): Pulled {
    if (this.count >= 0 && this.round >= this.count) return undefined;
    return soon(this.input.next(), (element) => this.given(element));
  }

  private given(element: Element | undefined): Pulled {
    const wasFresh = this.isFresh;
    this.isFresh = false;
    if (element) return element;
    this.scope.check();
    // A dataset that is empty every time would be begun again for ever.
    if (wasFresh && this.count < 0) {
      this.isFresh = true;
      return undefined;
    }
    this.round++;
    if (this.round === this.count) return undefined;
    this.input = this.dataset.iterate(this.scope);
    this.isFresh = true;
    return this.next();
  }

  save(): Soon<Saved> {
    return savedAll({ input: this.input.save(), round: this.round, isFresh: this.isFresh });
  }
  restore(saved: Saved): Soon<void> {
    const { input, round, isFresh } = savedRecord(saved);
    this.round = savedNumber(round);
    this.isFresh = isFresh === true;
    return this.input.restore(input!);
  }
}

/** How many elements there are in so many rounds. */
export function repeatedCount(n: number, count: number): number {
  if (count < 0) return n === 0 ? 0 : infinite;
  if (count === 0) return 0;
  return n === infinite || n === unknown ? n : n * count;
}

export const RepeatDataset = datasetOp({
  name: 'RepeatDataset',
  inputs: { input_dataset: 'variant', count: 'int64' },
  attrs: { ...elementAttrs, metadata },
  batches: 'ofInput',
  make(arrays) {
    const input = datasetIn(arrays.input_dataset);
    const count = scalarOf(arrays.count, 'count');
    const iterate = (scope: Iteration) => new RepeatIterator(input, scope, count);
    return someOf('Repeat', input, () => repeatedCount(input.cardinality, count), iterate, {
      shuffleObstacle: () =>
        count > 0 ? undefined : `\`repeat(${count})\` does not support random access of tf.data datasets.`,
    });
  },
});

/** The elements from one position on to another. */
class RangeIterator extends Following {
  private position = 0;
  constructor(
    input: ElementIterator,
    private readonly scope: Iteration,
    private readonly from: number,
    private readonly to: number,
  ) {
    super(input);
  }

  next(): Pulled {
    while (this.position < this.from) {
      this.scope.check();
      const skipped = this.input.next();
      if (skipped instanceof Promise) return skipped.then((element) => this.skipped(element));
      if (!skipped) return this.end();
      this.position++;
    }
    if (this.position >= this.to) return undefined;
    this.position++;
    return this.input.next();
  }

  private skipped(element: Element | undefined): Pulled {
    if (!element) return this.end();
    this.position++;
    return this.next();
  }

  private end(): undefined {
    this.position = Number.MAX_SAFE_INTEGER;
    return undefined;
  }

  protected override state(): Saved {
    return this.position;
  }
  protected override setState(saved: Saved): void {
    this.position = savedNumber(saved);
  }
}

interface Part {
  readonly from: number;
  readonly to: number;
  readonly cardinality: () => number;
  readonly shuffleObstacle?: () => string | undefined;
}

const part = (kind: string, input: Dataset, { from, to, cardinality, ...more }: Part) =>
  someOf(kind, input, cardinality, (scope) => new RangeIterator(input.iterate(scope), scope, from, to), more);

export const TakeDataset = datasetOp({
  name: 'TakeDataset',
  inputs: { input_dataset: 'variant', count: 'int64' },
  attrs: { ...elementAttrs, metadata },
  batches: 'ofInput',
  make(arrays) {
    const input = datasetIn(arrays.input_dataset);
    const asked = scalarOf(arrays.count, 'count');
    const count = asked < 0 ? Number.MAX_SAFE_INTEGER : asked;
    const cardinality = () => {
      const n = input.cardinality;
      if (n === unknown || asked < 0) return n;
      return n === infinite ? count : Math.min(n, count);
    };
    return part('Take', input, { from: 0, to: count, cardinality });
  },
});

export const SkipDataset = datasetOp({
  name: 'SkipDataset',
  inputs: { input_dataset: 'variant', count: 'int64' },
  attrs: { ...elementAttrs, metadata },
  batches: 'ofInput',
  make(arrays) {
    const input = datasetIn(arrays.input_dataset);
    const asked = scalarOf(arrays.count, 'count');
    const isEmpty = asked < 0;
    return part('Skip', input, {
      from: Math.max(0, asked),
      to: isEmpty ? 0 : Number.MAX_SAFE_INTEGER,
      cardinality() {
        const n = input.cardinality;
        if (isEmpty) return 0;
        return n === infinite || n === unknown ? n : Math.max(0, n - asked);
      },
      shuffleObstacle: () =>
        isEmpty ? `\`skip(${asked})\` does not support random access of tf.data datasets.` : undefined,
    });
  },
});

/** Every so-manieth element. */
class ShardIterator extends Following {
  private position = 0;
  constructor(
    input: ElementIterator,
    private readonly count: number,
    private readonly index: number,
    private readonly mustHaveAll: boolean,
  ) {
    super(input);
  }

  next(): Pulled {
    for (;;) {
      const pulled = this.input.next();
      if (pulled instanceof Promise) return pulled.then((element) => (this.isOurs(element) ? element : this.next()));
      if (this.isOurs(pulled)) return pulled;
    }
  }

  private isOurs(element: Element | undefined): boolean {
    if (!element) {
      if (this.mustHaveAll && this.position < this.count)
        throw new InvalidArgumentError(
          `Could not apply FILE based sharding: the dataset only has ${this.position} file(s), which is not enough for the required ${this.count} shards/workers. If you are using datasets with distribution strategy, consider setting the auto sharding policy to either DATA or OFF using the \`experimental_distribute.auto_shard_policy\` option of \`tf.data.Options()\`. Or, split your input files into a larger number of small files such that number of files is greater than number of shards/workers.`,
        );
      return true;
    }
    return this.position++ % this.count === this.index;
  }

  protected override state(): Saved {
    return this.position;
  }
  protected override setState(saved: Saved): void {
    this.position = savedNumber(saved);
  }
}

export const ShardDataset = datasetOp({
  name: 'ShardDataset',
  inputs: { input_dataset: 'variant', num_shards: 'int64', index: 'int64' },
  attrs: { require_non_empty: flag(false), ...elementAttrs, metadata },
  batches: 'ofInput',
  make(arrays, { require_non_empty }) {
    const input = datasetIn(arrays.input_dataset);
    const count = scalarOf(arrays.num_shards, 'num_shards');
    const index = scalarOf(arrays.index, 'index');
    if (count <= 0)
      throw new InvalidArgumentError(`Number of shards must be greater than zero (currently num_shards = ${count}).`);
    if (index < 0 || index >= count)
      throw new InvalidArgumentError(`Index must be between 0 and ${count - 1} (currently index = ${index}).`);
    const cardinality = () => {
      const n = input.cardinality;
      if (n === infinite || n === unknown) return n;
      return Math.floor(n / count) + (index < n % count ? 1 : 0);
    };
    const iterate = (scope: Iteration) => new ShardIterator(input.iterate(scope), count, index, require_non_empty);
    return someOf('Shard', input, cardinality, iterate);
  },
});

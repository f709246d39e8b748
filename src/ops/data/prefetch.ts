/** @file PrefetchDataset: makes elements while the consumer is busy with earlier ones. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { attr } from '../../op/attrs.ts';
import {
  datasetIn,
  type Element,
  type ElementIterator,
  Failed,
  type Iteration,
  type Pulled,
  someOf,
} from './dataset.ts';
import { datasetOp, elementAttrs, flag, metadata, scalarOf } from './kit.ts';
import { type Saved, savedAll, savedElements, savedRecord, succeeded } from './saved.ts';

/** So many elements are made ahead where it is left to the runtime. */
const automaticElements = 8;

/** Fills a buffer in the turns of the event loop that the consumer leaves free. */
export class PrefetchIterator implements ElementIterator {
  private readonly buffer: (Element | Failed)[] = [];
  private hasEnded = false;
  private isScheduled = false;
  private pulling: Promise<void> | undefined;
  /** The input stands still then, or what it gives meanwhile would be in nobody's state. */
  private isSaving = false;

  constructor(
    private readonly input: ElementIterator,
    private readonly scope: Iteration,
    private readonly room: number,
  ) {}

  next(): Pulled {
    const first = this.buffer.shift();
    if (first === undefined) return this.wait();
    this.schedule();
    if (first instanceof Failed) throw first.error;
    return first;
  }

  /** The buffer is empty: takes the element that is on its way, or asks for one at once. */
  private wait(): Pulled {
    if (this.pulling) return this.pulling.then(() => this.next());
    if (this.hasEnded) return undefined;
    this.pull();
    if (this.pulling || this.buffer.length > 0) return this.next();
    return undefined;
  }

  private get wantsMore(): boolean {
    return !this.hasEnded && this.buffer.length < this.room && !this.isSaving && !this.scope.isOver;
  }

  private schedule(): void {
    if (this.isScheduled || this.pulling || !this.wantsMore) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      if (!this.pulling && this.wantsMore) this.pull();
    });
  }

  /** Asks for one element; when it has come, for the next. */
  private pull(): void {
    let pulled: Pulled;
    try {
      pulled = this.input.next();
    } catch (error) {
      this.buffer.push(new Failed(error));
      return;
    }
    if (!(pulled instanceof Promise)) {
      this.keep(pulled);
      this.schedule();
      return;
    }
    this.pulling = pulled
      .then(
        (element) => this.keep(element),
        (error: unknown) => void this.buffer.push(new Failed(error)),
      )
      .then(() => {
        this.pulling = undefined;
        if (this.wantsMore) this.pull();
      });
  }

  private keep(element: Element | undefined): void {
    if (element) this.buffer.push(element);
    else this.hasEnded = true;
  }

  async save(): Promise<Saved> {
    this.isSaving = true;
    try {
      while (this.pulling) await this.pulling;
      return await savedAll({
        input: this.input.save(),
        elements: succeeded(this.buffer),
        hasEnded: this.hasEnded,
      });
    } finally {
      this.isSaving = false;
      this.schedule();
    }
  }

  async restore(saved: Saved): Promise<void> {
    const { input, elements, hasEnded } = savedRecord(saved);
    this.buffer.splice(0, this.buffer.length, ...savedElements(elements));
    this.hasEnded = hasEnded === true;
    await this.input.restore(input!);
  }
}

export const PrefetchDataset = datasetOp({
  name: 'PrefetchDataset',
  inputs: { input_dataset: 'variant', buffer_size: 'int64' },
  attrs: {
    ...elementAttrs,
    slack_period: attr('int', { default: 0 }),
    legacy_autotune: flag(true),
    buffer_size_min: attr('int', { default: 0 }),
    metadata,
  },
  batches: 'ofInput',
  make({ input_dataset, buffer_size }) {
    const input = datasetIn(input_dataset);
    const asked = scalarOf(buffer_size, 'buffer_size');
    if (asked < -1)
      throw new InvalidArgumentError('buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning');
    const room = asked === -1 ? automaticElements : asked;
    const iterate = (scope: Iteration) =>
      room === 0 ? input.iterate(scope) : new PrefetchIterator(input.iterate(scope), scope, room);
    return someOf('Prefetch', input, () => input.cardinality, iterate);
  },
});

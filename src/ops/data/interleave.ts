/** @file Iterators over datasets that a function makes: each gives elements in its turn, or whenever it has one. */
import { datasetIn, type Element, type ElementIterator, Failed, type Iteration, type Pulled } from './dataset.ts';
import type { GraphFunction } from './kit.ts';
import { PrefetchIterator } from './prefetch.ts';
import { type Saved, savedAll, savedElements, savedNumber, savedRecord, succeeded } from './saved.ts';

export interface Turns {
  /** How many datasets take turns. */
  readonly cycle: number;
  /** How many elements a dataset gives when it is its turn. */
  readonly block: number;
  /** How many elements of each dataset are made ahead. */
  readonly ahead: number;
}

/** A dataset under way, and the element that it was made of. */
interface Open {
  readonly element: Element;
  readonly iterator: ElementIterator;
}

/** Several datasets under way at once, each in its place of the cycle. */
abstract class CycleIterator implements ElementIterator {
  protected readonly open: (Open | undefined)[];
  protected hasEnded = false;

  constructor(
    protected readonly input: ElementIterator,
    protected readonly scope: Iteration,
    private readonly call: GraphFunction,
    protected readonly turns: Turns,
  ) {
    this.open = new Array<Open | undefined>(turns.cycle).fill(undefined);
  }

  abstract next(): Pulled;
  /** What is to be saved besides the datasets under way. */
  protected abstract state(): Saved;
  protected abstract setState(saved: Saved): void;
  /** The elements of a dataset, possibly made ahead. */
  protected abstract elementsOf(iterator: ElementIterator): ElementIterator;

  /** Begins the dataset of the next element of the input, if there is one. */
  protected async begin(place: number): Promise<void> {
    const element = await this.input.next();
    if (element) this.open[place] = await this.start(element);
    else this.hasEnded = true;
  }

  private async start(element: Element): Promise<Open> {
    const [made] = await this.call(element);
    return { element, iterator: this.elementsOf(datasetIn(made!).iterate(this.scope)) };
  }

  async save(): Promise<Saved> {
    const open: Saved[] = [];
    for (const o of this.open) open.push(o ? { element: o.element, state: await o.iterator.save() } : null);
    return await savedAll({ input: this.input.save(), open, hasEnded: this.hasEnded, state: this.state() });
  }

  async restore(saved: Saved): Promise<void> {
    const { input, open, hasEnded, state } = savedRecord(saved);
    this.hasEnded = hasEnded === true;
    this.setState(state!);
    for (const [i, place] of (open as readonly Saved[]).entries()) {
      // as `save` writes it
      if (place === null) continue;
      const { element, state: inner } = savedRecord(place);
      const started = await this.start(savedElements([element!])[0]!);
      await started.iterator.restore(inner!);
      this.open[i] = started;
    }
    await this.input.restore(input!);
  }
}

/** Elements of several datasets in turns; with a cycle of one, one dataset after the other. */
export class InterleaveIterator extends CycleIterator {
  private at = 0;
  /** How many elements the present turn has given. */
  private given = 0;

  next(): Pulled {
    // Most elements come from a dataset that is open and gives them at once.
    const current = this.open[this.at];
    if (!current) return this.search();
    const pulled = current.iterator.next();
    if (pulled instanceof Promise) return pulled.then((element) => this.taken(element));
    return this.taken(pulled);
  }

  private taken(element: Element | undefined): Promise<Element | undefined> | Element {
    if (element) {
      if (++this.given === this.turns.block) this.advance();
      return element;
    }
    this.open[this.at] = undefined;
    this.advance();
    return this.search();
  }

  private async search(): Promise<Element | undefined> {
    while (!this.hasEnded || this.open.some((o) => o)) {
      this.scope.check();
      const current = this.open[this.at];
      if (current) {
        const element = await current.iterator.next();
        if (element) return this.taken(element);
        this.open[this.at] = undefined;
        this.advance();
      } else if (!this.hasEnded) await this.begin(this.at);
      else this.advance();
    }
    return undefined;
  }

  private advance(): void {
    this.given = 0;
    this.at = (this.at + 1) % this.turns.cycle;
  }

  protected elementsOf(iterator: ElementIterator): ElementIterator {
    return this.turns.ahead > 0 ? new PrefetchIterator(iterator, this.scope, this.turns.ahead) : iterator;
  }

  protected state(): Saved {
    return { at: this.at, given: this.given };
  }
  protected setState(saved: Saved): void {
    const { at, given } = savedRecord(saved);
    this.at = savedNumber(at);
    this.given = savedNumber(given);
  }
}

/** Elements of several datasets in the order in which they are there. */
export class RacingIterator extends CycleIterator {
  private readonly ready: (Element | Failed)[] = [];
  /** The places at which an element is being made. */
  private readonly busy = new Map<number, Promise<void>>();
  /** One place at a time asks the input. */
  private asking: Promise<void> = Promise.resolve();
  private isPaused = false;

  async next(): Promise<Element | undefined> {
    for (;;) {
      this.scope.check();
      const first = this.ready.shift();
      this.stir();
      if (first instanceof Failed) throw first.error;
      if (first || this.busy.size === 0) return first;
      await Promise.race(this.busy.values());
    }
  }

  /** Sets idle places to work, as long as there is room for what they make. */
  private stir(): void {
    for (const place of this.open.keys()) {
      const hasRoom = this.ready.length + this.busy.size < this.turns.cycle * this.turns.ahead;
      const hasWork = this.open[place] !== undefined || !this.hasEnded;
      if (this.busy.has(place) || !hasRoom || !hasWork || this.isPaused || this.scope.isOver) continue;
      const work = this.work(place)
        .catch((error: unknown) => void this.ready.push(new Failed(error)))
        .then(() => {
          this.busy.delete(place);
          this.stir();
        });
      this.busy.set(place, work);
    }
  }

  /** Takes an element of the dataset at a place, which is begun if there is none. */
  private async work(place: number): Promise<void> {
    if (!this.open[place]) {
      const asked = this.asking.then(() => (this.hasEnded ? undefined : this.begin(place)));
      this.asking = asked.catch(() => {});
      await asked;
    }
    const element = await this.open[place]?.iterator.next();
    if (element) this.ready.push(element);
    else this.open[place] = undefined;
  }

  protected elementsOf(iterator: ElementIterator): ElementIterator {
    return iterator;
  }

  override async save(): Promise<Saved> {
    this.isPaused = true;
    try {
      await Promise.all(this.busy.values());
      return await super.save();
    } finally {
      this.isPaused = false;
    }
  }

  protected state(): Saved {
    return succeeded(this.ready);
  }
  protected setState(saved: Saved): void {
    this.ready.splice(0, this.ready.length, ...savedElements(saved));
  }
}

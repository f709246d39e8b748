/** @file InOrder: applies a function to several elements at once and gives the results in the order of the elements. */
import {
  type Element,
  type ElementIterator,
  Failed,
  type Iteration,
  type Pulled,
  type Saved,
  type Soon,
  savedAll,
  savedElements,
  savedRecord,
} from './dataset.ts';
import type { ElementFunction } from './kit.ts';

/** A result that is there, is awaited, or is a failure that waits for its turn; undefined at the end. */
type Outcome = Element | undefined | Failed;

/**
 * Calls begin as soon as there is room, not when their results are asked for: so they run while the consumer computes.
 * As many calls and results as `room` says are held.
 */
export class InOrder implements ElementIterator {
  private readonly results: Soon<Outcome>[] = [];
  private pulling: Promise<void> | undefined;
  private hasEnded = false;

  constructor(
    private readonly input: ElementIterator,
    private readonly scope: Iteration,
    private readonly room: number,
    private readonly call: ElementFunction,
  ) {}

  next(): Pulled {
    this.fill();
    const result = this.results.shift();
    if (result === undefined) {
      // Nothing yet: either an element is on its way, or there is none left.
      return this.pulling ? this.pulling.then(() => this.next()) : undefined;
    }
    this.fill();
    return result instanceof Promise ? result.then(given) : given(result);
  }

  /** Begins as many calls as there is room for. */
  private fill(): void {
    while (!this.pulling && !this.hasEnded && this.results.length < this.room && !this.scope.isOver) {
      let pulled: Pulled;
      try {
        pulled = this.input.next();
      } catch (error) {
        this.results.push(new Failed(error));
        return;
      }
      if (pulled instanceof Promise) {
        this.pulling = pulled
          .then(
            (element) => this.begin(element),
            (error) => void this.results.push(new Failed(error)),
          )
          .then(() => {
            this.pulling = undefined;
            this.fill();
          });
        return;
      }
      this.begin(pulled);
    }
  }

  private begin(element: Element | undefined): void {
    if (!element) this.hasEnded = true;
    else this.results.push(this.call(element).catch((error: unknown) => new Failed(error)));
  }

  async save(): Promise<Saved> {
    await this.pulling;
    const results: Element[] = [];
    for (const result of this.results) {
      const outcome = await result;
      if (outcome instanceof Failed) throw outcome.error;
      if (outcome) results.push(outcome);
    }
    return await savedAll({ input: this.input.save(), results, hasEnded: this.hasEnded });
  }

  async restore(saved: Saved): Promise<void> {
    const { input, results, hasEnded } = savedRecord(saved);
    this.results.splice(0, this.results.length, ...savedElements(results));
    this.hasEnded = hasEnded === true;
    await this.input.restore(input!);
  }
}

function given(outcome: Outcome): Element | undefined {
  if (outcome instanceof Failed) throw outcome.error;
  return outcome;
}

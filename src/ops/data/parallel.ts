/** @file ParallelCalls: applies a function to several elements at once. */
import { type Element, type ElementIterator, Failed, type Iteration, type Pulled, type Soon, soon } from './dataset.ts';
import type { ElementFunction } from './kit.ts';
import { type Saved, savedAll, savedElements, savedRecord, succeeded } from './saved.ts';

/** A result that is there, is awaited, or is a failure that waits for its turn; undefined at the end. */
type Outcome = Element | undefined | Failed;

export interface Calls {
  /** How many calls and results are held at the same time. */
  readonly room: number;
  /** Whether results come in the order of the elements; otherwise the first that is there comes first. */
  readonly keepsOrder: boolean;
}

/** Calls begin as soon as there is room, not when their results are asked for: so they run while the consumer computes. */
export class ParallelCalls implements ElementIterator {
  private readonly results: { outcome: Soon<Outcome> }[] = [];
  private pulling: Promise<void> | undefined;
  private hasEnded = false;

  constructor(
    private readonly input: ElementIterator,
    private readonly scope: Iteration,
    private readonly calls: Calls,
    private readonly call: ElementFunction,
  ) {}

  next(): Pulled {
    this.fill();
    const at = this.calls.keepsOrder ? 0 : this.results.findIndex(({ outcome }) => !(outcome instanceof Promise));
    const [result] = at < 0 ? [] : this.results.splice(at, 1);
    if (result) {
      this.fill();
      return soon(result.outcome, given);
    }
    // Nothing yet: either results or elements are on their way, or there is none left.
    const awaited = this.results.map<Soon<unknown>>(({ outcome }) => outcome);
    if (this.pulling) awaited.push(this.pulling);
    return awaited.length === 0 ? undefined : Promise.race(awaited).then(() => this.next());
  }

  /** Begins as many calls as there is room for. */
  private fill(): void {
    while (!this.pulling && !this.hasEnded && this.results.length < this.calls.room && !this.scope.isOver) {
      let pulled: Pulled;
      try {
        pulled = this.input.next();
      } catch (error) {
        this.results.push({ outcome: new Failed(error) });
        return;
      }
      if (pulled instanceof Promise) {
        this.pulling = pulled
          .then(
            (element) => this.begin(element),
            (error) => void this.results.push({ outcome: new Failed(error) }),
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
    if (!element) {
      this.hasEnded = true;
      return;
    }
    const outcome = this.call(element).catch((error: unknown) => new Failed(error));
    const result: { outcome: Soon<Outcome> } = { outcome };
    this.results.push(result);
    void outcome.then((value) => (result.outcome = value));
  }

  async save(): Promise<Saved> {
    // One pull may be followed by others, until there is no more room.
    while (this.pulling) await this.pulling;
    const outcomes = await Promise.all(this.results.map(({ outcome }) => outcome));
    const results = succeeded(outcomes.filter((outcome) => outcome !== undefined));
    return await savedAll({ input: this.input.save(), results, hasEnded: this.hasEnded });
  }

  async restore(saved: Saved): Promise<void> {
    const { input, results, hasEnded } = savedRecord(saved);
    const kept = savedElements(results).map((outcome) => ({ outcome }));
    this.results.splice(0, this.results.length, ...kept);
    this.hasEnded = hasEnded === true;
    await this.input.restore(input!);
  }
}

function given(outcome: Outcome): Element | undefined {
  if (outcome instanceof Failed) throw outcome.error;
  return outcome;
}

/** @file IteratorResource: an iterator that outlives runs, and what is asked of it. */
import type { DType } from '../../core/dtypes.ts';
import { CancelledError, FailedPreconditionError, InvalidArgumentError, type OpError } from '../../core/errors.ts';
import { compatible, type Dims, showRuntime } from '../../core/shape.ts';
import { type Dataset, type Element, type ElementIterator, Iteration, type Pulled } from './dataset.ts';
import type { Saved } from './saved.ts';

/** A position in a dataset that is kept between runs. */
export class IteratorResource {
  private current:
    | { readonly dataset: Dataset; readonly iterator: ElementIterator; readonly scope: Iteration }
    | undefined;
  /** The pull under way: others wait for it. */
  private pending: Promise<unknown> | undefined;
  private starting: Promise<void> | undefined;

  constructor(
    readonly types: readonly DType[],
    readonly shapes: readonly Dims[],
    /** Makes the dataset when the first element is asked for, for an iterator that needs no initializer. */
    private readonly factory?: () => Promise<Dataset>,
  ) {}

  /** Begins a dataset from its first element. */
  async initialize(dataset: Dataset): Promise<void> {
    checkCompatible(this, dataset);
    this[Symbol.dispose]();
    const scope = new Iteration();
    this.current = { dataset, iterator: dataset.iterate(scope), scope };
    this.pending = undefined;
  }

  /** The next element; several who ask at once get elements in turn. */
  next(): Pulled {
    if (this.pending) return this.after(this.pending);
    if (!this.current) return this.factory ? this.after(Promise.resolve()) : notInitialized();
    this.current.scope.resume();
    const pulled = this.current.iterator.next();
    if (!(pulled instanceof Promise)) return this.given(pulled);
    const pull = pulled.then((element) => this.given(element));
    this.waitFor(pull);
    return pull;
  }

  /** The caller may change what it gets, so memory that the dataset keeps is copied. */
  private given(element: Element | undefined): Element | undefined {
    return element && this.current?.dataset.sharesMemory ? element.map((array) => array.copy()) : element;
  }

  private after(before: Promise<unknown>): Promise<Element | undefined> {
    const pull = before.then(
      () => this.pullNow(),
      () => this.pullNow(),
    );
    this.waitFor(pull);
    return pull;
  }

  private async pullNow(): Promise<Element | undefined> {
    if (!this.current && this.factory) await this.start();
    if (!this.current) return notInitialized();
    this.current.scope.resume();
    return this.given(await this.current.iterator.next());
  }

  private waitFor(pull: Promise<unknown>): void {
    this.pending = pull;
    const done = () => {
      if (this.pending === pull) this.pending = undefined;
    };
    pull.then(done, done);
  }

  private start(): Promise<void> {
    this.starting ??= this.factory!().then((dataset) => this.initialize(dataset));
    return this.starting;
  }

  /** Gives up the element that is being made, for nobody waits for it any longer. */
  interrupt(reason: OpError): void {
    this.current?.scope.interrupt(reason);
  }

  /** Ops in functions of its dataset that have state which is not saved. */
  get statefulOps(): readonly string[] {
    return this.current?.dataset.statefulOps ?? [];
  }

  /** The position, to go on from later. */
  async save(): Promise<Saved> {
    if (!this.current && this.factory) await this.start();
    if (!this.current) throw new FailedPreconditionError(uninitialized('Save'));
    await this.pending?.catch(() => {});
    return await this.current.iterator.save();
  }

  async restore(saved: Saved): Promise<void> {
    if (!this.current && this.factory) await this.start();
    if (!this.current) throw new FailedPreconditionError(uninitialized('Restore'));
    const { dataset } = this.current;
    await this.initialize(dataset);
    await this.current.iterator.restore(saved);
  }

  /** Ends all work for it; the promise is for those who want to wait until everything is free. */
  async close(): Promise<void> {
    await this.current?.scope.stop(new CancelledError('The iterator was deleted or initialized again.'));
  }
  [Symbol.dispose](): void {
    void this.close();
  }
}

const uninitialized = (what: string) =>
  `${what}() failed because the iterator has not been initialized. Ensure that you have run the initializer operation for this iterator before ${what === 'GetNext' ? 'getting the next element' : what === 'Save' ? 'saving it' : 'restoring it'}.`;

function notInitialized(): never {
  throw new FailedPreconditionError(uninitialized('GetNext'));
}

/** Refuses a dataset whose elements are not what the iterator was made for. */
export function checkCompatible(
  expected: { readonly types: readonly DType[]; readonly shapes: readonly Dims[] },
  given: { readonly types: readonly DType[]; readonly shapes: readonly Dims[] },
): void {
  if (expected.types.length !== given.types.length)
    throw new InvalidArgumentError(
      `Number of components does not match: expected ${expected.types.length} types but got ${given.types.length}.`,
    );
  for (const [i, dtype] of expected.types.entries())
    if (given.types[i] !== dtype)
      throw new InvalidArgumentError(
        `Data type mismatch at component ${i}: expected ${dtype.runtimeName} but got ${given.types[i]!.runtimeName}.`,
      );
  for (const [i, dims] of expected.shapes.entries())
    if (!compatible(dims, given.shapes[i] ?? null))
      throw new InvalidArgumentError(
        `Incompatible shapes at component ${i}: expected ${showRuntime(dims)} but got ${showRuntime(given.shapes[i]!)}.`,
      );
}

/** @file IteratorResource: an iterator that outlives runs, and what is asked of it. */
import type { DType } from '../../core/dtypes.ts';
import { CancelledError, FailedPreconditionError, InvalidArgumentError, type OpError } from '../../core/errors.ts';
import { compatible, type Dims, showRuntime } from '../../core/shape.ts';
import type { RunScope } from '../../program/instructions.ts';
import {
  type Dataset,
  type Element,
  type ElementIterator,
  Iteration,
  type Pulled,
  type Soon,
  soon,
} from './dataset.ts';
import type { Saved } from './saved.ts';

/** Whoever wants an element may stop waiting for it. */
type Waiter = RunScope['stop'];

/** One way through a dataset. Iterators are asked for one element at a time, so whoever comes meanwhile stands in a line. */
class Passage {
  private readonly scope = new Iteration();
  private readonly iterator: ElementIterator;
  /** The last in the line; undefined when nobody is in it. */
  private last: Promise<unknown> | undefined;
  /** What came in its place when the iterator was initialized again; those who still wait are served there. */
  replacement: Passage | undefined;

  constructor(readonly dataset: Dataset) {
    this.iterator = dataset.iterate(this.scope);
  }

  next(waiter: Waiter | undefined): Pulled {
    return this.inTurn(() => {
      waiter?.throwIfStopped();
      if (this.replacement) return this.replacement.next(waiter);
      this.scope.resume();
      const pulled = this.iterator.next();
      if (!(pulled instanceof Promise)) return this.given(pulled);
      // Gives up the element that is being made, for nobody waits for it any longer.
      const forget = waiter?.whenStopped((reason) => this.scope.interrupt(reason));
      return pulled.then((element) => this.given(element)).finally(forget);
    });
  }

  /** The caller may change what it gets, so memory that the dataset keeps is copied. */
  private given(element: Element | undefined): Element | undefined {
    return element && this.dataset.sharesMemory ? element.map((array) => array.copy()) : element;
  }

  save(): Soon<Saved> {
    return this.inTurn(() => this.iterator.save());
  }
  restore(saved: Saved): Soon<void> {
    return this.inTurn(() => this.iterator.restore(saved));
  }

  /** Does something when those who came before are done, whether they succeeded or not. */
  private inTurn<T>(work: () => Soon<T>): Soon<T> {
    const done = this.last ? this.last.then(work, work) : work();
    if (!(done instanceof Promise)) return done;
    this.last = done;
    const leave = () => {
      if (this.last === done) this.last = undefined;
    };
    done.then(leave, leave);
    return done;
  }

  /** Ends all work for it. */
  async stop(reason: OpError): Promise<void> {
    await this.scope.stop(reason);
  }
}

/** A position in a dataset that is kept between runs. */
export class IteratorResource {
  private current: Passage | undefined;
  private starting: Promise<Passage> | undefined;

  constructor(
    readonly types: readonly DType[],
    readonly shapes: readonly Dims[],
    /** Makes the dataset when the first element is asked for, for an iterator that needs no initializer. */
    private readonly factory?: () => Promise<Dataset>,
  ) {}

  /** Begins a dataset from its first element. */
  initialize(dataset: Dataset): Passage {
    checkCompatible(this, dataset);
    this[Symbol.dispose]();
    const before = this.current;
    const passage = new Passage(dataset);
    this.current = passage;
    if (before) before.replacement = passage;
    return passage;
  }

  /** The next element, for someone who may stop waiting for it; several who ask at once get elements in turn. */
  next(waiter?: Waiter): Pulled {
    return soon(this.passage('GetNext'), (passage) => passage.next(waiter));
  }

  /** What it goes through, begun if that needs no initializer. */
  private passage(what: string): Soon<Passage> {
    if (this.current) return this.current;
    this.starting ??= this.factory?.().then((dataset) => this.initialize(dataset));
    return this.starting ?? notInitialized(what);
  }

  /** Ops in functions of its dataset that have state which is not saved. */
  get statefulOps(): readonly string[] {
    return this.current?.dataset.statefulOps ?? [];
  }

  /** The position, to go on from later. */
  async save(): Promise<Saved> {
    return await soon(this.passage('Save'), (passage) => passage.save());
  }

  async restore(saved: Saved): Promise<void> {
    await soon(this.passage('Restore'), ({ dataset }) => this.initialize(dataset).restore(saved));
  }

  /** Ends all work for it; the promise is for those who want to wait until everything is free. */
  async close(): Promise<void> {
    await this.current?.stop(new CancelledError('The iterator was deleted or initialized again.'));
  }
  [Symbol.dispose](): void {
    void this.close();
  }
}

const uninitialized = (what: string) =>
  `${what}() failed because the iterator has not been initialized. Ensure that you have run the initializer operation for this iterator before ${what === 'GetNext' ? 'getting the next element' : what === 'Save' ? 'saving it' : 'restoring it'}.`;

function notInitialized(what: string): never {
  throw new FailedPreconditionError(uninitialized(what));
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

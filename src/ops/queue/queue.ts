/** @file Queue: elements that runs put in and take out, waiting for each other where they must. */
import type { DType } from '../../core/dtypes.ts';
import { CancelledError, InvalidArgumentError, OutOfRangeError } from '../../core/errors.ts';
import { eachInTurns, yieldIfLong } from '../../core/eventLoop.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { rowJoiner, rowsOf } from '../../core/rows.ts';
import { compatible, type Dims, isFullyDefined, type Shape, showRuntime } from '../../core/shape.ts';
import type { RunScope } from '../../program/instructions.ts';
import { Attempt, WaitingLine } from './waiting.ts';

/** An array per component: of one element, or of many with a row for each. */
export type Tuple = readonly NDArray[];

/** One element. A small one stays in the arrays that it came in until somebody wants it: copies of many small rows take long. */
export interface Element {
  readonly arrays: Tuple;
  /** Which row of the arrays; undefined where they are one element. */
  readonly row: number | undefined;
}

/** The shape of a component of an element. */
export function componentShape({ arrays, row }: Element, component: number): Shape {
  const { shape } = arrays[component]!;
  return row === undefined ? shape : shape.slice(1);
}

/** What a node asks of the queue it names. */
export interface QueueSpec {
  readonly name: string;
  /** -1 for as many elements as there is memory for. */
  readonly capacity: number;
  readonly types: readonly DType[];
  /** Empty where elements may have any shape. */
  readonly shapes: readonly Dims[];
}

/** The components of larger elements have memory of their own: one that stays would keep that of all that came with it. */
const smallBytes = 256;

/** The arrays of one element. */
const tupleOf = (element: Element): Tuple =>
  element.row === undefined
    ? element.arrays
    : element.arrays.map((array, i) => rowsOf(array, element.row!, componentShape(element, i))); // there is a row

const enqueueCancelled = 'Enqueue operation was cancelled';
const dequeueCancelled = 'Dequeue operation was cancelled';

const typeList = (types: readonly DType[]) => types.map((t) => t.runtimeName).join(', ');
const shapeList = (shapes: readonly Dims[]) => `[${shapes.map(showRuntime).join(', ')}]`;

export abstract class Queue {
  /** The class as messages name it. */
  protected abstract readonly kind: string;
  private readonly enqueues = new WaitingLine();
  private readonly dequeues = new WaitingLine();
  private closed = false;
  private readonly limit: number;
  /** There while somebody is in the middle of many elements: nobody else gets at them before the event loop has come round. */
  private pause: Promise<void> | undefined;
  private mayPause = true;

  constructor(protected readonly spec: QueueSpec) {
    const { shapes, types, capacity } = spec;
    if (shapes.length > 0 && shapes.length !== types.length)
      throw new InvalidArgumentError(
        `Different number of component types.  Types: ${typeList(types)}, Shapes: ${shapeList(shapes)}`,
      );
    this.limit = capacity < 0 ? Number.POSITIVE_INFINITY : capacity;
  }

  // What kinds of queues differ in.
  /** How many elements are in it. */
  abstract get size(): number;
  protected abstract add(element: Element): void;
  /** Takes out the element whose turn it is. */
  protected abstract take(): Element;
  /** Takes back elements that a batch took and did not need, in the order in which they were taken. */
  protected abstract putBack(elements: readonly Element[]): void;
  /** Whether a batch takes elements as soon as they come, or only when there are enough for it. */
  protected get takesAsTheyCome(): boolean {
    return true;
  }
  /** How many elements may be taken out now. */
  protected get available(): number {
    return this.size;
  }

  get isClosed(): boolean {
    return this.closed;
  }
  get types(): readonly DType[] {
    return this.spec.types;
  }

  /** The shape of a component of one element, as far as it is known. */
  shapeOf(component: number): Dims {
    return this.spec.shapes[component] ?? null;
  }

  private get title(): string {
    return `${this.kind} '${this.spec.name}'`;
  }

  /** Refuses a node that asks for another kind of queue under the same name. */
  matches(node: { readonly name: string; readonly kind: string }, wanted: QueueSpec): void {
    const { name, capacity, types, shapes } = this.spec;
    const shared = `Shared queue '${name}' has`;
    if (node.kind.replace(/V2$/, '') !== this.kind)
      throw new InvalidArgumentError(
        `${shared} type '${this.kind}' that does not match type of Node '${node.name}': ${node.kind}`,
      );
    if (wanted.capacity !== capacity)
      throw new InvalidArgumentError(`${shared} capacity ${capacity} but requested capacity was ${wanted.capacity}`);
    this.matchesMore(shared, wanted);
    if (typeList(wanted.types) !== typeList(types))
      throw new InvalidArgumentError(
        `${shared} component types ${typeList(types)} but requested component types were ${typeList(wanted.types)}`,
      );
    if (shapeList(wanted.shapes) !== shapeList(shapes))
      throw new InvalidArgumentError(
        `${shared} component shapes ${shapeList(shapes)} but requested component shapes were ${shapeList(wanted.shapes)}`,
      );
  }

  /** Compares what only some kinds of queues have. */
  protected matchesMore(_shared: string, _wanted: QueueSpec): void {}

  enqueue(tuple: Tuple, run: RunScope): void | Promise<void> {
    this.checkTuple(tuple);
    const attempt = new Attempt<void>((a) => {
      if (this.closed) return a.fail(this.closedError());
      if (this.size >= this.limit) return false;
      this.add({ arrays: tuple, row: undefined });
      return a.succeed();
    });
    return this.enqueues.join(attempt, run, this.flush, enqueueCancelled);
  }

  /** Each row of the components is one element. */
  enqueueMany(batch: Tuple, run: RunScope): void | Promise<void> {
    const count = this.checkBatch(batch);
    if (count === 0) return;
    const staysInBatch = batch.every(({ size, dtype }) => size * dtype.size <= smallBytes * count);
    let next = 0;
    const step = (a: Attempt<void>) => {
      if (this.closed) return a.fail(this.closedError());
      const before = next;
      while (next < count && this.size < this.limit) {
        const element = { arrays: batch, row: next++ };
        this.add(staysInBatch ? element : { arrays: tupleOf(element), row: undefined });
        if (next < count && this.pausesAfter(next)) return true;
      }
      if (next === count) return a.succeed();
      return next > before;
    };
    // Elements for which there is room come together, whoever closes or cancels meanwhile.
    const attempt = new Attempt<void>(step, { beforeCancelling: this.endPause });
    return this.enqueues.join(attempt, run, this.flush, enqueueCancelled);
  }

  dequeue(run: RunScope): Tuple | Promise<Tuple> {
    const attempt = new Attempt<Tuple>((a) => {
      if (this.closed && this.size === 0) return a.fail(this.exhausted(1));
      return this.available > 0 && a.succeed(tupleOf(this.take()));
    });
    return this.dequeues.join(attempt, run, this.flush, dequeueCancelled);
  }

  /**
   * So many elements, joined component by component. They are taken as they come, so that a batch may be larger than the
   * queue. `allowsFewer` gives what is left once the queue is closed.
   */
  async dequeueMany(count: number, allowsFewer: boolean, run: RunScope): Promise<Tuple> {
    this.checkShapesForBatches();
    if (count === 0) return await this.batch([]);
    let wanted = count;
    const taken: Element[] = [];
    const giveBack = () => this.putBack(taken.splice(0));
    const step = (a: Attempt<readonly Element[]>) => {
      let missing = wanted - taken.length;
      let hasMoved = false;
      if (this.closed && this.size < missing) {
        const { size } = this;
        giveBack();
        missing = this.size;
        if (!allowsFewer || missing === 0) {
          // Enqueues that came before the end may still have something.
          if (allowsFewer && !this.enqueues.isEmpty) return true;
          return a.fail(this.exhausted(count - (this.size - size), size));
        }
        wanted = missing;
      }
      if (!this.takesAsTheyCome && this.available < missing) return hasMoved;
      while (missing > 0 && this.available > 0) {
        taken.push(this.take());
        missing--;
        hasMoved = true;
        if (missing > 0 && this.pausesAfter(taken.length)) return true;
      }
      return missing === 0 ? a.succeed(taken) : hasMoved;
    };
    const attempt = new Attempt(step, { giveBack });
    return await this.batch(await this.dequeues.join(attempt, run, this.flush, dequeueCancelled));
  }

  /** No more elements come. Waits for the enqueues before it, or cancels them. */
  close(cancelsEnqueues: boolean, run: RunScope): void | Promise<void> {
    if (cancelsEnqueues) {
      this.endPause();
      this.closed = true;
      this.enqueues.cancel(enqueueCancelled);
      this.flush();
      return;
    }
    const attempt = new Attempt<void>((a) => {
      if (this.closed) return a.fail(new CancelledError(`Queue '${this.spec.name}' is already closed.`));
      this.closed = true;
      return a.succeed();
    });
    return this.enqueues.join(attempt, run, this.flush, 'Close operation was cancelled');
  }

  /** Lets everyone go on who can; what one does may be what another waits for. */
  private readonly flush = (): void => {
    for (let hasMoved = true; hasMoved && !this.pause; ) {
      hasMoved = this.enqueues.advance();
      if (!this.pause) hasMoved = this.dequeues.advance() || hasMoved;
    }
  };

  /** Whether the event loop has waited long enough, after so many elements. Then everything stands still until it has come round. */
  private pausesAfter(count: number): boolean {
    const pause = this.mayPause && count % 512 === 0 ? yieldIfLong() : undefined;
    if (!pause) return false;
    this.pause = pause;
    void pause.then(() => {
      if (this.pause !== pause) return;
      this.pause = undefined;
      this.flush();
    });
    return true;
  }

  /** Ends what is under way without waiting for the event loop. */
  private readonly endPause = (): void => {
    if (!this.pause) return;
    this.pause = undefined;
    this.mayPause = false;
    this.flush();
    this.mayPause = true;
  };

  private closedError(): CancelledError {
    return new CancelledError(`${this.title} is closed.`);
  }

  private exhausted(requested: number, size = this.size): OutOfRangeError {
    return new OutOfRangeError(
      `${this.title} is closed and has insufficient elements (requested ${requested}, current size ${size})`,
    );
  }

  /** Rows of the elements, one array per component. */
  protected async batch(elements: readonly Element[]): Promise<Tuple> {
    const components: NDArray[] = [];
    for (const [i, dtype] of this.types.entries()) {
      const shape = this.shapeOf(i) as Shape; // checked by checkShapesForBatches
      const rows = rowJoiner(dtype, [elements.length, ...shape]);
      const add = (k: number) => rows.add(elements[k]!.arrays[i]!, elements[k]!.row ?? 0);
      await eachInTurns(elements.length, add, rows.atOnce);
      components.push(rows.result());
    }
    return components;
  }

  protected checkShapesForBatches(): void {
    const { shapes, types } = this.spec;
    if (shapes.length !== types.length || !shapes.every(isFullyDefined))
      throw new InvalidArgumentError(
        `${this.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes.`,
      );
  }

  protected checkTuple(tuple: Tuple): void {
    for (const [i, { shape }] of tuple.entries()) this.checkShape(i, this.shapeOf(i), shape);
  }

  private checkShape(component: number, wanted: Dims, shape: Shape): void {
    if (!compatible(wanted, shape))
      throw new InvalidArgumentError(
        `Shape mismatch in tuple component ${component}. Expected ${showRuntime(wanted)}, got ${showRuntime(shape)}`,
      );
  }

  /** How many elements are in a batch. */
  protected checkBatch(batch: Tuple): number {
    for (const [i, { rank }] of batch.entries())
      if (rank === 0)
        throw new InvalidArgumentError(`Tuple component ${i} is a scalar; each must have a row per element.`);
    const count = batch[0]!.shape[0]!;
    for (const [i, { shape }] of batch.entries()) {
      const wanted = this.shapeOf(i);
      if (wanted !== null) this.checkShape(i, [count, ...wanted], shape);
      else if (shape[0] !== count)
        throw new InvalidArgumentError(
          `All input tensors must have the same size in the 0th dimension. Component ${i} has ${shape[0]}, and should have ${count}`,
        );
    }
    return count;
  }
}

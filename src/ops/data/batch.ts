/** @file Datasets of batches: consecutive elements stacked, padded or not; and their opposite. */
import type { DType, TypedArray } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns, yieldIfLong } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { sameShape, showRuntime, sizeOf } from '../../core/shape.ts';

import {
  attempted,
  Dataset,
  datasetIn,
  type Element,
  type ElementIterator,
  type Failed,
  type Iteration,
  infinite,
  type Pulled,
  type Soon,
  unknown,
} from './dataset.ts';
import { datasetOp, deterministic, elementAttrs, flag, metadata, scalarOf } from './kit.ts';
import { Following, type Saved, succeeded } from './saved.ts';

/** Arrays become the rows of a new one, one below the other. */
class Rows {
  readonly array: NDArray;
  private readonly data: TypedArray | undefined;
  private readonly objects: object[] = [];
  private at = 0;

  constructor(dtype: DType, shape: readonly number[]) {
    const size = sizeOf(shape);
    if (dtype.isObject) this.objects = new Array<object>(size);
    else this.data = uncleared(dtype, size);
    this.array = new NDArray(dtype, shape, this.data ?? this.objects);
  }

  add(row: NDArray): void {
    const { data, objects } = this;
    if (!data) for (const object of row.objects) objects[this.at++] = object;
    else {
      const { data: own } = row;
      if (own.length === 1) data[this.at] = own[0]!;
      else data.set(own as never, this.at); // both are the dtype's kind of typed array
      this.at += own.length;
    }
  }
}

/** Arrays one below the other, in an array of this shape. */
export function rowsTogether(dtype: DType, shape: readonly number[], arrays: readonly NDArray[]): NDArray {
  const rows = new Rows(dtype, shape);
  for (const array of arrays) rows.add(array);
  return rows.array;
}

/** Adds component `c` of elements to an array, row by row; their shapes must be those of the first. */
function stacker(elements: readonly Element[], c: number): { readonly array: NDArray; add(i: number): void } {
  const { dtype, shape } = elements[0]![c]!;
  const rows = new Rows(dtype, [elements.length, ...shape]);
  const add = (i: number) => {
    const row = elements[i]![c]!;
    if (!sameShape(row.shape, shape))
      throw new InvalidArgumentError(
        `Cannot batch tensors with different shapes in component ${c}. First element had shape ${showRuntime(shape)} and element ${i} had shape ${showRuntime(row.shape)}.`,
      );
    rows.add(row);
  };
  return { array: rows.array, add };
}

/** Larger arrays that are filled anyway are not cleared first. */
const worthLeaving = 2 ** 12;

/** Memory for so many elements, all of which the caller writes. */
function uncleared(dtype: DType, count: number): TypedArray {
  const bytes = count * dtype.size;
  return bytes < worthLeaving ? dtype.allocate(count) : dtype.over(Buffer.allocUnsafeSlow(bytes).buffer, 0, count);
}

/** Consecutive elements as one. */
export function stackElements(elements: readonly Element[]): Element {
  return elements[0]!.map((_, c) => {
    const { array, add } = stacker(elements, c);
    for (let i = 0; i < elements.length; i++) add(i);
    return array;
  });
}

/** So many rows, or bytes of them, are copied in a tenth of a millisecond or so. */
const quick = { rows: 1024, bytes: 2 ** 18 };

/** The same, with pauses for the event loop where there is much of them. */
function stackSoon(elements: readonly Element[]): Soon<Element> {
  const bytes = Math.max(...elements[0]!.map(({ dtype, size }) => dtype.size * size));
  const rowsAtOnce = Math.max(1, Math.min(quick.rows, Math.floor(quick.bytes / bytes)));
  return elements.length <= 4 * rowsAtOnce ? stackElements(elements) : stackInTurns(elements, rowsAtOnce);
}

async function stackInTurns(elements: readonly Element[], rowsAtOnce: number): Promise<Element> {
  const stacked: NDArray[] = [];
  for (const c of elements[0]!.keys()) {
    const { array, add } = stacker(elements, c);
    await eachInTurns(elements.length, add, rowsAtOnce);
    stacked.push(array);
  }
  return stacked;
}

/** A pause for the event loop, if it is time for one after so many elements of a batch. */
const pauseAfter = (count: number) => (count % 256 === 255 ? yieldIfLong() : undefined);

/** Elements and rows of elements, which are scalars, as rows of one. */
function joinRows(parts: readonly Element[], count: number): Element {
  const [first] = parts;
  if (parts.length === 1 && first![0]!.rank === 1) return first!;
  return first!.map(({ dtype }, c) =>
    rowsTogether(
      dtype,
      [count],
      parts.map((part) => part[c]!),
    ),
  );
}

/** Gathers elements and makes one of each group. */
export class BatchIterator extends Following {
  private hasEnded = false;
  /** Whether elements that are rows already can be taken as they are. */
  private readonly takesRows: boolean;
  constructor(
    input: ElementIterator,
    private readonly size: number,
    private readonly dropsRemainder: boolean,
    private readonly join: (elements: readonly Element[]) => Soon<Element> = stackSoon,
  ) {
    super(input);
    this.takesRows = input.atHand !== undefined && join === stackSoon;
  }

  next(): Pulled {
    if (this.hasEnded) return undefined;
    return this.takesRows ? this.gatherRows([], 0) : this.gather([]);
  }

  /** A batch in which an element failed is lost as a whole: the others of it are taken all the same. */
  private gather(elements: (Element | Failed)[]): Pulled {
    while (elements.length < this.size) {
      const pause = pauseAfter(elements.length);
      if (pause) return pause.then(() => this.gather(elements));
      const pulled = attempted(this.input);
      if (pulled instanceof Promise) return pulled.then((element) => this.goOn(elements, element));
      if (!pulled) return this.end(elements);
      elements.push(pulled);
    }
    return this.join(succeeded(elements));
  }

  private goOn(elements: (Element | Failed)[], element: Element | Failed | undefined): Pulled {
    if (!element) return this.end(elements);
    elements.push(element);
    return this.gather(elements);
  }

  private end(elements: readonly (Element | Failed)[]): Pulled {
    this.hasEnded = true;
    const whole = succeeded(elements);
    return whole.length === 0 || this.dropsRemainder ? undefined : this.join(whole);
  }

  /** The same where some of the parts are rows together, `count` elements in all. */
  private gatherRows(parts: (Element | Failed)[], count: number): Pulled {
    while (count < this.size) {
      const rows = this.input.atHand!(this.size - count);
      if (rows) {
        parts.push(rows);
        count += rows[0]!.shape[0]!;
        continue;
      }
      const pause = pauseAfter(parts.length);
      if (pause) return pause.then(() => this.gatherRows(parts, count));
      const pulled = attempted(this.input);
      if (pulled instanceof Promise) return pulled.then((element) => this.goOnRows(parts, count, element));
      if (!pulled) return this.endRows(parts, count);
      parts.push(pulled);
      count++;
    }
    return joinRows(succeeded(parts), count);
  }

  private goOnRows(parts: (Element | Failed)[], count: number, element: Element | Failed | undefined): Pulled {
    if (!element) return this.endRows(parts, count);
    parts.push(element);
    return this.gatherRows(parts, count + 1);
  }

  private endRows(parts: readonly (Element | Failed)[], count: number): Element | undefined {
    this.hasEnded = true;
    const whole = succeeded(parts);
    return count === 0 || this.dropsRemainder ? undefined : joinRows(whole, count);
  }

  protected override state(): Saved {
    return this.hasEnded;
  }
  protected override setState(saved: Saved): void {
    this.hasEnded = saved === true;
  }
}

/** How many groups of `size` there are. */
function groupsOf(input: Dataset, size: number, dropsRemainder: boolean): number {
  const n = input.cardinality;
  if (n === infinite || n === unknown) return n;
  return dropsRemainder ? Math.floor(n / size) : Math.ceil(n / size);
}

/** A dataset of batches of elements of another. */
export function batched(
  input: Dataset,
  batch: { readonly size: number; readonly dropsRemainder: boolean; readonly kind?: string },
  { output_types, output_shapes }: { output_types: Dataset['types']; output_shapes: Dataset['shapes'] },
  join?: (elements: readonly Element[]) => Soon<Element>,
): Dataset {
  const { size, dropsRemainder, kind = 'Batch' } = batch;
  if (size <= 0) throw new InvalidArgumentError('Batch size must be greater than zero.');
  return new Dataset({
    kind,
    types: output_types,
    shapes: output_shapes,
    sharesMemory: false,
    cardinality: () => groupsOf(input, size, dropsRemainder),
    shuffleObstacle: () =>
      dropsRemainder ? undefined : `${kind}Dataset does not support global shuffling with \`drop_remainder=False\`.`,
    iterate: (scope: Iteration) => new BatchIterator(input.iterate(scope), size, dropsRemainder, join),
  });
}

export const BatchDataset = datasetOp({
  name: 'BatchDataset',
  inputs: { input_dataset: 'variant', batch_size: 'int64' },
  attrs: { ...elementAttrs, metadata },
  batches: 'own',
  make({ input_dataset, batch_size }, attrs) {
    const size = scalarOf(batch_size, 'batch_size');
    return batched(datasetIn(input_dataset), { size, dropsRemainder: false }, attrs);
  },
});

export const BatchDatasetV2 = datasetOp({
  name: 'BatchDatasetV2',
  inputs: { input_dataset: 'variant', batch_size: 'int64', drop_remainder: 'bool' },
  attrs: { parallel_copy: flag(false), ...elementAttrs, metadata },
  batches: 'own',
  make({ input_dataset, batch_size, drop_remainder }, attrs) {
    const size = scalarOf(batch_size, 'batch_size');
    const dropsRemainder = scalarOf(drop_remainder, 'drop_remainder') !== 0;
    return batched(datasetIn(input_dataset), { size, dropsRemainder }, attrs);
  },
});

export const ParallelBatchDataset = datasetOp({
  name: 'ParallelBatchDataset',
  inputs: { input_dataset: 'variant', batch_size: 'int64', num_parallel_calls: 'int64', drop_remainder: 'bool' },
  attrs: { parallel_copy: flag(false), ...elementAttrs, deterministic, metadata },
  batches: 'own',
  make({ input_dataset, batch_size, drop_remainder }, attrs) {
    const size = scalarOf(batch_size, 'batch_size');
    const dropsRemainder = scalarOf(drop_remainder, 'drop_remainder') !== 0;
    return batched(datasetIn(input_dataset), { size, dropsRemainder, kind: 'ParallelBatch' }, attrs);
  },
});

/** @file Datasets of batches: consecutive elements stacked, padded or not; and their opposite. */
import type { DType, TypedArray } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
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
  unknown,
} from './dataset.ts';
import { datasetOp, deterministic, elementAttrs, flag, metadata, scalarOf } from './kit.ts';
import { Following, type Saved, succeeded } from './saved.ts';

/** Arrays of one shape as the rows of a new one. */
function stacked(arrays: readonly NDArray[], component: number): NDArray {
  const { dtype, shape } = arrays[0]!;
  for (const [i, array] of arrays.entries())
    if (!sameShape(array.shape, shape))
      throw new InvalidArgumentError(
        `Cannot batch tensors with different shapes in component ${component}. First element had shape ${showRuntime(shape)} and element ${i} had shape ${showRuntime(array.shape)}.`,
      );
  return rowsTogether(dtype, [arrays.length, ...shape], arrays);
}

/** Arrays one below the other, in an array of this shape. */
export function rowsTogether(dtype: DType, shape: readonly number[], arrays: readonly NDArray[]): NDArray {
  if (dtype.isObject)
    return new NDArray(
      dtype,
      shape,
      arrays.flatMap((array) => array.objects),
    );
  const data = uncleared(dtype, sizeOf(shape));
  let at = 0;
  for (const { data: row } of arrays) {
    if (row.length === 1) data[at] = row[0]!;
    else data.set(row as never, at); // both are the dtype's kind of typed array
    at += row.length;
  }
  return new NDArray(dtype, shape, data);
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
  return elements[0]!.map((_, c) =>
    stacked(
      elements.map((element) => element[c]!),
      c,
    ),
  );
}

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
    private readonly join: (elements: readonly Element[]) => Element,
  ) {
    super(input);
    this.takesRows = input.atHand !== undefined && join === stackElements;
  }

  next(): Pulled {
    if (this.hasEnded) return undefined;
    return this.takesRows ? this.gatherRows([], 0) : this.gather([]);
  }

  /** A batch in which an element failed is lost as a whole: the others of it are taken all the same. */
  private gather(elements: (Element | Failed)[]): Pulled {
    while (elements.length < this.size) {
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

  private end(elements: readonly (Element | Failed)[]): Element | undefined {
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
  join: (elements: readonly Element[]) => Element = stackElements,
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

/** @file Batches of functions' results, batches taken apart, and sparse batches. */
import { int64, variant } from '../../core/dtypes.ts';
import { DataLossError, InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { showRuntime, sizeOf } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';

import { BatchIterator, batched } from './batch.ts';
import { Dataset, datasetIn, type Element, type ElementIterator, type Pulled, soon, unknown } from './dataset.ts';
import { argumentTypes, datasetOp, elementAttrs, flag, metadata, scalarOf } from './kit.ts';
import { parallelCalls } from './map.ts';
import { ParallelCalls } from './parallel.ts';
import { type Saved, savedAll, savedElements, savedNumber, savedRecord } from './saved.ts';
import { rowsAt } from './sources.ts';

const mapAndBatchOp = (name: string, extra: object) =>
  datasetOp({
    name,
    inputs: {
      input_dataset: 'variant',
      other_arguments: 'Targuments',
      batch_size: 'int64',
      num_parallel_calls: 'int64',
      drop_remainder: 'bool',
    },
    attrs: {
      f: attr('func'),
      Targuments: argumentTypes,
      ...elementAttrs,
      preserve_cardinality: flag(false),
      ...extra,
    },
    batches: 'own',
    make(arrays, attrs, { f }) {
      const input = datasetIn(arrays.input_dataset);
      const size = scalarOf(arrays.batch_size, 'batch_size');
      const dropsRemainder = scalarOf(arrays.drop_remainder, 'drop_remainder') !== 0;
      const calls = {
        room: parallelCalls(scalarOf(arrays.num_parallel_calls, 'num_parallel_calls')),
        keepsOrder: true,
      };
      const fn = f(arrays.other_arguments);
      const batches = batched(input, { size, dropsRemainder }, attrs);
      return new Dataset({
        kind: 'MapAndBatch',
        types: attrs.output_types,
        shapes: attrs.output_shapes,
        sharesMemory: false,
        cardinality: () => (attrs.preserve_cardinality ? batches.cardinality : unknown),
        iterate: (scope) =>
          new BatchIterator(new ParallelCalls(input.iterate(scope), scope, calls, fn(scope)), size, dropsRemainder),
      });
    },
  });

export const MapAndBatchDataset = mapAndBatchOp('MapAndBatchDataset', { metadata });
export const ExperimentalMapAndBatchDataset = mapAndBatchOp('ExperimentalMapAndBatchDataset', {});

/** The rows of each element, one by one. */
class UnbatchIterator implements ElementIterator {
  private batch: Element | undefined;
  private row: ((i: number) => NDArray[]) | undefined;
  private position = 0;
  private count = 0;
  constructor(private readonly input: ElementIterator) {}

  next(): Pulled {
    if (this.position < this.count) return this.row!(this.position++);
    return soon(this.input.next(), (batch) => {
      if (!batch) return undefined;
      this.open(batch, 0);
      return this.next();
    });
  }

  private open(batch: Element, position: number): void {
    for (const { rank } of batch)
      if (rank === 0) throw new InvalidArgumentError('Input element must have a non-scalar value in each component.');
    const [count] = batch[0]!.shape;
    for (const [c, { shape }] of batch.entries())
      if (shape[0] !== count)
        throw new InvalidArgumentError(
          `Input element must have the same batch size in each component. Component 0 had size ${count} but component ${c} had size, ${shape[0]}.`,
        );
    this.batch = batch;
    this.row = rowsAt(batch);
    this.position = position;
    this.count = count!;
  }

  save(): Promise<Saved> {
    return savedAll({ input: this.input.save(), batch: this.batch ? [this.batch] : [], position: this.position });
  }
  async restore(saved: Saved): Promise<void> {
    const { input, batch, position } = savedRecord(saved);
    const [open] = savedElements(batch);
    if (open) this.open(open, savedNumber(position));
    await this.input.restore(input!);
  }
}

const unbatchOp = (name: string, extra: object) =>
  datasetOp({
    name,
    inputs: { input_dataset: 'variant' },
    attrs: { ...elementAttrs, ...extra },
    make({ input_dataset }, { output_types, output_shapes }) {
      const input = datasetIn(input_dataset);
      return new Dataset({
        kind: 'Unbatch',
        types: output_types,
        shapes: output_shapes,
        sharesMemory: true,
        cardinality() {
          const n = input.cardinality;
          const rows = input.shapes[0]?.[0];
          if (n <= 0) return n;
          return rows == null ? unknown : n * rows;
        },
        positionObstacle: () => (input.shapes[0]?.[0] == null ? 'Unbatching batches of unknown sizes' : undefined),
        iterate: (scope) => new UnbatchIterator(input.iterate(scope)),
      });
    },
  });

export const UnbatchDataset = unbatchOp('UnbatchDataset', { metadata });
export const ExperimentalUnbatchDataset = unbatchOp('ExperimentalUnbatchDataset', {});

/** Dense elements as the rows of a sparse batch: indices, values and shape, in one variant vector. */
function sparseBatch(elements: readonly Element[], rowShape: readonly number[]): Element {
  const arrays = elements.map(([array]) => array!);
  const { dtype } = arrays[0]!;
  const rank = rowShape.length;
  const sizes = rowShape.map((size, axis) =>
    size >= 0 ? size : arrays.reduce((most, { shape }) => Math.max(most, shape[axis] ?? 0), 0),
  );
  const total = arrays.reduce((n, array) => n + array.size, 0);
  const indices = new BigInt64Array(total * (rank + 1));
  let at = 0;
  for (const [i, { shape }] of arrays.entries()) {
    if (shape.length !== rank)
      throw new InvalidArgumentError(
        `Input element had shape (${showRuntime(shape)}) that is incompatible with the row shape (${showRuntime(rowShape)}).`,
      );
    for (const [axis, size] of shape.entries())
      if (size > sizes[axis]!)
        throw new DataLossError(
          `Input element had shape (${showRuntime(shape)}) that is larger than the row shape (${showRuntime(rowShape)}).`,
        );
    for (let k = 0; k < sizeOf(shape); k++) {
      indices[at++] = BigInt(i);
      let rest = sizeOf(shape);
      let place = k;
      for (const size of shape) {
        rest /= size;
        indices[at++] = BigInt(Math.floor(place / rest));
        place %= rest;
      }
    }
  }
  const values = dtype.isObject
    ? new NDArray(
        dtype,
        [total],
        arrays.flatMap((array) => array.objects),
      )
    : flatData(arrays, total);
  const shape = new NDArray(int64, [rank + 1], BigInt64Array.from([arrays.length, ...sizes], BigInt));
  return [new NDArray(variant, [3], [new NDArray(int64, [total, rank + 1], indices), values, shape])];
}

function flatData(arrays: readonly NDArray[], total: number): NDArray {
  const { dtype } = arrays[0]!;
  const data = dtype.allocate(total);
  let at = 0;
  for (const { data: part } of arrays) {
    data.set(part as never, at); // both are the dtype's kind of typed array
    at += part.length;
  }
  return new NDArray(dtype, [total], data);
}

const sparseBatchOp = (name: string) =>
  datasetOp({
    name,
    inputs: { input_dataset: 'variant', batch_size: 'int64', row_shape: 'int64' },
    attrs: elementAttrs,
    make({ input_dataset, batch_size, row_shape }, attrs) {
      const input = datasetIn(input_dataset);
      if (input.types.length !== 1)
        throw new InvalidArgumentError('DenseToSparseBatchDataset only supports inputs with a single component.');
      const size = scalarOf(batch_size, 'batch_size');
      const batch = { size, dropsRemainder: false, kind: 'DenseToSparseBatch' };
      return batched(input, batch, attrs, (elements) => sparseBatch(elements, row_shape.numbers()));
    },
  });

export const DenseToSparseBatchDataset = sparseBatchOp('DenseToSparseBatchDataset');
export const ExperimentalDenseToSparseBatchDataset = sparseBatchOp('ExperimentalDenseToSparseBatchDataset');

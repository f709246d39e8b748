/** @file Datasets of tensors at hand: whole, row by row, counted, of sparse rows, random. */
import { type DType, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import { NDArray, scalar } from '../../core/ndarray.ts';
import { type Dims, type Shape, sizeOf } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';

import { Dataset, type ElementIterator, infinite, type Pulled } from './dataset.ts';
import { datasetOp, elementAttrs, flag, metadata, scalarOf, shapes, types } from './kit.ts';
import { type Saved, savedNumber } from './saved.ts';

/** Counts up to a number; `at` gives an element by its position. */
class IndexIterator implements ElementIterator {
  private position = 0;
  constructor(
    private readonly count: number,
    private readonly at: (i: number) => readonly NDArray[],
  ) {}
  next(): Pulled {
    return this.position < this.count ? this.at(this.position++) : undefined;
  }
  save(): Saved {
    return this.position;
  }
  restore(saved: Saved): void {
    this.position = savedNumber(saved);
  }
}

/** A dataset whose elements can be had by their position. */
export function indexed(
  kind: string,
  spec: { readonly types: readonly DType[]; readonly shapes: readonly Dims[]; readonly sharesMemory: boolean },
  count: number,
  at: (i: number) => readonly NDArray[],
): Dataset {
  const cardinality = count === Number.POSITIVE_INFINITY ? infinite : count;
  return new Dataset({
    kind,
    ...spec,
    cardinality: () => cardinality,
    at,
    iterate: () => new IndexIterator(count, at),
  });
}

export const TensorDataset = datasetOp({
  name: 'TensorDataset',
  inputs: { components: 'Toutput_types' },
  attrs: { Toutput_types: types, output_shapes: shapes, metadata },
  stateful: 'repeatable',
  make({ components: arrays }, { Toutput_types, output_shapes }) {
    const spec = { types: Toutput_types, shapes: output_shapes, sharesMemory: true };
    return indexed('Tensor', spec, 1, () => arrays);
  },
});

/** One row of an array, without a copy. */
function rowView(array: NDArray, shape: Shape, size: number, i: number): NDArray {
  const { dtype } = array;
  if (dtype.isObject) return new NDArray(dtype, shape, array.objects.slice(i * size, (i + 1) * size));
  const entries = size * dtype.entries;
  return new NDArray(dtype, shape, array.data.subarray(i * entries, (i + 1) * entries));
}

/** Some rows of an array, without a copy. */
export function rowRange(array: NDArray, from: number, to: number): NDArray {
  const { dtype } = array;
  const rest = array.shape.slice(1);
  const size = sizeOf(rest);
  const shape = [to - from, ...rest];
  if (dtype.isObject) return new NDArray(dtype, shape, array.objects.slice(from * size, to * size));
  const entries = size * dtype.entries;
  return new NDArray(dtype, shape, array.data.subarray(from * entries, to * entries));
}

/** Gives the i-th row of each array. */
export function rowsAt(arrays: readonly NDArray[]): (i: number) => NDArray[] {
  const rows = arrays.map((array) => {
    const shape = array.shape.slice(1);
    return { array, shape, size: sizeOf(shape) };
  });
  return (i) => rows.map(({ array, shape, size }) => rowView(array, shape, size, i));
}

export const TensorSliceDataset = datasetOp({
  name: 'TensorSliceDataset',
  inputs: { components: 'Toutput_types' },
  attrs: {
    Toutput_types: types,
    output_shapes: shapes,
    is_files: flag(false),
    metadata,
    replicate_on_split: flag(false),
  },
  stateful: 'repeatable',
  make({ components: arrays }, { Toutput_types, output_shapes }) {
    for (const { rank } of arrays)
      if (rank === 0)
        throw new InvalidArgumentError('All components must be at least 1-dimensional, but one is a scalar');
    const [count] = arrays[0]!.shape;
    for (const [i, { shape }] of arrays.entries())
      if (shape[0] !== count)
        throw new InvalidArgumentError(
          `All components must have the same size in the 0th dimension: component 0 has ${count}, component ${i} has ${shape[0]}.`,
        );
    const spec = { types: Toutput_types, shapes: output_shapes, sharesMemory: true };
    return indexed('TensorSlice', spec, count!, rowsAt(arrays));
  },
});

export const ListDataset = datasetOp({
  name: 'ListDataset',
  inputs: { tensors: 'Tinput_types' },
  attrs: { Tinput_types: types, ...elementAttrs, metadata },
  stateful: 'repeatable',
  make({ tensors }, { output_types, output_shapes }) {
    const size = output_types.length;
    if (tensors.length % size !== 0)
      throw new InvalidArgumentError(
        `The number of tensors, ${tensors.length}, must be a multiple of the number of components, ${size}.`,
      );
    const spec = { types: output_types, shapes: output_shapes, sharesMemory: true };
    return indexed('List', spec, tensors.length / size, (i) => tensors.slice(i * size, (i + 1) * size));
  },
});

export const SparseTensorSliceDataset = datasetOp({
  name: 'SparseTensorSliceDataset',
  inputs: { indices: 'int64', values: 'Tvalues', dense_shape: 'int64' },
  attrs: { Tvalues: attr('type') },
  stateful: 'repeatable',
  make({ indices, values, dense_shape }, { Tvalues }) {
    const rank = dense_shape.size;
    if (indices.rank !== 2) throw new InvalidArgumentError('Input indices must be a matrix.');
    if (indices.shape[0] !== values.size || indices.shape[1] !== rank)
      throw new InvalidArgumentError('Number of values must match first dimension of indices.');
    const places = indices.numbers();
    const starts: number[] = [];
    for (let k = 0, row = 0; k <= values.size; k++) {
      const next = k === values.size ? Number.POSITIVE_INFINITY : places[k * rank]!;
      if (k > 0 && k < values.size && next < places[(k - 1) * rank]!)
        throw new UnimplementedError(
          'The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input is not currently supported.',
        );
      for (; row <= Math.min(next, dense_shape.numberAt(0)); row++) starts[row] = k;
    }
    const rest = dense_shape.numbers().slice(1);
    const shape = new NDArray(int64, [rest.length], BigInt64Array.from(rest, BigInt));
    const spec = {
      types: [int64, Tvalues, int64],
      shapes: [[null, rest.length], [null], [rest.length]],
      sharesMemory: true,
    };
    return indexed('SparseTensorSlice', spec, dense_shape.numberAt(0), (i) => {
      const [from, to] = [starts[i]!, starts[i + 1] ?? values.size];
      const kept = new BigInt64Array((to - from) * rest.length);
      for (let k = from; k < to; k++)
        for (let axis = 0; axis < rest.length; axis++)
          kept[(k - from) * rest.length + axis] = BigInt(places[k * rank + axis + 1]!);
      const part = Tvalues.isObject
        ? values.objects.slice(from, to)
        : values.data.slice(from * Tvalues.entries, to * Tvalues.entries);
      return [new NDArray(int64, [to - from, rest.length], kept), new NDArray(Tvalues, [to - from], part), shape];
    });
  },
});

export const RangeDataset = datasetOp({
  name: 'RangeDataset',
  inputs: { start: 'int64', stop: 'int64', step: 'int64' },
  attrs: { ...elementAttrs, metadata, replicate_on_split: flag(false) },
  stateful: 'repeatable',
  make(arrays, { output_types, output_shapes }) {
    const start = scalarOf(arrays.start, 'start');
    const stop = scalarOf(arrays.stop, 'stop');
    const step = scalarOf(arrays.step, 'step');
    if (step === 0) throw new InvalidArgumentError('step must be a non-zero integer.');
    const count = Math.max(0, Math.ceil((stop - start) / step));
    const [dtype] = output_types as [DType]; // one at least
    const spec = { types: output_types, shapes: output_shapes, sharesMemory: false };
    if (dtype === int64)
      return indexed('Range', spec, count, (i) => [new NDArray(int64, [], BigInt64Array.of(BigInt(start + i * step)))]);
    return indexed('Range', spec, count, (i) => [scalar(dtype, start + i * step)]);
  },
});

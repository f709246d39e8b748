/** @file Padded batches: elements of different sizes, brought to one. */
import { DataLossError, InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Shape, showRuntime, sizeOf, stridesOf } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';

import { batched } from './batch.ts';
import { type Dataset, datasetIn, type Element } from './dataset.ts';

import { datasetOp, flag, metadata, scalarOf, shapes, types } from './kit.ts';

/** The arrays as rows of one, each with `filler` behind its elements on every axis. */
function paddedRows(arrays: readonly NDArray[], wanted: Shape, filler: NDArray, component: number): NDArray {
  const rank = wanted.length;
  for (const { shape } of arrays)
    if (shape.length !== rank)
      throw new InvalidArgumentError(
        `All elements in a batch must have the same rank as the padded shape for component${component}: expected rank ${rank} but got element with rank ${shape.length}`,
      );
  const row = wanted.map((size, axis) =>
    size >= 0 ? size : arrays.reduce((most, { shape }) => Math.max(most, shape[axis]!), 0),
  );
  for (const { shape } of arrays)
    for (const [axis, size] of shape.entries())
      if (size > row[axis]!)
        throw new DataLossError(
          `Attempted to pad to a smaller size than the input element. Component ${component} is ${showRuntime(shape)}, the padded shape ${showRuntime(row)}.`,
        );
  const { dtype } = arrays[0]!;
  const size = sizeOf(row);
  const total = size * arrays.length;
  const { entries } = dtype;
  if (dtype.isObject) {
    const objects = new Array<object>(total).fill(filler.objects[0]!);
    for (const [i, array] of arrays.entries())
      for (const { from, to, length } of runs(array.shape, row))
        for (let k = 0; k < length; k++) objects[i * size + to + k] = array.objects[from + k]!;
    return new NDArray(dtype, [arrays.length, ...row], objects);
  }
  const data = dtype.allocate(total);
  if (entries === 1)
    data.fill(filler.data[0] as never); // the dtype's kind of number
  else for (let i = 0; i < data.length; i++) data[i] = filler.data[i % entries]!;
  for (const [i, { shape, data: source }] of arrays.entries())
    for (const { from, to, length } of runs(shape, row))
      data.set(
        source.subarray(from * entries, (from + length) * entries) as never, // both are the dtype's kind of typed array
        (i * size + to) * entries,
      );
  return new NDArray(dtype, [arrays.length, ...row], data);
}

/** The stretches of consecutive elements of an array, and where they go in a larger one. */
function* runs(shape: Shape, row: Shape): Generator<{ from: number; to: number; length: number }> {
  if (shape.length === 0) {
    yield { from: 0, to: 0, length: 1 };
    return;
  }
  const length = shape.at(-1)!;
  const lines = sizeOf(shape.slice(0, -1));
  const inner = stridesOf(shape.slice(0, -1));
  const outer = stridesOf(row);
  for (let line = 0; line < lines; line++) {
    let to = 0;
    for (const [axis, stride] of inner.entries()) to += (Math.floor(line / stride) % shape[axis]!) * outer[axis]!;
    if (length > 0) yield { from: line * length, to, length };
  }
}

interface Padding {
  readonly shapes: readonly NDArray[];
  readonly values: readonly NDArray[];
}

function padder(input: Dataset, { shapes: wanted, values }: Padding): (elements: readonly Element[]) => Element {
  const sizes = wanted.map((array, c) => {
    const dims = array.numbers();
    const negative = dims.find((size) => size < -1);
    if (negative !== undefined) throw new InvalidArgumentError(`Dimension ${negative} must be >= -1`);
    const known = input.shapes[c];
    if (known && known.length !== dims.length)
      throw new InvalidArgumentError(
        `The padded shape for component ${c} has rank ${dims.length}, but the component has rank ${known.length}`,
      );
    return dims;
  });
  for (const [c, value] of values.entries()) {
    if (value.rank !== 0) throw new InvalidArgumentError('All padding values must be scalars');
    if (value.dtype !== input.types[c])
      throw new InvalidArgumentError(
        `Mismatched type between padding value ${c} and input dataset's component ${c}: ${value.dtype.runtimeName} vs. ${input.types[c]!.runtimeName}`,
      );
  }
  return (elements) =>
    sizes.map((dims, c) =>
      paddedRows(
        elements.map((element) => element[c]!),
        dims,
        values[c]!,
        c,
      ),
    );
}

const paddedAttrs = { Toutput_types: types, output_shapes: shapes, N: attr('int', { minimum: 1 }), metadata } as const;

export const PaddedBatchDataset = datasetOp({
  name: 'PaddedBatchDataset',
  inputs: {
    input_dataset: 'variant',
    batch_size: 'int64',
    padded_shapes: 'N * int64',
    padding_values: 'Toutput_types',
  },
  attrs: paddedAttrs,
  batches: 'own',
  make({ input_dataset, batch_size, padded_shapes, padding_values }, { Toutput_types, output_shapes }) {
    const input = datasetIn(input_dataset);
    const batch = { size: scalarOf(batch_size, 'batch_size'), dropsRemainder: false, kind: 'PaddedBatch' };
    const join = padder(input, { shapes: padded_shapes, values: padding_values });
    return batched(input, batch, { output_types: Toutput_types, output_shapes }, join);
  },
});

export const PaddedBatchDatasetV2 = datasetOp({
  name: 'PaddedBatchDatasetV2',
  inputs: {
    input_dataset: 'variant',
    batch_size: 'int64',
    padded_shapes: 'N * int64',
    padding_values: 'Toutput_types',
    drop_remainder: 'bool',
  },
  attrs: { parallel_copy: flag(false), ...paddedAttrs },
  batches: 'own',
  make({ input_dataset, batch_size, padded_shapes, padding_values, drop_remainder }, { Toutput_types, output_shapes }) {
    const input = datasetIn(input_dataset);
    const dropsRemainder = scalarOf(drop_remainder, 'drop_remainder') !== 0;
    const batch = { size: scalarOf(batch_size, 'batch_size'), dropsRemainder, kind: 'PaddedBatch' };
    const join = padder(input, { shapes: padded_shapes, values: padding_values });
    return batched(input, batch, { output_types: Toutput_types, output_shapes }, join);
  },
});

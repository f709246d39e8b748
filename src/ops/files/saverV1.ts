/** @file The ops that write and read V1 checkpoints, which graphs from before TensorFlow 0.12 have. */
import type { NDArray } from '../../core/ndarray.ts';
import { openCheckpoint } from '../../io/checkpointReader.ts';
import { writeSliceTable } from '../../io/sliceTable.ts';
import { parseShapeAndSlice, sliceShape } from '../../io/tensorSlice.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { restoredTensor, storedTensors, texts } from './checkpointKit.ts';

const types = attr('list(type)', { minimum: 1 });
const anyShard = attr('int', { default: -1 });
const only = (array: NDArray | undefined): string => texts(array!)[0]!;

export const Save = defineOp({
  name: 'Save',
  inputs: { filename: 'string', tensor_names: 'string', data: 'T' },
  outputs: {},
  attrs: { T: types },
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { filename, tensor_names, data }) {
    const whole = (names: readonly string[]) => names.map(() => '');
    p.host(
      [filename, tensor_names, ...data],
      [],
      async ([path, names, ...arrays]) => {
        const list = texts(names!);
        await writeSliceTable(only(path), storedTensors(list, whole(list), arrays));
        return [];
      },
      { borrows: true },
    );
    return {};
  },
  cases: () => [],
});

export const SaveSlices = defineOp({
  name: 'SaveSlices',
  inputs: { filename: 'string', tensor_names: 'string', shapes_and_slices: 'string', data: 'T' },
  outputs: {},
  attrs: { T: types },
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { filename, tensor_names, shapes_and_slices, data }) {
    p.host(
      [filename, tensor_names, shapes_and_slices, ...data],
      [],
      async ([path, names, slices, ...arrays]) => {
        await writeSliceTable(only(path), storedTensors(texts(names!), texts(slices!), arrays));
        return [];
      },
      { borrows: true },
    );
    return {};
  },
  cases: () => [],
});

async function restored(path: string, name: string, dtype: Parameters<typeof restoredTensor>[2], slice: string) {
  const reader = openCheckpoint(path);
  try {
    return [await restoredTensor(reader, name, dtype, slice)];
  } finally {
    await reader.close();
  }
}

export const Restore = defineOp({
  name: 'Restore',
  inputs: { file_pattern: 'string', tensor_name: 'string' },
  outputs: { tensor: 'dt' },
  attrs: { dt: anyType, preferred_shard: anyShard },
  stateful: true,
  shape: () => ({ tensor: null }),
  grad: notDifferentiable,
  lower: (p, { file_pattern, tensor_name }, { dt }) => ({
    tensor: p.host([file_pattern, tensor_name], [{ dtype: dt }], ([path, name]) =>
      restored(only(path), only(name), dt, ''),
    )[0]!,
  }),
  cases: () => [],
});

export const RestoreSlice = defineOp({
  name: 'RestoreSlice',
  inputs: { file_pattern: 'string', tensor_name: 'string', shape_and_slice: 'string' },
  outputs: { tensor: 'dt' },
  attrs: { dt: anyType, preferred_shard: anyShard },
  stateful: true,
  shape(_, _attrs, context) {
    const known = context.value('shape_and_slice');
    const text = known ? only(known) : '';
    if (text === '') return { tensor: null };
    const { shape, slice } = parseShapeAndSlice(text);
    return { tensor: sliceShape(slice, shape) };
  },
  grad: notDifferentiable,
  lower: (p, { file_pattern, tensor_name, shape_and_slice }, { dt }) => ({
    tensor: p.host([file_pattern, tensor_name, shape_and_slice], [{ dtype: dt }], ([path, name, slice]) =>
      restored(only(path), only(name), dt, only(slice)),
    )[0]!,
  }),
  cases: () => [],
});

/** @file The ops that write and read checkpoints. */
import { string } from '../../core/dtypes.ts';
import { NDArray } from '../../core/ndarray.ts';
import { openCheckpoint } from '../../io/checkpointReader.ts';
import { mergeBundles, writeBundle } from '../../io/tensorBundle.ts';
import { parseShapeAndSlice, sliceShape } from '../../io/tensorSlice.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { checkCounts, restoredTensor, storedTensors, texts } from './checkpointKit.ts';

const types = attr('list(type)', { minimum: 1 });

export const SaveV2 = defineOp({
  name: 'SaveV2',
  inputs: { prefix: 'string', tensor_names: 'string', shape_and_slices: 'string', tensors: 'dtypes' },
  outputs: {},
  attrs: { dtypes: types },
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { prefix, tensor_names, shape_and_slices, tensors }) {
    p.host(
      [prefix, tensor_names, shape_and_slices, ...tensors],
      [],
      async ([path, name, slice, ...arrays]) => {
        await writeBundle(texts(path!)[0]!, storedTensors(texts(name!), texts(slice!), arrays));
        return [];
      },
      { borrows: true },
    );
    return {};
  },
  cases: () => [],
});

export const RestoreV2 = defineOp({
  name: 'RestoreV2',
  inputs: { prefix: 'string', tensor_names: 'string', shape_and_slices: 'string' },
  outputs: { tensors: 'dtypes' },
  attrs: { dtypes: types },
  stateful: true,
  shape(_, { dtypes }, context) {
    const known = context.value('shape_and_slices');
    const slices = known ? texts(known) : [];
    return {
      tensors: dtypes.map((_dtype, i) => {
        if (!slices[i]) return null;
        const { shape, slice } = parseShapeAndSlice(slices[i]);
        return sliceShape(slice, shape);
      }),
    };
  },
  grad: notDifferentiable,
  lower: (p, { prefix, tensor_names, shape_and_slices }, { dtypes }) => ({
    tensors: p.host(
      [prefix, tensor_names, shape_and_slices],
      dtypes.map((dtype) => ({ dtype })),
      async ([path, name, slice], _run, { allocate }) => {
        const names = texts(name!);
        const slices = texts(slice!);
        checkCounts(names, slices, dtypes.length);
        const reader = openCheckpoint(texts(path!)[0]!);
        try {
          const arrays: NDArray[] = [];
          for (const [i, dtype] of dtypes.entries())
            arrays.push(await restoredTensor(reader, names[i]!, dtype, slices[i]!, allocate));
          return arrays;
        } finally {
          await reader.close();
        }
      },
      { borrows: true, givesAway: true },
    ),
  }),
  cases: () => [],
});

export const MergeV2Checkpoints = defineOp({
  name: 'MergeV2Checkpoints',
  inputs: { checkpoint_prefixes: 'string', destination_prefix: 'string' },
  outputs: {},
  attrs: { delete_old_dirs: attr('bool', { default: true }), allow_missing_files: attr('bool', { default: false }) },
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { checkpoint_prefixes, destination_prefix }, { delete_old_dirs, allow_missing_files }) {
    p.host([checkpoint_prefixes, destination_prefix], [], async ([parts, destination]) => {
      await mergeBundles(texts(parts!), texts(destination!)[0]!, {
        deleteFolders: delete_old_dirs,
        allowMissing: allow_missing_files,
      });
      return [];
    });
    return {};
  },
  cases: () => [],
});

const padded = (n: number) => String(n).padStart(5, '0');
const textArray = (text: string) => new NDArray(string, [], [new TextEncoder().encode(text)]);

export const ShardedFilename = defineOp({
  name: 'ShardedFilename',
  inputs: { basename: 'string', shard: 'int32', num_shards: 'int32' },
  outputs: { filename: 'string' },
  attrs: {},
  shape: () => ({ filename: [] }),
  grad: notDifferentiable,
  lower: (p, { basename, shard, num_shards }) => ({
    filename: p.host([basename, shard, num_shards], [{ dtype: string, shape: [] }], ([base, k, n]) => [
      textArray(`${texts(base!)[0]}-${padded(k!.numberAt(0))}-of-${padded(n!.numberAt(0))}`),
    ])[0]!,
  }),
  cases: () => [
    { shape: '[], [], [] -> []' },
    {
      given: { basename: 'model', shard: { dtype: 'int32', value: 1 }, num_shards: { dtype: 'int32', value: 12 } },
      expect: { filename: 'model-00001-of-00012' },
    },
  ],
});

export const ShardedFilespec = defineOp({
  name: 'ShardedFilespec',
  inputs: { basename: 'string', num_shards: 'int32' },
  outputs: { filename: 'string' },
  attrs: {},
  shape: () => ({ filename: [] }),
  grad: notDifferentiable,
  lower: (p, { basename, num_shards }) => ({
    filename: p.host([basename, num_shards], [{ dtype: string, shape: [] }], ([base, n]) => [
      textArray(`${texts(base!)[0]}-?????-of-${padded(n!.numberAt(0))}`),
    ])[0]!,
  }),
  cases: () => [
    { shape: '[], [] -> []' },
    {
      given: { basename: 'model', num_shards: { dtype: 'int32', value: 12 } },
      expect: { filename: 'model-?????-of-00012' },
    },
  ],
});

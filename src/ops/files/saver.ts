/** @file The ops that write and read checkpoints. */
import { string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { sameShape, showRuntime } from '../../core/shape.ts';
import { BundleReader, mergeBundles, type StoredTensor, writeBundle } from '../../io/tensorBundle.ts';
import { parseShapeAndSlice, sliceShape } from '../../io/tensorSlice.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';

/** The texts in a tensor of strings. */
const texts = (array: NDArray): string[] => array.objects.map((bytes) => new TextDecoder().decode(bytes as Uint8Array)); // elements of string arrays are bytes

const types = attr('list(type)', { minimum: 1 });

/** TensorFlow's complaint about lists of different lengths. */
function checkCounts(names: readonly string[], slices: readonly string[], tensors: number): void {
  if (names.length !== slices.length || names.length !== tensors)
    throw new InvalidArgumentError(
      `Got ${names.length} tensor names and ${slices.length} shapes and slices for ${tensors} tensors; there must be one of each.`,
    );
}

export const SaveV2 = defineOp({
  name: 'SaveV2',
  inputs: { prefix: 'string', tensor_names: 'string', shape_and_slices: 'string', tensors: 'dtypes' },
  outputs: {},
  attrs: { dtypes: types },
  stateful: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { prefix, tensor_names, shape_and_slices, tensors }) {
    p.host([prefix, tensor_names, shape_and_slices, ...tensors], [], async ([path, name, slice, ...arrays]) => {
      const names = texts(name!);
      const slices = texts(slice!);
      checkCounts(names, slices, arrays.length);
      const stored = arrays.map((array, i): StoredTensor => storedTensor(names[i]!, array, slices[i]!));
      await writeBundle(texts(path!)[0]!, stored);
      return [];
    });
    return {};
  },
  cases: () => [],
});

function storedTensor(name: string, array: NDArray, text: string): StoredTensor {
  if (text === '') return { name, array };
  const sliceOf = parseShapeAndSlice(text);
  const wanted = sliceShape(sliceOf.slice, sliceOf.shape);
  if (!sameShape(wanted, array.shape))
    throw new InvalidArgumentError(
      `Slice in shape_and_slice specification does not match the shape of the tensor to save: ${text}, tensor: ${showRuntime(array.shape)}`,
    );
  return { name, array, sliceOf };
}

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
      async ([path, name, slice]) => {
        const names = texts(name!);
        const slices = texts(slice!);
        checkCounts(names, slices, dtypes.length);
        const reader = await BundleReader.open(texts(path!)[0]!);
        try {
          const arrays: NDArray[] = [];
          for (const [i, dtype] of dtypes.entries()) {
            const entry = reader.entry(names[i]!);
            if (entry.dtype !== dtype)
              throw new InvalidArgumentError(
                `tensor_name = ${names[i]}; expected dtype ${dtype.runtimeName} does not equal original dtype ${entry.dtype.runtimeName}`,
              );
            const part = slices[i] === '' ? undefined : parseShapeAndSlice(slices[i]!);
            if (part && !sameShape(part.shape, entry.shape))
              throw new InvalidArgumentError(
                `tensor_name = ${names[i]}; shape in shape_and_slice spec ${showRuntime(part.shape)} does not match the shape stored in checkpoint: ${showRuntime(entry.shape)}`,
              );
            arrays.push(await reader.read(names[i]!, part?.slice));
          }
          return arrays;
        } finally {
          await reader.close();
        }
      },
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
  lower(p, { checkpoint_prefixes, destination_prefix }, { delete_old_dirs }) {
    p.host([checkpoint_prefixes, destination_prefix], [], async ([parts, destination]) => {
      await mergeBundles(texts(parts!), texts(destination!)[0]!, delete_old_dirs);
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

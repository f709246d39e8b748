/** @file Reading and writing tensor arrays, in every version of the ops. */
import { int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { scalar } from '../../core/ndarray.ts';
import { type Dims, mergeShapes, showRuntime, withRank } from '../../core/shape.ts';
import { anyType } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { Value } from '../../program/value.ts';
import { anyShape, checkHandle, elementShapeOf, isChecked, onArray, since, versions } from './tensorArrayForms.ts';
import {
  concatGradient,
  gatherGradient,
  readGradient,
  scatterGradient,
  splitGradient,
  writeGradient,
} from './tensorArrayGradients.ts';
import { checkType, concatenated, gathered, scattered, split } from './tensorArrayRows.ts';

function checkFlow(flow: Dims): void {
  withRank(flow, 0);
}

function scalarIndex({ shape }: Value): void {
  if (shape.length > 0)
    throw new InvalidArgumentError(`TensorArray index must be scalar, but had shape: ${showRuntime(shape)}`);
}

function vectorOfIndices({ shape }: Value): void {
  if (shape.length !== 1)
    throw new InvalidArgumentError(`Expected indices to be a vector, but received shape: ${showRuntime(shape)}`);
}

for (const version of versions) {
  const { suffix, handle: port, stateful, deprecated } = version;
  const checked = isChecked(version);

  defineOp({
    name: `TensorArrayWrite${suffix}`,
    inputs: { handle: port, index: 'int32', value: 'T', flow_in: 'float32' },
    outputs: { flow_out: 'float32' },
    attrs: { T: anyType },
    stateful,
    ...since(deprecated),
    shape: ({ handle, index, value, flow_in }, _, { op }) => {
      if (!checked) return { flow_out: null };
      checkHandle(handle);
      withRank(index, 0);
      checkFlow(flow_in);
      mergeShapes(elementShapeOf(op.inputs[0]!) ?? null, value);
      return { flow_out: [] };
    },
    grad: ({ inputs: { handle, index }, outputs, attrs: { T } }, dy) => {
      const { value, flow } = writeGradient(handle, index, T, outputs.flow_out, dy.flow_out);
      return { value, flow_in: flow };
    },
    lower: (p, { handle, index, value, flow_in }) => {
      scalarIndex(index);
      onArray(p, handle, [index, value], [], (array, [at, given]) => {
        checkType(array, given!.dtype, 'is trying to write');
        array.write(at!.numberAt(0), given!);
        return [];
      });
      return { flow_out: flow_in };
    },
    cases: () => [{ shape: checked ? '[2], [], [3, ?], [] -> []' : '[2], [], [3, ?], [] -> ?' }],
  });

  defineOp({
    name: `TensorArrayRead${suffix}`,
    inputs: { handle: port, index: 'int32', flow_in: 'float32' },
    outputs: { value: 'dtype' },
    attrs: { dtype: anyType },
    stateful,
    ...since(deprecated),
    shape: ({ handle, index, flow_in }, _, { op }) => {
      if (!checked) return { value: null };
      checkHandle(handle);
      withRank(index, 0);
      checkFlow(flow_in);
      return { value: elementShapeOf(op.inputs[0]!) ?? null };
    },
    grad: ({ inputs: { handle, index, flow_in } }, dy) => ({
      flow_in: readGradient(handle, index, flow_in, dy.value),
    }),
    lower: (p, { handle, index }, { dtype }) => {
      scalarIndex(index);
      const [value] = onArray(p, handle, [index], [{ dtype }], (array, [at]) => {
        checkType(array, dtype, 'requested');
        return [array.read(at!.numberAt(0))];
      });
      return { value: value! };
    },
    cases: () => [{ shape: '[2], [], [] -> ?', attrs: { dtype: 'float32' } }],
  });

  defineOp({
    name: `TensorArrayGather${suffix}`,
    inputs: { handle: port, indices: 'int32', flow_in: 'float32' },
    outputs: { value: 'dtype' },
    attrs: { dtype: anyType, element_shape: anyShape },
    stateful,
    ...since(deprecated),
    shape: ({ handle, indices, flow_in }, { element_shape }, { op }) => {
      if (!checked) return { value: null };
      checkHandle(handle);
      const [count = null] = withRank(indices, 1);
      checkFlow(flow_in);
      if (suffix !== 'V3') return { value: null };
      const element = elementShapeOf(op.inputs[0]!) ?? element_shape;
      return { value: element && [count, ...element] };
    },
    grad: ({ inputs: { handle, indices, flow_in } }, dy) => ({
      flow_in: gatherGradient(handle, indices, flow_in, dy.value),
    }),
    lower: (p, { handle, indices }, { dtype, element_shape }) => {
      vectorOfIndices(indices);
      const [value] = onArray(p, handle, [indices], [{ dtype }], (array, [places]) => {
        checkType(array, dtype, 'requested');
        return [gathered(array, places!.numbers(), element_shape)];
      });
      return { value: value! };
    },
    cases: () => [
      {
        shape: suffix === 'V3' ? '[2], [4], [] -> [4, 3, ?]' : '[2], [4], [] -> ?',
        attrs: { dtype: 'float32', element_shape: [3, null] },
      },
    ],
  });

  defineOp({
    name: `TensorArrayScatter${suffix}`,
    inputs: { handle: port, indices: 'int32', value: 'T', flow_in: 'float32' },
    outputs: { flow_out: 'float32' },
    attrs: { T: anyType },
    stateful,
    ...since(suffix === '' ? 19 : deprecated),
    shape: ({ handle, indices, value, flow_in }, _, { op }) => {
      if (!checked) return { flow_out: null };
      checkHandle(handle);
      const [count = null] = withRank(indices, 1);
      checkFlow(flow_in);
      if (suffix === 'V3') {
        if (value?.length === 0) throw new InvalidArgumentError('Shape must be at least rank 1 but is rank 0');
        mergeShapes([count], value?.slice(0, 1) ?? null);
        mergeShapes(elementShapeOf(op.inputs[0]!) ?? null, value?.slice(1) ?? null);
      }
      return { flow_out: [] };
    },
    grad: ({ inputs: { handle, indices }, outputs, attrs: { T } }, dy) => {
      const { value, flow } = scatterGradient(handle, indices, T, outputs.flow_out, dy.flow_out);
      return { value, flow_in: flow };
    },
    lower: (p, { handle, indices, value, flow_in }) => {
      vectorOfIndices(indices);
      onArray(p, handle, [indices, value], [], (array, [places, given]) => {
        scattered(array, given!, places);
        return [];
      });
      return { flow_out: flow_in };
    },
    cases: () => [
      { shape: checked ? '[2], [4], [4, ?], [] -> []' : '[2], [4], [4, ?], [] -> ?' },
      ...(suffix === 'V3' ? [{ shape: '[2], [4], [3], []', rejects: /not compatible/ }] : []),
    ],
  });

  defineOp({
    name: `TensorArrayConcat${suffix}`,
    inputs: { handle: port, flow_in: 'float32' },
    outputs: { value: 'dtype', lengths: 'int64' },
    attrs: { dtype: anyType, element_shape_except0: anyShape },
    stateful,
    // The second version was forgotten when the others were taken away.
    ...since(suffix === 'V2' ? undefined : deprecated),
    shape: ({ handle, flow_in }) => {
      if (!checked) return { value: null, lengths: null };
      checkHandle(handle);
      checkFlow(flow_in);
      return { value: null, lengths: [null] };
    },
    grad: ({ inputs: { handle, flow_in }, outputs }, dy) => ({
      flow_in: concatGradient(handle, flow_in, outputs.lengths, dy.value),
    }),
    lower: (p, { handle }, { dtype, element_shape_except0 }) => {
      const [value, lengths] = onArray(p, handle, [], [{ dtype }, { dtype: int64 }], (array) => {
        checkType(array, dtype, 'requested');
        return concatenated(array, element_shape_except0);
      });
      return { value: value!, lengths: lengths! };
    },
    cases: () => [{ shape: checked ? '[2], [] -> ?, [?]' : '[2], [] -> ?, ?', attrs: { dtype: 'float32' } }],
  });

  defineOp({
    name: `TensorArraySplit${suffix}`,
    inputs: { handle: port, value: 'T', lengths: 'int64', flow_in: 'float32' },
    outputs: { flow_out: 'float32' },
    attrs: { T: anyType },
    stateful,
    ...since(deprecated),
    shape: ({ handle, lengths, flow_in }) => {
      if (!checked) return { flow_out: null };
      checkHandle(handle);
      withRank(lengths, 1);
      checkFlow(flow_in);
      return { flow_out: [] };
    },
    grad: ({ inputs: { handle }, outputs, attrs: { T } }, dy) => {
      const { value, flow } = splitGradient(handle, T, outputs.flow_out, dy.flow_out);
      return { value, flow_in: flow };
    },
    lower: (p, { handle, value, lengths, flow_in }) => {
      onArray(p, handle, [value, lengths], [], (array, [given, counts]) => {
        split(array, given!, counts!);
        return [];
      });
      return { flow_out: flow_in };
    },
    cases: () => [{ shape: checked ? '[2], [5, ?], [2], [] -> []' : '[2], [5, ?], [2], [] -> ?' }],
  });

  defineOp({
    name: `TensorArraySize${suffix}`,
    inputs: { handle: port, flow_in: 'float32' },
    outputs: { size: 'int32' },
    attrs: {},
    stateful,
    ...since(deprecated),
    shape: ({ handle }) => {
      if (!checked) return { size: null };
      checkHandle(handle);
      return { size: [] };
    },
    grad: notDifferentiable,
    lower: (p, { handle }) => ({
      size: onArray(p, handle, [], [{ dtype: int32, shape: [] }], (array) => [scalar(int32, array.size)])[0]!,
    }),
    cases: () => [{ shape: checked ? '[2], [] -> []' : '[2], [] -> ?' }],
  });

  defineOp({
    name: `TensorArrayClose${suffix}`,
    inputs: { handle: port },
    outputs: {},
    attrs: {},
    stateful,
    ...since(deprecated),
    shape: ({ handle }) => {
      if (checked) checkHandle(handle);
      return {};
    },
    grad: notDifferentiable,
    lower: (p, { handle }) => {
      onArray(p, handle, [], [], (array) => {
        array.close();
        return [];
      });
      return {};
    },
    cases: () => [{ shape: '[2] ->' }],
  });
}

export const TensorArrayPack = defineOp({
  name: 'TensorArrayPack',
  inputs: { handle: 'Ref(string)', flow_in: 'float32' },
  outputs: { value: 'dtype' },
  attrs: { dtype: anyType, element_shape: anyShape },
  deprecatedSince: 16,
  shape: () => ({ value: null }),
  grad: notDifferentiable,
  lower: (p, { handle }, { dtype, element_shape }) => {
    const [value] = onArray(p, handle, [], [{ dtype }], (array) => {
      checkType(array, dtype, 'requested');
      return [
        gathered(
          array,
          Array.from({ length: array.concatSize }, (_, i) => i),
          element_shape,
        ),
      ];
    });
    return { value: value! };
  },
  cases: () => [{ shape: '[2], [] -> ?', attrs: { dtype: 'float32' } }],
});

export const TensorArrayUnpack = defineOp({
  name: 'TensorArrayUnpack',
  inputs: { handle: 'Ref(string)', value: 'T', flow_in: 'float32' },
  outputs: { flow_out: 'float32' },
  attrs: { T: anyType },
  deprecatedSince: 20,
  shape: () => ({ flow_out: null }),
  grad: notDifferentiable,
  lower: (p, { handle, value, flow_in }) => {
    onArray(p, handle, [value], [], (array, [given]) => {
      scattered(array, given!);
      return [];
    });
    return { flow_out: flow_in };
  },
  cases: () => [{ shape: '[2], [5, ?], [] -> ?' }],
});

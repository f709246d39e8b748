/** @file Making tensor arrays, and the arrays that collect their gradients. */
import { type DType, float32, resource, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { scalar } from '../../core/ndarray.ts';
import { type Dims, showRuntime, withRank } from '../../core/shape.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { anyShape, checkHandle, isChecked, onArray, since, type Version, versions } from './tensorArrayForms.ts';
import { handleOf, TensorArray, uniqueName } from './tensorArrayState.ts';

const flag = (usual: boolean) => attr('bool', { default: usual });
const freeName = attr('string', { default: '' });

interface Creation {
  readonly dtype: DType;
  readonly element_shape: Dims;
  readonly dynamic_size: boolean;
  readonly clear_after_read: boolean;
  readonly tensor_array_name: string;
  readonly identical_element_shapes?: boolean;
}

function create(p: ProgramBuilder, size: Value, attrs: Creation, node: string, version: Version): Value {
  if (size.shape.length > 0)
    throw new InvalidArgumentError(`TensorArray size must be scalar, but had shape: ${showRuntime(size.shape)}`);
  const { handleType: dtype, handleShape: shape } = version;
  return p.host([size], [{ dtype, shape }], ([count], run) => {
    if (count!.numberAt(0) < 0) throw new InvalidArgumentError('Size should be >= 0.');
    const array = new TensorArray({
      name: uniqueName(attrs.tensor_array_name || node),
      dtype: attrs.dtype,
      size: count!.numberAt(0),
      elementShape: attrs.element_shape,
      identicalShapes: attrs.identical_element_shapes ?? false,
      growing: attrs.dynamic_size,
      clearAfterRead: attrs.clear_after_read,
    });
    return [handleOf(array, dtype, run)];
  })[0]!;
}

const noFlow = (p: ProgramBuilder) => p.constant(scalar(float32, 0));

export const TensorArrayV3 = defineOp({
  name: 'TensorArrayV3',
  inputs: { size: 'int32' },
  outputs: { handle: 'resource', flow: 'float32' },
  attrs: {
    dtype: anyType,
    element_shape: anyShape,
    dynamic_size: flag(false),
    clear_after_read: flag(true),
    identical_element_shapes: flag(false),
    tensor_array_name: freeName,
  },
  stateful: true,
  shape: ({ size }) => {
    withRank(size, 0);
    return { handle: [2], flow: [] };
  },
  grad: notDifferentiable,
  lower: (p, { size }, attrs, node) => ({ handle: create(p, size, attrs, node.name, versions[0]!), flow: noFlow(p) }),
  cases: () => [
    { shape: '[] -> [2], []', attrs: { dtype: 'float32' } },
    { shape: '[2]', attrs: { dtype: 'float32' }, rejects: /rank 0/ },
  ],
});

for (const name of ['TensorArrayGradV3', 'TensorArrayGradWithShape'] as const) {
  const prepends = name === 'TensorArrayGradWithShape';
  defineOp({
    name,
    inputs: { handle: 'resource', flow_in: 'float32', ...(prepends && { shape_to_prepend: 'int32' }) },
    outputs: { grad_handle: 'resource', flow_out: 'float32' },
    attrs: { source: attr('string') },
    stateful: true,
    shape: ({ handle }) => {
      checkHandle(handle);
      return { grad_handle: [2], flow_out: [] };
    },
    grad: notDifferentiable,
    lower: (p, { handle, shape_to_prepend: prefix }, { source }) => {
      const [made] = onArray(
        p,
        handle,
        prefix ? [prefix] : [],
        [{ dtype: resource, shape: [] }],
        (array, [dims], run) => [handleOf(array.gradient(source, dims?.numbers()), resource, run)],
      );
      return { grad_handle: made!, flow_out: noFlow(p) };
    },
    cases: () => [
      { shape: prepends ? '[2], [], [1] -> [2], []' : '[2], [] -> [2], []', attrs: { source: 'gradients' } },
    ],
  });
}

export const TensorArrayV2 = defineOp({
  name: 'TensorArrayV2',
  inputs: { size: 'int32' },
  outputs: { handle: 'string' },
  attrs: {
    dtype: anyType,
    element_shape: anyShape,
    dynamic_size: flag(false),
    clear_after_read: flag(true),
    tensor_array_name: freeName,
  },
  stateful: true,
  deprecatedSince: 26,
  shape: ({ size }) => {
    withRank(size, 0);
    return { handle: [2] };
  },
  grad: notDifferentiable,
  lower: (p, { size }, attrs, node) => ({ handle: create(p, size, attrs, node.name, versions[1]!) }),
  cases: () => [{ shape: '[] -> [2]', attrs: { dtype: 'float32' } }],
});

export const TensorArray1 = defineOp({
  name: 'TensorArray',
  inputs: { size: 'int32' },
  outputs: { handle: 'Ref(string)' },
  attrs: {
    dtype: anyType,
    dynamic_size: flag(false),
    clear_after_read: flag(true),
    tensor_array_name: freeName,
    element_shape: anyShape,
  },
  stateful: true,
  deprecatedSince: 16,
  shape: () => ({ handle: null }),
  grad: notDifferentiable,
  lower: (p, { size }, attrs, node) => ({ handle: create(p, size, attrs, node.name, versions[2]!) }),
  cases: () => [{ shape: '[] -> ?', attrs: { dtype: 'float32' } }],
});

for (const version of versions.slice(1))
  defineOp({
    name: `TensorArrayGrad${version.suffix}`,
    inputs: { handle: 'string', flow_in: 'float32' },
    outputs: { grad_handle: version.handle },
    attrs: { source: attr('string') },
    stateful: true,
    ...since(version.deprecated),
    shape: ({ handle }) => {
      if (isChecked(version)) checkHandle(handle);
      return { grad_handle: isChecked(version) ? [2] : null };
    },
    grad: notDifferentiable,
    lower: (p, { handle }, { source }) => ({
      grad_handle: onArray(p, handle, [], [{ dtype: string, shape: [2] }], (array, _, run) => [
        handleOf(array.gradient(source), string, run),
      ])[0]!,
    }),
    cases: () => [{ shape: isChecked(version) ? '[2], [] -> [2]' : '[2], [] -> ?', attrs: { source: 'gradients' } }],
  });

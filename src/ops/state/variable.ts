/** @file Resource variables: the handle, reading, asking whether there is a value, and destroying. */
import { resource } from '../../core/dtypes.ts';
import { NotFoundError } from '../../core/errors.ts';
import { intVector, NDArray } from '../../core/ndarray.ts';
import { anyType, attr, indexTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { checkHandleType, handleInfo, missing, unreadable, variableOf } from './forms.ts';

export const VarHandleOp = defineOp({
  name: 'VarHandleOp',
  inputs: {},
  outputs: { resource: 'resource' },
  attrs: {
    container: attr('string', { default: '' }),
    shared_name: attr('string', { default: '' }),
    debug_name: attr('string', { default: '' }),
    dtype: anyType,
    shape: attr('shape'),
    allowed_devices: attr('list(string)', { default: [] }),
  },
  stateful: true,
  shape: () => ({ resource: [] }),
  grad: notDifferentiable,
  lower: (p, _, { container, shared_name, dtype, shape }, node) => {
    const handle = p.state.variableHandle({ container, name: shared_name || node.name, dtype, shape });
    return { resource: p.constant(new NDArray(resource, [], [handle])) };
  },
  cases: () => [{ shape: '-> []', attrs: { dtype: 'float32', shape: [2, null] } }],
});

export const ReadVariableOp = defineOp({
  name: 'ReadVariableOp',
  inputs: { resource: 'resource' },
  outputs: { value: 'dtype' },
  attrs: { dtype: anyType },
  stateful: true,
  effects: 'reads',
  hostInputs: ['resource'],
  shape: (_, { dtype }, { op }) => {
    checkHandleType(op.inputs[0]!, dtype, 'read');
    return { value: handleInfo(op.inputs[0]!)?.shape ?? null };
  },
  grad: (_, dy) => ({ resource: dy.value }),
  lower: (p, { resource: handle }) => {
    const variable = variableOf(p, handle);
    return { value: p.read(variable, () => unreadable(variable.name)) };
  },
  cases: () => [
    { shape: '[] -> ?', attrs: { dtype: 'float32' } },
    { given: { resource: [1.5, -2] }, expect: { value: [1.5, -2] } },
    {
      given: { resource: { dtype: 'int64', value: [[1], [2]] } },
      expect: { value: { dtype: 'int64', value: [[1], [2]] } },
    },
  ],
});

export const VarIsInitializedOp = defineOp({
  name: 'VarIsInitializedOp',
  inputs: { resource: 'resource' },
  outputs: { is_initialized: 'bool' },
  attrs: {},
  stateful: true,
  hostInputs: ['resource'],
  shape: () => ({ is_initialized: [] }),
  grad: notDifferentiable,
  lower: (p, { resource: handle }) => ({ is_initialized: p.initialized(variableOf(p, handle)) }),
  cases: () => [{ shape: '[] -> []' }, { given: { resource: [1.5] }, expect: { is_initialized: true } }],
});

export const VariableShape = defineOp({
  name: 'VariableShape',
  inputs: { input: 'resource' },
  outputs: { output: 'out_type' },
  attrs: { out_type: indexTypes },
  stateful: true,
  effects: 'reads',
  hostInputs: ['input'],
  shape: (_, __, { op }) => ({ output: [handleInfo(op.inputs[0]!)?.shape?.length ?? null] }),
  partialValue: ({ op }) => handleInfo(op.inputs[0]!)?.shape ?? undefined,
  grad: notDifferentiable,
  lower: (p, { input }, { out_type }) => {
    const variable = variableOf(p, input);
    return { output: p.constant(intVector(p.read(variable, missing(input, variable)).shape, out_type)) };
  },
  cases: () => [
    { shape: '[] -> [?]' },
    {
      given: { input: [[1], [2], [3]] },
      attrs: { out_type: 'int64' },
      expect: { output: { dtype: 'int64', value: [3, 1] } },
    },
  ],
});

export const DestroyResourceOp = defineOp({
  name: 'DestroyResourceOp',
  inputs: { resource: 'resource' },
  outputs: {},
  attrs: { ignore_lookup_error: attr('bool', { default: true }) },
  stateful: true,
  hostInputs: ['resource'],
  shape: () => ({}),
  grad: notDifferentiable,
  lower: (p, { resource: handle }, { ignore_lookup_error }) => {
    p.destroy(handle, () =>
      ignore_lookup_error ? undefined : new NotFoundError('the resource to be destroyed does not exist.'),
    );
    return {};
  },
  cases: () => [{ shape: '[] ->' }],
});

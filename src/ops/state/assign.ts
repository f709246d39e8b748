/** @file Assigning to a variable and adding to or subtracting from it, for handles and references. */
import type { DType } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, sameShape, showRuntime } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { anyType, attr, numbers } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { add, sub } from '../../program/map.ts';
import { checkHandleType, mergeWith, missing, variableOf, variableShapeOf } from './forms.ts';

/** The shape rule of ops that write a value to the variable of a handle. */
function checkAssigned({ value }: { value: Dims }, { dtype }: { dtype: DType }, { op }: { op: Operation }): object {
  const [resource] = op.inputs;
  checkHandleType(resource!, dtype, 'assign');
  mergeWith('the variable', variableShapeOf(resource!), 'value', value);
  return {};
}

export const AssignVariableOp = defineOp({
  name: 'AssignVariableOp',
  inputs: { resource: 'resource', value: 'dtype' },
  outputs: {},
  attrs: { dtype: anyType, validate_shape: attr('bool', { default: false }) },
  stateful: true,
  hostInputs: ['resource'],
  shape: checkAssigned,
  grad: notDifferentiable,
  lower: (p, { resource, value }, { validate_shape }) => {
    const variable = variableOf(p, resource);
    if (validate_shape && p.isInitialized(variable)) {
      const { shape } = p.read(variable, missing(resource, variable));
      if (!sameShape(shape, value.shape))
        throw new InvalidArgumentError(
          `Trying to assign to variable with tensor with wrong shape. Expected ${showRuntime(shape)} got ${showRuntime(value.shape)}`,
        );
    }
    p.assign(variable, value);
    return {};
  },
  cases: () => [
    { shape: '[], [2, ?] ->', attrs: { dtype: 'float32' } },
    { given: { resource: [1, 2], value: [3, 4] }, after: { resource: [3, 4] } },
    {
      given: { resource: [1, 2], value: [3] },
      attrs: { validate_shape: true },
      fails: /wrong shape. Expected \[2\] got \[1\]|must be equal/,
    },
  ],
});

export const Assign = defineOp({
  name: 'Assign',
  inputs: { ref: 'Ref(T)', value: 'T' },
  outputs: { output_ref: 'Ref(T)' },
  attrs: {
    T: anyType,
    validate_shape: attr('bool', { default: true }),
    use_locking: attr('bool', { default: true }),
  },
  allowsUninitializedInput: true,
  shape: ({ ref, value }, { validate_shape }) => ({
    output_ref: validate_shape ? mergeWith('the variable', ref, 'value', value) : value,
  }),
  grad: notDifferentiable,
  lower: (p, { ref, value }, { validate_shape }) => {
    const variable = variableOf(p, ref);
    const { shape } = p.isInitialized(variable) ? p.read(variable, missing(ref, variable)) : ref;
    if (validate_shape && !sameShape(shape, value.shape))
      throw new InvalidArgumentError(
        `Assign requires shapes of both tensors to match. lhs shape= ${showRuntime(shape)} rhs shape= ${showRuntime(value.shape)}`,
      );
    p.assign(variable, value);
    return { output_ref: p.reference(variable) };
  },
  cases: () => [
    { shape: '[2, ?], [?, 3] -> [2, 3]' },
    { shape: '[2, ?], [4] -> [4]', attrs: { validate_shape: false } },
    { shape: '[2, ?], [4]', rejects: /the variable has shape \[2, \?\] but value has shape \[4\]/ },
    { given: { ref: [1, 2], value: [3, 4] }, expect: { output_ref: [3, 4] }, after: { ref: [3, 4] } },
    { given: { ref: [1, 2], value: 3 }, attrs: { validate_shape: false }, after: { ref: 3 } },
  ],
});

/** In-place sums and differences: a row gives the op of each form. */
const updates = { Add: { combine: add, result: [4.5, 1.5] }, Sub: { combine: sub, result: [-1.5, 2.5] } };

for (const [name, { combine, result }] of Object.entries(updates)) {
  defineOp({
    name: `Assign${name}VariableOp`,
    inputs: { resource: 'resource', value: 'dtype' },
    outputs: {},
    attrs: { dtype: anyType },
    stateful: true,
    hostInputs: ['resource'],
    shape: checkAssigned,
    grad: notDifferentiable,
    lower: (p, { resource, value }) => {
      const variable = variableOf(p, resource);
      const before = p.read(variable, missing(resource, variable));
      if (!sameShape(before.shape, value.shape))
        throw new InvalidArgumentError(
          `Cannot update variable with shape ${showRuntime(before.shape)} using a Tensor with shape ${showRuntime(value.shape)}, shapes must be equal.`,
        );
      const after = p.update(variable, missing(resource, variable));
      p.mapInto([before, value], (x, y) => [combine(x, y)], before.shape, [after]);
      return {};
    },
    cases: () => [
      { shape: '[], [2, ?] ->', attrs: { dtype: 'float32' } },
      { given: { resource: [1.5, 2], value: [3, -0.5] }, after: { resource: result } },
      { given: { resource: [1.5, 2], value: [[1]] }, fails: /Cannot update variable with shape \[2\]|must be equal/ },
    ],
  });

  defineOp({
    name: `Assign${name}`,
    inputs: { ref: 'Ref(T)', value: 'T' },
    outputs: { output_ref: 'Ref(T)' },
    attrs: { T: numbers, use_locking: attr('bool', { default: false }) },
    shape: ({ ref, value }) => ({ output_ref: mergeWith('the variable', ref, 'value', value) }),
    grad: notDifferentiable,
    lower: (p, { ref, value }) => {
      const variable = variableOf(p, ref);
      const before = p.read(variable, missing(ref, variable));
      if (!sameShape(before.shape, value.shape))
        throw new InvalidArgumentError('Parameters and update must be the same size');
      const after = p.update(variable, missing(ref, variable));
      p.mapInto([before, value], (x, y) => [combine(x, y)], before.shape, [after]);
      return { output_ref: p.reference(variable) };
    },
    cases: () => [
      { shape: '[2, ?], [?, 3] -> [2, 3]' },
      { given: { ref: [1.5, 2], value: [3, -0.5] }, expect: { output_ref: result }, after: { ref: result } },
      { given: { ref: [1.5, 2], value: [[1]] }, fails: /Parameters and update must be the same size|must be equal/ },
    ],
  });
}

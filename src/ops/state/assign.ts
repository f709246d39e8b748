/** @file Assigning to a variable and adding to or subtracting from it, for handles and references. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { sameShape, showRuntime } from '../../core/shape.ts';
import { anyType, attr, numbers } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { add, sub } from '../../program/map.ts';
import { checkHandleType, mergeWith, missing, variableOf, variableShapeOf } from './forms.ts';

export const AssignVariableOp = defineOp({
  name: 'AssignVariableOp',
  inputs: { resource: 'resource', value: 'dtype' },
  outputs: {},
  attrs: { dtype: anyType, validate_shape: attr('bool', { default: false }) },
  stateful: true,
  hostInputs: ['resource'],
  shape: ({ value }, { dtype }, { op }) => {
    checkHandleType(op.inputs[0]!, dtype, 'assign');
    mergeWith('the variable', variableShapeOf(op.inputs[0]!), 'value', value);
    return {};
  },
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
  cases: () => [{ shape: '[], [2, ?] ->', attrs: { dtype: 'float32' } }],
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
  cases: () => [],
});

/** In-place sums and differences: a row gives the op of each form. */
const updates = { Add: add, Sub: sub };

for (const [name, combine] of Object.entries(updates)) {
  defineOp({
    name: `Assign${name}VariableOp`,
    inputs: { resource: 'resource', value: 'dtype' },
    outputs: {},
    attrs: { dtype: anyType },
    stateful: true,
    hostInputs: ['resource'],
    shape: ({ value }, { dtype }, { op }) => {
      checkHandleType(op.inputs[0]!, dtype, 'assign');
      mergeWith('the variable', variableShapeOf(op.inputs[0]!), 'value', value);
      return {};
    },
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
    cases: () => [{ shape: '[], [2, ?] ->', attrs: { dtype: 'float32' } }],
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
    cases: () => [],
  });
}

/** @file Reference variables, as TensorFlow made them before resources: VariableV2, Variable and temporary ones. */
import { AlreadyExistsError, InvalidArgumentError, NotFoundError } from '../../core/errors.ts';
import { isFullyDefined, type Shape, showShape } from '../../core/shape.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value, VariableState } from '../../program/value.ts';
import { missing, variableOf } from './forms.ts';

/** The variable under a name, made when it is first asked for. */
function named(
  p: ProgramBuilder,
  container: string,
  name: string,
  spec: Pick<Value, 'dtype' | 'shape'>,
): VariableState {
  return p.state.variable(p.state.variableHandle({ container, name, dtype: spec.dtype, shape: spec.shape }));
}

/** `Variable` is the name under which the first GraphDefs know it. */
const names = ['VariableV2', 'Variable'] as const;
for (const name of names)
  defineOp({
    name,
    inputs: {},
    outputs: { ref: 'Ref(dtype)' },
    attrs: {
      shape: attr('shape'),
      dtype: anyType,
      container: attr('string', { default: '' }),
      shared_name: attr('string', { default: '' }),
    },
    stateful: true,
    // In the oldest graphs [] means that the shape is not known.
    shape: (_, { shape }) => ({ ref: name === 'Variable' && shape?.length === 0 ? null : shape }),
    grad: notDifferentiable,
    lower: (p, _, { container, shared_name, dtype, shape }, node) => {
      // A variable of unknown shape begins as a scalar; only an assignment without shape validation can change it.
      const declared: Shape = isFullyDefined(shape) ? shape : [];
      const variable = named(p, container, shared_name || node.name, { dtype, shape: declared });
      const reference = p.reference(variable);
      return { ref: variable.shape ? reference : { ...reference, shape: declared } };
    },
    cases: () => [{ shape: '-> [2, 3]', attrs: { dtype: 'float32', shape: [2, 3] } }],
  });

export const IsVariableInitialized = defineOp({
  name: 'IsVariableInitialized',
  inputs: { ref: 'Ref(dtype)' },
  outputs: { is_initialized: 'bool' },
  attrs: { dtype: anyType },
  allowsUninitializedInput: true,
  shape: () => ({ is_initialized: [] }),
  grad: notDifferentiable,
  lower: (p, { ref }) => ({ is_initialized: p.initialized(variableOf(p, ref)) }),
  cases: () => [{ shape: '[2, ?] -> []' }, { given: { ref: [1.5] }, expect: { is_initialized: true } }],
});

/** For each name of a temporary variable, the nodes of one program that make and destroy it. */
interface Temporaries {
  readonly makers: Map<string, string>;
  readonly destroyers: Map<string, string>;
}
const temporaries = new WeakMap<object, Temporaries>();

/** A name can be made and destroyed by one node each; a node that is lowered again is still the same node. */
function temporariesOf(p: ProgramBuilder): Temporaries {
  let found = temporaries.get(p.state);
  if (!found) temporaries.set(p.state, (found = { makers: new Map(), destroyers: new Map() }));
  return found;
}

export const TemporaryVariable = defineOp({
  name: 'TemporaryVariable',
  inputs: {},
  outputs: { ref: 'Ref(dtype)' },
  attrs: { shape: attr('shape'), dtype: anyType, var_name: attr('string', { default: '' }) },
  stateful: true,
  shape: (_, { shape }) => ({ ref: shape }),
  grad: notDifferentiable,
  lower: (p, _, { shape, dtype, var_name }, node) => {
    if (!isFullyDefined(shape))
      throw new InvalidArgumentError(`the shape of a temporary variable must be known, not ${showShape(shape)}`);
    const name = var_name || node.name;
    const { makers } = temporariesOf(p);
    if ((makers.get(name) ?? node.name) !== node.name)
      throw new AlreadyExistsError(
        `Resource __per_step/${name}/TmpVar already exists: '${makers.get(name)}' makes it too.`,
      );
    makers.set(name, node.name);
    const variable = named(p, '__temporary', name, { dtype, shape });
    // Its content lasts for one step and is undefined at first; zeros keep runs alike.
    p.assign(variable, p.fill(dtype, shape, 0));
    return { ref: p.reference(variable) };
  },
  cases: () => [{ shape: '-> [2, 3]', attrs: { dtype: 'float32', shape: [2, 3] } }],
});

export const DestroyTemporaryVariable = defineOp({
  name: 'DestroyTemporaryVariable',
  inputs: { ref: 'Ref(T)' },
  outputs: { value: 'T' },
  attrs: { T: anyType, var_name: attr('string') },
  shape: ({ ref }) => ({ value: ref }),
  grad: notDifferentiable,
  lower: (p, { ref }, { var_name }, node) => {
    const { makers, destroyers } = temporariesOf(p);
    if (!makers.has(var_name) || (destroyers.get(var_name) ?? node.name) !== node.name)
      throw new NotFoundError(`Resource __per_step/${var_name}/TmpVar does not exist.`);
    destroyers.set(var_name, node.name);
    const variable = variableOf(p, ref);
    return { value: p.read(variable, missing(ref, variable)) };
  },
  cases: () => [{ shape: '[2, ?] -> [2, ?]', attrs: { var_name: 'sum' } }],
});

/** @file Functions about all variables of a graph: listing, initializing, checking; and assignment as functions. */

import { string } from '../core/dtypes.ts';
import { getDefaultGraph, type ScopeArgument } from '../graph/graph.ts';
import type { Operation } from '../graph/operation.ts';
import { onlyOptions } from '../graph/options.ts';
import { colocateWith, device, nameScope } from '../graph/scopes.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { node, outputOf } from '../op/node.ts';
import { booleanMask, constant, stack } from '../ops/array/index.ts';
import { group, noOp } from '../ops/flow/index.ts';
import { logicalNot } from '../ops/math/index.ts';
import { type AssignOptions, BaseVariable, type Updated, type UpdateOptions } from './baseVariable.ts';
import { GraphKeys, getCollection } from './collections.ts';
import type { Variable } from './variable.ts';

/** All variables of the default graph that are shared between machines. */
export function globalVariables(scope?: ScopeArgument): Variable[] {
  return getCollection(GraphKeys.GLOBAL_VARIABLES, scope);
}
/** All variables that optimizers train by default. */
export function trainableVariables(scope?: ScopeArgument): Variable[] {
  return getCollection(GraphKeys.TRAINABLE_VARIABLES, scope);
}
/** Variables that belong to one process: counters of epochs, of metrics. */
export function localVariables(scope?: ScopeArgument): Variable[] {
  return getCollection(GraphKeys.LOCAL_VARIABLES, scope);
}
/** Variables that make up a model. */
export function modelVariables(scope?: ScopeArgument): Variable[] {
  return getCollection(GraphKeys.MODEL_VARIABLES, scope);
}
/** Variables that have moving averages. */
export function movingAverageVariables(scope?: ScopeArgument): Variable[] {
  return getCollection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope);
}
/** The old name of `globalVariables`. */
export const allVariables = globalVariables;

/** One operation that initializes the given variables. */
export function variablesInitializer(variables: readonly Variable[], options: { name?: string } = {}): Operation {
  const { name = 'init' } = onlyOptions('tf.variablesInitializer', options, 'name');
  return variables.length > 0
    ? group(
        variables.map((v) => v.initializer),
        { name },
      )
    : noOp({ name });
}
/**
 * One operation that initializes all global variables.
 *
 * @example await sess.run(tf.globalVariablesInitializer())
 */
export function globalVariablesInitializer(): Operation {
  return variablesInitializer(globalVariables());
}
/** One operation that initializes all local variables. */
export function localVariablesInitializer(): Operation {
  return variablesInitializer(localVariables());
}
/** The old names of the three above. */
export const initializeVariables = variablesInitializer;
export const initializeAllVariables = globalVariablesInitializer;
export const initializeLocalVariables = localVariablesInitializer;

type VariableLike = BaseVariable | Tensor;

/** Whether a variable has a value. Adds one `VarIsInitializedOp` (or `IsVariableInitialized`) node. */
export function isVariableInitialized(variable: VariableLike, options: { name?: string } = {}): Tensor {
  if (variable instanceof BaseVariable) return variable.isInitialized(options);
  return colocateWith(variable, () => outputOf('IsVariableInitialized', { ref: variable }, options));
}

/** Reference variables that no collection knows, from graphs built without the Variable class. */
function bareVariables(): Tensor[] {
  const types = ['Variable', 'VariableV2', 'AutoReloadVariable'];
  return getDefaultGraph()
    .operations.filter((op) => types.includes(op.type))
    .map((op) => op.outputs[0]!);
}

function variablesToCheck(given: readonly VariableLike[] | undefined): readonly VariableLike[] {
  if (given) return given;
  const known = [...globalVariables(), ...localVariables()];
  return known.length > 0 ? known : bareVariables();
}

/** A tensor that runs to the names of variables that have no value yet. */
export function reportUninitializedVariables(
  variables?: readonly VariableLike[],
  options: { name?: string } = {},
): Tensor {
  onlyOptions('tf.reportUninitializedVariables', options, 'name');
  const list = variablesToCheck(variables);
  return nameScope(options.name ?? 'report_uninitialized_variables', () => {
    const initialized = list.map((v) => isVariableInitialized(v));
    return device('/cpu:0', () => {
      if (list.length === 0) return constant([], { dtype: string });
      const missing = logicalNot(stack(initialized));
      return booleanMask(constant(list.map((v) => v.op.name)), missing);
    });
  });
}

/** An operation that fails when a variable has no value; `null` when there are no variables. */
export function assertVariablesInitialized(variables?: readonly VariableLike[]): Tensor | null {
  const list = variablesToCheck(variables);
  if (list.length === 0) return null;
  const ranks = list.map((v) => colocateWith(v, () => outputOf('Rank', { input: v })));
  return ranks.length === 1 ? ranks[0]! : stack(ranks);
}

// Assignment as functions.
/** Something to assign to: a variable, or the bare output of a reference variable. */
export type Assignable = VariableLike;

function update(
  type: string,
  ref: Assignable,
  inputs: Record<string, TensorLike>,
  options: AssignOptions & { validateShape?: boolean },
  onVariable: (v: BaseVariable) => Updated,
): Updated {
  onlyOptions(type, options, 'name', 'useLocking', 'readValue', 'validateShape');
  if (ref instanceof BaseVariable) return onVariable(ref);
  if (!ref.isRef) throw userError(`${ref} is a value; only variables can be assigned to.`);
  const validate = options.validateShape === undefined ? {} : { validate_shape: options.validateShape };
  const locks = options.useLocking === undefined ? {} : { use_locking: options.useLocking };
  return node(type, { ref, ...inputs }, { name: options.name, attrs: { ...validate, ...locks } }).outputs[0]!;
}

/**
 * Assigns to a variable; gives the new value.
 *
 * @example await sess.run(tf.assign(v, [1, 2])) // [1. 2.]
 */
export function assign(
  ref: Assignable,
  value: TensorLike,
  options: AssignOptions & { validateShape?: boolean } = {},
): Updated {
  return update('Assign', ref, { value }, options, (v) => v.assign(value, { name: options.name }));
}
/** Adds to a variable; gives the new value. */
export function assignAdd(ref: Assignable, value: TensorLike, options: AssignOptions = {}): Updated {
  return update('AssignAdd', ref, { value }, options, (v) => v.assignAdd(value, v.handle ? {} : options));
}
/** Subtracts from a variable; gives the new value. */
export function assignSub(ref: Assignable, value: TensorLike, options: AssignOptions = {}): Updated {
  return update('AssignSub', ref, { value }, options, (v) => v.assignSub(value, v.handle ? {} : options));
}

type Scatter = (ref: Assignable, indices: TensorLike, updates: TensorLike, options?: UpdateOptions) => Updated;

function scatter(type: string): Scatter {
  return (ref, indices, updates, options = {}) =>
    update(type, ref, { indices, updates }, options, (v) => v.scatter(type, indices, updates, options));
}

/** Adds to rows of a variable; repeated rows add up. */
export const scatterAdd: Scatter = scatter('ScatterAdd');
/** Subtracts from rows of a variable. */
export const scatterSub: Scatter = scatter('ScatterSub');
/** Multiplies rows of a variable. */
export const scatterMul: Scatter = scatter('ScatterMul');
/** Divides rows of a variable. */
export const scatterDiv: Scatter = scatter('ScatterDiv');
/** Takes the smaller of rows and updates. */
export const scatterMin: Scatter = scatter('ScatterMin');
/** Takes the larger of rows and updates. */
export const scatterMax: Scatter = scatter('ScatterMax');
/** Replaces rows of a variable. */
export const scatterUpdate: Scatter = scatter('ScatterUpdate');
/** Adds to elements or slices of a variable, picked by index vectors. */
export const scatterNdAdd: Scatter = scatter('ScatterNdAdd');
/** Subtracts from elements or slices of a variable, picked by index vectors. */
export const scatterNdSub: Scatter = scatter('ScatterNdSub');
/** Replaces elements or slices of a variable, picked by index vectors. */
export const scatterNdUpdate: Scatter = scatter('ScatterNdUpdate');

/** A counter that gives its value and adds one, until `limit`. */
export function countUpTo(ref: Assignable, limit: number, options: { name?: string } = {}): Tensor {
  return ref instanceof BaseVariable
    ? ref.countUpTo(limit, options)
    : outputOf('CountUpTo', { ref }, { ...options, attrs: { limit } });
}

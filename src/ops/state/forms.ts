/** @file The two ways ops name a variable, by resource handle or by reference, behind one interface for lowering. */
import { type DType, resource } from '../../core/dtypes.ts';
import {
  FailedPreconditionError,
  InternalError,
  InvalidArgumentError,
  NotFoundError,
  type OpError,
} from '../../core/errors.ts';
import { type Dims, mergeShapes, showShape } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { decodeAttr } from '../../op/attrs.ts';
import { originOf } from '../../op/handles.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value, VariableState } from '../../program/value.ts';

/** `Resource…` ops take a handle and give nothing; the older ops take a reference and give it back. */
export type Form = 'resource' | 'reference';
export const forms: readonly Form[] = ['resource', 'reference'];

/** The port type of a variable whose elements have the type of attribute `type`. */
export const variablePort = (form: Form, type: string): string => (form === 'resource' ? 'resource' : `Ref(${type})`);

/** The variable behind a handle or a reference. */
export function variableOf(p: ProgramBuilder, port: Value): VariableState {
  const variable = port.dtype === resource ? p.variable(port) : port.variable;
  if (!variable) throw new InternalError('the input is not a variable');
  return variable;
}

/** What is said of a variable without a value, when an op that changes it in place comes first. */
export function missing(port: Value, variable: VariableState): () => OpError {
  return port.dtype === resource
    ? () => new NotFoundError(`${noResource(variable.name)} ${remedy}`)
    : () => new FailedPreconditionError(`Attempting to use uninitialized value ${variable.name}`);
}

const noResource = (name: string) => `Resource localhost/${name}/N10tensorflow3VarE does not exist.`;
/** Local variables count epochs and steps of metrics; their initializer is easily forgotten. */
const remedy =
  'Run its initializer first, as tf.globalVariablesInitializer() does for all of them, and tf.localVariablesInitializer() for local ones.';

/** What is said when a resource variable is read before it has a value. */
export function unreadable(name: string): OpError {
  return new FailedPreconditionError(
    `Could not find variable ${name}. This could mean that the variable has been deleted. In TF1, it can also mean the variable is uninitialized. Debug info: container=localhost, status error message=${noResource(name)} ${remedy}`,
  );
}

/** The result of an op that changed a variable: its reference, or nothing. */
export function changed(p: ProgramBuilder, form: Form, port: string, variable: VariableState): Record<string, Value> {
  return form === 'resource' ? {} : { [port]: p.reference(variable) };
}

/** Element type and static shape of the variable a handle leads to, as far as the graph tells. */
export function handleInfo(handle: Tensor): { dtype: DType; shape: Dims } | undefined {
  const { op } = originOf(handle);
  const { dtype, shape } = op.attrs;
  if (op.type !== 'VarHandleOp' || !dtype || !shape) return undefined;
  return {
    // The kinds are those of VarHandleOp's own attributes.
    dtype: decodeAttr('dtype', { kind: 'type' }, dtype) as DType,
    shape: decodeAttr('shape', { kind: 'shape' }, shape) as Dims,
  };
}

/** The static shape of the variable on a port, of either form. */
export function variableShapeOf(tensor: Tensor): Dims {
  return tensor.dtype === resource ? (handleInfo(tensor)?.shape ?? null) : tensor.shape;
}

/** Refuses an op that takes the variable for another type than it has. */
export function checkHandleType(handle: Tensor, dtype: DType, verb: string): void {
  const info = handleInfo(handle);
  if (info && info.dtype !== dtype)
    throw new InvalidArgumentError(
      `Trying to ${verb} variable with wrong dtype. Expected ${info.dtype.runtimeName} got ${dtype.runtimeName}`,
    );
}

/** The merged static shape of a variable and what is to be combined with it; says which two disagree. */
export function mergeWith(what: string, variable: Dims, port: string, value: Dims): Dims {
  try {
    return mergeShapes(variable, value);
  } catch {
    throw new InvalidArgumentError(
      `${what} has shape ${showShape(variable)} but ${port} has shape ${showShape(value)}; they must be equal. Use tf.reshape or tf.broadcastTo on ${port}.`,
    );
  }
}

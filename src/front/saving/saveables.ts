/** @file What savers save: variables, slices of them, and objects that say themselves how they are saved and restored. */

import type { DType } from '../../core/dtypes.ts';
import { compatible, type Dims, isFullyDefined, type Shape, showTuple } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { colocateWith, device, nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { identity } from '../../ops/array/identity.ts';
import { reshape } from '../../ops/array/reshape.ts';
import { Assign, AssignVariableOp } from '../../ops/state/assign.ts';
import { DisableCopyOnRead } from '../../ops/state/disableCopyOnRead.ts';
import { ReadVariableOp } from '../../ops/state/variable.ts';
import { PartitionedVariable } from '../partitioned.ts';
import { type SaveSliceInfo, Variable } from '../variable.ts';

/** One tensor of a checkpoint: its name there, and where its value comes from. */
export interface SaveSpec {
  readonly name: string;
  /** Empty, or which slice of a larger tensor it is: `4 3 0,2:-`. */
  readonly slice: string;
  readonly dtype: DType;
  readonly device: string;
  /** The value; a function adds the nodes that read it when the saver is built. */
  readonly tensor: Tensor | (() => Tensor);
}

/** Something with its own way of being saved and restored: an iterator, a table. */
export interface SaveableObject {
  readonly name: string;
  /** What is saved, so that nothing is saved twice. */
  readonly op: object | null;
  readonly specs: readonly SaveSpec[];
  /** Adds the operation that takes up restored tensors; `shapes` are those of the specs, where they are to be reshaped. */
  restore(tensors: readonly Tensor[], shapes: readonly (TensorLike | Shape)[] | undefined): Operation | Tensor;
}

export type Saveable = Variable | PartitionedVariable | SaveableObject | Tensor;
/** What a saver takes: a list, or a record by the names in checkpoints, where a list of slices has one name. */
export type VarList = readonly Saveable[] | Readonly<Record<string, Saveable | readonly Saveable[]>>;

function isSaveableObject(x: unknown): x is SaveableObject {
  return typeof x === 'object' && x !== null && 'specs' in x && 'restore' in x;
}
export function isSaveable(x: unknown): x is Saveable {
  return x instanceof Variable || x instanceof PartitionedVariable || x instanceof Tensor || isSaveableObject(x);
}

const isList = (x: unknown): x is readonly unknown[] => Array.isArray(x);
const sliceText = ({ fullShape, varOffset, varShape }: SaveSliceInfo) =>
  `${fullShape.join(' ')} ${varOffset.map((start, axis) => `${start},${varShape[axis]}`).join(':')}`;

/** Everything a list or record names, in the order of the names in checkpoints. */
export function saveablesOf(varList: VarList): SaveableObject[] {
  const named = isList(varList) ? byName(varList) : new Map(Object.entries(varList));
  const seen = new Set<object>();
  const sorted = [...named].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return sorted.flatMap(([name, item]) =>
    objectsFor(item, name).map((object) => {
      if (object.op !== null && seen.has(object.op))
        throw userError(`The same saveable will be restored with two names: ${object.name}`);
      if (object.op !== null) seen.add(object.op);
      return object;
    }),
  );
}

/** The name that something has in checkpoints when nobody says. */
function nameOf(item: Saveable): string {
  if (item instanceof Variable) return item.saveSliceInfo?.fullName ?? item.op.name;
  if (item instanceof Tensor) return item.op.type === 'ReadVariableOp' ? item.op.inputs[0]!.op.name : item.op.name;
  return item.name;
}

function byName(list: readonly Saveable[]): Map<string, Saveable | readonly Saveable[]> {
  const flat = (list as readonly unknown[]).flat(Number.POSITIVE_INFINITY);
  const found = new Map<string, Saveable | readonly Saveable[]>();
  const orderOf = (x: Saveable) => x.name;
  const checked = flat.map((item) => {
    if (isSaveable(item)) return item;
    throw userError(`Variables to save should be passed in a record or a list. Got ${String(item)} in it.`);
  });
  for (const item of checked.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : orderOf(a) > orderOf(b) ? 1 : 0))) {
    const name = nameOf(item);
    const before = found.get(name);
    if (item instanceof Variable && item.saveSliceInfo) {
      if (before !== undefined && !isList(before))
        throw userError(`Mixing slices and non-slices with the same name: ${name}`);
      found.set(name, [...(before ?? []), item]);
    } else if (before !== undefined && !isSaveableObject(item))
      throw userError(`At least two variables have the same name: ${name}`);
    else found.set(name, item);
  }
  return found;
}

function objectsFor(item: Saveable | readonly Saveable[], name: string): SaveableObject[] {
  if (isList(item) || item instanceof PartitionedVariable) return slices(isList(item) ? item : [...item], name);
  if (isSaveableObject(item)) return [item];
  if (item instanceof Variable) return [variableObject(item, '', name)];
  return [tensorObject(item, name)];
}

function slices(parts: readonly Saveable[], name: string): SaveableObject[] {
  let whole: string | undefined;
  return parts.map((part) => {
    if (isSaveableObject(part)) return part;
    if (!(part instanceof Variable)) throw userError(`Slices must all be Variables: ${String(part)}`);
    const info = part.saveSliceInfo;
    if (!info) throw userError(`Slices must all be slices: ${part}`);
    whole ??= info.fullName;
    if (whole !== info.fullName)
      throw userError(`Slices must all be from the same tensor: ${whole} != ${info.fullName}`);
    return variableObject(part, sliceText(info), name);
  });
}

function variableObject(variable: Variable, slice: string, name: string): SaveableObject {
  const { handle, dtype } = variable;
  // Python reads slices of resource variables anew and takes the node that is there for whole ones.
  const tensor = handle
    ? slice === ''
      ? variable.asGraphElement()
      : () => readSlice(variable)
    : variable.toTensor({ asRef: slice === '' });
  const spec = { name, slice, dtype, device: variable.device, tensor };
  return {
    name,
    op: variable.target,
    specs: [spec],
    restore: ([value], shapes) =>
      handle
        ? assignHandle(variable, handle, variable.shape, value!, shapes?.[0], name)
        : assignReference(variable, variable.shape, value!, shapes?.[0]),
  };
}

/** The value of a slice, on its way to a file: no copy is made for readers that come later. */
function readSlice(variable: Variable): Tensor {
  const handle = variable.handle!;
  const read = nameScope('Read', () => {
    DisableCopyOnRead.build({ resource: handle });
    return ReadVariableOp.build({ resource: handle }, { attrs: { dtype: variable.dtype } }).value;
  });
  const onItsDevice = <T>(body: () => T): T => (variable.device === '' ? body() : device(variable.device, body));
  return onItsDevice(() => {
    const value = identity(read);
    return device('/device:CPU:0', () => identity(value));
  });
}

/** A bare output of a variable's node, from graphs that were built without the Variable class. */
function tensorObject(tensor: Tensor, name: string): SaveableObject {
  const { op } = tensor;
  const handle = op.type === 'ReadVariableOp' ? op.inputs[0]! : undefined;
  if (!handle && !['Variable', 'VariableV2', 'AutoReloadVariable'].includes(op.type))
    throw userError(
      `names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a variable: ${tensor}`,
    );
  return {
    name,
    op: handle ?? tensor,
    specs: [{ name, slice: '', dtype: tensor.dtype, device: tensor.device, tensor }],
    restore: ([value], shapes) =>
      handle
        ? assignHandle(tensor, handle, tensor.shape, value!, shapes?.[0], name)
        : assignReference(tensor, tensor.shape, value!, shapes?.[0]),
  };
}

function assignHandle(
  { device: place }: { readonly device: string },
  resource: Tensor,
  shape: Dims,
  restored: Tensor,
  to: TensorLike | Shape | undefined,
  name: string,
): Operation {
  const value = to === undefined ? restored : reshape(restored, to);
  if (!compatible(value.shape, shape))
    throw userError(
      `Received incompatible tensor with shape ${showTuple(value.shape)} when attempting to restore variable with shape ${showTuple(shape)} and name ${name}.`,
    );
  const build = () => AssignVariableOp.node({ resource, value: identity(value) });
  return place === '' ? build() : device(place, build);
}

function assignReference(
  ref: Variable | Tensor,
  shape: Dims,
  restored: Tensor,
  to: TensorLike | Shape | undefined,
): Operation {
  const value = to === undefined ? restored : reshape(restored, to);
  const target = ref instanceof Tensor ? ref : ref.target;
  const attrs = { use_locking: true, validate_shape: to === undefined && isFullyDefined(shape) };
  return colocateWith(target, () => Assign.node({ ref: target, value }, { attrs }));
}

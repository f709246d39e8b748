/** @file Slots: variables beside a variable, such as its momentum, named after it and placed with it. */
import type { DType } from '../core/dtypes.ts';
import { isFullyDefined, type Shape } from '../core/shape.ts';
import type { Operation } from '../graph/operation.ts';
import { colocateWith } from '../graph/scopes.ts';
import type { Tensor } from '../graph/tensor.ts';
import { zeros } from '../ops/array/fill.ts';
import { shape } from '../ops/array/shape.ts';
import { type InitializerFunction, zerosInitializer } from './initializers.ts';
import { Variable } from './variable.ts';
import { type GetVariableOptions, getVariableScope, variableScope } from './variableScope.ts';

/** Something with a slot: a variable, or the output of an operation. */
export type Primary = Variable | Tensor;

interface SlotOptions {
  /** False lets the slot be placed anywhere. */
  readonly colocateWithPrimary?: boolean | undefined;
}

const opOf = (primary: Primary): Operation => primary.op;

function makeSlot(
  primary: Primary,
  name: string,
  dims: Shape | undefined,
  options: GetVariableOptions & SlotOptions,
): Variable {
  const { colocateWithPrimary = true, ...rest } = options;
  const useResource = primary instanceof Variable ? primary.handle !== undefined : undefined;
  const make = (): Variable => {
    const scope = getVariableScope();
    // The primary is sliced already; its slots must not be sliced again.
    scope.setPartitioner(undefined);
    const slot = scope.getVariable('', dims, { ...rest, trainable: false, useResource }) as Variable; // not partitioned
    const info = primary instanceof Variable ? primary.saveSliceInfo : undefined;
    if (info && slot.rank !== 0) {
      const own = slot.opName.slice(`${opOf(primary).name}/`.length);
      slot.saveSliceInfo = { ...info, fullName: `${info.fullName}/${own}` };
    }
    return slot;
  };
  return variableScope(null, { defaultName: `${opOf(primary).name}/${name}` }, () =>
    colocateWithPrimary ? colocateWith(primary, make) : make(),
  );
}

/** A slot that begins with a value. */
export function createSlot(
  primary: Primary,
  value: Tensor | Variable,
  name: string,
  options: SlotOptions = {},
): Variable {
  return makeSlot(primary, name, undefined, {
    ...options,
    initializer: value,
    validateShape: isFullyDefined(value.shape),
  });
}

/** A slot whose first value an initializer makes. */
export function createSlotWithInitializer(
  primary: Primary,
  initializer: InitializerFunction,
  dims: Shape,
  dtype: DType,
  name: string,
  options: SlotOptions = {},
): Variable {
  return makeSlot(primary, name, dims, { ...options, initializer, dtype, validateShape: true });
}

/** A slot of zeros, of the primary's shape. */
export function createZerosSlot(
  primary: Primary,
  name: string,
  options: SlotOptions & { dtype?: DType | undefined } = {},
): Variable {
  const { dtype = primary.dtype, ...rest } = options;
  if (isFullyDefined(primary.shape))
    return createSlotWithInitializer(primary, zerosInitializer(), primary.shape, dtype, name, rest);
  const like = primary instanceof Variable ? primary.initialValue : primary;
  return createSlot(primary, zeros(shape(like), { dtype }), name, rest);
}

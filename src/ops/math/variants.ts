/** @file What ZerosLike and AddN ask of the objects in variant tensors, such as tensor lists: gradients flow through them. */
import { variant } from '../../core/dtypes.ts';
import { UnimplementedError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { TensorList } from '../../core/tensorList.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { onArrays, onValues } from '../flow/tensorList/kit.ts';
import { addedLists, zeroList } from '../flow/tensorList/rules.ts';

/** A variant that can carry a gradient. */
export interface AdditiveVariant {
  /** An object of the same form, with zeros in it. */
  zerosLike(): object;
  plus(other: object): object;
}

function additive(value: object, what: string): AdditiveVariant {
  if ('zerosLike' in value && 'plus' in value) return value as AdditiveVariant; // both members are there
  throw new UnimplementedError(`No ${what} function is registered for the variant ${value.constructor.name}`);
}

/** A number in a variant, as clients send it: its C++ type and its bytes. */
interface SerializedNumber {
  readonly type_name: string;
  readonly metadata: Uint8Array;
}
const numberTypes = new Set(['int', 'float', 'double', 'bool']);

function isSerializedNumber(value: object): value is SerializedNumber {
  return (
    'type_name' in value &&
    numberTypes.has(String(value.type_name)) &&
    'metadata' in value &&
    value.metadata instanceof Uint8Array
  );
}

function zerosLike(value: object): object {
  if (value instanceof TensorList) return zeroList(onArrays, value);
  if (isSerializedNumber(value)) return { ...value, metadata: new Uint8Array(value.metadata.length) };
  return additive(value, 'zeros_like').zerosLike();
}

function sum(a: object, b: object): object {
  if (a instanceof TensorList && b instanceof TensorList) return addedLists(onArrays, a, b);
  return additive(a, 'add').plus(b);
}

/** Zeros in the form of each object of an array. */
export const zeroObjects = (x: NDArray): NDArray => new NDArray(variant, x.shape, x.objects.map(zerosLike));

/** Arrays of objects added position by position. */
export const summedObjects = ([first, ...rest]: readonly NDArray[]): NDArray =>
  new NDArray(
    variant,
    first!.shape,
    first!.objects.map((v, i) => rest.reduce((so, other) => sum(so, other.objects[i]!), v)),
  );

/** Zeros of the form of each object. */
export function variantZeros(p: ProgramBuilder, x: Value): Value {
  if (x.list) return p.list(zeroList(onValues(p), x.list));
  const [y] = p.host([x], [{ dtype: variant, shape: x.shape }], ([values]) => [zeroObjects(values!)]);
  return y!;
}

/** The sum of objects of one form, position by position. */
export function variantSum(p: ProgramBuilder, inputs: readonly Value[]): Value {
  const lists = inputs.map((v) => v.list).filter((list) => list !== undefined);
  if (lists.length === inputs.length) return p.list(lists.reduce((a, b) => addedLists(onValues(p), a, b)));
  const { shape } = inputs[0]!;
  const [total] = p.host(inputs, [{ dtype: variant, shape }], (arrays) => [summedObjects(arrays)]);
  return total!;
}

/** @file What ZerosLike and AddN ask of the objects in variant tensors, such as tensor lists: gradients flow through them. */
import { variant } from '../../core/dtypes.ts';
import { UnimplementedError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';

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

/** Zeros of the form of each object. */
export function variantZeros(p: ProgramBuilder, x: Value): Value {
  const [y] = p.host([x], [{ dtype: variant, shape: x.shape }], ([values]) => [
    new NDArray(
      variant,
      x.shape,
      values!.objects.map((v) => additive(v, 'zeros_like').zerosLike()),
    ),
  ]);
  return y!;
}

/** The sum of objects of one form, position by position. */
export function variantSum(p: ProgramBuilder, inputs: readonly Value[]): Value {
  const { shape } = inputs[0]!;
  const [sum] = p.host(inputs, [{ dtype: variant, shape }], ([first, ...rest]) => [
    new NDArray(
      variant,
      shape,
      first!.objects.map((v, i) => rest.reduce((total, other) => additive(total, 'add').plus(other.objects[i]!), v)),
    ),
  ]);
  return sum!;
}

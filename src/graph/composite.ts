/** @file Values made of several tensors, such as indexed slices: how functions and loops take them apart. */
import type { NDArray } from '../core/ndarray.ts';
import type { Dims } from '../core/shape.ts';
import type { Tensor } from './tensor.ts';

/** A class of such values has a method of this name. */
export const composite: unique symbol = Symbol('composite');

export interface Composite {
  /** The tensors it is made of, and the way back from such tensors. */
  [composite](): Decomposed;
}

export interface Decomposed {
  readonly parts: readonly Tensor[];
  /** What tells two values apart that cannot stand for each other: the class, and which parts there are. */
  readonly kind: string;
  from(parts: readonly Tensor[]): unknown;
  /** The shapes of the parts when the value as a whole has a shape; those they have, where this is left out. */
  shapesFor?(dims: Dims): readonly Dims[];
}

export function isComposite(value: unknown): value is Composite {
  return typeof value === 'object' && value !== null && composite in value;
}

/** A class of values that a run can fetch has a method of this name as well. */
export const fetchedValue: unique symbol = Symbol('fetchedValue');

export interface Fetchable<V> extends Composite {
  /** What a run gives for it: its parts' values, put together. */
  [fetchedValue](parts: readonly NDArray[]): V;
}

export function isFetchable(value: unknown): value is Fetchable<unknown> {
  return isComposite(value) && fetchedValue in value;
}

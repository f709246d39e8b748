/** @file What the ops on diagonals of matrices share: their alignment, their options, their usual inputs. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { showRuntime } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import type { Value } from '../../program/value.ts';
import type { Named } from './common.ts';
import type { Band } from './diagonals.ts';

export const mainDiagonal: Band = { lower: 0, upper: 0 };
/** How versions before V3 pack diagonals. */
export const leftLeft = 'LEFT_LEFT';
export const align = attr('string', {
  default: 'RIGHT_LEFT',
  choices: ['LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'],
});

/** How diagonals shorter than the longest lie in their rows: super-diagonals first, then sub-diagonals. */
export type Alignment = 'LEFT_RIGHT' | 'RIGHT_LEFT' | 'LEFT_LEFT' | 'RIGHT_RIGHT';

export interface DiagonalOptions extends Named {
  /** Which diagonal, or the lowest and the highest of a band: 0 is the main one, positive ones lie above it. */
  readonly k?: TensorLike | undefined;
  readonly align?: Alignment | undefined;
  readonly paddingValue?: TensorLike | undefined;
}

/** The options of a gradient that packs diagonals as its op does; versions before V3 take the usual way, as in TensorFlow. */
export function packedAs(k: Tensor, packing: string | undefined): { k: Tensor; align?: Alignment } {
  return packing === undefined ? { k } : { k, align: packing as Alignment }; // the attribute admits only these
}

/** The padding for a type: Python turns it into a bool for bools. */
export function padding(tensor: Tensor | TensorLike, value: TensorLike): TensorLike {
  const isBool = typeof tensor === 'object' && 'dtype' in tensor && tensor.dtype?.name === 'bool';
  return isBool && typeof value === 'number' ? value !== 0 : value;
}

export function checkMatrix(input: Value): void {
  if (input.shape.length < 2)
    throw new InvalidArgumentError(`input must be at least 2-dim, received shape: ${showRuntime(input.shape)}`);
}

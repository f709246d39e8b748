/** @file Ops on the bits of integers: BitwiseAnd and its relatives, shifts, PopulationCount. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import * as e from '../../program/map.ts';
import { type BinaryOp, defineBinary, defineUnary, type NameOption } from './elementwise.ts';
import { integerTypes } from './types.ts';

/** `rows` are x, y and the result, of type int32. */
function defineBitwise(
  name: string,
  element: (x: e.Expr, y: e.Expr) => e.Expr,
  rows: readonly (readonly [x: number, y: number, z: number])[],
  more: { commutative?: boolean; cases?: readonly Case<'x' | 'y', 'z'>[] } = {},
): BinaryOp {
  const column = (i: number) => ({ dtype: 'int32' as const, value: rows.map((row) => row[i]!) });
  return defineBinary({
    name,
    types: integerTypes,
    commutative: more.commutative ?? false,
    element,
    grad: notDifferentiable,
    cases: () => [
      { shape: '[2, ?], [1] -> [2, ?]' },
      { given: { x: column(0), y: column(1) }, expect: { z: column(2) } },
      ...(more.cases ?? []),
    ],
  });
}

const symmetric = { commutative: true };
const andRows = [
  [12, 10, 8],
  [-1, 7, 7],
] as const;
const orRows = [
  [12, 10, 14],
  [-8, 7, -1],
] as const;
const xorRows = [
  [12, 10, 6],
  [-1, 7, -8],
] as const;

export const BitwiseAnd: BinaryOp = defineBitwise('BitwiseAnd', e.and, andRows, symmetric);
export const BitwiseOr: BinaryOp = defineBitwise('BitwiseOr', e.or, orRows, symmetric);
export const BitwiseXor: BinaryOp = defineBitwise('BitwiseXor', e.xor, xorRows, symmetric);
export const LeftShift: BinaryOp = defineBitwise('LeftShift', e.shl, [
  [3, 4, 48],
  [-1, 2, -4],
]);
export const RightShift: BinaryOp = defineBitwise('RightShift', e.shr, [
  [48, 4, 3],
  [-16, 2, -4],
]);

export const Invert = defineUnary({
  name: 'Invert',
  types: integerTypes,
  element: e.invert,
  grad: notDifferentiable,
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: { dtype: 'int32', value: [0, -1, 5] } }, expect: { y: { dtype: 'int32', value: [-1, 0, -6] } } },
    { given: { x: { dtype: 'uint8', value: [0, 255, 5] } }, expect: { y: { dtype: 'uint8', value: [255, 0, 250] } } },
  ],
});

const unsignedOf = new Map<number, DType>([
  [1, d.uint8],
  [2, d.uint16],
  [4, d.uint32],
  [8, d.uint64],
]);

/** Counts set bits by adding neighbours: pairs, then fours, then bytes; the product sums the bytes into the highest. */
function countBits(x: e.Expr): e.Expr {
  // By way of the unsigned type of the same width, so that a sign does not spread into the upper bits.
  const bits = e.cast(e.cast(x, unsignedOf.get(x.dtype.size)!), d.uint64);
  const pairs = e.sub(bits, e.and(e.shr(bits, 1n), 0x5555555555555555n));
  const fours = e.add(e.and(pairs, 0x3333333333333333n), e.and(e.shr(pairs, 2n), 0x3333333333333333n));
  const bytes = e.and(e.add(fours, e.shr(fours, 4n)), 0x0f0f0f0f0f0f0f0fn);
  return e.cast(e.shr(e.mul(bytes, 0x0101010101010101n), 56n), d.uint8);
}

export const PopulationCount = defineOp({
  name: 'PopulationCount',
  inputs: { x: 'T' },
  outputs: { y: 'uint8' },
  attrs: { T: attr('type', { allowed: integerTypes }) },
  shape: ({ x }) => ({ y: x }),
  grad: notDifferentiable,
  lower: e.pointwise((x) => countBits(x!)),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: { dtype: 'int8', value: [-1, 0, 5] } }, expect: { y: { dtype: 'uint8', value: [8, 0, 2] } } },
    { given: { x: { dtype: 'int64', value: [-1, 255] } }, expect: { y: { dtype: 'uint8', value: [64, 8] } } },
  ],
});

/**
 * How many bits are set. Adds one `PopulationCount` node.
 *
 * @example tf.populationCount([7, 8]) // runs to [3 1]
 */
export function populationCount(x: TensorLike, options: NameOption = {}): Tensor {
  return PopulationCount.build({ x }, options).y;
}

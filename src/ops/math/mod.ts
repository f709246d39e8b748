/** @file Remainders: FloorMod takes the divisor's sign, Mod and TruncateMod the dividend's. */
import { int32, int64 } from '../../core/dtypes.ts';
import { gradientPending } from '../../op/defineOp.ts';
import { floormod as floorRemainder, truncmod as truncatedRemainder } from '../../program/map.ts';
import { reduceGradients } from './broadcast.ts';
import { conj } from './complex.ts';
import { floorDiv } from './divide.ts';
import { type BinaryFunction, binaryFunction, defineBinary } from './elementwise.ts';
import { negative } from './neg.ts';
import { times } from './operators.ts';
import { floatTypes, orderedTypes } from './types.ts';

const noGradient = gradientPending('TensorFlow has none either; tf.floormod has one');

export const FloorMod = defineBinary({
  name: 'FloorMod',
  types: orderedTypes,
  element: floorRemainder,
  grad({ x, y, dy }) {
    const cx = conj(x);
    const cy = conj(y);
    const whole = floorDiv(cx, cy);
    return reduceGradients(cx, cy, dy, times(dy, negative(whole)));
  },
  integers: (x, y) => (y === 0 ? null : ((x % y) + y) % y),
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { given: { x: [-7.5, 7.5, 5.25], y: [2, -2, 3] }, expect: { z: [0.5, -0.5, 2.25] } },
    {
      given: { x: { dtype: 'int32', value: [-7, 7] }, y: { dtype: 'int32', value: [2, -2] } },
      expect: { z: { dtype: 'int32', value: [1, -1] } },
    },
    {
      given: { x: { dtype: 'int32', value: [7] }, y: { dtype: 'int32', value: [0] } },
      fails: /Integer division by zero/,
    },
  ],
});

/**
 * The remainder of `floor(x / y)`, which has the sign of `y`. Adds one `FloorMod` node.
 *
 * @example tf.floormod([-7, 7], 3) // runs to [2 1]
 */
export const floormod: BinaryFunction = binaryFunction(FloorMod);
/** Another name of `floormod`. */
export const mod: BinaryFunction = floormod;

const truncatedCases = [
  { shape: '[2, ?], [1] -> [2, ?]' },
  { given: { x: [-7.5, 7.5], y: [2, -2] }, expect: { z: [-1.5, 1.5] }, differentiable: false as const },
  {
    given: { x: { dtype: 'int32' as const, value: [-7, 7] }, y: { dtype: 'int32' as const, value: [2, -2] } },
    expect: { z: { dtype: 'int32' as const, value: [-1, 1] } },
  },
];

export const Mod = defineBinary({
  name: 'Mod',
  types: [int32, int64, ...floatTypes],
  element: truncatedRemainder,
  grad: noGradient,
  cases: () => truncatedCases,
});

export const TruncateMod = defineBinary({
  name: 'TruncateMod',
  types: [int32, int64, ...floatTypes],
  element: truncatedRemainder,
  grad: noGradient,
  cases: () => truncatedCases,
});

/**
 * The remainder of `x / y` cut towards zero, which has the sign of `x`. Adds one `TruncateMod` node.
 *
 * @example tf.truncatemod([-7, 7], 3) // runs to [-1  1]
 */
export const truncatemod: BinaryFunction = binaryFunction(TruncateMod);

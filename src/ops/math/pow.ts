/** @file Pow: one tensor to the power of another. */
import type { Broadcasted, BroadcastsWith, CommonDType } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { pow as power } from '../../program/map.ts';
import { reduceGradients } from './broadcast.ts';
import { greater, notEqual } from './compare.ts';
import { conj } from './complex.ts';
import { defineBinary, type NameOption } from './elementwise.ts';
import { log } from './exp.ts';
import { simplifyPower } from './identities.ts';
import { minus, times } from './operators.ts';
import { where } from './select.ts';
import { floatAndComplexTypes, signedIntegerTypes } from './types.ts';
import { onesLike, zerosLike } from './zerosLike.ts';

export const Pow = defineBinary({
  name: 'Pow',
  types: [...floatAndComplexTypes, ...signedIntegerTypes],
  element: power,
  simplify: simplifyPower,
  grad({ x, y, z, dy }) {
    const cx = conj(x);
    const cy = conj(y);
    const dx = times(times(dy, cy), pow(cx, minus(cy, 1)));
    // log x is taken only where it exists: elsewhere the power does not change with y, or has no real derivative.
    const mask = x.dtype.isComplex ? notEqual(cx, 0) : greater(cx, 0);
    const safe = where(mask, cx, onesLike(x));
    const logX = where(mask, log(safe), zerosLike(x));
    return reduceGradients(x, y, dx, times(times(dy, conj(z)), logX));
  },
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { given: { x: [2, 3, 4], y: [3, 2, 0.5] }, expect: { z: [8, 9, 2] } },
    {
      given: { x: [[2], [3]], y: [2, 3] },
      expect: {
        z: [
          [4, 8],
          [9, 27],
        ],
      },
    },
    {
      given: { x: [0, 0, -8], y: [0, -1, 1 / 3] },
      expect: { z: [1, Number.POSITIVE_INFINITY, Number.NaN] },
      differentiable: false,
    },
    {
      given: { x: { dtype: 'int32', value: [2, -3] }, y: { dtype: 'int32', value: [10, 3] } },
      expect: { z: { dtype: 'int32', value: [1024, -27] } },
    },
    {
      given: { x: { dtype: 'int32', value: [2] }, y: { dtype: 'int32', value: [-1] } },
      fails: /Integers to negative integer powers are not allowed/,
    },
  ],
});

/**
 * `x` to the power of `y`, element by element. Adds one `Pow` node.
 *
 * @example tf.pow([2, 3], [3, 2]) // runs to [8 9]
 */
export function pow<A extends TensorLike, B extends TensorLike>(
  x: A,
  y: BroadcastsWith<A, B>,
  options?: NameOption,
): Tensor<CommonDType<A, B>, Broadcasted<A, B>>;
export function pow(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor {
  return Pow.build({ x, y }, options).z;
}

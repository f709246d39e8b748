/** @file Sub and SquaredDifference: how far two tensors are apart. */
import { int32, int64 } from '../../core/dtypes.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import { conj, sub as difference, mul } from '../../program/map.ts';
import { reduceGradients, shapesEqual } from './broadcast.ts';
import { type BinaryFunction, binaryFunction, defineBinary } from './elementwise.ts';
import { simplifyDifference } from './identities.ts';
import { scalarMul } from './multiply.ts';
import { negated } from './neg.ts';
import { minus, times } from './operators.ts';
import { arithmeticTypes, floatAndComplexTypes } from './types.ts';

export const Sub = defineBinary({
  name: 'Sub',
  types: arithmeticTypes,
  element: difference,
  grad({ x, y, dy, skips }) {
    if (skips(1) && y.rank === 0) return [dy, null];
    if (shapesEqual(x, y, dy)) return [dy, negated(dy)];
    return reduceGradients(x, y, skips(0) ? null : dy, skips(1) ? null : negated(dy));
  },
  integers: (x, y) => x - y,
  simplify: simplifyDifference,
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { shape: '[2], [3]', rejects: /Dimensions must be equal, but are 2 and 3/ },
    { given: { x: [1.5, -2], y: [0.25, 2] }, expect: { z: [1.25, -4] } },
    {
      given: { x: [[1], [2]], y: [10, 20] },
      expect: {
        z: [
          [-9, -19],
          [-8, -18],
        ],
      },
    },
    {
      given: { x: { dtype: 'uint8', value: [3, 4] }, y: { dtype: 'uint8', value: 5 } },
      expect: { z: { dtype: 'uint8', value: [254, 255] } },
    },
  ],
});

/**
 * `x - y`, element by element. Adds one `Sub` node.
 *
 * @example tf.subtract([5, 7], 2) // runs to [3 5]
 */
export const subtract: BinaryFunction = binaryFunction(Sub);
/** Another name of `subtract`. */
export const sub: BinaryFunction = subtract;

export const SquaredDifference = defineBinary({
  name: 'SquaredDifference',
  types: [...floatAndComplexTypes, int32, int64],
  commutative: true,
  element(x, y) {
    const apart = difference(x, y);
    return mul(apart, x.dtype.isComplex ? conj(apart) : apart);
  },
  grad({ x, y, dy, skips }) {
    const dx = controlDependencies([dy], () => times(scalarMul(2, dy), minus(x, y)));
    if (shapesEqual(x, y, dy)) return [dx, negated(dx)];
    return reduceGradients(x, y, skips(0) ? null : dx, skips(1) ? null : negated(dx));
  },
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { given: { x: [1, 5], y: [3, 4.5] }, expect: { z: [4, 0.25] } },
    {
      given: { x: [[1], [2]], y: [3, 4] },
      expect: {
        z: [
          [4, 9],
          [1, 4],
        ],
      },
    },
    {
      given: { x: { dtype: 'complex64', value: { re: 1, im: 2 } }, y: { dtype: 'complex64', value: { re: 0, im: 0 } } },
      expect: { z: { dtype: 'complex64', value: { re: 5, im: 0 } } },
      differentiable: false,
    },
  ],
});

/**
 * `(x - y)²`, element by element; of complex numbers `|x - y|²`. Adds one `SquaredDifference` node.
 *
 * @example tf.squaredDifference([1, 5], [3, 4]) // runs to [4 1]
 */
export const squaredDifference: BinaryFunction = binaryFunction(SquaredDifference);

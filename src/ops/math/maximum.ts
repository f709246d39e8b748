/** @file Maximum and Minimum: the larger and the smaller of two elements. */
import type { Tensor } from '../../graph/tensor.ts';
import { max, min } from '../../program/map.ts';
import { reduceGradients } from './broadcast.ts';
import { greaterEqual, lessEqual } from './compare.ts';
import {
  type BinaryFunction,
  type BinaryNode,
  binaryFunction,
  defineBinary,
  type GradientPair,
} from './elementwise.ts';
import { whereV2 } from './select.ts';
import { orderedTypes } from './types.ts';
import { zerosLike } from './zerosLike.ts';

/** The gradient goes to the operand that was chosen: to x where `chooses(x, y)`. */
function chosen({ x, y, dy }: BinaryNode, chooses: (x: Tensor, y: Tensor) => Tensor): GradientPair {
  const zeros = zerosLike(dy);
  const mask = chooses(x, y);
  const dx = whereV2(mask, dy, zeros);
  return reduceGradients(x, y, dx, whereV2(mask, zeros, dy));
}

export const Maximum = defineBinary({
  name: 'Maximum',
  types: orderedTypes,
  element: max,
  grad: (node) => chosen(node, greaterEqual),
  integers: Math.max,
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { given: { x: [1, 5, -2], y: [3, 4, -7] }, expect: { z: [3, 5, -2] } },
    {
      given: { x: [[1], [9]], y: [3, 4] },
      expect: {
        z: [
          [3, 4],
          [9, 9],
        ],
      },
    },
    {
      given: { x: [Number.NaN, 1], y: [1, Number.NaN] },
      expect: { z: [Number.NaN, Number.NaN] },
      differentiable: false,
    },
    {
      given: { x: { dtype: 'uint8', value: [200, 3] }, y: { dtype: 'uint8', value: 100 } },
      expect: { z: { dtype: 'uint8', value: [200, 100] } },
    },
  ],
});

/**
 * The larger of `x` and `y`, element by element; NaN if either is. Adds one `Maximum` node.
 *
 * @example tf.maximum([1, 5], 3) // runs to [3 5]
 */
export const maximum: BinaryFunction = binaryFunction(Maximum);

export const Minimum = defineBinary({
  name: 'Minimum',
  types: orderedTypes,
  element: min,
  grad: (node) => chosen(node, lessEqual),
  integers: Math.min,
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { given: { x: [1, 5, -2], y: [3, 4, -7] }, expect: { z: [1, 4, -7] } },
    {
      given: { x: [Number.NaN, 1], y: [1, Number.NaN] },
      expect: { z: [Number.NaN, Number.NaN] },
      differentiable: false,
    },
    {
      given: { x: { dtype: 'int64', value: [-200, 3] }, y: { dtype: 'int64', value: 1 } },
      expect: { z: { dtype: 'int64', value: [-200, 1] } },
    },
  ],
});

/**
 * The smaller of `x` and `y`, element by element; NaN if either is. Adds one `Minimum` node.
 *
 * @example tf.minimum([1, 5], 3) // runs to [1 3]
 */
export const minimum: BinaryFunction = binaryFunction(Minimum);

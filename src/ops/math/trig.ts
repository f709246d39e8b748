/** @file Trigonometric functions and their inverses: Sin, Cos, Tan, Asin, Acos, Atan, Atan2. */
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import * as e from '../../program/map.ts';
import { constant } from '../array/constant.ts';
import { add } from './add.ts';
import { reduceGradients } from './broadcast.ts';
import { conj } from './complex.ts';
import { broadcastPorts, defineUnary, type NameOption, type UnaryFunction, unaryFunction } from './elementwise.ts';
import { negated, negative } from './neg.ts';
import { over, plus, times } from './operators.ts';
import { reciprocal, sqrt, square } from './sqrt.ts';
import { subtract } from './subtract.ts';
import { floatAndComplexTypes, floatTypes } from './types.ts';

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

export const Sin = defineUnary({
  name: 'Sin',
  types: floatAndComplexTypes,
  element: e.sin,
  grad: ({ x, dy }) => controlDependencies([dy], () => times(dy, cos(conj(x)))),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 1, -2.5] }, expect: { y: [0, 0.8414709848078965, -0.5984721441039564] } },
    { given: { x: [inf, nan] }, expect: { y: [nan, nan] }, differentiable: false },
  ],
});

/**
 * The sine. Adds one `Sin` node.
 *
 * @example tf.sin([0.5, 1]) // runs to [0.47942555 0.84147096]
 */
export const sin: UnaryFunction = unaryFunction(Sin);

export const Cos = defineUnary({
  name: 'Cos',
  types: floatAndComplexTypes,
  element: e.cos,
  grad: ({ x, dy }) =>
    controlDependencies([dy], () => {
      const cx = conj(x);
      return times(negated(dy), sin(cx));
    }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 1, -2.5] }, expect: { y: [1, 0.5403023058681398, -0.8011436155469337] } },
  ],
});

/**
 * The cosine. Adds one `Cos` node.
 *
 * @example tf.cos([0.0, 0.5]) // runs to [1.         0.87758255]
 */
export const cos: UnaryFunction = unaryFunction(Cos);

export const Tan = defineUnary({
  name: 'Tan',
  types: floatAndComplexTypes,
  element: e.tan,
  grad: ({ x, dy }) => controlDependencies([dy], () => times(square(reciprocal(cos(conj(x)))), dy)),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 1, -2.5] }, expect: { y: [0, 1.5574077246549023, 0.7470222972386603] } },
  ],
});

/**
 * The tangent. Adds one `Tan` node.
 *
 * @example tf.tan([0.5, 1]) // runs to [0.5463025 1.5574077]
 */
export const tan: UnaryFunction = unaryFunction(Tan);

/** `1 / sqrt(1 - x²)`. */
function inverseRoot(x: Tensor, dy: Gradient): Tensor {
  const squared = square(conj(x));
  const one = constant(1, { dtype: dy.dtype });
  return reciprocal(sqrt(subtract(one, squared)));
}

export const Asin = defineUnary({
  name: 'Asin',
  types: floatAndComplexTypes,
  element: e.asin,
  grad: ({ x, dy }) => controlDependencies([dy], () => times(dy, inverseRoot(x, dy))),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 0.5, -0.9] }, expect: { y: [0, 0.5235987755982989, -1.1197695149986342] } },
    { given: { x: [1, 2] }, expect: { y: [Math.PI / 2, nan] }, differentiable: false },
  ],
});

/**
 * The angle whose sine is `x`. Adds one `Asin` node.
 *
 * @example tf.asin([0.5, 1]) // runs to [0.5235988 1.5707964]
 */
export const asin: UnaryFunction = unaryFunction(Asin);

export const Acos = defineUnary({
  name: 'Acos',
  types: floatAndComplexTypes,
  element: e.acos,
  grad: ({ x, dy }) =>
    controlDependencies([dy], () => {
      const slope = inverseRoot(x, dy);
      return times(negated(dy), slope);
    }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 0.5, -0.9] }, expect: { y: [Math.PI / 2, 1.0471975511965979, 2.6905658417935308] } },
    { given: { x: [2] }, expect: { y: [nan] }, differentiable: false },
  ],
});

/**
 * The angle whose cosine is `x`. Adds one `Acos` node.
 *
 * @example tf.acos([0.5, 1]) // runs to [1.0471976 0.       ]
 */
export const acos: UnaryFunction = unaryFunction(Acos);

export const Atan = defineUnary({
  name: 'Atan',
  types: floatAndComplexTypes,
  element: e.atan,
  grad: ({ x, dy }) =>
    controlDependencies([dy], () => {
      const squared = square(conj(x));
      const one = constant(1, { dtype: dy.dtype });
      return times(dy, reciprocal(add(one, squared)));
    }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 1, -2.5] }, expect: { y: [0, Math.PI / 4, -1.1902899496825317] } },
    { given: { x: [inf] }, expect: { y: [Math.PI / 2] }, differentiable: false },
  ],
});

/**
 * The angle whose tangent is `x`. Adds one `Atan` node.
 *
 * @example tf.atan([0.5, 1]) // runs to [0.4636476 0.7853982]
 */
export const atan: UnaryFunction = unaryFunction(Atan);

export const Atan2 = defineOp({
  name: 'Atan2',
  inputs: { y: 'T', x: 'T' },
  outputs: { z: 'T' },
  attrs: { T: attr('type', { allowed: floatTypes }) },
  shape: ({ y, x }) => ({ z: broadcastPorts(['y', y], ['x', x]) }),
  grad: ({ inputs: { y, x } }, { z: dz }) =>
    controlDependencies([dz], () => {
      const scaled = over(dz, plus(square(y), square(x)));
      const forY = times(x, scaled);
      const [dy, dx] = reduceGradients(y, x, forY, times(negative(y), scaled));
      return { y: dy, x: dx };
    }),
  lower: e.pointwise((y, x) => e.atan2(y!, x!)),
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { given: { y: [1, -1, 2], x: [1, -1, -3] }, expect: { z: [Math.PI / 4, -2.356194490192345, 2.5535900500422257] } },
    {
      given: { y: [[1], [2]], x: [3, -4] },
      expect: {
        z: [
          [0.3217505543966422, 2.896613990462929],
          [0.5880026035475675, 2.677945044588987],
        ],
      },
    },
  ],
});

/**
 * The angle of the point (x, y), between -π and π. Adds one `Atan2` node.
 *
 * @example tf.atan2([1.0, -1.5], [1.0, -1.5]) // runs to [ 0.7853982 -2.3561945]
 */
export function atan2(y: TensorLike, x: TensorLike, options: NameOption = {}): Tensor {
  return Atan2.build({ y, x }, options).z;
}

/** @file Hyperbolic functions and their inverses: Sinh, Cosh, Asinh, Acosh, Atanh; Tanh is in sigmoid.ts. */
import { controlDependencies } from '../../graph/scopes.ts';
import * as e from '../../program/map.ts';
import { constant } from '../array/constant.ts';
import { conj } from './complex.ts';
import { defineUnary, type UnaryFunction, unaryFunction } from './elementwise.ts';
import { over, times } from './operators.ts';
import { reciprocal, square } from './sqrt.ts';
import { subtract } from './subtract.ts';
import { floatAndComplexTypes } from './types.ts';

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

export const Sinh = defineUnary({
  name: 'Sinh',
  types: floatAndComplexTypes,
  element: e.sinh,
  grad: ({ x, dy }) => controlDependencies([dy], () => times(dy, cosh(conj(x)))),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 1, -2.5] }, expect: { y: [0, 1.1752011936438014, -6.0502044810397875] } },
  ],
});

/**
 * The hyperbolic sine. Adds one `Sinh` node.
 *
 * @example tf.sinh([0.5, 1]) // runs to [0.5210953 1.1752012]
 */
export const sinh: UnaryFunction = unaryFunction(Sinh);

export const Cosh = defineUnary({
  name: 'Cosh',
  types: floatAndComplexTypes,
  element: e.cosh,
  grad: ({ x, dy }) => controlDependencies([dy], () => times(dy, sinh(conj(x)))),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 1, -2.5] }, expect: { y: [1, 1.543080634815244, 6.132289479663686] } },
  ],
});

/**
 * The hyperbolic cosine. Adds one `Cosh` node.
 *
 * @example tf.cosh([0.0]) // runs to [1.]
 */
export const cosh: UnaryFunction = unaryFunction(Cosh);

export const Asinh = defineUnary({
  name: 'Asinh',
  types: floatAndComplexTypes,
  element: e.asinh,
  grad: ({ y, dy }) => controlDependencies([dy], () => over(dy, cosh(conj(y)))),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 1, -2.5] }, expect: { y: [0, 0.881373587019543, -1.6472311463710958] } },
  ],
});

/**
 * The inverse of the hyperbolic sine. Adds one `Asinh` node.
 *
 * @example tf.asinh([0.0, 1.0]) // runs to [0.        0.8813736]
 */
export const asinh: UnaryFunction = unaryFunction(Asinh);

export const Acosh = defineUnary({
  name: 'Acosh',
  types: floatAndComplexTypes,
  element: e.acosh,
  grad: ({ y, dy }) => controlDependencies([dy], () => over(dy, sinh(conj(y)))),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [1.5, 2, 10] }, expect: { y: [0.9624236501192069, 1.3169578969248166, 2.993222846126381] } },
    { given: { x: [1, 0.5] }, expect: { y: [0, nan] }, differentiable: false },
  ],
});

/**
 * The inverse of the hyperbolic cosine. Adds one `Acosh` node.
 *
 * @example tf.acosh([1.0]) // runs to [0.]
 */
export const acosh: UnaryFunction = unaryFunction(Acosh);

export const Atanh = defineUnary({
  name: 'Atanh',
  types: floatAndComplexTypes,
  element: e.atanh,
  grad: ({ x, dy }) =>
    controlDependencies([dy], () => {
      const squared = square(conj(x));
      const one = constant(1, { dtype: dy.dtype });
      return times(dy, reciprocal(subtract(one, squared)));
    }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 0.5, -0.9] }, expect: { y: [0, 0.5493061443340548, -1.4722194895832204] } },
    { given: { x: [1, 2] }, expect: { y: [inf, nan] }, differentiable: false },
  ],
});

/**
 * The inverse of the hyperbolic tangent. Adds one `Atanh` node.
 *
 * @example tf.atanh([0.5, 0]) // runs to [0.54930615 0.        ]
 */
export const atanh: UnaryFunction = unaryFunction(Atanh);

/** @file Exponentials and logarithms: Exp, Expm1, Log, Log1p. */
import { controlDependencies } from '../../graph/scopes.ts';
import * as e from '../../program/map.ts';
import { conj } from './complex.ts';
import { defineUnary, type UnaryFunction, unaryFunction } from './elementwise.ts';
import { simplifyLog } from './identities.ts';
import { plus, times } from './operators.ts';
import { reciprocal } from './sqrt.ts';
import { floatAndComplexTypes } from './types.ts';

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

export const Exp = defineUnary({
  name: 'Exp',
  types: floatAndComplexTypes,
  element: e.exp,
  grad: ({ y, dy }) => controlDependencies([dy], () => times(dy, conj(y))),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 1, -2.5] }, expect: { y: [1, Math.E, 0.0820849986238988] } },
    { given: { x: [1000, -1000, nan] }, expect: { y: [inf, 0, nan] }, differentiable: false },
    {
      given: { x: { dtype: 'complex128', value: { re: 0, im: 1 } } },
      expect: { y: { dtype: 'complex128', value: { re: 0.5403023058681398, im: 0.8414709848078965 } } },
    },
  ],
});

/**
 * `e` to the power of `x`. Adds one `Exp` node.
 *
 * @example tf.exp([0.5, 1]) // runs to [1.6487212 2.7182817]
 */
export const exp: UnaryFunction = unaryFunction(Exp);

export const Expm1 = defineUnary({
  name: 'Expm1',
  types: floatAndComplexTypes,
  element: e.expm1,
  grad: ({ x, dy }) => controlDependencies([dy], () => times(dy, exp(conj(x)))),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 1, 1e-6] }, expect: { y: [0, 1.718281828459045, 1.0000005000001665e-6] } },
  ],
});

/**
 * `exp(x) - 1`, exact also for small `x`. Adds one `Expm1` node.
 *
 * @example tf.expm1([0.5, 1]) // runs to [0.6487213 1.7182819]
 */
export const expm1: UnaryFunction = unaryFunction(Expm1);

export const Log = defineUnary({
  name: 'Log',
  types: floatAndComplexTypes,
  element: e.log,
  grad: ({ x, dy }) => controlDependencies([dy], () => times(dy, reciprocal(conj(x)))),
  simplify: simplifyLog,
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [1, 2, 10] }, expect: { y: [0, Math.LN2, Math.LN10] } },
    { given: { x: [0, -1, inf] }, expect: { y: [-inf, nan, inf] }, differentiable: false },
  ],
});

/**
 * The natural logarithm. Adds one `Log` node.
 *
 * @example tf.log([0.5, 2]) // runs to [-0.6931472  0.6931472]
 */
export const log: UnaryFunction = unaryFunction(Log);

export const Log1p = defineUnary({
  name: 'Log1p',
  types: floatAndComplexTypes,
  element: e.log1p,
  grad: ({ x, dy }) =>
    controlDependencies([dy], () => {
      const cx = conj(x);
      return times(dy, reciprocal(plus(1, cx)));
    }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 1, 1e-6] }, expect: { y: [0, Math.LN2, 9.999995000003334e-7] } },
    { given: { x: [-1, -2] }, expect: { y: [-inf, nan] }, differentiable: false },
  ],
});

/**
 * `log(1 + x)`, exact also for small `x`. Adds one `Log1p` node.
 *
 * @example tf.log1p([0.5, 1]) // runs to [0.4054651 0.6931472]
 */
export const log1p: UnaryFunction = unaryFunction(Log1p);

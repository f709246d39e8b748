/** @file The error function and its relatives: Erf, Erfc, Erfinv, Ndtri. */
import { float32 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import type { Gradient } from '../../op/registry.ts';
import * as e from '../../program/map.ts';
import { constant } from '../array/constant.ts';
import { conj } from './complex.ts';
import { defineUnary, type NameOption, type UnaryFunction, unaryFunction } from './elementwise.ts';
import { exp } from './exp.ts';
import { negative } from './neg.ts';
import { over, times } from './operators.ts';
import { square } from './sqrt.ts';
import { floatTypes } from './types.ts';

const { POSITIVE_INFINITY: inf } = Number;

/** `dy · slope · exp(-x²)`: the bell curve that the error functions integrate. */
function bell(x: Tensor, dy: Gradient, slope: number): Tensor {
  const factor = constant(slope, { dtype: dy.dtype });
  return controlDependencies([dy], () => {
    const cx = conj(x);
    return times(times(dy, factor), exp(negative(square(cx))));
  });
}

export const Erf = defineUnary({
  name: 'Erf',
  types: floatTypes,
  element: e.erf,
  grad: ({ x, dy }) => bell(x, dy, 2 / Math.sqrt(Math.PI)),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 0.5, -2] }, expect: { y: [0, 0.5204998778130465, -0.9953222650189527] } },
    { given: { x: [inf] }, expect: { y: [1] }, differentiable: false },
  ],
});

/**
 * The error function. Adds one `Erf` node.
 *
 * @example tf.erf([0.5, 1]) // runs to [0.5204999 0.8427008]
 */
export const erf: UnaryFunction = unaryFunction(Erf);

export const Erfc = defineUnary({
  name: 'Erfc',
  types: floatTypes,
  element: e.erfc,
  grad: ({ x, dy }) => bell(x, dy, -2 / Math.sqrt(Math.PI)),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 0.5, 2] }, expect: { y: [1, 0.4795001221869535, 0.004677734981047266] } },
  ],
});

/**
 * `1 - erf(x)`, exact also where it is small. Adds one `Erfc` node.
 *
 * @example tf.erfc([0.5, 1]) // runs to [0.47950011 0.1572992 ]
 */
export const erfc: UnaryFunction = unaryFunction(Erfc);

export const Erfinv = defineUnary({
  name: 'Erfinv',
  types: floatTypes,
  element: e.erfinv,
  grad({ y, dy }) {
    const factor = constant(Math.sqrt(Math.PI) / 2, { dtype: dy.dtype });
    return controlDependencies([dy], () => times(times(dy, factor), exp(square(y))));
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 0.5, -0.9] }, expect: { y: [0, 0.4769362762044699, -1.1630871536766743] } },
    { given: { x: [1, -1] }, expect: { y: [inf, -inf] }, differentiable: false },
  ],
});

/**
 * The inverse of the error function. Adds one `Erfinv` node under `erfinv/`.
 *
 * @example tf.math.erfinv([0.5, 0]) // runs to [0.47693628 0.        ]
 */
export function erfinv(x: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.erfinv', options, 'name');
  return nameScope(options.name ?? 'erfinv', () => Erfinv.build({ x }).y);
}

export const Ndtri = defineUnary({
  name: 'Ndtri',
  types: floatTypes,
  element: e.ndtri,
  grad({ y, dy }) {
    const factor = constant(Math.sqrt(2 * Math.PI), { dtype: dy.dtype });
    return controlDependencies([dy], () => times(times(dy, factor), exp(over(square(y), 2))));
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0.5, 0.25, 0.99] }, expect: { y: [0, -0.6744897501960817, 2.3263478740408408] } },
    { given: { x: [0, 1] }, expect: { y: [-inf, inf] }, differentiable: false },
  ],
});

/**
 * The value below which a standard normal variable stays with probability `x`. Adds one `Ndtri` node under `ndtri/`.
 *
 * @example tf.math.ndtri([0.5, 0.25]) // runs to [ 0.         -0.67448974]
 */
export function ndtri(x: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.ndtri', options, 'name');
  return nameScope(options.name ?? 'ndtri', () => Ndtri.build({ x }).y);
}

/**
 * The inverse of `erfc`. Adds `mul`, `Ndtri`, `Neg` and `mul` nodes under `erfcinv/`.
 *
 * @example tf.math.erfcinv([1.0, 2.0]) // runs to [  0. -inf]
 */
export function erfcinv(x: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.erfcinv', options, 'name');
  return nameScope(options.name ?? 'erfcinv', () => {
    const start = convertToTensor(x, { name: 'start', hint: float32 });
    return times(negative(ndtri(times(0.5, start))), Math.SQRT1_2);
  });
}

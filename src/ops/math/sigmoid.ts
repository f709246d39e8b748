/** @file Sigmoid and Tanh, the S-shaped functions, with the ops that their gradients use. */
import { float32 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import * as e from '../../program/map.ts';
import { softplus } from '../nn/index.ts';
import { conj } from './complex.ts';
import { defineUnary, type NameOption, type UnaryFunction, unaryFunction } from './elementwise.ts';
import { defineGradientOp, type GradientOp } from './gradientOps.ts';
import { Neg, negative } from './neg.ts';
import { minus, times } from './operators.ts';
import { floatAndComplexTypes } from './types.ts';

export const Sigmoid = defineUnary({
  name: 'Sigmoid',
  types: floatAndComplexTypes,
  element: e.sigmoid,
  grad: ({ y, dy }) => controlDependencies([dy], () => SigmoidGrad.build({ y: conj(y), dy }).z),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 1, -2] }, expect: { y: [0.5, 0.7310585786300049, 0.11920292202211755] } },
    { given: { x: [1000, -1000] }, expect: { y: [1, 0] } },
  ],
});

/**
 * `1 / (1 + exp(-x))`. Adds one `Sigmoid` node.
 *
 * @example tf.sigmoid([0, 1.5]) // runs to [0.5       0.8175745]
 */
export const sigmoid: UnaryFunction = unaryFunction(Sigmoid);

export const SigmoidGrad: GradientOp = defineGradientOp({
  name: 'SigmoidGrad',
  element: (y, dy) => e.mul(e.mul(dy, y), e.sub(1, y)),
  grad({ y, dy, dz }) {
    const a = conj(y);
    const b = conj(dy);
    const scaled = times(dz, b);
    return [minus(scaled, times(times(2, scaled), a)), SigmoidGrad.build({ y: a, dy: dz }).z];
  },
  cases: () => [
    { shape: '[2, ?], [?, 3] -> [2, 3]' },
    { given: { y: [0.5, 0.25], dy: [1, 4] }, expect: { z: [0.25, 0.75] } },
  ],
});

/**
 * The logarithm of the sigmoid, exact also for large negative `x`. Adds `Neg`, `Softplus` and `Neg` nodes.
 *
 * @example tf.logSigmoid([-1000.0]) // runs to [-1000.]
 */
export function logSigmoid(x: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.logSigmoid', options, 'name');
  return nameScope(options.name ?? 'LogSigmoid', (name) => {
    const value = convertToTensor(x, { name: 'x', hint: float32 });
    return Neg.build({ x: softplus(negative(value)) }, { name }).y;
  });
}

export const Tanh = defineUnary({
  name: 'Tanh',
  types: floatAndComplexTypes,
  element: e.tanh,
  grad: ({ y, dy }) => controlDependencies([dy], () => TanhGrad.build({ y: conj(y), dy }).z),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0, 1, -2] }, expect: { y: [0, 0.7615941559557649, -0.9640275800758169] } },
    { given: { x: [1000, -1000] }, expect: { y: [1, -1] } },
  ],
});

/**
 * The hyperbolic tangent. Adds one `Tanh` node.
 *
 * @example tf.tanh([0.5, 100]) // runs to [0.46211717 1.        ]
 */
export const tanh: UnaryFunction = unaryFunction(Tanh);

export const TanhGrad: GradientOp = defineGradientOp({
  name: 'TanhGrad',
  element: (y, dy) => e.mul(dy, e.sub(1, e.mul(y, y))),
  grad({ y, dy, dz }) {
    const a = conj(y);
    const b = conj(dy);
    return [times(times(times(dz, -2), b), a), TanhGrad.build({ y: a, dy: dz }).z];
  },
  cases: () => [
    { shape: '[2, ?], [?, 3] -> [2, 3]' },
    { given: { y: [0.5, -0.25], dy: [1, 4] }, expect: { z: [0.75, 3.75] } },
  ],
});

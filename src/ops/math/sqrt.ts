/** @file Powers with fixed exponents: Square, Sqrt, Rsqrt, Reciprocal, and the ops that their gradients use. */
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import type { Case } from '../../op/cases.ts';
import * as e from '../../program/map.ts';
import { constant } from '../array/constant.ts';
import { conj } from './complex.ts';
import { defineUnary, type UnaryFunction, unaryFunction } from './elementwise.ts';
import { defineGradientOp, type GradientOp } from './gradientOps.ts';
import { multiply } from './multiply.ts';
import { negative } from './neg.ts';
import { over, times } from './operators.ts';
import { arithmeticTypes, floatAndComplexTypes, signedTypes } from './types.ts';

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

export const Square = defineUnary({
  name: 'Square',
  types: arithmeticTypes,
  element: e.square,
  grad: ({ x, dy }) =>
    controlDependencies([dy], () => {
      const cx = conj(x);
      const two = constant(2, { dtype: x.dtype });
      return multiply(dy, multiply(cx, two));
    }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [-1.5, 0, 3] }, expect: { y: [2.25, 0, 9] } },
    { given: { x: { dtype: 'uint8', value: [16, 20] } }, expect: { y: { dtype: 'uint8', value: [0, 144] } } },
    {
      given: { x: { dtype: 'complex64', value: { re: 1, im: 2 } } },
      expect: { y: { dtype: 'complex64', value: { re: -3, im: 4 } } },
    },
  ],
});

/**
 * `x · x`. Adds one `Square` node.
 *
 * @example tf.square([-2, 3]) // runs to [4 9]
 */
export const square: UnaryFunction = unaryFunction(Square);

export const Sqrt = defineUnary({
  name: 'Sqrt',
  types: floatAndComplexTypes,
  element: e.sqrt,
  grad: ({ y, dy }) => SqrtGrad.build({ y, dy }).z,
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [4, 2, 0.25] }, expect: { y: [2, Math.SQRT2, 0.5] } },
    { given: { x: [0, -1, inf] }, expect: { y: [0, nan, inf] }, differentiable: false },
  ],
});

/**
 * The square root. Adds one `Sqrt` node.
 *
 * @example tf.sqrt([4, 2.25]) // runs to [2.  1.5]
 */
export const sqrt: UnaryFunction = unaryFunction(Sqrt);

export const SqrtGrad: GradientOp = defineGradientOp({
  name: 'SqrtGrad',
  element: (y, dy) => unlessZero(dy, e.div(e.mul(dy, 0.5), conjugate(y))),
  grad({ y, z, dz }) {
    const scaled = over(dz, y);
    const first = times(negative(conj(scaled)), z);
    return [first, times(0.5, scaled)];
  },
  cases: () => [
    { shape: '[2, ?], [?, 3] -> [2, 3]' },
    { given: { y: [2, 0.5], dy: [1, 3] }, expect: { z: [0.25, 3] } },
    { given: { y: [0, 0], dy: [0, 1] }, expect: { z: [0, inf] }, differentiable: false },
  ],
});

export const Rsqrt = defineUnary({
  name: 'Rsqrt',
  types: floatAndComplexTypes,
  element: e.rsqrt,
  grad: ({ y, dy }) => RsqrtGrad.build({ y, dy }).z,
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [4, 2, 0.25] }, expect: { y: [0.5, Math.SQRT1_2, 2] } },
    { given: { x: [0, -1] }, expect: { y: [inf, nan] }, differentiable: false },
  ],
});

/**
 * `1 / sqrt(x)`. Adds one `Rsqrt` node.
 *
 * @example tf.rsqrt([4, 0.25]) // runs to [0.5 2. ]
 */
export const rsqrt: UnaryFunction = unaryFunction(Rsqrt);

export const RsqrtGrad: GradientOp = defineGradientOp({
  name: 'RsqrtGrad',
  element(y, dy) {
    const cy = conjugate(y);
    return unlessZero(dy, e.mul(e.mul(e.mul(dy, cy), -0.5), e.mul(cy, cy)));
  },
  grad({ y, dy, dz }) {
    const cy = conj(y);
    const first = times(times(times(-1.5, conj(dz)), dy), square(cy));
    return [first, RsqrtGrad.build({ y: cy, dy: dz }).z];
  },
  cases: () => [
    { shape: '[2, ?], [?, 3] -> [2, 3]' },
    { given: { y: [2, 0.5], dy: [1, 3] }, expect: { z: [-4, -0.1875] } },
  ],
});

const reciprocalCases = () =>
  [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [4, -0.5] }, expect: { y: [0.25, -2] } },
    { given: { x: [0] }, expect: { y: [inf] }, differentiable: false },
    {
      given: { x: { dtype: 'complex64', value: { re: 0, im: 2 } } },
      expect: { y: { dtype: 'complex64', value: { re: 0, im: -0.5 } } },
    },
  ] as const;

export const Reciprocal = defineUnary({
  name: 'Reciprocal',
  types: signedTypes,
  element: e.reciprocal,
  grad: ({ y, dy }) => ReciprocalGrad.build({ y, dy }).z,
  cases: reciprocalCases,
});

export const Inv = defineUnary({
  name: 'Inv',
  types: signedTypes,
  element: e.reciprocal,
  grad: ({ y, dy }) => ReciprocalGrad.build({ y, dy }).z,
  cases: reciprocalCases,
});

/**
 * `1 / x`. Adds one `Reciprocal` node.
 *
 * @example tf.reciprocal([4, 0.5]) // runs to [0.25 2.  ]
 */
export const reciprocal: UnaryFunction = unaryFunction(Reciprocal);

function reciprocalGradient(y: e.Expr, dy: e.Expr): e.Expr {
  const cy = conjugate(y);
  return unlessZero(dy, e.mul(e.neg(e.mul(cy, cy)), dy));
}

function reciprocalGradGrad({ y, dy, dz }: { y: Tensor; dy: Tensor; dz: TensorLike }): readonly [Tensor, Tensor] {
  const cy = conj(y);
  const first = times(times(times(conj(dz), -2), dy), cy);
  return [first, ReciprocalGrad.build({ y: cy, dy: dz }).z];
}

const reciprocalGradCases = (): readonly Case<'y' | 'dy', 'z'>[] => [
  { shape: '[2, ?], [?, 3] -> [2, 3]' },
  { given: { y: [2, 0.5], dy: [1, 3] }, expect: { z: [-4, -0.75] } },
  { given: { y: [1e30, 1e-30], dy: [1e-30, Infinity] }, expect: { z: [-Infinity, Number.NaN] }, differentiable: false },
];

export const ReciprocalGrad: GradientOp = defineGradientOp({
  name: 'ReciprocalGrad',
  element: reciprocalGradient,
  grad: reciprocalGradGrad,
  cases: reciprocalGradCases,
});

export const InvGrad: GradientOp = defineGradientOp({
  name: 'InvGrad',
  element: reciprocalGradient,
  grad: reciprocalGradGrad,
  cases: reciprocalGradCases,
});

/** No gradient stays none, also where the slope is infinite. */
const unlessZero = (dy: e.Expr, product: e.Expr) => e.select(e.eq(dy, 0), 0, product);

/** The complex conjugate; real numbers are their own. */
function conjugate(x: e.Expr): e.Expr {
  return x.dtype.isComplex ? e.conj(x) : x;
}

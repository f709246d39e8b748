/** @file The gamma function's family: Lgamma, Digamma, Igamma, Igammac, Zeta, Polygamma. */
import { float32, float64 } from '../../core/dtypes.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import * as e from '../../program/map.ts';
import { constant } from '../array/constant.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { BroadcastGradientArgs } from './broadcast.ts';
import { conj } from './complex.ts';
import { broadcastPorts, defineUnary, type NameOption, type UnaryFunction, unaryFunction } from './elementwise.ts';
import { exp, log } from './exp.ts';
import { IgammaGradA } from './igammaGradA.ts';
import { negated, negative } from './neg.ts';
import { minus, plus, times } from './operators.ts';
import { reduceSum } from './reductions.ts';
import { floatTypes } from './types.ts';

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

const float64s = (value: readonly number[]) => ({ dtype: 'float64', value }) as const;
/** Numbers so large that their powers and gammas are infinite. */
const beyond = { a: float64s([1e308, 1e308, 1e306]), x: float64s([3, 1.7e308, 1.7e308]) };

export const Lgamma = defineUnary({
  name: 'Lgamma',
  types: floatTypes,
  element: e.lgamma,
  grad: ({ x, dy }) => controlDependencies([dy], () => times(dy, digamma(conj(x)))),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0.5, 4, 10.5] }, expect: { y: [0.5723649429247001, 1.791759469228055, 13.940625219403763] } },
    { given: { x: [0, -1] }, expect: { y: [inf, inf] }, differentiable: false },
  ],
});

/**
 * The logarithm of the absolute value of the gamma function. Adds one `Lgamma` node.
 *
 * @example tf.lgamma([0.5, 4]) // runs to [0.5723649 1.7917595]
 */
export const lgamma: UnaryFunction = unaryFunction(Lgamma);

export const Digamma = defineUnary({
  name: 'Digamma',
  types: floatTypes,
  element: e.digamma,
  grad: ({ x, dy }) =>
    controlDependencies([dy], () => {
      const cx = conj(x);
      const first = constant(1, { dtype: x.dtype });
      return times(dy, polygamma(first, cx));
    }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [0.5, 4, 10.5] }, expect: { y: [-1.9635100260214235, 1.2561176684318003, 2.302998591694823] } },
    { given: { x: [-1] }, expect: { y: [nan] }, differentiable: false },
    { given: { x: [2 ** -100, -(2 ** -100)] }, expect: { y: [-(2 ** 100), 2 ** 100] }, differentiable: false },
  ],
});

/**
 * The derivative of `lgamma`. Adds one `Digamma` node.
 *
 * @example tf.digamma([0.5, 4]) // runs to [-1.96351    1.2561177]
 */
export const digamma: UnaryFunction = unaryFunction(Digamma);

/** Shapes of two operands and the axes along which each was repeated, always found at run time. */
function runtimeAxes(a: Tensor, x: Tensor): { sa: Tensor; sx: Tensor; ra: Tensor; rx: Tensor } {
  const sa = shape(a);
  const sx = shape(x);
  const { r0, r1 } = BroadcastGradientArgs.build({ s0: sa, s1: sx });
  return { sa, sx, ra: r0, rx: r1 };
}

function igammaGradient(a: Tensor, x: Tensor, dy: Gradient): readonly [Tensor, Tensor] {
  const { sa, sx, ra, rx } = runtimeAxes(a, x);
  return controlDependencies([dy], () => {
    const partialA = IgammaGradA.build({ a, x }).z;
    // In log space, because Γ(a) overflows long before the quotient does.
    const opposite = negative(x);
    const partialX = exp(minus(plus(opposite, times(minus(a, 1), log(x))), lgamma(a)));
    return [reshape(reduceSum(times(partialA, dy), ra), sa), reshape(reduceSum(times(partialX, dy), rx), sx)];
  });
}

export const Igamma = defineOp({
  name: 'Igamma',
  inputs: { a: 'T', x: 'T' },
  outputs: { z: 'T' },
  attrs: { T: attr('type', { allowed: floatTypes }) },
  shape: ({ a, x }) => ({ z: broadcastPorts(['a', a], ['x', x]) }),
  grad({ inputs }, { z: dy }) {
    const [a, x] = igammaGradient(inputs.a, inputs.x, dy);
    return { a, x };
  },
  lower: e.pointwise((a, x) => e.igamma(a!, x!)),
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    {
      given: { a: [0.5, 3, 10], x: [0.25, 2, 12] },
      expect: { z: [0.5204998778130465, 0.3233235838169365, 0.7576078383294877] },
    },
    { given: { a: [1, -1], x: [0, 1] }, expect: { z: [0, nan] }, differentiable: false },
    { given: { a: [0, -1, 1e37, 1e37], x: [0, 0, 3, 3e38] }, expect: { z: [0, 0, 0, 1] }, differentiable: false },
    { given: beyond, expect: { z: float64s([0, 1, 1]) }, differentiable: false },
  ],
});

/**
 * The lower incomplete gamma function, divided by Γ(a). Adds one `Igamma` node.
 *
 * @example tf.igamma([0.5, 3], [0, Infinity]) // runs to [0. 1.]
 */
export function igamma(a: TensorLike, x: TensorLike, options: NameOption = {}): Tensor {
  return Igamma.build({ a, x }, options).z;
}

export const Igammac = defineOp({
  name: 'Igammac',
  inputs: { a: 'T', x: 'T' },
  outputs: { z: 'T' },
  attrs: { T: attr('type', { allowed: floatTypes }) },
  shape: ({ a, x }) => ({ z: broadcastPorts(['a', a], ['x', x]) }),
  grad({ inputs }, { z: dy }) {
    const [a, x] = igammaGradient(inputs.a, inputs.x, dy);
    const opposite = negated(a);
    return { a: opposite, x: negated(x) };
  },
  lower: e.pointwise((a, x) => e.igammac(a!, x!)),
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    {
      given: { a: [0.5, 3, 10], x: [0.25, 2, 12] },
      expect: { z: [0.4795001221869535, 0.6766764161830635, 0.2423921616705123] },
    },
    { given: { a: [1e37, 1e37], x: [3, 3e38] }, expect: { z: [1, 0] }, differentiable: false },
    { given: beyond, expect: { z: float64s([1, 0, 0]) }, differentiable: false },
  ],
});

/**
 * The upper incomplete gamma function, divided by Γ(a). Adds one `Igammac` node.
 *
 * @example tf.igammac([0.5, 3], [0, Infinity]) // runs to [1. 0.]
 */
export function igammac(a: TensorLike, x: TensorLike, options: NameOption = {}): Tensor {
  return Igammac.build({ a, x }, options).z;
}

export const Zeta = defineOp({
  name: 'Zeta',
  inputs: { x: 'T', q: 'T' },
  outputs: { z: 'T' },
  attrs: { T: attr('type', { allowed: [float32, float64] }) },
  shape: ({ x, q }) => ({ z: broadcastPorts(['x', x], ['q', q]) }),
  grad({ inputs: { x, q } }, { z: dy }) {
    const { sx, rx } = runtimeAxes(x, q);
    return controlDependencies([dy], () => {
      const cx = conj(x);
      const cq = conj(q);
      const opposite = negative(cx);
      const partial = times(opposite, zeta(plus(cx, 1), cq));
      return { x: null, q: reshape(reduceSum(times(partial, dy), rx), sx) };
    });
  },
  lower: e.pointwise((x, q) => e.zeta(x!, q!)),
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    {
      given: { x: [2, 3, 4.5], q: [1, 2, 0.5] },
      expect: { z: [1.6449340668482266, 0.20205690315959424, 22.8105991461284] },
      // Nothing is passed to x, so second derivatives that mix x and q are not complete.
      differentiable: 'once',
    },
    { given: { x: [3, 1e37, 1e37], q: [inf, 3, 1] }, expect: { z: [0, 0, 1] }, differentiable: false },
  ],
});

/**
 * The Hurwitz zeta function, the sum of `(q + n)^-x` over all n ≥ 0. Adds one `Zeta` node.
 *
 * @example tf.zeta([2.0], [1.0]) // runs to [1.644934]
 */
export function zeta(x: TensorLike, q: TensorLike, options: NameOption = {}): Tensor {
  return Zeta.build({ x, q }, options).z;
}

export const Polygamma = defineOp({
  name: 'Polygamma',
  inputs: { a: 'T', x: 'T' },
  outputs: { z: 'T' },
  attrs: { T: attr('type', { allowed: [float32, float64] }) },
  shape: ({ a, x }) => ({ z: broadcastPorts(['a', a], ['x', x]) }),
  grad({ inputs: { a, x } }, { z: dy }) {
    const { sx, rx } = runtimeAxes(a, x);
    return controlDependencies([dy], () => {
      const order = conj(a);
      const cx = conj(x);
      const partial = polygamma(plus(order, 1), cx);
      return { a: null, x: reshape(reduceSum(times(partial, dy), rx), sx) };
    });
  },
  lower: e.pointwise((a, x) => e.polygamma(a!, x!)),
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    {
      given: { a: [0, 1, 2], x: [0.5, 2, 3] },
      expect: { z: [-1.9635100260214235, 0.6449340668482264, -0.15411380631918847] },
    },
  ],
});

/**
 * The derivative of order `a` of the digamma function. Adds one `Polygamma` node.
 *
 * @example tf.polygamma([1.0], [2.0]) // runs to [0.64493406]
 */
export function polygamma(a: TensorLike, x: TensorLike, options: NameOption = {}): Tensor {
  return Polygamma.build({ a, x }, options).z;
}

/** @file The modified Bessel functions of the first kind, plain and scaled: BesselI0, BesselI0e, BesselI1, BesselI1e. */
import { type DType, float32 } from '../../core/dtypes.ts';
import { makeNumbers } from '../../core/makeArray.ts';
import { fromElements } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import { cast } from './cast.ts';
import { equal } from './compare.ts';
import { div } from './divide.ts';
import type { NameOption, UnaryFunction, UnaryOp } from './elementwise.ts';
import { sign } from './neg.ts';
import { minus, plus, times } from './operators.ts';
import { whereV2 } from './select.ts';
import { reciprocal } from './sqrt.ts';
import { floatTypes } from './types.ts';

/** e^-|x| times the function of an order, 0 or 1. */
function scaled(order: 0 | 1, x: number): number {
  const size = Math.abs(x);
  const side = order === 1 && x < 0 ? -1 : 1;
  if (size <= 30) {
    // The power series: all terms are positive, so nothing cancels.
    const quarter = (size * size) / 4;
    let [term, total] = [order === 0 ? 1 : size / 2, 0];
    for (let k = 1; term > total * 1e-17; k++) {
      total += term;
      term *= quarter / (k * (k + order));
    }
    return side * total * Math.exp(-size);
  }
  // The asymptotic series, whose terms shrink until there are about 2|x| of them.
  let [term, total] = [1, 0];
  for (let k = 1; Math.abs(term) > 1e-17; k++) {
    total += term;
    term *= ((2 * k - 1) ** 2 - 4 * order) / (8 * size * k);
  }
  return (side * total) / Math.sqrt(2 * Math.PI * size);
}

interface BesselSpec {
  readonly name: string;
  element(x: number): number;
  grad(x: Tensor, y: Tensor): Tensor;
  readonly cases: () => readonly Case<'x', 'y'>[];
}

const bessel = ({ name, element, grad, cases }: BesselSpec): UnaryOp =>
  defineOp({
    name,
    inputs: { x: 'T' },
    outputs: { y: 'T' },
    attrs: { T: attr('type', { allowed: floatTypes }) },
    shape: ({ x }) => ({ y: x }),
    grad: ({ inputs, outputs }, { y: dy }: { readonly y: Gradient }) => ({
      x: controlDependencies([dy], () => times(dy, grad(inputs.x, outputs.y))),
    }),
    lower(p, { x }) {
      const { dtype, shape } = x;
      const [y] = p.host([x], [{ dtype, shape }], async ([given]) => {
        const at = given!.numberReader();
        return [await makeNumbers(dtype, shape, (i) => element(at(i)))];
      });
      return { y: y! };
    },
    cases,
  });

/** The function of an op, whose node stands under a scope as Python's does. */
function underScope(scope: string, op: UnaryOp): UnaryFunction {
  return <D extends DType, S extends Dims>(x: Tensor<D, S> | TensorLike, options: NameOption = {}) =>
    nameScope(options.name ?? scope, () => op.build({ x }).y as Tensor<D, S>); // a unary op keeps type and shape
}

const at = [-2, 0, 0.5, 1, 9, 40];
const shapeCase = { shape: '[2, ?] -> [2, ?]' };

export const BesselI0 = bessel({
  name: 'BesselI0',
  element: (x) => scaled(0, x) * Math.exp(Math.abs(x)),
  grad: (x) => besselI1(x),
  cases: () => [
    shapeCase,
    { given: { x: [1, -1] }, expect: { y: [1.2660658777520084, 1.2660658777520084] } },
    { given: { x: [0] }, expect: { y: [1] }, differentiable: 'once' }, // the slope of BesselI1 at 0 is TensorFlow's
    { given: { x: at.filter((x) => x !== 0).slice(0, 4) } },
  ],
});

/**
 * The modified Bessel function of the first kind of order 0. Adds a `BesselI0` node under `bessel_i0/`.
 *
 * @example tf.math.besselI0([0.5, 1]) // runs to [1.0634834 1.2660658]
 */
export const besselI0: UnaryFunction = underScope('bessel_i0', BesselI0);

export const BesselI0e = bessel({
  name: 'BesselI0e',
  element: (x) => scaled(0, x),
  grad: (x, y) => minus(besselI1e(x), times(sign(x), y)),
  cases: () => [
    shapeCase,
    { given: { x: [1, -1] }, expect: { y: [0.46575960759364043, 0.46575960759364043] } },
    { given: { x: at.filter((x) => x !== 0) } },
  ],
});

/**
 * `besselI0(x)` times `exp(-|x|)`, which does not overflow. Adds a `BesselI0e` node.
 *
 * @example tf.math.besselI0e([1, 1000.5]) // runs to [0.4657596 0.0126141]
 */
export const besselI0e: UnaryFunction = underScope('bessel_i0e', BesselI0e);

export const BesselI1 = bessel({
  name: 'BesselI1',
  element: (x) => scaled(1, x) * Math.exp(Math.abs(x)),
  grad: (x, y) => whereV2(equal(x, 0), cast(fromElements(float32, [], [1]), x.dtype), minus(besselI0(x), div(y, x))),
  cases: () => [
    shapeCase,
    { given: { x: [1, -1] }, expect: { y: [0.565159103992485, -0.565159103992485] } },
    // At 0 the slope is 1/2, but TensorFlow's gradient says 1, and so does ours.
    { given: { x: [0] }, expect: { y: [0] }, differentiable: false },
    { given: { x: at.filter((x) => x !== 0).slice(0, 4) } },
  ],
});

/**
 * The modified Bessel function of the first kind of order 1. Adds a `BesselI1` node.
 *
 * @example tf.math.besselI1([0.5, 1]) // runs to [0.25789431 0.5651591]
 */
export const besselI1: UnaryFunction = underScope('bessel_i1', BesselI1);

export const BesselI1e = bessel({
  name: 'BesselI1e',
  element: (x) => scaled(1, x),
  grad: (x, y) => whereV2(equal(x, 0), cast(0.5, x.dtype), minus(besselI0e(x), times(y, plus(sign(x), reciprocal(x))))),
  cases: () => [
    shapeCase,
    { given: { x: [1, -1] }, expect: { y: [0.20791041534970847, -0.20791041534970847] } },
    { given: { x: at.filter((x) => x !== 0) } },
  ],
});

/**
 * `besselI1(x)` times `exp(-|x|)`, which does not overflow. Adds a `BesselI1e` node.
 *
 * @example tf.math.besselI1e([1, 1000.5]) // runs to [0.20791042 0.0126078]
 */
export const besselI1e: UnaryFunction = underScope('bessel_i1e', BesselI1e);

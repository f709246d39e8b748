/** @file Rounding: Floor, Ceil, Round and Rint. */
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import * as e from '../../program/map.ts';
import { defineUnary, type NameOption, type UnaryFunction, type UnaryOp, unaryFunction } from './elementwise.ts';
import { floatTypes, signedTypes } from './types.ts';

const probes = [-1.5, -0.5, 0.5, 1.5, 2.5, 2.7];

function defineRounding(
  name: string,
  element: (x: e.Expr) => e.Expr,
  y: readonly number[],
  types = floatTypes,
): UnaryOp {
  return defineUnary({
    name,
    types,
    element,
    grad: () => null,
    cases: () => [
      { shape: '[2, ?] -> [2, ?]' },
      { given: { x: probes }, expect: { y }, differentiable: false },
      {
        given: { x: [Number.NaN, Number.NEGATIVE_INFINITY] },
        expect: { y: [Number.NaN, Number.NEGATIVE_INFINITY] },
        differentiable: false,
      },
    ],
  });
}

export const Floor: UnaryOp = defineRounding('Floor', e.floor, [-2, -1, 0, 1, 2, 2]);
export const Ceil: UnaryOp = defineRounding('Ceil', e.ceil, [-1, -0, 1, 2, 3, 3]);
/** Halves go to the even neighbour. */
const toNearest = [-2, -0, 0, 2, 2, 3];
export const Rint: UnaryOp = defineRounding('Rint', e.rint, toNearest);
export const Round: UnaryOp = defineRounding('Round', roundElement, toNearest, signedTypes);

/** Integers are whole already; a complex number's parts are rounded each. */
function roundElement(x: e.Expr): e.Expr {
  if (x.dtype.isInteger) return x;
  return x.dtype.isComplex ? e.complex(e.rint(e.real(x)), e.rint(e.imag(x)), x.dtype) : e.rint(x);
}

/**
 * The largest whole number not above `x`. Adds one `Floor` node.
 *
 * @example tf.floor([-1.5, 2.7]) // runs to [-2.  2.]
 */
export const floor: UnaryFunction = unaryFunction(Floor);

/**
 * The smallest whole number not below `x`. Adds one `Ceil` node.
 *
 * @example tf.ceil([-1.5, 2.2]) // runs to [-1.  3.]
 */
export const ceil: UnaryFunction = unaryFunction(Ceil);

/**
 * The nearest whole number, halves to the even one. Adds one `Rint` node.
 *
 * @example tf.rint([0.5, 1.5, 2.7]) // runs to [0. 2. 3.]
 */
export const rint: UnaryFunction = unaryFunction(Rint);

/**
 * The nearest whole number, halves to the even one; integers stay as they are. Adds one `Round` node, none to integers.
 *
 * @example tf.round([0.5, 1.5, 2.7]) // runs to [0. 2. 3.]
 */
export function round(x: TensorLike, options: NameOption = {}): Tensor {
  const value = convertToTensor(x, { name: 'x' });
  return value.dtype.isInteger ? value : Round.build({ x: value }, options).y;
}

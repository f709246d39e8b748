/** @file Division: RealDiv, Div, DivNoNan, TruncateDiv and FloorDiv. */

import type { DType } from '../../core/dtypes.ts';
import { float32 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Broadcasted, BroadcastsWith } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor, isSymbolic } from '../../op/convert.ts';
import {
  ceil,
  type Expr,
  eq,
  floor,
  floordiv as floorQuotient,
  lt,
  div as quotient,
  select,
} from '../../program/map.ts';
import { reduceGradients } from './broadcast.ts';
import { conj } from './complex.ts';
import {
  type BinaryFunction,
  type BinaryNode,
  binaryFunction,
  defineBinary,
  type GradientPair,
  type NameOption,
} from './elementwise.ts';
import { simplifyQuotient } from './identities.ts';
import { negative } from './neg.ts';
import { over, quotientOperands, times } from './operators.ts';
import { arithmeticTypes, floatAndComplexTypes } from './types.ts';

/** The gradient of x / y, where `by` says which op divides. */
const quotientGradient =
  (by: (x: TensorLike, y: TensorLike) => Tensor) =>
  ({ x, y, dy }: BinaryNode): GradientPair => {
    const cx = conj(x);
    const cy = conj(y);
    const dx = by(dy, cy);
    const dyy = times(dy, by(by(negative(cx), cy), cy));
    return reduceGradients(x, y, dx, dyy);
  };

/** The quotient of a positive or a negative number, cut to a whole one. */
const truncated = (x: number, y: number) => (y === 0 ? null : Math.trunc(x / y));

export const RealDiv = defineBinary({
  name: 'RealDiv',
  types: arithmeticTypes,
  element: quotient,
  grad: (node) => quotientGradient(realdiv)(node),
  simplify: simplifyQuotient,
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { shape: '[2], [3]', rejects: /Dimensions must be equal, but are 2 and 3/ },
    { given: { x: [1, -3], y: [4, 2] }, expect: { z: [0.25, -1.5] } },
    {
      given: { x: [[1], [2]], y: [2, 4] },
      expect: {
        z: [
          [0.5, 0.25],
          [1, 0.5],
        ],
      },
    },
    {
      given: { x: [1, 0, -1], y: 0 },
      expect: { z: [Number.POSITIVE_INFINITY, Number.NaN, Number.NEGATIVE_INFINITY] },
      differentiable: false,
    },
    {
      given: {
        x: { dtype: 'complex64', value: [{ re: 5, im: 5 }] },
        y: { dtype: 'complex64', value: [{ re: 3, im: -1 }] },
      },
      expect: { z: { dtype: 'complex64', value: [{ re: 1, im: 2 }] } },
    },
  ],
});

/**
 * `x / y` of two tensors of one float or complex type. Adds one `RealDiv` node.
 *
 * @example tf.realdiv([1.5, 3.5], 2) // runs to [0.75 1.75]
 */
export const realdiv: BinaryFunction = binaryFunction(RealDiv);

/**
 * `x / y` as a fraction, also of integers. Adds one `RealDiv` node named `truediv`, after two `Cast`s for integers.
 *
 * @example tf.truediv([1, 3], 2) // runs to [0.5 1.5]
 */
export function truediv<A extends TensorLike, B extends TensorLike>(
  x: A,
  y: BroadcastsWith<A, B>,
  options?: NameOption,
): Tensor<DType, Broadcasted<A, B>>;
export function truediv(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.truediv', options, 'name');
  return over(x, y, options.name);
}

/**
 * `x / y` as a fraction, also of integers: what `x.div(y)` does. Adds one `RealDiv` node named `truediv`, after two
 * `Cast`s for integers.
 *
 * @example tf.divide([1, 3], 2) // runs to [0.5 1.5]
 */
export function divide<A extends TensorLike, B extends TensorLike>(
  x: A,
  y: BroadcastsWith<A, B>,
  options?: NameOption,
): Tensor<DType, Broadcasted<A, B>>;
export function divide(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.divide', options, 'name');
  if (options.name !== undefined || isSymbolic(x)) return over(x, y, options.name);
  return over(convertToTensor(x, { hint: isSymbolic(y) ? y.dtype : undefined }), y);
}

/**
 * `x / y` of floats, `floor(x / y)` of integers. Adds one `RealDiv` or `FloorDiv` node named `div`.
 *
 * @example tf.div([7, -7], 2) // runs to [ 3 -4]
 */
export function div<A extends TensorLike, B extends TensorLike>(
  x: A,
  y: BroadcastsWith<A, B>,
  options?: NameOption,
): Tensor<DType, Broadcasted<A, B>>;
export function div(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.div', options, 'name');
  return nameScope(options.name ?? 'div', (name) => {
    const a = convertToTensor(x, { name: 'x', hint: isSymbolic(y) ? y.dtype : undefined });
    const b = convertToTensor(y, { name: 'y', ...(isSymbolic(y) ? {} : { dtype: a.dtype }) });
    const op = a.dtype.isFloating || a.dtype.isComplex ? RealDiv : FloorDiv;
    return op.build({ x: a, y: b }, { name }).z;
  });
}

export const Div = defineBinary({
  name: 'Div',
  types: arithmeticTypes,
  element: quotient,
  grad: (node) => quotientGradient(divide)(node),
  integers: truncated,
  simplify: simplifyQuotient,
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { given: { x: [1, -3], y: [4, 2] }, expect: { z: [0.25, -1.5] } },
    {
      given: { x: { dtype: 'int32', value: [7, -7] }, y: { dtype: 'int32', value: 2 } },
      expect: { z: { dtype: 'int32', value: [3, -3] } },
    },
    {
      given: { x: { dtype: 'int32', value: [7] }, y: { dtype: 'int32', value: [0] } },
      fails: /Integer division by zero/,
    },
  ],
});

export const TruncateDiv = defineBinary({
  name: 'TruncateDiv',
  types: arithmeticTypes,
  element: (x, y) => (x.dtype.isFloating ? towardsZero(quotient(x, y)) : quotient(x, y)),
  grad: () => [null, null],
  integers: truncated,
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    {
      given: { x: { dtype: 'int32', value: [7, -7] }, y: { dtype: 'int32', value: 2 } },
      expect: { z: { dtype: 'int32', value: [3, -3] } },
    },
  ],
});

function towardsZero(x: Expr): Expr {
  return select(lt(x, 0), ceil(x), floor(x));
}

/**
 * `x / y` cut towards zero, of integers. Adds one `TruncateDiv` node.
 *
 * @example tf.truncatediv([7, -7], 2) // runs to [ 3 -3]
 */
export const truncatediv: BinaryFunction = binaryFunction(TruncateDiv);

export const FloorDiv = defineBinary({
  name: 'FloorDiv',
  types: arithmeticTypes,
  element: floorQuotient,
  grad: () => [null, null],
  integers: (x, y) => (y === 0 ? null : Math.floor(x / y)),
  simplify: simplifyQuotient,
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { given: { x: [-7.5, 7.5], y: 2 }, expect: { z: [-4, 3] }, differentiable: false },
    {
      given: { x: { dtype: 'int32', value: [7, -7] }, y: { dtype: 'int32', value: [2, 2] } },
      expect: { z: { dtype: 'int32', value: [3, -4] } },
    },
    {
      given: { x: { dtype: 'int64', value: [7] }, y: { dtype: 'int64', value: [0] } },
      fails: /Integer division by zero/,
    },
  ],
});

/**
 * `floor(x / y)`. Adds one `FloorDiv` node named `floordiv`.
 *
 * @example tf.floordiv([7, -7], 2) // runs to [ 3 -4]
 */
export function floordiv<A extends TensorLike, B extends TensorLike>(
  x: A,
  y: BroadcastsWith<A, B>,
  options?: NameOption,
): Tensor<DType, Broadcasted<A, B>>;
export function floordiv(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.floordiv', options, 'name');
  return FloorDiv.build({ x, y }, { name: options.name ?? 'floordiv' }).z;
}
/** `floor(x / y)`, as `floordiv`, but the node is named after its op. Adds one `FloorDiv` node. */
export const floorDiv: BinaryFunction = binaryFunction(FloorDiv);

export const DivNoNan = defineBinary({
  name: 'DivNoNan',
  types: floatAndComplexTypes,
  element: (x, y) => select(eq(y, 0), 0, quotient(x, y)),
  grad({ x, y, dy }) {
    const cx = conj(x);
    const cy = conj(y);
    const dx = divNoNan(dy, cy);
    return reduceGradients(cx, cy, dx, times(dy, divNoNan(divNoNan(negative(cx), cy), cy)));
  },
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { given: { x: [1, 0, 3], y: [0, 0, 2] }, expect: { z: [0, 0, 1.5] }, differentiable: false },
    { given: { x: [1, -3], y: [4, 2] }, expect: { z: [0.25, -1.5] } },
  ],
});

/**
 * `x / y`, but 0 wherever `y` is 0. Adds one `DivNoNan` node named `div_no_nan`, after two `Cast`s for integers.
 *
 * @example tf.divNoNan([1.5, 3], [0, 2]) // runs to [0.  1.5]
 */
export function divNoNan<A extends TensorLike, B extends TensorLike>(
  x: A,
  y: BroadcastsWith<A, B>,
  options?: NameOption,
): Tensor<DType, Broadcasted<A, B>>;
export function divNoNan(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.divNoNan', options, 'name');
  return nameScope(options.name ?? 'div_no_nan', (name) => DivNoNan.build(quotientOperands(x, y), { name }).z);
}

/**
 * `1 / x`, but 0 wherever `x` is 0. Adds a `Const` and one `DivNoNan` node named `reciprocal_no_nan`.
 *
 * @example tf.math.reciprocalNoNan([2, 0.5, 0]) // runs to [0.5 2.  0. ]
 */
export function reciprocalNoNan(x: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.reciprocalNoNan', options, 'name');
  return nameScope(options.name ?? 'reciprocal_no_nan', (name) => {
    const value = convertToTensor(x, { name: 'x', hint: float32 });
    return DivNoNan.build({ x: convertToTensor(1, { dtype: value.dtype, name: 'one' }), y: value }, { name }).z;
  });
}

/** @file Neg, Abs and Sign. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import type { Gradient } from '../../op/registry.ts';
import { abs as magnitude, neg as opposite, sign as signum } from '../../program/map.ts';
import { cast } from './cast.ts';
import { ComplexAbs } from './complex.ts';
import { DivNoNan } from './divide.ts';
import { defineUnary, type NameOption, type UnaryFunction, unaryFunction } from './elementwise.ts';
import { simplifyNegation } from './identities.ts';
import { times } from './operators.ts';
import { floatTypes, signedIntegerTypes, signedTypes } from './types.ts';
import { zerosLike } from './zerosLike.ts';

export const Neg = defineUnary({
  name: 'Neg',
  types: signedTypes,
  element: opposite,
  grad: ({ dy }) => negated(dy),
  integers: (x) => -x,
  simplify: simplifyNegation,
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [1.5, -2, 0] }, expect: { y: [-1.5, 2, -0] } },
    {
      given: { x: { dtype: 'int32', value: [-2147483648, 5] } },
      expect: { y: { dtype: 'int32', value: [-2147483648, -5] } },
    },
    {
      given: { x: { dtype: 'complex64', value: { re: 1, im: -2 } } },
      expect: { y: { dtype: 'complex64', value: { re: -1, im: 2 } } },
    },
  ],
});

/** `-gradient`; rows of a sparse gradient are negated where they are. */
export function negated(gradient: Gradient): Gradient {
  if (!(gradient instanceof IndexedSlices)) return Neg.build({ x: gradient }).y;
  return new IndexedSlices(Neg.build({ x: gradient.values }).y, gradient.indices, gradient.denseShape);
}

/**
 * `-x`. Adds one `Neg` node.
 *
 * @example tf.negative([1, -2]) // runs to [-1  2]
 */
export const negative: UnaryFunction = unaryFunction(Neg);
/** Another name of `negative`. */
export const neg: UnaryFunction = negative;

export const Abs = defineUnary({
  name: 'Abs',
  types: [...floatTypes, ...signedIntegerTypes],
  element: magnitude,
  grad: ({ x, dy }) => times(dy, sign(x)),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [-1.5, 2] }, expect: { y: [1.5, 2] } },
    { given: { x: [-1.5, 2, Number.NEGATIVE_INFINITY] }, expect: { y: [1.5, 2, Number.POSITIVE_INFINITY] } },
    { given: { x: { dtype: 'int8', value: [-5, -128] } }, expect: { y: { dtype: 'int8', value: [5, -128] } } },
  ],
});

/**
 * The absolute value; of complex numbers the magnitude. Adds one `Abs` node, or `ComplexAbs`.
 *
 * @example tf.abs([-1.5, 2]) // runs to [1.5 2. ]
 */
export function abs(x: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.abs', options, 'name');
  return nameScope(options.name ?? 'Abs', (name) => {
    const value = convertToTensor(x, { name: 'x' });
    if (value.dtype.isComplex)
      return ComplexAbs.build({ x: value }, { name, attrs: { Tout: value.dtype.realDtype } }).y;
    return Abs.build({ x: value }, { name }).y;
  });
}

export const Sign = defineUnary({
  name: 'Sign',
  types: signedTypes,
  element: signum,
  grad: ({ x }) => zerosLike(x),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { x: [-1.5, 0, 3] }, expect: { y: [-1, 0, 1] }, differentiable: false },
    { given: { x: [Number.NaN] }, expect: { y: [Number.NaN] }, differentiable: false },
    { given: { x: { dtype: 'int64', value: [-7, 0, 9] } }, expect: { y: { dtype: 'int64', value: [-1, 0, 1] } } },
  ],
});

/**
 * -1, 0 or 1; of complex numbers `x / |x|`, or 0. Adds one `Sign` node; for complex numbers `ComplexAbs`, `Cast` and
 * `DivNoNan`.
 *
 * @example tf.sign([-3, 0, 5]) // runs to [-1  0  1]
 */
export function sign(x: TensorLike, options: NameOption = {}): Tensor {
  const value = convertToTensor(x);
  if (!value.dtype.isComplex) return Sign.build({ x: value }, options).y;
  const size = ComplexAbs.build({ x: value }, { attrs: { Tout: value.dtype.realDtype } }).y;
  return DivNoNan.build({ x: value, y: cast(size, value.dtype) }, options).z;
}

/** Refuses types that are no numbers. */
export function checkNumeric(tensor: Tensor, what: string): void {
  const { dtype } = tensor;
  if (!dtype.isFloating && !dtype.isInteger && !dtype.isComplex)
    throw new InvalidArgumentError(`${what} must be a numeric tensor, but got tensor with dtype ${dtype}`);
}

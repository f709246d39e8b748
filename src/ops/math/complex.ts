/** @file Complex numbers: Complex, Real, Imag, Conj, Angle, ComplexAbs. */
import { complex64, complex128, float32, float64, variant } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { type AttrSpec, attr } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { convertToTensor, isSymbolic } from '../../op/convert.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import * as e from '../../program/map.ts';
import { constant } from '../array/constant.ts';
import { reduceGradients } from './broadcast.ts';
import { less } from './compare.ts';
import { divNoNan } from './divide.ts';
import { broadcastPorts, type NameOption } from './elementwise.ts';
import { checkNumeric, negative } from './neg.ts';
import { times } from './operators.ts';
import { where } from './select.ts';
import { reciprocal } from './sqrt.ts';
import { complexTypes } from './types.ts';
import { onesLike, zerosLike } from './zerosLike.ts';

const complexInput = attr('type', { allowed: complexTypes, default: complex64 });
const realOutput = attr('type', { allowed: [float32, float64], default: float32 });

export const Complex = defineOp({
  name: 'Complex',
  inputs: { real: 'T', imag: 'T' },
  outputs: { out: 'Tout' },
  attrs: {
    T: attr('type', { allowed: [float32, float64], default: float32 }),
    Tout: attr('type', { allowed: complexTypes, default: complex64 }),
  },
  shape: ({ real, imag }) => ({ out: broadcastPorts(['real', real], ['imag', imag]) }),
  grad({ inputs }, { out: dy }) {
    const re = real(dy);
    const [dReal, dImag] = reduceGradients(inputs.real, inputs.imag, re, imag(dy));
    return { real: dReal, imag: dImag };
  },
  lower: (p, inputs, { Tout }) => ({
    out: p.map([inputs.real, inputs.imag], (re, im) => e.complex(re!, im!, Tout)),
  }),
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    {
      given: { real: { dtype: 'float64', value: [1, 2] }, imag: { dtype: 'float64', value: [-1] } },
      attrs: { Tout: complex128 },
      expect: {
        out: {
          dtype: 'complex128',
          value: [
            { re: 1, im: -1 },
            { re: 2, im: -1 },
          ],
        },
      },
    },
  ],
});

/**
 * `real + i·imag`. Adds one `Complex` node.
 *
 * @example tf.complex([2.25, 3.5], [4.75, 5.5]) // runs to [2.25+4.75j   3.5+5.5j]
 */
export function complex(real: TensorLike, imag: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.complex', options, 'name');
  const re = convertToTensor(real, { name: 'real', hint: isSymbolic(imag) ? imag.dtype : float32 });
  const im = convertToTensor(imag, { name: 'imag', hint: re.dtype });
  if (re.dtype !== im.dtype || (re.dtype !== float32 && re.dtype !== float64))
    throw userError(
      `the real and imaginary parts must both be float32 or both float64, but they are ${re.dtype} and ${im.dtype}. Use tf.cast.`,
    );
  const attrs = { Tout: re.dtype === float64 ? complex128 : complex64 };
  return Complex.build({ real: re, imag: im }, { name: options.name, attrs }).out;
}

export const ComplexAbs = defineOp({
  name: 'ComplexAbs',
  inputs: { x: 'T' },
  outputs: { y: 'Tout' },
  attrs: { T: complexInput, Tout: realOutput },
  shape: ({ x }) => ({ y: x }),
  grad({ inputs: { x }, outputs: { y } }, { y: dy }) {
    const numerator = times(complex(dy, zerosLike(dy)), x);
    return { x: divNoNan(numerator, complex(y, zerosLike(y))) };
  },
  lower: (p, { x }, { Tout }) => ({ y: p.map([x], (z) => e.cast(e.cabs(z!), Tout)) }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    {
      given: {
        x: {
          dtype: 'complex64',
          value: [
            { re: 3, im: -4 },
            { re: 0, im: 0 },
          ],
        },
      },
      expect: { y: [5, 0] },
      differentiable: false,
    },
    { given: { x: { dtype: 'complex64', value: [{ re: 3, im: -4 }] } }, expect: { y: [5] } },
  ],
});

/** An op that takes a real number from each complex one: a part, or the angle. */
function definePart(
  name: string,
  element: (z: e.Expr) => e.Expr,
  grad: (input: Tensor, dy: Gradient) => Tensor,
  cases: () => readonly Case<'input', 'output'>[],
): PartOp {
  return defineOp({
    name,
    inputs: { input: 'T' },
    outputs: { output: 'Tout' },
    attrs: { T: complexInput, Tout: realOutput },
    shape: ({ input }) => ({ output: input }),
    grad: ({ inputs }, dy) => ({ input: grad(inputs.input, dy.output) }),
    lower: (p, { input }, { Tout }) => ({ output: p.map([input], (z) => e.cast(element(z!), Tout)) }),
    cases: () => [{ shape: '[2, ?] -> [2, ?]' }, ...cases()],
  });
}

type PartOp = Op<
  { readonly input: 'T' },
  { readonly output: 'Tout' },
  { readonly T: AttrSpec<'type'>; readonly Tout: AttrSpec<'type'> }
>;

const partCase = (expected: number) =>
  ({
    given: { input: { dtype: 'complex128', value: [{ re: 3, im: -4 }] } },
    attrs: { Tout: float64 },
    expect: { output: { dtype: 'float64', value: [expected] } },
  }) as const;

const zeroOf = (dy: Gradient) => constant(0, { dtype: dy.dtype });

export const Real: PartOp = definePart(
  'Real',
  e.real,
  (_, dy) => {
    const zero = zeroOf(dy);
    return complex(dy, zero);
  },
  () => [partCase(3)],
);

/**
 * The real part; real numbers are their own. Adds one `Real` node to complex numbers, none to others.
 *
 * @example tf.real(tf.complex([2.25], [4.75])) // runs to [2.25]
 */
export function real(input: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.real', options, 'name');
  return nameScope(options.name ?? 'Real', (name) => {
    const x = convertToTensor(input, { name: 'input' });
    if (x.dtype.isComplex) return Real.build({ input: x }, { name, attrs: { Tout: x.dtype.realDtype } }).output;
    checkNumeric(x, 'input');
    return x;
  });
}

export const Imag: PartOp = definePart(
  'Imag',
  e.imag,
  (_, dy) => complex(zeroOf(dy), dy),
  () => [partCase(-4)],
);

/**
 * The imaginary part; zeros for real numbers. Adds one `Imag` node to complex numbers, `zeros_like` to others.
 *
 * @example tf.imag(tf.complex([2.25], [4.75])) // runs to [4.75]
 */
export function imag(input: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.imag', options, 'name');
  return nameScope(options.name ?? 'Imag', (name) => {
    const x = convertToTensor(input, { name: 'input' });
    if (x.dtype.isComplex) return Imag.build({ input: x }, { name, attrs: { Tout: x.dtype.realDtype } }).output;
    return zerosLike(x);
  });
}

export const Conj = defineOp({
  name: 'Conj',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: attr('type', { allowed: [...complexTypes, variant], default: complex64 }) },
  shape: ({ input }) => ({ output: input }),
  grad: (_, { output: dy }) => ({ input: conj(dy) }),
  lower: (p, { input }) => ({ output: input.dtype.isComplex ? p.map([input], (z) => e.conj(z!)) : input }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    {
      given: { input: { dtype: 'complex64', value: [{ re: 3, im: -4 }] } },
      expect: { output: { dtype: 'complex64', value: [{ re: 3, im: 4 }] } },
    },
  ],
});

/**
 * The complex conjugate; real numbers are their own. Adds one `Conj` node to complex numbers, none to others.
 *
 * @example tf.conj(tf.complex([2.25], [4.75])) // runs to [2.25-4.75j]
 */
export function conj(x: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.conj', options, 'name');
  if (x instanceof Tensor && (x.dtype.isFloating || x.dtype.isInteger)) return x;
  return nameScope(options.name ?? 'Conj', (name) => {
    const value = convertToTensor(x, { name: 'x' });
    if (value.dtype.isComplex || value.dtype === variant) return Conj.build({ input: value }, { name }).output;
    checkNumeric(value, 'x');
    return value;
  });
}

export const Angle: PartOp = definePart(
  'Angle',
  e.arg,
  (input, dy) =>
    controlDependencies([dy], () => {
      const re = real(input);
      const im = imag(input);
      const z = reciprocal(complex(im, re));
      return times(negative(complex(dy, zeroOf(dy))), z);
    }),
  () => [
    {
      given: {
        input: {
          dtype: 'complex64',
          value: [
            { re: 0, im: 2 },
            { re: -1, im: 0 },
          ],
        },
      },
      expect: { output: [Math.PI / 2, Math.PI] },
      differentiable: false,
    },
    { given: { input: { dtype: 'complex64', value: [{ re: 1, im: -1 }] } }, expect: { output: [-Math.PI / 4] } },
  ],
);

/**
 * The angle of complex numbers; of real numbers 0 or π. Adds one `Angle` node, for real numbers a `Select` under `Angle`.
 *
 * @example tf.angle(tf.complex([0], [2])) // runs to [1.5707964]
 */
export function angle(input: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.angle', options, 'name');
  return nameScope(options.name ?? 'Angle', (name) => {
    const x = convertToTensor(input, { name: 'input' });
    if (x.dtype.isComplex) return Angle.build({ input: x }, { name, attrs: { Tout: x.dtype.realDtype } }).output;
    const negativeMask = less(x, 0);
    return where(negativeMask, times(Math.PI, onesLike(x)), zerosLike(x));
  });
}

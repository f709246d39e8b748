/** @file FFT, IFFT and their two- and three-dimensional forms, RFFT and IRFFT: Fourier transforms of the last axes. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import { nameScope } from '../../graph/graph.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { type AttrSpec, attr } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, gradientPending, type Op } from '../../op/defineOp.ts';
import { getItem } from '../array/getItem.ts';
import { shape } from '../array/shape.ts';
import { cast } from './cast.ts';
import { fourier } from './hostFourier.ts';
import { over, times } from './operators.ts';
import { reduceProd } from './reductions.ts';

const complexTypes = attr('type', { allowed: [d.complex64, d.complex128], default: d.complex64 });

export type FourierOp = Op<
  { readonly input: 'Tcomplex' },
  { readonly output: 'Tcomplex' },
  { readonly Tcomplex: AttrSpec<'type'> }
>;

function atLeast(rank: number, dims: Dims): Dims {
  if (dims !== null && dims.length < rank)
    throw new InvalidArgumentError(`input is ${showShape(dims)}, but rank ${rank} or more is needed.`);
  return dims;
}
function checkRank(rank: number, dims: Shape): void {
  if (dims.length < rank)
    throw new InvalidArgumentError(`Input must have rank of at least ${rank} but got: ${showRuntime(dims)}`);
}

/** The number of elements that take part in each transform. */
function transformSize(x: TensorLike, rank: number): Tensor {
  return reduceProd(getItem(shape(x), [[-rank]]));
}

/** The transform and its inverse, over the last `rank` axes. */
function transformed(array: NDArray, rank: number, inverse: boolean, dtype: DType): NDArray {
  const data = Float64Array.from(array.data as Float32Array | Float64Array); // complex arrays are of floats
  const axes = Array.from({ length: rank }, (_, i) => array.shape.length - rank + i);
  for (const axis of axes) fourier(data, array.shape, axis, inverse);
  const result = dtype.allocate(array.size);
  (result as Float32Array | Float64Array).set(data); // as above
  return new NDArray(dtype, array.shape, result);
}

function defineFourier(
  name: string,
  rank: 1 | 2 | 3,
  inverse: boolean,
  opposite: () => FourierOp,
  cases: () => readonly Case<'input', 'output'>[],
): FourierOp {
  return defineOp({
    name,
    inputs: { input: 'Tcomplex' },
    outputs: { output: 'Tcomplex' },
    attrs: { Tcomplex: complexTypes },
    shape: ({ input }) => ({ output: atLeast(rank, input) }),
    grad(_, { output: dy }) {
      const size = transformSize(dy, rank);
      // The adjoint of a transform is its opposite, but for the factor that the inverse carries.
      const factor = inverse ? cast(over(1, cast(size, dy.dtype.realDtype)), dy.dtype) : cast(size, dy.dtype);
      return { input: times(opposite().build({ input: dy }).output, factor) };
    },
    lower(p, { input }) {
      checkRank(rank, input.shape);
      const [output] = p.host([input], [{ dtype: input.dtype, shape: input.shape }], ([x]) => [
        transformed(x!, rank, inverse, x!.dtype),
      ]);
      return { output: output! };
    },
    cases: () => [
      { shape: `[${new Array(rank).fill('?').join(', ')}] -> [${new Array(rank).fill('?').join(', ')}]` },
      { shape: '? -> ?' },
      ...cases(),
    ],
  });
}

const complex = (...pairs: readonly (readonly [number, number])[]) => pairs.map(([re, im]) => ({ re, im }));

export const FFT: FourierOp = defineFourier(
  'FFT',
  1,
  false,
  () => IFFT,
  () => [
    { shape: '[]', rejects: /rank 1 or more is needed/ },
    {
      given: { input: { dtype: 'complex64', value: complex([1, 0], [2, 0], [3, 1], [0, 4]) } },
      expect: { output: { dtype: 'complex64', value: complex([6, 5], [-6, -3], [2, -3], [2, 1]) } },
    },
    {
      // Five is not a power of two.
      given: { input: { dtype: 'complex128', value: complex([1, 0], [0, 0], [0, 0], [0, 0], [0, 0]) } },
      expect: { output: { dtype: 'complex128', value: complex([1, 0], [1, 0], [1, 0], [1, 0], [1, 0]) } },
    },
  ],
);
export const IFFT: FourierOp = defineFourier(
  'IFFT',
  1,
  true,
  () => FFT,
  () => [
    {
      given: { input: { dtype: 'complex64', value: complex([6, 5], [-6, -3], [2, -3], [2, 1]) } },
      expect: { output: { dtype: 'complex64', value: complex([1, 0], [2, 0], [3, 1], [0, 4]) } },
    },
  ],
);
export const FFT2D: FourierOp = defineFourier(
  'FFT2D',
  2,
  false,
  () => IFFT2D,
  () => [
    {
      given: { input: { dtype: 'complex64', value: [complex([1, 0], [2, 0]), complex([3, 0], [4, 0])] } },
      expect: { output: { dtype: 'complex64', value: [complex([10, 0], [-2, 0]), complex([-4, 0], [0, 0])] } },
    },
  ],
);
export const IFFT2D: FourierOp = defineFourier(
  'IFFT2D',
  2,
  true,
  () => FFT2D,
  () => [
    {
      given: { input: { dtype: 'complex64', value: [complex([10, 0], [-2, 0]), complex([-4, 0], [0, 0])] } },
      expect: { output: { dtype: 'complex64', value: [complex([1, 0], [2, 0]), complex([3, 0], [4, 0])] } },
    },
  ],
);
export const FFT3D: FourierOp = defineFourier(
  'FFT3D',
  3,
  false,
  () => IFFT3D,
  () => [
    {
      given: { input: { dtype: 'complex64', value: [[complex([1, 0], [2, 0])], [complex([3, 0], [4, 0])]] } },
      expect: { output: { dtype: 'complex64', value: [[complex([10, 0], [-2, 0])], [complex([-4, 0], [0, 0])]] } },
    },
  ],
);
export const IFFT3D: FourierOp = defineFourier(
  'IFFT3D',
  3,
  true,
  () => FFT3D,
  () => [
    {
      given: { input: { dtype: 'complex64', value: [[complex([10, 0], [-2, 0])], [complex([-4, 0], [0, 0])]] } },
      expect: { output: { dtype: 'complex64', value: [[complex([1, 0], [2, 0])], [complex([3, 0], [4, 0])]] } },
    },
  ],
);

// Real signals.
const realTypes = attr('type', { allowed: [d.float32, d.float64], default: d.float32 });

function lengthDims(input: Dims, length: number | null): Dims {
  return input === null ? null : [...atLeast(1, input)!.slice(0, -1), length];
}

/** The first `length` elements of each row. */
function checkLength(input: Shape, needed: number): void {
  if (input.at(-1)! < needed)
    throw new InvalidArgumentError(
      `Input dimension ${input.length - 1} must have length of at least ${needed} but got: ${input.at(-1)}`,
    );
}

export const RFFT = defineOp({
  name: 'RFFT',
  inputs: { input: 'Treal', fft_length: 'int32' },
  outputs: { output: 'Tcomplex' },
  attrs: { Treal: realTypes, Tcomplex: complexTypes },
  hostInputs: ['fft_length'],
  shape({ input }, _, context) {
    const length = context.partial('fft_length')?.[0] ?? null;
    return { output: lengthDims(input, length === null ? null : Math.floor(length / 2) + 1) };
  },
  grad: gradientPending('the gradient of a transform that keeps half of its result is not written; use tf.fft'),
  lower(p, { input, fft_length }, { Tcomplex }) {
    checkRank(1, input.shape);
    const [length] = p.demandInts(fft_length) as [number]; // a vector of one
    checkLength(input.shape, length);
    const rows = input.shape.slice(0, -1);
    const half = Math.floor(length / 2) + 1;
    const [output] = p.host([input], [{ dtype: Tcomplex, shape: [...rows, half] }], ([x]) => {
      const width = x!.shape.at(-1)!;
      const count = sizeOf(rows);
      const data = new Float64Array(2 * count * length);
      for (let r = 0; r < count; r++)
        for (let i = 0; i < length; i++) data[2 * (r * length + i)] = x!.numberAt(r * width + i);
      fourier(data, [count, length], 1, false);
      const result = Tcomplex.allocate(count * half);
      for (let r = 0; r < count; r++)
        for (let i = 0; i < 2 * half; i++) result[r * 2 * half + i] = data[2 * r * length + i]!;
      return [new NDArray(Tcomplex, [...rows, half], result)];
    });
    return { output: output! };
  },
  cases: () => [
    { shape: '[?, 8], [1] -> [?, 5]', given: { fft_length: { dtype: 'int32', value: [8] } } },
    {
      given: { input: [1, 2, 3, 4], fft_length: { dtype: 'int32', value: [4] } },
      expect: { output: { dtype: 'complex64', value: complex([10, 0], [-2, 2], [-2, 0]) } },
    },
    {
      given: { input: [1, 2, 3, 4], fft_length: { dtype: 'int32', value: [6] } },
      fails: /must have length of at least 6 but got: 4/,
    },
  ],
});

export const IRFFT = defineOp({
  name: 'IRFFT',
  inputs: { input: 'Tcomplex', fft_length: 'int32' },
  outputs: { output: 'Treal' },
  attrs: { Treal: realTypes, Tcomplex: complexTypes },
  hostInputs: ['fft_length'],
  shape: ({ input }, _, context) => ({ output: lengthDims(input, context.partial('fft_length')?.[0] ?? null) }),
  grad: gradientPending('the gradient of a transform that takes half of a spectrum is not written; use tf.ifft'),
  lower(p, { input, fft_length }, { Treal }) {
    checkRank(1, input.shape);
    const [length] = p.demandInts(fft_length) as [number]; // a vector of one
    const half = Math.floor(length / 2) + 1;
    checkLength(input.shape, length === 0 ? 0 : half);
    const rows = input.shape.slice(0, -1);
    const [output] = p.host([input], [{ dtype: Treal, shape: [...rows, length] }], ([x]) => {
      const width = x!.shape.at(-1)!;
      const count = sizeOf(rows);
      const data = new Float64Array(2 * count * length);
      const given = x!.data as Float32Array | Float64Array; // complex arrays are of floats
      // The other half of the spectrum of a real signal is the mirror image of this one.
      for (let r = 0; r < count; r++)
        for (let i = 0; i < length; i++) {
          const from = 2 * (r * width + (i < half ? i : length - i));
          data[2 * (r * length + i)] = given[from]!;
          data[2 * (r * length + i) + 1] = (i < half ? 1 : -1) * given[from + 1]!;
        }
      fourier(data, [count, length], 1, true);
      const result = Treal.allocate(count * length);
      for (let i = 0; i < count * length; i++) result[i] = data[2 * i]!;
      return [new NDArray(Treal, [...rows, length], result)];
    });
    return { output: output! };
  },
  cases: () => [
    { shape: '[?, 5], [1] -> [?, 8]', given: { fft_length: { dtype: 'int32', value: [8] } } },
    {
      given: {
        input: { dtype: 'complex64', value: complex([1, 0], [2, 0], [3, 0], [4, 0]) },
        fft_length: { dtype: 'int32', value: [6] },
      },
      expect: { output: [2.5, -0.6666667, 0, -0.16666667, 0, -0.6666667] },
    },
    {
      given: {
        input: { dtype: 'complex64', value: complex([1, 0], [2, 0], [3, 0], [4, 0]) },
        fft_length: { dtype: 'int32', value: [5] },
      },
      expect: { output: [2.2, -0.52360684, -0.0763932, -0.0763932, -0.52360684] },
    },
  ],
});

// Functions.
/** `f(input, { name })` of a complex transform. */
export type FourierFunction = (input: TensorLike, options?: { readonly name?: string | undefined }) => Tensor;
const fourierFunction =
  (op: FourierOp): FourierFunction =>
  (input, options = {}) =>
    op.build({ input }, options).output;

/**
 * The discrete Fourier transform along the last axis. Adds one `FFT` node.
 *
 * @example tf.fft(tf.cast([1, 1], tf.complex64)) // runs to [2.+0.j 0.+0.j]
 */
export const fft: FourierFunction = fourierFunction(FFT);
/**
 * The inverse of `fft`. Adds one `IFFT` node.
 *
 * @example tf.ifft(tf.cast([2, 0], tf.complex64)) // runs to [1.+0.j 1.+0.j]
 */
export const ifft: FourierFunction = fourierFunction(IFFT);
/**
 * The discrete Fourier transform along the last two axes. Adds one `FFT2D` node.
 *
 * @example tf.fft2d(tf.cast([[1, 2], [3, 4]], tf.complex64)) // runs to [[10.+0.j -2.+0.j] [-4.+0.j 0.+0.j]]
 */
export const fft2d: FourierFunction = fourierFunction(FFT2D);
/**
 * The inverse of `fft2d`. Adds one `IFFT2D` node.
 *
 * @example tf.ifft2d(tf.fft2d(x))
 */
export const ifft2d: FourierFunction = fourierFunction(IFFT2D);
/**
 * The discrete Fourier transform along the last three axes. Adds one `FFT3D` node.
 *
 * @example tf.fft3d(x)
 */
export const fft3d: FourierFunction = fourierFunction(FFT3D);
/**
 * The inverse of `fft3d`. Adds one `IFFT3D` node.
 *
 * @example tf.ifft3d(tf.fft3d(x))
 */
export const ifft3d: FourierFunction = fourierFunction(IFFT3D);

interface RealOptions {
  /** The length of the transform; that of the last axis unless given. */
  readonly fftLength?: readonly [number] | undefined;
  readonly name?: string | undefined;
}

function knownLength(x: Tensor, what: string): number {
  const length = x.shape?.at(-1);
  if (length == null) throw userError(`${what} of ${x}, whose last size is not known, needs fftLength.`);
  return length;
}

/**
 * The Fourier transform of a real signal along the last axis; only the first half, since the rest mirrors it. Adds one
 * `RFFT` node named `rfft`.
 *
 * @example tf.signal.rfft(tf.constant([1.5, 2.5])) // runs to [ 4.+0.j -1.+0.j]
 */
export function rfft(input: TensorLike, options: RealOptions = {}): Tensor {
  onlyOptions('tf.signal.rfft', options, 'fftLength', 'name');
  return nameScope(options.name ?? 'rfft', (name) => {
    const x = convertToTensor(input, { hint: d.float32 });
    const fft_length = options.fftLength ?? [knownLength(x, 'rfft')];
    const Tcomplex = x.dtype === d.float64 ? d.complex128 : d.complex64;
    return RFFT.build({ input: x, fft_length }, { name, attrs: { Tcomplex } }).output;
  });
}

/**
 * The inverse of `rfft`: a real signal from half of its spectrum. Adds one `IRFFT` node named `irfft`.
 *
 * @example tf.signal.irfft(tf.signal.rfft(tf.constant([1.5, 2.5]))) // runs to [1.5 2.5]
 */
export function irfft(input: TensorLike, options: RealOptions = {}): Tensor {
  onlyOptions('tf.signal.irfft', options, 'fftLength', 'name');
  return nameScope(options.name ?? 'irfft', (name) => {
    const x = convertToTensor(input, { hint: d.complex64 });
    const fft_length = options.fftLength ?? [Math.max(0, 2 * (knownLength(x, 'irfft') - 1))];
    return IRFFT.build({ input: x, fft_length }, { name, attrs: { Treal: x.dtype.realDtype } }).output;
  });
}

/** @file FFT, IFFT and their two- and three-dimensional forms: Fourier transforms of the last axes. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { type AttrSpec, attr } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import { getItem } from '../array/getItem.ts';
import { shape } from '../array/shape.ts';
import { cast } from './cast.ts';
import { fourier } from './hostFourier.ts';
import { over, times } from './operators.ts';
import { reduceProd } from './reductions.ts';

export const complexTypes = attr('type', { allowed: [d.complex64, d.complex128], default: d.complex64 });

export type FourierOp = Op<
  { readonly input: 'Tcomplex' },
  { readonly output: 'Tcomplex' },
  { readonly Tcomplex: AttrSpec<'type'> }
>;

export function atLeast(rank: number, dims: Dims): Dims {
  if (dims !== null && dims.length < rank)
    throw new InvalidArgumentError(`input is ${showShape(dims)}, but rank ${rank} or more is needed.`);
  return dims;
}
export function checkRank(rank: number, dims: Shape): void {
  if (dims.length < rank)
    throw new InvalidArgumentError(`Input must have rank of at least ${rank} but got: ${showRuntime(dims)}`);
}

/** The number of elements that take part in each transform. */
export function transformSize(x: TensorLike, rank: number): Tensor {
  return reduceProd(getItem(shape(x), [[-rank]]));
}

/** The transform and its inverse, over the last `rank` axes. */
async function transformed(
  array: NDArray,
  rank: number,
  inverse: boolean,
  dtype: DType,
  threads: number,
): Promise<NDArray> {
  const data = new Float64Array(array.data as Float32Array | Float64Array); // complex arrays are of floats
  const axes = Array.from({ length: rank }, (_, i) => array.shape.length - rank + i);
  for (const axis of axes) await fourier(data, array.shape, axis, inverse, threads);
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
      const [output] = p.host([input], [{ dtype: input.dtype, shape: input.shape }], async ([x], _run, { threads }) => [
        await transformed(x!, rank, inverse, x!.dtype, threads),
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

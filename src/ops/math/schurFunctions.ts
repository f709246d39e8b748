/** @file Eigenvalues, square roots and logarithms of batches of square matrices: by the native library, or in TypeScript. */
import { complex64, complex128, type DType, float32 } from '../../core/dtypes.ts';
import { fromElements, type NDArray } from '../../core/ndarray.ts';
import { type Shape, sizeOf } from '../../core/shape.ts';
import { nativeFamily } from '../../io/native.ts';
import { type NativeCall, nativeCall } from '../../io/nativeStrings.ts';
import { arrayOf, type Matrix, matricesOf } from './hostMatrix.ts';
import * as host from './hostSchur.ts';
import { computeMatrices } from './nativeMatrix.ts';

const native = nativeFamily((functions) => ({
  eigen: nativeCall(
    functions,
    'int64_t tl_eig(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t values, int64_t vectors)',
  ),
  squareRoot: nativeCall(
    functions,
    'int64_t tl_matrix_square_root(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t out)',
  ),
  logarithm: nativeCall(
    functions,
    'int64_t tl_matrix_logarithm(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t out)',
  ),
}));

function squares({ shape }: NDArray): readonly [n: number, count: number] {
  return [shape.at(-1)!, sizeOf(shape.slice(0, -2))];
}

/** Eigenvalues, smallest first, in a complex type, and eigenvectors, unless the shape for them is empty. */
export async function eigen(
  input: NDArray,
  dtype: DType,
  shapes: { readonly e: Shape; readonly v: Shape },
  threads: number,
): Promise<readonly [e: NDArray, v: NDArray]> {
  const hasVectors = sizeOf(shapes.v) > 0;
  const library = native();
  if (!library || input.size === 0) {
    const found = matricesOf(input).map(host.eigen);
    const values = found.flatMap(({ e }) => Array.from(e.re, (re, i) => ({ re, im: e.im[i]! })));
    const vectors = hasVectors ? found.map(({ v }) => v) : [];
    return [fromElements(dtype, shapes.e, values), arrayOf(dtype, shapes.v, vectors)];
  }
  const [n, count] = squares(input);
  const computed = input.dtype === float32 || input.dtype === complex64 ? complex64 : complex128;
  const { results } = await computeMatrices({
    call: library.eigen,
    work: 40 * count * n ** 3,
    inputs: [input],
    wanted: [
      { dtype: computed, shape: shapes.e },
      { dtype: computed, shape: shapes.v },
    ],
    threads,
    args: ([x], [e, v]) => [n, count, x!, e!, v!],
  });
  const inType = (array: NDArray) =>
    dtype === computed
      ? array
      : fromElements(
          dtype,
          array.shape,
          Array.from({ length: array.size }, (_, i) => array.at(i)),
        );
  return [inType(results[0]!), inType(results[1]!)];
}

/** The matrices whose products with themselves are the given ones; NaN for real ones that have no real root. */
export function squareRoots(input: NDArray, threads: number): Promise<NDArray> {
  return functionsOf(input, threads, native()?.squareRoot, (matrix) => {
    const root = host.squareRoot(matrix);
    if (input.dtype.isComplex) return root;
    const largest = root.re.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
    if (root.im.some((x) => Math.abs(x) > 1e-7 * largest)) root.re.fill(Number.NaN);
    return root;
  });
}

/** The principal logarithms of complex matrices. */
export function logarithms(input: NDArray, threads: number): Promise<NDArray> {
  return functionsOf(input, threads, native()?.logarithm, host.logarithm);
}

async function functionsOf(
  input: NDArray,
  threads: number,
  call: NativeCall | undefined,
  plain: (matrix: Matrix) => Matrix,
): Promise<NDArray> {
  if (!call || input.size === 0) return arrayOf(input.dtype, input.shape, matricesOf(input).map(plain));
  const [n, count] = squares(input);
  const { results } = await computeMatrices({
    call,
    work: 50 * count * n ** 3,
    inputs: [input],
    wanted: [input],
    threads,
    args: ([x], [out]) => [n, count, x!, out!],
  });
  return results[0]!;
}

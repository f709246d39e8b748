/** @file Orthogonal factors, eigenvalues of Hermitian matrices and singular values of batches: by the native library, or in TypeScript. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, type NDArray } from '../../core/ndarray.ts';
import { type Shape, sizeOf } from '../../core/shape.ts';
import { nativeFamily } from '../../io/native.ts';
import { nativeCall } from '../../io/nativeStrings.ts';
import * as host from './hostMatrix.ts';
import * as hostSpectrum from './hostSpectrum.ts';
import { computeMatrices, type MatrixCall } from './nativeMatrix.ts';

const native = nativeFamily((functions) => ({
  qr: nativeCall(
    functions,
    'int64_t tl_qr(int64_t kind, int64_t threads, int64_t m, int64_t n, int64_t count, int64_t isFull, int64_t in, int64_t q, int64_t r)',
  ),
  eigen: nativeCall(
    functions,
    'int64_t tl_self_adjoint_eig(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t values, int64_t vectors)',
  ),
  svd: nativeCall(
    functions,
    'int64_t tl_svd(int64_t kind, int64_t threads, int64_t m, int64_t n, int64_t count, int64_t isFull, int64_t in, int64_t values, int64_t u, int64_t v)',
  ),
}));

/** Rows, columns, and how many matrices there are. */
function sizesOf({ shape }: NDArray): readonly [m: number, n: number, count: number] {
  return [shape.at(-2)!, shape.at(-1)!, sizeOf(shape.slice(0, -2))];
}

/** What a function of the library makes of matrices: results of their type, in these shapes. Only eigenvalues may be missing. */
async function compute(
  input: NDArray,
  shapes: readonly Shape[],
  how: Pick<MatrixCall, 'call' | 'work' | 'threads' | 'args'>,
): Promise<readonly NDArray[]> {
  const wanted = shapes.map((shape) => ({ dtype: input.dtype, shape }));
  const { isSingular, results } = await computeMatrices({ ...how, inputs: [input], wanted });
  if (isSingular) throw withoutEigenvalues();
  return results;
}

/** What is said of a matrix with numbers that are not finite. */
const withoutEigenvalues = () =>
  new InvalidArgumentError('Self-adjoint eigen decomposition was not successful. The input might not be valid.');

/** `q r` of each matrix, in the shapes that are asked for: q is square or as wide as there are rows of r. */
export async function qr(
  input: NDArray,
  shapes: { readonly q: Shape; readonly r: Shape },
  threads: number,
): Promise<readonly NDArray[]> {
  const [m, n, count] = sizesOf(input);
  const inner = shapes.q.at(-1)!;
  const library = native();
  if (!library || input.size === 0) {
    const found = host.matricesOf(input).map(host.qr);
    const qs = found.map(({ q }) => q.corner(m, inner));
    const rs = found.map(({ r }) => r.corner(inner, n));
    return [host.arrayOf(input.dtype, shapes.q, qs), host.arrayOf(input.dtype, shapes.r, rs)];
  }
  return await compute(input, [shapes.q, shapes.r], {
    call: library.qr,
    work: 4 * count * m * n * Math.min(m, n),
    threads,
    args: ([x], [q, r]) => [m, n, count, Number(inner === m), x!, q!, r!],
  });
}

/** Eigenvalues of Hermitian matrices, smallest first, and eigenvectors, where a shape for them is given that is not empty. */
export async function eigenHermitian(
  input: NDArray,
  shapes: { readonly e: Shape; readonly v: Shape },
  threads: number,
): Promise<readonly NDArray[]> {
  const [, n, count] = sizesOf(input);
  const hasVectors = sizeOf(shapes.v) > 0;
  const library = native();
  if (!library || input.size === 0) {
    const found = host.matricesOf(input).map(hostSpectrum.eigenHermitian);
    const values = found.flatMap(({ e }) => [...e]);
    if (n > 1 && !values.every(Number.isFinite)) throw withoutEigenvalues();
    const vectors = hasVectors ? found.map(({ v }) => v) : [];
    return [fromElements(input.dtype, shapes.e, values), host.arrayOf(input.dtype, shapes.v, vectors)];
  }
  return await compute(input, [shapes.e, shapes.v], {
    call: library.eigen,
    work: count * n ** 3 * (hasVectors ? 6 : 2),
    threads,
    args: ([x], [e, v]) => [n, count, x!, e!, v!],
  });
}

/** Singular values, largest first, and singular vectors in the shapes that are asked for, unless these are empty. */
export async function svd(
  input: NDArray,
  shapes: { readonly s: Shape; readonly u: Shape; readonly v: Shape },
  threads: number,
): Promise<readonly NDArray[]> {
  const { dtype } = input;
  const [m, n, count] = sizesOf(input);
  const hasVectors = sizeOf(shapes.u) > 0;
  const library = native();
  if (!library || input.size === 0) {
    const found = host.matricesOf(input).map(hostSpectrum.svd);
    const kept = shapes.s.at(-1)!;
    const left = found.map(({ u }) => hostSpectrum.widen(u, kept, shapes.u.at(-1)!));
    const right = found.map(({ v }) => hostSpectrum.widen(v, kept, shapes.v.at(-1)!));
    return [
      fromElements(
        dtype,
        shapes.s,
        found.flatMap(({ s }) => [...s]),
      ),
      host.arrayOf(dtype, shapes.u, hasVectors ? left : []),
      host.arrayOf(dtype, shapes.v, sizeOf(shapes.v) > 0 ? right : []),
    ];
  }
  return await compute(input, [shapes.s, shapes.u, shapes.v], {
    call: library.svd,
    work: count * m * n * Math.min(m, n) * (hasVectors ? 12 : 3),
    threads,
    args: ([x], [s, u, v]) => {
      const isFull = hasVectors && shapes.u.at(-1) === m && shapes.v.at(-1) === n;
      return [m, n, count, Number(isFull), x!, s!, u!, v!];
    },
  });
}

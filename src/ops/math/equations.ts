/** @file Linear equations, determinants and triangular factors of batches of matrices: by the native library, or in TypeScript. */
import { int32 } from '../../core/dtypes.ts';
import { fromElements, intVector, type NDArray } from '../../core/ndarray.ts';
import { broadcastConcrete, type Shape, sizeOf } from '../../core/shape.ts';
import { nativeFamily } from '../../io/native.ts';
import { nativeCall } from '../../io/nativeStrings.ts';
import * as host from './hostMatrix.ts';
import { computeMatrices } from './nativeMatrix.ts';

const native = nativeFamily((functions) => ({
  cholesky: nativeCall(
    functions,
    'int64_t tl_cholesky(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t out)',
  ),
  solve: nativeCall(
    functions,
    'int64_t tl_solve(int64_t kind, int64_t threads, int64_t n, int64_t columns, int64_t count, int64_t isAdjoint, int64_t a, int64_t b, int64_t out)',
  ),
  lu: nativeCall(
    functions,
    'int64_t tl_lu(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t out, int64_t order)',
  ),
  determinant: nativeCall(
    functions,
    'int64_t tl_determinant(int64_t kind, int64_t threads, int64_t n, int64_t count, int64_t in, int64_t out, int64_t logs)',
  ),
  triangularSolve: nativeCall(
    functions,
    'int64_t tl_triangular_solve(int64_t kind, int64_t threads, int64_t n, int64_t columns, int64_t count, int64_t isLower, int64_t isAdjoint, int64_t a, int64_t b, int64_t picks, int64_t out)',
  ),
}));

/** The size of the square matrices of a batch, and how many there are. */
function squares({ shape }: NDArray): readonly [n: number, count: number] {
  return [shape.at(-1)!, sizeOf(shape.slice(0, -2))];
}

/** The lower triangular factors of positive matrices; NaN for others. */
export async function cholesky(input: NDArray, threads: number): Promise<NDArray> {
  const library = native();
  if (!library || input.size === 0)
    return host.arrayOf(input.dtype, input.shape, host.matricesOf(input).map(host.cholesky));
  const [n, count] = squares(input);
  const { results } = await computeMatrices({
    call: library.cholesky,
    work: (count * n ** 3) / 3,
    inputs: [input],
    wanted: [input],
    threads,
    args: ([x], [out]) => [n, count, x!, out!],
  });
  return results[0]!;
}

/** The solutions of equations with these matrices, or their adjoints, on the left side; undefined where one is singular. */
export async function solve(
  matrix: NDArray,
  rhs: NDArray,
  isAdjoint: boolean,
  threads: number,
): Promise<NDArray | undefined> {
  const library = native();
  if (!library || rhs.size === 0) {
    const right = host.matricesOf(rhs);
    return solutions(matrix, rhs, (m, i) => host.solve(isAdjoint ? m.adjoint() : m, right[i]!));
  }
  const [n, count] = squares(matrix);
  const columns = rhs.shape.at(-1)!;
  const { isSingular, results } = await computeMatrices({
    call: library.solve,
    work: count * n * n * (n + 2 * columns),
    inputs: [matrix, rhs],
    wanted: [rhs],
    threads,
    args: ([a, b], [out]) => [n, columns, count, Number(isAdjoint), a!, b!, out!],
  });
  return isSingular ? undefined : results[0];
}

/** The inverses of matrices, or of their adjoints; undefined where one has none. */
export async function invert(input: NDArray, isAdjoint: boolean, threads: number): Promise<NDArray | undefined> {
  const library = native();
  if (!library || input.size === 0)
    return solutions(input, input, (m) => host.solve(isAdjoint ? m.adjoint() : m, host.Matrix.identity(m.rows)));
  const [n, count] = squares(input);
  const { isSingular, results } = await computeMatrices({
    call: library.solve,
    work: 3 * count * n ** 3,
    inputs: [input],
    wanted: [input],
    threads,
    args: ([a], [out]) => [n, n, count, Number(isAdjoint), a!, 0, out!],
  });
  return isSingular ? undefined : results[0];
}

function solutions(
  matrices: NDArray,
  { dtype, shape }: NDArray,
  solution: (matrix: host.Matrix, i: number) => host.Matrix | undefined,
): NDArray | undefined {
  const found: host.Matrix[] = [];
  for (const [i, matrix] of host.matricesOf(matrices).entries()) {
    const x = solution(matrix, i);
    if (!x) return undefined;
    found.push(x);
  }
  return host.arrayOf(dtype, shape, found);
}

/** Both triangular factors of each matrix in one, and where its rows come from, as int32; undefined where one is singular. */
export async function factorize(
  input: NDArray,
  threads: number,
): Promise<readonly [lu: NDArray, order: NDArray] | undefined> {
  const { dtype, shape } = input;
  const rows = shape.slice(0, -1);
  const library = native();
  if (!library || input.size === 0) {
    const found = host.matricesOf(input).map(host.factorize);
    if (found.some(({ isSingular }) => isSingular)) return undefined;
    const factors = found.map((f) => f.lu);
    return [host.arrayOf(dtype, shape, factors), intVector(found.flatMap((f) => f.order)).reshape(rows)];
  }
  const [n, count] = squares(input);
  const { isSingular, results } = await computeMatrices({
    call: library.lu,
    work: count * n ** 3,
    inputs: [input],
    wanted: [input, { dtype: int32, shape: rows }],
    threads,
    args: ([x], [lu, order]) => [n, count, x!, lu!, order!],
  });
  return isSingular ? undefined : [results[0]!, results[1]!];
}

/** The determinants of matrices. */
export async function determinants(input: NDArray, threads: number): Promise<NDArray> {
  const { dtype } = input;
  const shape = input.shape.slice(0, -2);
  const library = native();
  if (!library || input.size === 0) {
    const found = host.matricesOf(input).map(host.determinant);
    return fromElements(dtype, shape, dtype.isComplex ? found : found.map(({ re }) => re));
  }
  const [n, count] = squares(input);
  const { results } = await computeMatrices({
    call: library.determinant,
    work: count * n ** 3,
    inputs: [input],
    wanted: [{ dtype, shape }],
    threads,
    args: ([x], [out]) => [n, count, x!, out!, 0],
  });
  return results[0]!;
}

/** The determinants of matrices as signs, numbers of size 1 or 0, and logarithms of their sizes. */
export async function logDeterminants(
  input: NDArray,
  threads: number,
): Promise<readonly [sign: NDArray, log: NDArray]> {
  const { dtype } = input;
  const shape = input.shape.slice(0, -2);
  const library = native();
  if (!library || input.size === 0) {
    const found = host.matricesOf(input).map(host.logDeterminant);
    const signs = found.map(({ re, im }) => (dtype.isComplex ? { re, im } : re));
    const logs = found.map(({ log }) => (dtype.isComplex ? { re: log, im: 0 } : log));
    return [fromElements(dtype, shape, signs), fromElements(dtype, shape, logs)];
  }
  const [n, count] = squares(input);
  const { results } = await computeMatrices({
    call: library.determinant,
    work: count * n ** 3,
    inputs: [input],
    wanted: [
      { dtype, shape },
      { dtype, shape },
    ],
    threads,
    args: ([x], [sign, log]) => [n, count, x!, sign!, log!],
  });
  return [results[0]!, results[1]!];
}

/** Which matrix of a smaller batch belongs to matrix `i` of the whole batch. */
function broadcastIndex(batch: Shape, own: Shape): (i: number) => number {
  return (i) => {
    let [rest, index, step] = [i, 0, 1];
    for (let axis = batch.length - 1; axis >= 0; axis--) {
      const at = rest % batch[axis]!;
      rest = Math.floor(rest / batch[axis]!);
      const size = own[axis - batch.length + own.length] ?? 1;
      if (size !== 1) index += at * step;
      step *= size;
    }
    return index;
  };
}

/** The solutions of equations with triangular matrices, or their adjoints, on the left side; batches are broadcast. */
export async function solveTriangular(
  matrix: NDArray,
  rhs: NDArray,
  { lower, adjoint }: { readonly lower: boolean; readonly adjoint: boolean },
  threads: number,
): Promise<NDArray> {
  const [batchA, batchB] = [matrix.shape.slice(0, -2), rhs.shape.slice(0, -2)];
  const batch = broadcastConcrete(batchA, batchB);
  const [n, columns] = rhs.shape.slice(-2) as [number, number]; // callers checked the rank
  const shape = [...batch, n, columns];
  const count = sizeOf(batch);
  const [pickA, pickB] = [broadcastIndex(batch, batchA), broadcastIndex(batch, batchB)];
  const library = native();
  if (!library || sizeOf(shape) === 0) {
    const [left, right] = [host.matricesOf(matrix), host.matricesOf(rhs)];
    const found = Array.from({ length: count }, (_, i) => {
      const m = left[pickA(i)]!;
      return host.solveTriangular(adjoint ? m.adjoint() : m, right[pickB(i)]!, lower !== adjoint);
    });
    return host.arrayOf(rhs.dtype, shape, found);
  }
  const picks = new Int32Array(2 * count);
  for (let i = 0; i < count; i++) picks.set([pickA(i), pickB(i)], 2 * i);
  const { results } = await computeMatrices({
    call: library.triangularSolve,
    work: count * n * n * columns,
    inputs: [matrix, rhs],
    wanted: [{ dtype: rhs.dtype, shape }],
    threads,
    args: ([a, b], [out]) => [n, columns, count, Number(lower), Number(adjoint), a!, b!, picks, out!],
  });
  return results[0]!;
}

/** @file Solutions of linear equations that there are too many or too few of: by the native library, or in TypeScript. */
import { complex128, float64 } from '../../core/dtypes.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { type Shape, sizeOf } from '../../core/shape.ts';
import { nativeFamily } from '../../io/native.ts';
import { nativeCall } from '../../io/nativeStrings.ts';
import { arrayOf, cholesky, Matrix, matricesOf, solveTriangular } from './hostMatrix.ts';
import { multiply } from './hostSchur.ts';
import { svd } from './hostSpectrum.ts';
import { computeMatrices } from './nativeMatrix.ts';

const native = nativeFamily((functions) => ({
  leastSquares: nativeCall(
    functions,
    'int64_t tl_least_squares(int64_t kind, int64_t threads, int64_t m, int64_t n, int64_t columns, int64_t count, double regularizer, double epsilon, int64_t a, int64_t b, int64_t out)',
  ),
}));

/** The solution by the normal equations: fast, and less exact the more the singular values differ; undefined where they are singular. */
function byNormalEquations(a: Matrix, b: Matrix, regularizer: number): Matrix | undefined {
  const turned = a.adjoint();
  const isTall = a.rows >= a.columns;
  const gramian = isTall ? multiply(turned, a) : multiply(a, turned);
  for (let i = 0; i < gramian.rows; i++) gramian.re[i * gramian.rows + i]! += regularizer;
  const lower = cholesky(gramian);
  if (lower.re.some(Number.isNaN)) return undefined;
  const solved = (right: Matrix) => solveTriangular(lower.adjoint(), solveTriangular(lower, right, true), false);
  return isTall ? solved(multiply(turned, b)) : multiply(turned, solved(b));
}

/** The shortest of the best solutions, by singular values: those that are 0 but for rounding are left out. */
function bySingularValues(a: Matrix, b: Matrix, epsilon: number): Matrix {
  // Wide matrices by their adjoint, for the values are those of a tall one.
  const isTall = a.rows >= a.columns;
  const { s, u, v } = svd(isTall ? a : a.adjoint());
  const [left, right] = isTall ? [u, v] : [v, u];
  const inner = s.length;
  const parts = multiply(left.corner(left.rows, inner).adjoint(), b);
  const least = epsilon * Math.max(a.rows, a.columns) * (s[0] ?? 0);
  for (let i = 0; i < inner; i++)
    for (let k = 0; k < b.columns; k++) {
      const at = i * b.columns + k;
      const factor = s[i]! > least ? 1 / s[i]! : 0;
      parts.re[at]! *= factor;
      parts.im[at]! *= factor;
    }
  return multiply(right.corner(right.rows, inner), parts);
}

/** Solutions of this shape by one of the two ways; undefined where one has none. */
export async function leastSquares(
  matrix: NDArray,
  rhs: NDArray,
  shape: Shape,
  way: { readonly regularizer: number } | 'shortest',
  threads: number,
): Promise<NDArray | undefined> {
  const { dtype } = rhs;
  const epsilon = dtype === float64 || dtype === complex128 ? 2 ** -52 : 2 ** -23;
  const library = native();
  if (!library || matrix.size === 0 || rhs.size === 0) {
    const rights = matricesOf(rhs);
    const found: Matrix[] = [];
    for (const [i, m] of matricesOf(matrix).entries()) {
      const right = rights[i]!;
      const isEmpty = m.rows === 0 || m.columns === 0;
      const x = isEmpty
        ? new Matrix(m.columns, right.columns)
        : way === 'shortest'
          ? bySingularValues(m, right, epsilon)
          : byNormalEquations(m, right, way.regularizer);
      if (!x) return undefined;
      found.push(x);
    }
    return arrayOf(dtype, shape, found);
  }
  const [[m, n], columns] = [matrix.shape.slice(-2) as [number, number], rhs.shape.at(-1)!]; // the op checked the ranks
  const count = sizeOf(shape.slice(0, -2));
  const [weight, least] = way === 'shortest' ? [0, epsilon] : [way.regularizer, 0];
  const { isSingular, results } = await computeMatrices({
    call: library.leastSquares,
    work: 12 * count * m * n * (Math.min(m, n) + columns),
    inputs: [matrix, rhs],
    wanted: [{ dtype, shape }],
    threads,
    args: ([a, b], [out]) => [m, n, columns, count, weight, least, a!, b!, out!],
  });
  return isSingular ? undefined : results[0];
}

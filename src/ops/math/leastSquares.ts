/** @file MatrixSolveLs: solutions of linear equations that there are too many or too few of. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, mergeShapes, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { getItem } from '../array/getItem.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { eye } from '../array/meshgrid.ts';
import { shape } from '../array/shape.ts';
import { matrixTranspose } from '../array/transpose.ts';
import { cast } from './cast.ts';
import { Cholesky } from './factorizations.ts';
import { arrayOf, cholesky, Matrix, matricesOf, solveTriangular } from './hostMatrix.ts';
import { multiply } from './hostSchur.ts';
import { svd } from './hostSpectrum.ts';
import { choleskySolve } from './linalg.ts';
import { matrixDims, matrixTypes } from './linalgShapes.ts';
import { matmul } from './matmul.ts';
import { minus, minusOf, plus, times } from './operators.ts';

/** The solution by the normal equations: fast, and less exact the more the singular values differ. */
function byNormalEquations(a: Matrix, b: Matrix, regularizer: number): Matrix {
  const turned = a.adjoint();
  const isTall = a.rows >= a.columns;
  const gramian = isTall ? multiply(turned, a) : multiply(a, turned);
  for (let i = 0; i < gramian.rows; i++) gramian.re[i * gramian.rows + i]! += regularizer;
  const lower = cholesky(gramian);
  if (lower.re.some(Number.isNaN))
    throw new InvalidArgumentError(
      'Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a larger l2_regularizer > 0.',
    );
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

function solutionDims(matrix: Dims, rhs: Dims): Dims {
  const [left, right] = [matrixDims('matrix', matrix), matrixDims('rhs', rhs)];
  if (left.rows !== null && right.rows !== null && left.rows !== right.rows)
    throw new InvalidArgumentError(
      `matrix is ${showShape(matrix)} and rhs is ${showShape(rhs)}; they must have the same number of rows.`,
    );
  const batch = mergeShapes(left.batch, right.batch);
  return batch === null ? null : [...batch, left.columns, right.columns];
}

/** The Cholesky factor of `aᴴa` or `aaᴴ`, with `regularizer` added on the diagonal. */
export function gramianCholesky(a: Tensor, regularizer: Tensor | number, firstKind: boolean): Tensor {
  let gramian = matmul(a, a, { adjointA: firstKind, adjointB: !firstKind });
  if (regularizer !== 0) {
    const whole = shape(a);
    const batch = getItem(whole, ':-2');
    const small = getItem(whole, [firstKind ? -1 : -2]);
    const identity = eye(small, { batchShape: batch, dtype: a.dtype });
    const known = a.shape?.at(firstKind ? -1 : -2) ?? null;
    identity.setShape(a.shape === null ? null : [...a.shape.slice(0, -2), known, known]);
    gramian = plus(gramian, times(regularizer, identity));
  }
  return Cholesky.build({ input: gramian }).output;
}

export const MatrixSolveLs = defineOp({
  name: 'MatrixSolveLs',
  inputs: { matrix: 'T', rhs: 'T', l2_regularizer: 'float64' },
  outputs: { output: 'T' },
  attrs: { T: matrixTypes, fast: attr('bool', { default: true }) },
  shape: ({ matrix, rhs }) => ({ output: solutionDims(matrix, rhs) }),
  grad({ inputs: { matrix: a, rhs: b, l2_regularizer }, outputs: { output: x }, attrs: { fast } }, dy) {
    if (!fast) throw userError('the gradient of tf.linalg.lstsq is not defined for fast: false.');
    const [rows, columns] = a.shape?.slice(-2) ?? [null, null];
    if (rows == null || columns == null)
      throw userError(
        `the gradient of MatrixSolveLs depends on whether there are more rows than columns, but the matrix is ${showShape(a.shape)}; say how many there are with setShape.`,
      );
    const regularizer = cast(l2_regularizer, a.dtype);
    const dx = denseGradient(dy.output);
    if (rows >= columns) {
      const z = choleskySolve(gramianCholesky(a, regularizer, true), dx);
      const product = matmul(x, z, { adjointB: true });
      const symmetric = plus(product, matrixTranspose(product));
      const da = plus(minusOf(matmul(a, symmetric)), matmul(b, z, { adjointB: true }));
      return { matrix: da, rhs: matmul(a, z), l2_regularizer: null };
    }
    const factor = gramianCholesky(a, regularizer, false);
    const db = choleskySolve(factor, matmul(a, dx));
    const solved = choleskySolve(factor, b);
    const first = minusOf(matmul(db, matmul(solved, a, { adjointA: true })));
    const rest = minus(dx, matmul(a, db, { adjointA: true }));
    return { matrix: plus(first, matmul(solved, rest, { adjointB: true })), rhs: db, l2_regularizer: null };
  },
  lower(p, { matrix, rhs, l2_regularizer }, { fast }) {
    const [left, right] = [matrix.shape, rhs.shape];
    if (left.length < 2 || right.length !== left.length)
      throw new InvalidArgumentError(`All input tensors must have the same rank.`);
    if (left.slice(0, -2).join() !== right.slice(0, -2).join())
      throw new InvalidArgumentError(`All input tensors must have the same outer dimensions.`);
    if (left.at(-2) !== right.at(-2))
      throw new InvalidArgumentError(
        `Input matrix and rhs are incompatible: ${showRuntime(left)} and ${showRuntime(right)}.`,
      );
    if (l2_regularizer.shape.length > 0) throw new InvalidArgumentError('Regularizer must be scalar.');
    const whole: Shape = [...left.slice(0, -2), left.at(-1)!, right.at(-1)!];
    const { dtype } = rhs;
    const epsilon = dtype === d.float64 || dtype === d.complex128 ? 2 ** -52 : 2 ** -23;
    const [output] = p.host([matrix, rhs, l2_regularizer], [{ dtype, shape: whole }], ([a, b, weight]) => {
      const regularizer = weight!.numberAt(0);
      if (regularizer < 0) throw new InvalidArgumentError('Regularizer must be non-negative.');
      const rights = matricesOf(b!);
      const solutions = matricesOf(a!).map((m, i) => {
        if (m.rows === 0 || m.columns === 0) return new Matrix(m.columns, rights[i]!.columns);
        return fast ? byNormalEquations(m, rights[i]!, regularizer) : bySingularValues(m, rights[i]!, epsilon);
      });
      return [arrayOf(dtype, whole, solutions)];
    });
    return { output: output! };
  },
  cases: () => {
    const tall = [
      [1, 2],
      [3, 4],
      [5, 7],
    ];
    const wide = [
      [1, 3, 5],
      [2, 4, 7],
    ];
    const none = { dtype: 'float64' as const, value: 0 };
    return [
      { shape: '[5, 3, 2], [?, 3, 4], [] -> [5, 2, 4]' },
      { shape: '[3, 2], [2, 1], []', rejects: /same number of rows/ },
      // The solution changes with the regularizer too, for which TensorFlow has no gradient.
      {
        given: { matrix: tall, rhs: [[1], [2], [4]], l2_regularizer: none },
        tolerance: 1e-3, // TensorFlow's float32
        differentiable: false,
      },
      {
        given: { matrix: tall, rhs: [[1], [2], [4]], l2_regularizer: { dtype: 'float64', value: 0.5 } },
        differentiable: false,
      },
      { given: { matrix: wide, rhs: [[1], [2]], l2_regularizer: none }, tolerance: 1e-3 }, // TensorFlow's float32
      {
        given: { matrix: wide, rhs: [[1], [2]], l2_regularizer: none },
        attrs: { fast: false },
        differentiable: false,
      },
      {
        given: {
          matrix: [
            [1, 2],
            [2, 4],
            [3, 6],
          ],
          rhs: [[1], [2], [3]],
          l2_regularizer: none,
        },
        attrs: { fast: false },
        expect: { output: [[0.2], [0.4]] },
        differentiable: false,
      },
      {
        given: { matrix: tall, rhs: [[1], [2], [4]], l2_regularizer: { dtype: 'float64', value: -1 } },
        fails: /Regularizer must be non-negative/,
      },
    ];
  },
});

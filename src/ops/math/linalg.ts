/** @file Linear algebra as functions: inverses, determinants, solutions, factorizations. */

import { type NamedTuple, namedTuple } from '../../graph/namedTuple.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { matrixTranspose } from '../array/transpose.ts';
import { Cholesky, Qr } from './factorizations.ts';
import {
  LogMatrixDeterminant,
  MatrixDeterminant,
  MatrixInverse,
  MatrixSolve,
  MatrixTriangularSolve,
} from './linalgOps.ts';

/** Takes the conjugate transpose of the innermost matrices, with Python's nodes. */
export function adjoint(matrix: TensorLike, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.linalg.adjoint', options, 'name');
  return nameScope(options.name ?? 'adjoint', () =>
    matrixTranspose(convertToTensor(matrix, { name: 'matrix' }), { conjugate: true }),
  );
}

interface NameOption {
  readonly name?: string | undefined;
}
interface AdjointOption extends NameOption {
  /** Use the conjugate transpose of the matrix. */
  readonly adjoint?: boolean | undefined;
}

/**
 * The inverse of square matrices. Adds one `MatrixInverse` node.
 *
 * @example tf.matrixInverse(tf.constant([[2.0, 0.0], [0.0, 4.5]])) // runs to [[0.5 0.] [0. 0.22222222]]
 */
export function matrixInverse(input: TensorLike, options: AdjointOption = {}): Tensor {
  onlyOptions('tf.matrixInverse', options, 'name', 'adjoint');
  return MatrixInverse.build({ input }, { name: options.name, attrs: { adjoint: options.adjoint ?? false } }).output;
}

/**
 * The determinant of square matrices. Adds one `MatrixDeterminant` node.
 *
 * @example tf.matrixDeterminant(tf.constant([[1.5, 2], [3, 5]])) // runs to 1.5
 */
export function matrixDeterminant(input: TensorLike, options: NameOption = {}): Tensor {
  return MatrixDeterminant.build({ input }, options).output;
}

/**
 * The sign of the determinant and the logarithm of its size. Adds one `LogMatrixDeterminant` node.
 *
 * @example tf.linalg.slogdet(tf.constant([[1, 2], [3, 4.5]])).sign // runs to -1.0
 */
export function slogdet(
  input: TensorLike,
  options: NameOption = {},
): NamedTuple<{ readonly sign: Tensor; readonly logAbsDeterminant: Tensor }> {
  const { sign, log_abs_determinant } = LogMatrixDeterminant.build({ input }, options);
  return namedTuple({ sign, logAbsDeterminant: log_abs_determinant });
}

/**
 * The x for which `matrix * x = rhs`. Adds one `MatrixSolve` node.
 *
 * @example tf.matrixSolve(tf.constant([[2.0, 0.0], [0.0, 4.5]]), [[1], [9]]) // runs to [[0.5] [2. ]]
 */
export function matrixSolve(matrix: TensorLike, rhs: TensorLike, options: AdjointOption = {}): Tensor {
  onlyOptions('tf.matrixSolve', options, 'name', 'adjoint');
  return MatrixSolve.build({ matrix, rhs }, { name: options.name, attrs: { adjoint: options.adjoint ?? false } })
    .output;
}

/**
 * The x for which `matrix * x = rhs`, where only one half of the matrix is looked at. Adds one `MatrixTriangularSolve` node
 * under `triangular_solve/`.
 *
 * @example tf.matrixTriangularSolve(tf.constant([[2.0, 0.0], [1.0, 4.5]]), [[1], [5]]) // runs to [[0.5] [1. ]]
 */
export function matrixTriangularSolve(
  matrix: TensorLike,
  rhs: TensorLike,
  options: AdjointOption & { lower?: boolean } = {},
): Tensor {
  onlyOptions('tf.matrixTriangularSolve', options, 'name', 'adjoint', 'lower');
  const attrs = { lower: options.lower ?? true, adjoint: options.adjoint ?? false };
  return nameScope(
    options.name ?? 'triangular_solve',
    () => MatrixTriangularSolve.build({ matrix, rhs }, { attrs }).output,
  );
}

/**
 * The lower triangular L with `L * adjoint(L)` equal to the matrix. Adds one `Cholesky` node.
 *
 * @example tf.cholesky(tf.constant([[4, 2], [2, 5]], { dtype: tf.float32 })) // runs to [[2. 0.] [1. 2.]]
 */
export function cholesky(input: TensorLike, options: NameOption = {}): Tensor {
  return Cholesky.build({ input }, options).output;
}

/**
 * The x for which `matrix * x = rhs`, from the Cholesky factor of the matrix. Adds two `MatrixTriangularSolve` nodes.
 *
 * @example tf.choleskySolve(tf.cholesky(a), rhs)
 */
export function choleskySolve(chol: TensorLike, rhs: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.choleskySolve', options, 'name');
  return nameScope(options.name ?? 'cholesky_solve', () => {
    const y = MatrixTriangularSolve.build({ matrix: chol, rhs }).output;
    return MatrixTriangularSolve.build({ matrix: chol, rhs: y }, { attrs: { adjoint: true } }).output;
  });
}

/**
 * Orthogonal and upper triangular factors of matrices. Adds one `Qr` node.
 *
 * @example const [q, r] = tf.qr(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
 */
export function qr(
  input: TensorLike,
  options: NameOption & { fullMatrices?: boolean } = {},
): NamedTuple<{ readonly q: Tensor; readonly r: Tensor }> {
  onlyOptions('tf.qr', options, 'name', 'fullMatrices');
  const attrs = { full_matrices: options.fullMatrices ?? false };
  return namedTuple(Qr.build({ input }, { name: options.name, attrs }));
}

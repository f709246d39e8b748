/** @file `tf.linalg`. */
export { expm, lstsq, luMatrixInverse, luReconstruct, luSolve } from '../front/linalg.ts';
export {
  diag as tensorDiag,
  diagPart as tensorDiagPart,
  eye,
  matrixBandPart as bandPart,
  matrixDiag as diag,
  matrixDiagPart as diagPart,
  matrixSetDiag as setDiag,
  matrixTranspose,
  matrixTranspose as transpose,
} from '../ops/array/index.ts';
export {
  cholesky,
  choleskySolve,
  cross,
  einsum,
  globalNorm,
  matmul,
  matrixDeterminant as det,
  matrixInverse as inv,
  matrixSolve as solve,
  matrixTriangularSolve as triangularSolve,
  norm,
  qr,
  selfAdjointEig as eigh,
  selfAdjointEigvals as eigvalsh,
  svd,
  tensordot,
  trace,
} from '../ops/math/index.ts';
export { adjoint, slogdet } from '../ops/math/linalg.ts';
export { lu } from '../ops/math/lu.ts';
export { logdet, matrixRank, normalize, pinv } from '../ops/math/matrixFunctions.ts';
export { logm, sqrtm } from '../ops/math/matrixRoots.ts';
export { matvec } from '../ops/math/norm.ts';
export { l2Normalize } from '../ops/nn/index.ts';

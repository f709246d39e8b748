/** @file `tf.linalg`. */
export {
  diag as tensorDiag,
  diagPart as tensorDiagPart,
  eye,
  matrixBandPart as bandPart,
  matrixDiag as diag,
  matrixDiagPart as diagPart,
  matrixSetDiag as setDiag,
  matrixTranspose as transpose,
} from '../ops/array/index.ts';
export { matmul, matvec, norm, tensordot, trace } from '../ops/math/index.ts';

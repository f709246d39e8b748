/** @file The gradient of Qr, node for node as TensorFlow's Python builds it. */
import { UnimplementedError } from '../../core/errors.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { concat } from '../array/concat.ts';
import { getItem } from '../array/getItem.ts';
import { matrixBandPart } from '../array/matrixBandPart.ts';
import { matrixDiagPart } from '../array/matrixDiagPart.ts';
import { matrixSetDiag } from '../array/matrixSetDiag.ts';
import { cast } from './cast.ts';
import { real } from './complex.ts';
import { adjoint, matrixTriangularSolve } from './linalg.ts';
import { matmul } from './matmul.ts';
import { minus, plus } from './operators.ts';
import { zerosLike } from './zerosLike.ts';

interface QrNode {
  readonly input: Tensor;
  readonly q: Tensor;
  readonly r: Tensor;
  readonly dq: Tensor;
  readonly dr: Tensor;
}

/** `x * inverse(adjoint(r))`. */
function divideByUpper(x: Tensor, r: Tensor): Tensor {
  return adjoint(matrixTriangularSolve(r, adjoint(x), { lower: false, adjoint: false }));
}

/** For matrices with at least as many rows as columns. */
function tallGradient(q: Tensor, r: Tensor, dq: Tensor, dr: Tensor): Tensor {
  const qdq = matmul(q, dq, { adjointA: true });
  const skewQ = minus(qdq, adjoint(qdq));
  const rdr = matmul(r, dr, { adjointB: true });
  const skewR = minus(rdr, adjoint(rdr));
  const lower = matrixBandPart(plus(skewQ, skewR), -1, 0);
  const first = matmul(q, plus(dr, divideByUpper(lower, r)));
  const second = divideByUpper(minus(dq, matmul(q, qdq)), r);
  const total = plus(first, second);
  if (!q.dtype.isComplex) return total;
  // The phases of the diagonal are fixed by the choice of a real diagonal of r.
  const m = minus(rdr, adjoint(qdq));
  const diagonal = matrixSetDiag(zerosLike(m), matrixDiagPart(m));
  const correction = minus(diagonal, cast(real(diagonal), q.dtype));
  return plus(total, divideByUpper(matmul(q, adjoint(correction)), r));
}

export function qrGradient({ input, q, r, dq, dr }: QrNode): Tensor {
  const [rows, columns] = r.shape?.slice(-2) ?? [null, null];
  if (rows == null || columns == null)
    throw new UnimplementedError(`the gradient of Qr needs the static shape of its matrices, but ${r} has none.`);
  if (rows > columns && q.shape!.at(-2) === q.shape!.at(-1))
    throw new UnimplementedError('the gradient of Qr is not defined for fullMatrices with more rows than columns.');
  const height = q.shape!.at(-2)!;
  if (height >= columns) return tallGradient(q, r, dq, dr);
  const y = getItem(input, ['...', ':', [height]]);
  const u = getItem(r, ['...', ':', [null, height]]);
  const dv = getItem(dr, ['...', ':', [height]]);
  const du = getItem(dr, ['...', ':', [null, height]]);
  const dy = matmul(q, dv);
  const dx = tallGradient(q, u, plus(dq, matmul(y, dv, { adjointB: true })), du);
  return concat([dx, dy], -1);
}

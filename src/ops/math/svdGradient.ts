/** @file The gradient of Svd, node for node as TensorFlow's Python builds it. */
import { UnimplementedError } from '../../core/errors.ts';
import { mergeShapes } from '../../core/shape.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { expandDims } from '../array/expandDims.ts';
import { getItem } from '../array/getItem.ts';
import { matrixDiag } from '../array/matrixDiag.ts';
import { matrixSetDiag } from '../array/matrixSetDiag.ts';
import { eye } from '../array/meshgrid.ts';
import { shape } from '../array/shape.ts';
import { matrixTranspose } from '../array/transpose.ts';
import { cast } from './cast.ts';
import { adjoint } from './linalg.ts';
import { matmul } from './matmul.ts';
import { minus, plus, times } from './operators.ts';
import { svd } from './spectrum.ts';
import { reciprocal, square } from './sqrt.ts';
import { zerosLike } from './zerosLike.ts';

export interface SvdNode {
  readonly input: Tensor;
  readonly s: Tensor;
  readonly u: Tensor;
  readonly v: Tensor;
  readonly ds: Tensor;
  readonly du: Tensor;
  readonly dv: Tensor;
  readonly isFull: boolean;
}

/** `1 / x`, and 0 at 0: the addend is lost beside any other square. */
export const safeReciprocal = (x: Tensor): Tensor => times(x, reciprocal(plus(times(x, x), 1e-20)));

/** Where only the values were asked for, their vectors are computed for the gradient. */
export function singularValueGradient(input: Tensor, ds: Tensor): Tensor {
  const middle = matrixDiag(cast(ds, input.dtype));
  const { u, v } = svd(input, { computeUv: true });
  const result = matmul(u, matmul(middle, v, { adjointB: true }));
  result.setShape(input.shape);
  return result;
}

/**
 * Equal singular values have vectors that are determined only up to a turn, so derivatives of the vectors grow without
 * bound when two values come close.
 */
export function svdGradient(node: SvdNode): Tensor {
  const { input, isFull } = node;
  const ds = cast(node.ds, input.dtype);
  const middle = matrixDiag(ds);
  const dims = mergeShapes(input.shape, [...(input.shape?.slice(0, -2) ?? []), null, null]);
  const [rows, columns] = dims?.slice(-2) ?? [null, null];
  if (rows == null || columns == null)
    throw new UnimplementedError(`the gradient of Svd needs the static shape of its matrices, but ${input} has none.`);
  const s = cast(node.s, input.dtype);
  // The gradient is written for wide matrices; a tall one is the adjoint of such a matrix.
  const isTall = rows > columns;
  const [m, n] = isTall ? [columns, rows] : [rows, columns];
  const [u, v, du, dv] = isTall ? [node.v, node.u, node.dv, node.du] : [node.u, node.v, node.du, node.dv];
  return controlDependencies([ds, du, dv], () => {
    if (isFull && n - m > 1)
      throw new UnimplementedError(
        `the gradient of Svd with fullMatrices needs rows and columns that differ by one at most, but there are ${rows} and ${columns}.`,
      );
    const wide = wideGradient({ s, u, v, du, dv, middle, m, n, isFull });
    const result = isTall ? matrixTranspose(wide, { conjugate: true }) : wide;
    result.setShape(input.shape);
    return result;
  });
}

interface Wide {
  readonly s: Tensor;
  readonly u: Tensor;
  readonly v: Tensor;
  readonly du: Tensor;
  readonly dv: Tensor;
  /** The gradient of the singular values, on a diagonal. */
  readonly middle: Tensor;
  readonly m: number;
  readonly n: number;
  readonly isFull: boolean;
}

function wideGradient({ s, u, v, du, dv, middle, m, n, isFull }: Wide): Tensor {
  const values = matrixDiag(s);
  const squares = square(s);
  const sizes = shape(s);
  const gaps = minus(expandDims(squares, -2), expandDims(squares, -1));
  const f = matrixSetDiag(safeReciprocal(gaps), zerosLike(s));
  const inverse = matrixDiag(safeReciprocal(s));
  const v1 = getItem(v, ['...', ':', [null, m]]);
  const dv1 = getItem(dv, ['...', ':', [null, m]]);
  const uu = matmul(u, du, { adjointA: true });
  const vv = matmul(v1, dv1, { adjointA: true });
  const fu = times(f, uu);
  const fv = times(f, vv);
  const left = plus(middle, matmul(plus(fu, adjoint(fu)), values));
  const core = plus(left, matmul(values, plus(fv, adjoint(fv))));
  let result = matmul(u, matmul(core, v1, { adjointB: true }));
  if (m !== n) {
    const turned = matrixTranspose(dv1, { conjugate: true });
    let outside = minus(turned, matmul(matmul(turned, v1), v1, { adjointB: true }));
    if (isFull) {
      const v2 = getItem(v, ['...', ':', [m, n]]);
      const dv2 = getItem(dv, ['...', ':', [m, n]]);
      outside = minus(outside, matmul(matmul(v1, dv2, { adjointA: true }), v2, { adjointB: true }));
    }
    result = plus(result, matmul(matmul(u, inverse), outside));
  }
  if (!s.dtype.isComplex) return result;
  // The phases of the vectors are free, and do not count.
  const last = getItem(sizes, [-1]);
  const l = times(eye(last, { batchShape: getItem(sizes, ':-1'), dtype: s.dtype }), vv);
  const phases = matmul(inverse, minus(adjoint(l), l));
  return plus(result, times(0.5, matmul(u, matmul(phases, v1, { adjointB: true }))));
}

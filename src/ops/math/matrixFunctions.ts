/** @file Functions of matrices that are made of other ops: logdet, pinv, matrixRank, normalize; and polynomials. */
import { complex64, type DType, float16, float32, int32 } from '../../core/dtypes.ts';
import { isFullyDefined } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { withAxis } from '../array/common.ts';
import { expandDims } from '../array/expandDims.ts';
import { getItem } from '../array/getItem.ts';
import { matrixDiagPart } from '../array/matrixDiagPart.ts';
import { shape } from '../array/shape.ts';
import { cast } from './cast.ts';
import { greater } from './compare.ts';
import { real } from './complex.ts';
import type { NameOption } from './elementwise.ts';
import { log } from './exp.ts';
import { Cholesky } from './factorizations.ts';
import { matmul } from './matmul.ts';
import { maximum } from './maximum.ts';
import { type NormOptions, norm } from './norm.ts';
import { over, plus, times } from './operators.ts';
import { reduceMax, reduceSum } from './reductions.ts';
import { whereV2 } from './select.ts';
import { svd } from './spectrum.ts';
import { zerosLike } from './zerosLike.ts';

/**
 * The logarithm of the determinant of Hermitian positive definite matrices. Adds nodes under `logdet/`.
 *
 * @example tf.linalg.logdet(tf.constant([[4.0, 1.0], [1.0, 2.5]])) // runs to 2.1972246
 */
export function logdet(matrix: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.linalg.logdet', options, 'name');
  return nameScope(options.name ?? 'logdet', () => {
    const { output } = Cholesky.build({ input: matrix });
    return times(2, reduceSum(log(real(matrixDiagPart(output))), [-1]));
  });
}

/** The gap between 1 and the next number. */
function epsilon(dtype: DType): number {
  if (dtype === float16) return 2 ** -10;
  return dtype === float32 || dtype === complex64 ? 2 ** -23 : 2 ** -52;
}

function checkMatrix(a: Tensor): void {
  if (!a.dtype.isFloating) throw userError(`a is ${a.dtype}, but must be of a floating type; wrap it in tf.cast.`);
  if (a.rank !== null && a.rank < 2) throw userError(`a is ${a}, but rank 2 or more is needed.`);
}

interface MatrixRankOptions extends NameOption {
  /** Singular values up to this count as zero; a small multiple of the largest one unless given. */
  readonly tol?: TensorLike | undefined;
}

/**
 * How many singular values of each matrix are not zero. Adds nodes under `matrix_rank/`.
 *
 * @example tf.linalg.matrixRank(tf.constant([[1.5, 3.0], [3.0, 6.0]])) // runs to 1
 */
export function matrixRank(a: TensorLike, options: MatrixRankOptions = {}): Tensor {
  onlyOptions('tf.linalg.matrixRank', options, 'tol', 'name');
  return nameScope(options.name ?? 'matrix_rank', () => {
    const matrix = convertToTensor(a, { name: 'a', hint: float32 });
    checkMatrix(matrix);
    const { s } = svd(matrix, { computeUv: false });
    let { tol } = options;
    if (tol === undefined) {
      const sizes = matrix.shape?.slice(-2) ?? null;
      const most = isFullyDefined(sizes) ? Math.max(...sizes) : reduceMax(getItem(shape(matrix), [[-2]]));
      const scale = times(epsilon(matrix.dtype), cast(most, matrix.dtype));
      tol = times(scale, reduceMax(s, -1, { keepdims: true }));
    }
    return reduceSum(cast(greater(s, tol), int32), -1);
  });
}

interface PinvOptions extends NameOption {
  /** Singular values up to this share of the largest count as zero. */
  readonly rcond?: TensorLike | undefined;
}

/**
 * The Moore-Penrose inverse of matrices, by their singular values. Adds nodes under `pinv/`.
 *
 * @example tf.linalg.pinv(tf.constant([[2.0], [1.5]])) // runs to [[0.32       0.24000001]]
 */
export function pinv(a: TensorLike, options: PinvOptions = {}): Tensor {
  onlyOptions('tf.linalg.pinv', options, 'rcond', 'name');
  return nameScope(options.name ?? 'pinv', () => {
    const matrix = convertToTensor(a, { name: 'a', hint: float32 });
    checkMatrix(matrix);
    const { dtype } = matrix;
    const rcond = convertToTensor(options.rcond ?? usualCutoff(matrix), { name: 'rcond', dtype });
    const { s, u, v } = svd(matrix, { fullMatrices: false, computeUv: true });
    const cutoff = times(rcond, reduceMax(s, -1));
    // Dividing by infinity drops a direction, and unlike a division by zero it has a derivative.
    const kept = whereV2(greater(s, expandDims(cutoff, -1)), s, Number.POSITIVE_INFINITY);
    const result = matmul(over(v, expandDims(kept, -2)), u, { adjointB: true });
    if (matrix.shape) {
      const [rows, columns] = matrix.shape.slice(-2) as [number | null, number | null]; // the rank was checked
      result.setShape([...matrix.shape.slice(0, -2), columns, rows]);
    }
    return result;
  });
}

function usualCutoff(matrix: Tensor): TensorLike {
  const [rows, columns] = [-2, -1].map((axis) => matrix.shape?.at(axis) ?? getItem(shape(matrix), [axis]));
  const most =
    typeof rows === 'number' && typeof columns === 'number'
      ? Math.max(rows, columns)
      : cast(maximum(rows!, columns!), matrix.dtype);
  const scale = typeof most === 'number' ? 10 * most : times(10, most);
  return typeof scale === 'number' ? scale * epsilon(matrix.dtype) : times(scale, epsilon(matrix.dtype));
}

type NormalizeOptions = Pick<NormOptions, 'ord' | 'axis' | 'name'>;

/**
 * A tensor divided by its norm along `axis`, and the norm. Adds nodes under `normalize/`.
 *
 * @example tf.linalg.normalize(tf.constant([3.0, 4.5]))[0] // runs to [0.5547002  0.83205026]
 */
export function normalize(
  tensor: TensorLike,
  axis?: NormOptions['axis'] | NormalizeOptions,
  last: NormalizeOptions = {},
): readonly [normalized: Tensor, norm: Tensor] {
  const options = withAxis(axis, last);
  onlyOptions('tf.linalg.normalize', options, 'ord', 'axis', 'name');
  return nameScope(options.name ?? 'normalize', () => {
    const x = convertToTensor(tensor);
    const size = cast(norm(x, { ord: options.ord, axis: options.axis, keepdims: true }), x.dtype);
    return [over(x, size), size];
  });
}

/**
 * The polynomial with these coefficients, the one of the highest power first, at `x`. Adds nodes under `polyval/`.
 *
 * @example tf.math.polyval([1, 2, 3], 10) // runs to 123
 */
export function polyval(coeffs: readonly TensorLike[], x: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.math.polyval', options, 'name');
  if (!Array.isArray(coeffs)) throw userError('coeffs must be a list of coefficients, as in [1, 2, 3].');
  return nameScope(options.name ?? 'polyval', (name) => {
    const at = convertToTensor(x, { name: 'x' });
    if (coeffs.length === 0) return zerosLike(at, { name });
    const [first, ...others] = coeffs.map((c, i) =>
      convertToTensor(c as TensorLike, { name: `coeff_${i}`, hint: at.dtype }),
    ) as [Tensor, ...Tensor[]]; // coeffs is a list of coefficients, not empty
    return others.reduce((sum, c) => plus(c, times(sum, at)), first);
  });
}

/** @file Norms, traces and products with vectors, built on reductions and matrix products. */

import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { expandDims } from '../array/expandDims.ts';
import { matrixDiagPart } from '../array/matrixDiagPart.ts';
import { squeeze } from '../array/squeeze.ts';
import { conj } from './complex.ts';
import { type MatmulOptions, matmul } from './matmul.ts';
import { abs } from './neg.ts';
import { times } from './operators.ts';
import { pow } from './pow.ts';
import { reduceMax, reduceSum } from './reductions.ts';
import { sqrt } from './sqrt.ts';

/**
 * The product of a matrix (or a batch of them) and a vector. Adds nodes under `MatVec/`.
 *
 * @example tf.linalg.matvec([[1, 2], [3, 4]], [5, 6]) // runs to [17 39]
 */
export function matvec(a: TensorLike, b: TensorLike, options: MatmulOptions = {}): Tensor {
  const { name, ...rest } = options;
  return nameScope(name ?? 'MatVec', () => squeeze(matmul(a, expandDims(b, -1), rest), { axis: -1 }));
}

/**
 * The sum of the main diagonal of the innermost matrices. Adds nodes under `Trace/`.
 *
 * @example tf.trace([[1, 2], [3, 4]]) // runs to 5
 */
export function trace(x: TensorLike, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.trace', options, 'name');
  return nameScope(options.name ?? 'Trace', (name) => {
    const input = convertToTensor(x, { name: 'x' });
    return reduceSum(matrixDiagPart(input), [-1], { name });
  });
}

export interface NormOptions {
  /** `'euclidean'` (the default), `'fro'`, a positive number, or `Infinity`. */
  readonly ord?: number | 'euclidean' | 'fro' | undefined;
  /** All elements as one vector unless given; one axis for vectors, two for matrices. */
  readonly axis?: number | readonly number[] | null | undefined;
  readonly keepdims?: boolean | undefined;
  /** The older name of `keepdims`. */
  readonly keepDims?: boolean | undefined;
  readonly name?: string | undefined;
}

/**
 * The norm of vectors or matrices. Adds nodes under `norm/`.
 *
 * @example tf.norm(tf.constant([3.0, 4.5])) // runs to 5.408327
 */
export function norm(tensor: TensorLike, options: NormOptions = {}): Tensor {
  onlyOptions('tf.norm', options, 'ord', 'axis', 'keepdims', 'keepDims', 'name');
  const { ord = 'euclidean', axis = null } = options;
  const keepdims = options.keepdims ?? options.keepDims ?? false;
  const axes = axis === null ? null : typeof axis === 'number' ? [axis] : [...axis];
  const isMatrix = axes?.length === 2;
  if (ord === 2 && isMatrix)
    throw userError('The matrix norm of order 2 is the largest singular value; take it from tf.svd.');
  if (ord === 'fro' && !isMatrix) throw userError("'fro' is a norm of matrices: give two axes.");
  if (typeof ord === 'number' && ord <= 0) throw userError(`ord is ${ord}, but must be positive.`);
  if (isMatrix && typeof ord === 'number' && ord !== 1 && ord !== Number.POSITIVE_INFINITY)
    throw userError(`ord is ${ord}, but matrices have the norms 'euclidean', 'fro', 1 and Infinity.`);
  return nameScope(options.name ?? 'norm', () => {
    const x = convertToTensor(tensor);
    const result = keptNorm(x, ord, axes, isMatrix);
    return keepdims ? result : squeeze(result, axes === null ? {} : { axis: axes });
  });
}

/** The norm with the reduced axes kept. */
function keptNorm(
  x: Tensor,
  ord: number | 'euclidean' | 'fro',
  axes: readonly number[] | null,
  isMatrix: boolean,
): Tensor {
  if (ord === 'euclidean' || ord === 'fro' || ord === 2)
    return sqrt(reduceSum(times(x, conj(x)), axes, { keepdims: true }));
  const sizes = abs(x);
  if (ord === 1) {
    const sums = reduceSum(sizes, axes?.[0] ?? null, { keepdims: true });
    return isMatrix ? reduceMax(sums, axes!.at(-1)!, { keepdims: true }) : sums; // matrices have axes
  }
  if (ord === Number.POSITIVE_INFINITY) {
    const sums = isMatrix ? reduceSum(sizes, axes![1]!, { keepdims: true }) : sizes; // as above
    return reduceMax(sums, axes?.[0] ?? null, { keepdims: true });
  }
  return pow(reduceSum(pow(sizes, ord), axes, { keepdims: true }), 1 / ord);
}

/** @file MatrixSolveLs: solutions of linear equations that there are too many or too few of. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, mergeShapes, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { HostCall } from '../../program/instructions.ts';
import { getItem } from '../array/getItem.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { eye } from '../array/meshgrid.ts';
import { shape } from '../array/shape.ts';
import { matrixTranspose } from '../array/transpose.ts';
import { cast } from './cast.ts';
import { Cholesky } from './factorizations.ts';
import { leastSquares } from './leastSquaresSolutions.ts';
import { choleskySolve } from './linalg.ts';
import { matrixDims, matrixTypes } from './linalgShapes.ts';
import { matmul } from './matmul.ts';
import { promises } from './nativeMatrix.ts';
import { minus, minusOf, plus, times } from './operators.ts';

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
    const call: HostCall = async ([a, b, weight], _run, { threads }) => {
      const regularizer = weight!.numberAt(0);
      if (regularizer < 0) throw new InvalidArgumentError('Regularizer must be non-negative.');
      const solution = await leastSquares(a!, b!, whole, fast ? { regularizer } : 'shortest', threads);
      if (!solution)
        throw new InvalidArgumentError(
          'Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a larger l2_regularizer > 0.',
        );
      return [solution];
    };
    const [output] = p.host([matrix, rhs, l2_regularizer], [{ dtype, shape: whole }], call, promises);
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

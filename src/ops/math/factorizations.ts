/** @file Cholesky and Qr: factorizations of matrices, by the native library or on the host. */
import type { Dims, Shape } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { HostCall } from '../../program/instructions.ts';
import { getItem } from '../array/getItem.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { matrixBandPart } from '../array/matrixBandPart.ts';
import { matrixDiagPart } from '../array/matrixDiagPart.ts';
import { matrixSetDiag } from '../array/matrixSetDiag.ts';
import { eye } from '../array/meshgrid.ts';
import { shape } from '../array/shape.ts';
import { cholesky } from './equations.ts';
import { adjoint, matrixTriangularSolve } from './linalg.ts';
import { checkMatrix, checkSquare, matrixDims, matrixTypes, squareDims } from './linalgShapes.ts';
import { matmul } from './matmul.ts';
import { promises } from './nativeMatrix.ts';
import { plus, times } from './operators.ts';
import { qrGradient } from './qrGradient.ts';
import { qr } from './spectra.ts';

export const Cholesky = defineOp({
  name: 'Cholesky',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: matrixTypes },
  shape: ({ input }) => ({ output: squareDims('input', input) }),
  grad: ({ outputs: { output } }, { output: dy }) => ({ input: choleskyGradient(output, dy) }),
  lower(p, { input }) {
    checkSquare(input.shape);
    const call: HostCall = async ([x], _run, { threads }) => [await cholesky(x!, threads)];
    const [output] = p.host([input], [{ dtype: input.dtype, shape: input.shape }], call, promises);
    return { output: output! };
  },
  cases: () => [
    { shape: '[?, 2, 2] -> [?, 2, 2]' },
    { given: { input: [[[4]], [[9]]] }, expect: { output: [[[2]], [[3]]] } },
    // The gradient is that of the symmetric matrix, while a central difference moves one half only.
    {
      given: {
        input: [
          [4, 2],
          [2, 5],
        ],
      },
      expect: {
        output: [
          [2, 0],
          [1, 2],
        ],
      },
      differentiable: false,
    },
    {
      given: {
        input: [
          [4, 9],
          [2, -5],
        ],
      },
      expect: {
        output: [
          [Number.NaN, 0],
          [Number.NaN, Number.NaN],
        ],
      },
      differentiable: false,
    },
  ],
});

function choleskyGradient(l: Tensor, dy: Gradient): Tensor {
  const rows = getItem(shape(l), [-1]);
  const batch = getItem(shape(l), ':-2');
  const inverse = matrixTriangularSolve(l, eye(rows, { batchShape: batch, dtype: l.dtype }));
  let middle = matmul(l, dy, { adjointA: true });
  middle = matrixSetDiag(middle, times(0.5, matrixDiagPart(middle)));
  middle = matrixBandPart(middle, -1, 0);
  const half = matmul(matmul(inverse, middle, { adjointA: true }), inverse);
  return times(plus(half, adjoint(half)), 0.5);
}

function qrDims(input: Dims, full: boolean): { q: Dims; r: Dims } {
  const { batch, rows, columns } = matrixDims('input', input);
  if (batch === null) return { q: null, r: null };
  const inner = rows !== null && columns !== null ? Math.min(rows, columns) : null;
  return full
    ? { q: [...batch, rows, rows], r: [...batch, rows, columns] }
    : { q: [...batch, rows, inner], r: [...batch, inner, columns] };
}

export const Qr = defineOp({
  name: 'Qr',
  inputs: { input: 'T' },
  outputs: { q: 'T', r: 'T' },
  attrs: { full_matrices: attr('bool', { default: false }), T: matrixTypes },
  shape: ({ input }, { full_matrices }) => qrDims(input, full_matrices),
  grad: ({ inputs: { input }, outputs: { q, r } }, dy) => ({
    input: qrGradient({ input, q, r, dq: denseGradient(dy.q), dr: denseGradient(dy.r) }),
  }),
  lower(p, { input }, { full_matrices }) {
    checkMatrix(input.shape);
    const shapes = qrDims(input.shape, full_matrices) as { q: Shape; r: Shape }; // known sizes give known sizes
    const results = [shapes.q, shapes.r].map((shape) => ({ dtype: input.dtype, shape }));
    const [q, r] = p.host([input], results, ([x], _run, { threads }) => qr(x!, shapes, threads), promises);
    return { q: q!, r: r! };
  },
  cases: () => [
    { shape: '[?, 3, 2] -> [?, 3, 2], [?, 2, 2]' },
    { shape: '[?, 3, 2] -> [?, 3, 3], [?, 3, 2]', attrs: { full_matrices: true } },
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
          [5, 7],
        ],
      },
      expect: {
        q: [
          [-0.16903085, 0.9486833],
          [-0.50709255, -0.31622777],
          [-0.84515425, 0],
        ],
        r: [
          [-5.91607978, -8.2825117],
          [0, 0.63245553],
        ],
      },
      // An element that is 0 but for rounding.
      tolerance: 1e-4,
    },
    {
      given: {
        input: [
          [1, 3, 5],
          [2, 4, 7],
        ],
      },
      expect: {
        q: [
          [-0.4472136, -0.89442719],
          [-0.89442719, 0.4472136],
        ],
        r: [
          [-2.23606798, -4.91934955, -8.49705831],
          [0, -0.89442719, -1.34164079],
        ],
      },
    },
  ],
});

/** @file SelfAdjointEigV2 and Svd: eigenvalues of Hermitian matrices, and singular values. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showShape } from '../../core/shape.ts';
import { type NamedTuple, namedTuple } from '../../graph/namedTuple.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { type AttrSpec, attr } from '../../op/attrs.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import { expandDims } from '../array/expandDims.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { matrixBandPart } from '../array/matrixBandPart.ts';
import { matrixDiag } from '../array/matrixDiag.ts';
import { matrixDiagPart } from '../array/matrixDiagPart.ts';
import { matrixSetDiag } from '../array/matrixSetDiag.ts';
import { real } from './complex.ts';
import { adjoint } from './linalg.ts';
import { checkMatrix, matrixDims, matrixTypes, type TypeAttr } from './linalgShapes.ts';
import { matmul } from './matmul.ts';
import { promises } from './nativeMatrix.ts';
import { minus, plus, times } from './operators.ts';
import * as spectra from './spectra.ts';
import { safeReciprocal, singularValueGradient, svdGradient } from './svdGradient.ts';
import { zerosLike } from './zerosLike.ts';

type EigOp = Op<
  { readonly input: 'T' },
  { readonly e: 'T'; readonly v: 'T' },
  TypeAttr & { readonly compute_v: AttrSpec<'bool'> }
>;

export const SelfAdjointEigV2: EigOp = defineOp({
  name: 'SelfAdjointEigV2',
  inputs: { input: 'T' },
  outputs: { e: 'T', v: 'T' },
  attrs: { compute_v: attr('bool', { default: true }), T: matrixTypes },
  shape({ input }, { compute_v }) {
    const { batch, rows, columns } = matrixDims('input', input);
    if (rows !== null && columns !== null && rows !== columns)
      throw new InvalidArgumentError(`input is ${showShape(input)}, but its matrices must be square.`);
    const n = rows ?? columns;
    return { e: batch && [...batch, n], v: compute_v ? batch && [...batch, n, n] : [0] };
  },
  grad({ inputs: { input }, outputs: { e, v }, attrs: { compute_v } }, dy) {
    const [de, dv] = [denseGradient(dy.e), denseGradient(dy.v)];
    return { input: controlDependencies([de, dv], () => eigenGradient(input, e, v, de, compute_v ? dv : null)) };
  },
  lower(p, { input }, { compute_v, T }) {
    checkMatrix(input.shape);
    if (input.shape.at(-1) !== input.shape.at(-2)) throw new InvalidArgumentError('Input matrix must be square.');
    const shapes = { e: input.shape.slice(0, -1), v: compute_v ? input.shape : [0] };
    const results = [shapes.e, shapes.v].map((shape) => ({ dtype: T, shape }));
    const [e, v] = p.host(
      [input],
      results,
      ([x], _run, { threads }) => spectra.eigenHermitian(x!, shapes, threads),
      promises,
    );
    return { e: e!, v: v! };
  },
  cases: () => [
    { shape: '[?, 2, 2] -> [?, 2], [?, 2, 2]' },
    { given: { input: [[[4]], [[9]]] }, expect: { e: [[4], [9]] } },
    // The gradient is that of the symmetric matrix, while a central difference moves one half only.
    {
      given: {
        input: [
          [2, 9],
          [1, 3],
        ],
      },
      expect: { e: [1.38196601, 3.61803399] },
      differentiable: false,
    },
    {
      given: {
        input: [
          [2, 9],
          [1, 3],
        ],
      },
      attrs: { compute_v: false },
      expect: { e: [1.38196601, 3.61803399] },
      differentiable: false,
    },
  ],
});

function eigenGradient(input: Tensor, e: Tensor, given: Tensor, de: Tensor, dv: Tensor | null): Tensor {
  let middle: Tensor;
  let v = given;
  if (dv) {
    const gaps = minus(expandDims(e, -2), expandDims(e, -1));
    const f = matrixSetDiag(safeReciprocal(gaps), zerosLike(e));
    middle = plus(matrixDiag(de), times(f, matmul(v, dv, { adjointA: true })));
  } else {
    v = selfAdjointEig(input).v;
    middle = matrixDiag(de);
  }
  const whole = matmul(v, matmul(middle, v, { adjointB: true }));
  // Only the lower half of the input counts, so it gets the gradient of both halves.
  const lower = matrixBandPart(plus(whole, adjoint(whole)), -1, 0);
  return matrixSetDiag(lower, times(0.5, matrixDiagPart(lower)));
}

function svdDims(input: Dims, full: boolean, vectors: boolean): { s: Dims; u: Dims; v: Dims } {
  const { batch, rows, columns } = matrixDims('input', input);
  const inner = rows !== null && columns !== null ? Math.min(rows, columns) : null;
  const s = batch && [...batch, inner];
  if (!vectors) return { s, u: [0], v: [0] };
  return {
    s,
    u: batch && [...batch, rows, full ? rows : inner],
    v: batch && [...batch, columns, full ? columns : inner],
  };
}

export const Svd = defineOp({
  name: 'Svd',
  inputs: { input: 'T' },
  outputs: { s: 'T', u: 'T', v: 'T' },
  attrs: {
    compute_uv: attr('bool', { default: true }),
    full_matrices: attr('bool', { default: false }),
    T: attr('type', { allowed: [d.float64, d.float32, d.float16, d.complex64, d.complex128] }),
  },
  shape: ({ input }, { compute_uv, full_matrices }) => svdDims(input, full_matrices, compute_uv),
  grad({ inputs: { input }, outputs: { s, u, v }, attrs: { compute_uv, full_matrices } }, dy) {
    const ds = denseGradient(dy.s);
    if (!compute_uv) return { input: singularValueGradient(input, ds) };
    const [du, dv] = [denseGradient(dy.u), denseGradient(dy.v)];
    return { input: svdGradient({ input, s, u, v, ds, du, dv, isFull: full_matrices }) };
  },
  lower(p, { input }, { compute_uv, full_matrices, T }) {
    checkMatrix(input.shape);
    const shapes = svdDims(input.shape, full_matrices, compute_uv) as Record<'s' | 'u' | 'v', Shape>; // known sizes give known sizes
    const results = [shapes.s, shapes.u, shapes.v].map((shape) => ({ dtype: T, shape }));
    const [s, u, v] = p.host([input], results, ([x], _run, { threads }) => spectra.svd(x!, shapes, threads), promises);
    return { s: s!, u: u!, v: v! };
  },
  cases: () => [
    { shape: '[?, 3, 2] -> [?, 2], [?, 3, 2], [?, 2, 2]' },
    { shape: '[?, 3, 2] -> [?, 2], [?, 3, 3], [?, 2, 2]', attrs: { full_matrices: true } },
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
          [5, 7],
        ],
      },
      expect: { s: [10.19142826, 0.36713769] },
      // Vectors may change their signs between two near matrices; test/backend/mathNn.test.ts takes what does not.
      differentiable: false,
    },
    {
      given: {
        input: [
          [1, 3, 5],
          [2, 4, 7],
        ],
      },
      attrs: { compute_uv: false },
      expect: { s: [10.19142826, 0.36713769] },
    },
    {
      given: {
        input: [
          [0, 0],
          [0, 0],
        ],
      },
      expect: { s: [0, 0] },
      differentiable: false,
    },
  ],
});

/**
 * Eigenvalues (smallest first) and eigenvectors of symmetric or Hermitian matrices. Adds one `SelfAdjointEigV2` node.
 *
 * @example const [e, v] = tf.selfAdjointEig(tf.constant([[2.0, 1.0], [1.0, 3.0]]))
 */
export function selfAdjointEig(
  input: TensorLike,
  options: { name?: string } = {},
): NamedTuple<{ readonly e: Tensor; readonly v: Tensor }> {
  onlyOptions('tf.selfAdjointEig', options, 'name');
  return namedTuple(SelfAdjointEigV2.build({ input }, { name: options.name, attrs: { compute_v: true } }));
}

/**
 * Eigenvalues of symmetric or Hermitian matrices, smallest first. Adds one `SelfAdjointEigV2` node.
 *
 * @example tf.selfAdjointEigvals(tf.constant([[2.0, 0.0], [0.0, 3.5]])) // runs to [2.  3.5]
 */
export function selfAdjointEigvals(input: TensorLike, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.selfAdjointEigvals', options, 'name');
  return SelfAdjointEigV2.build({ input }, { name: options.name, attrs: { compute_v: false } }).e;
}

/**
 * Singular values (largest first) and singular vectors of matrices. Adds one `Svd` node.
 *
 * @example const [s, u, v] = tf.svd(tf.constant([[2.0, 0.0], [0.0, 3.5]]))
 */
export function svd(
  input: TensorLike,
  options: { fullMatrices?: boolean; computeUv?: boolean; name?: string } = {},
): NamedTuple<{ readonly s: Tensor; readonly u: Tensor; readonly v: Tensor }> {
  onlyOptions('tf.svd', options, 'fullMatrices', 'computeUv', 'name');
  const attrs = { compute_uv: options.computeUv ?? true, full_matrices: options.fullMatrices ?? false };
  const { s, u, v } = Svd.build({ input }, { name: options.name, attrs });
  return namedTuple({ s: real(s), u, v });
}

/** @file Eig: eigenvalues and eigenvectors of square matrices of any kind. */
import * as d from '../../core/dtypes.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { type AttrSpec, attr } from '../../op/attrs.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import { expandDims } from '../array/expandDims.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { matrixDiag } from '../array/matrixDiag.ts';
import { matrixDiagPart } from '../array/matrixDiagPart.ts';
import { matrixSetDiag } from '../array/matrixSetDiag.ts';
import { cast } from './cast.ts';
import { conj, real } from './complex.ts';
import { adjoint, matrixSolve } from './linalg.ts';
import { checkSquare, squareDims, type TypeAttr } from './linalgShapes.ts';
import { matmul } from './matmul.ts';
import { promises } from './nativeMatrix.ts';
import { minus, plus, times } from './operators.ts';
import { eigen } from './schurFunctions.ts';
import { safeReciprocal } from './svdGradient.ts';
import { zerosLike } from './zerosLike.ts';

type EigOp = Op<
  { readonly input: 'T' },
  { readonly e: 'Tout'; readonly v: 'Tout' },
  TypeAttr & { readonly compute_v: AttrSpec<'bool'>; readonly Tout: AttrSpec<'type'> }
>;

/** What the gradients of values and vectors make of each other's directions, seen from the eigenvectors. */
function between(e: Tensor, v: Tensor, turned: Tensor, de: Tensor, dv: Tensor): Tensor {
  const gaps = safeReciprocal(minus(expandDims(e, -2), expandDims(e, -1)));
  const factors = conj(matrixSetDiag(gaps, zerosLike(e)));
  const seen = matmul(turned, dv);
  const middle = matrixDiag(de);
  const lengths = matrixDiag(matrixDiagPart(cast(real(seen), seen.dtype)));
  return plus(middle, times(factors, minus(seen, matmul(matmul(turned, v), lengths))));
}

export const Eig: EigOp = defineOp({
  name: 'Eig',
  inputs: { input: 'T' },
  outputs: { e: 'Tout', v: 'Tout' },
  attrs: {
    compute_v: attr('bool', { default: true }),
    T: attr('type', { allowed: [d.float32, d.float64, d.complex64, d.complex128] }),
    Tout: attr('type', { allowed: [d.complex64, d.complex128] }),
  },
  shape({ input }, { compute_v }) {
    const square = squareDims('input', input);
    return { e: square?.slice(0, -1) ?? null, v: compute_v ? square : [0] };
  },
  grad({ inputs: { input }, outputs: { e, v }, attrs: { compute_v, Tout } }, dy) {
    const [de, dv] = [denseGradient(dy.e), denseGradient(dy.v)];
    return {
      input: controlDependencies([de, dv], () => {
        const vectors = compute_v ? v : Eig.build({ input }, { attrs: { Tout } }).v;
        const turned = adjoint(vectors);
        const middle = compute_v ? between(e, v, turned, de, dv) : matrixDiag(de);
        return cast(matrixSolve(turned, matmul(middle, turned)), input.dtype);
      }),
    };
  },
  lower(p, { input }, { compute_v, Tout }) {
    checkSquare(input.shape);
    const shapes = { e: input.shape.slice(0, -1), v: compute_v ? input.shape : [0] };
    const results = [shapes.e, shapes.v].map((shape) => ({ dtype: Tout, shape }));
    const [e, v] = p.host([input], results, ([x], _run, { threads }) => eigen(x!, Tout, shapes, threads), promises);
    return { e: e!, v: v! };
  },
  cases: () => {
    const attrs = { Tout: d.complex64 };
    return [
      { shape: '[?, 2, ?] -> [?, 2], [?, 2, 2]', attrs },
      { shape: '[?, 2, 2] -> [?, 2], [0]', attrs: { ...attrs, compute_v: false } },
      { shape: '[2, 3]', attrs, rejects: /must be square/ },
      // A vector may be turned by any phase.
      {
        given: {
          input: [
            [2, 1],
            [1, 4],
          ],
        },
        attrs,
        expect: {
          e: { dtype: 'complex64', value: [3 - Math.SQRT2, 3 + Math.SQRT2] },
        },
        unspecified: ['v'],
        differentiable: false,
      },
      {
        given: {
          input: {
            dtype: 'float64',
            value: [
              [2, 1, 0],
              [0, 5, 2],
              [1, 0, -7],
            ],
          },
        },
        attrs: { Tout: d.complex128, compute_v: false },
      },
    ];
  },
});

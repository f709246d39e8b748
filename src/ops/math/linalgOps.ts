/** @file Inverses, determinants and solutions of linear equations, by the native library or on the host. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import {
  broadcastConcrete,
  broadcastShapes,
  type Dims,
  isFullyDefined,
  mergeShapes,
  showRuntime,
  showShape,
} from '../../core/shape.ts';
import { type AttrSpec, attr } from '../../op/attrs.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import type { HostCall } from '../../program/instructions.ts';
import { concat } from '../array/concat.ts';
import { getItem } from '../array/getItem.ts';
import { matrixBandPart } from '../array/matrixBandPart.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { BroadcastGradientArgs } from './broadcast.ts';
import * as equations from './equations.ts';
import { matrixInverse, matrixTriangularSolve } from './linalg.ts';
import { checkSquare, matrixDims, matrixTypes, squareDims, type TypeAttr } from './linalgShapes.ts';
import { matmul } from './matmul.ts';
import { promises } from './nativeMatrix.ts';
import { minusOf, times } from './operators.ts';
import { reduceSum } from './reductions.ts';

type InverseOp = Op<
  { readonly input: 'T' },
  { readonly output: 'T' },
  TypeAttr & { readonly adjoint: AttrSpec<'bool'> }
>;

export const MatrixInverse: InverseOp = defineOp({
  name: 'MatrixInverse',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { adjoint: attr('bool', { default: false }), T: matrixTypes },
  shape: ({ input }) => ({ output: squareDims('input', input) }),
  grad({ outputs: { output }, attrs: { adjoint: turned } }, { output: dy }) {
    const inner = matmul(dy, output, { adjointA: turned, adjointB: !turned });
    return { input: minusOf(matmul(output, inner, { adjointA: !turned })) };
  },
  lower(p, { input }, { adjoint: turned }) {
    checkSquare(input.shape);
    const call: HostCall = async ([x], _run, { threads }) => {
      const inverse = await equations.invert(x!, turned, threads);
      if (!inverse) throw new InvalidArgumentError('Input is not invertible.');
      return [inverse];
    };
    const [output] = p.host([input], [{ dtype: input.dtype, shape: input.shape }], call, promises);
    return { output: output! };
  },
  cases: () => [
    { shape: '[?, 2, ?] -> [?, 2, 2]' },
    { shape: '[2, 3]', rejects: /must be square/ },
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
        ],
      },
      expect: {
        output: [
          [-2, 1],
          [1.5, -0.5],
        ],
      },
    },
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
        ],
      },
      attrs: { adjoint: true },
      expect: {
        output: [
          [-2, 1.5],
          [1, -0.5],
        ],
      },
    },
    {
      given: {
        input: [
          [1, 2],
          [2, 4],
        ],
      },
      fails: /Input is not invertible/,
    },
  ],
});

export const MatrixDeterminant = defineOp({
  name: 'MatrixDeterminant',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: matrixTypes },
  shape: ({ input }) => ({ output: squareDims('input', input)?.slice(0, -2) ?? null }),
  grad({ inputs: { input }, outputs: { output } }, { output: dy }) {
    const inverse = matrixInverse(input, { adjoint: true });
    const factors = reshape(times(dy, output), concat([shape(output), [1, 1]], 0));
    return { input: times(factors, inverse) };
  },
  lower(p, { input }) {
    checkSquare(input.shape);
    const batch = input.shape.slice(0, -2);
    const call: HostCall = async ([x], _run, { threads }) => [await equations.determinants(x!, threads)];
    const [output] = p.host([input], [{ dtype: input.dtype, shape: batch }], call, promises);
    return { output: output! };
  },
  cases: () => [
    { shape: '[?, 2, 2] -> [?]' },
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
        ],
      },
      expect: { output: -2 },
    },
    {
      given: { input: { dtype: 'float32', value: [], shape: [0, 0] } },
      expect: { output: 1 },
    },
  ],
});

export const LogMatrixDeterminant = defineOp({
  name: 'LogMatrixDeterminant',
  inputs: { input: 'T' },
  outputs: { sign: 'T', log_abs_determinant: 'T' },
  attrs: { T: matrixTypes },
  shape({ input }) {
    const batch = squareDims('input', input)?.slice(0, -2) ?? null;
    return { sign: batch, log_abs_determinant: batch };
  },
  grad({ inputs: { input }, outputs: { log_abs_determinant } }, { log_abs_determinant: dy }) {
    const inverse = matrixInverse(input, { adjoint: true });
    const factors = reshape(dy, concat([shape(log_abs_determinant), [1, 1]], 0));
    return { input: times(factors, inverse) };
  },
  lower(p, { input }) {
    checkSquare(input.shape);
    const { dtype } = input;
    const batch = input.shape.slice(0, -2);
    const results = [
      { dtype, shape: batch },
      { dtype, shape: batch },
    ];
    const call: HostCall = ([x], _run, { threads }) => equations.logDeterminants(x!, threads);
    const [sign, log_abs_determinant] = p.host([input], results, call, promises);
    return { sign: sign!, log_abs_determinant: log_abs_determinant! };
  },
  cases: () => [
    { shape: '[?, 2, 2] -> [?], [?]' },
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
        ],
      },
      expect: { sign: -1, log_abs_determinant: Math.LN2 },
    },
  ],
});

type SolveOp = Op<
  { readonly matrix: 'T'; readonly rhs: 'T' },
  { readonly output: 'T' },
  TypeAttr & { readonly adjoint: AttrSpec<'bool'> }
>;

function solutionDims(matrix: Dims, rhs: Dims, combine: (a: Dims, b: Dims) => Dims): Dims {
  const square = matrixDims('matrix', squareDims('matrix', matrix));
  const right = matrixDims('rhs', rhs);
  if (square.rows !== null && right.rows !== null && square.rows !== right.rows)
    throw new InvalidArgumentError(
      `matrix is ${showShape(matrix)} and rhs is ${showShape(rhs)}; they must have the same number of rows.`,
    );
  const batch = combine(square.batch, right.batch);
  return batch === null ? null : [...batch, square.rows ?? right.rows, right.columns];
}

export const MatrixSolve: SolveOp = defineOp({
  name: 'MatrixSolve',
  inputs: { matrix: 'T', rhs: 'T' },
  outputs: { output: 'T' },
  attrs: { adjoint: attr('bool', { default: false }), T: matrixTypes },
  shape: ({ matrix, rhs }) => ({ output: solutionDims(matrix, rhs, mergeShapes) }),
  grad({ inputs: { matrix }, outputs: { output }, attrs: { adjoint: turned } }, { output: dy }) {
    const rhs = MatrixSolve.build({ matrix, rhs: dy }, { attrs: { adjoint: !turned } }).output;
    const product = turned ? matmul(output, rhs, { adjointB: true }) : matmul(rhs, output, { adjointB: true });
    return { matrix: minusOf(product), rhs };
  },
  lower(p, { matrix, rhs }, { adjoint: turned }) {
    checkSquare(matrix.shape);
    if (matrix.shape.at(-1) !== rhs.shape.at(-2))
      throw new InvalidArgumentError('Input matrix and rhs are incompatible.');
    const call: HostCall = async ([a, b], _run, { threads }) => {
      const solution = await equations.solve(a!, b!, turned, threads);
      if (!solution) throw new InvalidArgumentError('Input matrix is not invertible.');
      return [solution];
    };
    const [output] = p.host([matrix, rhs], [{ dtype: rhs.dtype, shape: rhs.shape }], call, promises);
    return { output: output! };
  },
  cases: () => [
    { shape: '[?, 2, 2], [5, 2, 3] -> [5, 2, 3]' },
    { shape: '[2, 2], [3, 1]', rejects: /same number of rows/ },
    {
      given: {
        matrix: [
          [1, 2],
          [3, 4],
        ],
        rhs: [[5], [6]],
      },
      expect: { output: [[-4], [4.5]] },
    },
    {
      given: {
        matrix: [
          [1, 2],
          [3, 4],
        ],
        rhs: [[5], [6]],
      },
      attrs: { adjoint: true },
      expect: { output: [[-1], [2]] },
    },
    {
      given: {
        matrix: [
          [1, 2],
          [2, 4],
        ],
        rhs: [[5], [6]],
      },
      fails: /Input matrix is not invertible/,
    },
  ],
});

type TriangularOp = Op<
  { readonly matrix: 'T'; readonly rhs: 'T' },
  { readonly output: 'T' },
  TypeAttr & { readonly adjoint: AttrSpec<'bool'>; readonly lower: AttrSpec<'bool'> }
>;

export const MatrixTriangularSolve: TriangularOp = defineOp({
  name: 'MatrixTriangularSolve',
  inputs: { matrix: 'T', rhs: 'T' },
  outputs: { output: 'T' },
  attrs: {
    lower: attr('bool', { default: true }),
    adjoint: attr('bool', { default: false }),
    T: attr('type', { allowed: [d.bfloat16, ...matrixTypes.allowed!] }),
  },
  shape: ({ matrix, rhs }) => ({ output: solutionDims(matrix, rhs, broadcastShapes) }),
  grad({ inputs: { matrix, rhs }, outputs: { output }, attrs: { lower, adjoint: turned } }, { output: dy }) {
    const dRhs = matrixTriangularSolve(matrix, dy, { lower, adjoint: !turned });
    const product = turned ? matmul(output, dRhs, { adjointB: true }) : matmul(dRhs, output, { adjointB: true });
    const dMatrix = lower ? matrixBandPart(minusOf(product), -1, 0) : matrixBandPart(minusOf(product), 0, -1);
    const batches = [matrix, rhs].map((t) => t.shape?.slice(0, -2) ?? null);
    if (isFullyDefined(matrix.shape) && isFullyDefined(rhs.shape) && `${batches[0]}` === `${batches[1]}`)
      return { matrix: dMatrix, rhs: dRhs };
    const [shapeA, shapeB] = [shape(matrix), shape(rhs)];
    const { r0, r1 } = BroadcastGradientArgs.build({ s0: getItem(shapeA, ':-2'), s1: getItem(shapeB, ':-2') });
    return { matrix: reshape(reduceSum(dMatrix, r0), shapeA), rhs: reshape(reduceSum(dRhs, r1), shapeB) };
  },
  lower(p, { matrix, rhs }, { lower, adjoint: turned }) {
    checkSquare(matrix.shape);
    if (matrix.shape.at(-1) !== rhs.shape.at(-2))
      throw new InvalidArgumentError(
        `In[0] mismatch In[1] shape: ${matrix.shape.at(-1)} vs. ${rhs.shape.at(-2)}: ${showRuntime(matrix.shape)} ${showRuntime(rhs.shape)} ${Number(lower)} ${Number(turned)}`,
      );
    const batch = broadcastConcrete(matrix.shape.slice(0, -2), rhs.shape.slice(0, -2));
    const shape = [...batch, ...rhs.shape.slice(-2)];
    const call: HostCall = async ([a, b], _run, { threads }) => [
      await equations.solveTriangular(a!, b!, { lower, adjoint: turned }, threads),
    ];
    const [output] = p.host([matrix, rhs], [{ dtype: rhs.dtype, shape }], call, promises);
    return { output: output! };
  },
  cases: () => [
    { shape: '[5, 2, 2], [2, 3] -> [5, 2, 3]' },
    {
      given: {
        matrix: [
          [2, 9],
          [3, 4],
        ],
        rhs: [[4], [6]],
      },
      expect: { output: [[2], [0]] },
    },
    {
      given: {
        matrix: [
          [2, 1],
          [9, 4],
        ],
        rhs: [[4], [8]],
      },
      attrs: { lower: false },
      expect: { output: [[1], [2]] },
    },
    {
      given: {
        matrix: [
          [2, 9],
          [3, 4],
        ],
        rhs: [[4], [8]],
      },
      attrs: { adjoint: true },
      expect: { output: [[-1], [2]] },
    },
    {
      given: {
        matrix: [
          [2, 0],
          [3, 4],
        ],
        rhs: [
          [[4], [6]],
          [[2], [1]],
        ],
      },
      expect: {
        output: [
          [[2], [0]],
          [[1], [-0.5]],
        ],
      },
    },
  ],
});

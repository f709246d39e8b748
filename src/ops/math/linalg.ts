/** @file Linear algebra: inverses, determinants, solutions, and the Cholesky and QR factorizations, computed on the host. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, type NDArray } from '../../core/ndarray.ts';
import {
  broadcastConcrete,
  broadcastShapes,
  type Dims,
  isFullyDefined,
  type Shape,
  showRuntime,
  showShape,
  sizeOf,
} from '../../core/shape.ts';
import { nameScope } from '../../graph/graph.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { type AttrSpec, attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import { concat } from '../array/concat.ts';
import { getItem } from '../array/getItem.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { matrixBandPart, matrixDiagPart, matrixSetDiag } from '../array/matrixDiag.ts';
import { eye } from '../array/meshgrid.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { matrixTranspose } from '../array/transpose.ts';
import { BroadcastGradientArgs } from './broadcast.ts';
import * as host from './hostMatrix.ts';
import { matmul } from './matmul.ts';
import { minusOf, plus, times } from './operators.ts';
import { qrGradient } from './qrGradient.ts';
import { reduceSum } from './reductions.ts';

/** The types for which matrices are factorized. */
export const matrixTypes = attr('type', {
  allowed: [d.float64, d.float32, d.float16, d.complex64, d.complex128],
});
export type TypeAttr = { readonly T: AttrSpec<'type'> };

/** At least a matrix; gives leading dims, rows and columns. */
export function matrixDims(port: string, dims: Dims) {
  if (dims === null) return { batch: null, rows: null, columns: null };
  if (dims.length < 2)
    throw new InvalidArgumentError(`${port} is ${showShape(dims)}, but matrices are needed: rank 2 or more.`);
  return { batch: dims.slice(0, -2), rows: dims.at(-2)!, columns: dims.at(-1)! };
}

/** A static shape whose last two sizes are equal. */
function squareDims(port: string, dims: Dims): Dims {
  const { batch, rows, columns } = matrixDims(port, dims);
  if (rows !== null && columns !== null && rows !== columns)
    throw new InvalidArgumentError(`${port} is ${showShape(dims)}, but its matrices must be square.`);
  return batch === null ? null : [...batch, rows ?? columns, rows ?? columns];
}

/** The run-time checks of an input that holds matrices. */
export function checkMatrix(shape: Shape): void {
  if (shape.length < 2)
    throw new InvalidArgumentError(`Input tensor 0 must have rank >= 2, got shape ${showRuntime(shape)}`);
}
function checkSquare(shape: Shape): void {
  checkMatrix(shape);
  if (shape.at(-2) !== shape.at(-1)) throw new InvalidArgumentError('Input matrix must be square.');
}

/** Takes the conjugate transpose of the innermost matrices, with Python's nodes. */
export function adjoint(matrix: TensorLike, options: { name?: string } = {}): Tensor {
  return nameScope(options.name ?? 'adjoint', () =>
    matrixTranspose(convertToTensor(matrix, { name: 'matrix' }), { conjugate: true }),
  );
}

// ── inverse and determinant ──────────────────────────────────────────────────────────────────────

type InverseOp = Op<
  { readonly input: 'T' },
  { readonly output: 'T' },
  TypeAttr & { readonly adjoint: AttrSpec<'bool'> }
>;

function invertAll(input: NDArray, conjugate: boolean): NDArray {
  const inverses = host.matricesOf(input).map((m) => {
    const inverse = host.solve(conjugate ? m.adjoint() : m, host.Matrix.identity(m.rows));
    if (!inverse) throw new InvalidArgumentError('Input is not invertible.');
    return inverse;
  });
  return host.arrayOf(input.dtype, input.shape, inverses);
}

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
    const [output] = p.host([input], [{ dtype: input.dtype, shape: input.shape }], ([x]) => [invertAll(x!, turned)]);
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
    const [output] = p.host([input], [{ dtype: input.dtype, shape: batch }], ([x]) => [
      fromElements(
        x!.dtype,
        batch,
        host
          .matricesOf(x!)
          .map(host.determinant)
          .map((z) => (x!.dtype.isComplex ? z : z.re)),
      ),
    ]);
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
    const [sign, log_abs_determinant] = p.host([input], results, ([x]) => {
      const found = host.matricesOf(x!).map(host.logDeterminant);
      const signs = found.map(({ re, im }) => (dtype.isComplex ? { re, im } : re));
      const logs = found.map(({ log }) => (dtype.isComplex ? { re: log, im: 0 } : log));
      return [fromElements(dtype, batch, signs), fromElements(dtype, batch, logs)];
    });
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

// ── solutions ────────────────────────────────────────────────────────────────────────────────────

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
  shape: ({ matrix, rhs }) => ({ output: solutionDims(matrix, rhs, (a, b) => a ?? b) }),
  grad({ inputs: { matrix }, outputs: { output }, attrs: { adjoint: turned } }, { output: dy }) {
    const rhs = MatrixSolve.build({ matrix, rhs: dy }, { attrs: { adjoint: !turned } }).output;
    const product = turned ? matmul(output, rhs, { adjointB: true }) : matmul(rhs, output, { adjointB: true });
    return { matrix: minusOf(product), rhs };
  },
  lower(p, { matrix, rhs }, { adjoint: turned }) {
    checkSquare(matrix.shape);
    if (matrix.shape.at(-1) !== rhs.shape.at(-2))
      throw new InvalidArgumentError('Input matrix and rhs are incompatible.');
    const [output] = p.host([matrix, rhs], [{ dtype: rhs.dtype, shape: rhs.shape }], ([a, b]) => {
      const right = host.matricesOf(b!);
      const solutions = host.matricesOf(a!).map((m, i) => {
        const x = host.solve(turned ? m.adjoint() : m, right[i]!);
        if (!x) throw new InvalidArgumentError('Input matrix is not invertible.');
        return x;
      });
      return [host.arrayOf(b!.dtype, b!.shape, solutions)];
    });
    return { output: output! };
  },
  cases: () => [
    { shape: '[?, 2, 2], [5, 2, 3] -> [?, 2, 3]' },
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

/** Which matrix of a smaller batch belongs to matrix `i` of the whole batch. */
function broadcastIndex(batch: Shape, own: Shape): (i: number) => number {
  return (i) => {
    let [rest, index, step] = [i, 0, 1];
    for (let axis = batch.length - 1; axis >= 0; axis--) {
      const at = rest % batch[axis]!;
      rest = Math.floor(rest / batch[axis]!);
      const size = own[axis - batch.length + own.length] ?? 1;
      if (size !== 1) index += at * step;
      step *= size;
    }
    return index;
  };
}

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
    const [batchA, batchB] = [matrix.shape.slice(0, -2), rhs.shape.slice(0, -2)];
    const batch = broadcastConcrete(batchA, batchB);
    const whole = [...batch, ...rhs.shape.slice(-2)];
    const [output] = p.host([matrix, rhs], [{ dtype: rhs.dtype, shape: whole }], ([a, b]) => {
      const [left, right] = [host.matricesOf(a!), host.matricesOf(b!)];
      const [pickA, pickB] = [broadcastIndex(batch, batchA), broadcastIndex(batch, batchB)];
      const solutions = Array.from({ length: sizeOf(batch) }, (_, i) => {
        const m = left[pickA(i)]!;
        return host.solveTriangular(turned ? m.adjoint() : m, right[pickB(i)]!, lower !== turned);
      });
      return [host.arrayOf(b!.dtype, whole, solutions)];
    });
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

// ── factorizations ───────────────────────────────────────────────────────────────────────────────

export const Cholesky = defineOp({
  name: 'Cholesky',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: matrixTypes },
  shape: ({ input }) => ({ output: squareDims('input', input) }),
  grad: ({ outputs: { output } }, { output: dy }) => ({ input: choleskyGradient(output, dy) }),
  lower(p, { input }) {
    checkSquare(input.shape);
    const [output] = p.host([input], [{ dtype: input.dtype, shape: input.shape }], ([x]) => [
      host.arrayOf(x!.dtype, x!.shape, host.matricesOf(x!).map(host.cholesky)),
    ]);
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
    const { dtype } = input;
    const [q, r] = p.host(
      [input],
      [
        { dtype, shape: shapes.q },
        { dtype, shape: shapes.r },
      ],
      ([x]) => {
        const found = host.matricesOf(x!).map(host.qr);
        const inner = shapes.q.at(-1)!;
        return [
          host.arrayOf(
            dtype,
            shapes.q,
            found.map((f) => f.q.corner(f.q.rows, inner)),
          ),
          host.arrayOf(
            dtype,
            shapes.r,
            found.map((f) => f.r.corner(inner, f.r.columns)),
          ),
        ];
      },
    );
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

// ── functions ────────────────────────────────────────────────────────────────────────────────────

interface NameOption {
  readonly name?: string | undefined;
}
interface AdjointOption extends NameOption {
  /** Use the conjugate transpose of the matrix. */
  readonly adjoint?: boolean | undefined;
}

/**
 * The inverse of square matrices. Adds one `MatrixInverse` node.
 *
 * @example tf.matrixInverse(tf.constant([[2.0, 0.0], [0.0, 4.5]])) // runs to [[0.5 0.] [0. 0.22222222]]
 */
export function matrixInverse(input: TensorLike, options: AdjointOption = {}): Tensor {
  return MatrixInverse.build({ input }, { name: options.name, attrs: { adjoint: options.adjoint ?? false } }).output;
}

/**
 * The determinant of square matrices. Adds one `MatrixDeterminant` node.
 *
 * @example tf.matrixDeterminant(tf.constant([[1.5, 2], [3, 5]])) // runs to 1.5
 */
export function matrixDeterminant(input: TensorLike, options: NameOption = {}): Tensor {
  return MatrixDeterminant.build({ input }, options).output;
}

/**
 * The sign of the determinant and the logarithm of its size. Adds one `LogMatrixDeterminant` node.
 *
 * @example tf.linalg.slogdet(tf.constant([[1, 2], [3, 4.5]])).sign // runs to -1.0
 */
export function slogdet(
  input: TensorLike,
  options: NameOption = {},
): { readonly sign: Tensor; readonly logAbsDeterminant: Tensor } {
  const { sign, log_abs_determinant } = LogMatrixDeterminant.build({ input }, options);
  return { sign, logAbsDeterminant: log_abs_determinant };
}

/**
 * The x for which `matrix * x = rhs`. Adds one `MatrixSolve` node.
 *
 * @example tf.matrixSolve(tf.constant([[2.0, 0.0], [0.0, 4.5]]), [[1], [9]]) // runs to [[0.5] [2. ]]
 */
export function matrixSolve(matrix: TensorLike, rhs: TensorLike, options: AdjointOption = {}): Tensor {
  return MatrixSolve.build({ matrix, rhs }, { name: options.name, attrs: { adjoint: options.adjoint ?? false } })
    .output;
}

/**
 * The x for which `matrix * x = rhs`, where only one half of the matrix is looked at. Adds one `MatrixTriangularSolve` node
 * under `triangular_solve/`.
 *
 * @example tf.matrixTriangularSolve(tf.constant([[2.0, 0.0], [1.0, 4.5]]), [[1], [5]]) // runs to [[0.5] [1. ]]
 */
export function matrixTriangularSolve(
  matrix: TensorLike,
  rhs: TensorLike,
  options: AdjointOption & { lower?: boolean } = {},
): Tensor {
  const attrs = { lower: options.lower ?? true, adjoint: options.adjoint ?? false };
  return nameScope(
    options.name ?? 'triangular_solve',
    () => MatrixTriangularSolve.build({ matrix, rhs }, { attrs }).output,
  );
}

/**
 * The lower triangular L with `L * adjoint(L)` equal to the matrix. Adds one `Cholesky` node.
 *
 * @example tf.cholesky(tf.constant([[4, 2], [2, 5]], { dtype: tf.float32 })) // runs to [[2. 0.] [1. 2.]]
 */
export function cholesky(input: TensorLike, options: NameOption = {}): Tensor {
  return Cholesky.build({ input }, options).output;
}

/**
 * The x for which `matrix * x = rhs`, from the Cholesky factor of the matrix. Adds two `MatrixTriangularSolve` nodes.
 *
 * @example tf.choleskySolve(tf.cholesky(a), rhs)
 */
export function choleskySolve(chol: TensorLike, rhs: TensorLike, options: NameOption = {}): Tensor {
  return nameScope(options.name ?? 'cholesky_solve', () => {
    const y = MatrixTriangularSolve.build({ matrix: chol, rhs }).output;
    return MatrixTriangularSolve.build({ matrix: chol, rhs: y }, { attrs: { adjoint: true } }).output;
  });
}

/**
 * Orthogonal and upper triangular factors of matrices. Adds one `Qr` node.
 *
 * @example const { q, r } = tf.qr(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
 */
export function qr(
  input: TensorLike,
  options: NameOption & { fullMatrices?: boolean } = {},
): { readonly q: Tensor; readonly r: Tensor } {
  return Qr.build({ input }, { name: options.name, attrs: { full_matrices: options.fullMatrices ?? false } });
}

/** @file Dense matrices on the host: complex elements in double precision, and the factorizations that ops are built on. */

import type { DType } from '../../core/dtypes.ts';
import { fromElements, type NDArray } from '../../core/ndarray.ts';
import { type Shape, sizeOf } from '../../core/shape.ts';

/** A complex matrix, row-major. Real matrices have zero imaginary parts. */
export class Matrix {
  readonly re: Float64Array;
  readonly im: Float64Array;
  constructor(
    readonly rows: number,
    readonly columns: number,
  ) {
    this.re = new Float64Array(rows * columns);
    this.im = new Float64Array(rows * columns);
  }

  static identity(size: number): Matrix {
    const result = new Matrix(size, size);
    for (let i = 0; i < size; i++) result.re[i * size + i] = 1;
    return result;
  }

  copy(): Matrix {
    const result = new Matrix(this.rows, this.columns);
    result.re.set(this.re);
    result.im.set(this.im);
    return result;
  }

  /** The conjugate transpose. */
  adjoint(): Matrix {
    const result = new Matrix(this.columns, this.rows);
    for (let i = 0; i < this.rows; i++)
      for (let j = 0; j < this.columns; j++) {
        result.re[j * this.rows + i] = this.re[i * this.columns + j]!;
        result.im[j * this.rows + i] = -this.im[i * this.columns + j]!;
      }
    return result;
  }

  /** The first rows and columns. */
  corner(rows: number, columns: number): Matrix {
    const result = new Matrix(rows, columns);
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        result.re[i * columns + j] = this.re[i * this.columns + j]!;
        result.im[i * columns + j] = this.im[i * this.columns + j]!;
      }
    return result;
  }
}

/** The matrices in the last two axes of an array. */
export function matricesOf(array: NDArray): Matrix[] {
  const [rows, columns] = array.shape.slice(-2) as [number, number]; // callers checked the rank
  const count = sizeOf(array.shape.slice(0, -2));
  const size = rows * columns;
  return Array.from({ length: count }, (_, k) => {
    const matrix = new Matrix(rows, columns);
    for (let i = 0; i < size; i++) {
      const element = array.at(k * size + i);
      if (typeof element === 'object') {
        const { re, im } = element as { re: number; im: number }; // only complex elements are objects here
        matrix.re[i] = re;
        matrix.im[i] = im;
      } else matrix.re[i] = Number(element);
    }
    return matrix;
  });
}

/** The opposite of `matricesOf`: matrices one after the other, under a shape. */
export function arrayOf(dtype: DType, shape: Shape, matrices: readonly Matrix[]): NDArray {
  const elements = matrices.flatMap((m) => Array.from(m.re, (re, i) => (dtype.isComplex ? { re, im: m.im[i]! } : re)));
  return fromElements(dtype, shape, elements);
}

/** Row `i` of `m` minus `factor` times row `j`, from column `from` on. */
function subtractRow(m: Matrix, i: number, j: number, re: number, im: number, from: number): void {
  const n = m.columns;
  for (let k = from; k < n; k++) {
    const [a, b] = [m.re[j * n + k]!, m.im[j * n + k]!];
    m.re[i * n + k]! -= re * a - im * b;
    m.im[i * n + k]! -= re * b + im * a;
  }
}

function swapRows(m: Matrix, i: number, j: number): void {
  for (const part of [m.re, m.im])
    for (let k = 0; k < m.columns; k++) {
      const held = part[i * m.columns + k]!;
      part[i * m.columns + k] = part[j * m.columns + k]!;
      part[j * m.columns + k] = held;
    }
}

/** (a + bi) / (c + di). The squares of large numbers are infinite, those of small ones zero; so the divisor is divided by a part of it. */
function quotient(a: number, b: number, c: number, d: number): [number, number] {
  if (Math.abs(c) >= Math.abs(d)) {
    const ratio = d / c;
    const divisor = c + d * ratio;
    return [(a + b * ratio) / divisor, (b - a * ratio) / divisor];
  }
  const ratio = c / d;
  const divisor = c * ratio + d;
  return [(a * ratio + b) / divisor, (b * ratio - a) / divisor];
}

/**
 * Gaussian elimination with the largest pivot of each column, applied to `rhs` too. Gives the pivots, the sign, and where each
 * row comes from.
 */
function eliminate(
  matrix: Matrix,
  rhs?: Matrix,
): { upper: Matrix; sign: number; isSingular: boolean; order: number[] } {
  const upper = matrix.copy();
  const n = upper.rows;
  const order = Array.from({ length: n }, (_, i) => i);
  let sign = 1;
  let isSingular = false;
  for (let k = 0; k < n; k++) {
    let best = k;
    const sizeAt = (i: number) => Math.hypot(upper.re[i * n + k]!, upper.im[i * n + k]!);
    for (let i = k + 1; i < n; i++) if (sizeAt(i) > sizeAt(best)) best = i;
    if (sizeAt(best) === 0) {
      isSingular = true;
      continue;
    }
    if (best !== k) {
      swapRows(upper, k, best);
      if (rhs) swapRows(rhs, k, best);
      [order[k], order[best]] = [order[best]!, order[k]!];
      sign = -sign;
    }
    const [c, d] = [upper.re[k * n + k]!, upper.im[k * n + k]!];
    for (let i = k + 1; i < n; i++) {
      const [re, im] = quotient(upper.re[i * n + k]!, upper.im[i * n + k]!, c, d);
      if (re === 0 && im === 0) continue;
      subtractRow(upper, i, k, re, im, k);
      if (rhs) subtractRow(rhs, i, k, re, im, 0);
    }
  }
  return { upper, sign, isSingular, order };
}

/** Both triangular factors in one matrix, the ones on the lower one's diagonal left out, and where each row comes from. */
export function factorize(matrix: Matrix): { lu: Matrix; order: number[]; isSingular: boolean } {
  const n = matrix.rows;
  const { upper, isSingular, order } = eliminate(matrix);
  const lu = upper.copy();
  for (let i = 0; i < n; i++)
    for (let j = 0; j < i; j++) {
      let [re, im] = [matrix.re[order[i]! * n + j]!, matrix.im[order[i]! * n + j]!];
      for (let k = 0; k < j; k++) {
        const [a, b] = [lu.re[i * n + k]!, lu.im[i * n + k]!];
        const [c, d] = [upper.re[k * n + j]!, upper.im[k * n + j]!];
        re -= a * c - b * d;
        im -= a * d + b * c;
      }
      [lu.re[i * n + j], lu.im[i * n + j]] = quotient(re, im, upper.re[j * n + j]!, upper.im[j * n + j]!);
    }
  return { lu, order, isSingular };
}

/** Solves a triangular system; a zero on the diagonal gives infinities, as a division does. */
export function solveTriangular(matrix: Matrix, rhs: Matrix, lower: boolean): Matrix {
  const x = rhs.copy();
  const n = matrix.rows;
  for (let step = 0; step < n; step++) {
    const i = lower ? step : n - 1 - step;
    for (let j = lower ? 0 : i + 1; j < (lower ? i : n); j++)
      subtractRow(x, i, j, matrix.re[i * n + j]!, matrix.im[i * n + j]!, 0);
    const [c, d] = [matrix.re[i * n + i]!, matrix.im[i * n + i]!];
    for (let k = 0; k < x.columns; k++) {
      const at = i * x.columns + k;
      if (d === 0) {
        x.re[at]! /= c;
        x.im[at]! /= c;
        if (Number.isNaN(x.im[at]!) && c === 0) x.im[at] = 0;
      } else [x.re[at], x.im[at]] = quotient(x.re[at]!, x.im[at]!, c, d);
    }
  }
  return x;
}

/** The solution of `matrix * x = rhs`, or undefined when the matrix is singular. */
export function solve(matrix: Matrix, rhs: Matrix): Matrix | undefined {
  const right = rhs.copy();
  const { upper, isSingular } = eliminate(matrix, right);
  return isSingular ? undefined : solveTriangular(upper, right, false);
}

/** The determinant as a sign (a complex number of size 1, or 0) and the logarithm of its size. */
export function logDeterminant(matrix: Matrix): { re: number; im: number; log: number } {
  const { upper, sign, isSingular } = eliminate(matrix);
  if (isSingular) return { re: 0, im: 0, log: Number.NEGATIVE_INFINITY };
  let [re, im, log] = [sign, 0, 0];
  for (let k = 0; k < upper.rows; k++) {
    const [a, b] = [upper.re[k * upper.rows + k]!, upper.im[k * upper.rows + k]!];
    const size = Math.hypot(a, b);
    log += Math.log(size);
    [re, im] = [(re * a - im * b) / size, (re * b + im * a) / size];
  }
  return { re, im, log };
}

/** The determinant itself: the product of the pivots. */
export function determinant(matrix: Matrix): { re: number; im: number } {
  const { upper, sign } = eliminate(matrix);
  let [re, im] = [sign, 0];
  for (let k = 0; k < upper.rows; k++) {
    const [a, b] = [upper.re[k * upper.rows + k]!, upper.im[k * upper.rows + k]!];
    [re, im] = [re * a - im * b, re * b + im * a];
  }
  return { re, im };
}

/** The lower triangular L with `L * adjoint(L)` equal to the matrix, of which only the lower half is read; NaN if there is none. */
export function cholesky(matrix: Matrix): Matrix {
  const n = matrix.rows;
  const l = new Matrix(n, n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) {
      let [re, im] = [matrix.re[i * n + j]!, matrix.im[i * n + j]!];
      for (let k = 0; k < j; k++) {
        const [a, b] = [l.re[i * n + k]!, l.im[i * n + k]!];
        const [c, d] = [l.re[j * n + k]!, l.im[j * n + k]!];
        re -= a * c + b * d;
        im -= b * c - a * d;
      }
      if (i === j) l.re[i * n + i] = re > 0 ? Math.sqrt(re) : Number.NaN;
      else {
        l.re[i * n + j] = re / l.re[j * n + j]!;
        l.im[i * n + j] = im / l.re[j * n + j]!;
      }
    }
  // One NaN spoils the whole factor, so that a failure is not half hidden.
  if (l.re.some(Number.isNaN)) for (let i = 0; i < n; i++) l.re.fill(Number.NaN, i * n, i * n + i + 1);
  return l;
}

/** Applies `I - tau v v*` from the left to rows `k` and below; `v` has 1 at `k`. */
function reflect(m: Matrix, k: number, vRe: Float64Array, vIm: Float64Array, tauRe: number, tauIm: number): void {
  const n = m.columns;
  for (let j = 0; j < n; j++) {
    let [re, im] = [0, 0];
    for (let i = k; i < m.rows; i++) {
      const [a, b] = [m.re[i * n + j]!, m.im[i * n + j]!];
      re += vRe[i]! * a + vIm[i]! * b;
      im += vRe[i]! * b - vIm[i]! * a;
    }
    [re, im] = [tauRe * re - tauIm * im, tauRe * im + tauIm * re];
    for (let i = k; i < m.rows; i++) {
      m.re[i * n + j]! -= vRe[i]! * re - vIm[i]! * im;
      m.im[i * n + j]! -= vRe[i]! * im + vIm[i]! * re;
    }
  }
}

/** A QR factorization by Householder reflections, whole: q is square. The diagonal of r is real, with LAPACK's signs. */
export function qr(matrix: Matrix): { q: Matrix; r: Matrix } {
  const r = matrix.copy();
  const { rows, columns } = r;
  const reflections: { k: number; vRe: Float64Array; vIm: Float64Array; tauRe: number; tauIm: number }[] = [];
  for (let k = 0; k < Math.min(rows, columns); k++) {
    const vRe = new Float64Array(rows);
    const vIm = new Float64Array(rows);
    let below = 0;
    for (let i = k + 1; i < rows; i++) below += r.re[i * columns + k]! ** 2 + r.im[i * columns + k]! ** 2;
    const [a, b] = [r.re[k * columns + k]!, r.im[k * columns + k]!];
    if (below === 0 && b === 0) continue;
    const beta = Math.sqrt(a * a + b * b + below) * (a >= 0 ? -1 : 1);
    vRe[k] = 1;
    for (let i = k + 1; i < rows; i++)
      [vRe[i], vIm[i]] = quotient(r.re[i * columns + k]!, r.im[i * columns + k]!, a - beta, b);
    const tauRe = (beta - a) / beta;
    const tauIm = b / beta;
    reflect(r, k, vRe, vIm, tauRe, tauIm);
    r.re[k * columns + k] = beta;
    r.im[k * columns + k] = 0;
    for (let i = k + 1; i < rows; i++) r.re[i * columns + k] = r.im[i * columns + k] = 0;
    reflections.push({ k, vRe, vIm, tauRe, tauIm });
  }
  const q = Matrix.identity(rows);
  for (const { k, vRe, vIm, tauRe, tauIm } of reflections.reverse()) reflect(q, k, vRe, vIm, tauRe, -tauIm);
  return { q, r };
}

/** @file Eigenvalues of Hermitian matrices and singular values, on the host, by Jacobi rotations. */
import { Matrix, qr } from './hostMatrix.ts';

const maxSweeps = 60;

/** The angle that makes two columns (or a 2×2 Hermitian block) independent: cosine, sine and the phase between them. */
function rotation(alpha: number, beta: number, re: number, im: number) {
  const size = Math.hypot(re, im);
  const zeta = (beta - alpha) / (2 * size);
  const t = (zeta >= 0 ? 1 : -1) / (Math.abs(zeta) + Math.sqrt(1 + zeta * zeta));
  const c = 1 / Math.sqrt(1 + t * t);
  return { c, s: c * t, phaseRe: re / size, phaseIm: im / size };
}

/** Columns p and q of a matrix, turned against each other. */
function rotateColumns(m: Matrix, p: number, q: number, r: ReturnType<typeof rotation>): void {
  const n = m.columns;
  for (let i = 0; i < m.rows; i++) {
    const [a, b] = [m.re[i * n + p]!, m.im[i * n + p]!];
    const [x, y] = [m.re[i * n + q]!, m.im[i * n + q]!];
    // The second column times the conjugate phase lies along the first.
    const [u, v] = [x * r.phaseRe + y * r.phaseIm, y * r.phaseRe - x * r.phaseIm];
    m.re[i * n + p] = r.c * a - r.s * u;
    m.im[i * n + p] = r.c * b - r.s * v;
    m.re[i * n + q] = r.s * a + r.c * u;
    m.im[i * n + q] = r.s * b + r.c * v;
  }
}

/** The same for rows, as if they were columns of the adjoint. */
function rotateRows(m: Matrix, p: number, q: number, r: ReturnType<typeof rotation>): void {
  const n = m.columns;
  for (let j = 0; j < n; j++) {
    const [a, b] = [m.re[p * n + j]!, m.im[p * n + j]!];
    const [x, y] = [m.re[q * n + j]!, m.im[q * n + j]!];
    const [u, v] = [x * r.phaseRe - y * r.phaseIm, y * r.phaseRe + x * r.phaseIm];
    m.re[p * n + j] = r.c * a - r.s * u;
    m.im[p * n + j] = r.c * b - r.s * v;
    m.re[q * n + j] = r.s * a + r.c * u;
    m.im[q * n + j] = r.s * b + r.c * v;
  }
}

function pick(m: Matrix, order: readonly number[]): Matrix {
  const result = new Matrix(m.rows, order.length);
  for (let i = 0; i < m.rows; i++)
    for (const [j, from] of order.entries()) {
      result.re[i * order.length + j] = m.re[i * m.columns + from]!;
      result.im[i * order.length + j] = m.im[i * m.columns + from]!;
    }
  return result;
}

/** Singular values, largest first, with the matrices of singular vectors; `u` has as many columns as there are values. */
export function svd(matrix: Matrix): { s: Float64Array; u: Matrix; v: Matrix } {
  if (matrix.rows < matrix.columns) {
    const { s, u, v } = svd(matrix.adjoint());
    return { s, u: v, v: u };
  }
  const work = matrix.copy();
  const n = work.columns;
  const scale = scaleOf(work);
  for (const part of [work.re, work.im]) for (let i = 0; i < part.length; i++) part[i]! *= scale;
  const v = Matrix.identity(n);
  for (let sweep = 0, turned = true; turned && sweep < maxSweeps; sweep++) {
    turned = false;
    for (let p = 0; p < n - 1; p++)
      for (let q = p + 1; q < n; q++) {
        let [alpha, beta, re, im] = [0, 0, 0, 0];
        for (let i = 0; i < work.rows; i++) {
          const [a, b] = [work.re[i * n + p]!, work.im[i * n + p]!];
          const [x, y] = [work.re[i * n + q]!, work.im[i * n + q]!];
          alpha += a * a + b * b;
          beta += x * x + y * y;
          re += a * x + b * y;
          im += a * y - b * x;
        }
        if (Math.hypot(re, im) <= 1e-15 * Math.sqrt(alpha * beta) || Math.hypot(re, im) === 0) continue;
        turned = true;
        const r = rotation(alpha, beta, re, im);
        rotateColumns(work, p, q, r);
        rotateColumns(v, p, q, r);
      }
  }
  const norms = Array.from({ length: n }, (_, j) => {
    let sum = 0;
    for (let i = 0; i < work.rows; i++) sum += work.re[i * n + j]! ** 2 + work.im[i * n + j]! ** 2;
    return Math.sqrt(sum);
  });
  const order = norms.map((_, j) => j).sort((a, b) => norms[b]! - norms[a]!);
  const s = Float64Array.from(order, (j) => norms[j]!);
  const u = pick(work, order);
  for (let i = 0; i < u.rows; i++)
    for (let j = 0; j < n; j++) {
      const size = s[j] === 0 ? 1 : s[j]!;
      u.re[i * n + j]! /= size;
      u.im[i * n + j]! /= size;
    }
  return { s: s.map((x) => x / scale), u: completed(u, s), v: pick(v, order) };
}

/** A power of two that makes the largest number about 1, so that squares neither overflow nor vanish. */
function scaleOf({ re, im }: Matrix): number {
  const largest = [re, im].flatMap((part) => [...part]).reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  return largest > 0 && Number.isFinite(largest) ? 2 ** Math.min(1000, -Math.floor(Math.log2(largest))) : 1;
}

/** Columns of singular value 0 carry no direction of their own: any that are at right angles to the rest will do. */
function completed(u: Matrix, s: Float64Array): Matrix {
  return s.includes(0) ? widen(u, s.filter((x) => x > 0).length, u.columns) : u;
}

/** The first `kept` columns, which are at right angles to each other, and others at right angles to them. */
export function widen(u: Matrix, kept: number, columns: number): Matrix {
  const first = pick(
    u,
    Array.from({ length: kept }, (_, j) => j),
  );
  const { q } = qr(first);
  const result = q.corner(u.rows, columns);
  for (let i = 0; i < u.rows; i++)
    for (let j = 0; j < kept; j++) {
      result.re[i * columns + j] = first.re[i * kept + j]!;
      result.im[i * columns + j] = first.im[i * kept + j]!;
    }
  return result;
}

/** Eigenvalues, smallest first, and eigenvectors of a Hermitian matrix, of which only the lower half is read. */
export function eigenHermitian(matrix: Matrix): { e: Float64Array; v: Matrix } {
  const n = matrix.rows;
  const a = matrix.copy();
  for (let i = 0; i < n; i++) {
    a.im[i * n + i] = 0;
    for (let j = i + 1; j < n; j++) {
      a.re[i * n + j] = a.re[j * n + i]!;
      a.im[i * n + j] = -a.im[j * n + i]!;
    }
  }
  const v = Matrix.identity(n);
  for (let sweep = 0, turned = true; turned && sweep < maxSweeps; sweep++) {
    turned = false;
    for (let p = 0; p < n - 1; p++)
      for (let q = p + 1; q < n; q++) {
        const [re, im] = [a.re[p * n + q]!, a.im[p * n + q]!];
        const [alpha, beta] = [a.re[p * n + p]!, a.re[q * n + q]!];
        if (Math.hypot(re, im) <= 1e-16 * (Math.abs(alpha) + Math.abs(beta)) || Math.hypot(re, im) === 0) continue;
        turned = true;
        const r = rotation(alpha, beta, re, im);
        rotateColumns(a, p, q, r);
        rotateRows(a, p, q, r);
        rotateColumns(v, p, q, r);
      }
  }
  const order = Array.from({ length: n }, (_, i) => i).sort((x, y) => a.re[x * n + x]! - a.re[y * n + y]!);
  return { e: Float64Array.from(order, (i) => a.re[i * n + i]!), v: pick(v, order) };
}

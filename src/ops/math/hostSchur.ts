/** @file The Schur form of complex matrices on the host, and what follows from it: eigenvalues, square roots, logarithms. */
import { Matrix, solveTriangular } from './hostMatrix.ts';

/** A complex number. */
interface Complex {
  readonly re: number;
  readonly im: number;
}

const sum = (a: Complex, b: Complex): Complex => ({ re: a.re + b.re, im: a.im + b.im });
const difference = (a: Complex, b: Complex): Complex => ({ re: a.re - b.re, im: a.im - b.im });
const product = (a: Complex, b: Complex): Complex => ({
  re: a.re * b.re - a.im * b.im,
  im: a.re * b.im + a.im * b.re,
});
const scaled = (a: Complex, factor: number): Complex => ({ re: a.re * factor, im: a.im * factor });
const conjugate = ({ re, im }: Complex): Complex => ({ re, im: -im });
const sizeOf = ({ re, im }: Complex): number => Math.hypot(re, im);

function quotient(a: Complex, b: Complex): Complex {
  const size = sizeOf(b);
  return scaled(product(scaled(a, 1 / size), conjugate(scaled(b, 1 / size))), 1);
}

/** The root whose real part is not negative. */
function rootOf(z: Complex): Complex {
  const size = sizeOf(z);
  if (size === 0) return { re: 0, im: 0 };
  const re = Math.sqrt((size + Math.abs(z.re)) / 2);
  const other = Math.abs(z.im) / (2 * re);
  const sign = z.im < 0 ? -1 : 1;
  return z.re >= 0 ? { re, im: sign * other } : { re: other, im: sign * re };
}

const at = (m: Matrix, i: number, j: number): Complex => ({
  re: m.re[i * m.columns + j]!,
  im: m.im[i * m.columns + j]!,
});
function put(m: Matrix, i: number, j: number, { re, im }: Complex): void {
  m.re[i * m.columns + j] = re;
  m.im[i * m.columns + j] = im;
}

export function multiply(a: Matrix, b: Matrix): Matrix {
  const result = new Matrix(a.rows, b.columns);
  for (let i = 0; i < a.rows; i++)
    for (let j = 0; j < b.columns; j++) {
      let total: Complex = { re: 0, im: 0 };
      for (let k = 0; k < a.columns; k++) total = sum(total, product(at(a, i, k), at(b, k, j)));
      put(result, i, j, total);
    }
  return result;
}

/** A rotation that takes (a, b) to (r, 0). */
function rotation(a: Complex, b: Complex): { c: Complex; s: Complex } {
  const r = Math.hypot(a.re, a.im, b.re, b.im);
  if (r === 0) return { c: { re: 1, im: 0 }, s: { re: 0, im: 0 } };
  return { c: scaled(a, 1 / r), s: scaled(b, 1 / r) };
}

/** Rotates rows `k` and `k + 1`, from column `from` on. */
function rotateRows(m: Matrix, k: number, { c, s }: { c: Complex; s: Complex }, from: number): void {
  for (let j = from; j < m.columns; j++) {
    const [x, y] = [at(m, k, j), at(m, k + 1, j)];
    put(m, k, j, sum(product(conjugate(c), x), product(conjugate(s), y)));
    put(m, k + 1, j, difference(product(c, y), product(s, x)));
  }
}

/** Undoes the rotation from the right, in the first rows. */
function rotateColumns(m: Matrix, k: number, { c, s }: { c: Complex; s: Complex }, rows: number): void {
  for (let i = 0; i < rows; i++) {
    const [x, y] = [at(m, i, k), at(m, i, k + 1)];
    put(m, i, k, sum(product(x, c), product(y, s)));
    put(m, i, k + 1, difference(product(y, conjugate(c)), product(x, conjugate(s))));
  }
}

/** Zeros below the first subdiagonal, by rotations that `u` collects. */
function toHessenberg(t: Matrix, u: Matrix): void {
  const n = t.rows;
  for (let column = 0; column < n - 2; column++)
    for (let k = n - 2; k > column; k--) {
      if (sizeOf(at(t, k + 1, column)) === 0) continue;
      const turn = rotation(at(t, k, column), at(t, k + 1, column));
      rotateRows(t, k, turn, 0);
      rotateColumns(t, k, turn, n);
      rotateColumns(u, k, turn, n);
      put(t, k + 1, column, { re: 0, im: 0 });
    }
}

/** The eigenvalue of the last two rows that is nearer to the last element: subtracting it makes the iteration converge. */
function shiftFor(t: Matrix, last: number, tries: number): Complex {
  const d = at(t, last, last);
  // Where the usual shift goes round in circles, another number breaks the circle.
  if (tries % 10 === 0) return sum(d, { re: sizeOf(at(t, last, last - 1)), im: 0 });
  const a = at(t, last - 1, last - 1);
  const half = scaled(difference(a, d), 0.5);
  const corner = product(at(t, last - 1, last), at(t, last, last - 1));
  const root = rootOf(sum(product(half, half), corner));
  const [more, less] = [sum(half, root), difference(half, root)];
  return sum(d, sizeOf(more) < sizeOf(less) ? more : less);
}

/** So many steps without progress happen only to matrices that hold NaN. */
const maxTries = 300;

/** `matrix = u t u*` with `u` unitary and `t` upper triangular: the shifted QR algorithm. */
function schur(matrix: Matrix): { u: Matrix; t: Matrix } {
  const [t, n] = [matrix.copy(), matrix.rows];
  const u = Matrix.identity(n);
  toHessenberg(t, u);
  let tries = 0;
  for (let last = n - 1; last > 0; ) {
    let first = last;
    while (first > 0) {
      const around = sizeOf(at(t, first - 1, first - 1)) + sizeOf(at(t, first, first));
      if (sizeOf(at(t, first, first - 1)) <= Number.EPSILON * around) break;
      first--;
    }
    if (first > 0) put(t, first, first - 1, { re: 0, im: 0 });
    if (first === last || tries > maxTries) {
      last--;
      tries = 0;
      continue;
    }
    const shift = shiftFor(t, last, ++tries);
    for (let i = first; i <= last; i++) put(t, i, i, difference(at(t, i, i), shift));
    const turns: { c: Complex; s: Complex }[] = [];
    for (let k = first; k < last; k++) {
      const turn = rotation(at(t, k, k), at(t, k + 1, k));
      rotateRows(t, k, turn, k);
      turns.push(turn);
    }
    for (const [i, turn] of turns.entries()) {
      rotateColumns(t, first + i, turn, Math.min(first + i + 2, last + 1));
      rotateColumns(u, first + i, turn, n);
    }
    for (let i = first; i <= last; i++) put(t, i, i, sum(at(t, i, i), shift));
  }
  for (let i = 1; i < n; i++) for (let j = 0; j < i; j++) put(t, i, j, { re: 0, im: 0 });
  return { u, t };
}

/** Eigenvalues, the smallest first, and eigenvectors of length 1 in the columns of `v`. */
export function eigen(matrix: Matrix): { e: Matrix; v: Matrix } {
  const { u, t } = schur(matrix);
  const n = t.rows;
  const own = new Matrix(n, n);
  let largest = 0;
  for (let i = 0; i < n; i++) largest = Math.max(largest, sizeOf(at(t, i, i)));
  for (let k = 0; k < n; k++) {
    put(own, k, k, { re: 1, im: 0 });
    for (let i = k - 1; i >= 0; i--) {
      let total: Complex = { re: 0, im: 0 };
      for (let j = i + 1; j <= k; j++) total = sum(total, product(at(t, i, j), at(own, j, k)));
      let gap = difference(at(t, k, k), at(t, i, i));
      // Equal eigenvalues: a little apart, so that some vector comes out.
      if (sizeOf(gap) === 0) gap = { re: Number.EPSILON * (largest || 1), im: 0 };
      put(own, i, k, quotient(total, gap));
    }
  }
  const vectors = multiply(u, own);
  const order = Array.from({ length: n }, (_, i) => i).sort((a, b) => sizeOf(at(t, a, a)) - sizeOf(at(t, b, b)));
  const [e, v] = [new Matrix(1, n), new Matrix(n, n)];
  for (const [k, from] of order.entries()) {
    put(e, 0, k, at(t, from, from));
    let length = 0;
    for (let i = 0; i < n; i++) length = Math.hypot(length, sizeOf(at(vectors, i, from)));
    for (let i = 0; i < n; i++) put(v, i, k, scaled(at(vectors, i, from), 1 / length));
  }
  return { e, v };
}

/** The square root of an upper triangular matrix, column by column. */
function triangularRoot(t: Matrix): Matrix {
  const n = t.rows;
  const root = new Matrix(n, n);
  for (let j = 0; j < n; j++) {
    put(root, j, j, rootOf(at(t, j, j)));
    for (let i = j - 1; i >= 0; i--) {
      let rest = at(t, i, j);
      for (let k = i + 1; k < j; k++) rest = difference(rest, product(at(root, i, k), at(root, k, j)));
      const both = sum(at(root, i, i), at(root, j, j));
      put(root, i, j, sizeOf(rest) === 0 ? rest : quotient(rest, both));
    }
  }
  return root;
}

/** The matrix whose product with itself is the given one. */
export function squareRoot(matrix: Matrix): Matrix {
  const { u, t } = schur(matrix);
  return multiply(multiply(u, triangularRoot(t)), u.adjoint());
}

/** Points and weights of Gauss and Legendre for eight points between -1 and 1; both signs of each point are taken. */
const points = [0.1834346424956498, 0.525532409916329, 0.7966664774136267, 0.9602898564975363];
const weights = [0.362683783378362, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763];

/** `log(1 + x)`, the integral of `x / (1 + s x)` over s from 0 to 1; eight points are enough for a matrix this small. */
function logOfNearly(x: Matrix): Matrix {
  const n = x.rows;
  const total = new Matrix(n, n);
  for (const [i, point] of points.entries())
    for (const s of [(1 + point) / 2, (1 - point) / 2]) {
      const below = Matrix.identity(n);
      for (let k = 0; k < n * n; k++) {
        below.re[k]! += s * x.re[k]!;
        below.im[k]! += s * x.im[k]!;
      }
      const part = solveTriangular(below, x, false);
      for (let k = 0; k < n * n; k++) {
        total.re[k]! += (weights[i]! / 2) * part.re[k]!;
        total.im[k]! += (weights[i]! / 2) * part.im[k]!;
      }
    }
  return total;
}

/** The largest sum of sizes in a column. */
function norm(m: Matrix): number {
  let largest = 0;
  for (let j = 0; j < m.columns; j++) {
    let total = 0;
    for (let i = 0; i < m.rows; i++) total += sizeOf(at(m, i, j));
    largest = Math.max(largest, total);
  }
  return largest;
}

/** The principal logarithm: square roots until the matrix is near 1, whose logarithm is doubled as often. */
export function logarithm(matrix: Matrix): Matrix {
  const { u, t } = schur(matrix);
  const n = t.rows;
  let root = t;
  const less = (): Matrix => {
    const x = root.copy();
    for (let i = 0; i < n; i++) x.re[i * n + i]! -= 1;
    return x;
  };
  let doublings = 0;
  // A singular matrix never comes near 1; its logarithm is infinite.
  while (norm(less()) > 0.25 && doublings < 100) {
    root = triangularRoot(root);
    doublings++;
  }
  const log = logOfNearly(less());
  for (let k = 0; k < n * n; k++) {
    log.re[k]! *= 2 ** doublings;
    log.im[k]! *= 2 ** doublings;
  }
  for (let i = 0; i < n; i++) {
    const own = at(t, i, i);
    put(log, i, i, { re: Math.log(sizeOf(own)), im: Math.atan2(own.im, own.re) });
  }
  return multiply(multiply(u, log), u.adjoint());
}

/** @file Prints arrays the way NumPy does: aligned columns, shortest digits that tell values apart, `...` when large. */
import type { NDArray } from './ndarray.ts';

const threshold = 1000;
const edge = 3;

/** NumPy's `str(array)`. */
export function printArray(array: NDArray): string {
  const show = array.dtype.isObject ? (i: number) => quote(array.at(i)) : formatter(array);
  if (array.rank === 0) return show(0).trim();
  const rows: string[] = [];
  const short = array.size > threshold;
  const print = (axis: number, start: number, indent: string): string => {
    const n = array.shape[axis]!;
    let step = 1;
    for (let i = axis + 1; i < array.rank; i++) step *= array.shape[i]!;
    const parts: string[] = [];
    for (let i = 0; i < n; i++) {
      if (short && n > 2 * edge && i === edge) {
        parts.push('...');
        i = n - edge - 1;
        continue;
      }
      const at = start + i * step;
      parts.push(axis === array.rank - 1 ? show(at) : print(axis + 1, at, `${indent} `));
    }
    const gap = axis === array.rank - 1 ? ' ' : `${'\n'.repeat(array.rank - 1 - axis)}${indent} `;
    return `[${parts.join(gap)}]`;
  };
  rows.push(print(0, 0, ''));
  return rows.join('\n');
}

function quote(x: unknown): string {
  if (typeof x === 'string') return `b'${x.replaceAll("'", "\\'")}'`;
  if (x instanceof Uint8Array) return `b'${Array.from(x, (b) => `\\x${b.toString(16).padStart(2, '0')}`).join('')}'`;
  return String(x);
}

/** A function that prints element `i` padded to the common width of all elements. */
function formatter(array: NDArray): (i: number) => string {
  const { dtype } = array;
  const texts = new Map<number, string>();
  const step = Math.max(1, Math.floor(array.size / threshold));
  const sample = Array.from({ length: Math.min(array.size, threshold) }, (_, i) => i * step);
  if (dtype.isFloating) {
    const digits = dtype.storage === 'f64' ? 17 : dtype.storage === 'f32' ? 9 : 5;
    const numbers = sample.map((i) => array.numberAt(i));
    const finite = numbers.filter(Number.isFinite).map(Math.abs);
    const largest = Math.max(0, ...finite);
    const smallest = Math.min(...finite.filter((x) => x > 0), Number.POSITIVE_INFINITY);
    const scientific =
      largest >= 1e8 || (smallest < 1e-4 && smallest !== Number.POSITIVE_INFINITY) || largest / smallest > 1000;
    const one = (x: number) =>
      scientific && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1e3)
        ? exponent(x, digits)
        : plain(x, digits);
    const parts = numbers.filter(Number.isFinite).map((x) => one(x).split('.'));
    const decimals = Math.min(8, Math.max(0, ...parts.map((p) => p[1]?.length ?? 0)));
    const format = (x: number): string => {
      if (Number.isNaN(x)) return 'nan';
      if (!Number.isFinite(x)) return x > 0 ? 'inf' : '-inf';
      if (scientific) return one(x);
      const [whole, fraction = ''] = trimZeros(x.toFixed(decimals), plain(x, digits)).split('.');
      return `${whole}.${array.rank === 0 ? fraction : fraction.padEnd(decimals)}`;
    };
    if (array.rank === 0)
      return () =>
        Number.isInteger(numbers[0]) && !scientific ? `${numbers[0]!.toFixed(1)}` : scalarText(numbers[0]!, digits);
    for (const [k, i] of sample.entries()) texts.set(i, format(numbers[k]!));
    const width = Math.max(...[...texts.values()].map((t) => t.length), 0);
    return (i) => (texts.get(i) ?? format(array.numberAt(i))).padStart(width);
  }
  const format = (i: number): string => {
    const x = array.at(i);
    if (typeof x === 'boolean') return x ? 'True' : 'False';
    if (typeof x === 'object' && 're' in x)
      return `${shortest(x.re)}${x.im < 0 ? '-' : '+'}${shortest(Math.abs(x.im))}j`;
    return String(x);
  };
  for (const i of sample) texts.set(i, format(i));
  const width = Math.max(...[...texts.values()].map((t) => t.length), 0);
  return (i) => (texts.get(i) ?? format(i)).padStart(width);
}

/** The fewest digits that still give the same number back at this precision. */
function plain(x: number, digits: number): string {
  if (digits === 17) return withPoint(String(x));
  const same =
    digits === 9
      ? (y: number) => Math.fround(y) === Math.fround(x)
      : (y: number) => Math.abs(y - x) <= Math.abs(x) * 2 ** -12;
  for (let p = 1; p <= digits; p++) {
    const text = x.toPrecision(p);
    if (same(Number(text))) return withPoint(String(Number(text)));
  }
  return withPoint(String(x));
}

const withPoint = (text: string) => (/[.e]/.test(text) ? text : `${text}.`);

function exponent(x: number, digits: number): string {
  const shortestText = plain(x, digits).replace(/\.$/, '');
  const [mantissa, power] = Number(shortestText).toExponential().split('e');
  const n = Number(power);
  return `${mantissa!.includes('.') ? mantissa : `${mantissa}.`}e${n < 0 ? '-' : '+'}${String(Math.abs(n)).padStart(2, '0')}`;
}

function scalarText(x: number, digits: number): string {
  if (Number.isNaN(x)) return 'nan';
  if (!Number.isFinite(x)) return x > 0 ? 'inf' : '-inf';
  const magnitude = Math.abs(x);
  if (magnitude !== 0 && (magnitude >= 1e16 || magnitude < 1e-4)) return exponent(x, digits).replace('.e', 'e');
  return plain(x, digits).replace(/\.$/, '.0');
}

function shortest(x: number): string {
  return plain(x, 9);
}

/** `fixed` without the zeros that the shortest form does not have. */
function trimZeros(fixed: string, shortestText: string): string {
  if (!fixed.includes('.')) return withPoint(fixed);
  const wanted = shortestText.includes('e') ? 8 : (shortestText.split('.')[1]?.length ?? 0);
  const [whole, fraction = ''] = fixed.split('.');
  return `${whole}.${fraction.slice(0, Math.max(wanted, 0))}`;
}

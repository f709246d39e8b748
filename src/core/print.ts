/** @file Prints arrays the way NumPy does: aligned columns, shortest digits that tell values apart, `...` when large. */
import { toBfloat16Bits, toHalfBits } from './half.ts';
import type { Complex, NDArray } from './ndarray.ts';

/** NumPy's print options: elements before `...` is used, how many are shown at each end then, columns, decimals. */
const threshold = 1000;
const edge = 3;
const lineWidth = 75;
const precision = 8;

/** NumPy's `str(array)`. */
export function printArray(array: NDArray): string {
  if (array.rank === 0) return printScalar(array);
  if (array.size === 0) return '[]';
  const isShort = array.size > threshold;
  const show = formatter(array, isShort ? shownOf(array) : Array.from({ length: array.size }, (_, i) => i));
  const print = (axis: number, start: number, indent: string, width: number): string => {
    const count = array.shape[axis]!;
    const step = stepOf(array, axis);
    const isRow = axis === array.rank - 1;
    const parts = positions(count, isShort).map((i) =>
      i === undefined
        ? '...'
        : isRow
          ? show(start + i * step)
          : print(axis + 1, start + i * step, `${indent} `, width - 1),
    );
    const text = isRow
      ? wrapped(parts, indent, width - 1)
      : parts.join(`${'\n'.repeat(array.rank - 1 - axis)}${indent}`);
    return `[${text}]`;
  };
  return print(0, 0, ' ', lineWidth);
}

/** Elements one step along an axis lie this far apart. */
function stepOf(array: NDArray, axis: number): number {
  return array.shape.slice(axis + 1).reduce((product, size) => product * size, 1);
}

/** The positions along an axis that are shown; `undefined` where others are left out. */
function positions(count: number, isShort: boolean): (number | undefined)[] {
  const all = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
  return isShort && count > 2 * edge ? [...all(0, edge), undefined, ...all(count - edge, count)] : all(0, count);
}

/** The elements that are shown of a large array: only they decide the width. */
function shownOf(array: NDArray): number[] {
  let starts = [0];
  for (let axis = 0; axis < array.rank; axis++) {
    const along = positions(array.shape[axis]!, true).filter((i) => i !== undefined);
    starts = starts.flatMap((start) => along.map((i) => start + i * stepOf(array, axis)));
  }
  return starts;
}

/** Words with spaces between them, in lines no longer than `width`; later lines begin with `indent`. */
function wrapped(words: readonly string[], indent: string, width: number): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of words) {
    if (line.length + word.length > width && line.length > indent.length) {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  return [...lines, line.slice(0, -1)].join('\n').slice(indent.length);
}

function printScalar(array: NDArray): string {
  const x = array.at(0);
  if (typeof x === 'number' && array.dtype.isFloating) return scalarText(x, array);
  return formatter(array, [0])(0).trim();
}

/** A function that prints element `i` as wide as the widest of the elements `shown`. */
function formatter(array: NDArray, shown: readonly number[]): (i: number) => string {
  const { dtype } = array;
  if (dtype.isObject) return (i) => quote(array.at(i));
  if (dtype.isFloating) {
    const format = floatFormat(
      shown.map((i) => array.numberAt(i)),
      shortestFor(array),
      false,
    );
    return (i) => format(array.numberAt(i));
  }
  if (dtype.isComplex) {
    const part = (i: number) => array.at(i) as Complex; // a complex array holds complex numbers
    const shortest = shortestFor(array);
    const re = floatFormat(
      shown.map((i) => part(i).re),
      shortest,
      false,
    );
    const im = floatFormat(
      shown.map((i) => part(i).im),
      shortest,
      true,
    );
    return (i) => `${re(part(i).re)}${im(part(i).im).replace(/ *$/, 'j$&')}`;
  }
  const text = (i: number) => {
    const x = array.at(i);
    return typeof x === 'boolean' ? (x ? 'True' : 'False') : String(x);
  };
  const width = Math.max(...shown.map((i) => text(i).length));
  return (i) => text(i).padStart(width);
}

/** Bytes as Python writes them: text where it is ASCII, `\x` codes elsewhere. */
function quote(x: unknown): string {
  const bytes = typeof x === 'string' ? new TextEncoder().encode(x) : x;
  if (!(bytes instanceof Uint8Array)) return String(x);
  const hasOnlySingle = bytes.includes(39) && !bytes.includes(34);
  const mark = hasOnlySingle ? '"' : "'";
  const named: Record<number, string> = {
    9: '\\t',
    10: '\\n',
    13: '\\r',
    92: '\\\\',
    ...(hasOnlySingle ? {} : { 39: "\\'" }),
  };
  const text = Array.from(bytes, (b) => {
    if (named[b] !== undefined) return named[b];
    return b >= 32 && b < 127 ? String.fromCharCode(b) : `\\x${b.toString(16).padStart(2, '0')}`;
  });
  return `b${mark}${text.join('')}${mark}`;
}

/** A number with the fewest digits that still give it back in the array's type, in JavaScript's spelling. */
type Shortest = (x: number) => number;

function shortestFor({ dtype }: NDArray): Shortest {
  const { storage } = dtype;
  if (storage === 'f64' || storage === 'c128') return (x) => x;
  const round = storage === 'f16' ? toHalfBits : storage === 'bf16' ? toBfloat16Bits : Math.fround;
  return (x) => {
    for (let digits = 1; digits <= 9; digits++) {
      const y = Number(x.toPrecision(digits));
      if (round(y) === round(x)) return y;
    }
    return x;
  };
}

/** A number's text in its parts. */
interface Digits {
  readonly whole: string;
  readonly decimals: string;
  readonly exponent: string;
}

/** With at most `precision` decimals, and no zeros at the end. */
function digitsOf(x: number, shortest: Shortest, isScientific: boolean): Digits {
  const short = shortest(x);
  const write = (y: number, decimals?: number) => (isScientific ? y.toExponential(decimals) : plainText(y, decimals));
  let text = write(short);
  if ((text.split('e')[0]!.split('.')[1]?.length ?? 0) > precision) text = write(x, precision);
  const digits = digitsIn(text);
  const whole = Object.is(x, -0) ? `-${digits.whole}` : digits.whole;
  return { ...digits, whole, decimals: digits.decimals.replace(/0+$/, '') };
}

function digitsIn(text: string): Digits {
  const [mantissa, power = ''] = text.split('e') as [string, string?];
  const [whole, decimals = ''] = mantissa.split('.') as [string, string?];
  return { whole, decimals, exponent: power && `e${power[0]}${power.slice(1).padStart(2, '0')}` };
}

/** A number without exponent. Only values for which the columns stay narrow are written like this. */
function plainText(x: number, decimals?: number): string {
  if (decimals !== undefined) return x.toFixed(decimals);
  const text = String(x);
  return text.includes('e') ? x.toFixed(20) : text;
}

/** NumPy's choice between plain and scientific columns for these numbers, and the widths they need. */
function floatFormat(numbers: readonly number[], shortest: Shortest, hasPlus: boolean): (x: number) => string {
  const finite = numbers.filter(Number.isFinite);
  const sizes = finite.filter((x) => x !== 0).map(Math.abs);
  const [largest, smallest] = [Math.max(0, ...sizes), Math.min(Number.POSITIVE_INFINITY, ...sizes)];
  const isScientific = sizes.length > 0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000);
  const signed = (text: string) => (hasPlus && !text.startsWith('-') ? `+${text}` : text);
  const all = finite.map((x) => digitsOf(x, shortest, isScientific));
  const decimals = Math.max(0, ...all.map((d) => d.decimals.length));
  const tail = decimals + Math.max(0, ...all.map((d) => d.exponent.length)) + 1;
  const special = numbers.filter((x) => !Number.isFinite(x)).map((x) => signed(specialText(x)).length - tail);
  const whole = Math.max(0, ...all.map((d) => signed(d.whole).length), ...special);
  return (x) => {
    if (!Number.isFinite(x)) return signed(specialText(x)).padStart(whole + tail);
    const digits = digitsOf(x, shortest, isScientific);
    // Scientific columns are filled with further digits of the number, plain ones with spaces.
    const filled = isScientific && digits.decimals.length < decimals ? digitsIn(x.toExponential(decimals)) : digits;
    return `${signed(filled.whole).padStart(whole)}.${filled.decimals.padEnd(decimals)}${filled.exponent}`;
  };
}

function specialText(x: number): string {
  return Number.isNaN(x) ? 'nan' : x > 0 ? 'inf' : '-inf';
}

/** A single number: all its digits, with an exponent from 1e16 on and below 1e-4. */
function scalarText(x: number, array: NDArray): string {
  if (!Number.isFinite(x)) return specialText(x);
  const short = shortestFor(array)(x);
  const size = Math.abs(short);
  if (size !== 0 && (size >= 1e16 || size < 1e-4)) return short.toExponential().replace(/e([-+])(\d)$/, 'e$10$2');
  const text = Object.is(short, -0) ? '-0' : plainText(short);
  return text.includes('.') ? text : `${text}.0`;
}

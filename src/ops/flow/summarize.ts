/** @file Arrays as text in the forms that TensorFlow's Print, Assert and StringFormat ops use. */
import { bfloat16, type DType, float16, float32, string } from '../../core/dtypes.ts';
import type { NDArray } from '../../core/ndarray.ts';
import type { Shape } from '../../core/shape.ts';

/** C's `%.{digits}g`. */
function general(value: number, digits: number): string {
  const [mantissa, exponent] = value.toExponential(digits - 1).split('e') as [string, string]; // always has an exponent
  const power = Number(exponent);
  const trim = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
  if (power >= -4 && power < digits) return trim(value.toFixed(digits - 1 - power));
  return `${trim(mantissa)}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** The shortest of two precisions that reads back as the same number: 6 or 9 digits for float32, 15 or 17 for float64. */
function showFloat(value: number, dtype: DType): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const single = dtype === float32 || dtype === float16 || dtype === bfloat16;
  const round = single ? Math.fround : (x: number) => x;
  const short = general(value, single ? 6 : 15);
  return round(Number(short)) === round(value) ? short : general(value, single ? 9 : 17);
}

const escapes: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '"': '\\"',
  "'": "\\'",
  '\\': '\\\\',
};

/** C escapes for control characters and quotes; text beyond ASCII stays as it is. */
function escaped(text: string): string {
  return [...text]
    .map((c) => {
      const code = c.codePointAt(0)!;
      return escapes[c] ?? (code < 32 || code === 127 ? `\\${code.toString(8).padStart(3, '0')}` : c);
    })
    .join('');
}

/** One element as Print and Assert show it; `quoted` puts strings in double quotes, as StringFormat does. */
function showElement(array: NDArray, i: number, quoted: boolean): string {
  const { dtype } = array;
  if (dtype === string) {
    const value = array.at(i);
    const text = escaped(typeof value === 'string' ? value : Buffer.from(value as Uint8Array).toString('latin1')); // bytes that are no UTF-8
    return quoted ? `"${text}"` : text;
  }
  // TensorFlow's summaries show a question mark for complex numbers, handles and variants.
  if (dtype.isComplex || dtype.isObject) return '?';
  if (dtype.isBool) return String(array.numberAt(i));
  return dtype.isFloating ? showFloat(array.numberAt(i), dtype) : String(array.at(i));
}

/** At most `limit` elements, counted through all dimensions: `[1 2][3...]...`. The outermost brackets are the caller's. */
export function summarizeFlat(array: NDArray, maxEntries: number): string {
  const { shape, size } = array;
  const limit = maxEntries < 0 ? size : Math.min(maxEntries, size);
  let text = '';
  let next = 0;
  const dimension = (axis: number): void => {
    if (next >= limit) return;
    if (axis >= shape.length - 1) {
      const count = shape[axis] ?? size;
      for (let i = 0; i < count; i++) {
        if (next >= limit) {
          if (axis !== 0) text += '...';
          return;
        }
        text += `${i > 0 ? ' ' : ''}${showElement(array, next++, false)}`;
      }
      return;
    }
    for (let i = 0; i < shape[axis]!; i++) {
      if (next >= limit) return;
      text += '[';
      dimension(axis + 1);
      text += ']';
    }
  };
  dimension(0);
  return size > limit ? `${text}...` : text;
}

/** The first and last `edge` elements of every dimension, as NumPy shows large arrays. */
export function summarizeEdges(array: NDArray, maxEntries: number): string {
  const { shape, size } = array;
  if (shape.length === 0) return maxEntries === 0 ? '...' : showElement(array, 0, true);
  const edge = maxEntries < 0 ? size : Math.min(maxEntries, size);
  const show = (axis: number, start: number): string => {
    if (axis === shape.length) return showElement(array, start, true);
    const count = shape[axis]!;
    const step = shape.slice(axis + 1).reduce((n, d) => n * d, 1);
    const gap = spacing(axis, shape);
    const part = (i: number) => show(axis + 1, start + i * step);
    let text = Array.from({ length: Math.min(edge, count) }, (_, i) => part(i)).join(gap);
    if (count > 2 * edge) text += `${gap}...`;
    for (let i = Math.max(edge, count - edge); i < count; i++) text += gap + part(i);
    return `[${text}]`;
  };
  return show(0, 0);
}

function spacing(axis: number, shape: Shape): string {
  return axis === shape.length - 1 ? ' ' : '\n'.repeat(shape.length - axis - 1) + ' '.repeat(axis + 1);
}

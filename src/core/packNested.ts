/** @file Long nested lists of plain numbers, truth values or texts as arrays: row by row, with few questions about each element. */
import { type DType, int64, string, type TypedArray } from './dtypes.ts';
import { inTurns, type Work } from './eventLoop.ts';
import { Int64s } from './int64s.ts';
import { NDArray, type Nested } from './ndarray.ts';
import { type Shape, sizeOf } from './shape.ts';

/** Copies the elements of a row to a place and on; false where there is one that it does not take. */
type TakeRow = (row: readonly unknown[], at: number) => boolean;

/** The elements of shorter lists are asked for one by one. */
const fewest = 64;

/**
 * A nested list as an array, where all elements are of the one kind that is usual for the type: numbers, whole ones for integers, truth
 * values for bool, text for strings. Undefined for anything else, be it a mistake or something rare.
 */
export function packNested(value: Nested, dtype: DType): NDArray | undefined {
  if (!Array.isArray(value)) return undefined;
  const shape: number[] = [];
  for (let v: unknown = value; Array.isArray(v); v = v[0]) shape.push(v.length);
  const size = sizeOf(shape);
  if (size < fewest) return undefined;
  if (dtype === string) {
    const texts = new Array<Uint8Array>(size);
    return takeRows(value, shape, (row, at) => encodeTexts(row, texts, at))
      ? new NDArray(dtype, shape, texts)
      : undefined;
  }
  const data = dtype.isObject || dtype.isComplex ? undefined : dtype.allocate(size);
  const take = data && rowTaker(dtype, data);
  return take && takeRows(value, shape, take) ? new NDArray(dtype, shape, data) : undefined;
}

/** So many texts are not converted at once. */
const manyTexts = 8192;

/**
 * A nested list of very many texts as an array, which is made with pauses for the event loop; the list is copied before the first of
 * them. Undefined for anything else.
 */
export function packTextsInTurns(value: Nested): { shape: Shape; array: Promise<NDArray> } | undefined {
  if (!Array.isArray(value)) return undefined;
  const shape: number[] = [];
  let first: unknown = value;
  for (; Array.isArray(first); first = first[0]) shape.push(first.length);
  if (typeof first !== 'string' || sizeOf(shape) < manyTexts) return undefined;
  const texts = new Array<string>(sizeOf(shape));
  return takeRows(value, shape, (row, at) => copyTexts(row, texts, at))
    ? { shape, array: inTurns(encoded(texts, shape)) }
    : undefined;
}

function copyTexts(row: readonly unknown[], texts: string[], at: number): boolean {
  for (let i = 0; i < row.length; i++) {
    const x = row[i];
    if (typeof x !== 'string') return false;
    texts[at + i] = x;
  }
  return true;
}

function* encoded(texts: readonly string[], shape: Shape): Work<NDArray> {
  const bytes = new Array<Uint8Array>(texts.length);
  for (let at = 0; at < texts.length; at += textsTogether) {
    encodeTexts(texts.slice(at, at + textsTogether), bytes, at);
    yield;
  }
  return new NDArray(string, shape, bytes);
}

/** Goes over all rows; false where one is not taken, or has not the length of the first. */
function takeRows(value: readonly unknown[], shape: readonly number[], take: TakeRow): boolean {
  const last = shape.length - 1;
  const length = shape[last]!;
  let at = 0;
  const visit = (list: readonly unknown[], axis: number): boolean => {
    if (axis === last) {
      if (!take(list, at)) return false;
      at += length;
      return true;
    }
    const inner = shape[axis + 1];
    for (let i = 0; i < list.length; i++) {
      const x = list[i];
      if (!Array.isArray(x) || x.length !== inner || !visit(x, axis + 1)) return false;
    }
    return true;
  };
  return visit(value, 0);
}

function rowTaker(dtype: DType, data: TypedArray): TakeRow | undefined {
  switch (dtype.storage) {
    case 'f32':
      return (row, at) => copyNumbers(row, data as Float32Array, at); // storage says so
    case 'f64':
      return (row, at) => copyNumbers(row, data as Float64Array, at); // storage says so
    case 'i64': {
      const int64s = new Int64s(data as BigInt64Array); // storage says so
      return (row, at) => copyLongs(row, int64s, at);
    }
    case 'i8':
    case 'i16':
    case 'i32':
    case 'u8':
    case 'u16':
    case 'u32':
      if (dtype.isBool) return (row, at) => copyTruths(row, data as Uint8Array, at); // bools are bytes
      return dtype.isInteger ? (row, at) => copyWholes(row, data as Int32Array, at) : undefined; // of numbers, as Int32Array
    default:
      return undefined;
  }
}

function copyNumbers(row: readonly unknown[], data: Float32Array | Float64Array, at: number): boolean {
  for (let i = 0; i < row.length; i++) {
    const x = row[i];
    if (typeof x !== 'number') return false;
    data[at + i] = x;
  }
  return true;
}

function copyWholes(row: readonly unknown[], data: Int32Array, at: number): boolean {
  for (let i = 0; i < row.length; i++) {
    const x = row[i];
    if (typeof x !== 'number' || !Number.isInteger(x)) return false;
    data[at + i] = x;
  }
  return true;
}

function copyLongs(row: readonly unknown[], int64s: Int64s, at: number): boolean {
  for (let i = 0; i < row.length; i++) {
    const x = row[i];
    if (typeof x !== 'number' || !Number.isInteger(x)) return false;
    int64s.set(at + i, x);
  }
  return true;
}

function copyTruths(row: readonly unknown[], data: Uint8Array, at: number): boolean {
  for (let i = 0; i < row.length; i++) {
    const x = row[i];
    if (typeof x !== 'boolean') return false;
    data[at + i] = x ? 1 : 0;
  }
  return true;
}

/** Types whose elements are the numbers in their typed arrays. */
const isPlain = ({ storage, isFloating, isInteger }: DType) =>
  (isFloating || isInteger) && storage !== 'f16' && storage !== 'bf16' && storage !== 'i64' && storage !== 'u64';

/** Numbers as those of another type; undefined where it is no simple copy: fractions for integers, halves, complex numbers. */
export function castNumbers(array: NDArray, dtype: DType): NDArray | undefined {
  const { dtype: from, size, shape } = array;
  if (from === dtype) return array;
  if (!(isPlain(from) || from === int64) || !(isPlain(dtype) || dtype === int64)) return undefined;
  const at = array.numberReader();
  if (dtype.isInteger && from.isFloating) for (let i = 0; i < size; i++) if (!Number.isInteger(at(i))) return undefined;
  const data = dtype.allocate(size) as Float64Array; // or another of numbers, but for int64
  if (dtype === int64) {
    const int64s = new Int64s(data as TypedArray as BigInt64Array); // its storage
    for (let i = 0; i < size; i++) int64s.set(i, at(i));
  } else if (from === int64) for (let i = 0; i < size; i++) data[i] = at(i);
  else data.set(array.data as Float64Array); // plain numbers
  return new NDArray(dtype, shape, data);
}

/** So many texts share their memory, which stays as long as one of them does. */
const textsTogether = 512;
/** Longer texts have memory of their own. */
const longText = 1024;
const encoder = new TextEncoder();

/** Writes texts to `bytes`, from `at` on; false where something is no text. */
function encodeTexts(texts: readonly unknown[], bytes: Uint8Array[], at: number): boolean {
  for (let start = 0; start < texts.length; start += textsTogether) {
    const end = Math.min(texts.length, start + textsTogether);
    let length = 0;
    for (let i = start; i < end; i++) {
      const text = texts[i];
      if (typeof text !== 'string') return false;
      length += text.length;
    }
    const some = texts.slice(start, end) as string[]; // looked at above
    if (length > longText * some.length || !encodeTogether(some, bytes, at + start))
      for (const [i, text] of some.entries()) bytes[at + start + i] = encoder.encode(text);
  }
  return true;
}

/** One call for several texts; false where halves of a pair of code units met, the end of a text and the beginning of the next. */
function encodeTogether(texts: readonly string[], bytes: Uint8Array[], at: number): boolean {
  const joined = texts.join('');
  const all = encoder.encode(joined);
  const isAscii = all.length === joined.length;
  let position = all.byteOffset;
  const end = position + all.length;
  for (let i = 0; i < texts.length; i++) {
    const text = texts[i]!;
    const length = isAscii ? text.length : Buffer.byteLength(text);
    if (position + length > end) return false;
    bytes[at + i] = new Uint8Array(all.buffer, position, length);
    position += length;
  }
  return true;
}

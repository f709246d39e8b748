/** @file Taking arrays apart and putting them together along the first axis. */
import type { DType } from './dtypes.ts';
import { NDArray } from './ndarray.ts';
import { type Shape, sizeOf } from './shape.ts';

/** Rows of an array from `start` on, under a shape of their own. */
export function rowsOf(array: NDArray, start: number, shape: Shape): NDArray {
  const row = sizeOf(array.shape.slice(1));
  const from = start * row;
  const to = from + sizeOf(shape);
  const { dtype } = array;
  if (dtype.isObject) return new NDArray(dtype, shape, array.objects.slice(from, to));
  return new NDArray(dtype, shape, array.data.slice(from * dtype.entries, to * dtype.entries));
}

/** All elements of the arrays, one array after the other. */
export function joined(dtype: DType, shape: Shape, arrays: readonly NDArray[]): NDArray {
  if (dtype.isObject)
    return new NDArray(
      dtype,
      shape,
      arrays.flatMap((a) => a.objects),
    );
  const data = dtype.allocate(sizeOf(shape));
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  let at = 0;
  for (const { bytes: part } of arrays) {
    bytes.set(part, at);
    at += part.length;
  }
  return new NDArray(dtype, shape, data);
}

/** So many bytes are copied in a tenth of a millisecond or so. */
const quickBytes = 2 ** 18;

/** Puts an array together row by row, in order, of rows of other arrays. */
export interface RowJoiner {
  /** Adds a row of an array; one that is a row itself has the row 0. */
  add(from: NDArray, row: number): void;
  /** So many rows are short work. */
  readonly atOnce: number;
  result(): NDArray;
}

export function rowJoiner(dtype: DType, shape: Shape): RowJoiner {
  const width = sizeOf(shape.slice(1));
  const atOnce = Math.max(1, Math.min(512, Math.floor(quickBytes / Math.max(1, width * dtype.size))));
  let at = 0;
  if (dtype.isObject) {
    const all = new Array<object>(sizeOf(shape));
    const add = ({ objects }: NDArray, row: number) => {
      for (let k = 0; k < width; k++) all[at++] = objects[row * width + k]!;
    };
    return { atOnce, add, result: () => new NDArray(dtype, shape, all) };
  }
  const data = dtype.allocate(sizeOf(shape));
  const result = () => new NDArray(dtype, shape, data);
  const length = width * dtype.entries;
  const add = (from: NDArray, row: number) => {
    const source = from.data;
    // A view costs more than a few numbers.
    if (length <= 8) for (let k = row * length; k < (row + 1) * length; k++) data[at++] = source[k]!;
    else {
      (data as Float64Array).set(source.subarray(row * length, (row + 1) * length) as Float64Array, at); // both of the dtype
      at += length;
    }
  };
  return { atOnce, add, result };
}

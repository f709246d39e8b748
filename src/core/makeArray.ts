/** @file Arrays whose elements are computed on the host, one by one, and large ones copied. */
import type { DType, TypedArray } from './dtypes.ts';
import { eachInTurns } from './eventLoop.ts';
import { Int64s } from './int64s.ts';
import { type Element, NDArray, storeElement } from './ndarray.ts';
import { type Shape, sizeOf } from './shape.ts';

/** Writes numbers into memory for elements of a type. */
export function numberWriter(dtype: DType, data: TypedArray): (i: number, value: number) => void {
  if (dtype.storage !== 'i64') return (i, value) => storeElement(dtype, data, i, value);
  const int64s = new Int64s(data as BigInt64Array); // storage says so
  return (i, value) => int64s.set(i, value);
}

/** An array of numbers that are made one by one, with pauses for the event loop; see `eachInTurns` for `atOnce`. */
export async function makeNumbers(
  dtype: DType,
  shape: Shape,
  make: (i: number) => Element,
  atOnce = 64,
): Promise<NDArray> {
  const size = sizeOf(shape);
  const data = dtype.allocate(size);
  await eachInTurns(size, (i) => storeElement(dtype, data, i, make(i)), atOnce);
  return new NDArray(dtype, shape, data);
}

/** So many bytes are copied at once. */
const bytesAtOnce = 2 ** 18;

/** The same value with its own memory; numbers, copied with pauses for the event loop, during which they must stay as they are. */
export async function copied<D extends DType>(array: NDArray<D>): Promise<NDArray<D>> {
  const copy = new NDArray(array.dtype, array.shape, array.dtype.allocate(array.size));
  const [from, to] = [array.bytes, copy.bytes];
  const copyPiece = (i: number) => to.set(from.subarray(i * bytesAtOnce, (i + 1) * bytesAtOnce), i * bytesAtOnce);
  await eachInTurns(Math.ceil(from.length / bytesAtOnce), copyPiece, 1);
  return copy;
}

/** @file Arrays whose elements are computed on the host, one by one. */
import type { DType } from './dtypes.ts';
import { eachInTurns } from './eventLoop.ts';
import { type Element, NDArray, storeElement } from './ndarray.ts';
import { type Shape, sizeOf } from './shape.ts';

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

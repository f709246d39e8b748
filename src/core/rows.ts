/** @file Taking arrays apart and putting them together along the first axis. */
import type { DType } from './dtypes.ts';
import { eachInTurns } from './eventLoop.ts';
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

/** The same, with pauses for the event loop. */
export async function joinedInTurns(dtype: DType, shape: Shape, arrays: readonly NDArray[]): Promise<NDArray> {
  const atOnce = Math.max(1, Math.min(512, Math.floor(quickBytes / Math.max(1, (arrays[0]?.size ?? 0) * dtype.size))));
  let at = 0;
  if (dtype.isObject) {
    const all = new Array<object>(sizeOf(shape));
    const addObjects = (i: number) => {
      for (const object of arrays[i]!.objects) all[at++] = object;
    };
    await eachInTurns(arrays.length, addObjects, atOnce);
    return new NDArray(dtype, shape, all);
  }
  const data = dtype.allocate(sizeOf(shape));
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const addBytes = (i: number) => {
    const part = arrays[i]!.bytes;
    bytes.set(part, at);
    at += part.length;
  };
  await eachInTurns(arrays.length, addBytes, atOnce);
  return new NDArray(dtype, shape, data);
}

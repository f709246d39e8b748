/** @file Slices of arrays: cut out of the whole, and put back where they belong. */
import { NDArray } from '../core/ndarray.ts';
import { type Shape, sameShape, sizeOf, stridesOf } from '../core/shape.ts';
import { sliceShape, type TensorSlice } from './tensorSlice.ts';

/** An array whose elements are to be filled in. */
export function emptyArray(dtype: NDArray['dtype'], shape: Shape): NDArray {
  const size = sizeOf(shape);
  return new NDArray(dtype, shape, dtype.isObject ? new Array<object>(size) : dtype.allocate(size));
}

/** The part of an array that a slice names. */
export function sliced(array: NDArray, slice: TensorSlice): NDArray {
  const shape = sliceShape(slice, array.shape);
  if (sameShape(shape, array.shape)) return array;
  const result = emptyArray(array.dtype, shape);
  forEachRow(array.shape, slice, shape, (from, to, length) => moveElements(array, from, result, to, length));
  return result;
}

/** Puts a slice's elements where they belong in the whole. */
export function copySlice(part: NDArray, whole: NDArray, slice: TensorSlice): void {
  forEachRow(whole.shape, slice, part.shape, (to, from, length) => moveElements(part, from, whole, to, length));
}

/** Calls back for every run of neighbouring elements of a slice: where it begins in the whole and in the slice. */
function forEachRow(
  whole: Shape,
  slice: TensorSlice,
  part: Shape,
  move: (inWhole: number, inPart: number, length: number) => void,
): void {
  // Axes at the end that are taken whole make longer runs.
  let last = whole.length - 1;
  while (last > 0 && part[last] === whole[last]) last--;
  const length = sizeOf(part.slice(Math.max(last, 0)));
  if (length === 0) return;
  const strides = stridesOf(whole);
  const rows = last <= 0 ? 1 : sizeOf(part.slice(0, last));
  for (let row = 0; row < rows; row++) {
    let rest = row;
    let at = last < 0 ? 0 : slice[last]!.start * strides[last]!;
    for (let axis = last - 1; axis >= 0; axis--) {
      at += ((rest % part[axis]!) + slice[axis]!.start) * strides[axis]!;
      rest = Math.floor(rest / part[axis]!);
    }
    move(at, row * length, length);
  }
}

function moveElements(from: NDArray, at: number, to: NDArray, target: number, length: number): void {
  if (from.dtype.isObject)
    for (let i = 0; i < length; i++) (to.objects as object[])[target + i] = from.objects[at + i]!; // made just now
  else to.bytes.set(from.bytes.subarray(at * from.dtype.size, (at + length) * from.dtype.size), target * to.dtype.size);
}

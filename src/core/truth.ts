/** @file When a tensor counts as true. */
import type { NDArray } from './ndarray.ts';

/** TensorFlow's truth: numbers other than 0, texts and arrays that are not empty. */
export function isTrue(value: NDArray): boolean {
  if (value.rank > 0) return value.size > 0;
  if (value.dtype.isObject) return (value.objects[0] as Uint8Array).length > 0; // of the object types only strings are allowed
  return Boolean(value.at(0));
}

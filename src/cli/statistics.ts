/** @file Numbers about tensors: how large their values are, and how far two of them are apart. */
import type { NDArray } from '../core/ndarray.ts';

export interface Statistics {
  /** How many numbers there are; complex elements have two. */
  readonly numbers: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly deviation: number;
  readonly zeros: number;
  /** NaN and infinities, which the other numbers leave out. */
  readonly notFinite: number;
}

/** Calls back for every number of an array, without a copy of it; complex numbers count as two. */
function forEachNumber(array: NDArray, visit: (x: number, i: number) => void): void {
  const { data, dtype } = array;
  const isPlain = dtype.storage !== 'f16' && dtype.storage !== 'bf16';
  for (let i = 0; i < data.length; i++) visit(isPlain ? Number(data[i]) : array.numberAt(i), i);
}

/** Undefined for tensors that hold no numbers, and for empty ones. */
export function statisticsOf(array: NDArray): Statistics | undefined {
  if (array.dtype.isObject || array.size === 0) return undefined;
  const numbers = array.data.length;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let [mean, squares, count, zeros, notFinite] = [0, 0, 0, 0, 0];
  // Welford's way: sums of squares lose small deviations of large numbers.
  forEachNumber(array, (x) => {
    if (!Number.isFinite(x)) {
      notFinite++;
      return;
    }
    if (x === 0) zeros++;
    if (x < min) min = x;
    if (x > max) max = x;
    count++;
    const delta = x - mean;
    mean += delta / count;
    squares += delta * (x - mean);
  });
  if (count === 0)
    return { min: Number.NaN, max: Number.NaN, mean: Number.NaN, deviation: Number.NaN, zeros, notFinite, numbers };
  return { min, max, mean, deviation: Math.sqrt(squares / count), zeros, notFinite, numbers };
}

export interface Difference {
  /** The largest difference of two elements, and that by the size of the larger of the two. */
  readonly absolute: number;
  readonly relative: number;
  /** How many elements differ at all. */
  readonly count: number;
}

/** How far two arrays of one type and shape are apart. NaNs are equal here. */
export function differenceOf(a: NDArray, b: NDArray): Difference {
  let [absolute, relative, count] = [0, 0, 0];
  if (a.dtype.isObject) {
    a.objects.forEach((x, i) => {
      if (Buffer.compare(x as Uint8Array, b.objects[i] as Uint8Array) !== 0) count++; // checkpoints hold no objects but strings
    });
    return { absolute, relative, count };
  }
  const isPlain = a.dtype.storage !== 'f16' && a.dtype.storage !== 'bf16';
  forEachNumber(a, (x, i) => {
    const [exactX, exactY] = [a.data[i], b.data[i]];
    if (typeof exactX === 'bigint' && typeof exactY === 'bigint') {
      // As numbers, large ones that differ a little would be equal.
      if (exactX === exactY) return;
      count++;
      const apart = Number(exactX > exactY ? exactX - exactY : exactY - exactX);
      absolute = Math.max(absolute, apart);
      relative = Math.max(relative, apart / Math.max(Math.abs(x), Math.abs(Number(exactY))));
      return;
    }
    const y = isPlain ? Number(b.data[i]) : b.numberAt(i);
    if (x === y || (Number.isNaN(x) && Number.isNaN(y))) return;
    count++;
    const distance = Math.abs(x - y);
    absolute = Math.max(absolute, Number.isNaN(distance) ? Number.POSITIVE_INFINITY : distance);
    relative = Math.max(relative, distance / Math.max(Math.abs(x), Math.abs(y)) || 0);
  });
  return { absolute, relative, count };
}

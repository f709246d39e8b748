/** @file Images and filters for the cases of convolution ops, which would be too large to write out. */
import type { Nested } from '../../core/ndarray.ts';

function nested(shape: readonly number[], element: (position: number) => number): Nested {
  let next = 0;
  const fill = (axis: number): Nested =>
    axis === shape.length ? element(next++) : Array.from({ length: shape[axis]! }, () => fill(axis + 1));
  return fill(0);
}

/** Small whole numbers in no order; `seed` makes others. */
export function ramp(shape: readonly number[], seed = 0): Nested {
  return nested(shape, (i) => (((i + seed) * 7 + ((i + seed) >> 2) * 3 + seed) % 9) - 4);
}

/** Numbers in [-4, 4) in no order, of which no two differ by little. */
export function distinct(shape: readonly number[], step = 0.6180339887): Nested {
  return nested(shape, (i) => Math.round(((i * step) % 1) * 8192) / 1024 - 4);
}

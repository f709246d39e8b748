/** @file Images and filters for the cases of convolution ops, which would be too large to write out. */
import type { Nested } from '../../core/ndarray.ts';

/** A nested array of small whole numbers that repeat nowhere soon; `seed` makes another one. */
export function ramp(shape: readonly number[], seed = 0): Nested {
  let next = seed;
  const fill = (axis: number): Nested => {
    if (axis === shape.length) return ((next++ * 7 + (next >> 2) * 3 + seed) % 9) - 4;
    return Array.from({ length: shape[axis]! }, () => fill(axis + 1));
  };
  return fill(0);
}

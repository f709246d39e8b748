/** @file Pairs the elements of two broadcast host arrays, for the ops on strings. */
import type { NDArray } from '../../core/ndarray.ts';
import { broadcastConcrete, type Shape, sizeOf, stridesOf } from '../../core/shape.ts';

/** The shape two arrays broadcast to, and a loop over the positions of their elements in it. */
export function hostBroadcast(
  x: NDArray,
  y: NDArray,
): { shape: Shape; pairs: <R>(of: (i: number, j: number) => R) => R[] } {
  const shape = broadcastConcrete(x.shape, y.shape);
  const steps = stridesOf(shape);
  const positions = (a: NDArray) => {
    const strides = stridesOf(a.shape);
    const lead = shape.length - a.rank;
    const moves = shape.map((_, axis) => (axis < lead || a.shape[axis - lead] === 1 ? 0 : strides[axis - lead]!));
    return (at: number) =>
      moves.reduce((sum, move, axis) => sum + move * (Math.floor(at / steps[axis]!) % shape[axis]!), 0);
  };
  const [inX, inY] = [positions(x), positions(y)];
  return { shape, pairs: (of) => Array.from({ length: sizeOf(shape) }, (_, at) => of(inX(at), inY(at))) };
}

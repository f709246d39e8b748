/** @file Pairs the elements of two broadcast host arrays, for the ops on strings. */
import { eachInTurns } from '../../core/eventLoop.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { broadcastConcrete, type Shape, sameShape, sizeOf, stridesOf } from '../../core/shape.ts';

/** The shape two arrays broadcast to, and a loop over the positions of their elements in it. */
export function hostBroadcast(
  x: NDArray,
  y: NDArray,
): { shape: Shape; pairs: <R>(of: (i: number, j: number) => R) => Promise<R[]> } {
  const shape = broadcastConcrete(x.shape, y.shape);
  const steps = stridesOf(shape);
  const positions = (a: NDArray): ((at: number) => number) => {
    if (sameShape(a.shape, shape)) return (at) => at;
    const strides = stridesOf(a.shape);
    const lead = shape.length - a.rank;
    const moves = shape.map((_, axis) => (axis < lead || a.shape[axis - lead] === 1 ? 0 : strides[axis - lead]!));
    return (at: number) =>
      moves.reduce((sum, move, axis) => sum + move * (Math.floor(at / steps[axis]!) % shape[axis]!), 0);
  };
  const [inX, inY] = [positions(x), positions(y)];
  const pairs = async <R>(of: (i: number, j: number) => R): Promise<R[]> => {
    const results = new Array<R>(sizeOf(shape));
    const pair = (at: number) => {
      results[at] = of(inX(at), inY(at));
    };
    await eachInTurns(results.length, pair, 64);
    return results;
  };
  return { shape, pairs };
}

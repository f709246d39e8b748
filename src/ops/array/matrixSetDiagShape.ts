/** @file The shape of the diagonal that MatrixSetDiag replaced, for its gradient. */
import { type Dims, isFullyDefined, mergeShapes } from '../../core/shape.ts';
import { colocateWith } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { concat } from './concat.ts';
import { allDimensions, min, sub } from './neighbours.ts';
import { rank, shape } from './shape.ts';
import { slice } from './slice.ts';

/** Known sizes as numbers; otherwise nodes that compute them. */
export function setDiagShape(input: Tensor, diagonal: Tensor, dy: Tensor): TensorLike {
  const whole = mergeShapes(input.shape, dy.shape);
  const batch: Dims = whole && mergeShapes(whole.slice(0, -2), diagonal.shape?.slice(0, -1) ?? null);
  const matrix = whole?.slice(-2) ?? null;
  if (batch !== null && isFullyDefined(batch) && isFullyDefined(matrix)) return [...batch, Math.min(...matrix)];
  return colocateWith(dy, () => {
    const sizes = shape(dy);
    const axes = rank(dy);
    const lead = slice(sizes, [0], [sub(axes, 2)]);
    const tail = slice(sizes, [sub(axes, 2)], [2]);
    return concat([lead, [min(tail, allDimensions(tail))]], 0);
  });
}

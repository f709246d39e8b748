/** @file hessians(): second derivatives of a sum with respect to each tensor, as one array. */

import { isFullyDefined, showShape, sizeOf } from '../core/shape.ts';
import { Tensor, type TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { concat, reshape, slice } from '../ops/array/index.ts';
import { type GradientsOptions, gradients } from './gradients.ts';

export type HessiansOptions = Pick<
  GradientsOptions,
  'name' | 'colocateGradientsWithOps' | 'gateGradients' | 'aggregationMethod'
>;

/**
 * The Hessian of the sum of `ys` with respect to each x: shape `[...x.shape, ...x.shape]`. The shape of each x must be
 * known, because one backward pass per element is added to the graph.
 *
 * @example tf.hessians(tf.reduceSum(tf.square(x)), [x]) // for x of shape [2] runs to [[[2. 0.] [0. 2.]]]
 */
export function hessians(
  ys: TensorLike | readonly TensorLike[],
  xs: Tensor | readonly Tensor[],
  options: HessiansOptions = {},
): Tensor[] {
  const list = xs instanceof Tensor ? [xs] : xs;
  const { name: _scope, ...rest } = options;
  return gradients(ys, list, rest).map((gradient, i) => {
    const x = list[i]!;
    if (gradient === null) throw userError(`ys do not depend on ${x}, so there is no Hessian`);
    if (!isFullyDefined(x.shape))
      throw userError(
        `hessians adds one backward pass per element of x, so its shape must be known, but ${x.name} is ${showShape(x.shape)}. Use setShape.`,
      );
    const flat = reshape(convertToTensor(gradient), [-1]);
    const size = sizeOf(x.shape);
    const rows = Array.from({ length: size }, (_, j) => {
      const [row] = gradients(slice(flat, [j], [1]), x, { ...rest, unconnectedGradients: 'zero' });
      return reshape(convertToTensor(row!), [1, -1]);
    });
    return reshape(rows.length === 1 ? rows[0]! : concat(rows, 0), [...x.shape, ...x.shape]);
  });
}

/** @file hessians(): second derivatives of a sum with respect to each tensor; a loop computes one row after the other. */
import { type GradientsOptions, gradients } from '../autodiff/gradients.ts';
import { fromOnePlace } from '../graph/graph.ts';
import { onlyOptions } from '../graph/options.ts';
import { Tensor, type TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import type { Gradient } from '../op/registry.ts';
import { getItem } from '../ops/array/getItem.ts';
import { concat, constant, reshape, shape, size } from '../ops/array/index.ts';
import { less } from '../ops/math/compare.ts';
import { plus } from '../ops/math/operators.ts';
import { TensorArray, whileLoop } from './controlFlow/index.ts';

export type HessiansOptions = Pick<
  GradientsOptions,
  'name' | 'colocateGradientsWithOps' | 'gateGradients' | 'aggregationMethod'
>;

/**
 * The Hessian of the sum of `ys` with respect to each x: shape `[...x.shape, ...x.shape]`. Adds one `While` node per x.
 *
 * @example tf.hessians(tf.reduceSum(tf.square(x)), [x]) // for x of shape [2] runs to [[[2. 0.] [0. 2.]]]
 */
export function hessians(
  ys: TensorLike | readonly TensorLike[],
  xs: Tensor | readonly Tensor[],
  options: HessiansOptions = {},
): Tensor[] {
  const { name: _unused, ...rest } = onlyOptions(
    'tf.hessians',
    options,
    'name',
    'colocateGradientsWithOps',
    'gateGradients',
    'aggregationMethod',
  );
  const list = xs instanceof Tensor ? [xs] : xs;
  return fromOnePlace(() => gradients(ys, list, rest).map((gradient, i) => hessian(gradient, list[i]!)));
}

function hessian(gradient: Gradient | null, x: Tensor): Tensor {
  if (gradient === null) throw userError(`ys do not depend on ${x}, so there is no Hessian`);
  const slopes = reshape(convertToTensor(gradient), [-1]);
  const count = size(x);
  const row = (i: Tensor): Tensor => {
    const [second] = gradients(getItem(slopes, [i]), x, { unconnectedGradients: 'zero' });
    return convertToTensor(second!);
  };
  const [, rows] = whileLoop(
    (i) => less(i, count),
    (i, rows) => [plus(i, 1), rows.write(i, row(i))],
    [constant(0), new TensorArray(x.dtype, { size: count })],
  );
  const dims = shape(x);
  return reshape(rows.stack(), concat([dims, dims], 0));
}

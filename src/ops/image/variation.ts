/** @file How images change from pixel to pixel. */
import { showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { concat } from '../array/concat.ts';
import { zeros } from '../array/fill.ts';
import { getItem } from '../array/getItem.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { stack, unstack } from '../array/stack.ts';
import { abs } from '../math/index.ts';
import { minus, plus } from '../math/operators.ts';
import { reduceSum } from '../math/reductions.ts';

/**
 * The sum of the absolute differences between neighbouring pixels, per image of a batch. Adds nodes under
 * `total_variation/`.
 *
 * @example tf.image.totalVariation(tf.constant([[[1], [3], [2.5]]])) // runs to 2.5
 */
export function totalVariation(images: Tensor, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.image.totalVariation', options, 'name');
  return nameScope(options.name ?? 'total_variation', () => {
    const rank = images.shape?.length;
    if (rank !== 3 && rank !== 4)
      throw userError(`'images' must be either 3 or 4-dimensional, but is ${showShape(images.shape)}.`);
    const lead = rank === 4 ? ':, ' : '';
    const rows = minus(getItem(images, `${lead}1:, :, :`), getItem(images, `${lead}:-1, :, :`));
    const columns = minus(getItem(images, `${lead}:, 1:, :`), getItem(images, `${lead}:, :-1, :`));
    const axes = rank === 4 ? [1, 2, 3] : null;
    return plus(reduceSum(abs(rows), axes), reduceSum(abs(columns), axes));
  });
}

/**
 * The differences to the next row and to the next column, zero at the last ones. Adds `StridedSlice`, `Sub`, `ConcatV2`
 * and `Reshape` nodes.
 *
 * @example const [dy, dx] = tf.image.imageGradients(images)
 */
export function imageGradients(image: Tensor): readonly [dy: Tensor, dx: Tensor] {
  if (image.shape?.length !== 4)
    throw userError(`image_gradients expects a 4D tensor [batch_size, h, w, d], not ${showShape(image.shape)}.`);
  const whole = shape(image);
  const [batch, height, width, depth] = unstack(whole) as [Tensor, Tensor, Tensor, Tensor]; // rank 4
  const rows = minus(getItem(image, ':, 1:, :, :'), getItem(image, ':, :-1, :, :'));
  const columns = minus(getItem(image, ':, :, 1:, :'), getItem(image, ':, :, :-1, :'));
  const lastRow = stack([batch, 1, width, depth]);
  const dy = reshape(concat([rows, zeros(lastRow, image.dtype)], 1), whole);
  const lastColumn = stack([batch, height, 1, depth]);
  const dx = reshape(concat([columns, zeros(lastColumn, image.dtype)], 2), whole);
  return [dy, dx];
}

/** @file `collapseRepeated`: labels without those that repeat the one before them. */
import { bool, int32 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { booleanMask, sequenceMask } from '../array/booleanMask.ts';
import type { Named } from '../array/common.ts';
import { concat } from '../array/concat.ts';
import { expandDims } from '../array/expandDims.ts';
import { getItem } from '../array/getItem.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { scatterNd } from '../array/scatterNd.ts';
import { shape } from '../array/shape.ts';
import { cast } from '../math/cast.ts';
import { notEqual } from '../math/compare.ts';
import { logicalAnd } from '../math/logical.ts';
import { reduceMax, reduceSum } from '../math/reductions.ts';
import { onesLike } from '../math/zerosLike.ts';

/** A size: the number where it is known, else a node that tells it. */
const sizeAlong = (x: Tensor, axis: number): number | Tensor => x.shape?.[axis] ?? getItem(shape(x), [axis]);

/**
 * Rows of labels without those that repeat the one before them, and the new lengths. Adds nodes under
 * `collapse_repeated_labels/`.
 *
 * @example tf.nn.collapseRepeated([[1, 1, 2, 2, 1], [3, 3, 3, 0, 0]], [5, 3])[0] // runs to [[1 2 1] [3 0 0]]
 */
export function collapseRepeated(labels: TensorLike, seqLength: TensorLike, options: Named = {}): [Tensor, Tensor] {
  const { name } = onlyOptions('tf.nn.collapseRepeated', options, 'name');
  return nameScope(name ?? 'collapse_repeated_labels', () => {
    const x = convertToTensor(labels, { name: 'labels' });
    const lengths = convertToTensor(seqLength, { name: 'seq_length' });
    const first = onesLike(getItem(x, [':', ':1']), { dtype: bool });
    const isNew = concat([first, notEqual(getItem(x, [':', '1:']), getItem(x, [':', ':-1']))], 1);
    const kept = logicalAnd(isNew, sequenceMask(lengths, { maxlen: sizeAlong(x, 1) }));
    const newLengths = reduceSum(cast(kept, int32), 1);
    const longest = reduceMax(newLengths);
    const places = reshape(sequenceMask(newLengths, { maxlen: longest }), [-1]);
    const flatLabels = reshape(x, [-1]);
    const flatKept = reshape(kept, [-1]);
    const targets = expandDims(booleanMask(range(sizeAlong(places, 0)), places), 1);
    const flat = scatterNd(targets, booleanMask(flatLabels, flatKept), shape(places));
    return [reshape(flat, [sizeAlong(x, 0), longest]), cast(newLengths, lengths.dtype)];
  });
}

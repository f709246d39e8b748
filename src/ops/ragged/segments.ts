/** @file Row splits as the row of each value, and back. */
import { int32, int64 } from '../../core/dtypes.ts';
import { intVector } from '../../core/ndarray.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat } from '../array/concat.ts';
import { getItem } from '../array/getItem.ts';
import { range } from '../array/range.ts';
import { repeat } from '../array/repeat.ts';
import { shape } from '../array/shape.ts';
import { bincount } from '../math/bincount.ts';
import { cast } from '../math/cast.ts';
import { cumsum } from '../math/cumulative.ts';

/**
 * The row of each value, from where the rows begin. Adds nodes under `RaggedSplitsToSegmentIds/`.
 *
 * @example tf.ragged.rowSplitsToSegmentIds([0, 2, 2, 3]) // runs to [0 0 2]
 */
export function splitsToSegmentIds(splits: TensorLike, options: { readonly name?: string } = {}): Tensor {
  return nameScope(options.name ?? 'RaggedSplitsToSegmentIds', () => {
    const ends = convertToTensor(splits, { hint: int64, name: 'splits' });
    const lengths = getItem(ends, [[1]]).sub(getItem(ends, [[null, -1]]));
    const rows = getItem(shape(ends, { outType: ends.dtype }), [-1]).sub(1);
    return repeat(range(rows), lengths, { axis: 0 });
  });
}

/**
 * Where rows begin, from the row of each value; these are sorted. Adds nodes under `SegmentIdsToRaggedSplits/`.
 *
 * @example tf.ragged.segmentIdsToRowSplits([0, 0, 2]) // runs to [0 2 2 3]
 */
export function segmentIdsToSplits(
  segmentIds: TensorLike,
  options: { readonly numSegments?: TensorLike; readonly name?: string } = {},
): Tensor {
  return nameScope(options.name ?? 'SegmentIdsToRaggedSplits', () => {
    const ids = cast(convertToTensor(segmentIds, { name: 'segment_ids' }), int32);
    const bounds =
      options.numSegments === undefined
        ? {}
        : { minlength: cast(options.numSegments, int32), maxlength: cast(options.numSegments, int32) };
    const lengths = bincount(ids, { ...bounds, dtype: int64 });
    return concat([intVector([0], int64), cumsum(lengths)], 0);
  });
}

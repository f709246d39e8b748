/** @file The segment ops as functions. */
import { intVector } from '../../core/ndarray.ts';
import { isFullyDefined } from '../../core/shape.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { concat } from '../array/concat.ts';
import { ones } from '../array/fill.ts';
import { getItem, newaxis } from '../array/getItem.ts';
import { reshape } from '../array/reshape.ts';
import { rank, shape } from '../array/shape.ts';
import { Maximum } from './maximum.ts';
import { minus, over } from './operators.ts';
import * as ops from './segmentOps.ts';
import * as sparse from './sparseSegments.ts';
import { sqrt } from './sqrt.ts';
import * as unsortedOps from './unsortedSegmentOps.ts';

interface NameOption {
  readonly name?: string | undefined;
}
/** `f(data, segmentIds, { name })`: one number per segment and column. */
export type SegmentFunction = (data: TensorLike, segmentIds: TensorLike, options?: NameOption) => Tensor;
/** `f(data, segmentIds, numSegments, { name })`; rows with negative numbers are left out. */
export type UnsortedFunction = (
  data: TensorLike,
  segmentIds: TensorLike,
  numSegments: TensorLike,
  options?: NameOption,
) => Tensor;
/** `f(data, indices, segmentIds, { name })`: folds the rows that `indices` picks. */
export type SparseSegmentFunction = (
  data: TensorLike,
  indices: TensorLike,
  segmentIds: TensorLike,
  options?: SparseSegmentOptions,
) => Tensor;

interface SparseSegmentOptions extends NameOption {
  /** The gradient is indexed slices of the rows picked, not a tensor as large as `data`. */
  readonly sparseGradient?: boolean | undefined;
}

function sorted(op: ops.SegmentOp): SegmentFunction {
  return (data, segment_ids, options = {}) => op.build({ data, segment_ids }, options).output;
}
function unsorted(op: unsortedOps.UnsortedOp): UnsortedFunction {
  return (data, segment_ids, num_segments, options = {}) =>
    op.build({ data, segment_ids, num_segments }, options).output;
}
function picked(op: typeof sparse.SparseSegmentSum): SparseSegmentFunction {
  return (data, indices, segment_ids, { sparseGradient = false, ...options } = {}) =>
    op.build({ data, indices, segment_ids }, { ...options, attrs: { sparse_gradient: sparseGradient } }).output;
}

/**
 * Sums of the rows of each segment; numbers must not fall. Adds one `SegmentSum` node.
 *
 * @example tf.segmentSum([1, 2, 3, 4], [0, 0, 1, 1]) // runs to [3 7]
 */
export const segmentSum: SegmentFunction = sorted(ops.SegmentSum);
/**
 * Means of the rows of each segment. Adds one `SegmentMean` node.
 *
 * @example tf.segmentMean([1.5, 2.5, 3.5], [0, 0, 1]) // runs to [2.  3.5]
 */
export const segmentMean: SegmentFunction = sorted(ops.SegmentMean);
/**
 * The largest of each segment. Adds one `SegmentMax` node.
 *
 * @example tf.segmentMax([1, 2, 3, 4], [0, 0, 1, 1]) // runs to [2 4]
 */
export const segmentMax: SegmentFunction = sorted(ops.SegmentMax);
/**
 * The smallest of each segment. Adds one `SegmentMin` node.
 *
 * @example tf.segmentMin([1, 2, 3, 4], [0, 0, 1, 1]) // runs to [1 3]
 */
export const segmentMin: SegmentFunction = sorted(ops.SegmentMin);
/**
 * Products of the rows of each segment. Adds one `SegmentProd` node.
 *
 * @example tf.segmentProd([1, 2, 3, 4], [0, 0, 1, 1]) // runs to [ 2 12]
 */
export const segmentProd: SegmentFunction = sorted(ops.SegmentProd);

/**
 * Sums of the rows of each segment, in any order. Adds one `UnsortedSegmentSum` node.
 *
 * @example tf.unsortedSegmentSum([1, 2, 3], [1, 0, 1], 3) // runs to [2 4 0]
 */
export const unsortedSegmentSum: UnsortedFunction = unsorted(unsortedOps.UnsortedSegmentSum);
/**
 * The largest of each segment, in any order. Adds one `UnsortedSegmentMax` node.
 *
 * @example tf.unsortedSegmentMax([1, 2, 3], [1, 0, 1], 2) // runs to [2 3]
 */
export const unsortedSegmentMax: UnsortedFunction = unsorted(unsortedOps.UnsortedSegmentMax);
/**
 * The smallest of each segment, in any order. Adds one `UnsortedSegmentMin` node.
 *
 * @example tf.unsortedSegmentMin([1, 2, 3], [1, 0, 1], 2) // runs to [2 1]
 */
export const unsortedSegmentMin: UnsortedFunction = unsorted(unsortedOps.UnsortedSegmentMin);
/**
 * Products of the rows of each segment, in any order. Adds one `UnsortedSegmentProd` node.
 *
 * @example tf.unsortedSegmentProd([1, 2, 3], [1, 0, 1], 3) // runs to [2 3 1]
 */
export const unsortedSegmentProd: UnsortedFunction = unsorted(unsortedOps.UnsortedSegmentProd);

/** The shape as Python's `ones` gets it here: a constant under another name when it is known. */
function shapeAsTensor(x: Tensor): Tensor {
  const dims = x.shape;
  if (!isFullyDefined(dims)) return shape(x);
  return nameScope('Shape', () => constantNode(intVector(dims), 'shape_as_tensor'));
}

/** How many rows each segment has, at least 1, in a shape that divides the rows of `data`. */
function rowCounts(data: Tensor, ids: Tensor, numSegments: TensorLike): Tensor {
  const segments = convertToTensor(numSegments);
  const counted = ones(shapeAsTensor(ids), { dtype: data.dtype });
  const n = unsortedOps.UnsortedSegmentSum.build({ data: counted, segment_ids: ids, num_segments: segments }).output;
  const lead = getItem(segments, [newaxis]);
  const rest = ones([minus(rank(data), rank(ids))], { dtype: segments.dtype });
  return Maximum.build({ x: reshape(n, concat([lead, rest], 0)), y: 1 }).z;
}

/**
 * Means of the rows of each segment, in any order; 0 for empty segments. Adds nodes under `UnsortedSegmentMean/`.
 *
 * @example tf.unsortedSegmentMean([1.5, 2.5, 3.5], [1, 0, 1], 3) // runs to [2.5 2.5 0. ]
 */
export const unsortedSegmentMean: UnsortedFunction = (data, segmentIds, numSegments, options = {}) =>
  nameScope(options.name ?? 'UnsortedSegmentMean', () => {
    const x = convertToTensor(data);
    const ids = convertToTensor(segmentIds);
    const counts = rowCounts(x, ids, numSegments);
    const total = unsortedOps.UnsortedSegmentSum.build({ data: x, segment_ids: ids, num_segments: numSegments }).output;
    return over(total, counts);
  });

/**
 * Sums of the rows of each segment divided by the root of their number. Adds nodes under `UnsortedSegmentSqrtN/`.
 *
 * @example tf.unsortedSegmentSqrtN([1.5, 2.5, 3.5], [0, 0, 0], 1) // runs to [4.3301272]
 */
export const unsortedSegmentSqrtN: UnsortedFunction = (data, segmentIds, numSegments, options = {}) =>
  nameScope(options.name ?? 'UnsortedSegmentSqrtN', () => {
    const x = convertToTensor(data);
    const ids = convertToTensor(segmentIds);
    const counts = rowCounts(x, ids, numSegments);
    const total = unsortedOps.UnsortedSegmentSum.build({ data: x, segment_ids: ids, num_segments: numSegments }).output;
    return over(total, sqrt(counts));
  });

/**
 * Sums of picked rows by segment. Adds one `SparseSegmentSum` node.
 *
 * @example tf.sparseSegmentSum([[1], [2], [3]], [0, 2], [0, 0]) // runs to [[4]]
 */
export const sparseSegmentSum: SparseSegmentFunction = picked(sparse.SparseSegmentSum);
/**
 * Means of picked rows by segment. Adds one `SparseSegmentMean` node.
 *
 * @example tf.sparseSegmentMean([[1.5], [2], [3]], [0, 2], [0, 0]) // runs to [[2.25]]
 */
export const sparseSegmentMean: SparseSegmentFunction = picked(sparse.SparseSegmentMean);
/**
 * Sums of picked rows by segment, divided by the root of their number. Adds one `SparseSegmentSqrtN` node.
 *
 * @example tf.sparseSegmentSqrtN([[1.5], [2], [2.5]], [0, 2], [0, 0]) // runs to [[2.828427]]
 */
export const sparseSegmentSqrtN: SparseSegmentFunction = picked(sparse.SparseSegmentSqrtN);

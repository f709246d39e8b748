/** @file bucketBySequenceLength: batches of elements of similar length. */
import { int32, int64 } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import { TensorShape } from '../../core/tensorShape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { stridedSlice } from '../../ops/array/stridedSlice.ts';
import { assertLess } from '../../ops/flow/checkOps.ts';
import { less, lessEqual } from '../../ops/math/compare.ts';
import { logicalAnd } from '../../ops/math/logical.ts';
import { minus, plus } from '../../ops/math/operators.ts';
import { reduceMin } from '../../ops/math/reductions.ts';
import { where } from '../../ops/math/select.ts';
import { mapStructure } from '../nest.ts';
import type { Dataset } from './dataset.ts';
import * as elementwise from './elementwise.ts';
import type { OfArguments, Transformation } from './experimental.ts';
import type { Component } from './spec.ts';

export interface BucketOptions {
  /** As in `paddedBatch`. */
  readonly paddedShapes?: unknown;
  readonly paddingValues?: unknown;
  /** Pads to one less than the upper boundary of the bucket, not only to the longest element of the batch. */
  readonly padToBucketBoundary?: boolean | undefined;
  readonly noPadding?: boolean | undefined;
  readonly dropRemainder?: boolean | undefined;
}

/**
 * Batches of elements of similar length, so that little is padded. Adds `GroupByWindowDataset`.
 *
 * @example dataset.apply(tf.data.experimental.bucketBySequenceLength((x) => tf.size(x), [10, 20], [32, 16, 8]))
 */
export function bucketBySequenceLength<A extends readonly unknown[]>(
  elementLengthFunc: (...args: A) => TensorLike,
  bucketBoundaries: readonly number[],
  bucketBatchSizes: readonly number[],
  options: BucketOptions = {},
): Transformation<OfArguments<A>, OfArguments<A>> {
  const {
    paddedShapes,
    paddingValues,
    padToBucketBoundary = false,
    noPadding = false,
    dropRemainder = false,
  } = onlyOptions(
    'bucketBySequenceLength',
    options,
    'paddedShapes',
    'paddingValues',
    'padToBucketBoundary',
    'noPadding',
    'dropRemainder',
  );
  if (bucketBatchSizes.length !== bucketBoundaries.length + 1)
    throw userError('There must be one more bucketBatchSizes than bucketBoundaries.');
  return (dataset) => {
    const sizes = convertToTensor(bucketBatchSizes, { dtype: int64 });
    const sizeOf = (bucket: Tensor) => pick(sizes, bucket);
    const key = (...args: A) => {
      const length = convertToTensor(elementLengthFunc(...args), { hint: int32 });
      const low = lessEqual([-(2 ** 31), ...bucketBoundaries], length);
      const high = less(length, [...bucketBoundaries, 2 ** 31 - 1]);
      return reduceMin(where(logicalAnd(low, high)));
    };
    const reduce = (bucket: Tensor, group: Dataset) => {
      const size = sizeOf(bucket);
      if (noPadding) return group.batch(size, { dropRemainder });
      const shapes = padToBucketBoundary
        ? boundaryShapes(group, paddedShapes, lengthWithin(bucket, bucketBoundaries))
        : paddedShapes;
      return group.paddedBatch(size, { paddedShapes: shapes, paddingValues, dropRemainder });
    };
    return elementwise.groupByWindow(dataset, { key, reduce, size: sizeOf }, {}) as Dataset<OfArguments<A>>; // batches of its elements
  };
}

/** The greatest length in a bucket; fails in the last one, which has no upper boundary. */
function lengthWithin(bucket: Tensor, boundaries: readonly number[]): Tensor {
  const last = convertToTensor(boundaries.length, { dtype: int64 });
  const message = 'When padToBucketBoundary is true, elements must have length < max(bucketBoundaries).';
  return controlDependencies([assertLess(bucket, last, { message })], () =>
    minus(pick(convertToTensor(boundaries, { dtype: int64 }), bucket), 1),
  );
}

/** The shapes of elements with a length in place of every size that is not known. */
function boundaryShapes(group: Dataset, given: unknown, length: Tensor): unknown {
  const filled = (shape: Dims) => shape?.map((size) => size ?? length) ?? null;
  if (given !== undefined) return shapesIn(given, filled);
  return mapStructure((component: Component) => filled(component.shape), group.elementSpec);
}

/** A structure of shapes with each of them changed; a shape is an array of sizes. */
function shapesIn(given: unknown, change: (shape: Dims) => unknown): unknown {
  if (given instanceof TensorShape) return change(given.dims);
  if (given === null || given instanceof Tensor) return given;
  if (Array.isArray(given))
    return given.every((size) => size === null || typeof size === 'number')
      ? change(given)
      : given.map((part) => shapesIn(part, change));
  return Object.fromEntries(Object.entries(given as object).map(([key, part]) => [key, shapesIn(part, change)]));
}

/** One element of a vector. */
function pick(vector: Tensor, index: Tensor): Tensor {
  const one = plus(index, 1);
  return stridedSlice(vector, [index], [one], [convertToTensor(1, { dtype: int64 })], { shrinkAxisMask: 1 });
}

/** @file Gradients of the segment ops, node for node as TensorFlow's Python builds them. */
import { bool, int32 } from '../../core/dtypes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import type { Gradient } from '../../op/registry.ts';
import { concat } from '../array/concat.ts';
import { expandDims } from '../array/expandDims.ts';
import { ones } from '../array/fill.ts';
import { gather } from '../array/gather.ts';
import { reshape } from '../array/reshape.ts';
import { rank, shape } from '../array/shape.ts';
import { cast } from './cast.ts';
import { equal, greater, greaterEqual } from './compare.ts';
import { bothOf, logicalAnd } from './logical.ts';
import { maximum } from './maximum.ts';
import { minus, over, times } from './operators.ts';
import { SegmentProd, SegmentSum } from './segmentOps.ts';
import { whereV2 } from './select.ts';
import { UnsortedSegmentProd, UnsortedSegmentSum } from './unsortedSegmentOps.ts';
import { onesLike, zerosLike } from './zerosLike.ts';

interface Node {
  readonly data: Tensor;
  readonly ids: Tensor;
  readonly output: Tensor;
}
interface UnsortedNode extends Node {
  readonly segments: Tensor;
}

const segmentSum = (data: TensorLike, segment_ids: Tensor) => SegmentSum.build({ data, segment_ids }).output;

export function segmentSumGradient({ ids }: Node, dy: Gradient): Tensor {
  return gather(dy, ids);
}

export function segmentMeanGradient({ data, ids }: Node, dy: Gradient): Tensor {
  const dataRank = rank(data);
  const idsShape = shape(ids);
  const rest = ones(expandDims(minus(dataRank, 1), 0), { dtype: idsShape.dtype });
  const counted = ones(concat([idsShape, rest], 0), { dtype: dy.dtype });
  return gather(over(dy, segmentSum(counted, ids)), ids);
}

/** Equal extremes of a segment share its gradient evenly. */
export function segmentExtremeGradient({ data, ids, output }: Node, dy: Gradient): Tensor {
  const zeros = zerosLike(data, { dtype: data.dtype });
  const gathered = gather(output, ids);
  const selected = equal(data, gathered);
  const count = segmentSum(cast(selected, dy.dtype), ids);
  return whereV2(selected, gather(over(dy, count), ids), zeros);
}

/** Dividing the product by each factor fails at zeros, so these are told apart by how many a segment has. */
export function segmentProdGradient({ data, ids, output }: Node, given: Gradient): Tensor {
  let dy = given;
  const isZero = equal(data, 0);
  const zeroCount = segmentSum(cast(isZero, int32), ids);
  dy = whereV2(greater(zeroCount, 1), zerosLike(dy), dy);
  const nonZero = whereV2(isZero, onesLike(data), data);
  const nonZeroProduct = SegmentProd.build({ data: nonZero, segment_ids: ids }).output;
  const product = gather(output, ids);
  const rest = gather(nonZeroProduct, ids);
  const quotient = over(product, nonZero);
  const partial = whereV2(isZero, rest, quotient);
  return times(gather(dy, ids), partial);
}

/** Rows of `params` by segment number, zeros for negative numbers; with what may be used again. */
function gatherDroppingNegatives(
  params: TensorLike,
  ids: Tensor | null,
  given: { clipped?: Tensor; positive?: Tensor } = {},
): { rows: Tensor; clipped: Tensor; positive: Tensor } {
  const clipped = given.clipped ?? maximum(ids!, zerosLike(ids!)); // ids are only left out when both are given
  const gathered = gather(params, clipped);
  let { positive } = given;
  if (!positive) {
    const flags = greaterEqual(ids!, 0); // as above
    const flagsShape = shape(flags);
    const missing = ones([minus(rank(gathered), rank(flags))], { dtype: flagsShape.dtype });
    const column = reshape(flags, concat([flagsShape, missing], 0));
    positive = bothOf(column, onesLike(gathered, { dtype: bool }));
  }
  const zeros = zerosLike(gathered);
  return { rows: whereV2(positive, gathered, zeros), clipped, positive };
}

export function unsortedSumGradient({ ids }: UnsortedNode, dy: Gradient): Tensor {
  return gatherDroppingNegatives(dy, ids).rows;
}

export function unsortedExtremeGradient({ data, ids, segments, output }: UnsortedNode, dy: Gradient): Tensor {
  const { rows, clipped, positive } = gatherDroppingNegatives(output, ids);
  const selected = logicalAnd(equal(data, rows), positive);
  const count = UnsortedSegmentSum.build({
    data: cast(selected, dy.dtype),
    segment_ids: ids,
    num_segments: segments,
  }).output;
  const gathered = gatherDroppingNegatives(over(dy, count), null, { clipped, positive }).rows;
  const zeros = zerosLike(gathered);
  return whereV2(selected, gathered, zeros);
}

export function unsortedProdGradient({ data, ids, segments, output }: UnsortedNode, given: Gradient): Tensor {
  let dy = given;
  const isZero = equal(data, 0);
  const zeroCount = UnsortedSegmentSum.build({
    data: cast(isZero, int32),
    segment_ids: ids,
    num_segments: segments,
  }).output;
  dy = whereV2(greater(zeroCount, 1), zerosLike(dy), dy);
  const nonZero = whereV2(isZero, onesLike(data), data);
  const nonZeroProduct = UnsortedSegmentProd.build({ data: nonZero, segment_ids: ids, num_segments: segments }).output;
  const clipped = maximum(ids, zerosLike(ids));
  const product = gather(output, clipped);
  const rest = gather(nonZeroProduct, clipped);
  const quotient = over(product, data);
  const partial = whereV2(isZero, rest, quotient);
  return times(gatherDroppingNegatives(dy, ids, { clipped }).rows, partial);
}

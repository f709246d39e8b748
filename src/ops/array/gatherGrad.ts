/** @file The gradient of GatherV2 along an axis other than 0, or with batch axes. */
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { concat } from './concat.ts';
import { expandDims } from './expandDims.ts';
import { ones, zeros } from './fill.ts';
import { gather } from './gather.ts';
import { getItem } from './getItem.ts';
import { add, cast, mul, prod, sub, unsortedSegmentSum } from './neighbours.ts';
import { range } from './range.ts';
import { reshape } from './reshape.ts';
import { rank, shape, size } from './shape.ts';
import { tile } from './tile.ts';
import { transpose } from './transpose.ts';

export interface GatherGradient {
  readonly params: Tensor;
  /** The shape of `params`, as a tensor. */
  readonly whole: Tensor;
  readonly indices: Tensor;
  readonly axis: Tensor;
  /** How many leading axes go together. */
  readonly batch: number;
  readonly dy: Tensor;
}

/** Moves the gathered axis right behind the batch axes, adds up what was picked there, and moves it back. */
export function gatherAxisGradient({ params, whole, indices, axis, batch, dy }: GatherGradient): Tensor {
  const outerShape = getItem(whole, [[null, axis]]);
  const innerShape = getItem(getItem(whole, [[axis]]), '1:');
  const valuesShape = concat([outerShape, [-1], innerShape], 0);
  const valueAxes = size(valuesShape);
  const outerAxes = size(outerShape);
  const batchAxes = range(batch);
  const middleAxes = range(batch, outerAxes);
  const innerAxes = range(add(outerAxes, 1), valueAxes);
  const values = reshape(dy, valuesShape);
  const order = concat([batchAxes, [outerAxes], middleAxes, innerAxes], 0);
  const moved = transpose(values, order);
  const movedShape = gather(whole, order);
  const summed = sumPicked(movedShape, moved, indices, batch, getItem(whole, [axis]));
  const back = concat([batchAxes, add(middleAxes, 1), [batch], innerAxes], 0);
  return reshape(transpose(summed, back), shape(params));
}

function sumPicked(whole: Tensor, values: Tensor, indices: Tensor, batch: number, rows: Tensor): Tensor {
  const count = expandDims(size(indices), 0);
  if (batch === 0) return unsortedSegmentSum(values, reshape(indices, count), rows);
  const valuesShape = shape(values);
  const outer = getItem(valuesShape, [[null, batch]]);
  const inner = getItem(getItem(valuesShape, [[batch]]), '1:');
  const batchSize = prod(outer, [0]);
  const flatShape = concat([[-1], inner], 0);
  const allRows = mul(rows, batchSize);
  const flatIndices = withBatchOffsets(whole, indices, batch);
  const flatValues = reshape(values, flatShape);
  const summed = unsortedSegmentSum(flatValues, reshape(flatIndices, count), allRows);
  return reshape(summed, concat([outer, flatShape], 0));
}

/** Indices into params whose batch axes are flattened into the gathered one. */
function withBatchOffsets(whole: Tensor, indices: Tensor, batch: number): Tensor {
  const { dtype } = indices;
  const sizes = cast(whole, dtype);
  let step: Tensor = ones([], { dtype });
  let result = indices;
  for (let dim = batch; dim > 0; dim--) {
    const dimSize = getItem(sizes, [dim - 1]);
    step = mul(step, getItem(sizes, [dim]));
    const start = zeros([], { dtype });
    const one = ones([], { dtype });
    const offsets = mul(range(start, dimSize, one), step);
    const before: TensorLike = tile([1], [dim - 1]);
    const after = tile([1], [sub(rank(indices), dim)]);
    result = add(result, reshape(offsets, concat([before, [dimSize], after], 0)));
  }
  return result;
}

/** @file The conversion of sparse gradients (IndexedSlices) to dense ones. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { IndexedSlices, setDensify } from '../../graph/indexedSlices.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { partialValueOf } from '../../op/constantValue.ts';
import type { Gradient } from '../../op/registry.ts';
import { getItem } from './getItem.ts';
import { unsortedSegmentSum } from './neighbours.ts';

/** Sums the slices into a tensor of the dense shape; adds `strided_slice` and `UnsortedSegmentSum` nodes. */
function densify(slices: IndexedSlices, { name }: { name?: string | undefined } = {}): Tensor {
  if (!slices.denseShape)
    throw new InvalidArgumentError(
      `Tensor conversion requested for IndexedSlices without dense_shape: ${slices}. Give it a denseShape.`,
    );
  return unsortedSegmentSum(slices.values, slices.indices, getItem(slices.denseShape, [0]), name);
}

setDensify(densify, (denseShape) => partialValueOf(denseShape)?.map((d) => (d === null || d < 0 ? null : d)) ?? null);

/** The gradient as a tensor. */
export function denseGradient(dy: Gradient): Tensor {
  return dy instanceof IndexedSlices ? densify(dy) : dy;
}

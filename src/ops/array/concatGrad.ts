/** @file The gradient of a concatenation when it arrives as IndexedSlices. */
import { int32 } from '../../core/dtypes.ts';
import { scalar } from '../../core/ndarray.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { constantNode } from '../../op/convert.ts';
import { add as named } from '../math/add.ts';
import { concat } from './concat.ts';
import { expandDims } from './expandDims.ts';
import { zeros } from './fill.ts';
import { gather } from './gather.ts';
import { add, cast, greaterEqual, less, logicalAnd, mul, sub } from './neighbours.ts';
import { shape } from './shape.ts';
import { slice } from './slice.ts';
import { squeeze } from './squeeze.ts';
import { Where } from './where.ts';

/** The slices that belong to each input; `dim` is the axis as a tensor, `axis` the same as a number. */
export function concatSlicesGradient(
  values: readonly Tensor[],
  dim: Tensor,
  axis: number,
  dy: IndexedSlices,
): readonly IndexedSlices[] {
  const sizes = values.map((x) => shape(x));
  return axis > 0 ? alongColumns(sizes, dim, dy) : alongRows(sizes, dim, dy);
}

/** Every input has the same rows; columns are cut out of the values. */
function alongColumns(sizes: readonly Tensor[], dim: Tensor, dy: IndexedSlices): readonly IndexedSlices[] {
  const rank = shape(sizes[0]!);
  const mask = concat(
    [zeros(expandDims(dim, 0), { dtype: int32 }), [1], zeros(sub(sub(rank, dim), 1), { dtype: int32 })],
    0,
  );
  let begin: Tensor = zeros(rank, { dtype: int32 });
  return sizes.map((size) => {
    const values = slice(dy.values, begin, concat([[-1], slice(size, [1], [-1])], 0));
    const part = new IndexedSlices(values, dy.indices, size);
    begin = named(begin, mul(size, mask));
    return part;
  });
}

/** Each input owns a range of rows; slices are picked by their index. */
function alongRows(sizes: readonly Tensor[], dim: Tensor, dy: IndexedSlices): readonly IndexedSlices[] {
  let start = constantNode(scalar(dy.indices.dtype, 0));
  return sizes.map((size) => {
    const rows = cast(gather(size, dim), dy.indices.dtype);
    const end = add(start, rows);
    const inside = logicalAnd(greaterEqual(dy.indices, start), less(dy.indices, end));
    const chosen = squeeze(Where.build({ input: inside }).index, { axis: [1] });
    const indices = sub(gather(dy.indices, chosen), start);
    const part = new IndexedSlices(gather(dy.values, chosen), indices, size);
    start = end;
    return part;
  });
}

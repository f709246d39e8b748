/** @file Whether numbers that divide values into rows do that, checked when the graph runs. */
import type { Operation } from '../../graph/operation.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { getItem } from '../array/getItem.ts';
import { shape } from '../array/shape.ts';
import { assertEqual, assertLessEqual, assertNonNegative } from '../flow/checkOps.ts';
import { withDependencies } from '../flow/group.ts';
import { RaggedTensor } from '../ragged/raggedTensor.ts';

export type PartitionKind = 'rowSplits' | 'rowLengths' | 'rowStarts' | 'rowLimits' | 'valueRowIds';

const first = (x: Tensor) => getItem(x, [[null, 1]]);
const last = (x: Tensor) => getItem(x, [[-1]]);
const steps = (x: Tensor) => getItem(x, [[1]]).sub(getItem(x, [[null, -1]]));
const wrong = (maker: string, what = 'RaggedTensor') => ({
  message: `Arguments to ${maker} do not form a valid ${what}`,
});

/** How many rows or values there are, in the type of splits. */
export const countOf = (values: Tensor | RaggedTensor, like: Tensor): Tensor =>
  values instanceof RaggedTensor ? values.nrows() : getItem(shape(values, { outType: like.dtype }), [0]);

const checks: Record<PartitionKind, (numbers: Tensor, values: Tensor | RaggedTensor) => Operation[]> = {
  rowSplits: (splits) => [
    assertEqual(first(splits), 0, wrong('from_row_splits', 'RaggedTensor:zero')),
    assertNonNegative(steps(splits), wrong('from_row_splits', 'RaggedTensor:monotonic')),
  ],
  rowLengths: (lengths) => [assertNonNegative(lengths, wrong('from_row_lengths', 'RowPartition'))],
  rowStarts: (starts, values) => [
    assertEqual(first(starts), 0, wrong('from_row_starts')),
    assertNonNegative(steps(starts), wrong('from_row_starts')),
    assertLessEqual(last(starts), countOf(values, starts), wrong('from_row_starts')),
  ],
  rowLimits: (limits) => [
    assertNonNegative(first(limits), wrong('from_row_limits')),
    assertNonNegative(steps(limits), wrong('from_row_limits')),
  ],
  valueRowIds: (ids) => [
    assertNonNegative(first(ids), wrong('from_value_rowids', 'RowPartition')),
    assertNonNegative(steps(ids), wrong('from_value_rowids', 'RowPartition')),
  ],
};

/** The numbers, of which it is made sure that they divide values. */
export function checkedNumbers(kind: PartitionKind, numbers: Tensor, values: Tensor | RaggedTensor): Tensor {
  return withDependencies(checks[kind](numbers, values), numbers);
}

/** The rows, of which it is made sure that all values are in one. */
export function checkedRows(rows: RaggedTensor): RaggedTensor {
  const { values, rowSplits } = rows;
  const check = assertEqual(last(rowSplits), countOf(values, rowSplits), wrong('_from_row_partition'));
  return RaggedTensor.fromRowSplits(values, withDependencies([check], rowSplits));
}

/** A tensor that waits until it is sure that values and partitions have the same steps. */
export function aligned(key: string, steps: Tensor, others: Tensor, tensor: Tensor): Tensor {
  const message = `Feature ${key}: values and partitions are not aligned`;
  return withDependencies([assertEqual(steps, others, { message })], tensor);
}

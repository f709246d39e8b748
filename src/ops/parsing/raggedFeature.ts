/** @file RaggedFeature: values of examples as rows of different lengths, which other features of the example may divide again. */
import { type DType, int32, type int64 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { booleanMask } from '../array/booleanMask.ts';
import { concat } from '../array/concat.ts';
import { gather } from '../array/gather.ts';
import { getItem } from '../array/getItem.ts';
import { range } from '../array/range.ts';
import { repeat } from '../array/repeat.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { cast } from '../math/cast.ts';
import { notEqual } from '../math/compare.ts';
import { cumsum } from '../math/cumulative.ts';
import { floordiv } from '../math/divide.ts';
import { maximum } from '../math/maximum.ts';
import { unsortedSegmentMax } from '../math/segments.ts';
import { RaggedTensor } from '../ragged/raggedTensor.ts';
import { aligned, checkedNumbers, checkedRows, countOf, type PartitionKind } from './raggedChecks.ts';

type SplitType = typeof int32 | typeof int64;

/** How a feature divides values into rows: by another feature of the example, or into rows of one length. */
export type RaggedPartition =
  | { readonly kind: PartitionKind; readonly key: string }
  | { readonly kind: 'uniformRowLength'; readonly length: number };

const by = (kind: PartitionKind) => (key: string) => ({ kind, key }) as const;

/**
 * A feature of any length, which becomes a ragged tensor. `partitions`, from the outermost to the innermost, divide the values
 * of each example into rows, and these into rows again.
 *
 * @example new tf.io.RaggedFeature(tf.int64, { partitions: [tf.io.RaggedFeature.RowLengths('lengths')] })
 */
export class RaggedFeature {
  readonly kind = 'RaggedFeature';
  readonly options: {
    /** The feature with the values; the one of the same name unless given. */
    readonly valueKey?: string | undefined;
    readonly partitions?: readonly RaggedPartition[] | undefined;
    /** int32 unless given. */
    readonly rowSplitsDtype?: SplitType | undefined;
    /** Whether it is checked that the partitions fit the values; false unless given. */
    readonly validate?: boolean | undefined;
  };
  constructor(
    readonly dtype: DType,
    options: RaggedFeature['options'] = {},
  ) {
    this.options = onlyOptions('tf.io.RaggedFeature', options, 'valueKey', 'partitions', 'rowSplitsDtype', 'validate');
  }

  static readonly RowSplits = by('rowSplits');
  static readonly RowLengths = by('rowLengths');
  static readonly RowStarts = by('rowStarts');
  static readonly RowLimits = by('rowLimits');
  static readonly ValueRowIds = by('valueRowIds');
  static UniformRowLength(length: number): RaggedPartition {
    if (!(Number.isInteger(length) && length > 0))
      throw userError(`a row length is at least 1, but ${length} was given`);
    return { kind: 'uniformRowLength', length };
  }

  get splitType(): SplitType {
    return this.options.rowSplitsDtype ?? int32;
  }
  valueKey(ownKey: string): string {
    return this.options.valueKey ?? ownKey;
  }
  get partitions(): readonly RaggedPartition[] {
    return this.options.partitions ?? [];
  }
}

/**
 * What was parsed for a key: the values of one example; rows of values, one for each example or each step of one; or the rows of
 * the steps of each example.
 */
type ByKey = (key: string) => Tensor | RaggedTensor;

/** The feature's ragged tensor, of values and partitions that were parsed. */
export function raggedOf(key: string, feature: RaggedFeature, parsed: ByKey): Tensor | RaggedTensor {
  const given = parsed(feature.valueKey(key));
  const partitions = [...feature.partitions].reverse();
  const { validate: isChecked = false } = feature.options;
  if (!(given instanceof RaggedTensor))
    return partitions.reduce<Tensor | RaggedTensor>(
      (result, partition) => divided(result, partition, parsed, feature.splitType, isChecked),
      given,
    );
  // The steps of all examples together are divided like examples, and go back to their examples in the end.
  const outer = given.values instanceof RaggedTensor ? given.rowSplits : undefined;
  const ofKey = (name: string): RaggedTensor => {
    const partition = parsed(name) as RaggedTensor; // of a batch or of steps, as the values
    if (!outer) return partition;
    const steps = partition.values as RaggedTensor; // of the steps of examples, as the values
    if (!isChecked) return steps;
    return RaggedTensor.fromRowSplits(steps.values, aligned(key, outer, partition.rowSplits, steps.rowSplits));
  };
  let result = outer ? (given.values as RaggedTensor) : given; // has rows, as was looked up
  for (const partition of partitions) result = dividedBatch(result, partition, ofKey, isChecked);
  return outer ? RaggedTensor.fromRowSplits(result, outer) : result;
}

const fromRowStarts = (values: Tensor | RaggedTensor, starts: Tensor) =>
  RaggedTensor.fromRowSplits(values, concat([starts, reshape(countOf(values, starts), [1])], 0));
const fromRowLimits = (values: Tensor | RaggedTensor, limits: Tensor) =>
  RaggedTensor.fromRowSplits(values, concat([convertToTensor([0], { dtype: limits.dtype }), limits], 0));

/** Values in rows of one length, which is an axis like any other where the values have no rows themselves. */
function inEqualRows(values: Tensor | RaggedTensor, length: number, dtype: DType): Tensor | RaggedTensor {
  if (!(values instanceof RaggedTensor))
    return reshape(values, concat([[-1, length], getItem(shape(values), [[1]])], 0));
  return RaggedTensor.fromRowSplits(values, range(0, values.nrows().add(1), length, { dtype }));
}

/** The values of one example in rows. */
function divided(
  values: Tensor | RaggedTensor,
  partition: RaggedPartition,
  parsed: ByKey,
  dtype: SplitType,
  isChecked: boolean,
): Tensor | RaggedTensor {
  if (partition.kind === 'uniformRowLength') return inEqualRows(values, partition.length, dtype);
  const given = cast(parsed(partition.key) as Tensor, dtype); // of one example, as the values
  const by = isChecked ? checkedNumbers(partition.kind, given, values) : given;
  const rows = inRows(values, partition.kind, by);
  return isChecked ? checkedRows(rows) : rows;
}

function inRows(values: Tensor | RaggedTensor, kind: PartitionKind, by: Tensor): RaggedTensor {
  switch (kind) {
    case 'rowSplits':
      return RaggedTensor.fromRowSplits(values, by);
    case 'rowLengths':
      return RaggedTensor.fromRowLengths(values, by);
    case 'rowStarts':
      return fromRowStarts(values, by);
    case 'rowLimits':
      return fromRowLimits(values, by);
    case 'valueRowIds':
      return RaggedTensor.fromValueRowids(values, by);
  }
}

/** Each example's values in rows: positions within an example become positions within the batch. */
function dividedBatch(
  batch: RaggedTensor,
  partition: RaggedPartition,
  parsed: (key: string) => RaggedTensor,
  isChecked: boolean,
): RaggedTensor {
  const { dtype } = batch.rowSplits;
  const { values, rowSplits } = batch;
  if (partition.kind === 'uniformRowLength')
    return RaggedTensor.fromRowSplits(
      inEqualRows(values, partition.length, dtype),
      floordiv(rowSplits, partition.length),
    );
  const given = parsed(partition.key);
  const numbers = cast(given.values as Tensor, dtype); // features have no rows in rows
  const counts = given.rowLengths();
  const starts = getItem(rowSplits, [[null, -1]]);
  const ofBatch = (positions: Tensor, per: Tensor) => positions.add(repeat(starts, per));
  const rowsBy = (kind: PartitionKind, all: Tensor): RaggedTensor => {
    const rows = inRows(values, kind, isChecked ? checkedNumbers(kind, all, values) : all);
    return isChecked ? checkedRows(rows) : rows;
  };
  switch (partition.kind) {
    case 'rowSplits': {
      // The first of each example's splits is 0 and the others are where rows end.
      const order = range(countOf(numbers, rowSplits));
      const isFirst = gather(getItem(given.rowSplits, [[null, -1]]), given.valueRowids());
      const limits = booleanMask(numbers, notEqual(order, isFirst));
      const rows = maximum(counts.sub(1), 0);
      return RaggedTensor.fromRowLengths(rowsBy('rowLimits', ofBatch(limits, rows)), rows);
    }
    case 'rowLimits':
    case 'rowStarts':
      return RaggedTensor.fromRowSplits(rowsBy(partition.kind, ofBatch(numbers, counts)), given.rowSplits);
    case 'rowLengths':
      return RaggedTensor.fromRowSplits(rowsBy('rowLengths', numbers), given.rowSplits);
    case 'valueRowIds': {
      const rows = maximum(unsortedSegmentMax(numbers.add(1), given.valueRowids(), given.nrows()), 0);
      const ids = numbers.add(repeat(cumsum(rows, 0, { exclusive: true }), counts));
      return RaggedTensor.fromRowLengths(rowsBy('valueRowIds', ids), rows);
    }
  }
}

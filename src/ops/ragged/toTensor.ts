/** @file RaggedTensorToTensor: rows of different lengths as a tensor, filled up with a default value or cut off. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError, ResourceExhaustedError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import { booleanMask } from '../array/booleanMask.ts';
import { getItem } from '../array/getItem.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { rank, shape } from '../array/shape.ts';
import { cast } from '../math/cast.ts';
import { equal, notEqual } from '../math/compare.ts';
import { cumprod } from '../math/cumulative.ts';
import { logicalNot } from '../math/logical.ts';
import { reduceSum } from '../math/reductions.ts';
import { needRankAtMost } from '../parsing/shapes.ts';
import { gatherRows, show } from './kit.ts';

type PartitionType = 'FIRST_DIM_SIZE' | 'VALUE_ROWIDS' | 'ROW_SPLITS';
/** How the elements of one axis are grouped into those of the axis around it. */
interface Partition {
  readonly type: PartitionType;
  readonly numbers: readonly number[];
}

/** More elements than any tensor of TensorFlow's has, and than any of ours. */
const [mostElements, mostPlaces] = [2 ** 63, 2 ** 31];

function checkTypes(types: readonly string[]): readonly PartitionType[] {
  for (const type of types)
    if (type !== 'FIRST_DIM_SIZE' && type !== 'VALUE_ROWIDS' && type !== 'ROW_SPLITS')
      throw new InvalidArgumentError(`Unknown string for partition info type: ${type}`);
  if (types[0] === 'VALUE_ROWIDS') throw new InvalidArgumentError('Cannot handle VALUE_ROWIDS in first dimension.');
  if (types.slice(1).includes('FIRST_DIM_SIZE'))
    throw new InvalidArgumentError('Cannot handle FIRST_DIM_SIZE after the first dimension.');
  return types as readonly PartitionType[]; // all of them were looked at
}

/** How many axes the partitions stand for: the size of the first axis comes by itself or with the splits of the second. */
const axesOf = (types: readonly string[]) => types.length + (types[0] === 'ROW_SPLITS' ? 1 : 0);

/** The sizes asked for; an unknown shape asks for none. */
function askedSizes(numbers: readonly number[], isScalar: boolean): readonly (number | null)[] | undefined {
  if (isScalar) {
    if (numbers[0] === -1) return undefined;
    throw new InvalidArgumentError('The only valid scalar shape tensor is the fully unknown shape specified as -1.');
  }
  for (const size of numbers) if (size < -1) throw new InvalidArgumentError(`Dimension ${size} must be >= -1`);
  return numbers.map((size) => (size === -1 ? null : size));
}

/** The sizes that shape and values agree on; `null` where the rows decide. */
function agreedSizes(
  asked: readonly (number | null)[] | undefined,
  values: readonly (number | null)[],
  axes: number,
): readonly (number | null)[] {
  const own = [...new Array<null>(axes).fill(null), ...values.slice(1)];
  if (!asked) return own;
  if (asked.length !== own.length)
    throw new InvalidArgumentError(
      `rt_input.shape and shape=${show(asked)} are incompatible: rt_input.rank = ${own.length} but shape.rank = ${asked.length}`,
    );
  return own.map((size, i) => {
    if (size !== null && asked[i] !== null && asked[i] !== size)
      throw new InvalidArgumentError(
        `rt_input.shape and shape=${show(asked)} are incompatible: rt_input.shape[${i}] = ${size} but shape[${i}] = ${asked[i]}`,
      );
    return size ?? asked[i]!;
  });
}

function checkDefault(value: readonly (number | null)[], values: readonly (number | null)[]): void {
  const both = `default_value.shape=${show(value)} and rt_input.flat_values.shape=${show(values)} are incompatible:`;
  if (value.length >= values.length)
    throw new InvalidArgumentError(
      `${both} default_value.rank = ${value.length}  must be less than rt_input.flat_values.rank = ${values.length}`,
    );
  for (let i = 1; i <= value.length; i++) {
    const [given, wanted] = [value.at(-i)!, values.at(-i)!];
    if (given !== null && wanted !== null && given !== 1 && given !== wanted)
      throw new InvalidArgumentError(
        `${both} default_value.shape[-${i}] = ${given} but rt_input.flat_values.shape[-${i}] = ${wanted}`,
      );
  }
}

function firstSize({ type, numbers }: Partition): number {
  if (numbers.length === 0)
    throw new InvalidArgumentError('Invalid first partition input. Tensor requires at least one element.');
  if (type === 'ROW_SPLITS') return numbers.length - 1;
  if (numbers[0]! < 0) throw new InvalidArgumentError(`Dimension ${numbers[0]} must be >= 0`);
  return numbers[0]!;
}

/** The row of every element of an axis. */
async function rowsOf({ type, numbers }: Partition, rows: number): Promise<ArrayLike<number>> {
  if (type === 'ROW_SPLITS') {
    if (numbers[0] !== 0) throw new InvalidArgumentError('Invalid row split size.');
    for (let i = 1; i < numbers.length; i++)
      if (numbers[i]! < numbers[i - 1]!) throw new InvalidArgumentError('Invalid row split size.');
    const result = new Int32Array(checkedCount([numbers.at(-1)!]));
    let row = 0;
    await eachInTurns(result.length, (i) => {
      while (numbers[row + 1]! <= i) row++;
      result[i] = row;
    });
    return result;
  }
  for (let i = 0; i < numbers.length; i++)
    if (numbers[i]! < 0 || numbers[i]! >= rows)
      throw new InvalidArgumentError(
        `Got ${i ? 'next' : 'current'}_value_rowid=${numbers[i]} which is not less than ${rows}`,
      );
  return numbers;
}

/**
 * Where each element is in its row, and the size of the longest row. As in TensorFlow a row ends where another begins, so rows
 * should be sorted.
 */
async function columnsOf(rows: ArrayLike<number>): Promise<{ columns: Int32Array; longest: number }> {
  const columns = new Int32Array(rows.length);
  let longest = 0;
  await eachInTurns(rows.length, (i) => {
    const column = i > 0 && rows[i - 1] === rows[i] ? columns[i - 1]! + 1 : 0;
    columns[i] = column;
    longest = Math.max(longest, column + 1);
  });
  return { columns, longest };
}

/** For every place of the axes that rows decide, the value that goes there; where there is none, the row behind all values. */
async function sourcesOf(
  partitions: readonly Partition[],
  asked: readonly (number | null)[],
  values: number,
): Promise<NDArray> {
  const first = firstSize(partitions[0]!);
  const sizes = [asked[0] ?? first];
  let at = new Float64Array(first).fill(-1);
  for (let i = 0; i < Math.min(first, sizes[0]!); i++) at[i] = i;
  for (const partition of partitions[0]!.type === 'FIRST_DIM_SIZE' ? partitions.slice(1) : partitions) {
    const rows = await rowsOf(partition, at.length);
    const { columns, longest } = await columnsOf(rows);
    const size = asked[sizes.length] ?? longest;
    sizes.push(size);
    const outer = at;
    const inner = new Float64Array(rows.length);
    await eachInTurns(rows.length, (i) => {
      const place = outer[rows[i]!] ?? -1;
      inner[i] = place >= 0 && columns[i]! < size ? place * size + columns[i]! : -1;
    });
    at = inner;
  }
  const sources = new Int32Array(checkedCount(sizes)).fill(values);
  await eachInTurns(Math.min(at.length, values), (i) => {
    if (at[i]! >= 0) sources[at[i]!] = i;
  });
  return new NDArray(d.int32, sizes, sources);
}

function checkedCount(sizes: readonly number[]): number {
  const count = sizes.reduce((n, size) => n * size, 1);
  if (!(count < mostElements))
    throw new InvalidArgumentError(`Shape ${show(sizes)} would have more than 2**63 - 1 elements`);
  if (count > mostPlaces) throw new ResourceExhaustedError(`OOM when allocating tensor with shape${show(sizes)}`);
  return count;
}

const bySplits = { row_partition_types: ['ROW_SPLITS'], num_row_partition_tensors: 1 };
const ints = (value: number | readonly number[]) => ({ dtype: 'int64' as const, value });
type Row = readonly (string | number)[];
const rowsOfFive = (splits: readonly number[], size: readonly number[], values: Row, filler: string | number) => ({
  given: { shape: ints(size), values, default_value: filler, row_partition_tensors: [ints(splits)] },
  attrs: { row_partition_types: ['ROW_SPLITS'] },
});
const toTensorCase = (size: readonly number[], values: Row, filler: string | number, result: readonly Row[]) => ({
  ...rowsOfFive([0, 2, 2, 5], size, values, filler),
  expect: { result },
});
const failing = (splits: readonly number[], size: readonly number[]) => rowsOfFive(splits, size, [1, 2, 3, 4, 5], 0);

export const RaggedTensorToTensor = defineOp({
  name: 'RaggedTensorToTensor',
  inputs: {
    shape: 'Tshape',
    values: 'T',
    default_value: 'T',
    row_partition_tensors: 'num_row_partition_tensors * Tindex',
  },
  outputs: { result: 'T' },
  attrs: {
    T: anyType,
    Tindex: attr('type', { allowed: [d.int64, d.int32] }),
    Tshape: attr('type', { allowed: [d.int64, d.int32] }),
    num_row_partition_tensors: attr('int', { minimum: 1 }),
    row_partition_types: attr('list(string)'),
  },
  shape(dims, { row_partition_types }, context): { result: Dims } {
    const axes = axesOf(checkTypes(row_partition_types));
    needRankAtMost('shape', dims.shape, 1);
    if (dims.values && dims.default_value) checkDefault(dims.default_value, dims.values);
    if (dims.shape?.length === 0) {
      const size = context.value('shape')?.numberAt(0);
      if (size !== -1)
        throw new InvalidArgumentError(
          size === undefined
            ? "Received a shape scalar with unknown static value.  A static value of '-1' is required to represent an unknown shape."
            : `Received an invalid shape scalar with a static value that is not '-1': ${size}`,
        );
    }
    const sizes = dims.shape?.length === 1 ? context.partial('shape') : undefined;
    const asked = sizes?.map((size) => (size === null || size < 0 ? null : size));
    if (dims.values) return { result: agreedSizes(asked, dims.values, axes) };
    return { result: asked ? [...asked] : null };
  },
  grad: ({ inputs, attrs }, { result: dy }) => toTensorGradient(inputs, attrs.row_partition_types, convertToTensor(dy)),
  lower(p, { shape: wanted, values, default_value, row_partition_tensors }, { row_partition_types }) {
    const types = checkTypes(row_partition_types);
    checkDefault(default_value.shape, values.shape);
    const [sources] = p.host([wanted, ...row_partition_tensors], [{ dtype: d.int32 }], async ([sizes, ...tensors]) => {
      const asked = askedSizes(sizes!.numbers(), sizes!.rank === 0);
      const partitions = tensors.map((tensor, i) => ({ type: types[i]!, numbers: tensor.numbers() }));
      return [await sourcesOf(partitions, agreedSizes(asked, values.shape, axesOf(types)), values.shape[0]!)];
    });
    const inner = values.shape.slice(1);
    const rows = p.concat([values, p.broadcast(default_value, [1, ...inner])], 0);
    return { result: p.reshape(gatherRows(p, rows, sources!), [...sources!.shape, ...inner]) };
  },
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[2], [?], [], [4] -> [?, ?]', attrs: bySplits },
    { shape: '?, [?, 7], ?, [?], [?] -> [?, ?, ?, 7]', attrs: { row_partition_types: ['ROW_SPLITS', 'ROW_SPLITS'], num_row_partition_tensors: 2 } },
    { shape: '[2], [?, 3], [], [4] -> [?, 5, 3]', given: { shape: ints([-1, 5, 3]) }, attrs: bySplits },
    { shape: '[2], [?, 3], [1, 2], [4]', attrs: bySplits, rejects: /default_value.rank = 2 {2}must be less than/ },
    { shape: '[2], [?], [], [4]', attrs: { row_partition_types: ['VALUE_ROWIDS'], num_row_partition_tensors: 1 }, rejects: /VALUE_ROWIDS/ },
    toTensorCase([-1, -1], [1, 2, 3, 4, 5], 0, [[1, 2, 0], [0, 0, 0], [3, 4, 5]]),
    toTensorCase([2, 1], [1, 2, 3, 4, 5], 9, [[1], [9]]),
    toTensorCase([-1, 2], ['a', 'b', 'c', 'd', 'e'], '-', [['a', 'b'], ['-', '-'], ['c', 'd']]),
    {
      given: { shape: ints([4, 4]), values: [1, 2, 3, 4, 5], default_value: 9, row_partition_tensors: [ints(3), ints([0, 0, 2, 2, 2])] },
      attrs: { row_partition_types: ['FIRST_DIM_SIZE', 'VALUE_ROWIDS'] },
      expect: { result: [[1, 2, 9, 9], [9, 9, 9, 9], [3, 4, 5, 9], [9, 9, 9, 9]] },
    },
    {
      given: { shape: ints([-1, -1, -1]), values: [[1, 2], [3, 4], [5, 6]], default_value: [7], row_partition_tensors: [ints([0, 1, 3])] },
      attrs: { row_partition_types: ['ROW_SPLITS'] },
      expect: { result: [[[1, 2], [7, 7]], [[3, 4], [5, 6]]] },
    },
    {
      given: { shape: ints([2, 1, 4]), values: [1, 2, 3, 4, 5], default_value: 0, row_partition_tensors: [ints([0, 2, 3]), ints([0, 2, 2, 5])] },
      attrs: { row_partition_types: ['ROW_SPLITS', 'ROW_SPLITS'] },
      expect: { result: [[[1, 2, 0, 0]], [[3, 4, 5, 0]]] },
    },
    {
      given: { shape: ints([-1, -1]), values: { dtype: 'float32', value: [], shape: [0] }, default_value: 0, row_partition_tensors: [ints([0])] },
      attrs: { row_partition_types: ['ROW_SPLITS'] },
      expect: { result: { dtype: 'float32', value: [], shape: [0, 0] } },
    },
    {
      given: { shape: ints([-1, -1]), values: [1, 2, 3], default_value: 0, row_partition_tensors: [ints(2), ints([0, 2, 2])] },
      attrs: { row_partition_types: ['FIRST_DIM_SIZE', 'VALUE_ROWIDS'] },
      fails: /Got next_value_rowid=2 which is not less than 2/,
    },
    { ...failing([1, 2, 2, 5], [-1, -1]), fails: /Invalid row split size/ },
    { ...failing([], [-1, -1]), fails: /Tensor requires at least one element/ },
    { ...failing([0, 2, 2, 5], [-2, 2]), fails: /Dimension -2 must be >= -1/ },
    { ...failing([0, 2, 2, 5], [-1, -1, -1]), fails: /rt_input.rank = 2 but shape.rank = 3/ },
    { ...failing([0, 2, 2, 5], [2 ** 40, 2 ** 30]), fails: /would have more than 2\*\*63 - 1 elements/ },
  ],
});

interface ToTensorInputs {
  readonly values: Tensor;
  readonly default_value: Tensor;
  readonly row_partition_tensors: readonly Tensor[];
}

/** Which value went to which place is asked of the op itself, with the values' positions as its values. */
function toTensorGradient(
  { values, default_value, row_partition_tensors }: ToTensorInputs,
  row_partition_types: readonly string[],
  dy: Tensor,
) {
  const valuesShape = shape(values);
  const outer = 1 + row_partition_types.filter((type) => type !== 'FIRST_DIM_SIZE').length;
  const indices = RaggedTensorToTensor.build(
    {
      shape: getItem(shape(dy), [[null, outer]]),
      values: range(getItem(valuesShape, [0])),
      default_value: -1,
      row_partition_tensors,
    },
    { attrs: { row_partition_types } },
  ).result;
  const mask = notEqual(indices, -1);
  const slices = new IndexedSlices(booleanMask(dy, mask), booleanMask(indices, mask), valuesShape);
  const rest = booleanMask(dy, logicalNot(mask));
  const axes = range(rank(rest).sub(rankWithoutLeadingOnes(default_value)));
  return { values: slices, default_value: reshape(reduceSum(rest, axes), shape(default_value)) };
}

function rankWithoutLeadingOnes(value: Tensor): Tensor | number {
  if (value.shape) {
    const first = value.shape.findIndex((size) => size !== 1);
    if (first < 0) return 0;
    if (value.shape[first] !== null) return value.shape.length - first;
  }
  const leading = cumprod(cast(equal(shape(value), 1), d.int32));
  return rank(value).sub(reduceSum(leading));
}

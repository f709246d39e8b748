/** @file RaggedTensor: rows of different lengths, as all their values and where each row begins. */
import { type DType, int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { intVector, type NDArray, type Nested } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { type Composite, composite, type Decomposed, type Fetchable, fetchedValue } from '../../graph/composite.ts';
import { onlyOptions } from '../../graph/options.ts';
import { evaluate, type FeedLike, type Runner, runnerFor } from '../../graph/runner.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat } from '../array/concat.ts';
import { zeros } from '../array/fill.ts';
import { getItem } from '../array/getItem.ts';
import { shape } from '../array/shape.ts';
import { bincount } from '../math/bincount.ts';
import { cast } from '../math/cast.ts';
import { cumsum } from '../math/cumulative.ts';
import { maximum } from '../math/maximum.ts';
import { reduceMax } from '../math/reductions.ts';
import { splitsToSegmentIds } from './segments.ts';
import { RaggedTensorToSparse } from './toSparse.ts';
import { RaggedTensorToTensor } from './toTensor.ts';

interface Named {
  readonly name?: string | undefined;
}
/** What the values of a ragged tensor can be: those of the innermost rows, or rows again. */
export type RaggedValues = TensorLike | RaggedTensor;

/** The value of a ragged tensor. */
export class RaggedTensorValue {
  constructor(
    /** From the outermost axis to the innermost. */
    readonly nestedRowSplits: readonly NDArray[],
    readonly flatValues: NDArray,
  ) {}

  /** The rows as nested arrays. */
  toArray(): Nested[] {
    let rows = this.flatValues.toArray() as readonly Nested[]; // values have an axis
    for (const splits of [...this.nestedRowSplits].reverse()) {
      const inner = rows;
      const ends = splits.numbers();
      rows = ends.slice(1).map((end, i) => inner.slice(ends[i], end));
    }
    return [...rows];
  }
}

/**
 * Row `i` holds `values[rowSplits[i]]` up to, not including, `values[rowSplits[i + 1]]`. The values may be ragged themselves.
 * A run gives a `RaggedTensorValue` for it.
 *
 * @example tf.ragged.constant([[1, 2], [], [3]]).toTensor() // runs to [[1 2] [0 0] [3 0]]
 */
export class RaggedTensor implements Fetchable<RaggedTensorValue>, Composite {
  private constructor(
    readonly values: Tensor | RaggedTensor,
    /** int64 or int32, one more than there are rows; the first is 0. */
    readonly rowSplits: Tensor,
  ) {
    if (rowSplits.rank !== null && rowSplits.rank !== 1)
      throw userError(`row splits are a vector, but ${rowSplits} was given`);
    if (values.shape?.length === 0) throw userError('the values of a ragged tensor need at least one axis');
    checkConstant(rowSplits, values);
  }

  /** Rows that begin where the splits say. `rowSplits` is int64 unless it is a tensor of another type. */
  static fromRowSplits(values: RaggedValues, rowSplits: TensorLike, options: Named = {}): RaggedTensor {
    const { name } = onlyOptions('tf.RaggedTensor.fromRowSplits', options, 'name');
    return nameScope(name ?? 'RaggedFromRowSplits', () => {
      const inner = valuesOf(values);
      return nameScope('RowPartitionFromRowSplits', () => new RaggedTensor(inner, indices(rowSplits, 'row_splits')));
    });
  }

  /** Rows of the given lengths. */
  static fromRowLengths(values: RaggedValues, rowLengths: TensorLike, options: Named = {}): RaggedTensor {
    const { name } = onlyOptions('tf.RaggedTensor.fromRowLengths', options, 'name');
    return nameScope(name ?? 'RaggedFromRowLengths', () => {
      const inner = valuesOf(values);
      return nameScope(
        'RowPartitionFromRowLengths',
        () => new RaggedTensor(inner, splitsOf(indices(rowLengths, 'row_lengths'))),
      );
    });
  }

  /** Value `i` goes to row `valueRowids[i]`; these are sorted. There are `nrows` rows, or as many as the last one says. */
  static fromValueRowids(
    values: RaggedValues,
    valueRowids: TensorLike,
    options: Named & { readonly nrows?: TensorLike | undefined } = {},
  ): RaggedTensor {
    const { name, nrows } = onlyOptions('tf.RaggedTensor.fromValueRowids', options, 'name', 'nrows');
    return nameScope(name ?? 'RaggedFromValueRowIds', () => {
      const inner = valuesOf(values);
      return nameScope('RowPartitionFromValueRowIds', () => {
        const ids = indices(valueRowids, 'value_rowids');
        const rows =
          nrows === undefined
            ? getItem(concat([getItem(ids, [[-1]]), intVector([-1], ids.dtype)], 0), [0]).add(1)
            : convertToTensor(nrows, { dtype: ids.dtype, name: 'nrows' });
        const [ids32, count] = [cast(ids, int32), cast(rows, int32)];
        const lengths = bincount(ids32, { minlength: count, maxlength: count, dtype: ids.dtype });
        return new RaggedTensor(inner, splitsOf(lengths));
      });
    });
  }

  /** Rows of rows: splits from the outermost axis to the innermost. */
  static fromNestedRowSplits(
    flatValues: TensorLike,
    nestedRowSplits: readonly TensorLike[],
    options: Named = {},
  ): RaggedTensor {
    const { name } = onlyOptions('tf.RaggedTensor.fromNestedRowSplits', options, 'name');
    if (nestedRowSplits.length === 0) throw userError('a ragged tensor has at least one list of row splits');
    return nameScope(name ?? 'RaggedFromNestedRowSplits', () => {
      let result: RaggedValues = flatValues;
      for (const splits of [...nestedRowSplits].reverse()) result = RaggedTensor.fromRowSplits(result, splits);
      return result as RaggedTensor; // there was one list at least
    });
  }

  /** The rows of a sparse matrix, whose values must be to the left of all that are missing. */
  static fromSparse(sparse: SparseTensor, options: Named = {}): RaggedTensor {
    const { name } = onlyOptions('tf.RaggedTensor.fromSparse', options, 'name');
    if (sparse.denseShape.shape?.[0] !== 2)
      throw userError(`Only matrices have rows: the sparse tensor has shape ${sparse.shape}.`);
    return nameScope(name ?? 'RaggedFromSparse', () =>
      RaggedTensor.fromValueRowids(sparse.values, getItem(sparse.indices, [[], 0]), {
        nrows: getItem(sparse.denseShape, [0]),
      }),
    );
  }

  /** The values below all ragged axes. */
  get flatValues(): Tensor {
    return this.values instanceof RaggedTensor ? this.values.flatValues : this.values;
  }
  /** The splits of all ragged axes, from the outermost to the innermost. */
  get nestedRowSplits(): readonly Tensor[] {
    return [this.rowSplits, ...(this.values instanceof RaggedTensor ? this.values.nestedRowSplits : [])];
  }
  /** How many axes have rows of different lengths. */
  get raggedRank(): number {
    return this.nestedRowSplits.length;
  }
  get dtype(): DType {
    return this.flatValues.dtype;
  }
  /** The static shape; sizes of ragged axes are unknown. */
  get shape(): Dims {
    const size = this.rowSplits.shape?.[0] ?? null;
    const inner = this.values.shape;
    return inner && [size === null ? null : size - 1, null, ...inner.slice(1)];
  }

  /** How many rows there are. */
  nrows(options: Named = {}): Tensor {
    return nameScope(options.name ?? 'RaggedNRows', () =>
      getItem(shape(this.rowSplits, { outType: this.rowSplits.dtype }), [0]).sub(1),
    );
  }
  /** How many values each row has. */
  rowLengths(): Tensor {
    return getItem(this.rowSplits, [[1]]).sub(getItem(this.rowSplits, [[null, -1]]));
  }
  /** The row of each value. */
  valueRowids(options: Named = {}): Tensor {
    return nameScope(options.name ?? 'RaggedValueRowIds', () => splitsToSegmentIds(this.rowSplits));
  }
  /** The smallest shape that holds all rows. */
  boundingShape(options: Named = {}): Tensor {
    return nameScope(options.name ?? 'RaggedBoundingBox', () => {
      const type = this.rowSplits.dtype;
      const rows = getItem(shape(this.rowSplits, { outType: type }), [0]).sub(1);
      const widths = this.nestedRowSplits.map((splits) =>
        maximum(reduceMax(getItem(splits, [[1]]).sub(getItem(splits, [[null, -1]]))), 0),
      );
      const inner = getItem(shape(this.flatValues, { outType: type }), [[1]]);
      return concat([convertToTensor([rows, ...widths]), inner], 0);
    });
  }

  /** The same rows with other values. */
  withFlatValues(values: TensorLike): RaggedTensor {
    const inner = this.values instanceof RaggedTensor ? this.values.withFlatValues(values) : convertToTensor(values);
    return new RaggedTensor(inner, this.rowSplits);
  }

  /**
   * A tensor in which short rows are filled up with `defaultValue` (zeros unless given); `shape`, with `null` for what the rows
   * decide, cuts off or adds. Adds one `RaggedTensorToTensor` node under `RaggedToTensor/`.
   */
  toTensor(
    options: Named & { readonly defaultValue?: TensorLike | undefined; readonly shape?: Dims | undefined } = {},
  ): Tensor {
    const { name, defaultValue, shape: sizes } = onlyOptions('toTensor', options, 'name', 'defaultValue', 'shape');
    return nameScope(name ?? 'RaggedToTensor', () => {
      const filler =
        defaultValue === undefined
          ? zeros([], { dtype: this.dtype })
          : convertToTensor(defaultValue, { dtype: this.dtype, name: 'default_value' });
      const asked = sizes == null ? -1 : sizes.map((size) => size ?? -1);
      return RaggedTensorToTensor.build(
        {
          shape: convertToTensor(asked, { dtype: this.rowSplits.dtype, name: 'Const' }),
          values: this.flatValues,
          default_value: filler,
          row_partition_tensors: this.nestedRowSplits,
        },
        { attrs: { row_partition_types: this.nestedRowSplits.map(() => 'ROW_SPLITS') } },
      ).result;
    });
  }

  /** The values with their positions. Adds one `RaggedTensorToSparse` node under `RaggedToSparse/`. */
  toSparse(options: Named = {}): SparseTensor {
    return nameScope(options.name ?? 'RaggedToSparse', () => {
      const { sparse_indices, sparse_values, sparse_dense_shape } = RaggedTensorToSparse.build({
        rt_nested_splits: this.nestedRowSplits,
        rt_dense_values: this.flatValues,
      });
      return new SparseTensor(sparse_indices, sparse_values, sparse_dense_shape);
    });
  }

  /** Its value in a session, the default one unless given. */
  async eval(feeds?: readonly (readonly [Tensor, FeedLike])[], session?: Runner): Promise<RaggedTensorValue> {
    const runner = runnerFor(`evaluate ${this.flatValues.name}`, session);
    return this[fetchedValue](await evaluate(runner, this[composite]().parts, feeds));
  }

  [composite](): Decomposed {
    return {
      kind: `RaggedTensor ${this.raggedRank}`,
      parts: [...this.nestedRowSplits, this.flatValues],
      from: (parts) => ofParts(parts),
    };
  }
  [fetchedValue](parts: readonly NDArray[]): RaggedTensorValue {
    return new RaggedTensorValue(parts.slice(0, -1), parts.at(-1)!);
  }

  /** A ragged tensor of tensors that are splits and values already. */
  static fromParts(parts: readonly Tensor[]): RaggedTensor {
    const [values, ...splits] = [...parts].reverse() as [Tensor, ...Tensor[]]; // values come last
    return splits.reduce<Tensor | RaggedTensor>((inner, own) => new RaggedTensor(inner, own), values) as RaggedTensor; // one split at least
  }

  toString(): string {
    return `RaggedTensor(values=${this.values}, row_splits=${this.rowSplits})`;
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

const ofParts = (parts: readonly Tensor[]) => RaggedTensor.fromParts(parts);

const valuesOf = (values: RaggedValues): Tensor | RaggedTensor =>
  values instanceof RaggedTensor ? values : convertToTensor(values, { name: 'values' });

/** Splits, lengths and row numbers are int64; tensors may be int32 as well. */
function indices(value: TensorLike, name: string): Tensor {
  const tensor = convertToTensor(value, { hint: int64, name });
  if (tensor.dtype !== int32 && tensor.dtype !== int64)
    throw userError(`${name} must have dtype int32 or int64, but ${tensor} was given`);
  return tensor;
}

/** Where rows of these lengths begin. */
function splitsOf(lengths: Tensor): Tensor {
  return concat([intVector([0], lengths.dtype), cumsum(lengths)], 0);
}

/** Splits that are known while building are checked at once; the ops check the others. */
function checkConstant(rowSplits: Tensor, values: Tensor | RaggedTensor): void {
  const splits = constantValue(rowSplits)?.numbers();
  if (!splits) return;
  const count = values.shape?.[0] ?? null;
  if (splits[0] !== 0 || splits.some((end, i) => i > 0 && end < splits[i - 1]!))
    throw new InvalidArgumentError(`Row splits begin with 0 and never decrease, but [${splits}] was given.`);
  if (count !== null && splits.at(-1) !== count)
    throw new InvalidArgumentError(
      `The last row split is the number of values: there are ${count}, but [${splits}] was given.`,
    );
}

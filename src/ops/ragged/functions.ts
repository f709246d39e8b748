/** @file tf.ragged: ragged constants, ranges and placeholders, and functions over flat values. */
import { type DType, type int32, int64 } from '../../core/dtypes.ts';
import { type Element, fromElements, inferDtype, intVector, type Nested } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { placeholder } from '../array/placeholder.ts';
import { RaggedRange } from './raggedRange.ts';
import { RaggedTensor } from './raggedTensor.ts';

type Splits = typeof int32 | typeof int64;

/**
 * A ragged tensor of nested arrays, whose values are the deepest elements; all of them are equally deep. Adds `Const` nodes
 * under `RaggedConstant/`.
 *
 * @example tf.ragged.constant([[1, 2], [], [3]]).rowSplits // runs to [0 2 2 3]
 */
export function raggedConstant(
  rows: readonly Nested[],
  options: {
    readonly dtype?: DType | undefined;
    /** How many axes are ragged: all but the first unless given. */
    readonly raggedRank?: number | undefined;
    readonly rowSplitsDtype?: Splits | undefined;
    readonly name?: string | undefined;
  } = {},
): RaggedTensor {
  const {
    dtype,
    raggedRank,
    rowSplitsDtype = int64,
    name,
  } = onlyOptions('tf.ragged.constant', options, 'dtype', 'raggedRank', 'rowSplitsDtype', 'name');
  if (!Array.isArray(rows)) throw userError('tf.ragged.constant takes nested arrays; for one value take tf.constant.');
  const depth = depthOf(rows);
  const rank = raggedRank ?? Math.max(1, depth - 1);
  if (rank < 1 || rank > Math.max(1, depth - 1))
    throw userError(`raggedRank is ${rank}, but arrays ${depth} deep have 1 to ${Math.max(1, depth - 1)} ragged axes.`);
  return nameScope(name ?? 'RaggedConstant', () => {
    const nested: number[][] = [];
    let level: readonly Nested[] = rows;
    for (let axis = 0; axis < rank; axis++) {
      const inner: Nested[] = [];
      const splits = [0];
      for (const row of level) {
        if (!Array.isArray(row)) throw userError('all elements of a ragged tensor are equally deep in its arrays.');
        inner.push(...row);
        splits.push(inner.length);
      }
      nested.push(splits);
      level = inner;
    }
    const values = valuesOf(level, dtype);
    const splits = nested.map((ends) => intVector(ends, rowSplitsDtype));
    const tensors = [...splits].reverse().map((array) => constantNode(array));
    return RaggedTensor.fromParts([...tensors.reverse(), values]);
  });
}

function depthOf(value: Nested): number {
  if (!Array.isArray(value)) return 0;
  return 1 + value.reduce<number>((most, row: Nested) => Math.max(most, depthOf(row)), 0);
}

function valuesOf(level: readonly Nested[], dtype: DType | undefined): Tensor {
  if (level.length === 0) return constantNode(fromElements(dtype ?? inferDtype([]), [0], []), 'values');
  if (dtype === undefined && level.every((x) => !Array.isArray(x))) {
    const elements = level as readonly Element[]; // none of them is an array
    return constantNode(fromElements(inferDtype(elements), [level.length], elements), 'values');
  }
  return convertToTensor(level as TensorLike, { dtype, name: 'values' }); // nested arrays of one shape
}

/**
 * `f` over the values of ragged tensors, which have the same rows; the result has them too.
 *
 * @example tf.ragged.mapFlatValues(tf.square, tf.ragged.constant([[1, 2], [3]])).toTensor() // runs to [[1 4] [9 0]]
 */
export function mapFlatValues(
  f: (...args: Tensor[]) => Tensor,
  ...args: readonly [RaggedTensor, ...(RaggedTensor | TensorLike)[]]
): RaggedTensor {
  const [first] = args;
  const flat = args.map((x) => {
    if (!(x instanceof RaggedTensor)) return convertToTensor(x);
    if (x.raggedRank !== first.raggedRank)
      throw userError(
        `the ragged tensors have ${first.raggedRank} and ${x.raggedRank} ragged axes; they must be equal.`,
      );
    return x.flatValues;
  });
  return first.withFlatValues(f(...flat));
}

/**
 * Ranges, one in each row. Adds one `RaggedRange` node.
 *
 * @example tf.ragged.range([0, 5], [3, 7]).toTensor() // runs to [[0 1 2] [5 6 0]]
 */
export function raggedRange(
  starts: TensorLike,
  limits?: TensorLike,
  options: { readonly deltas?: TensorLike; readonly rowSplitsDtype?: Splits; readonly name?: string } = {},
): RaggedTensor {
  const {
    deltas = 1,
    rowSplitsDtype = int64,
    name,
  } = onlyOptions('tf.ragged.range', options, 'deltas', 'rowSplitsDtype', 'name');
  return nameScope(name ?? 'RaggedRange', (scope) => {
    const [from, to] = limits === undefined ? [0, starts] : [starts, limits];
    const first = convertToTensor(from, { name: 'starts' });
    const last = convertToTensor(to, { name: 'limits', hint: first.dtype });
    const step = convertToTensor(deltas, { name: 'deltas', hint: last.dtype });
    const begin = first.dtype === last.dtype ? first : convertToTensor(from, { name: 'starts', dtype: last.dtype });
    const { rt_nested_splits, rt_dense_values } = RaggedRange.build(
      { starts: begin, limits: last, deltas: step },
      { name: scope, attrs: { Tsplits: rowSplitsDtype } },
    );
    return RaggedTensor.fromParts([rt_nested_splits, rt_dense_values]);
  });
}

/**
 * Placeholders for the values and the row splits of a ragged tensor, which are fed one by one. Adds `Placeholder` nodes under
 * `RaggedPlaceholder/`.
 */
export function raggedPlaceholder(
  dtype: DType,
  raggedRank: number,
  valueShape: Dims = [],
  options: { readonly name?: string } = {},
): RaggedTensor {
  if (raggedRank < 1) throw userError('a ragged tensor has at least one ragged axis; take tf.placeholder for none.');
  return nameScope(options.name ?? 'RaggedPlaceholder', () => {
    const values = placeholder(dtype, valueShape && [null, ...valueShape], { name: 'flat_values' });
    const splits = Array.from({ length: raggedRank }, (_, i) =>
      placeholder(int64, [null], { name: `row_splits_${raggedRank - 1 - i}` }),
    );
    return RaggedTensor.fromParts([...splits.reverse(), values]);
  });
}

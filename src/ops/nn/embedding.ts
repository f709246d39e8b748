/** @file `embeddingLookup`: rows of one table, or of a table that is split into several. */
import { int32 } from '../../core/dtypes.ts';
import { scalar } from '../../core/ndarray.ts';
import { type Dims, isFullyDefined, mergeShapes } from '../../core/shape.ts';
import { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { colocateWith, nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantNode, convertToTensor, isConvertible } from '../../op/convert.ts';
import { concat } from '../array/concat.ts';
import { dynamicPartition, ParallelDynamicStitch } from '../array/dynamicStitch.ts';
import { gather } from '../array/gather.ts';
import { getItem } from '../array/getItem.ts';
import { identity } from '../array/identity.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { shape, size } from '../array/shape.ts';
import { stack } from '../array/stack.ts';
import { cast } from '../math/cast.ts';
import { clipByNorm } from '../math/clip.ts';
import { less } from '../math/compare.ts';
import { maximum } from '../math/maximum.ts';
import { floorOver, minus, modulo, plus } from '../math/operators.ts';
import { reduceSum } from '../math/reductions.ts';
import { where } from '../math/select.ts';

export interface EmbeddingOptions {
  /** How ids are spread over several tables: round robin (`'mod'`, the default) or in blocks (`'div'`). */
  readonly partitionStrategy?: 'mod' | 'div' | undefined;
  /** Rows longer than this are shortened to it. */
  readonly maxNorm?: number | null | undefined;
  readonly name?: string | undefined;
}

const dimsOf = (x: TensorLike): Dims => (x instanceof Tensor || isConvertible(x) ? x.shape : convertToTensor(x).shape);

/** Rows belong where their table is; a variable tells by its handle's operation. */
function besides<T>(table: TensorLike, body: () => T): T {
  const op = table !== null && typeof table === 'object' && 'op' in table ? table.op : undefined;
  return op instanceof Operation ? colocateWith(op, body) : body();
}

function shortened(rows: Tensor, ids: Tensor, table: TensorLike, maxNorm: number | null | undefined): Tensor {
  if (maxNorm == null) return rows;
  const [from, to] = [ids.rank, dimsOf(table)?.length];
  if (!from || !to) throw userError('maxNorm needs ids and params of known rank; use setShape.');
  // Every axis of a row but the one that ids replaced.
  const axes = Array.from({ length: Math.max(rows.rank! - from, 0) }, (_, i) => from + i);
  return clipByNorm(rows, maxNorm, { axes });
}

/** Which table each id lies in, and its row there. */
function split(ids: Tensor, tables: readonly TensorLike[], strategy: 'mod' | 'div'): { table: Tensor; row: Tensor } {
  const count = tables.length;
  if (strategy === 'mod') {
    const table = modulo(ids, count);
    return { table, row: floorOver(ids, count) };
  }
  const sizes = tables.map((t) => dimsOf(t)?.[0] ?? null);
  const total = sizes.every((n) => n !== null)
    ? constantNode(
        scalar(
          ids.dtype,
          sizes.reduce<number>((a, n) => a + n!, 0),
        ),
      )
    : reduceSum(cast(stack(tables.map((t, i) => sizes[i] ?? besides(t, () => getItem(shape(t), [0])))), ids.dtype));
  const perTable = floorOver(total, count);
  // The first tables hold one row more when the rows do not divide evenly.
  const extras = modulo(total, count);
  const inLarge = floorOver(ids, plus(perTable, 1));
  const table = maximum(inLarge, floorOver(minus(ids, extras), perTable));
  const large = less(table, extras);
  return { table, row: where(large, modulo(ids, plus(perTable, 1)), modulo(minus(ids, extras), perTable)) };
}

/**
 * Rows of `params` by their numbers. Adds one `GatherV2` (or `ResourceGather`) node and an `Identity` under
 * `embedding_lookup/`; several tables are looked up one by one and put together.
 *
 * @example tf.nn.embeddingLookup(tf.constant([[1, 2], [3, 4]]), [1, 0, 1]) // runs to [[3 4] [1 2] [3 4]]
 */
export function embeddingLookup(
  params: TensorLike | readonly TensorLike[],
  ids: TensorLike,
  options: EmbeddingOptions = {},
): Tensor {
  onlyOptions('tf.nn.embeddingLookup', options, 'partitionStrategy', 'maxNorm', 'name');
  const parts = partsOf(params);
  const tables = isTableList(parts) ? [...parts] : [parts]; // anything else is one table
  if (tables.length === 0) throw userError('Length of params is currently 0. Need at least one param.');
  const { partitionStrategy = 'mod', maxNorm } = options;
  return nameScope(options.name ?? 'embedding_lookup', (name) => {
    const given = tables.map((t, i) => (isConvertible(t) ? t : convertToTensor(t, { name: `params_${i}` })));
    const wanted = convertToTensor(ids, { name: 'ids' });
    if (given.length === 1) {
      const [table] = given as [TensorLike]; // just one
      const rows = besides(table, () => shortened(gather(table, wanted, { name }), wanted, table, maxNorm));
      return identity(rows);
    }
    const flat = reshape(wanted, [-1]);
    const positions = range(size(flat, { outType: int32 }));
    const { table, row } = split(flat, given, partitionStrategy);
    const assignments = cast(table, int32);
    const rowsOf = dynamicPartition(row, assignments, given.length);
    const placesOf = dynamicPartition(positions, assignments, given.length);
    const rows = given.map((t, i) => besides(t, () => gather(t, rowsOf[i]!)));
    const merged = ParallelDynamicStitch.build({ indices: placesOf, data: rows }, { name }).merged;
    const element = given.map((t): Dims => dimsOf(t)?.slice(1) ?? null).reduce(mergeShapes);
    const rest = isFullyDefined(element)
      ? [...element]
      : getItem(
          besides(given[0]!, () => shape(given[0]!)),
          '1:',
        );
    const result = reshape(merged, concat([shape(wanted), rest], 0));
    if (wanted.shape && element) result.setShape([...wanted.shape, ...element]);
    return shortened(result, wanted, given[0]!, maxNorm);
  });
}

/** The parts of a partitioned variable, in a list: nothing else that becomes a tensor can be iterated over. */
export function partsOf(tables: TensorLike | readonly TensorLike[]): TensorLike | readonly TensorLike[] {
  return isConvertible(tables) && Symbol.iterator in tables ? [...(tables as Iterable<TensorLike>)] : tables;
}

/** A list of tables, told apart from one table written as nested numbers. */
function isTableList(params: TensorLike | readonly TensorLike[]): params is readonly TensorLike[] {
  return Array.isArray(params) && params.some((p: unknown) => p instanceof Tensor || isConvertible(p));
}

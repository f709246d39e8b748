/** @file `safeEmbeddingLookupSparse`: sparse lookup that bears ids below zero, weights of nothing and examples without ids. */
import { bool as boolean, int32 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor, isConvertible } from '../../op/convert.ts';
import { concat } from '../array/concat.ts';
import { gather } from '../array/gather.ts';
import { getItem } from '../array/getItem.ts';
import { reshape } from '../array/reshape.ts';
import { shape, size } from '../array/shape.ts';
import { slice } from '../array/slice.ts';
import { stack } from '../array/stack.ts';
import { tile } from '../array/tile.ts';
import { cast } from '../math/cast.ts';
import { greater, greaterEqual } from '../math/compare.ts';
import { logicalAnd } from '../math/logical.ts';
import { minus } from '../math/operators.ts';
import { reduceProd } from '../math/reductions.ts';
import { where } from '../math/select.ts';
import { onesLike, zerosLike } from '../math/zerosLike.ts';
import { sparseRetain } from '../sparse/sparseConcat.ts';
import { sparseFillEmptyRows } from '../sparse/sparseFillEmptyRows.ts';
import { sparseReshape } from '../sparse/sparseReshape.ts';
import { partsOf } from './embedding.ts';
import { embeddingLookupSparse, type SparseEmbeddingOptions } from './embeddingSparse.ts';

export interface SafeEmbeddingOptions extends SparseEmbeddingOptions {
  readonly sparseWeights?: SparseTensor | null | undefined;
  /** What an example without ids looks up; zeros where it is left out. */
  readonly defaultId?: number | null | undefined;
}

interface Picks {
  readonly ids: SparseTensor;
  readonly weights: SparseTensor | null;
}

function keep({ ids, weights }: Picks, which: Tensor): Picks {
  const kept = sparseRetain(ids, which);
  return { ids: kept, weights: weights && sparseRetain(weights, which) };
}

function withoutInvalid(picks: Picks, combiner: string): Picks {
  const { ids, weights } = picks;
  const isId = greaterEqual(ids.values, 0);
  const valid = keep(picks, weights ? logicalAnd(isId, onesLike(weights.values, { dtype: boolean })) : isId);
  // A mean over weights of nothing has no value.
  if (combiner === 'sum' || !valid.weights) return valid;
  return keep(valid, greater(valid.weights.values, 0));
}

/**
 * `embeddingLookupSparse` for what real data brings: ids below zero and, but for sums, weights of zero or less are left out;
 * examples without ids get zeros or the row of `defaultId`; ids may have any rank, the last axis is combined. Adds nodes
 * under `embedding_lookup/`.
 *
 * @example tf.nn.safeEmbeddingLookupSparse([tf.constant([[1.5, 2], [3, 4]])], new tf.SparseTensor([[0, 0], [0, 1]], [1, -1], [2, 2])) // runs to [[3. 4.] [0. 0.]]
 */
export function safeEmbeddingLookupSparse(
  embeddingWeights: TensorLike | readonly TensorLike[],
  sparseIds: SparseTensor,
  options: SafeEmbeddingOptions = {},
): Tensor {
  const names = ['sparseWeights', 'combiner', 'defaultId', 'partitionStrategy', 'maxNorm', 'name'] as const;
  onlyOptions('tf.nn.safeEmbeddingLookupSparse', options, ...names);
  const { sparseWeights, combiner = 'mean', defaultId, partitionStrategy = 'div', maxNorm } = options;
  const parts = partsOf(embeddingWeights);
  const given = Array.isArray(parts) ? (parts as readonly TensorLike[]) : [parts]; // a list
  if (given.length === 0) throw userError('safeEmbeddingLookupSparse needs at least one table in embeddingWeights.');
  const tables = given.map((table) =>
    isConvertible(table) ? table : convertToTensor(table, { dtype: sparseWeights?.values.dtype }),
  );
  return nameScope(options.name ?? 'embedding_lookup', (scope) => {
    const original = sparseIds.denseShape;
    const knownRank = original.shape?.[0] ?? null;
    const rank = knownRank ?? size(original);
    const last = typeof rank === 'number' ? rank - 1 : undefined;
    const before = () => last ?? minus(rank, 1);
    const flatShape = [reduceProd(slice(original, [0], [before()])), gather(original, before())];
    const flat = sparseReshape(sparseIds, stack(flatShape));
    const weights = sparseWeights ? new SparseTensor(flat.indices, sparseWeights.values, flat.denseShape) : null;
    const valid = withoutInvalid({ ids: flat, weights }, combiner);
    const [ids, isEmpty] = sparseFillEmptyRows(valid.ids, defaultId ?? 0);
    const filled = valid.weights && sparseFillEmptyRows(valid.weights, 1)[0];
    let result = embeddingLookupSparse(tables, ids, filled, {
      combiner,
      partitionStrategy,
      maxNorm,
      ...(defaultId != null && { name: scope }),
    });
    if (defaultId == null) {
      const rows = tile(reshape(isEmpty, [-1, 1]), stack([1, getItem(shape(result), '1')]));
      result = where(rows, zerosLike(result), result, { name: scope });
    }
    const sizes = [slice(cast(original, int32), [0], [before()]), slice(shape(result), [1], [-1])];
    const restored = reshape(result, concat(sizes, 0));
    if (knownRank !== null)
      restored.setShape([...new Array<null>(knownRank - 1).fill(null), ...(result.shape?.slice(1) ?? [null])]);
    return restored;
  });
}

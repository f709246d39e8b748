/** @file `embeddingLookupSparse`: for each example the sum or mean of the table rows that its ids pick. */
import { bfloat16, float16, float32, int32, int64 } from '../../core/dtypes.ts';
import { compatible, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor, isConvertible } from '../../op/convert.ts';
import { concat } from '../array/concat.ts';
import { expandDims } from '../array/expandDims.ts';
import { ones } from '../array/fill.ts';
import { gather } from '../array/gather.ts';
import { getItem } from '../array/getItem.ts';
import { reshape } from '../array/reshape.ts';
import { rank, shape } from '../array/shape.ts';
import { unique } from '../array/unique.ts';
import { cast } from '../math/cast.ts';
import { divNoNan } from '../math/divide.ts';
import { minus, times } from '../math/operators.ts';
import { pow } from '../math/pow.ts';
import { segmentSum, sparseSegmentMean, sparseSegmentSqrtN, sparseSegmentSum } from '../math/segments.ts';
import { sqrt } from '../math/sqrt.ts';
import { type EmbeddingOptions, embeddingLookup, partsOf } from './embedding.ts';

const combiners = { sum: sparseSegmentSum, mean: sparseSegmentMean, sqrtn: sparseSegmentSqrtN } as const;

export interface SparseEmbeddingOptions extends EmbeddingOptions {
  /** What becomes of the rows of one example: their sum, their (weighted) mean, the usual one, or the sum over `sqrt(n)`. */
  readonly combiner?: keyof typeof combiners | undefined;
}

function isSparse(value: unknown, what: string): value is SparseTensor {
  if (value instanceof SparseTensor) return true;
  throw userError(`${what} must be a tf.SparseTensor, but is ${value}.`);
}

function checkPair(ids: SparseTensor, weights: SparseTensor): void {
  for (const part of ['values', 'indices', 'denseShape'] as const)
    if (!compatible(ids[part].shape, weights[part].shape))
      throw userError(
        `spIds and spWeights must have the same positions, but ${part} is ${showShape(ids[part].shape)} in one and ${showShape(weights[part].shape)} in the other.`,
      );
}

/** Rows times their weights, summed or averaged per example. */
function weighted(
  rows: Tensor,
  given: Tensor,
  segments: Tensor,
  combiner: keyof typeof combiners,
  name: string,
): Tensor {
  // Half precision would lose too much in the sums.
  const wide = rows.dtype === float16 || rows.dtype === bfloat16 ? cast(rows, float32) : rows;
  const typed = given.dtype === wide.dtype ? given : cast(given, wide.dtype);
  const onesShape = expandDims(minus(rank(wide), 1), 0);
  const count = shape(typed);
  const weights = reshape(typed, concat([count, ones(onesShape, { dtype: count.dtype })], 0));
  if (wide.shape) weights.setShape(typed.shape && [...typed.shape, ...wide.shape.slice(1).map(() => 1)]);
  const scaled = times(wide, weights);
  let result: Tensor;
  if (combiner === 'sum') result = segmentSum(scaled, segments, { name });
  else {
    const sums = segmentSum(scaled, segments);
    const total = combiner === 'mean' ? segmentSum(weights, segments) : sqrt(segmentSum(pow(weights, 2), segments));
    result = divNoNan(sums, total, { name });
  }
  return wide === rows ? result : cast(result, rows.dtype);
}

/**
 * For every row of `spIds`, the rows of `params` that its values pick, combined. Adds nodes under
 * `embedding_lookup_sparse/`.
 *
 * @example tf.nn.embeddingLookupSparse(tf.constant([[1.5, 2], [3, 4]]), new tf.SparseTensor([[0, 0], [0, 1]], [1, 0], [1, 2]), null) // runs to [[2.25 3.  ]]
 */
export function embeddingLookupSparse(
  given: TensorLike | readonly TensorLike[],
  spIds: SparseTensor,
  spWeights: SparseTensor | null,
  options: SparseEmbeddingOptions = {},
): Tensor {
  onlyOptions('tf.nn.embeddingLookupSparse', options, 'combiner', 'partitionStrategy', 'maxNorm', 'name');
  const { combiner = 'mean', partitionStrategy, maxNorm } = options;
  const params = partsOf(given);
  if (!(combiner in combiners)) throw userError(`combiner must be one of 'mean', 'sqrtn' or 'sum', got '${combiner}'.`);
  isSparse(spIds, 'spIds');
  if (spWeights != null && isSparse(spWeights, 'spWeights')) checkPair(spIds, spWeights);
  return nameScope(options.name ?? 'embedding_lookup_sparse', (name) => {
    const segments = getItem(spIds.indices, [':', 0]);
    const table = singleTable(params);
    // A table that is a tensor is read in place; rows of a variable are fetched once each.
    const direct = table instanceof Tensor && spWeights == null && maxNorm == null;
    const found = direct ? { y: undefined, idx: spIds.values } : unique(spIds.values);
    const rows = found.y
      ? embeddingLookup(table ?? params, found.y, { partitionStrategy, maxNorm })
      : (table as Tensor); // direct
    if (spWeights != null) {
      const narrow = segments.dtype === int32 ? segments : cast(segments, int32);
      return weighted(gather(rows, found.idx), spWeights.values, narrow, combiner, name);
    }
    const ids = segments.dtype === int32 || segments.dtype === int64 ? segments : cast(segments, int32);
    return combiners[combiner](rows, found.idx, ids, { name, sparseGradient: direct });
  });
}

/** The table, where there is only one; literals become tensors. */
function singleTable(params: TensorLike | readonly TensorLike[]): TensorLike | undefined {
  if (params instanceof Tensor || isConvertible(params)) return params;
  if (!Array.isArray(params) || !params.some((p: unknown) => p instanceof Tensor || isConvertible(p)))
    return convertToTensor(params as TensorLike, { name: 'params' }); // a literal, not a list of tables
  return params.length === 1 ? (params[0] as TensorLike) : undefined; // the list's only member
}

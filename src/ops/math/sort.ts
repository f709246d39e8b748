/** @file `sort` and `argsort`, by way of the largest elements. */
import { type DType, int64 } from '../../core/dtypes.ts';
import { intVector } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantValue } from '../../op/constantValue.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { getItem } from '../array/getItem.ts';
import { range } from '../array/range.ts';
import { tensorScatterUpdate } from '../array/scatterNd.ts';
import { rank, shape } from '../array/shape.ts';
import { transpose } from '../array/transpose.ts';
import { minus, minusOf, plus } from './operators.ts';
import { topK } from './topk.ts';

export interface SortOptions {
  /** The axis to sort along, the last one unless given. */
  readonly axis?: number | Tensor | undefined;
  readonly direction?: 'ASCENDING' | 'DESCENDING' | undefined;
  readonly name?: string | undefined;
}

/** What the largest elements are asked of: `part` says whether they or their positions are wanted. */
function descending(values: Tensor, axis: number, part: 'values' | 'indices'): Tensor {
  const k = getItem(shape(values), [axis]);
  // Python asks for the rank whether it needs it or not.
  const count = rank(values);
  if (axis === -1 || axis + 1 === values.shape?.length) return topK(values, k)[part];
  const exchange = exchangeWithLast(values.shape?.length, count, axis);
  return transpose(topK(transpose(values, exchange), k)[part], exchange);
}

/** The permutation in which an axis changes places with the last one. */
function exchangeWithLast(known: number | undefined, count: Tensor, axis: number): Tensor {
  if (known !== undefined) {
    const [at, last] = [axis < 0 ? axis + known : axis, known - 1];
    const perm = Array.from({ length: known }, (_, i) => (i === at ? last : i === last ? at : i));
    return constantNode(intVector(perm, int64), 'transposition');
  }
  const at = axis < 0 ? plus(axis, count) : axis;
  const axes = range(count);
  const last = minus(count, 1);
  return tensorScatterUpdate(axes, [[at], [last]], [minus(count, 1), at]);
}

/** The largest value of an unsigned type. */
const greatest = (dtype: DType): bigint => 2n ** BigInt(8 * dtype.size) - 1n;

/** The smallest elements are the largest ones of a copy in which the order is turned around. */
function ascending(values: Tensor, axis: number, part: 'values' | 'indices'): Tensor {
  const turned = (x: Tensor): Tensor => {
    if (values.dtype.isUnsigned) return minus(greatest(values.dtype), x);
    // -x - 1 and not -x, for the smallest integer has no opposite.
    return values.dtype.isInteger ? minus(minusOf(x), 1) : minusOf(x);
  };
  const found = descending(turned(values), axis, part);
  return part === 'indices' ? found : turned(found);
}

function sorted(values: TensorLike, options: SortOptions, scope: string, part: 'values' | 'indices'): Tensor {
  const { direction = 'ASCENDING', name } = options;
  return nameScope(name ?? scope, () => {
    if (direction !== 'ASCENDING' && direction !== 'DESCENDING')
      throw userError(`direction is ${direction}, but must be ASCENDING or DESCENDING.`);
    const axis = convertToTensor(options.axis ?? -1, { name: 'axis' });
    const known = constantValue(axis);
    if (known?.rank !== 0) throw userError(`axis must be a constant scalar, but is ${axis}.`);
    const input = convertToTensor(values, { name: 'values' });
    return (direction === 'ASCENDING' ? ascending : descending)(input, known.numberAt(0), part);
  });
}

/**
 * The elements in order along an axis. Adds a `TopKV2` and what it needs under `sort/`.
 *
 * @example tf.sort([3, 1, 2]) // runs to [1 2 3]
 */
export function sort(values: TensorLike, options: SortOptions = {}): Tensor {
  onlyOptions('tf.sort', options, 'axis', 'direction', 'name');
  return sorted(values, options, 'sort', 'values');
}

/**
 * The positions that put the elements of an axis in order; equal elements keep theirs. Adds a `TopKV2` and what it needs
 * under `argsort/`.
 *
 * @example tf.argsort([3, 1, 2]) // runs to [1 2 0]
 */
export function argsort(values: TensorLike, options: SortOptions = {}): Tensor {
  onlyOptions('tf.argsort', options, 'axis', 'direction', 'name');
  return sorted(values, options, 'argsort', 'indices');
}

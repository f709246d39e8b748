/** @file What is known of a tensor's value while building. */
import { intVector, type NDArray, scalar } from '../../core/ndarray.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { constantValue, partialValueOf } from '../../op/constantValue.ts';
import { complete } from './common.ts';

/**
 * The value of a tensor that is known while building, or `null`: constants, and shapes computed from known ones.
 * Adds no node.
 *
 * @example tf.getStaticValue(tf.constant([1, 2])) // [1 2]
 */
export function getStaticValue(tensor: Tensor): NDArray | null {
  const constant = constantValue(tensor);
  if (constant) return constant;
  const entries = complete(partialValueOf(tensor));
  if (!entries || tensor.rank === null || tensor.rank > 1) return null;
  return tensor.rank === 0 ? scalar(tensor.dtype, entries[0]!) : intVector(entries, tensor.dtype);
}

/** @file Checks that need no graph: of types, and of lists. */
import { type DType, float32 } from '../core/dtypes.ts';
import type { Tensor } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';

/**
 * The floating type that all tensors have, which must be `dtype` where it is given; float32 when neither says.
 *
 * @example tf.assertSameFloatDtype([tf.constant([1.5]), tf.constant([2.5])]) // tf.float32
 */
export function assertSameFloatDtype(tensors: readonly (Tensor | null)[] = [], dtype?: DType): DType {
  let expected = dtype;
  let first: Tensor | undefined;
  for (const tensor of tensors) {
    if (tensor === null) continue;
    if (expected !== undefined && tensor.dtype !== expected)
      throw userError(
        `${tensor.name}, type=${tensor.dtype}, must be of the same type (${expected})${first ? ` as ${first.name}` : ''}. Wrap one in tf.cast.`,
      );
    expected = tensor.dtype;
    first ??= tensor;
  }
  const found = expected ?? float32;
  if (!found.isFloating) throw userError(`Expected floating point type, got ${found}.`);
  return found;
}

/** Throws unless `values` can be gone through one by one and is no single tensor or text. */
export function assertProperIterable(values: unknown): void {
  if (typeof values === 'object' && values !== null && Symbol.iterator in values && !ArrayBuffer.isView(values)) return;
  throw userError(`Expected argument "values" to be a list, but got ${String(values)}. Put it into [ ].`);
}

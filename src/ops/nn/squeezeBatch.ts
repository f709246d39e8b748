/** @file Several batch axes made one for an op that knows one, and split again afterwards. */
import { isFullyDefined } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { scoped } from '../array/common.ts';
import { concat } from '../array/concat.ts';
import { getItem } from '../array/getItem.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';

/** Applies `op` to `input` with all axes but the last `inner` as one. Adds nodes under `squeeze_batch_dims`. */
export function squeezeBatchDims(
  input: TensorLike,
  op: (x: Tensor) => Tensor,
  inner: number,
  name: string | undefined,
): Tensor {
  return scoped(name ?? 'squeeze_batch_dims', [input], () => {
    const x = convertToTensor(input, { name: 'input' });
    const dims = x.shape?.slice(-inner) ?? null;
    const batch = x.shape?.slice(0, -inner) ?? null;
    const innerShape = isFullyDefined(dims) ? dims : getItem(shape(x), `-${inner}:`);
    const batchShape = isFullyDefined(batch) ? batch : getItem(shape(x), `:-${inner}`);
    const flat = reshape(x, Array.isArray(innerShape) ? [-1, ...innerShape] : concat([[-1], innerShape], -1));
    const y = op(flat);
    const made = y.shape?.slice(-inner) ?? null;
    const outInner = isFullyDefined(made) ? made : getItem(shape(y), `-${inner}:`);
    const result = reshape(y, concat([batchShape, outInner], -1));
    if (batch && result.shape) result.setShape([...batch, ...result.shape.slice(-inner)]);
    return result;
  });
}

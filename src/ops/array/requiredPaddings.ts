/** @file requiredSpaceToBatchPaddings: paddings that make spatial sizes divisible by blocks. */
import { int32 } from '../../core/dtypes.ts';
import { isFullyDefined, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { type Named, scoped } from './common.ts';
import { zeros } from './fill.ts';
import { getItem } from './getItem.ts';
import { add, mod, sub } from './neighbours.ts';
import { stack } from './stack.ts';

/**
 * Paddings for `spaceToBatchNd`, and the crops that undo them. Adds two `Const` nodes when everything is known, else the
 * nodes that compute them, under `required_space_to_batch_paddings`.
 *
 * @example tf.requiredSpaceToBatchPaddings([5], [2]).paddings // runs to [[0 1]]
 */
export function requiredSpaceToBatchPaddings(
  inputShape: TensorLike,
  blockShape: TensorLike,
  options: Named & { basePaddings?: TensorLike | undefined } = {},
): { paddings: Tensor; crops: Tensor } {
  const { basePaddings, name } = onlyOptions('tf.requiredSpaceToBatchPaddings', options, 'basePaddings', 'name');
  return scoped(name ?? 'required_space_to_batch_paddings', [inputShape, blockShape], () => {
    const input = convertToTensor(inputShape, { dtype: int32, name: 'input_shape' });
    const block = convertToTensor(blockShape, { dtype: int32, name: 'block_shape' });
    if (!isFullyDefined(block.shape) || block.shape.length !== 1)
      throw userError(`blockShape must be a vector of known length, but it is ${showShape(block.shape)}`);
    const axes = block.shape[0]!;
    if (axes === 0) return { paddings: zeros([0, 2], { dtype: int32 }), crops: zeros([0, 2], { dtype: int32 }) };
    const base =
      basePaddings === undefined
        ? zeros([axes, 2], { dtype: int32 })
        : convertToTensor(basePaddings, { dtype: int32, name: 'base_paddings' });
    const known = [input, block, base].map((t) => constantValue(t)?.numbers());
    const [sizes, blocks, pairs] = known;
    if (sizes && blocks && pairs) return fixedPaddings(sizes, blocks, pairs);
    const start = getItem(base, ':, 0');
    const end = getItem(base, ':, 1');
    const full = add(add(input, start), end);
    const extra = mod(sub(block, mod(full, block)), block);
    const padEnd = add(end, extra);
    const rows = Array.from({ length: axes }, (_, i) => [getItem(start, [i]), getItem(padEnd, [i])]);
    const paddings = stack(rows, { name: 'paddings' });
    const cropRows = Array.from({ length: axes }, (_, i) => [0, getItem(extra, [i])]);
    return { paddings, crops: stack(cropRows, { name: 'crops' }) };
  });
}

function fixedPaddings(sizes: readonly number[], blocks: readonly number[], pairs: readonly number[]) {
  const extra = sizes.map((size, i) => {
    const full = size + pairs[2 * i]! + pairs[2 * i + 1]!;
    const block = blocks[i]!;
    return (block - (full % block)) % block;
  });
  const paddings = stack(
    extra.map((n, i) => [pairs[2 * i]!, pairs[2 * i + 1]! + n]),
    { name: 'paddings' },
  );
  return {
    paddings,
    crops: stack(
      extra.map((n) => [0, n]),
      { name: 'crops' },
    ),
  };
}

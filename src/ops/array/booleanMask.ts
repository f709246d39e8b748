/** @file booleanMask and sequenceMask. */
import { bool, type DType } from '../../core/dtypes.ts';
import { scalar } from '../../core/ndarray.ts';
import { compatible, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { knownSize, type Named, scoped } from './common.ts';
import { concat } from './concat.ts';
import { expandDims } from './expandDims.ts';
import { gather } from './gather.ts';
import { getItem } from './getItem.ts';
import { allDimensions, castNode, less, max, maximum, prod } from './neighbours.ts';
import { Range } from './range.ts';
import { reshape } from './reshape.ts';
import { shape } from './shape.ts';
import { squeeze } from './squeeze.ts';
import { Where } from './where.ts';

/**
 * The entries of `tensor` where `mask` is true; the mask covers axes from `axis` on. Adds nodes under `boolean_mask`.
 *
 * @example tf.booleanMask([1, 2, 3], [true, false, true]) // runs to [1 3]
 */
export function booleanMask(
  tensor: TensorLike,
  mask: TensorLike,
  options: Named & { axis?: number | undefined } = {},
): Tensor {
  const { axis = 0, name = 'boolean_mask' } = onlyOptions('tf.booleanMask', options, 'axis', 'name');
  return scoped(name, [tensor, mask], () => {
    const x = convertToTensor(tensor, { name: 'tensor' });
    const keep = convertToTensor(mask, { name: 'mask' });
    if (keep.rank === 0) throw userError('mask cannot be scalar.');
    if (keep.rank === null)
      throw userError(
        'Number of mask dimensions must be specified, even if some dimensions are None. Use tf.ensureShape on the mask.',
      );
    const end = axis + keep.rank;
    const covered = x.shape?.slice(axis, end) ?? null;
    if (!compatible(covered, keep.shape))
      throw userError(
        `Shapes ${showShape(covered)} and ${showShape(keep.shape)} are incompatible: the mask must fit the tensor from axis ${axis} on.`,
      );
    const count = prod(getItem(shape(x), [[axis, end]]), [0]);
    const before = getItem(shape(x), [[null, axis]]);
    const after = getItem(shape(x), [[end]]);
    const flat = reshape(x, concat([before, [count], after], 0));
    if (x.shape) flat.setShape([...x.shape.slice(0, axis), knownSize(covered), ...x.shape.slice(end)]);
    const flatMask = reshape(keep, [-1]);
    const chosen = squeeze(Where.build({ input: flatMask }).index, { axis: [1] });
    return gather(flat, chosen, { axis });
  });
}

/**
 * For each length n, `maxlen` values of which the first n are true. Adds nodes under `SequenceMask`.
 *
 * @example tf.sequenceMask([1, 3], { maxlen: 3 }) // runs to [[ True False False] [ True True True]]
 */
export function sequenceMask(
  lengths: TensorLike,
  options: Named & { maxlen?: TensorLike | undefined; dtype?: DType | undefined } = {},
): Tensor {
  const { maxlen, dtype = bool, name } = onlyOptions('tf.sequenceMask', options, 'maxlen', 'dtype', 'name');
  return scoped(name ?? 'SequenceMask', [lengths, maxlen], () => {
    const counts = convertToTensor(lengths);
    let longest: Tensor;
    if (maxlen === undefined) {
      const largest = max(counts, allDimensions(counts));
      longest = maximum(constantNode(scalar(largest.dtype, 0)), largest);
    } else longest = convertToTensor(maxlen);
    if (longest.rank !== null && longest.rank !== 0)
      throw userError(`maxlen must be scalar for sequenceMask, but it is ${showShape(longest.shape)}`);
    const number = (value: number) => constantNode(scalar(longest.dtype, value));
    const positions = Range.build({ start: number(0), limit: longest, delta: number(1) }).output;
    const rows = castNode(expandDims(counts, -1), longest.dtype);
    const result = less(positions, rows);
    return dtype === bool ? result : castNode(result, dtype);
  });
}

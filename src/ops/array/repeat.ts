/** @file repeat: entries of an axis, each several times. */
import { int32 } from '../../core/dtypes.ts';
import { scalar } from '../../core/ndarray.ts';
import { normalizeAxis } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { booleanMask, sequenceMask } from './booleanMask.ts';
import { broadcastTo } from './broadcastTo.ts';
import { knownSize, type Named, scoped } from './common.ts';
import { concat } from './concat.ts';
import { expandDims } from './expandDims.ts';
import { getItem } from './getItem.ts';
import { allDimensions, castNode, max, maximum, mul, sub, sum } from './neighbours.ts';
import { Range } from './range.ts';
import { reshape } from './reshape.ts';
import { rank, shape } from './shape.ts';
import { stack } from './stack.ts';
import { tile } from './tile.ts';

/**
 * Each entry of `input` along `axis` as often as `repeats` says; without an axis the input is flattened first.
 * Adds nodes under `Repeat`.
 *
 * @example tf.repeat([1, 2], [2, 1]) // runs to [1 1 2]
 */
export function repeat(
  input: TensorLike,
  repeats: TensorLike,
  options: Named & { axis?: number | undefined } = {},
): Tensor {
  const { axis, name } = onlyOptions('tf.repeat', options, 'axis', 'name');
  const data = axis === undefined ? reshape(input, [-1]) : input;
  return scoped(name ?? 'Repeat', [data, repeats], () => repeatAlong(data, repeats, axis ?? 0));
}

function repeatAlong(input: TensorLike, repeats: TensorLike, axis: number): Tensor {
  const given = convertToTensor(input, { name: 'data' });
  let counts = castNode(convertToTensor(repeats, { name: 'repeats', hint: int32 }), int32);
  if (given.rank === null) throw userError('repeat needs an input of known rank. Use tf.ensureShape first.');
  const data = given.rank === 0 ? stack([given]) : given;
  const sizes = shape(data, { outType: counts.dtype });
  const at = normalizeAxis(axis, data.shape!.length);
  const before = () => getItem(sizes, [[null, at]]);
  const after = () => getItem(sizes, [[at + 1]]);
  if (knownSize(counts.shape) === 1) {
    const count = reshape(counts, []);
    const tiled = tileAxis(expandDims(data, at + 1), at + 1, count);
    const head = before();
    const middle = mul(count, getItem(sizes, [at]));
    return reshape(tiled, concat([head, [middle], after()], 0));
  }
  counts = broadcastTo(counts, [getItem(sizes, [at])]);
  const original = counts;
  if (counts.rank !== at + 1) {
    const countsShape = shape(counts);
    const countsRank = rank(counts);
    const lead = getItem(sizes, [[null, sub(at + 1, countsRank)]]);
    counts = broadcastTo(counts, concat([lead, countsShape], 0));
    counts.setShape(new Array<null>(at + 1).fill(null));
  }
  const largest = max(counts, allDimensions(counts));
  const most = maximum(constantNode(scalar(largest.dtype, 0), 'zero'), largest);
  const mask = sequenceMask(counts, { maxlen: most });
  const tiled = tileAxis(expandDims(data, at + 1), at + 1, most);
  const masked = booleanMask(tiled, mask);
  let result = masked;
  if (at > 0) {
    const axes = Range.build({ start: 0, limit: rank(original), delta: 1 }).output;
    const total = sum(original, axes);
    result = reshape(masked, concat([before(), [total], after()], 0));
  }
  result.setShape(data.shape!.map((d, i) => (i === at ? null : d)));
  return result;
}

function tileAxis(data: Tensor, axis: number, multiple: Tensor): Tensor {
  return tile(
    data,
    data.shape!.map((_, i) => (i === axis ? multiple : 1)),
  );
}

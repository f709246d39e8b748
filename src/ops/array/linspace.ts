/** @file linspace: evenly spaced values between two tensors, along a new axis. */
import { float32, int32, int64 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { zerosLike } from '../math/zerosLike.ts';
import { broadcastDynamicShape, broadcastTo } from './broadcastTo.ts';
import { type Named, scoped } from './common.ts';
import { concat } from './concat.ts';
import { expandDims } from './expandDims.ts';
import { getItem } from './getItem.ts';
import { add, cast, castNode, equal, greaterEqual, maximum, mul, select, sub, truediv } from './neighbours.ts';
import { range } from './range.ts';
import { reshape } from './reshape.ts';
import { shape } from './shape.ts';
import { slice } from './slice.ts';

/**
 * `num` values from `start` to `stop`, both included, at equal distances. Whole numbers stand for float32, integer tensors
 * make float64. Adds nodes under `linspace`, as TensorFlow 2.x does.
 *
 * @example tf.linspace(10.5, 12.5, 3) // runs to [10.5 11.5 12.5]
 */
export function linspace(
  start: TensorLike,
  stop: TensorLike,
  num: TensorLike,
  options: Named & { axis?: number | undefined } = {},
): Tensor {
  const { axis = 0, name } = onlyOptions('tf.linspace', options, 'axis', 'name');
  return scoped(name ?? 'linspace', [start, stop], () => {
    const a = convertToTensor(start, { name: 'start', hint: float32 });
    const b = convertToTensor(stop, { name: 'stop', dtype: a.dtype });
    const count = castNode(convertToTensor(num, { name: 'num', hint: int32 }), int32);
    cast(count, a.dtype);
    const common = broadcastDynamicShape(shape(a), shape(b));
    const first = broadcastTo(a, common);
    const last = broadcastTo(b, common);
    const low = expandDims(first, axis);
    const high = expandDims(last, axis);
    const sizes = shape(low);
    const axes = getItem(shape(sizes), [0]);
    const at = select(axis >= 0, axis, add(axes, axis));
    const inner = maximum(sub(count, 2), 0);
    const steps = maximum(sub(count, 1), 1);
    const delta = truediv(sub(high, low), cast(steps, high.dtype));
    const from = cast(low, delta.dtype);
    const to = cast(high, delta.dtype);
    const end = select(greaterEqual(count, 0), steps, -1);
    const positions = cast(range(1, end, { dtype: int64 }), delta.dtype);
    const isAxis = equal(at, range(axes));
    const line = reshape(positions, select(isAxis, inner, 1));
    const between = add(from, mul(delta, line));
    const all = concat([from, between, to], at);
    const begin = zerosLike(sizes);
    const head = getItem(sizes, [[0, at]]);
    const middle = reshape(count, [1]);
    const tail = getItem(sizes, [[add(at, 1)]]);
    return slice(all, begin, concat([head, middle, tail], 0));
  });
}

/** @file OneHot: an axis with one element on and the others off. */

import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { Dims } from '../../core/shape.ts';
import { normalizeAxis } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { OneHot as HotRows, KnownShape, ShapeOf } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { cast, eq, select } from '../../program/map.ts';
import { type Named, ofRank, scoped } from './common.ts';

export const OneHot = defineOp({
  name: 'OneHot',
  inputs: { indices: 'TI', depth: 'int32', on_value: 'T', off_value: 'T' },
  outputs: { output: 'T' },
  attrs: {
    axis: attr('int', { default: -1 }),
    T: anyType,
    TI: attr('type', { allowed: [d.uint8, d.int8, d.int32, d.int64], default: d.int64 }),
  },
  hostInputs: ['depth'],
  shape({ indices, depth, on_value, off_value }, { axis }, context) {
    ofRank(depth, 0, 'depth');
    ofRank(on_value, 0, 'on_value');
    ofRank(off_value, 0, 'off_value');
    const size = context.partial('depth')?.[0] ?? null;
    if (size !== null && size < 0) throw new InvalidArgumentError(`depth must be non-negative, got: ${size}`);
    if (indices === null) return { output: null };
    const at = axis === -1 ? indices.length : normalizeAxis(axis, indices.length + 1);
    return { output: [...indices.slice(0, at), size, ...indices.slice(at)] };
  },
  grad: notDifferentiable,
  lower(p, { indices, depth, on_value, off_value }, { axis }) {
    const rank = indices.shape.length;
    if (axis !== -1 && (axis < 0 || axis > rank))
      throw new InvalidArgumentError(`Expected axis to be -1 or between [0, ${rank + 1}).  But received: ${axis}`);
    if (depth.shape.length !== 0) throw new InvalidArgumentError('depth must be a scalar');
    const size = p.demandInts(depth)[0]!;
    if (size < 0) throw new InvalidArgumentError(`depth must be non-negative, got: ${size}`);
    const at = axis === -1 ? rank : axis;
    const shape = [...indices.shape.slice(0, at), size, ...indices.shape.slice(at)];
    const spread = p.reshape(indices, [...indices.shape.slice(0, at), 1, ...indices.shape.slice(at)]);
    const position = { op: 'index', dtype: d.int64, axis: at } as const;
    const output = p.mapAll(
      [spread, on_value, off_value],
      (i, on, off) => [select(eq(cast(i, d.int64), position), on, off)],
      shape,
    )[0]!;
    return { output };
  },
  cases: () => [
    { shape: '[2, ?], [], [], [] -> [2, ?, 4]', given: { depth: { dtype: 'int32', value: 4 } } },
    { shape: '[2, ?], [], [], [] -> [?, 2, ?]', attrs: { axis: 0 } },
    {
      given: {
        indices: { dtype: 'int32', value: [0, 2, -1, 3] },
        depth: { dtype: 'int32', value: 3 },
        on_value: 5,
        off_value: 1,
      },
      expect: {
        output: [
          [5, 1, 1],
          [1, 1, 5],
          [1, 1, 1],
          [1, 1, 1],
        ],
      },
    },
    {
      given: {
        indices: { dtype: 'int64', value: [0, 1] },
        depth: { dtype: 'int32', value: 3 },
        on_value: true,
        off_value: false,
      },
      attrs: { axis: 0 },
      expect: {
        output: [
          [true, false],
          [false, true],
          [false, false],
        ],
      },
    },
    {
      given: {
        indices: { dtype: 'uint8', value: 1 },
        depth: { dtype: 'int32', value: 2 },
        on_value: 'y',
        off_value: 'n',
      },
      expect: { output: ['n', 'y'] },
    },
  ],
});

export interface OneHotOptions extends Named {
  readonly onValue?: TensorLike | undefined;
  readonly offValue?: TensorLike | undefined;
  /** Where the new axis goes; last unless it is given. */
  readonly axis?: number | undefined;
  readonly dtype?: d.DType | undefined;
}

/**
 * `depth` elements per index, of which the one at the index is on. Adds `one_hot/on_value`, `one_hot/off_value` and one
 * `OneHot` node.
 *
 * @example tf.oneHot([0, 2], 3) // runs to [[1. 0. 0.] [0. 0. 1.]]
 */
export function oneHot<
  I extends TensorLike,
  const N extends TensorLike,
  const O extends OneHotOptions = Record<never, never>,
>(
  indices: I,
  depth: N,
  options?: O,
): Tensor<
  O extends { dtype: infer D extends d.DType } ? D : d.DType,
  O extends { axis: unknown } ? Dims : KnownShape<HotRows<ShapeOf<I>, N>>
>;
export function oneHot(indices: TensorLike, depth: TensorLike, options: OneHotOptions = {}): Tensor {
  onlyOptions('tf.oneHot', options, 'name', 'onValue', 'offValue', 'axis', 'dtype');
  const { onValue, offValue, axis = -1, name } = options;
  return scoped(name ?? 'one_hot', [indices, depth, onValue, offValue], (scope) => {
    const given = (value: TensorLike | undefined) =>
      value === undefined ? undefined : convertToTensor(value, { hint: options.dtype });
    const on = given(onValue);
    const off = given(offValue);
    const dtype = options.dtype ?? on?.dtype ?? off?.dtype ?? d.float32;
    for (const [port, value] of [
      ['onValue', on],
      ['offValue', off],
    ] as const)
      if (value && value.dtype !== dtype)
        throw userError(
          `dtype ${value.dtype} of ${port} does not match dtype parameter ${dtype}. Wrap it in tf.cast(…, tf.${dtype}).`,
        );
    const on_value = on ?? convertToTensor(oneOf(dtype), { dtype, name: 'on_value' });
    const off_value = off ?? convertToTensor(zeroOf(dtype), { dtype, name: 'off_value' });
    return OneHot.build({ indices, depth, on_value, off_value }, { name: scope, attrs: { axis } }).output;
  });
}

const oneOf = (dtype: d.DType) => (dtype.isBool ? true : 1);
const zeroOf = (dtype: d.DType) => (dtype.isBool ? false : 0);
